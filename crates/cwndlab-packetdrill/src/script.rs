//! A parsed script.

use crate::options::ToolOptions;
use cwndlab_tcp::AccEcnOption;
use cwndlab_units::Time;

/// When an event takes place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct When {
    /// Whether times count from the previous event. Otherwise they count from the script's beginning.
    pub relative: bool,
    /// `None` means any time (`*`).
    pub at: Option<Time>,
    /// End of a range (`+.3~+.4`).
    pub until: Option<Time>,
}

/// What happens at an event.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Action {
    /// `<`: a segment arrives at the endpoint.
    Inject(Packet),
    /// `>`: the endpoint sends a segment.
    Expect(Packet),
    /// A system call. `end` is the time at which a blocking call returns, relative to the same time as the event's
    /// [`When`].
    Call { call: Call, end: Option<Time> },
    /// Python code with assertions: `%{ … }%`.
    Code(String),
    /// A command in backquotes.
    Command(String),
}

/// An event of the script, with the number of its line.
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
    /// `None` if the script does not state it (`= ?`).
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

/// A segment as a script writes it. Its numbers are relative to the initial sequence numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Packet {
    pub ecn: Option<EcnBits>,
    pub flags: u8,
    /// `None` if the script does not state it (`...(0)`).
    pub seq: Option<u32>,
    pub len: u32,
    pub ack: Option<u32>,
    pub window: Option<u32>,
    /// `None` means that options are not compared (`<...>`).
    pub options: Option<Options>,
}

impl Packet {
    /// The segment without the fields that few scripts compare: the window and the ECN bits.
    pub fn without_details(self) -> Self {
        Packet { window: None, ecn: None, ..self }
    }
}

/// TCP options of a segment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Options {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    pub timestamps: Option<(u32, u32)>,
    pub sack: Vec<(u32, u32)>,
    pub accecn: Option<AccEcnOption>,
}

/// A whole script.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Script {
    pub options: ToolOptions,
    /// The commands before the first event, with their lines.
    pub setup: Vec<(usize, String)>,
    pub events: Vec<Event>,
}
