//! All acknowledgment policies except those of Linux. [`AckPolicy::QuickThenHeartbeat`] and
//! [`AckPolicy::QuickThenDelayed`] acknowledge each segment at first (the quick phase). All but [`AckPolicy::Every`]
//! count unacknowledged data.

use super::arrival::{Arrival, Due};
use crate::config::{AckPolicy, TcpConfig};
use cwndlab_units::Time;

/// The unacknowledged data, and the rest of the quick phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// In-order bytes not yet acknowledged.
    pending_bytes: u32,
    /// In-order segments not yet acknowledged.
    pending_segments: u16,
    /// The rest of the quick phase, in the policy's unit (bytes or segments).
    quick_left: u32,
}

impl Counted {
    pub fn new(policy: AckPolicy) -> Self {
        let quick_left = match policy {
            AckPolicy::QuickThenHeartbeat { quick_bytes, .. } => quick_bytes.min(u64::from(u32::MAX)) as u32,
            AckPolicy::QuickThenDelayed { quick_segments, .. } => quick_segments,
            _ => 0,
        };
        Counted { pending_bytes: 0, pending_segments: 0, quick_left }
    }

    /// Processes a segment with data. Returns the time at which its acknowledgment is due. `mss`: the current segment
    /// size.
    #[inline]
    pub fn on_data(&mut self, cfg: &TcpConfig, now: Time, mss: u32, arrival: Arrival) -> Due {
        if cfg.ack_policy == AckPolicy::Every {
            return Due::Now;
        }
        let Arrival::InOrder(bytes) = arrival else {
            if let AckPolicy::QuickThenHeartbeat { quick_bytes, .. } = cfg.ack_policy {
                self.quick_left = quick_bytes.min(u64::from(u32::MAX)) as u32; // quick again after a loss or reordering
            }
            return Due::Now;
        };
        self.pending_bytes = self.pending_bytes.saturating_add(bytes);
        self.pending_segments = self.pending_segments.saturating_add(1);
        // RFC 5681, section 4.2: an ACK at least for every second full-sized segment.
        let second_full = self.pending_bytes >= 2 * mss;
        match cfg.ack_policy {
            // `Every` was handled above; `Adaptive` and `Linux` do not use this state.
            AckPolicy::Every | AckPolicy::Adaptive { .. } | AckPolicy::Linux => Due::Now,
            AckPolicy::Delayed { .. } | AckPolicy::Heartbeat { .. } if second_full => Due::Now,
            AckPolicy::Delayed { timeout_ns } => Due::By(cfg.expiry(now, timeout_ns)),
            AckPolicy::Heartbeat { grid_ns } => Due::By(next_beat(now, grid_ns)),
            AckPolicy::QuickThenHeartbeat { every, grid_ns, .. } => {
                // As `need_send` of ns-2's tcp-full-bay.cc: each segment is acknowledged until `quick_bytes` have
                // arrived, including this segment.
                self.quick_left = self.quick_left.saturating_sub(bytes);
                if self.quick_left > 0 || u32::from(self.pending_segments) >= every {
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
                    Due::By(cfg.expiry(now, timeout_ns))
                }
            }
        }
    }

    /// Resets the count, because an acknowledgment was sent.
    pub fn on_sent(&mut self) {
        self.pending_bytes = 0;
        self.pending_segments = 0;
    }
}

/// Returns the first point of the grid after `now`.
fn next_beat(now: Time, grid: Time) -> Time {
    let ns = grid.as_nanos().max(1);
    Time::from_nanos((now.as_nanos() / ns + 1) * ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    fn due(policy: AckPolicy, arrivals: &[(u64, Arrival)]) -> Vec<Due> {
        let cfg = TcpConfig { ack_policy: policy, ..Profile::Rfc5681.config() };
        let mut state = Counted::new(policy);
        let one = |&(ms, arrival): &(u64, Arrival)| {
            let due = state.on_data(&cfg, Time::from_millis(ms), 1000, arrival);
            if due == Due::Now {
                state.on_sent();
            }
            due
        };
        arrivals.iter().map(one).collect()
    }
    const FULL: Arrival = Arrival::InOrder(1000);
    const HALF: Arrival = Arrival::InOrder(500);
    fn by(ms: u64) -> Due {
        Due::By(Time::from_millis(ms))
    }

    #[test]
    fn delayed_acknowledges_every_second_full_segment_and_irregular_ones_at_once() {
        let policy = AckPolicy::Delayed { timeout_ns: Time::from_millis(200) };
        assert_eq!(due(policy, &[(0, FULL), (1, FULL), (2, FULL)]), [by(200), Due::Now, by(202)]);
        assert_eq!(due(policy, &[(0, HALF), (1, HALF), (2, FULL)]), [by(200), by(201), Due::Now]);
        assert_eq!(due(policy, &[(0, Arrival::Beyond)]), [Due::Now]);
    }

    #[test]
    fn heartbeats_fall_on_the_grid_of_the_clock() {
        let policy = AckPolicy::Heartbeat { grid_ns: Time::from_millis(200) };
        assert_eq!(due(policy, &[(30, FULL), (31, FULL), (399, FULL)]), [by(200), Due::Now, by(400)]);
        assert_eq!(due(policy, &[(400, FULL)]), [by(600)]);
    }

    #[test]
    fn the_quick_phase_is_counted_in_bytes_and_returns_after_a_loss() {
        let policy = AckPolicy::QuickThenHeartbeat { quick_bytes: 2000, every: 2, grid_ns: Time::from_millis(100) };
        assert_eq!(
            due(policy, &[(1, FULL), (2, FULL), (3, FULL), (4, FULL), (5, Arrival::Beyond), (6, FULL)]),
            [Due::Now, by(100), Due::Now, by(100), Due::Now, Due::Now]
        );
    }
}
