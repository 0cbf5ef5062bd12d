use proptest::prelude::*;

use super::*;
use crate::config::{PragueVersion, Profile};

const MSS: u32 = 1000;

fn new(cwnd: u64) -> Prague {
    Prague { mtu: MSS + 50, ..Prague::new(cwnd, PragueConfig::of(Profile::Linux6)) }
}

fn ack(at_ms: u64, una: u64, nxt: u64, delivered: u64, marked: u32) -> AckReport {
    AckReport {
        now: Time::from_millis(at_ms),
        mss: MSS,
        srtt: Time::from_millis(40),
        delivered_bytes: delivered * u64::from(MSS),
        ce_packets: marked,
        snd_una: una,
        snd_nxt: nxt,
        ..AckReport::default()
    }
}

/// A sender in congestion avoidance with a window of `window` segments, to which a mark has been reported.
fn steady(window: f64) -> (Prague, Segments) {
    let segments = window.ceil() as u64;
    let prague = Prague { window, saw_ce: true, round_end: u64::MAX, ..new(segments) };
    (prague, Segments { cwnd: segments, ssthresh: segments })
}

#[test]
fn each_unmarked_packet_adds_its_share_of_a_segment_a_window() {
    let (mut prague, mut windows) = steady(20.0);
    for _ in 0..20 {
        windows = prague.take_ack(&ack(1, 1, 2, 1, 0), &AfterAck::CALM, windows);
    }
    // dW = 1/W for each packet, so W^2 grows by 2 for each: a little less than one segment in all
    assert!((prague.window - 440.0_f64.sqrt()).abs() < 2e-3, "{}", prague.window);
    assert_eq!(windows.cwnd, 21);
    let before = prague.window;
    prague.take_ack(&ack(1, 1, 2, 2, 2), &AfterAck::CALM, windows);
    assert!((prague.window - before).abs() < 1e-12, "marked packets add nothing");
}

#[test]
fn alpha_is_the_average_share_of_marks_by_round() {
    let (mut prague, mut windows) = steady(10.0);
    prague.round_end = 0;
    let mut expected = 0.0;
    for round in 0..50_u64 {
        windows = prague.take_ack(&ack(40 * round, 10 * round, 10 * round + 10, 10, 3), &AfterAck::CALM, windows);
        expected += (0.3 - expected) / 16.0;
        assert!((prague.alpha - expected).abs() < 1e-12, "round {round}");
    }
    assert!((prague.alpha - 0.3).abs() < 0.02);
}

#[test]
fn marks_reduce_the_window_by_half_of_alpha_once_a_window() {
    let (mut prague, windows) = steady(100.0);
    prague.alpha = 0.2;
    prague.on_marks(Time::ZERO, windows);
    assert!((prague.window - 90.0).abs() < 1e-9);
    // cwnd follows the fractional window by one segment per ACK, and ssthresh follows cwnd
    let mut now = windows;
    for _ in 0..3 {
        now = prague.take_ack(&ack(2, 1, 2, 1, 1), &AfterAck::CALM, now);
    }
    assert_eq!(now, Segments { cwnd: 97, ssthresh: 97 });
}

#[test]
fn the_first_mark_ends_slow_start_by_half() {
    let mut prague = new(10);
    let mut windows = Segments { cwnd: 10, ssthresh: u64::MAX };
    windows = prague.take_ack(&ack(1, 10, 20, 10, 0), &AfterAck::CALM, windows);
    assert_eq!(windows, Segments { cwnd: 20, ssthresh: u64::MAX });
    // The ACK delivers only marked packets: the fractional window is halved, and cwnd follows it by one segment.
    windows = prague.take_ack(&ack(2, 12, 30, 2, 2), &AfterAck::CALM, windows);
    assert!((prague.window - 10.0).abs() < 1e-9, "{}", prague.window);
    assert_eq!(windows, Segments { cwnd: 19, ssthresh: 19 });
}

