//! System calls.

use crate::parse::{integer, syntax, unsupported, Result};
use crate::run::{seconds, Machine, Pending};
use crate::script::Call;
use crate::settings;
use crate::socket::{Descriptor, Endpoint, Kind, LOCAL_ISS};
use cwndlab_tcp::{Connection, State};
use cwndlab_units::Time;

const CALLS: &str =
    "socket, bind, listen, accept, connect, write, send, sendto, sendmsg, writev, read, recv, recvfrom, \
                     close, shutdown, setsockopt and fcntl";

/// What a call returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Returned {
    Value(i64),
    Error(&'static str),
    /// It waits.
    Blocks,
    /// What the script says: it concerns what is not modelled (send buffer, addresses).
    AsWritten,
}

impl Machine {
    /// A call that returns at once.
    pub fn call(&mut self, line: usize, call: &Call) -> Result<()> {
        let returned = self.perform(line, call)?;
        check(line, call, returned)
    }

    /// A call that returns at `until`.
    pub fn start_blocking(&mut self, line: usize, call: &Call, until: Time) -> Result<()> {
        let returned = self.perform(line, call)?;
        match returned {
            // write(…) of more than the send buffer: not modelled, taken at once.
            Returned::AsWritten => Ok(()),
            Returned::Blocks => {
                let tolerance = self.tolerance.over(until.saturating_sub(self.now));
                self.pending.push(Pending { line, call: call.clone(), until, tolerance });
                Ok(())
            }
            _ => {
                if self.now + self.tolerance.over(until.saturating_sub(self.now)) < until {
                    let (name, until, now) = (&call.name, seconds(until), seconds(self.now));
                    return syntax(
                        line,
                        format!("timing error: expected {name}(…) to return at {until}, but it did at {now}"),
                    );
                }
                check(line, call, returned)
            }
        }
    }

