//! Long-term bandwidth: detects whether a token-bucket policer limits the flow, and estimates the policer's rate
//! (Linux: `bbr_lt_bw_sampling`).

use super::{bytes_per_second, RATE_UNIT, UNIT};

/// Minimum length of an interval in round trips (`bbr_lt_intvl_min_rtts`).
const LEAST_ROUNDS: u32 = 4;
/// An interval counts as lossy if its ratio of lost to delivered packets, in 1/256, is at least this
/// (`bbr_lt_loss_thresh`).
const LOSSY: u64 = 50;
/// Two intervals are consistent if their bandwidths differ by at most 1/8 (`bbr_lt_bw_ratio`) or 500 bytes per second
/// (`bbr_lt_bw_diff`).
const ALIKE: u64 = UNIT / 8;
const ALIKE_BYTES: u64 = 4000 / 8;
/// Round trips for which the estimate is used (`bbr_lt_bw_max_rtts`).
const SERVES_ROUNDS: u32 = 48;

/// What one ACK contributes to the current interval; counts are in packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Interval {
    /// Packets that this ACK shows to be lost (`losses`), and the totals of packets lost and delivered.
    pub losses: u64,
    pub lost: u64,
    pub delivered: u64,
    /// When the last packet was delivered.
    pub delivered_ms: u64,
    pub app_limited: bool,
    pub round_start: bool,
    pub mss: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    rounds: u32,
    in_use: bool,
    bandwidth: u32,
    /// Values at the start of the interval.
    lost: u64,
    delivered: u64,
    stamp_ms: u64,
}

impl Policer {
    /// The estimated rate of the policer, in packets per microsecond << 24; `None` while it is not used.
    pub fn bandwidth(&self) -> Option<u32> {
        self.in_use.then_some(self.bandwidth)
    }

    /// `bbr_reset_lt_bw_sampling`
    pub fn reset(&mut self, now: &Interval) {
        *self = Policer::default();
        self.begin(now);
    }

    /// `bbr_reset_lt_bw_sampling_interval`
    fn begin(&mut self, now: &Interval) {
        (self.stamp_ms, self.delivered, self.lost, self.rounds) = (now.delivered_ms, now.delivered, now.lost, 0);
    }

    /// Takes an ACK. Returns whether the estimate has expired, so that probing for bandwidth begins again.
    pub fn on_ack(&mut self, now: &Interval, probes_bandwidth: bool) -> bool {
        if self.in_use {
            if probes_bandwidth && now.round_start {
                self.rounds += 1;
                if self.rounds >= SERVES_ROUNDS {
                    self.reset(now);
                    return true;
                }
            }
            return false;
        }
        if !self.sampling {
            if now.losses == 0 {
                return false; // the policer still has tokens
            }
            self.begin(now);
            self.sampling = true;
        }
        if now.app_limited {
            self.reset(now);
            return false;
        }
        self.rounds += u32::from(now.round_start);
        if self.rounds < LEAST_ROUNDS {
            return false;
        }
        if self.rounds > 4 * LEAST_ROUNDS {
            self.reset(now);
            return false;
        }
        if now.losses > 0 {
            self.end(now);
        }
        false
    }

    /// Called at a loss, which shows that the policer's tokens are used up. If the interval is lossy, ends the interval
    /// and compares its bandwidth with that of the previous one.
    fn end(&mut self, now: &Interval) {
        let (lost, delivered) = (now.lost - self.lost, now.delivered - self.delivered);
        if delivered == 0 || lost << 8 < LOSSY * delivered {
            return;
        }
        let ms = now.delivered_ms.saturating_sub(self.stamp_ms);
        if ms == 0 {
            return;
        }
        let bandwidth = (delivered * RATE_UNIT / (ms * 1000)) as u32;
        self.compare(bandwidth, now);
    }

    /// `bbr_lt_bw_interval_done`
    fn compare(&mut self, bandwidth: u32, now: &Interval) {
        if self.bandwidth > 0 {
            let difference = u64::from(bandwidth.abs_diff(self.bandwidth));
            if difference * UNIT <= ALIKE * u64::from(self.bandwidth)
                || bytes_per_second(difference, UNIT, now.mss) <= ALIKE_BYTES
            {
                self.bandwidth = bandwidth.midpoint(self.bandwidth);
                self.in_use = true;
                self.rounds = 0;
                return;
            }
        }
        self.bandwidth = bandwidth;
        self.begin(now);
    }
}