#[test]
fn slow_start_goes_on_with_acks_that_deliver_both_kinds_until_one_delivers_marks_only() {
    let mut prague = new(10);
    let mut windows = Segments { cwnd: 10, ssthresh: u64::MAX };
    // In slow start, the unmarked packet opens cwnd, which replaces the reduced window (prague_update_cwnd); ssthresh
    // stays (prague_ssthresh).
    for _ in 0..3 {
        prague.on_marks(Time::ZERO, windows);
        windows = prague.take_ack(&ack(1, 0, 20, 2, 1), &AfterAck::CALM, windows);
    }
    assert_eq!(windows, Segments { cwnd: 13, ssthresh: u64::MAX });
    // The reduction, alpha/2 of the window, exceeds a segment: cwnd falls by one segment, and ssthresh becomes cwnd.
    prague.alpha = 0.5;
    prague.on_marks(Time::ZERO, windows);
    windows = prague.take_ack(&ack(2, 0, 20, 1, 1), &AfterAck::CALM, windows);
    assert_eq!(windows, Segments { cwnd: 12, ssthresh: 12 });
}

#[test]
fn short_round_trips_grow_by_the_square_of_their_part_of_25_ms() {
    let (mut prague, windows) = steady(10.0);
    let srtt = Time::from_millis(5);
    let report = AckReport { srtt, ..ack(1, 1, 2, 1, 0) };
    prague.clone().take_ack(&report, &AfterAck::CALM, windows);
    assert!((prague.increase(srtt) - 1.0).abs() < 1e-12, "not before round 500");
    prague.round = 500;
    assert!((prague.increase(srtt) - 0.04).abs() < 1e-12);
    assert!((prague.increase(Time::from_millis(25)) - 1.0).abs() < 1e-12);
    prague.take_ack(&report, &AfterAck::CALM, windows);
    assert!((prague.window - 10.004).abs() < 1e-9);
    // reductions are at least 25 ms apart
    prague.alpha = 1.0;
    prague.on_marks(Time::from_millis(100), windows);
    let once = prague.window;
    prague.on_marks(Time::from_millis(120), windows);
    assert!((prague.window - once).abs() < 1e-12);
    prague.on_marks(Time::from_millis(125), windows);
    assert!((prague.window - once / 2.0).abs() < 1e-9);
}

#[test]
fn a_target_of_0_makes_every_round_trip_grow_and_reduce_alike() {
    let knobs = PragueConfig { rtt_target_ns: Time::ZERO, rtt_transition: 4, ..PragueConfig::of(Profile::Linux6) };
    let (steady, windows) = steady(10.0);
    let mut prague = Prague { knobs, round: 500, alpha: 1.0, ..steady };
    assert!((prague.increase(Time::from_millis(5)) - 1.0).abs() < 1e-12);
    for at in [100, 105] {
        prague.on_marks(Time::from_millis(at), windows);
    }
    assert!((prague.window - 2.5).abs() < 1e-9, "reductions 5 ms apart");
}

#[test]
fn a_loss_halves_and_growth_waits_for_the_end_of_recovery() {
    let (mut prague, windows) = steady(40.0);
    prague.on_loss(40);
    let recovering = AfterAck { in_recovery: true, ..AfterAck::CALM };
    let during = prague.take_ack(&ack(1, 1, 2, 1, 0), &recovering, windows);
    assert_eq!((prague.window as u64, during.cwnd), (20, 39));
    prague.take_ack(&ack(2, 2, 3, 1, 0), &AfterAck::CALM, during);
    assert!(prague.window > 20.0);
    let mut windows = Windows { cwnd: 30 * MSS, ssthresh: 30 * MSS };
    prague.on_undo(MSS, &mut windows);
    assert_eq!(windows.cwnd, 40 * MSS);
    assert!(prague.window >= 40.0);
}

/// A sender of another version, and its windows.
fn of_version(version: PragueVersion, window: f64) -> (Prague, Segments) {
    let (steady, windows) = steady(window);
    (Prague { knobs: PragueConfig { version, ..steady.knobs }, ..steady }, windows)
}

#[test]
fn before_version_0_7_cwnd_grows_once_the_window_is_a_whole_segment_above_it() {
    let (mut prague, mut windows) = of_version(PragueVersion::V06, 20.0);
    for _ in 0..19 {
        windows = prague.take_ack(&ack(1, 1, 2, 1, 0), &AfterAck::CALM, windows);
    }
    assert_eq!(windows.cwnd, 20, "{}", prague.window);
    assert!((prague.window - 20.95).abs() < 1e-9, "each packet adds a cwnd's part of a segment");
    windows = prague.take_ack(&ack(1, 1, 2, 2, 0), &AfterAck::CALM, windows);
    assert_eq!(windows.cwnd, 21);
    // A mark reduces by alpha/2 of cwnd, not of the window, and cwnd follows down to the window.
    (prague.window, prague.alpha) = (20.5, 0.2);
    prague.on_marks(Time::ZERO, windows);
    assert!((prague.window - 18.4).abs() < 1e-9);
    for expected in [20, 19, 19] {
        windows = prague.take_ack(&ack(2, 1, 2, 1, 1), &AfterAck::CALM, windows);
        assert_eq!(windows.cwnd, expected);
    }
}

