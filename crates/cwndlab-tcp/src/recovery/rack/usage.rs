//! Congestion window validation (RFC 2861) as in Linux: a window that the application does not use is reduced.

use cwndlab_units::Time;

use super::{Phase, Rack};
use crate::flight::REPEATED;
use crate::recovery::View;

/// What stopped the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// cwnd was full.
    Cwnd,
    /// The send buffer lacks room.
    SendBuffer,
    /// The application, or the peer's window.
    Application,
}

/// How much of cwnd the sender uses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Maximum number of segments in flight since cwnd was last full.
    most: u16,
    /// When cwnd was last full, an ACK last might open it, an episode or a timeout last set it, or it was last checked
    /// (`snd_cwnd_stamp`).
    stamp: Time,
}

impl Usage {
    /// Restarts the observation, because cwnd is full or the window restarts after an idle time.
    pub fn new(now: Time) -> Self {
        Usage { most: 0, stamp: now }
    }

    /// Notes that an ACK might open cwnd (`tcp_cong_avoid`), or that an episode or a timeout has set it.
    #[inline]
    pub fn on_change(&mut self, now: Time) {
        self.stamp = now;
    }
}

impl Rack {
    /// Returns the number of segments used if cwnd is to be reduced. If new data was sent, and for an RTO cwnd has neither been
    /// full nor could grow, cwnd is to fall half of the way to the part that was used (RFC 2861, section 3.2; Linux:
    /// `tcp_cwnd_validate`), unless the send buffer lacks room.
    pub fn unused_window(&mut self, v: &View<'_>, now: Time, stopped_by: Stop) -> Option<u32> {
        if v.s.una == 1 || stopped_by == Stop::Cwnd {
            self.usage = Usage::new(now);
            return None;
        }
        let out = v.s.flight().div_ceil(u64::from(v.s.mss)).min(u64::from(u16::MAX)) as u16;
        self.usage.most = self.usage.most.max(out);
        let is_new = v.flight.last().is_some_and(|last| last.at == now && last.flags & REPEATED == 0);
        if !is_new || now.saturating_sub(self.usage.stamp) < v.s.rtt.rto(&v.cfg.rto) {
            return None;
        }
        self.usage.stamp = now;
        let falls = self.phase == Phase::Open && v.flight.tally().sacked == 0 && stopped_by == Stop::Application;
        falls.then(|| u32::from(std::mem::take(&mut self.usage.most)))
    }
}
