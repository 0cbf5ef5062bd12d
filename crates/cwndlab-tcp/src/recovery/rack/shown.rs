//! RACK's fields of `tcp_info`.

use super::{Phase, Rack};
use crate::config::TcpConfig;

impl Rack {
    pub fn in_loss(&self) -> bool {
        self.phase == Phase::Loss
    }

    pub fn is_reduced(&self) -> bool {
        self.phase == Phase::Reduced
    }

    /// For tests: forgets what the last ACK reported, which is read only while that ACK is processed.
    #[cfg(test)]
    pub fn forget_arrivals(&mut self) {
        self.arrivals = super::Arrivals::default();
    }

    /// ACKs that revealed reordering.
    pub fn reorderings(&self) -> u32 {
        self.reorderings
    }

    /// Reductions taken back, tail loss probes, and expiries of the reordering timer.
    pub fn counts(&self) -> (u32, u32, u32) {
        (self.undos, self.loss_probes, self.reordering_timeouts)
    }

    /// Longest reordering seen, in segments, and at least the duplicate ACK threshold.
    pub fn reordering(&self, cfg: &TcpConfig) -> u32 {
        self.reordering.max(cfg.dup_thresh)
    }
}
