//! What a recovery returns: values, in place of calls.

use super::proportional::Allow;
use crate::sender::{Piece, Room};

/// What loss detection and the episode make of one ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    /// By what the window may grow.
    pub growth: Growth,
    /// The retransmission timer restarts (RFC 6298, 5.3).
    pub restart_timer: bool,
    /// An episode of fast recovery has begun.
    pub began: bool,
    /// The timeout is no longer backed off, though no round trip was measured.
    pub clears_backoff: bool,
    /// Bytes newly deemed lost.
    pub lost_bytes: u64,
    /// What the window does before it may grow.
    pub steps: Steps,
}

/// By what the window may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Growth {
    None,
    /// By what the ACK acknowledges.
    Acked,
    /// By these bytes, which it only reports.
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

/// One change of the window that loss recovery asks for. Windows have at most 2^30 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Losses cut the window, unless an echo has reduced this window of data already; `flight_bytes` were out. `recover_fs` if not 0:
    /// proportional rate reduction shapes the episode, from this (RFC 9937, section 6.1: `RecoverFS`).
    Cut { flight_bytes: u32, recover_fs: u32 },
    /// Sending restarts with the loss window: Tahoe's fast retransmit, FACK of 1998.
    LossWindow,
    /// The last reduction was spurious.
    Undo,
    /// The episode is over ([`crate::Episode::Ended`]).
    Ended,
    /// A partial ACK deflates the window by these bytes.
    Deflated(u32),
    /// The same by whole segments.
    DeflatedBySegments(u32),
    /// Proportional rate reduction takes an ACK.
    Allow(Allow),
}

/// What the window does after one event, in order: at most an end, an undo, a cut and a first allowance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Steps {
    list: [Step; 4],
    len: u8,
}

impl Steps {
    pub const NONE: Steps = Steps { list: [Step::Undo; 4], len: 0 };

    /// One step alone.
    pub fn one(step: Step) -> Steps {
        Steps { list: [step, Step::Undo, Step::Undo, Step::Undo], len: 1 }
    }

    /// A cut alone.
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

    /// This step, if there is one.
    pub fn push_some(&mut self, step: Option<Step>) {
        if let Some(step) = step {
            self.push(step);
        }
    }

    /// These, then `later`.
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
    /// This, whatever the windows.
    Piece(Piece),
    /// What is in order and below this position, as far as there is room; `or_else`: if that is nothing, the recovery has another
    /// answer.
    InOrder {
        room: Room,
        below: u64,
        or_else: bool,
    },
    /// Nothing, as cwnd is full for a repair.
    WindowFull,
}

impl Next {
    /// What is in order, as far as there is room.
    pub fn in_order(room: Room) -> Next {
        Next::InOrder { room, below: u64::MAX, or_else: false }
    }
}
