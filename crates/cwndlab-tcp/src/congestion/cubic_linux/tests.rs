use super::*;
use crate::{AckReport, Profile};

fn law() -> CubicLinux {
    CubicLinux::new(&Profile::Linux6.config())
}

/// Acknowledges a window segment by segment in each of `rounds` rounds, which are 100 ms apart. Returns the window
/// after each round.
fn rounds(law: &mut CubicLinux, mut cwnd: u32, start: Time, rounds: u64) -> Vec<u32> {
    law.min_rtt_us = 100_000;
    let mut windows = Vec::new();
    for round in 0..rounds {
        for i in 0..u64::from(cwnd) {
            cwnd += law.grow_segments(start + Time::from_millis(100 * round) + Time::from_micros(i * 100), cwnd, 1);
        }
        windows.push(cwnd);
    }
    windows
}

#[test]
fn without_a_maximum_it_grows_by_a_segment_per_20_acknowledged() {
    let mut law = law();
    let opened: Vec<u64> = (0..60).filter(|&i| law.grow_segments(Time::from_micros(i), 7, 1) > 0).collect();
    assert_eq!(opened, [19, 39, 59]);
}

#[test]
fn the_curve_comes_back_to_the_maximum_after_k() {
    let mut law = law();
    // ssthresh is 717/1024 of 100; K = cbrt((100 - 70)/(410/1024)) = 4.2159 s
    assert_eq!(law.on_congestion(&Profile::Linux6.config(), 100), 70);
    let windows = rounds(&mut law, 70, Time::from_secs(10), 60);
    assert_eq!(law.k, 4316, "2^-10 s: 4.2159 s");
    // equation 1, 100 - 0.4 (K - t)^3, evaluated a round trip ahead, at 1, 2 and 4.2 s of the stage
    for (round, curve) in [(10, 88.0), (20, 95.9), (42, 100.0)] {
        let cwnd = f64::from(windows[round]);
        assert!((cwnd - curve).abs() <= 2.0, "{cwnd} in round {round}, {curve} by the curve");
    }
    assert!(windows[59] > 101, "and goes beyond it");
}

#[test]
fn a_smaller_window_makes_room_and_a_timeout_forgets() {
    let cfg = Profile::Linux6.config();
    let mut law = law();
    law.on_congestion(&cfg, 100);
    assert_eq!(law.w_max, 100);
    assert_eq!(law.on_congestion(&cfg, 80), 56);
    assert_eq!(law.w_max, 68, "80 * 1741/2048");
    assert_eq!(law.on_congestion(&cfg, 2), 2);
    law.on_timeout(&cfg);
    assert_eq!(law, CubicLinux::new(&cfg));
}

#[test]
fn segments_acknowledged_before_congestion_do_not_open_the_window_after_it() {
    let (cfg, mut law) = (Profile::Linux6.config(), law());
    assert_eq!((0..19).map(|i| law.grow_segments(Time::from_micros(i), 7, 1)).sum::<u32>(), 0);
    assert_eq!(law.credit, 19);
    law.on_congestion(&cfg, 7);
    assert_eq!(law.credit, 0);
}

#[test]
fn an_idle_time_moves_the_curve() {
    let cfg = Profile::Linux6.config();
    let (mut steady, mut idle) = (law(), law());
    for law in [&mut steady, &mut idle] {
        law.on_congestion(&cfg, 100);
        rounds(law, 70, Time::from_secs(10), 5);
    }
    let at = Time::from_secs(10) + Time::from_millis(500);
    idle.on_pause(Pause::Resume { now: at + Time::from_secs(3), idle: Time::from_secs(3) });
    let after = rounds(&mut idle, 80, at + Time::from_secs(3), 5);
    assert_eq!(after, rounds(&mut steady, 80, at, 5), "as if there had been no pause");
}

#[test]
fn round_trips_of_the_first_second_of_a_stage_are_not_looked_at() {
    let mut law = law();
    law.epoch_start = Time::from_secs(5);
    let ack = |at_ms| PlainAck::of(&AckReport { now: Time::from_millis(at_ms), mss: 1000, ..AckReport::default() });
    law.on_rtt(&ack(5_999), Time::from_millis(40), 20_000, false);
    assert_eq!(law.min_rtt_us, 0);
    law.on_rtt(&ack(6_000), Time::from_millis(50), 20_000, false);
    assert_eq!(law.min_rtt_us, 50_000);
}

#[test]
fn the_plateau_is_where_the_kernels_cube_root_puts_it() {
    // Values of `cubic_root` of 6.12.117, in 2^-10 s. The exact root of the first is 1389.
    for (below, kernel) in
        [(1, 1388), (2, 1750), (3, 2003), (7, 2657), (10, 2991), (30, 4316), (100, 6451), (20_000, 37_728)]
    {
        let mut law = CubicLinux::new(&TcpConfig { linux_details: true, ..Profile::Linux6.config() });
        law.w_max = 100 + below;
        law.begin(Time::ZERO, 100, 1);
        assert_eq!(law.k, kernel, "{below} segments below the plateau");
    }
}

#[test]
fn the_curve_is_evaluated_once_a_tick_of_the_kernels_clock() {
    let evaluated_again = |phase_us| {
        let mut cfg = Profile::Linux6.config();
        cfg.rto.tick_phase_ns = Time::from_micros(phase_us);
        let mut law = CubicLinux::new(&cfg);
        law.look(Time::from_micros(2_999), 100, 1);
        law.look(Time::from_micros(3_001), 101, 1);
        law.looked_cwnd == 101
    };
    assert!(evaluated_again(0), "a tick has passed at 3 ms");
    assert!(!evaluated_again(5), "it had passed at 2.995 ms");
}

/// `cubictcp_acked`: round trips of recovery count for the minimum with which HyStart compares when cwnd is below ssthresh
/// again.
#[test]
fn hystart_compares_with_round_trips_measured_outside_of_slow_start() {
    let ends = |in_recovery: u64| {
        let mut law = law();
        let mut ack = |at: u64, rtt: u64, slow_start: bool| {
            let (now, rtt) = (Time::from_millis(at), Time::from_millis(rtt));
            let ack = PlainAck { now, mss: 1000, acked_bytes: 1000, rtt: Some(rtt), snd_una: 2, snd_nxt: 9000 };
            law.on_rtt(&ack, rtt, 20_000, slow_start)
        };
        // Eight samples of the round, more than 2 ms apart, are no train.
        (1..=8).for_each(|k| assert!(!ack(10 * k, 40, true)));
        assert!(!ack(100, in_recovery, false));
        ack(200, 40, true)
    };
    assert_eq!((ends(40), ends(35)), (false, true));
}
