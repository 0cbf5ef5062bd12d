//! Congestion window validation (RFC 2861) as in Linux: a window that the application does not use is reduced.

use cwndlab_units::Time;

use super::{Phase, Rack};
use crate::recovery::View;

/// How much of cwnd the sender uses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Maximum number of segments in flight since cwnd was last full.
    most: u16,
    /// When cwnd was last full, or was last checked after it had not been full for an RTO.
    full_at: Time,
}

impl Usage {
    /// Restarts the observation, because cwnd is full or the window restarts after an idle time.
    pub fn new(now: Time) -> Self {
        Usage { most: 0, full_at: now }
    }
}

impl Rack {
    /// Returns the number of segments used if cwnd is to be reduced. If data was sent and cwnd has not been full for an
    /// RTO, cwnd is to fall half of the way to the part that was used (RFC 2861, section 3.2; Linux:
    /// `tcp_cwnd_validate`).
    pub(super) fn validate_window(&mut self, v: &View<'_>, now: Time, limited: bool, last_sent: Time) -> Option<u32> {
        if v.s.una == 1 || limited {
            self.usage = Usage::new(now);
            return None;
        }
        let out = v.s.flight().div_ceil(u64::from(v.s.mss)).min(u64::from(u16::MAX)) as u16;
        self.usage.most = self.usage.most.max(out);
        if last_sent != now || now.saturating_sub(self.usage.full_at) < v.s.rtt.rto(&v.cfg.rto) {
            return None;
        }
        self.usage.full_at = now;
        let falls = self.phase == Phase::Open && v.flight.tally().sacked == 0;
        falls.then(|| u32::from(std::mem::take(&mut self.usage.most)))
    }
}
