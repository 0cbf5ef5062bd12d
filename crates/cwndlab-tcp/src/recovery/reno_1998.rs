//! Reno as the one-way agents of 1998 have it (Fall and Floyd 1996, section 2.2; ns-2's Agent/TCP/Reno). It differs from RFC
//! 5681's in three rules: the first two duplicate ACKs release nothing, one fast retransmit answers all losses of a window, and
//! the ACK that ends a recovery opens the window like any other.

use super::{before_recovery, cumulative_room, inflate, next_cumulative, Decision, GROW};
use crate::config::TcpConfig;
use crate::sender::{Piece, Room, Sender};

#[derive(Clone, Debug, Default)]
pub(crate) struct Reno1998 {
    pub active: bool,
    /// Highest position sent when the window was last cut.
    recover: u64,
}

impl Reno1998 {
    pub fn on_dup_ack(&mut self, cfg: &TcpConfig, s: &mut Sender) -> bool {
        let begins = inflate(cfg, s, self.active, self.recover, 0);
        if begins {
            *self = Reno1998 { active: true, recover: s.max - 1 };
        }
        begins
    }

    #[inline]
    pub fn on_new_ack(&mut self, s: &mut Sender) -> Decision {
        s.dup_acks = 0;
        if self.active {
            self.active = false;
            s.inflation = 0;
        }
        GROW
    }

    pub fn on_timeout(&mut self, s: &mut Sender) {
        self.active = false;
        self.recover = s.max - 1;
        s.inflation = 0;
    }

    #[inline]
    #[allow(clippy::unused_self)] // one signature for all
    pub fn next(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        next(cfg, s)
    }
}

/// The agents do not even try to send on the first two duplicate ACKs.
#[inline]
fn waits(cfg: &TcpConfig, s: &Sender) -> bool {
    !cfg.limited_transmit && before_recovery(cfg, s)
}

/// What the agents send outside an episode, and what Reno and NewReno send in one.
#[inline]
pub(super) fn next(cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
    if waits(cfg, s) && !s.resend_first {
        return None;
    }
    next_cumulative(cfg, s)
}

/// The room for it; see [`super::Recovery::room`].
pub(super) fn room(cfg: &TcpConfig, s: &Sender) -> Option<Room> {
    (!waits(cfg, s)).then(|| cumulative_room(cfg, s))
}
