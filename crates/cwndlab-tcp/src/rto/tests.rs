use super::*;
use crate::Profile;

const MS: u64 = 1_000_000;

fn rfc6298() -> RtoConfig {
    Profile::Rfc5681.config().rto
}

/// A clock of 100 ms; the RTO is 6 s at first, has no minimum, and is at most 64 s.
fn coarse() -> RtoConfig {
    Profile::Ns2_1998.config().rto
}

#[test]
fn is_small_enough_for_a_connection() {
    assert!(std::mem::size_of::<RttEstimator>() <= 40);
}

/// Computed by hand from RFC 6298, 2.2 and 2.3, without the minimum:
///
/// | R ms | RTTVAR ms                        | SRTT ms                  | RTO ms = SRTT + 4*RTTVAR |
/// |------|----------------------------------|--------------------------|--------------------------|
/// | 800  | 400                              | 800                      | 2400                     |
/// | 800  | 3/4*400 + 0 = 300                | 800                      | 2000                     |
/// | 1600 | 3/4*300 + 1/4*800 = 425          | 7/8*800 + 200 = 900      | 2600                     |
/// | 100  | 3/4*425 + 1/4*800 = 518.75       | 7/8*900 + 12.5 = 800     | 2875                     |
/// | 800  | 3/4*518.75 = 389.0625            | 800                      | 2356.25                  |
#[test]
fn rfc6298_by_hand() {
    let cfg = RtoConfig { min_ns: Time::ZERO, ..rfc6298() };
    let mut e = RttEstimator::new(&cfg);
    assert_eq!(e.rto(&cfg), Time::from_secs(1));
    for (r_ms, rttvar_us, srtt_us, rto_us) in [
        (800, 400_000, 800_000, 2_400_000),
        (800, 300_000, 800_000, 2_000_000),
        (1600, 425_000, 900_000, 2_600_000),
        (100, 518_750, 800_000, 2_875_000),
        (800, 389_062, 800_000, 2_356_250),
    ] {
        e.on_sample(&cfg, Time::from_secs(10), Time::from_millis(r_ms), (0, 0));
        assert_eq!(e.rttvar(&cfg).as_nanos() / 1000, rttvar_us, "RTTVAR after {r_ms} ms");
        assert_eq!(e.srtt(&cfg), Time::from_micros(srtt_us), "SRTT after {r_ms} ms");
        assert_eq!(e.rto(&cfg), Time::from_micros(rto_us), "RTO after {r_ms} ms");
    }
    assert_eq!(e.min_rtt(), Time::from_millis(100));
}

#[test]
fn bounds_apply_before_and_after_backoff() {
    let cfg = rfc6298();
    let mut e = RttEstimator::new(&cfg);
    e.on_sample(&cfg, Time::from_secs(1), Time::from_millis(10), (0, 0));
    assert_eq!(e.rto(&cfg), Time::from_secs(1)); // RFC 6298, 2.4
    for seconds in [2, 4, 8, 16, 32, 60, 60] {
        e.backoff(&cfg);
        assert_eq!(e.rto(&cfg), Time::from_secs(seconds)); // 5.5 and 2.5
    }
    for _ in 0..100 {
        e.backoff(&cfg);
    }
    assert_eq!(e.rto(&cfg), Time::from_secs(60));
    e.clear_backoff();
    assert_eq!(e.rto(&cfg), Time::from_secs(1));
}

/// Linux: RTO = SRTT + max(200 ms, 4*RTTVAR); a steady 100 ms path times out at 300 ms, not at 200 ms.
#[test]
fn variance_floor_is_rfc6298_g() {
    let cfg = RtoConfig { min_ns: Time::from_millis(200), variance_floor_ns: Time::from_millis(200), ..rfc6298() };
    let mut e = RttEstimator::new(&cfg);
    for _ in 0..20 {
        e.on_sample(&cfg, Time::from_secs(1), Time::from_millis(100), (0, 0));
    }
    assert_eq!(e.rto(&cfg).as_nanos() / MS, 300);
}

#[test]
fn a_lost_syn_starts_data_with_three_seconds() {
    let cfg = rfc6298();
    let mut e = RttEstimator::new(&cfg);
    e.backoff(&cfg);
    e.after_lost_syn();
    assert_eq!(e.rto(&cfg), Time::from_secs(3)); // RFC 6298, 5.7
    e.on_sample(&cfg, Time::from_secs(9), Time::from_secs(1), (0, 0));
    e.after_lost_syn();
    assert_eq!(e.rto(&cfg), Time::from_secs(3)); // measured: 1 + 4*0.5, which is also 3
    e.on_sample(&cfg, Time::from_secs(9), Time::from_secs(1), (0, 0));
    e.after_lost_syn();
    assert_eq!(e.rto(&cfg), Time::from_millis(2500)); // measured: 1 + 4*0.375
}

