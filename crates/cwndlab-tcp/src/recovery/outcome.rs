//! The values that recovery algorithms return.

use super::proportional::Allow;
use crate::send_state::{Piece, Room};

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
    pub steps: Steps,
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
        steps: Steps::NONE,
    };
    /// The retransmission timer restarts, and the window does not grow.
    pub const HOLD: Outcome = Outcome { growth: Growth::None, ..Outcome::GROW };
    /// Neither the window nor the timer changes.
    pub const NOTHING: Outcome = Outcome { restart_timer: false, ..Outcome::HOLD };
    /// An episode begins, and the retransmission timer restarts.
    pub const BEGAN: Outcome = Outcome { began: true, ..Outcome::HOLD };
}

/// A change of the window that loss recovery requests. Windows have at most 2^30 bytes, so `u32` suffices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Reduces the window for a loss, with `flight_bytes` outstanding, unless an ECN echo has already reduced it for
    /// this window of data. If `recover_fs` is not 0, proportional rate reduction controls the episode, with this value
    /// as `RecoverFS` (RFC 9937, section 6.1).
    Cut { flight_bytes: u32, recover_fs: u32 },
    /// Reports a loss after an ECN echo has reduced the window for this window of data.
    LossAfterEcho,
    /// Sets cwnd to the loss window (Tahoe, FACK of 1998).
    LossWindow,
    /// Undoes the last reduction, which was spurious.
    Undo,
    /// Ends the episode ([`crate::Episode::Ended`]).
    Ended,
    /// Deflates the window by this number of bytes for a partial ACK.
    Deflated(u32),
    /// Deflates the window by this number of whole segments for a partial ACK.
    DeflatedBySegments(u32),
    /// Sets cwnd to this number of bytes.
    Window(u32),
    /// Passes an ACK to proportional rate reduction, and sets cwnd to pipe plus the allowance that this returns.
    Allow(Allow),
}

/// The changes of the window after one event, in order. There are at most four: the end of an episode, an undo, a
/// reduction, and the first allowance of an episode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Steps {
    list: [Step; 4],
    len: u8,
}

impl Steps {
    pub const NONE: Steps = Steps { list: [Step::Undo; 4], len: 0 };

    /// A single step.
    pub fn one(step: Step) -> Steps {
        Steps { list: [step, Step::Undo, Step::Undo, Step::Undo], len: 1 }
    }

    /// A single reduction.
    pub fn cut(flight_bytes: u64) -> Steps {
        Steps::one(Step::Cut { flight_bytes: flight_bytes as u32, recover_fs: 0 })
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn push(&mut self, step: Step) {
        debug_assert!(self.len < 4, "more steps than one event can have");
        if let Some(free) = self.list.get_mut(usize::from(self.len)) {
            (*free, self.len) = (step, self.len + 1);
        }
    }

    /// Adds the step, if there is one.
    pub fn push_some(&mut self, step: Option<Step>) {
        if let Some(step) = step {
            self.push(step);
        }
    }

    /// Returns these steps, followed by `later`.
    pub fn then(mut self, later: &Steps) -> Steps {
        later.iter().for_each(|step| self.push(step));
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = Step> + '_ {
        self.list.iter().take(usize::from(self.len)).copied()
    }
}

/// What is to be sent next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Nothing,
    /// This piece. The caller does not check the windows.
    Piece(Piece),
    /// Data at SND.NXT, below the position `below`, if there is room. If `or_else` is set and no such data can be sent,
    /// the caller calls `Algorithm::next` again, with `nothing_new` set.
    InOrder {
        room: Room,
        below: u64,
        or_else: bool,
    },
    /// Nothing, because the window has no room for the next retransmission.
    WindowFull,
}

impl Next {
    /// Data at SND.NXT, if there is room.
    pub fn in_order(room: Room) -> Next {
        Next::InOrder { room, below: u64::MAX, or_else: false }
    }
}
