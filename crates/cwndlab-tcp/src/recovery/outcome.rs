//! The return values of a recovery.

use super::proportional::Allow;
use crate::send_state::{Piece, Room};

/// The result of loss detection and the episode for one ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    /// How much the window may grow.
    pub growth: Growth,
    /// Whether the retransmission timer restarts (RFC 6298, 5.3).
    pub restart_timer: bool,
    /// Whether an episode of fast recovery has begun.
    pub began: bool,
    /// Whether the backoff of the timeout ends, although no round trip was measured.
    pub clears_backoff: bool,
    /// Bytes newly deemed lost.
    pub lost_bytes: u64,
    /// The steps of the window before it may grow.
    pub steps: Steps,
}

/// How much the window may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Growth {
    None,
    /// For the bytes that the ACK acknowledges.
    Acked,
    /// For this many bytes, which the ACK only reports.
    Reported(u64),
}

impl Outcome {
    /// The window grows by what the ACK acknowledges, and the timer restarts.
    pub const GROW: Outcome = Outcome {
        growth: Growth::Acked,
        restart_timer: true,
        began: false,
        clears_backoff: false,
        lost_bytes: 0,
        steps: Steps::NONE,
    };
    /// The timer restarts.
    pub const HOLD: Outcome = Outcome { growth: Growth::None, ..Outcome::GROW };
    /// Neither the window nor the timer changes.
    pub const NOTHING: Outcome = Outcome { restart_timer: false, ..Outcome::HOLD };
    /// An episode begins.
    pub const BEGAN: Outcome = Outcome { began: true, ..Outcome::HOLD };
}

/// One change of the window that loss recovery requests. Windows have at most 2^30 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Losses reduce the window, unless an echo has already reduced it for this window of data. `flight_bytes` were
    /// outstanding. If `recover_fs` is not 0, proportional rate reduction controls the episode, with this value as
    /// `RecoverFS` (RFC 9937, section 6.1).
    Cut { flight_bytes: u32, recover_fs: u32 },
    /// Sending restarts with the loss window: Tahoe's fast retransmit, FACK of 1998.
    LossWindow,
    /// The last reduction was spurious.
    Undo,
    /// The episode is over ([`crate::Episode::Ended`]).
    Ended,
    /// A partial ACK deflates the window by these bytes.
    Deflated(u32),
    /// A partial ACK deflates the window by this many whole segments.
    DeflatedBySegments(u32),
    /// Proportional rate reduction processes an ACK.
    Allow(Allow),
}

/// The changes of the window after one event, in order: at most an end, an undo, a reduction and a first allowance.
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

    /// These steps, followed by `later`.
    pub fn then(mut self, later: &Steps) -> Steps {
        later.iter().for_each(|step| self.push(step));
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = Step> + '_ {
        self.list.iter().take(usize::from(self.len)).copied()
    }
}

/// What to send next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Nothing,
    /// This piece, regardless of the windows.
    Piece(Piece),
    /// Data in order below the position `below`, as far as there is room. `or_else`: if no such data can be sent, the
    /// recovery has another answer.
    InOrder {
        room: Room,
        below: u64,
        or_else: bool,
    },
    /// Nothing, because cwnd has no room for a repair.
    WindowFull,
}

impl Next {
    /// Data in order, as far as there is room.
    pub fn in_order(room: Room) -> Next {
        Next::InOrder { room, below: u64::MAX, or_else: false }
    }
}
