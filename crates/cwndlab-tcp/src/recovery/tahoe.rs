//! Tahoe: fast retransmit, then slow start from one segment (Jacobson 1988; Fall & Floyd 1996, section 2.1).

use super::{begins, cut, next_cumulative, Decision, GROW};
use crate::config::TcpConfig;
use crate::sender::{Piece, Sender};

#[derive(Clone, Debug, Default)]
pub(crate) struct Tahoe {
    /// Highest position sent when the window was last cut: one fast retransmit a window of data.
    recover: u64,
}

impl Tahoe {
    pub fn on_dup_ack(&mut self, cfg: &TcpConfig, s: &mut Sender) -> bool {
        if !begins(cfg, s, self.recover) {
            return false;
        }
        self.recover = s.max - 1;
        cut(cfg, s);
        s.cc.to_loss_window(cfg, s.mss);
        // everything from the first hole on is retransmitted as the window opens
        s.nxt = s.una;
        s.resend_first = false;
        true
    }

    #[inline]
    #[allow(clippy::unused_self)] // one signature for all
    pub fn on_new_ack(&mut self, s: &mut Sender) -> Decision {
        s.dup_acks = 0;
        GROW
    }

    pub fn on_timeout(&mut self, s: &mut Sender) {
        self.recover = s.max - 1;
    }

    #[inline]
    #[allow(clippy::unused_self)]
    pub fn next(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        next_cumulative(cfg, s)
    }
}
