//! Runs a script's events in virtual time.

use crate::parse::{parse, syntax, too_late, unsupported, Result, LONGEST_S};
use crate::python::{self, Names};
use crate::script::{Action, Call, EcnBits, Event, Options, Packet, ScriptError, Tolerance};
use crate::segment::show;
use crate::settings;
use crate::socket::{Descriptor, Endpoint, Kind, Sent, LOCAL_ISS};
use cwndlab_tcp::{Connection, Flags, TcpConfig};
use cwndlab_units::Time;
use std::collections::{BTreeMap, VecDeque};

/// What fits into one IP packet next to 20 bytes of IP header and 60 of TCP header.
const MAX_PAYLOAD: u32 = 65_535 - 80;
/// How long an event without a time is waited for.
const PATIENCE: Time = Time::from_secs(3600);
/// Timestamps may be off by the tolerance since the script's beginning, counted in their milliseconds, and one more for its rounding.
const TIMESTAMP_SLACK_MS: u32 = 1;

/// Runs the script `text` against endpoints of `cfg`, as its commands and socket options change it.
///
/// # Errors
/// The first line that cannot be read, is not supported or is contradicted by the endpoint.
pub fn run(text: &str, cfg: &TcpConfig) -> std::result::Result<(), ScriptError> {
    run_within(text, cfg, None)
}

/// As [`run`], but events may be off by that time, whatever `--tolerance_usecs` in the script says.
///
/// # Errors
/// As those of [`run`].
pub fn run_within(text: &str, cfg: &TcpConfig, tolerance: Option<Time>) -> std::result::Result<(), ScriptError> {
    let mut script = parse(text)?;
    if let Some(least) = tolerance {
        script.tolerance.least = least.min(Time::from_secs(LONGEST_S));
    }
    let mut machine = Machine {
        now: Time::ZERO,
        cfg: *cfg,
        tolerance: script.tolerance,
        event_before: None,
        queue_takes: true,
        descriptors: BTreeMap::new(),
        endpoints: Vec::new(),
        sent: VecDeque::new(),
        pending: Vec::new(),
        names: Names::new(),
    };
    for (line, command) in &script.setup {
        machine.command(*line, command)?;
    }
    for event in &script.events {
        machine.event(event)?;
    }
    machine.finish()
}

/// A blocking system call that has not returned.
pub(crate) struct Pending {
    pub line: usize,
    pub call: Call,
    pub until: Time,
    pub tolerance: Time,
}

/// The state of a run.
pub(crate) struct Machine {
    pub now: Time,
    pub cfg: TcpConfig,
    pub tolerance: Tolerance,
    /// When the event before took place, by the script.
    event_before: Option<Time>,
    /// Whether the interface takes segments; while it does not, the endpoints are not asked for any.
    queue_takes: bool,
    pub descriptors: BTreeMap<i64, Descriptor>,
    pub endpoints: Vec<Endpoint>,
    pub sent: VecDeque<Sent>,
    pub pending: Vec<Pending>,
    names: Names,
}

