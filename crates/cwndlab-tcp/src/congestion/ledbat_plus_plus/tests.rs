use super::super::delays::CURRENT_SAMPLES;
use super::*;

const MSS: u32 = 1000;
const TARGET: Time = Time::from_millis(60);

/// A sender that has measured a round-trip time of `base`, and after that only `base` + `queueing`.
fn delayed(base: Time, queueing: Time) -> LedbatPlusPlus {
    let mut law = LedbatPlusPlus::new(LedbatPlusPlusConfig { target_ns: TARGET });
    law.delays.note(Time::ZERO, base);
    for _ in 0..CURRENT_SAMPLES {
        law.delays.note(Time::ZERO, base + queueing);
    }
    law.next_slowdown = Some(Time::MAX);
    law
}

fn ack(at: Time) -> AckReport {
    AckReport { now: at, mss: MSS, srtt: Time::from_millis(100), ..AckReport::default() }
}

fn windows(cwnd: u32, ssthresh: u32) -> Windows {
    Windows { cwnd: cwnd * MSS, ssthresh: ssthresh.saturating_mul(MSS) }
}

/// Acknowledges a window segment by segment. Returns the windows, and cwnd in segments including the fraction that has
/// not been applied yet.
fn round(law: &mut LedbatPlusPlus, at: Time, mut now: Windows) -> (Windows, f64) {
    for _ in 0..now.cwnd / MSS {
        now = law.on_ack(&ack(at), u64::from(MSS), u64::from(MSS), now);
    }
    (now, f64::from(now.cwnd) / f64::from(MSS) + law.fraction)
}

#[test]
fn the_gain_falls_with_the_base_round_trip_to_a_sixteenth() {
    for (base, divisor) in [(120, 1.0), (119, 2.0), (60, 2.0), (20, 6.0), (8, 15.0), (7, 16.0), (1, 16.0)] {
        let law = delayed(Time::from_millis(base), Time::ZERO);
        assert!((law.gain() - 1.0 / divisor).abs() < 1e-12, "{base} ms");
    }
}

#[test]
fn slow_start_grows_by_the_gain() {
    let mut law = delayed(Time::from_millis(60), Time::ZERO);
    let (_, grown) = round(&mut law, Time::ZERO, Windows { cwnd: 40 * MSS, ssthresh: NO_THRESHOLD });
    assert!((grown - 60.0).abs() < 1e-9, "{grown}");
}

#[test]
fn the_first_slow_start_ends_above_three_quarters_of_the_target_and_later_ones_do_not() {
    for (queueing, ssthresh, ends) in [(45, u32::MAX, false), (46, u32::MAX, true), (46, 100, false)] {
        let mut law = delayed(Time::from_millis(120), Time::from_millis(queueing));
        let after = law.on_ack(&ack(Time::ZERO), u64::from(MSS), u64::from(MSS), windows(10, ssthresh));
        assert_eq!(after.ssthresh == 10 * MSS, ends, "{queueing} ms, ssthresh {ssthresh}");
        assert_eq!(after.cwnd, if ends { 10 } else { 11 } * MSS);
    }
}

#[test]
fn up_to_the_target_a_round_adds_the_gain() {
    let mut law = delayed(Time::from_millis(60), TARGET);
    let mut now = windows(100, 100);
    for _ in 0..4 {
        now = round(&mut law, Time::ZERO, now).0;
    }
    // dW = g/W for each segment, so W^2 grows by 2 g for each
    let expected = (10_000.0_f64 + 2.0 * 0.5 * 402.0).sqrt();
    let reached = f64::from(now.cwnd) / f64::from(MSS) + law.fraction;
    assert!((reached - expected).abs() < 0.02, "{reached} {expected}");
}

#[test]
fn above_the_target_the_window_falls_by_the_excess_and_at_most_by_half() {
    // delay / target - 1 = 1/4: a round trip reduces the window by a quarter, less the gain of 1/2
    let mut law = delayed(Time::from_millis(60), Time::from_millis(75));
    let (now, reached) = round(&mut law, Time::ZERO, windows(100, 100));
    assert!((reached - 75.5).abs() < 0.2, "{reached}");
    assert_eq!(now.ssthresh, now.cwnd, "slow start must not take the window back");
    let mut law = delayed(Time::from_millis(60), Time::from_millis(600));
    let (_, reached) = round(&mut law, Time::ZERO, windows(100, 100));
    assert!((reached - 50.0).abs() < 1e-9, "{reached}");
    let (least, _) = round(&mut law, Time::ZERO, windows(2, 2));
    assert_eq!(least, windows(2, 2));
}

#[test]
fn a_slowdown_holds_two_segments_for_two_round_trips_and_comes_again_after_nine_of_its_durations() {
    let mut law = delayed(Time::from_millis(120), Time::ZERO);
    law.next_slowdown = None;
    let at = |ms| ack(Time::from_millis(ms));
    let mut step = |ms, now| law.on_ack(&at(ms), u64::from(MSS), u64::from(MSS), now);
    // the first slowdown comes two round trips after the end of the first slow start
    let now = step(1_000, windows(8, 8));
    assert_eq!(step(1_199, now), windows(8, 8));
    let slowed = step(1_200, now);
    assert_eq!(slowed, windows(2, 8));
    assert_eq!(step(1_400, slowed), windows(2, 8));
    // slow start begins, and the slowdown is over when ssthresh is reached
    let mut now = slowed;
    for ms in 1_401..1_407 {
        now = step(ms, now);
    }
    assert_eq!(now, windows(8, 8));
    // the slowdown has lasted 206 ms
    let next = 1_406 + 9 * 206;
    assert!(step(next - 1, now).cwnd >= 8 * MSS);
    assert_eq!(step(next, now).cwnd, 2 * MSS);
}

#[test]
fn the_base_delay_is_forgotten_after_ten_minutes() {
    let mut law = LedbatPlusPlus::new(LedbatPlusPlusConfig { target_ns: TARGET });
    law.delays.note(Time::from_secs(30), Time::from_millis(50));
    law.delays.note(Time::from_secs(599), Time::from_millis(90));
    assert_eq!(law.delays.base(), Time::from_millis(50));
    law.delays.note(Time::from_secs(600), Time::from_millis(80));
    assert_eq!(law.delays.base(), Time::from_millis(80));
    law.delays.note(Time::from_secs(60_000), Time::from_millis(100));
    assert_eq!(law.delays.base(), Time::from_millis(100));
}
