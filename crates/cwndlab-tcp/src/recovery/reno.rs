//! Reno: fast retransmit and fast recovery (RFC 5681, section 3.2).

use super::{inflate, next_cumulative, Decision, GROW, HOLD};
use crate::config::{RetransmitGuard, TcpConfig};
use crate::congestion::Episode;
use crate::sender::{Piece, Sender};

#[derive(Clone, Debug, Default)]
pub(crate) struct Reno {
    pub active: bool,
    /// Highest position sent when the window was last cut. RFC 5681 has no such guard; RFC 6582, section 3.2 added it.
    recover: u64,
    /// A timeout came in recovery, and the next ACK of new data opens cwnd to ssthresh ([`RenoConfig::outlives_timeout`](crate::RenoConfig)).
    pub resumes: bool,
}

impl Reno {
    pub fn on_dup_ack(&mut self, cfg: &TcpConfig, s: &mut Sender) -> bool {
        if !self.active && s.cc.cwnd() < u64::from(cfg.recovery.reno().dup_ack_window_segments) * u64::from(s.mss) {
            s.dup_acks = s.dup_acks.saturating_sub(1); // Linux 2.0: does not count
            return false;
        }
        let begins = inflate(cfg, s, self.active, self.recover, cfg.recovery.reno().extra_segments);
        self.active |= begins;
        if begins && cfg.recovery.reno().retransmit_guard == RetransmitGuard::Recovery {
            self.recover = s.max - 1;
        }
        begins
    }

    #[inline]
    pub fn on_new_ack(&mut self, s: &mut Sender) -> Decision {
        s.dup_acks = 0;
        if std::mem::take(&mut self.resumes) {
            s.cc.on_episode(Episode::Ended, s.mss);
            return HOLD;
        }
        if !self.active {
            return GROW;
        }
        self.active = false;
        s.inflation = 0; // step 6: cwnd is ssthresh again
        HOLD
    }

    pub fn on_timeout(&mut self, cfg: &TcpConfig, s: &mut Sender) {
        self.resumes |= self.active && cfg.recovery.reno().outlives_timeout;
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
