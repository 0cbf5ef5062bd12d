//! NewReno: fast recovery that lasts until all data outstanding at its start is acknowledged (RFC 6582).

use super::{deflate, inflate, next_cumulative, Decision, GROW, HOLD};
use crate::config::TcpConfig;
use crate::congestion::{AckReport, Episode};
use crate::sender::{Piece, Sender};

#[derive(Clone, Debug, Default)]
pub(crate) struct NewReno {
    pub active: bool,
    /// RFC 6582, section 3.2: highest position sent when recovery began, or at the last timeout.
    recover: u64,
    /// Whether the episode has had a partial ACK: only the first restarts an impatient timer (RFC 6582, section 4).
    partial_seen: bool,
}

impl NewReno {
    pub fn on_dup_ack(&mut self, cfg: &TcpConfig, s: &mut Sender) -> bool {
        let begins = inflate(cfg, s, self.active, self.recover, cfg.recovery.new_reno().extra_segments);
        if begins {
            *self = NewReno { active: true, recover: s.max - 1, partial_seen: false };
        }
        begins
    }

    #[inline]
    pub fn on_new_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, ack: &AckReport) -> Decision {
        if !self.active {
            s.dup_acks = 0;
            return GROW;
        }
        self.in_recovery(cfg, s, ack)
    }

    #[inline(never)]
    fn in_recovery(&mut self, cfg: &TcpConfig, s: &mut Sender, ack: &AckReport) -> Decision {
        if s.una > self.recover {
            // step 3, full acknowledgment: cwnd is ssthresh
            self.active = false;
            s.dup_acks = 0;
            s.inflation = 0;
            s.cc.on_episode(Episode::Ended, s.mss);
            return HOLD;
        }
        // step 3, partial acknowledgment: retransmit the next hole, deflate the window by what was acknowledged
        // less one segment
        s.resend_first = true;
        if cfg.recovery.new_reno().partial_window_deflation {
            deflate(s, ack.acked_bytes, |bytes| Episode::Deflated { bytes });
        }
        let first = !std::mem::replace(&mut self.partial_seen, true);
        Decision { restart_timer: first || !cfg.recovery.new_reno().impatient, ..HOLD }
    }

    pub fn on_timeout(&mut self, s: &mut Sender) {
        // section 3.2, step 4
        self.active = false;
        self.recover = s.max - 1;
        s.inflation = 0;
    }

    #[inline]
    #[allow(clippy::unused_self)] // one signature for all
    pub fn next(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        next_cumulative(cfg, s)
    }
}
