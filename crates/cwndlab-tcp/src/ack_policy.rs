//! When to acknowledge (RFC 1122, 4.2.3.2; RFC 5681, 4.2).

use crate::config::{AckPolicy, TcpConfig};
use cwndlab_units::Time;

/// What a segment with data was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// In order, nothing beyond it known.
    InOrder {
        /// its payload bytes
        bytes: u32,
    },
    /// Out of order, a duplicate, or filling a hole: acknowledged at once (RFC 5681, 4.2).
    Irregular,
}

/// When the acknowledgment is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// Now.
    Now,
    /// By this time at the latest, unless a timer already runs.
    By(Time),
}

/// What the policies remember.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckState {
    /// In-order bytes not yet acknowledged.
    pending_bytes: u32,
    /// In-order segments not yet acknowledged.
    pending_segments: u32,
    /// What is left of the quick phase, in the policy's unit (bytes or segments).
    quick_left: u64,
}

impl AckState {
    pub fn new(policy: AckPolicy) -> Self {
        let quick_left = match policy {
            AckPolicy::QuickThenHeartbeat { quick_bytes, .. } => quick_bytes,
            AckPolicy::QuickThenDelayed { quick_segments, .. } => u64::from(quick_segments),
            AckPolicy::Every | AckPolicy::Delayed { .. } | AckPolicy::Heartbeat { .. } => 0,
        };
        AckState { pending_bytes: 0, pending_segments: 0, quick_left }
    }

    /// A segment with data came; `mss` as it is in force.
    #[inline]
    pub fn on_data(&mut self, cfg: &TcpConfig, now: Time, mss: u32, arrival: Arrival) -> Due {
        if cfg.ack_policy == AckPolicy::Every {
            return Due::Now;
        }
        self.by_policy(cfg.ack_policy, now, mss, arrival)
    }

    fn by_policy(&mut self, policy: AckPolicy, now: Time, mss: u32, arrival: Arrival) -> Due {
        let Arrival::InOrder { bytes } = arrival else {
            if let AckPolicy::QuickThenHeartbeat { quick_bytes, .. } = policy {
                self.quick_left = quick_bytes; // quick again after a loss or reordering
            }
            return Due::Now;
        };
        self.pending_bytes = self.pending_bytes.saturating_add(bytes);
        self.pending_segments += 1;
        // RFC 5681, 4.2: at least for every second full-sized segment
        let second_full = self.pending_bytes >= 2 * mss;
        match policy {
            AckPolicy::Every => Due::Now,
            AckPolicy::Delayed { .. } | AckPolicy::Heartbeat { .. } if second_full => Due::Now,
            AckPolicy::Delayed { timeout_ns } => Due::By(now + timeout_ns),
            AckPolicy::Heartbeat { grid_ns } => Due::By(next_beat(now, grid_ns)),
            AckPolicy::QuickThenHeartbeat { every, grid_ns, .. } => {
                if self.quick_left > 0 {
                    self.quick_left = self.quick_left.saturating_sub(u64::from(bytes));
                    Due::Now
                } else if self.pending_segments >= every {
                    Due::Now
                } else {
                    Due::By(next_beat(now, grid_ns))
                }
            }
            AckPolicy::QuickThenDelayed { timeout_ns, .. } => {
                if self.quick_left > 0 {
                    self.quick_left -= 1;
                    Due::Now
                } else if second_full {
                    Due::Now
                } else {
                    Due::By(now + timeout_ns)
                }
            }
        }
    }

    /// An acknowledgment went out.
    #[inline]
    pub fn on_sent(&mut self) {
        self.pending_bytes = 0;
        self.pending_segments = 0;
    }
}

/// The first beat of the grid after `now`.
fn next_beat(now: Time, grid: Time) -> Time {
    let ns = grid.as_nanos().max(1);
    Time::from_nanos((now.as_nanos() / ns + 1) * ns)
}

