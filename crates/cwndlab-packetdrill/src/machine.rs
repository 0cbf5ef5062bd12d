//! The state of a run: clock, endpoints, file descriptors, segments sent and recent events.

use crate::error::{wrong, Result, ScriptError};
use crate::options::ToolOptions;
use crate::python::Names;
use crate::script::Call;
use crate::segment::show;
use crate::socket::{Descriptor, Endpoint, Kind, Sent, LOCAL_ISS};
use crate::timestamps::Timestamps;
use cwndlab_tcp::{Connection, State, TcpConfig};
use cwndlab_units::Time;
use std::collections::{BTreeMap, VecDeque};

/// Number of events that a failure message shows.
const SHOWN_BEFORE: usize = 6;

/// A blocking system call that has not returned.
pub(crate) struct Pending {
    pub line: usize,
    pub call: Call,
    pub until: Time,
    pub tolerance: Time,
}

/// A setting without a knob that may change what is sent, and the line that requests it.
pub(crate) struct Unset {
    pub line: usize,
    pub setting: String,
}

/// The state of a run.
pub(crate) struct Machine {
    pub now: Time,
    pub cfg: TcpConfig,
    pub options: ToolOptions,
    /// The time of the previous event, according to the script.
    pub event_before: Option<Time>,
    /// Whether the interface accepts segments. While it does not, the endpoints are not asked for segments.
    pub queue_takes: bool,
    /// The receive buffer that a BSD script sets, in bytes. If it is set, the advertised window depends on the script's
    /// reads; otherwise data counts as read when it arrives.
    pub receive_buffer: Option<u64>,
    pub descriptors: BTreeMap<i64, Descriptor>,
    pub endpoints: Vec<Endpoint>,
    pub sent: VecDeque<Sent>,
    pub pending: Vec<Pending>,
    pub names: Names,
    pub unset: Vec<Unset>,
    before: VecDeque<String>,
}

impl Machine {
    pub fn new(cfg: TcpConfig, options: ToolOptions) -> Self {
        Machine {
            now: Time::ZERO,
            cfg: TcpConfig { mss: options.mss().unwrap_or(cfg.mss), ..cfg },
            options,
            event_before: None,
            queue_takes: true,
            receive_buffer: None,
            descriptors: BTreeMap::new(),
            endpoints: Vec::new(),
            sent: VecDeque::new(),
            pending: Vec::new(),
            names: Names::new(),
            unset: Vec::new(),
            before: VecDeque::new(),
        }
    }

    /// Stores an event, so that a failure message can show it.
    pub fn note(&mut self, at: Time, what: &str) {
        if self.before.len() == SHOWN_BEFORE {
            self.before.pop_front();
        }
        self.before.push_back(format!("{} {what}", seconds(at)));
    }

    /// Adds the preceding events to a failure, and the first setting that was not applied, because this setting may be
    /// the reason.
    pub fn explain(&mut self, error: ScriptError) -> ScriptError {
        while let Some(sent) = self.sent.pop_front() {
            let packet = self.endpoints[sent.endpoint].shown(&sent.segment);
            self.note(sent.at, &format!("> {} (not expected yet)", show(&packet.without_details())));
        }
        let message = match self.unset.first() {
            Some(Unset { line, setting }) if !error.unsupported => {
                format!("{} (line {line}: {setting} is not supported, which may be why)", error.message)
            }
            _ => error.message,
        };
        ScriptError {
            message,
            unsupported: error.unsupported || !self.unset.is_empty(),
            before: self.before.iter().cloned().collect(),
            ..error
        }
    }

    /// Appends an endpoint to the list of endpoints.
    pub fn add_endpoint(&mut self, cfg: TcpConfig, connection: Connection, accepted: bool) {
        let timestamps = Timestamps::with_tick(self.options.timestamp_tick_us);
        self.endpoints.push(Endpoint::new(cfg, connection, timestamps, accepted));
    }

    /// The time at which the earliest timer of all endpoints expires.
    pub fn next_timer(&self) -> Option<Time> {
        self.endpoints.iter().map(|e| e.connection.poll_timeout()).min().filter(|at| !at.is_never())
    }

    /// Handles the timers that are due at `at`.
    pub fn timer(&mut self, at: Time) -> Result<()> {
        self.now = self.now.max(at);
        for endpoint in &mut self.endpoints {
            if endpoint.connection.poll_timeout() <= self.now {
                endpoint.connection.handle_timeout(&endpoint.cfg, self.now);
            }
        }
        self.drain();
        self.finish_calls()
    }

    /// Advances time to `to`, handling the timers on the way.
    pub fn advance(&mut self, line: usize, to: Time, tolerance: Time) -> Result<()> {
        if to + tolerance < self.now {
            let (to, now) = (seconds(to), seconds(self.now));
            return wrong(line, format!("timing error: expected it to happen at {to}, but it is {now} already"));
        }
        while let Some(at) = self.next_timer().filter(|at| *at <= to) {
            self.timer(at)?;
        }
        self.now = self.now.max(to);
        Ok(())
    }

    /// Collects the segments that the endpoints send now, unless the interface accepts none.
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

    /// Stores `tcp_info` of the last connection in `names`; without one, that of a socket before its connection.
    pub fn collect_info(&mut self) {
        if let Some(endpoint) = self.endpoints.last() {
            crate::info::collect(endpoint, endpoint.connection.state(), &mut self.names);
        } else if let Some(socket) = self.descriptors.values().next_back() {
            let state = if socket.kind == Kind::Listening { State::Listen } else { State::Closed };
            let connection = Connection::client(&socket.cfg, LOCAL_ISS, self.now);
            let endpoint = Endpoint::new(socket.cfg, connection, Timestamps::with_tick(0), false);
            crate::info::collect(&endpoint, state, &mut self.names);
        }
    }
}

/// A time in seconds, for messages.
pub(crate) fn seconds(at: Time) -> String {
    format!("{:.6} s", at.as_secs_f64())
}
