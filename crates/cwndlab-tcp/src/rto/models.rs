//! The estimators next to models that are written from their sources: RFC 6298 in real numbers, Jacobson's appendix of
//! 1988 and Linux's `tcp_rtt_estimator` in the variables that they use.

use proptest::prelude::*;

use super::*;
use crate::Profile;

/// What happens to an estimator: a round trip in µs (with the window and what is acknowledged, in segments), or a timeout.
#[derive(Clone, Copy, Debug)]
enum Step {
    Sample { us: u64, cwnd: u64, acked: u64 },
    Timeout,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let us = prop_oneof![1..2000_u64, 20_000..60_000_u64, 1..4_000_000_u64];
    let sample = (us, 1..20_u64, 0..30_u64).prop_map(|(us, cwnd, acked)| Step::Sample { us, cwnd, acked });
    proptest::collection::vec(prop_oneof![8 => sample, 1 => Just(Step::Timeout)], 1..60)
}

/// RFC 6298, section 2, in seconds: SRTT, RTTVAR and RTO.
fn rfc6298(cfg: &RtoConfig, samples: &[f64]) -> (f64, f64, f64) {
    let (mut srtt, mut rttvar) = (samples[0], samples[0] / 2.0);
    for r in &samples[1..] {
        rttvar = 0.75 * rttvar + 0.25 * (srtt - r).abs();
        srtt = 0.875 * srtt + 0.125 * r;
    }
    let floor = cfg.variance_floor_ns.as_secs_f64();
    (srtt, rttvar, (srtt + (4.0 * rttvar).max(floor)).max(cfg.min_ns.as_secs_f64()))
}

/// Jacobson 1988, appendix A: `sa` is eight times the average, `sv` four times the mean deviation, in ticks. Here the
/// timeout is the average plus four mean deviations.
struct Jacobson {
    sa: i64,
    sv: i64,
    /// The first mean deviation: half of the round trip, or in Linux 2.2 all of it.
    first: i64,
    least: i64,
}

impl Jacobson {
    fn take(&mut self, mut m: i64) {
        if self.sa == 0 {
            (self.sa, self.sv) = (8 * m, self.first * m);
            return;
        }
        m -= self.sa >> 3;
        self.sa = (self.sa + m).max(1);
        m = m.abs() - (self.sv >> 2);
        self.sv = (self.sv + m).max(self.least);
    }
}

/// `tcp_rtt_estimator` of Linux (`net/ipv4/tcp_input.c`), µs: `srtt_us` is eight times the average, `mdev_us` four times
/// the mean deviation.
#[derive(Default)]
struct Kernel {
    srtt_us: i64,
    mdev_us: i64,
    mdev_max_us: i64,
    rttvar_us: i64,
    rtt_seq: u64,
}

