//! System calls.

use crate::arguments::{flags, iov_bytes, Flags};
use crate::error::{unsupported, wrong, Result};
use crate::machine::{seconds, Machine, Pending};
use crate::number::integer;
use crate::script::Call;
use crate::socket::{Descriptor, Endpoint, Kind, LOCAL_ISS};
use cwndlab_tcp::{Connection, State};
use cwndlab_units::Time;

const CALLS: &str =
    "socket, bind, listen, accept, connect, write, send, sendto, sendmsg, writev, read, recv, recvfrom, \
                     close, shutdown, setsockopt, getsockopt, ioctl and fcntl";

/// The result of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Returned {
    Value(i64),
    Error(&'static str),
    /// The call blocks.
    Blocks,
}

impl Machine {
    /// Performs a call that must return immediately.
    pub fn call(&mut self, line: usize, call: &Call) -> Result<()> {
        let returned = self.perform(line, call)?;
        check(line, call, returned)
    }

    /// Performs a call that must return at `until`.
    pub fn start_blocking(&mut self, line: usize, call: &Call, until: Time) -> Result<()> {
        let tolerance = self.options.tolerance.over(until.saturating_sub(self.now));
        let waits = self.now + tolerance < until;
        if waits && matches!(call.name.as_str(), "write" | "writev" | "send" | "sendto" | "sendmsg") {
            return unsupported(line, "a write that waits for the send buffer is not supported");
        }
        let returned = self.perform(line, call)?;
        if returned == Returned::Blocks {
            self.pending.push(Pending { line, call: call.clone(), until, tolerance });
            return Ok(());
        }
        if waits {
            let (name, until, now) = (&call.name, seconds(until), seconds(self.now));
            let message = format!("timing error: expected {name}(…) to return at {until}, but it did at {now}");
            return wrong(line, message);
        }
        check(line, call, returned)
    }

    /// Completes the blocking calls that can return now. Each must return at the time that the script states.
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
                return wrong(
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
        match call.name.as_str() {
            "socket" => self.socket(line, call),
            "bind" => self.bind(line, call),
            "fcntl" => self.fcntl(line, call),
            "listen" => {
                self.descriptor(line, call)?.kind = Kind::Listening;
                Ok(Returned::Value(0))
            }
            "accept" => Ok(self.accept(call)),
            "connect" => self.connect(line, call),
            "write" | "send" | "sendto" | "sendmsg" | "writev" => self.write(line, call),
            "read" | "recv" | "recvfrom" => self.read(line, call),
            "close" => self.close(line, call),
            "shutdown" => self.shutdown(line, call),
            "setsockopt" => self.set_option(line, call),
            "getsockopt" => self.get_option(line, call),
            "ioctl" => self.ioctl(line, call),
            other => unsupported(line, format!("system call {other:?} is not supported; there are {CALLS}")),
        }
    }

    fn socket(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let kind = call.arguments.get(1).map_or("", String::as_str);
        if let Some(word) =
            kind.split('|').map(str::trim).find(|w| !matches!(*w, "SOCK_STREAM" | "SOCK_NONBLOCK" | "SOCK_CLOEXEC"))
        {
            return unsupported(line, format!("socket type {word} is not supported, only SOCK_STREAM"));
        }
        let fd = call.result.unwrap_or(3);
        let descriptor = Descriptor::new(self.cfg, Kind::Unconnected, kind.contains("SOCK_NONBLOCK"));
        self.descriptors.insert(fd, descriptor);
        Ok(Returned::Value(fd))
    }

    fn bind(&mut self, line: usize, call: &Call) -> Result<Returned> {
        self.descriptor(line, call)?;
        if call.result.is_some_and(|result| result != 0) {
            return unsupported(line, "a bind that fails is not supported: addresses are not modelled");
        }
        Ok(Returned::Value(0))
    }

    fn fcntl(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let descriptor = self.descriptor(line, call)?;
        match call.arguments.get(1).map_or("", String::as_str) {
            "F_GETFL" => Ok(Returned::Value(call.result.unwrap_or(0))), // any result: open modes are not modelled
            "F_SETFL" => {
                descriptor.nonblocking = call.arguments.get(2).is_some_and(|a| a.contains("O_NONBLOCK"));
                Ok(Returned::Value(0))
            }
            other => unsupported(line, format!("fcntl(…, {other}) is not supported, only F_GETFL and F_SETFL")),
        }
    }