/// The tick is 100 ms. Ticks are counted by the clock, the rest is computed by hand in fixed point (srtt8 = 8*srtt,
/// var4 = 4*rttvar):
///
/// | sent at | acked at | ticks | d = m - srtt8>>3 | srtt8 | var4                 | RTO ticks = (srtt8 + 8*var4) >> 3 |
/// |---------|----------|-------|------------------|-------|----------------------|-----------------------------------|
/// | 0       | 1.2223   | 12    | first            | 96    | 24                   | 36                                |
/// | 1.2223  | 2.7777   | 15    | 15-12 = 3        | 99    | 24 + (3-6) = 21      | 33 (264+3 = 267 >> 3)             |
/// | 2.05    | 2.1      | 1     | 1-12 = -11       | 88    | 21 + (11-5) = 27     | 38                                |
/// | 3.01    | 3.02     | 0 → 1 | 1-11 = -10       | 78    | 27 + (10-6) = 31     | 40 (78+248 = 326 >> 3)            |
#[test]
fn coarse_ticks_by_hand() {
    let cfg = coarse();
    let mut e = RttEstimator::new(&cfg);
    assert_eq!(e.rto(&cfg), Time::from_secs(6));
    for (sent_us, acked_us, srtt8, var4, rto_ticks) in [
        (0, 1_222_300, 96, 24, 36),
        (1_222_300, 2_777_700, 99, 21, 33),
        (2_050_000, 2_100_000, 88, 27, 38),
        (3_010_000, 3_020_000, 78, 31, 40),
    ] {
        let now = Time::from_micros(acked_us);
        e.on_sample(&cfg, now, Time::from_micros(acked_us - sent_us), (0, 0));
        assert_eq!((e.raw_srtt, e.raw_rttvar), (srtt8, var4), "after the ACK at {now}");
        assert_eq!(e.rto(&cfg), Time::from_millis(100 * rto_ticks), "after the ACK at {now}");
    }
    assert_eq!(e.srtt(&cfg), Time::from_millis(900)); // 78 >> 3 = 9 ticks
}

/// ns-2 gives each agent a random boot time within a tick. From 0.26 s to 1.34 s the clock goes from tick 2 to 13; if
/// it is 70 ms ahead, from 3 to 14; 30 ms ahead, from 2 to 13; 50 ms ahead, from 3 to 13.
#[test]
fn the_phase_of_the_tick_decides_between_neighbours() {
    for (phase_ms, ticks) in [(0, 1), (70, 1), (30, 1), (50, 0)] {
        let cfg = RtoConfig { tick_phase_ns: Time::from_millis(phase_ms), ..coarse() };
        let mut e = RttEstimator::new(&cfg);
        e.on_sample(&cfg, Time::from_millis(1340), Time::from_millis(1080), (0, 0));
        assert_eq!(e.srtt(&cfg), Time::from_millis(100 * (10 + ticks)), "phase {phase_ms} ms");
    }
}

#[test]
fn coarse_timeout_of_a_fast_path_is_three_ticks_and_never_beyond_the_maximum() {
    let cfg = coarse();
    let mut e = RttEstimator::new(&cfg);
    for _ in 0..50 {
        e.on_sample(&cfg, Time::from_millis(1050), Time::from_millis(1), (0, 0));
    }
    // srtt8 = 8 and var4 = 2, which no longer shrinks as 2 >> 2 = 0: (8 + 16) >> 3 = 3
    assert_eq!(e.rto(&cfg), Time::from_millis(300));
    let mut e = RttEstimator::new(&cfg);
    for seconds in [12, 24, 48, 64, 64, 64, 64] {
        e.backoff(&cfg);
        assert_eq!(e.rto(&cfg), Time::from_secs(seconds));
    }
}

/// After the fourth doubling BSD keeps srtt only as variance, so that the next measurement counts as the first.
#[test]
fn coarse_estimate_is_forgotten_after_four_backoffs() {
    let cfg = coarse();
    let mut e = RttEstimator::new(&cfg);
    e.on_sample(&cfg, Time::from_secs(1), Time::from_secs(1), (0, 0)); // srtt8 80, var4 20
    for _ in 0..3 {
        e.backoff(&cfg);
    }
    assert_eq!((e.raw_srtt, e.raw_rttvar), (80, 20));
    e.backoff(&cfg);
    assert_eq!((e.raw_srtt, e.raw_rttvar), (0, 30));
    assert_eq!(e.rto(&cfg), Time::from_millis(100 * 30 * 16)); // the RTO itself does not change
    e.on_sample(&cfg, Time::from_secs(9), Time::from_millis(500), (0, 0));
    assert_eq!((e.raw_srtt, e.raw_rttvar), (40, 10));
}

