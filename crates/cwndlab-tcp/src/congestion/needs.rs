//! What a window law needs from its connection, decided once for each connection.

use cwndlab_units::Time;

use crate::config::WindowLawKind;

/// Linux: `tcp_min_rtt_wlen`.
const MIN_RTT_WINDOW: Time = Time::from_secs(300);
/// How long an RTT sample counts towards the minimum RTT with an external law (as BBR's `MinRTTFilterLen`).
const EXTERNAL_MIN_RTT_WINDOW: Time = Time::from_secs(10);

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
    const NONE: Needs = Needs { min_rtt_window: None, paces: false, draws: false, delays: false };
}

impl WindowLawKind {
    /// What the law needs from its connection.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        match self {
            WindowLawKind::Reno
            | WindowLawKind::RenoPackets
            | WindowLawKind::RenoLinux2
            | WindowLawKind::Cubic(_)
            | WindowLawKind::CubicLinux(_)
            | WindowLawKind::Dctcp
            | WindowLawKind::LedbatPlusPlus(_) => Needs::NONE,
            WindowLawKind::Bbr1 | WindowLawKind::Bbr3(_) => {
                Needs { min_rtt_window: Some(MIN_RTT_WINDOW), paces: true, draws: true, ..Needs::NONE }
            }
            // of the delivery rate only what is in flight
            WindowLawKind::Prague => Needs { min_rtt_window: Some(MIN_RTT_WINDOW), paces: true, ..Needs::NONE },
            WindowLawKind::Ledbat(_) => Needs { delays: true, ..Needs::NONE },
            // it may set a rate; the caller that attaches it provides random numbers
            WindowLawKind::External { .. } => {
                Needs { min_rtt_window: Some(EXTERNAL_MIN_RTT_WINDOW), paces: true, ..Needs::NONE }
            }
        }
    }
}
