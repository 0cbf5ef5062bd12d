use super::*;
use crate::{CongestionEvent, Profile};

const MSS: u32 = 1000;
const FULL: u64 = 1_000_000;

/// A sender with the target of 100 ms whose last delays are all `queueing_ms` above a base of 20 ms.
fn delayed(gain_percent: u32, queueing_ms: u64) -> Ledbat {
    let mut law = Ledbat::new(LedbatConfig { gain_percent, ..LedbatConfig::STANDARD });
    law.delays.note(Time::ZERO, Time::from_millis(20));
    for _ in 0..super::super::delays::CURRENT_SAMPLES {
        law.delays.note(Time::ZERO, Time::from_millis(20 + queueing_ms));
    }
    law
}

fn ack(flight: u64) -> AckReport {
    AckReport { mss: MSS, prior_flight_bytes: flight, ..AckReport::default() }
}

/// The rule of section 2.4.2, "on acknowledgement", computed by hand.
#[test]
fn an_ack_changes_the_window_in_proportion_to_the_distance_from_the_target() {
    for (gain_percent, queueing_ms, acked, cwnd, after) in [
        (100, 0, 1000, 10_000, 10_100.0),   // off_target 1: Reno's growth
        (100, 50, 1000, 10_000, 10_050.0),  // 1/2
        (100, 100, 1000, 10_000, 10_000.0), // at the target
        (100, 150, 1000, 10_000, 9_950.0),  // -1/2
        (100, 400, 2000, 10_000, 9_400.0),  // -3, two segments
        (50, 0, 1000, 10_000, 10_050.0),    // half the gain
        (1000, 90, 1000, 10_000, 10_100.0), // RFC 7928, section 5.4: a gain of 10
        (100, 0, 1000, 30_000, 30_033.333), // fractions are kept
    ] {
        let mut law = delayed(gain_percent, queueing_ms);
        let window = law.on_ack(&ack(FULL), acked, cwnd);
        assert!((f64::from(window) + law.fraction - after).abs() < 1e-3, "{queueing_ms} ms: {window}");
    }
}

#[test]
fn a_window_that_is_acknowledged_adds_one_segment_without_queueing() {
    let mut law = delayed(100, 0);
    let mut cwnd = 20 * MSS;
    for _ in 0..20 {
        cwnd = law.on_ack(&ack(FULL), 1000, cwnd);
    }
    // dW = 1/W for each segment, so W^2 grows by 2 for each: sqrt(400 + 40) = 20.976
    assert!((f64::from(cwnd) / 1000.0 - 20.976).abs() < 0.002, "{cwnd}");
}

#[test]
fn the_window_is_at_most_a_segment_above_what_was_in_flight_and_at_least_two() {
    let mut law = delayed(100, 0);
    assert_eq!(law.on_ack(&ack(6_000), 1000, 50_000), 7_000, "application-limited");
    let mut law = delayed(100, 5_000);
    assert_eq!(law.on_ack(&ack(FULL), 1000, 2_500), 2_000);
    assert_eq!(law.on_ack(&ack(1_000), 1000, 1_000), 2_000, "after a timeout");
}

#[test]
fn without_a_measurement_it_grows_as_reno_does() {
    let mut law = Ledbat::new(LedbatConfig::STANDARD);
    assert_eq!(law.on_ack(&ack(FULL), 1000, 10_000), 10_100);
}

#[test]
fn one_high_sample_is_filtered_and_a_lower_base_counts_at_once() {
    let mut law = delayed(100, 0);
    law.delays.note(Time::ZERO, Time::from_millis(500));
    assert_eq!(law.on_ack(&ack(FULL), 1000, 10_000), 10_100);
    law.delays.note(Time::ZERO, Time::from_millis(10)); // the path is 10 ms shorter
    for _ in 0..super::super::delays::CURRENT_SAMPLES {
        law.delays.note(Time::ZERO, Time::from_millis(60));
    }
    assert_eq!(law.on_ack(&ack(FULL), 1000, 10_000), 10_050);
}

#[test]
fn a_loss_halves_the_window() {
    let mut law = delayed(100, 0);
    law.on_ack(&ack(FULL), 1000, 30_000);
    let cfg = Profile::Rfc5681.config();
    let cut = Cut { cfg: &cfg, event: CongestionEvent::Loss, base: 0, half: 0, unit: 1, mss: MSS };
    assert_eq!(law.reduce(&cut, 30_033), 15_016);
    assert!(law.fraction.abs() < f64::EPSILON);
}

#[test]
fn samples_older_than_a_round_trip_do_not_count() {
    let mut law = delayed(100, 0);
    law.delays.note(Time::from_millis(500), Time::from_millis(70)); // the first after a pause
    let at = |ms| AckReport { now: Time::from_millis(ms), srtt: Time::from_millis(100), ..ack(FULL) };
    assert_eq!(law.on_ack(&at(500), 1000, 10_000), 10_050);
}
