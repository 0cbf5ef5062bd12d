//! The values that recovery algorithms return.

use crate::congestion::Changes;

/// The result of loss recovery for one ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    /// How much the window may grow.
    pub growth: Growth,
    /// Whether the retransmission timer restarts (RFC 6298, 5.3).
    pub restart_timer: bool,
    /// Whether an episode of fast recovery has begun.
    pub began: bool,
    /// Whether the backoff of the retransmission timeout ends, although the ACK gave no RTT sample.
    pub clears_backoff: bool,
    /// Bytes newly deemed lost.
    pub lost_bytes: u64,
    /// Changes of the window, to be made before the window grows.
    pub changes: Changes,
}

/// How much the window may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Growth {
    None,
    /// As the window law prescribes for the bytes that the ACK acknowledges.
    Acked,
    /// As the window law prescribes for this number of bytes, which the ACK need not acknowledge: with RACK, those that
    /// SACK reports; with FACK of 1998, a segment.
    Reported(u64),
}

impl Outcome {
    /// The window grows for the bytes that the ACK acknowledges, and the retransmission timer restarts.
    pub const GROW: Outcome = Outcome {
        growth: Growth::Acked,
        restart_timer: true,
        began: false,
        clears_backoff: false,
        lost_bytes: 0,
        changes: Changes::NONE,
    };
    /// The retransmission timer restarts, and the window does not grow.
    pub const HOLD: Outcome = Outcome { growth: Growth::None, ..Outcome::GROW };
    /// Neither the window nor the timer changes.
    pub const NOTHING: Outcome = Outcome { restart_timer: false, ..Outcome::HOLD };
    /// An episode begins, and the retransmission timer restarts.
    pub const BEGAN: Outcome = Outcome { began: true, ..Outcome::HOLD };
}
