//! What a window law needs from its connection, decided once for each connection.

use cwndlab_units::Time;

/// What a window law needs from its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// How long an RTT sample counts towards the minimum RTT; `None` if the law does not use the delivery rate
    /// ([`crate::AckReport::rate`]), which is then not measured.
    pub min_rtt_window: Option<Time>,
    /// Whether the law sets a pacing rate, so that its connections pace regardless of [`crate::TcpConfig::pacing`].
    pub paces: bool,
    /// Whether the law draws random numbers ([`crate::Connection::set_random`]).
    pub draws: bool,
    /// Whether the law uses the one-way delays that timestamps show ([`crate::Controller::on_one_way_delay`]).
    pub delays: bool,
}

impl Needs {
    /// A law that sees ACKs and losses only.
    pub(super) const NONE: Needs = Needs { min_rtt_window: None, paces: false, draws: false, delays: false };
    /// A law that paces, and knows the delivery rate as Linux measures it (`tcp_min_rtt_wlen`).
    pub(super) const RATE: Needs = Needs { min_rtt_window: Some(Time::from_secs(300)), paces: true, ..Needs::NONE };
}
