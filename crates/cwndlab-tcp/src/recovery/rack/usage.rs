//! Congestion window validation (RFC 2861), as Linux does it: a window that the application does not use falls.

use cwndlab_units::Time;

use super::{Phase, Rack};
use crate::config::TcpConfig;
use crate::sender::Sender;

/// How much of cwnd is used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Most segments in flight since cwnd was last full.
    most: u16,
    /// When cwnd was last full, or last fell because it was not.
    full_at: Time,
}

impl Rack {
    /// The window restarts after an idle period.
    pub fn note_restart(&mut self, now: Time) {
        self.usage = Usage { most: 0, full_at: now };
    }

    /// Nothing more can be sent now. RFC 2861, section 3.2: if data was sent, and cwnd has not been full for a timeout, it falls half
    /// the way to what was used of it (Linux: `tcp_cwnd_validate`).
    pub fn validate_window(&mut self, cfg: &TcpConfig, s: &mut Sender, now: Time) {
        if s.una == 1 || s.uses_cwnd() {
            return self.note_restart(now);
        }
        let out = s.flight().div_ceil(u64::from(s.mss)).min(u64::from(u16::MAX)) as u16;
        self.usage.most = self.usage.most.max(out);
        if s.last_sent == now && now.saturating_sub(self.usage.full_at) >= s.rtt.rto(&cfg.rto) {
            if self.phase == Phase::Open && s.outstanding.tally().sacked == 0 {
                s.cc.on_unused(cfg, s.mss, u32::from(self.usage.most));
                self.usage.most = 0;
            }
            self.usage.full_at = now;
        }
    }
}
