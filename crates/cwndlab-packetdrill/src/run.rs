//! Runs a script's events in virtual time.

use crate::compare::compare;
use crate::error::{too_late, unsupported, wrong, Result, ScriptError, LONGEST_S};
use crate::machine::{seconds, Machine, Unset};
use crate::parse::parse;
use crate::python;
use crate::script::{Action, Call, Event, Packet, Script};
use crate::segment::show;
use crate::settings;
use crate::socket::{Descriptor, Kind, LOCAL_ISS};
use crate::state::SocketCount;
use cwndlab_tcp::{Connection, Flags, Header, Segment, TcpConfig};
use cwndlab_units::Time;

/// Largest payload of an IP packet with 20 bytes of IP header and 60 of TCP header.
const MAX_PAYLOAD: u32 = 65_535 - 80;
/// How long to wait for an expected segment whose event states no time.
const PATIENCE: Time = Time::from_secs(3600);

/// How strictly the endpoint's behaviour is compared with a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Strictness {
    /// Permitted deviation of event times. If set, it overrides `--tolerance_usecs` in the script.
    pub tolerance: Option<Time>,
    /// Whether advertised windows (`win N` of expected segments) are not compared: they depend on how an operating
    /// system accounts for its buffers.
    pub ignore_windows: bool,
}

/// Runs the script `text` against endpoints with the configuration `cfg`, to which the script's commands and socket
/// options apply.
///
/// # Errors
///
/// The first line that cannot be parsed, is not supported or is contradicted by the endpoint.
pub fn run(text: &str, cfg: &TcpConfig) -> std::result::Result<(), ScriptError> {
    run_with(text, cfg, Strictness::default())
}

/// Runs the script `text` as [`run`] does, but compares as strictly as `strictness` states.
///
/// # Errors
/// The first line that cannot be parsed, is not supported or is contradicted by the endpoint.
pub fn run_with(text: &str, cfg: &TcpConfig, strictness: Strictness) -> std::result::Result<(), ScriptError> {
    let mut script = parse(text)?;
    if let Some(least) = strictness.tolerance {
        script.options.tolerance.least = least.min(Time::from_secs(LONGEST_S));
    }
    script.options.ignore_windows = strictness.ignore_windows;
    let mut machine = Machine::new(*cfg, script.options);
    machine.script(&script).map_err(|error| machine.explain(error))
}

impl Machine {
    fn script(&mut self, script: &Script) -> Result<()> {
        for (line, command) in &script.setup {
            self.command(*line, command)?;
        }
        for event in &script.events {
            self.event(event)?;
        }
        self.finish()
    }

    fn event(&mut self, event: &Event) -> Result<()> {
        let base = if event.when.relative { self.now } else { Time::ZERO };
        let scripted = event.when.at.map_or(self.now, |at| base + at);
        if scripted > Time::from_secs(LONGEST_S) {
            return too_late(event.line);
        }
        let since = self.event_before.map_or(Time::ZERO, |before| scripted.saturating_sub(before));
        let tolerance = self.options.tolerance.over(since);
        self.event_before = Some(scripted);
        if let Action::Expect(packet) = &event.action {
            let from = event.when.at.map(|at| base + at);
            let until = event.when.until.map(|until| base + until).or(from);
            return self.expect(event.line, packet, from, until, tolerance);
        }
        if let Some(at) = event.when.at {
            self.advance(event.line, base + at, tolerance)?;
        }
        match &event.action {
            Action::Inject(packet) => {
                self.inject(event.line, packet)?;
                self.note(self.now, &format!("< {}", show(packet)));
            }
            Action::Call { call, end } => {
                if let Some(end) = end {
                    self.start_blocking(event.line, call, base + *end)?;
                } else {
                    self.call(event.line, call)?;
                }
                self.note(self.now, &call_text(call));
            }
            Action::Code(code) => {
                self.collect_info();
                python::run(code, &mut self.names).map_err(|failure| ScriptError {
                    line: event.line + failure.line,
                    unsupported: failure.unsupported,
                    message: failure.message,
                    before: Vec::new(),
                })?;
            }
            // Returns without draining: the endpoints' segments are collected only at the next event, if the
            // interface's queue then accepts them.
            Action::Command(text) => return self.command(event.line, text),
            Action::Expect(_) => {}
        }
        self.drain();
        self.finish_calls()
    }