#[test]
fn before_version_0_7_alpha_starts_at_1_and_the_first_mark_halves_by_it() {
    let knobs = PragueConfig { version: PragueVersion::V06, ..PragueConfig::of(Profile::Linux6) };
    let mut prague = Prague { mtu: MSS + 50, ..Prague::new(40, knobs) };
    let windows = Segments { cwnd: 40, ssthresh: 40 };
    prague.on_marks(Time::ZERO, windows);
    prague.take_ack(&ack(1, 1, 2, 1, 1), &AfterAck::CALM, windows);
    assert!((prague.window - 20.0).abs() < 1e-9, "once: {}", prague.window);
}

#[test]
fn before_version_0_7_the_pace_is_that_of_cwnd_and_version_0_6_sends_pairs() {
    for (version, paced, at_once) in
        [(PragueVersion::V05, 12, 1), (PragueVersion::V06, 12, 2), (PragueVersion::V07, 10, 1)]
    {
        let (mut prague, _) = of_version(version, 10.5);
        prague.mtu = MSS;
        prague.pace(Time::from_millis(40), MSS, 0, Segments { cwnd: 12, ssthresh: 12 });
        let grant = prague.grant(12_000);
        assert_eq!(grant.pacing_rate, Some(paced * 25_000), "{version:?}");
        assert_eq!(grant.quantum, Quantum::Bytes(at_once * u64::from(MSS)), "{version:?}");
    }
}

#[test]
fn pace_is_a_window_of_packets_a_round_trip_and_twice_that_in_slow_start() {
    let mut prague = new(10);
    assert_eq!(prague.grant(10_000).pacing_rate, None, "before the first measurement");
    assert!(!prague.limits_itself());
    prague.pace(Time::from_millis(40), MSS, 0, Segments { cwnd: 10, ssthresh: 10 });
    assert_eq!(prague.grant(10_000).pacing_rate, Some(262_500));
    prague.pace(Time::from_millis(40), MSS, 12, Segments { cwnd: 10, ssthresh: u64::MAX });
    assert_eq!(prague.grant(10_000).pacing_rate, Some(630_000), "of what is in flight, if that is more");
    // 2^-12 s of 105 MB/s are 24 packets of 1050 bytes
    prague.window = 4000.0;
    prague.pace(Time::from_millis(40), MSS, 0, Segments { cwnd: 4000, ssthresh: 4000 });
    assert_eq!(prague.grant(10_000).quantum, Quantum::Bytes(24_000));
}

proptest! {
    #[test]
    fn once_settled_an_idle_ack_changes_nothing(
        (cwnd, ssthresh) in (2_u32..30, prop_oneof![(2_u32..40).prop_map(|s| s * MSS), Just(NO_THRESHOLD)]),
        (window, round_end) in (1.0..30.0_f64, 0_u64..3),
        (saw_ce, in_loss, at_cwnd) in any::<(bool, bool, bool)>(),
    ) {
        let window = if at_cwnd { f64::from(cwnd) } else { window };
        let mut prague = Prague { window, round_end, saw_ce, in_loss, ..new(u64::from(cwnd)) };
        let mut windows = Windows { cwnd: cwnd * MSS, ssthresh };
        let mut settled = false;
        for ms in 0..100 {
            let before = format!("{prague:?} {windows:?}");
            let ack = PlainAck { now: Time::from_millis(ms), mss: MSS, acked_bytes: 0, rtt: None, snd_una: 1, snd_nxt: 1 };
            let stays = prague.on_idle_ack(&ack, Time::from_millis(40), &mut windows);
            prop_assert!(!settled || stays && before == format!("{prague:?} {windows:?}"), "{before}");
            settled = stays;
        }
        prop_assert_eq!(settled, !saw_ce && windows.cwnd < windows.ssthresh);
    }
}