    /// Compares the number of bytes that wait to be read (`SIOCINQ`) or to be acknowledged (`SIOCOUTQ`) with the number
    /// that the script expects.
    fn ioctl(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let request = call.arguments.get(1).map_or("", String::as_str);
        let endpoint = self.endpoint(line, call)?;
        let found = match request {
            "SIOCINQ" | "FIONREAD" => endpoint.unread(),
            "SIOCOUTQ" | "TIOCOUTQ" => endpoint.written - endpoint.connection.acked().min(endpoint.written),
            other => {
                return unsupported(line, format!("ioctl(…, {other}) is not supported, only SIOCINQ and SIOCOUTQ"))
            }
        };
        let expected = call.arguments.get(2).and_then(|text| integer(text.trim_matches(['[', ']'])));
        if expected.is_some_and(|expected| expected != found as i64) {
            let expected = expected.unwrap_or_default();
            return wrong(line, format!("expected ioctl(…, {request}) to give {expected}, but it gave {found}"));
        }
        Ok(Returned::Value(0))
    }

    fn fd(line: usize, call: &Call) -> Result<i64> {
        let first = call.arguments.first();
        if let Some(fd) = first.and_then(|argument| integer(argument)) {
            return Ok(fd);
        }
        let found = first.map_or("nothing".to_string(), |argument| format!("{argument:?}"));
        wrong(line, format!("{}(…): expected a file descriptor as the first argument, found {found}", call.name))
    }

    pub fn descriptor(&mut self, line: usize, call: &Call) -> Result<&mut Descriptor> {
        let fd = Self::fd(line, call)?;
        let open: Vec<String> = self.descriptors.keys().map(ToString::to_string).collect();
        if let Some(descriptor) = self.descriptors.get_mut(&fd) {
            return Ok(descriptor);
        }
        let open = if open.is_empty() { "none is".to_string() } else { open.join(", ") };
        wrong(line, format!("{}({fd}, …): expected an open file descriptor ({open}), found {fd}", call.name))
    }