    /// Applies the settings in a command, or checks the number of connections that the command states. The command
    /// itself is not run.
    fn command(&mut self, line: usize, text: &str) -> Result<()> {
        if let Some(count) = SocketCount::parse(text) {
            return count.check(line, &self.endpoints);
        }
        match settings::command(&mut self.cfg, text) {
            Ok(effect) => {
                self.receive_buffer = effect.receive_buffer.or(self.receive_buffer);
                self.queue_takes = effect.queue_takes.unwrap_or(self.queue_takes);
                self.unset.extend(effect.unset.into_iter().map(|setting| Unset { line, setting }));
                Ok(())
            }
            Err(message) => unsupported(line, message),
        }
    }

    /// Runs until the latest time that the script states for the return of a blocking call, and checks that all
    /// blocking calls have returned.
    fn finish(&mut self) -> Result<()> {
        let Some(last) = self.pending.iter().map(|p| p.until + p.tolerance).max() else { return Ok(()) };
        let line = self.pending[0].line;
        self.advance(line, last.max(self.now), Time::ZERO)?;
        match self.pending.first() {
            Some(p) => {
                let (name, until) = (&p.call.name, seconds(p.until));
                wrong(p.line, format!("expected {name}(…) to return at {until}, but it blocks still"))
            }
            None => Ok(()),
        }
    }

    fn inject(&mut self, line: usize, packet: &Packet) -> Result<()> {
        if packet.len > MAX_PAYLOAD {
            return wrong(line, format!("expected at most {MAX_PAYLOAD} bytes of data, found {}", packet.len));
        }
        if let Some(window) = packet.window.filter(|&window| window > u32::from(u16::MAX)) {
            return wrong(line, format!("expected a window of at most 65535 (before scaling), found {window}"));
        }
        let flags = Flags(packet.flags);
        if packet.seq.is_none() {
            return unsupported(line, "a segment that arrives needs its sequence numbers");
        }
        if flags.has(Flags::SYN) && packet.len > 0 && self.receive_buffer.is_none() {
            // With a receive buffer, which only BSD's scripts set, the script expects data in a SYN to be ignored.
            return unsupported(line, "a SYN that carries data (TCP Fast Open) is not supported");
        }
        if flags.has(Flags::SYN) && !flags.has(Flags::ACK) || self.endpoints.is_empty() {
            self.passive_open();
        }
        if self.endpoints.is_empty() {
            self.add_closed_port();
        }
        let Some(endpoint) = self.endpoints.last_mut() else { return Ok(()) };
        let ts_ecr = packet.options.as_ref().and_then(|options| options.timestamps).map_or(0, |stamps| stamps.1);
        let echo = match endpoint.timestamps.live(ts_ecr) {
            Some(sent) => sent,
            None if self.options.echo_scaled => endpoint.timestamps.interpolated(ts_ecr),
            // Without the ACK flag the echo is ignored (RFC 7323, section 3.2).
            None if !flags.has(Flags::ACK) => ts_ecr,
            None => {
                let message =
                    format!("TS ecr {ts_ecr} echoes no timestamp that was sent; --tcp_ts_ecr_scaled allows it");
                return wrong(line, message);
            }
        };
        let whole = endpoint.inbound(packet, echo);
        // With `merged_from`, new data is split into segments that arrive at the same time, before the endpoint can
        // send an ACK for each. Data that fills a hole or repeats earlier data is not split, because a DSACK has to
        // report the whole duplicate.
        let beyond = packet.seq.is_some_and(|seq| seq >= endpoint.furthest);
        endpoint.furthest = endpoint.furthest.max(packet.seq.unwrap_or(0).saturating_add(whole.len));
        let size = self.options.merged_from.filter(|_| beyond).unwrap_or(whole.len).max(1);
        let (mut start, end) = (0, whole.len);
        loop {
            let len = size.min(end - start);
            let last = start + len == end;
            let flags = if last { whole.flags } else { Flags(whole.flags.0 & !(Flags::PSH.0 | Flags::FIN.0)) };
            let wire_bytes = whole.wire_bytes - end + len;
            let header = Header { seq: whole.seq.wrapping_add(start), len, flags, wire_bytes, ..whole.header };
            let part = Segment { header, ..whole };
            endpoint.connection.handle_segment(&endpoint.cfg, self.now, &part);
            start += len;
            if last {
                return Ok(());
            }
        }
    }

