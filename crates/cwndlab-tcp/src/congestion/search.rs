//! SEARCH, "Slow start Exit At Right `CHokepoint`": leaves slow start when deliveries no longer double in each round
//! trip. Version 3.0; line numbers are those of the listing in draft-chung-ccwg-search, section 3 (source of
//! 2024-06-04). docs/models/search.md lists the differences from that version, and from later revisions.

use cwndlab_units::Time;

use super::AckReport;

/// Number of bins in a window (line 2: W).
const WINDOW_BINS: u64 = 10;
/// Additional bins, so that the deliveries of one round trip earlier are still stored (line 3).
const EXTRA_BINS: u64 = 15;
/// Number of bins stored. With one bin less, as in line 4 of the listing, the oldest bin would be overwritten before it
/// is read.
const BINS: usize = (WINDOW_BINS + EXTRA_BINS) as usize + 1;
/// A bin lasts 3.5 initial round trips divided by W (lines 1, 5); in per cent of a round trip.
const BIN_PERCENT: u64 = 35;
/// Slow start ends if deliveries fall short of a doubling by at least this share (line 6).
const THRESHOLD: f64 = 0.35;

/// State of the first slow start.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// Bytes acknowledged in each bin; bin `k` is at index `k % BINS`.
    bins: [u64; BINS],
    /// Number of complete bins (in the listing, `curr_idx` + 1).
    complete: u64,
    /// Zero before the first round-trip measurement.
    bin_duration: Time,
    bin_end: Time,
    initial_rtt: Time,
    /// Bytes acknowledged at the end of the last complete bin; `None` before the first ACK.
    acknowledged: Option<u64>,
}

impl Search {
    /// Takes the first round-trip time (lines 1 to 9 of the draft's listing). Has no effect if `rtt` is zero.
    pub fn start(&mut self, now: Time, rtt: Time) {
        self.initial_rtt = rtt;
        self.bin_duration = Time::from_nanos(rtt.as_nanos() * BIN_PERCENT / 100);
        self.bin_end = now + self.bin_duration;
    }

    /// Takes an ACK of new data in slow start (lines 10 to 23). If slow start ends, returns the bytes by which cwnd
    /// exceeds its value when deliveries ceased to double (lines 39 and 40).
    pub fn on_ack(&mut self, ack: &AckReport) -> Option<u64> {
        if self.bin_duration == Time::ZERO {
            self.start(ack.now, ack.rtt?);
        }
        self.acknowledged.get_or_insert(ack.snd_una.saturating_sub(ack.acked_bytes));
        if self.bin_duration == Time::ZERO || ack.now <= self.bin_end {
            return None;
        }
        self.update_bins(ack.now, ack.snd_una);
        let rtt = ack.rtt?.as_nanos();
        let bin = self.bin_duration.as_nanos();
        let back = rtt / bin;
        if back > EXTRA_BINS || self.complete < WINDOW_BINS + back + 1 {
            return None; // lines 13 and 14
        }
        let delivered = self.sum(0, WINDOW_BINS, 0.0);
        let before = self.sum(back, WINDOW_BINS, (rtt % bin) as f64 / bin as f64);
        let expected = 2.0 * before;
        let exits = before > 0.0 && (expected - delivered) / expected >= THRESHOLD;
        exits.then(|| self.sum(0, 2 * self.initial_rtt.as_nanos() / bin, 0.0) as u64)
    }

    /// Completes the bins that have ended (lines 24 to 31).
    fn update_bins(&mut self, now: Time, acknowledged: u64) {
        let passed = now.saturating_sub(self.bin_end).as_nanos() / self.bin_duration.as_nanos() + 1;
        self.bin_end += Time::from_nanos(passed * self.bin_duration.as_nanos());
        for skipped in 0..(passed - 1).min(BINS as u64) {
            self.bins[((self.complete + skipped) % BINS as u64) as usize] = 0;
        }
        self.complete += passed;
        let before = self.acknowledged.replace(acknowledged).unwrap_or(acknowledged);
        self.bins[((self.complete - 1) % BINS as u64) as usize] = acknowledged - before;
    }

    /// Bytes in the `count` bins that end `back` bins and a `fraction` of a bin before the end of the last complete bin
    /// (lines 32 to 38).
    fn sum(&self, back: u64, count: u64, fraction: f64) -> f64 {
        let bin = |age: u64| {
            let number = self.complete.checked_sub(1 + age);
            number.map_or(0.0, |number| self.bins[(number % BINS as u64) as usize] as f64)
        };
        let whole: f64 = (back + 1..back + count).map(bin).sum();
        let oldest = if fraction > 0.0 { bin(back + count) * fraction } else { 0.0 };
        whole + bin(back) * (1.0 - fraction) + oldest
    }
}

#[cfg(test)]
mod tests;