    pub fn endpoint(&mut self, line: usize, call: &Call) -> Result<&mut Endpoint> {
        match self.descriptor(line, call)?.kind {
            Kind::Connected(index) => Ok(&mut self.endpoints[index]),
            Kind::Listening => {
                wrong(line, format!("{}(…): expected a connected socket, found one that listens", call.name))
            }
            Kind::Unconnected => {
                wrong(line, format!("{}(…): expected a connected socket, found one that is not", call.name))
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
        let descriptor = Descriptor::new(endpoint.cfg, Kind::Connected(index), false);
        self.descriptors.insert(fd, descriptor);
        Returned::Value(fd)
    }

    fn connect(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let (now, index) = (self.now, self.endpoints.len());
        let descriptor = self.descriptor(line, call)?;
        if descriptor.kind != Kind::Unconnected {
            return self.connected(line, call);
        }
        let Descriptor { cfg, nonblocking, corked, user_timeout_ms, .. } = *descriptor;
        descriptor.kind = Kind::Connected(index);
        self.add_endpoint(cfg, Connection::client(&cfg, LOCAL_ISS, now), true);
        self.apply_options(index, corked, user_timeout_ms);
        Ok(if nonblocking { Returned::Error("EINPROGRESS") } else { Returned::Blocks })
    }

    fn connected(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let endpoint = self.endpoint(line, call)?;
        Ok(match endpoint.connection.state() {
            State::SynSent | State::SynReceived => Returned::Blocks,
            State::Closed => endpoint.take_error().map_or(Returned::Value(0), Returned::Error),
            _ => Returned::Value(0),
        })
    }

    fn write(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let argument = |index: usize| call.arguments.get(index).map_or("", String::as_str);
        let (bytes, flag_words) = match call.name.as_str() {
            "write" => (integer(argument(2)), ""),
            "send" | "sendto" => (integer(argument(2)), argument(3)),
            "sendmsg" => (iov_bytes(argument(1)), argument(2)),
            _ => (iov_bytes(argument(1)), ""),
        };
        let Flags { more, end_of_record, .. } =
            flags(line, call, flag_words, &["MSG_MORE", "MSG_EOR", "MSG_NOSIGNAL", "MSG_DONTWAIT"])?;
        let endpoint = self.endpoint(line, call)?;
        if matches!(endpoint.connection.state(), State::Closed) || endpoint.write_shut {
            return Ok(Returned::Error(endpoint.take_error().unwrap_or("EPIPE")));
        }
        if argument(1) == "NULL" {
            return Ok(Returned::Error("EFAULT"));
        }
        let Some(bytes) = bytes.and_then(|n| u64::try_from(n).ok()) else {
            return wrong(line, format!("{}(…): expected how many bytes, found {:?}", call.name, call.arguments));
        };
        if call.result.is_some_and(|result| result != bytes as i64) {
            let message = "a write that the send buffer does not take whole is not supported";
            return unsupported(line, message);
        }
        endpoint.written += bytes;
        if more {
            endpoint.connection.write_more(bytes);
        } else {
            endpoint.connection.write(bytes);
        }
        if end_of_record {
            endpoint.connection.end_record();
        }
        Ok(Returned::Value(bytes as i64))
    }

    fn read(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let argument = |index: usize| call.arguments.get(index).map_or("", String::as_str);
        let Some(size) = integer(argument(2)).and_then(|n| u64::try_from(n).ok()) else {
            return wrong(line, format!("{}(…): expected how many bytes, found {:?}", call.name, argument(2)));
        };
        let flag_words = if call.name == "read" { "" } else { argument(3) };
        let Flags { peek, dont_wait, .. } =
            flags(line, call, flag_words, &["MSG_PEEK", "MSG_DONTWAIT", "MSG_NOSIGNAL"])?;
        let nonblocking = self.descriptor(line, call)?.nonblocking || dont_wait;
        let (reads_make_room, now) = (self.receive_buffer.is_some(), self.now);
        let endpoint = self.endpoint(line, call)?;
        let ready = endpoint.unread().min(size);
        if ready > 0 && argument(1) == "NULL" {
            return Ok(Returned::Error("EFAULT"));
        }
        if ready > 0 {
            endpoint.read += if peek { 0 } else { ready };
            if reads_make_room && !peek {
                endpoint.connection.read(&endpoint.cfg, now, ready);
            }
            return Ok(Returned::Value(ready as i64));
        }
        Ok(if endpoint.connection.peer_closed() {
            Returned::Value(0) // before any error: the stream has ended (Linux: SOCK_DONE)
        } else if let Some(errno) = endpoint.take_error() {
            Returned::Error(errno)
        } else if endpoint.read_shut || endpoint.connection.is_finished() {
            Returned::Value(0)
        } else if nonblocking {
            Returned::Error("EAGAIN")
        } else {
            Returned::Blocks
        })
    }

    fn shutdown(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let how = call.arguments.get(1).map_or("", String::as_str);
        let (reads, writes) = match how {
            "SHUT_RD" | "0" => (true, false),
            "SHUT_WR" | "1" => (false, true),
            "SHUT_RDWR" | "2" => (true, true),
            _ => return wrong(line, format!("shutdown(…): expected SHUT_RD, SHUT_WR or SHUT_RDWR, found {how:?}")),
        };
        let endpoint = self.endpoint(line, call)?;
        if endpoint.connection.is_finished() {
            return Ok(Returned::Error("ENOTCONN"));
        }
        if reads {
            endpoint.read_shut = true;
            endpoint.connection.close_read();
        }
        if writes {
            endpoint.write_shut = true;
            endpoint.connection.close();
        }
        Ok(Returned::Value(0))
    }

    fn close(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let fd = Self::fd(line, call)?;
        let linger_zero = self.descriptor(line, call)?.linger_zero;
        let kind = self.descriptor(line, call)?.kind;
        if let Kind::Connected(index) = kind {
            let endpoint = &mut self.endpoints[index];
            // RFC 2525, section 2.17: a close with unread data resets the connection.
            if linger_zero || endpoint.unread() > 0 {
                endpoint.connection.abort();
            } else {
                endpoint.connection.close_read();
                endpoint.connection.close();
            }
        }
        self.descriptors.remove(&fd);
        Ok(Returned::Value(0))
    }
}

/// Compares the result of a call with the result that the script states.
fn check(line: usize, call: &Call, returned: Returned) -> Result<()> {
    let name = &call.name;
    match (returned, call.result) {
        (Returned::Value(_) | Returned::Error(_), None) => Ok(()),
        (Returned::Value(got), Some(expected)) if got == expected => Ok(()),
        // EAGAIN and EWOULDBLOCK are two names for the same value.
        (Returned::Error("EAGAIN"), Some(-1)) if call.errno.as_deref() == Some("EWOULDBLOCK") => Ok(()),
        (Returned::Error(errno), Some(-1)) if call.errno.as_deref().is_none_or(|e| e == errno) => Ok(()),
        (Returned::Value(got), Some(expected)) => {
            wrong(line, format!("expected {name}(…) to return {expected}, but it returned {got}"))
        }
        (Returned::Error(errno), Some(expected)) => {
            let wanted = call.errno.as_ref().map_or(String::new(), |error| format!(" {error}"));
            wrong(line, format!("expected {name}(…) to return {expected}{wanted}, but it failed with {errno}"))
        }
        (Returned::Blocks, _) => {
            wrong(line, format!("expected {name}(…) to return, but it blocks (+0...0.1 is for one that returns later)"))
        }
    }
}