    /// Adds an endpoint that answers segments as a closed port does, for scripts in which no socket listens (RFC 9293,
    /// section 3.10.7.1).
    fn add_closed_port(&mut self) {
        let mut connection = Connection::server(&self.cfg, LOCAL_ISS, self.now);
        connection.close();
        self.add_endpoint(self.cfg, connection, true);
    }

    /// Creates an endpoint for a segment that arrives, if a socket listens and the last connection, if there is one, is
    /// finished.
    fn passive_open(&mut self) {
        let Some(listener) = self.descriptors.values().find(|d| d.kind == Kind::Listening) else { return };
        if self.endpoints.last().is_some_and(|e| !e.connection.is_finished()) {
            return;
        }
        let Descriptor { cfg, corked, user_timeout_ms, .. } = *listener;
        let connection = Connection::server(&cfg, LOCAL_ISS, self.now);
        self.add_endpoint(cfg, connection, false);
        self.apply_options(self.endpoints.len() - 1, corked, user_timeout_ms);
    }

    /// Waits for a segment and compares it with the expected one.
    fn expect(
        &mut self,
        line: usize,
        expected: &Packet,
        from: Option<Time>,
        until: Option<Time>,
        tolerance: Time,
    ) -> Result<()> {
        let latest = until.map_or(self.now + PATIENCE, |until| until + tolerance);
        while self.sent.is_empty() {
            match self.next_timer() {
                Some(at) if at <= latest => self.timer(at)?,
                _ => {
                    let by = until.map_or_else(String::new, |until| format!(" at {}", seconds(until)));
                    self.now = latest;
                    return wrong(
                        line,
                        format!("expected {}{by}, but nothing was sent by {}", show(expected), seconds(latest)),
                    );
                }
            }
        }
        let Some(first) = self.sent.pop_front() else { return Ok(()) };
        self.now = self.now.max(first.at);
        let endpoint = &mut self.endpoints[first.endpoint];
        let mut found = endpoint.outbound(&first.segment, expected);
        // Combines several segments into one, as the kernel's TSO would show them.
        while found.len < expected.len && !self.options.strict_segments {
            let Some(next) = self.sent.front() else { break };
            let more = endpoint.outbound(&next.segment, expected);
            let contiguous = more.seq == found.seq.map(|seq| seq.wrapping_add(found.len))
                && more.ack == found.ack
                && next.endpoint == first.endpoint;
            if !contiguous || found.len + more.len > expected.len || next.at.saturating_sub(first.at) > tolerance {
                break;
            }
            found.len += more.len;
            found.flags |= more.flags;
            self.sent.pop_front();
        }
        compare(line, self, expected, &found)?;
        self.note(first.at, &format!("> {}", show(&found.without_details())));
        let (Some(from), Some(until)) = (from, until) else { return Ok(()) };
        if first.at + tolerance < from || first.at > until + tolerance {
            let range = if from == until { seconds(from) } else { format!("{}~{}", seconds(from), seconds(until)) };
            let (shown, at, tolerance) = (show(expected), seconds(first.at), seconds(tolerance));
            let message =
                format!("timing error: expected {shown} at {range}, but it was sent at {at} (tolerance {tolerance})");
            return wrong(line, message);
        }
        Ok(())
    }
}

/// A call as the script writes it, for messages.
fn call_text(call: &Call) -> String {
    let result = call.result.map_or("?".to_string(), |result| result.to_string());
    let errno = call.errno.as_ref().map_or(String::new(), |errno| format!(" {errno}"));
    format!("{}({}) = {result}{errno}", call.name, call.arguments.join(", "))
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