fn linux() -> RtoConfig {
    RtoConfig {
        estimator: Estimator::Linux,
        min_ns: Time::from_millis(200),
        max_ns: Time::from_secs(120),
        variance_floor_ns: Time::from_millis(200),
        ..rfc6298()
    }
}

/// The kernel's `tcp_rtt_estimator` by hand, in ms; `mdev` and `rttvar` are four times a deviation. A round trip ends
/// when more is acknowledged than was sent when it began.
///
/// | una, max   | R    | srtt                | mdev                             | mdev_max | rttvar                      | RTO  |
/// |------------|------|---------------------|----------------------------------|----------|-----------------------------|------|
/// | 1, 1       | 400  | 400                 | 2*400 = 800                      | 800      | max(800, 200)               | 1200 |
/// | 1, 10      | 400  | 400                 | 800 + 0 - 800/4 = 600            | 800      | una 1 not beyond 1: 800     | 1200 |
/// | 5, 20      | 400  | 400                 | 600 - 150 = 450                  | 200      | 5 > 1: 800 - (800-800)/4    | 1200 |
/// | 10, 30     | 1200 | 400 + 800/8 = 500   | 450 + 800 - 112.5 = 1137.5       | 1137.5   | 1137.5                      | 1637.5 |
/// | 21, 40     | 500  | 500                 | 1137.5 - 284.375 = 853.125       | 200      | 21 > 20; mdev_max is the same: 1137.5 | 1637.5 |
/// | 41, 50     | 500  | 500                 | 853.125 - 213.281 = 639.844      | 200      | max(200, 639.844) = 639.844: 1137.5 - 124.414 = 1013.086 | 1513.086 |
/// | 45, 60     | 100  | 500 - 50 = 450      | 639.844 + (400 - 159.961)/8 = 669.849 | 669.849 | 1013.086               | 1463.086 |
#[test]
fn linux_estimator_by_hand() {
    let cfg = linux();
    let mut e = RttEstimator::new(&cfg);
    for (una, max, r_ms, srtt_us, rto_us) in [
        (1, 1, 400, 400_000, 1_200_000),
        (1, 10, 400, 400_000, 1_200_000),
        (5, 20, 400, 400_000, 1_200_000),
        (10, 30, 1200, 500_000, 1_637_500),
        (21, 40, 500, 500_000, 1_637_500),
        (41, 50, 500, 500_000, 1_513_086),
        (45, 60, 100, 450_000, 1_463_086),
    ] {
        e.on_sample(&cfg, Time::from_secs(10), Time::from_millis(r_ms), (una, max));
        assert_eq!(e.srtt(&cfg), Time::from_micros(srtt_us), "SRTT after {r_ms} ms");
        assert!(e.rto(&cfg).as_nanos().abs_diff(rto_us * 1000) <= 2000, "RTO {} after {r_ms} ms", e.rto(&cfg));
    }
}

/// On a steady path, Linux's RTTVAR falls at most once per round trip, by a quarter of its distance from the deviation.
/// By RFC 6298, RTTVAR falls by a quarter with each measurement.
#[test]
fn linux_timeouts_fall_by_the_round_trip_and_rfc_6298s_by_the_measurement() {
    let after = |cfg: &RtoConfig| {
        let mut e = RttEstimator::new(cfg);
        for k in 1..=20 {
            // twenty measurements within one round trip
            e.on_sample(cfg, Time::from_secs(10), Time::from_millis(400), (k, 100));
        }
        e.rto(cfg)
    };
    assert_eq!(after(&linux()), Time::from_millis(1200));
    assert_eq!(after(&RtoConfig { estimator: Estimator::Rfc6298, ..linux() }), Time::from_millis(600));
}

#[test]
fn linux_timeouts_are_whole_ticks() {
    let cfg = RtoConfig { timer_hz: 250, ..linux() };
    let mut e = RttEstimator::new(&cfg);
    e.on_sample(&cfg, Time::from_secs(1), Time::from_micros(51_250), (1, 1));
    assert_eq!(e.rto(&cfg), Time::from_millis(252)); // 51.25 + 200, in ticks of 4 ms
}