impl Machine {
    fn event(&mut self, event: &Event) -> Result<()> {
        let base = if event.when.relative { self.now } else { Time::ZERO };
        let scripted = event.when.at.map_or(self.now, |at| base + at);
        if scripted > Time::from_secs(LONGEST_S) {
            return too_late(event.line);
        }
        let tolerance =
            self.tolerance.over(self.event_before.map_or(Time::ZERO, |before| scripted.saturating_sub(before)));
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
            Action::Inject(packet) => self.inject(event.line, packet)?,
            Action::Call { call, end } => {
                if let Some(end) = end {
                    self.start_blocking(event.line, call, base + *end)?;
                } else {
                    self.call(event.line, call)?;
                }
            }
            Action::Code(code) => {
                self.collect_info();
                python::run(code, &mut self.names).map_err(|failure| ScriptError {
                    line: event.line + failure.line,
                    unsupported: failure.unsupported,
                    message: failure.message,
                })?;
            }
            // room in the queue is found out by the next attempt to send
            Action::Command(text) => return self.command(event.line, text),
            Action::Expect(_) => {}
        }
        self.drain();
        self.finish_calls()
    }

    /// A command is not run, but what it sets is set.
    fn command(&mut self, line: usize, text: &str) -> Result<()> {
        match settings::command(&mut self.cfg, text) {
            Ok(takes) => {
                self.queue_takes = takes.unwrap_or(self.queue_takes);
                Ok(())
            }
            Err(message) => unsupported(line, message),
        }
    }

    /// Blocking calls must have returned, up to the latest time that the script gives one.
    fn finish(&mut self) -> std::result::Result<(), ScriptError> {
        let Some(last) = self.pending.iter().map(|p| p.until + p.tolerance).max() else { return Ok(()) };
        let line = self.pending[0].line;
        self.advance(line, last.max(self.now), Time::ZERO)?;
        match self.pending.first() {
            Some(p) => {
                let (name, until) = (&p.call.name, seconds(p.until));
                syntax(p.line, format!("expected {name}(…) to return at {until}, but it blocks still"))
            }
            None => Ok(()),
        }
    }

    /// Lets time pass up to `to`, with the timers on the way.
    fn advance(&mut self, line: usize, to: Time, tolerance: Time) -> Result<()> {
        if to + tolerance < self.now {
            let (to, now) = (seconds(to), seconds(self.now));
            return syntax(line, format!("timing error: expected it to happen at {to}, but it is {now} already"));
        }
        while let Some(at) = self.next_timer().filter(|at| *at <= to) {
            self.timer(at)?;
        }
        self.now = self.now.max(to);
        Ok(())
    }

    fn next_timer(&self) -> Option<Time> {
        self.endpoints.iter().map(|e| e.connection.poll_timeout()).min().filter(|at| !at.is_never())
    }

    fn timer(&mut self, at: Time) -> Result<()> {
        self.now = self.now.max(at);
        for endpoint in &mut self.endpoints {
            if endpoint.connection.poll_timeout() <= self.now {
                endpoint.connection.handle_timeout(&endpoint.cfg, self.now);
            }
        }
        self.drain();
        self.finish_calls()
    }

    /// Takes what the endpoints have to send.
    pub fn drain(&mut self) {
        if !self.queue_takes {
            return;
        }
        for (index, endpoint) in self.endpoints.iter_mut().enumerate() {
            while let Some(segment) = endpoint.connection.poll_transmit(&endpoint.cfg, self.now) {
                self.sent.push_back(Sent { at: self.now, endpoint: index, segment });
            }
        }
    }

    fn inject(&mut self, line: usize, packet: &Packet) -> Result<()> {
        if packet.len > MAX_PAYLOAD {
            return syntax(line, format!("expected at most {MAX_PAYLOAD} bytes of data, found {}", packet.len));
        }
        if let Some(window) = packet.window.filter(|&window| window > u32::from(u16::MAX)) {
            return syntax(line, format!("expected a window of at most 65535 (before scaling), found {window}"));
        }
        let flags = Flags(packet.flags);
        if flags.has(Flags::SYN) && !flags.has(Flags::ACK) {
            self.passive_open();
        }
        let Some(endpoint) = self.endpoints.last_mut() else {
            return syntax(line, "a segment arrives, but there is no connection, nor a socket that listens");
        };
        let segment = endpoint.inbound(packet);
        endpoint.connection.handle_segment(&endpoint.cfg, self.now, &segment);
        Ok(())
    }

    /// A SYN: a new endpoint if a socket listens, unless the last one still waits for its handshake's end.
    fn passive_open(&mut self) {
        let Some(listener) = self.descriptors.values().find(|d| d.kind == Kind::Listening) else { return };
        if self.endpoints.last().is_some_and(|e| !e.accepted && !e.connection.is_finished()) {
            return;
        }
        let cfg = listener.cfg;
        let connection = Connection::server(&cfg, LOCAL_ISS, self.now);
        self.endpoints.push(Endpoint::new(cfg, connection, false));
    }

    /// Waits for a segment and compares it.
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
                    return syntax(
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
        // A train of segments, as the kernel's TSO shows it.
        while found.len < expected.len {
            let Some(next) = self.sent.front() else { break };
            let more = endpoint.outbound(&next.segment, expected);
            let contiguous = more.seq == found.seq.wrapping_add(found.len)
                && more.ack == found.ack
                && next.endpoint == first.endpoint;
            if !contiguous || found.len + more.len > expected.len || next.at.saturating_sub(first.at) > tolerance {
                break;
            }
            found.len += more.len;
            found.flags |= more.flags;
            self.sent.pop_front();
        }
        self.compare(line, expected, &found)?;
        let (Some(from), Some(until)) = (from, until) else { return Ok(()) };
        if first.at + tolerance < from || first.at > until + tolerance {
            let range = if from == until { seconds(from) } else { format!("{}~{}", seconds(from), seconds(until)) };
            let (shown, at, tolerance) = (show(expected), seconds(first.at), seconds(tolerance));
            let message =
                format!("timing error: expected {shown} at {range}, but it was sent at {at} (tolerance {tolerance})");
            return syntax(line, message);
        }
        Ok(())
    }

    fn compare(&self, line: usize, expected: &Packet, found: &Packet) -> Result<()> {
        let mismatch = |what: &str| {
            let shown =
                Packet { window: expected.window.and(found.window), ecn: expected.ecn.and(found.ecn), ..found.clone() };
            syntax(line, format!("{what}: expected {}, but the endpoint sent {}", show(expected), show(&shown)))
        };
        if (expected.flags ^ found.flags) & !Flags::PSH.0 != 0 {
            return mismatch("flags");
        }
        if (expected.seq, expected.len) != (found.seq, found.len) {
            return mismatch("sequence numbers");
        }
        if expected.ack.is_some() && expected.ack != found.ack {
            return mismatch("acknowledgment");
        }
        if expected.window.is_some() && expected.window != found.window {
            return mismatch("window");
        }
        let ecn_fits = match (expected.ecn, found.ecn) {
            (Some(EcnBits::Ect01), Some(found)) => matches!(found, EcnBits::Ect0 | EcnBits::Ect1),
            (Some(expected), Some(found)) => expected == found,
            _ => true,
        };
        if !ecn_fits {
            return mismatch("ECN bits");
        }
        if let (Some(expected), Some(found)) = (&expected.options, &found.options) {
            if !self.options_fit(expected, found) {
                return mismatch("options");
            }
        }
        Ok(())
    }

    fn options_fit(&self, expected: &Options, found: &Options) -> bool {
        let slack = (self.tolerance.over(self.now).as_nanos() / 1_000_000) as u32 + TIMESTAMP_SLACK_MS;
        let timestamps = match (expected.timestamps, found.timestamps) {
            (Some((val, ecr)), Some((live_val, live_ecr))) => {
                let late = live_val.wrapping_sub(val) as i32;
                late.unsigned_abs() <= slack && ecr == live_ecr
            }
            (expected, found) => expected.is_none() && found.is_none(),
        };
        timestamps
            && expected.mss == found.mss
            && expected.window_scale == found.window_scale
            && expected.sack_permitted == found.sack_permitted
            && expected.sack == found.sack
    }

    /// `tcp_info` of the last connection, by name.
    fn collect_info(&mut self) {
        if let Some(endpoint) = self.endpoints.last() {
            crate::info::collect(endpoint, &mut self.names);
        }
    }
}

/// A time as scripts write it.
pub(crate) fn seconds(at: Time) -> String {
    format!("{:.6} s", at.as_secs_f64())
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