    /// Blocking calls that can return now do.
    pub fn finish_calls(&mut self) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.pending);
        while let Some(pending) = (!waiting.is_empty()).then(|| waiting.remove(0)) {
            let returned = if pending.call.name == "connect" {
                self.connected(pending.line, &pending.call)?
            } else {
                self.perform(pending.line, &pending.call)?
            };
            if returned == Returned::Blocks {
                self.pending.push(pending);
                continue;
            }
            let early = self.now + pending.tolerance < pending.until;
            if early || self.now > pending.until + pending.tolerance {
                let (name, until, now) = (&pending.call.name, seconds(pending.until), seconds(self.now));
                return syntax(
                    pending.line,
                    format!("timing error: expected {name}(…) to return at {until}, but it did at {now}"),
                );
            }
            check(pending.line, &pending.call, returned)?;
        }
        self.drain();
        Ok(())
    }

    fn perform(&mut self, line: usize, call: &Call) -> Result<Returned> {
        Ok(match call.name.as_str() {
            "socket" => {
                let fd = call.result.unwrap_or(3);
                let nonblocking = call.arguments.get(1).is_some_and(|a| a.contains("SOCK_NONBLOCK"));
                let descriptor = Descriptor { cfg: self.cfg, kind: Kind::Unconnected, nonblocking, linger_zero: false };
                self.descriptors.insert(fd, descriptor);
                Returned::Value(fd)
            }
            "bind" | "fcntl" => {
                if call.arguments.get(1).is_some_and(|a| a == "F_SETFL") {
                    let nonblocking = call.arguments.get(2).is_some_and(|a| a.contains("O_NONBLOCK"));
                    self.descriptor(line, call)?.nonblocking = nonblocking;
                }
                Returned::AsWritten
            }
            "listen" => {
                self.descriptor(line, call)?.kind = Kind::Listening;
                Returned::Value(0)
            }
            "accept" => self.accept(call),
            "connect" => self.connect(line, call)?,
            "write" | "send" | "sendto" | "sendmsg" | "writev" => self.write(line, call)?,
            "read" | "recv" | "recvfrom" => self.read(line, call)?,
            "close" => self.close(line, call)?,
            "shutdown" => {
                let how = call.arguments.get(1).map_or("", String::as_str);
                let endpoint = self.endpoint(line, call)?;
                if how.contains("WR") || matches!(how, "1" | "2") {
                    endpoint.connection.close();
                }
                Returned::AsWritten
            }
            "setsockopt" => self.setsockopt(line, call)?,
            other => return unsupported(line, format!("system call {other:?} is not known here: there are {CALLS}")),
        })
    }

    fn fd(line: usize, call: &Call) -> Result<i64> {
        let first = call.arguments.first();
        if let Some(fd) = first.and_then(|argument| integer(argument)) {
            return Ok(fd);
        }
        let found = first.map_or("nothing".to_string(), |argument| format!("{argument:?}"));
        syntax(line, format!("{}(…): expected a file descriptor as the first argument, found {found}", call.name))
    }

    fn descriptor(&mut self, line: usize, call: &Call) -> Result<&mut Descriptor> {
        let fd = Self::fd(line, call)?;
        let open: Vec<String> = self.descriptors.keys().map(ToString::to_string).collect();
        if let Some(descriptor) = self.descriptors.get_mut(&fd) {
            return Ok(descriptor);
        }
        let open = if open.is_empty() { "none is".to_string() } else { open.join(", ") };
        syntax(line, format!("{}({fd}, …): expected an open file descriptor ({open}), found {fd}", call.name))
    }

    fn endpoint(&mut self, line: usize, call: &Call) -> Result<&mut Endpoint> {
        match self.descriptor(line, call)?.kind {
            Kind::Connected(index) => Ok(&mut self.endpoints[index]),
            Kind::Listening => {
                syntax(line, format!("{}(…): expected a connected socket, found one that listens", call.name))
            }
            Kind::Unconnected => {
                syntax(line, format!("{}(…): expected a connected socket, found one that is not", call.name))
            }
        }
    }

    fn accept(&mut self, call: &Call) -> Returned {
        let ready = |e: &Endpoint| {
            !e.accepted && !matches!(e.connection.state(), State::Listen | State::SynReceived | State::Closed)
        };
        let Some(index) = self.endpoints.iter().position(ready) else { return Returned::Blocks };
        let endpoint = &mut self.endpoints[index];
        endpoint.accepted = true;
        let fd = call.result.unwrap_or(4);
        let kind = Kind::Connected(index);
        self.descriptors.insert(fd, Descriptor { cfg: endpoint.cfg, kind, nonblocking: false, linger_zero: false });
        Returned::Value(fd)
    }

    fn connect(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let (now, index) = (self.now, self.endpoints.len());
        let descriptor = self.descriptor(line, call)?;
        if descriptor.kind != Kind::Unconnected {
            return self.connected(line, call);
        }
        let cfg = descriptor.cfg;
        descriptor.kind = Kind::Connected(index);
        let nonblocking = descriptor.nonblocking;
        self.endpoints.push(Endpoint::new(cfg, Connection::client(&cfg, LOCAL_ISS, now), true));
        Ok(if nonblocking { Returned::Error("EINPROGRESS") } else { Returned::Blocks })
    }

    fn connected(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let endpoint = self.endpoint(line, call)?;
        Ok(match endpoint.connection.state() {
            State::SynSent | State::SynReceived => Returned::Blocks,
            State::Closed => Returned::Error("ECONNREFUSED"),
            _ => Returned::Value(0),
        })
    }

    fn write(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let endpoint = self.endpoint(line, call)?;
        if matches!(endpoint.connection.state(), State::Closed) {
            return Ok(Returned::AsWritten);
        }
        // The send buffer is not modelled: it takes what the script says it takes.
        if let Some(bytes) = call.result.and_then(|n| u64::try_from(n).ok()) {
            endpoint.connection.write(bytes);
        }
        Ok(Returned::AsWritten)
    }

    fn read(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let size = call.arguments.get(2).and_then(|a| integer(a)).unwrap_or(0) as u64;
        let nonblocking = self.descriptor(line, call)?.nonblocking;
        let endpoint = self.endpoint(line, call)?;
        let ready = (endpoint.connection.received() - endpoint.read).min(size);
        if ready > 0 {
            endpoint.read += ready;
            return Ok(Returned::Value(ready as i64));
        }
        Ok(if endpoint.connection.error().is_some() {
            Returned::AsWritten
        } else if endpoint.connection.peer_closed() {
            Returned::Value(0)
        } else if nonblocking {
            Returned::Error("EAGAIN")
        } else {
            Returned::Blocks
        })
    }

    fn close(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let fd = Self::fd(line, call)?;
        let linger_zero = self.descriptor(line, call)?.linger_zero;
        let kind = self.descriptor(line, call)?.kind;
        if let Kind::Connected(index) = kind {
            let endpoint = &mut self.endpoints[index];
            // RFC 2525, 2.17: unread data makes a reset of a close.
            if linger_zero || endpoint.connection.received() > endpoint.read {
                endpoint.connection.abort();
            } else {
                endpoint.connection.close();
            }
        }
        self.descriptors.remove(&fd);
        Ok(Returned::Value(0))
    }

    fn setsockopt(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let name = call.arguments.get(2).map_or("", String::as_str);
        let text = call.arguments.get(3).map_or("", String::as_str).trim_matches(['[', ']', '"', '{', '}']);
        let value = integer(text);
        let descriptor = self.descriptor(line, call)?;
        match (name, value) {
            ("TCP_NODELAY", Some(n)) => descriptor.cfg.nagle = n == 0,
            ("TCP_MAXSEG", Some(n)) if n > 0 => descriptor.cfg.mss = n as u32,
            ("SO_LINGER", _) => descriptor.linger_zero = text.replace(' ', "").contains("onoff=1,linger=0"),
            ("TCP_CONGESTION", _) => {
                let before = descriptor.cfg.window_law;
                if let Err(message) = settings::congestion_control(&mut descriptor.cfg, text) {
                    return unsupported(line, message);
                }
                if matches!(descriptor.kind, Kind::Connected(_)) && descriptor.cfg.window_law != before {
                    return unsupported(line, "the congestion control of a connection cannot be changed here");
                }
            }
            _ => {}
        }
        if let (Kind::Connected(index), cfg) = (descriptor.kind, descriptor.cfg) {
            self.endpoints[index].cfg = cfg;
        }
        Ok(Returned::AsWritten)
    }
}

/// Compares what a call returned with what the script says.
fn check(line: usize, call: &Call, returned: Returned) -> Result<()> {
    let name = &call.name;
    match (returned, call.result) {
        (Returned::AsWritten, _) | (Returned::Value(_) | Returned::Error(_), None) => Ok(()),
        (Returned::Value(got), Some(expected)) if got == expected => Ok(()),
        (Returned::Error(errno), Some(-1)) if call.errno.as_deref().is_none_or(|e| e == errno) => Ok(()),
        (Returned::Value(got), Some(expected)) => {
            syntax(line, format!("expected {name}(…) to return {expected}, but it returned {got}"))
        }
        (Returned::Error(errno), Some(expected)) => {
            let wanted = call.errno.as_ref().map_or(String::new(), |error| format!(" {error}"));
            syntax(line, format!("expected {name}(…) to return {expected}{wanted}, but it failed with {errno}"))
        }
        (Returned::Blocks, _) => syntax(
            line,
            format!("expected {name}(…) to return, but it blocks (+0...0.1 is for one that returns later)"),
        ),
    }
}
