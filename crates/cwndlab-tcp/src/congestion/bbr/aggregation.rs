//! Estimates how many packets more than expected are acknowledged in a burst (Linux: `bbr_update_ack_aggregation`).

use super::RATE_UNIT;

/// Round trips after which the older of the two maxima expires (`bbr_extra_acked_win_rtts`).
const WINDOW_ROUNDS: u32 = 5;
/// After this many acknowledged packets, a new epoch of the measurement starts (`bbr_ack_epoch_acked_reset_thresh`).
const MOST_ACKED: u64 = 1 << 20;
/// The allowance is at most the packets that arrive in this time at the estimated rate (`bbr_extra_acked_max_us`).
const MOST_US: u64 = 100_000;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    epoch_us: u64,
    acked: u64,
    /// Largest number of packets acknowledged beyond the expected number, in the current and in the previous window of
    /// [`WINDOW_ROUNDS`] round trips.
    excess: [u64; 2],
    rounds: u32,
    index: usize,
}

impl Aggregation {
    /// Starts a new epoch of the measurement.
    pub fn restart(&mut self, now_us: u64) {
        (self.epoch_us, self.acked) = (now_us, 0);
    }

    /// Takes an ACK of `acked` packets, the last of which arrived at `delivered_us`. `bandwidth` is the estimated rate,
    /// `cwnd` the window in packets.
    pub fn on_ack(&mut self, acked: u64, delivered_us: u64, bandwidth: u32, cwnd: u64, round_start: bool) {
        if acked == 0 {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                self.rounds = 0;
                self.index ^= 1;
                self.excess[self.index] = 0;
            }
        }
        let elapsed = delivered_us.saturating_sub(self.epoch_us);
        let mut expected = u64::from(bandwidth) * elapsed / RATE_UNIT;
        if self.acked <= expected || self.acked + acked >= MOST_ACKED {
            self.restart(delivered_us);
            expected = 0;
        }
        self.acked = (self.acked + acked).min(MOST_ACKED - 1);
        let excess = self.acked.saturating_sub(expected).min(cwnd);
        self.excess[self.index] = self.excess[self.index].max(excess);
    }

    /// Packets to add to the window (`bbr_ack_aggregation_cwnd`).
    pub fn allowance(&self, bandwidth: u32) -> u64 {
        self.excess[0].max(self.excess[1]).min(u64::from(bandwidth) * MOST_US / RATE_UNIT)
    }
}
