//! What an endpoint tells of RACK in `tcp_info`.

use super::{Phase, Rack};
use crate::config::TcpConfig;

impl Rack {
    pub fn in_loss(&self) -> bool {
        self.phase == Phase::Loss
    }

    /// Bytes thought to be in the network.
    pub fn in_flight(&self) -> u64 {
        self.sent.pipe
    }

    pub fn is_reduced(&self) -> bool {
        self.phase == Phase::Reduced
    }

    /// Segments reported by SACK, and deemed lost.
    pub fn counts(&self) -> (u64, u64) {
        (u64::from(self.sent.sacked), u64::from(self.sent.lost))
    }

    /// Segments of which a copy sent again is thought to be in the network.
    pub fn repeated(&self) -> u64 {
        u64::from(self.sent.again)
    }

    /// ACKs that told of reordering.
    pub fn reorderings(&self) -> u32 {
        self.reorderings
    }

    /// Longest reordering seen, in segments, and at least the duplicate ACK threshold.
    pub fn reordering(&self, cfg: &TcpConfig) -> u32 {
        self.reordering.max(cfg.dup_thresh)
    }
}
