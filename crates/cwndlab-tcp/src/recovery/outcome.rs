//! What a recovery returns: values, in place of calls.

use super::proportional::Allow;
use crate::congestion::Episode;
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

pub(crate) const GROW: Outcome = Outcome {
    growth: Growth::Acked,
    restart_timer: true,
    began: false,
    clears_backoff: false,
    lost_bytes: 0,
    steps: Steps::NONE,
};
pub(crate) const HOLD: Outcome = Outcome { growth: Growth::None, ..GROW };
/// Neither the window nor the timer changes.
pub(crate) const NOTHING: Outcome = Outcome { restart_timer: false, ..HOLD };
/// An episode begins.
pub(crate) const BEGAN: Outcome = Outcome { began: true, ..HOLD };

/// One change of the window that loss recovery asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Losses cut the window, unless an echo has reduced this window of data already. `recover_fs`: proportional rate reduction
    /// shapes the episode, from this (RFC 9937, section 6.1: `RecoverFS`).
    Cut { flight_bytes: u64, recover_fs: Option<u64> },
    /// Sending restarts with the loss window: Tahoe's fast retransmit, FACK of 1998.
    LossWindow,
    /// The last reduction was spurious.
    Undo,
    /// A step of the episode.
    Episode(Episode),
    /// Proportional rate reduction takes an ACK.
    Allow(Allow),
}

/// What the window does after one event, in order: at most an end, an undo, a cut and a first allowance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Steps([Option<Step>; 4]);

impl Steps {
    pub const NONE: Steps = Steps([None; 4]);

    /// A cut alone.
    pub fn cut(flight_bytes: u64) -> Steps {
        Steps([Some(Step::Cut { flight_bytes, recover_fs: None }), None, None, None])
    }

    /// A step of an episode alone.
    pub fn episode(episode: Episode) -> Steps {
        Steps([Some(Step::Episode(episode)), None, None, None])
    }

    pub fn push(&mut self, step: Step) {
        let free = self.0.iter_mut().find(|slot| slot.is_none());
        debug_assert!(free.is_some(), "more steps than one event can have");
        if let Some(free) = free {
            *free = Some(step);
        }
    }

    /// These, then `later`.
    pub fn then(mut self, later: &Steps) -> Steps {
        later.iter().for_each(|step| self.push(step));
        self
    }

    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Step> + '_ {
        self.0.iter().map_while(|step| *step)
    }
}

/// What to send next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Nothing,
    /// This, whatever the windows.
    Piece(Piece),
    /// What is in order and below this position, as far as there is room.
    InOrder {
        room: Room,
        below: u64,
    },
    /// Nothing, as cwnd is full for a repair.
    WindowFull,
}

impl Next {
    /// What is in order, as far as there is room.
    #[inline]
    pub fn in_order(room: Room) -> Next {
        Next::InOrder { room, below: u64::MAX }
    }
}
