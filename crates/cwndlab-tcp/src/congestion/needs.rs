//! What a window law needs from its connection, decided once for each connection.

use cwndlab_units::Time;

use crate::config::WindowLawKind;

/// Linux: `tcp_min_rtt_wlen`.
const MIN_RTT_WINDOW: Time = Time::from_secs(300);
/// How long a round trip counts for the least one with an external law (as BBR's `MinRTTFilterLen`).
const EXTERNAL_MIN_RTT_WINDOW: Time = Time::from_secs(10);

/// What a window law needs from its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// How long a round trip counts for the least one; `None` where the law does not ask for the delivery rate
    /// ([`crate::AckReport::rate`]), which is then not measured.
    pub min_rtt_window: Option<Time>,
    /// Whether the law states a pacing rate, so that its connections pace whatever [`crate::TcpConfig::pacing`] says.
    pub paces: bool,
    /// Whether the law draws random numbers ([`crate::Connection::set_random`]).
    pub draws: bool,
}

impl Needs {
    /// A law that sees ACKs and losses only.
    const NONE: Needs = Needs { min_rtt_window: None, paces: false, draws: false };
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
                Needs { min_rtt_window: Some(MIN_RTT_WINDOW), paces: true, draws: true }
            }
            // of the delivery rate only what is in flight
            WindowLawKind::Prague => Needs { min_rtt_window: Some(MIN_RTT_WINDOW), paces: true, draws: false },
            // it may state a rate; whoever attaches it gives it its random numbers
            WindowLawKind::External { .. } => {
                Needs { min_rtt_window: Some(EXTERNAL_MIN_RTT_WINDOW), paces: true, ..Needs::NONE }
            }
        }
    }
}
