//! The response of Google's BBR v3 branch (`net/ipv4/tcp_bbr.c`) to CE marks from queues with a shallow threshold.
//! draft-ietf-ccwg-bbr-06 leaves ECN to future work (section 3.7).

use cwndlab_units::Time;

/// `bbr_ecn_max_rtt_us`: marks are ignored on paths with a longer minimum round trip.
const LONGEST_RTT: Time = Time::from_millis(5);
/// `bbr_ecn_alpha_gain`, `bbr_ecn_factor`, `bbr_ecn_thresh` and `bbr_full_ecn_cnt`
const ALPHA_GAIN: f64 = 16.0 / 256.0;
const FACTOR: f64 = 85.0 / 256.0;
const THRESHOLD: f64 = 0.5;
const FULL_ROUNDS: u32 = 2;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ecn {
    /// Whether the minimum round trip has ever been at most [`LONGEST_RTT`]; until then, marks are ignored.
    eligible: bool,
    /// `ecn_alpha`: the moving average of the marked share.
    alpha: f64,
    last_delivered: u64,
    last_ce: u64,
    /// Consecutive rounds whose marked share reached [`THRESHOLD`].
    startup_rounds: u32,
    pub in_round: bool,
    pub in_cycle: bool,
}

impl Ecn {
    pub fn new() -> Self {
        Ecn { alpha: 1.0, ..Ecn::default() }
    }

    /// Processes an ACK, with or without marks.
    pub fn on_ack(&mut self, marked: bool) {
        self.in_round |= self.eligible && marked;
    }

    /// Updates alpha at the end of a round (`bbr_update_ecn_alpha`). `delivered` and `ce` are total bytes delivered and
    /// marked. Returns whether the marked share has reached [`THRESHOLD`] in [`FULL_ROUNDS`] consecutive rounds, which
    /// ends Startup.
    pub fn on_round(&mut self, min_rtt: Time, delivered: u64, ce: u64) -> bool {
        self.eligible |= min_rtt <= LONGEST_RTT;
        let new = delivered - self.last_delivered;
        if !self.eligible || new == 0 {
            return false;
        }
        let share = (ce - self.last_ce) as f64 / new as f64;
        self.alpha = ((1.0 - ALPHA_GAIN) * self.alpha + ALPHA_GAIN * share).min(1.0);
        (self.last_delivered, self.last_ce) = (delivered, ce);
        self.startup_rounds = if share >= THRESHOLD { self.startup_rounds + 1 } else { 0 };
        self.startup_rounds >= FULL_ROUNDS
    }

    /// Whether the marked share of a sample's bytes exceeds the threshold.
    pub fn is_too_high(&self, ce: u64, delivered: u64) -> bool {
        self.eligible && ce > 0 && ce as f64 > delivered as f64 * THRESHOLD
    }

    /// Factor for `inflight_shortterm` after a round with marks (`bbr_ecn_cut`).
    pub fn cut(&self) -> f64 {
        1.0 - self.alpha * FACTOR
    }

    /// Whether there were marks in this cycle, so that bandwidth is probed as soon as marks cease
    /// (`bbr_ecn_reprobe_gain`).
    pub fn reprobes(&self) -> bool {
        self.eligible && self.in_cycle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Time = Time::from_millis(5);

    #[test]
    fn marks_count_once_the_minimum_round_trip_has_been_at_most_5_ms() {
        let mut ecn = Ecn::new();
        ecn.on_ack(true);
        assert!(!ecn.on_round(SHORT + Time::from_nanos(1), 100, 100) && !ecn.in_round);
        ecn.in_cycle = true;
        assert!(!ecn.reprobes() && !ecn.is_too_high(100, 100));
        ecn.on_round(SHORT, 200, 100);
        ecn.on_ack(false);
        assert!(!ecn.in_round);
        ecn.on_ack(true);
        assert!(ecn.in_round && ecn.reprobes());
        ecn.in_cycle = false;
        assert!(!ecn.reprobes());
        ecn.on_round(SHORT * 2, 300, 100);
        ecn.on_ack(false);
        assert!(ecn.in_round, "it stays so on a longer path, and until it is reset");
    }

    /// `alpha` is 1 at first; a round gives it a sixteenth of its marked share.
    #[test]
    fn the_cut_is_a_third_of_the_moving_average_of_the_marked_share() {
        let mut ecn = Ecn::new();
        let cut_of = |alpha: f64| 1.0 - alpha * 85.0 / 256.0;
        assert!((ecn.cut() - cut_of(1.0)).abs() < 1e-12);
        ecn.on_round(SHORT, 1000, 0);
        assert!((ecn.cut() - cut_of(15.0 / 16.0)).abs() < 1e-12);
        ecn.on_round(SHORT, 1000, 0); // nothing was delivered
        assert!((ecn.cut() - cut_of(15.0 / 16.0)).abs() < 1e-12);
        ecn.on_round(SHORT, 2000, 500);
        assert!((ecn.cut() - cut_of(225.0 / 256.0 + 0.5 / 16.0)).abs() < 1e-12);
    }

    #[test]
    fn two_rounds_in_a_row_with_half_of_the_bytes_marked_end_startup() {
        let mut ecn = Ecn::new();
        let rounds = [(100, 50), (200, 99), (300, 149), (400, 199)]; // shares of 0.5, 0.49, 0.5 and 0.5
        let ended: Vec<_> = rounds.iter().map(|&(delivered, ce)| ecn.on_round(SHORT, delivered, ce)).collect();
        assert_eq!(ended, [false, false, false, true]);
        assert_eq!([(50, 100), (51, 100), (0, 0)].map(|(ce, all)| ecn.is_too_high(ce, all)), [false, true, false]);
    }
}
