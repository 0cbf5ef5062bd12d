//! A parsed script.

use cwndlab_units::Time;
use std::fmt;

/// Why a script failed, and at which of its lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptError {
    /// Line of the script, from 1.
    pub line: usize,
    /// What was expected and what happened.
    pub message: String,
    /// Whether the script asks for what this tool does not offer, rather than being contradicted by the endpoint.
    pub unsupported: bool,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}
impl std::error::Error for ScriptError {}

/// When an event takes place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct When {
    /// Counted from the event before rather than from the script's beginning.
    pub relative: bool,
    /// `None`: any time (`*`).
    pub at: Option<Time>,
    /// End of a range (`+.3~+.4`).
    pub until: Option<Time>,
}

/// What takes place.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Action {
    /// `<`: a segment arrives at the endpoint.
    Inject(Packet),
    /// `>`: the endpoint sends a segment.
    Expect(Packet),
    /// A system call; `end` is when a blocking one returns, relative like `When`.
    Call { call: Call, end: Option<Time> },
    /// `%{ … }%`
    Code(String),
    /// A command in backquotes.
    Command(String),
}

/// One line of the script.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Event {
    pub line: usize,
    pub when: When,
    pub action: Action,
}

/// `name(arguments) = result ERRNO`
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    pub name: String,
    pub arguments: Vec<String>,
    /// `None` where the script does not say (`= ?`).
    pub result: Option<i64>,
    pub errno: Option<String>,
}

/// ECN bits of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EcnBits {
    NotEct,
    Ect0,
    Ect1,
    Ce,
    /// Either ECT codepoint.
    Ect01,
}

/// A segment as scripts write it; numbers relative to the initial sequence numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Packet {
    pub ecn: Option<EcnBits>,
    pub flags: u8,
    pub seq: u32,
    pub len: u32,
    pub ack: Option<u32>,
    pub window: Option<u32>,
    /// `None`: not compared (`<...>`).
    pub options: Option<Options>,
}

/// TCP options of a segment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Options {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    pub timestamps: Option<(u32, u32)>,
    pub sack: Vec<(u32, u32)>,
}

/// How far an event may be from its time: by the larger of the two.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Tolerance {
    pub least: Time,
    /// Of the time since the event before.
    pub percent: f64,
}

/// packetdrill's defaults.
impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { least: Time::from_micros(4_000), percent: 12.5 }
    }
}

impl Tolerance {
    /// After `span`.
    pub fn over(self, span: Time) -> Time {
        self.least.max(Time::from_secs_f64(span.as_secs_f64() * self.percent / 100.0))
    }
}

/// A whole script.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Script {
    pub tolerance: Tolerance,
    /// The commands that come before the first event, and their lines.
    pub setup: Vec<(usize, String)>,
    pub events: Vec<Event>,
}