impl Kernel {
    fn take(&mut self, mrtt_us: i64, rto_min_us: i64, snd_una: u64, snd_nxt: u64) {
        let mut m = mrtt_us;
        if self.srtt_us == 0 {
            self.srtt_us = m << 3;
            self.mdev_us = m << 1;
            self.rttvar_us = self.mdev_us.max(rto_min_us);
            self.mdev_max_us = self.rttvar_us;
            self.rtt_seq = snd_nxt;
            return;
        }
        m -= self.srtt_us >> 3;
        self.srtt_us = (self.srtt_us + m).max(1);
        if m < 0 {
            m = -m;
            m -= self.mdev_us >> 2;
            if m > 0 {
                m >>= 3;
            }
        } else {
            m -= self.mdev_us >> 2;
        }
        self.mdev_us += m;
        if self.mdev_us > self.mdev_max_us {
            self.mdev_max_us = self.mdev_us;
            if self.mdev_max_us > self.rttvar_us {
                self.rttvar_us = self.mdev_max_us;
            }
        }
        if snd_una > self.rtt_seq {
            if self.mdev_max_us < self.rttvar_us {
                self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
            }
            self.rtt_seq = snd_nxt;
            self.mdev_max_us = rto_min_us;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn rfc6298_is_the_formula_of_its_section_2(steps in steps(), floor_ms in prop_oneof![Just(0_u64), 0..300_u64]) {
        let floor = Time::from_millis(floor_ms);
        let cfg = RtoConfig { min_ns: Time::from_millis(5), variance_floor_ns: floor, ..Profile::Rfc5681.config().rto };
        let mut estimator = RttEstimator::new(&cfg);
        let (mut samples, mut doubled) = (Vec::new(), 0);
        for step in steps {
            match step {
                Step::Sample { us, .. } => {
                    estimator.on_sample(&cfg, Time::from_secs(100), Time::from_micros(us), (0, 0));
                    estimator.clear_backoff();
                    samples.push(us as f64 * 1e-6);
                    doubled = 0;
                }
                Step::Timeout => {
                    estimator.backoff(&cfg);
                    doubled += 1;
                }
            }
            let (srtt, rttvar, rto) = match samples.as_slice() {
                [] => (0.0, 0.0, 1.0),
                samples => rfc6298(&cfg, samples),
            };
            let near = |time: Time, wanted: f64| (time.as_secs_f64() - wanted).abs() < 1e-6;
            prop_assert!(near(estimator.srtt(&cfg), srtt) && near(estimator.rttvar(&cfg), rttvar), "{estimator:?}");
            let rto = (rto * f64::from(1_u32 << doubled.min(20))).min(60.0);
            prop_assert!((estimator.rto(&cfg).as_secs_f64() - rto).abs() < 1e-6 * f64::from(1_u32 << doubled.min(20)));
        }
    }

    /// Round trips are of whole ticks, each at least one, and end where a tick does.
    #[test]
    fn coarse_estimates_are_those_of_1988(steps in steps(), which in 0..3_usize) {
        let profile = [Profile::Ns2_1998, Profile::Linux2_0, Profile::Linux2_2][which];
        let cfg = RtoConfig { min_ns: Time::ZERO, ..profile.config().rto };
        let tick_us = cfg.tick_ns.as_nanos() / 1000;
        let mut estimator = RttEstimator::new(&cfg);
        let [first, least] = [[2, 1], [2, 0], [4, 0]][which];
        let mut model = Jacobson { sa: 0, sv: 0, first, least };
        for step in steps {
            let Step::Sample { us, cwnd, .. } = step else { continue };
            let ticks = (us / tick_us).max(1);
            estimator.note_window(&cfg, cwnd);
            estimator.on_sample(&cfg, cfg.tick_ns * 1_000_000, cfg.tick_ns * ticks, (0, 0));
            model.take(ticks as i64);
            prop_assert_eq!(estimator.srtt(&cfg), cfg.tick_ns * (model.sa >> 3) as u64);
            prop_assert_eq!(estimator.rttvar(&cfg), cfg.tick_ns * (model.sv >> 2) as u64);
            let mut rto = (model.sa >> 3) + model.sv;
            if which > 0 {
                rto += (rto >> 2) + (rto >> (cwnd - 1)); // tcp_set_rto and tcp_bound_rto
            }
            let least = if which == 0 { 2 } else { rto.max(2) };
            prop_assert_eq!(estimator.rto(&cfg), (cfg.tick_ns * rto.max(least) as u64).min(cfg.max_ns));
        }
    }

    #[test]
    fn linux_does_what_its_source_does(
        steps in steps(), hz in prop_oneof![Just(0_u32), Just(1000), Just(250)], floor in any::<bool>(),
    ) {
        let floor_us = if floor { 200_000 } else { 1000 };
        let base = Profile::Linux6.config().rto;
        let (floor, least) = (Time::from_micros(floor_us as u64), Time::from_micros(1));
        let cfg = RtoConfig { timer_hz: hz, variance_floor_ns: floor, min_ns: least, ..base };
        let mut estimator = RttEstimator::new(&cfg);
        let (mut kernel, mut una, mut nxt) = (Kernel::default(), u64::from(u32::MAX) - 20_000, u64::from(u32::MAX));
        for step in steps {
            let Step::Sample { us, cwnd, acked } = step else { continue };
            una = (una + acked * 1000).min(nxt);
            nxt = nxt.max(una + cwnd * 1000);
            estimator.on_sample(&cfg, Time::from_secs(100), Time::from_micros(us), (una, nxt));
            kernel.take(us as i64, floor_us, una, nxt);
            let tick_us = if hz == 0 { 1 } else { 1_000_000 / i64::from(hz) };
            let rto_us = ((kernel.srtt_us >> 3) + kernel.rttvar_us + tick_us - 1) / tick_us * tick_us;
            prop_assert_eq!(estimator.rto(&cfg), Time::from_micros(rto_us as u64).min(cfg.max_ns));
            prop_assert_eq!(estimator.srtt(&cfg), Time::from_nanos((kernel.srtt_us * 1000 / 8) as u64));
            prop_assert_eq!(estimator.rttvar(&cfg), Time::from_nanos((kernel.rttvar_us * 1000 / 4) as u64));
        }
    }
}

/// BSD's `tcp_timers.c`: after four timeouts in a row the average is forgotten, its value added to the deviation, and
/// the shift ends at six.
#[test]
fn the_fourth_timeout_forgets_the_average() {
    let cfg = Profile::Ns2_1998.config().rto;
    let mut estimator = RttEstimator::new(&cfg);
    estimator.on_sample(&cfg, Time::from_secs(100), Time::from_millis(800), (0, 0));
    // 8 ticks; a deviation of 4 ticks is 16 quarters
    let mut seen = Vec::new();
    for _ in 0..8 {
        estimator.backoff(&cfg);
        let ticks = |time: Time| time.as_nanos() / 100_000_000;
        seen.push((
            ticks(estimator.srtt(&cfg)),
            estimator.raw_rttvar,
            estimator.backoffs(),
            ticks(estimator.rto(&cfg)),
        ));
    }
    // the timeout is 8 + 16 ticks, doubled up to the maximum of 64 s
    assert_eq!(
        seen,
        [
            (8, 16, 1, 48),
            (8, 16, 2, 96),
            (8, 16, 3, 192),
            (0, 24, 4, 384),
            (0, 24, 5, 640),
            (0, 24, 6, 640),
            (0, 24, 6, 640),
            (0, 24, 6, 640)
        ]
    );
}
