//! What a window law needs from its connection, decided once for each connection.

use cwndlab_units::Time;

/// What a window law needs from its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// How long an RTT sample counts towards the minimum RTT. `None` if the law does not use the delivery rate
    /// ([`crate::AckReport::rate`]), which is then not measured.
    pub min_rtt_window: Option<Time>,
    /// Whether the law sets a pacing rate, so that its connections pace regardless of [`crate::TcpConfig::pacing`].
    pub paces: bool,
    /// Whether the law draws random numbers ([`crate::Connection::set_random`]).
    pub draws: bool,
    /// Whether the law uses one-way delays measured by timestamps ([`crate::AckReport::one_way_delay`]).
    pub delays: bool,
    /// Whether the law needs every ACK, including those that acknowledge nothing new, neither cumulatively nor by SACK.
    pub every_ack: bool,
    /// How many congestion windows a send buffer that grows with them has room for (`sndbuf_expand`).
    pub(crate) buffered_windows: u32,
    /// Whether the law uses only those fields of an [`crate::AckReport`] that a `PlainAck` also has. A `PlainAck` is an
    /// ACK of new data that reports nothing by SACK.
    pub(crate) plain_acks: bool,
    /// Whether the law's `on_feedback` is called for each [`PlainAck`](super::PlainAck) (one that acknowledges
    /// new data while nothing is lost), before the ACK opens the window.
    pub(crate) plain_feedback: bool,
    /// Whether the law's `on_idle_ack` is called for each ACK that arrives while nothing is outstanding.
    pub(crate) idle_acks: bool,
}

impl Needs {
    /// A law that uses only ACKs and losses.
    pub(super) const NONE: Needs = Needs {
        min_rtt_window: None,
        paces: false,
        draws: false,
        delays: false,
        every_ack: false,
        buffered_windows: 2,
        plain_acks: false,
        plain_feedback: false,
        idle_acks: false,
    };
    /// A law that uses only the fields of a `PlainAck`.
    pub(super) const PLAIN: Needs = Needs { plain_acks: true, ..Needs::NONE };
    /// A law that paces and uses the delivery rate as Linux measures it (`tcp_min_rtt_wlen`).
    pub(super) const RATE: Needs =
        Needs { min_rtt_window: Some(Time::from_secs(300)), paces: true, buffered_windows: 3, ..Needs::NONE };
}
