use super::*;
use crate::{NewRenoConfig, Profile, RecoveryKind, RtoConfig};

#[test]
fn every_profile_can_run() {
    for profile in Profile::ALL {
        assert_eq!(profile.config().check(), Ok(()), "{}", profile.name());
    }
}

/// RFC 6691 and RFC 7323, appendix A: the smaller MSS of both ends, less the option that both have offered.
#[test]
fn a_full_segment_has_room_for_the_timestamps_of_both() {
    for (mss, timestamps, of_peer, peer_has, bytes) in [
        (1460, true, 1460, true, 1448),
        (1460, true, 1460, false, 1460),
        (1460, false, 1460, true, 1460),
        (1460, false, 1000, false, 1000),
        (536, true, 1460, true, 524),
        (10, true, 10, true, 1),
    ] {
        let end = |mss, timestamps| TcpConfig { mss, timestamps, ..Profile::Rfc5681.config() };
        let found = end(mss, timestamps).full_segment_bytes(&end(of_peer, peer_has));
        assert_eq!(found, bytes, "{mss} {timestamps}, {of_peer} {peer_has}");
    }
}

#[test]
fn a_value_out_of_range_is_refused_with_its_knob_and_what_would_be_right() {
    type Change = fn(&mut TcpConfig);
    let changes: [(&str, Change); 18] = [
        ("mss: 0 does not fit; it must be in 1..=65535 bytes", |tcp| tcp.mss = 0),
        ("mss: 40 does not fit; with timestamps or sack it must be over 40 bytes, which options may take", |tcp| {
            tcp.mss = 40;
        }),
        ("dup_thresh: 0 does not fit; it must be in 1..=2^20", |tcp| tcp.dup_thresh = 0),
        ("initial_window: 0 does not fit; it must be in 1..=65535 segments", |tcp| {
            tcp.initial_window = InitialWindow::Segments(0);
        }),
        ("max_window: 2147483648 does not fit; it must be in 1..=2^30 bytes", |tcp| {
            tcp.max_window = MaxWindow::Bytes(1 << 31);
        }),
        ("receive_buffer_bytes: 0 does not fit; it must be in 1..=2^30", |tcp| tcp.receive_buffer_bytes = 0),
        ("ack_policy.heartbeat.grid_ns: 0ms does not fit; it must be in 1us..=24h", |tcp| {
            tcp.ack_policy = AckPolicy::Heartbeat { grid_ns: Time::ZERO };
        }),
        ("rto.tick_ns: 100ms does not fit; with rto.estimator = linux it must be 0", |tcp| {
            tcp.rto.tick_ns = Time::from_millis(100);
        }),
        ("rto.timer_hz: 300 does not fit; it must be 0, or at most 10000 and a divisor of 1000000", |tcp| {
            tcp.rto.timer_hz = 300;
        }),
        ("rto.min_ns: 200ms does not fit; it must be at most rto.max", |tcp| tcp.rto.max_ns = Time::from_millis(1)),
        ("rto.min_ns: 0ms does not fit; with rto.tick = 0 it must be at least 1us", |tcp| {
            tcp.rto.min_ns = Time::ZERO;
        }),
        ("recovery.reno.extra_segments: 1001 does not fit; it must be at most 1000", |tcp| {
            tcp.recovery = RecoveryConfig::Reno(RenoConfig { extra_segments: 1001, ..RenoConfig::STANDARD });
        }),
        ("recovery.reno.outlives_timeout: true does not fit; with recovery.reno.rules = ns2-1998 it must be false", |tcp| {
            let rules = RecoveryRules::Ns2_1998;
            let reno = RenoConfig { rules, outlives_timeout: true, ..RenoConfig::STANDARD };
            tcp.recovery = RecoveryConfig::Reno(reno);
        }),
        ("sack_blocks: 5 does not fit; it must be in 1..=4", |tcp| tcp.sack_blocks = 5),
        ("packet_stamps: false does not fit; with recovery.fack.rules = ns2-1998 it must be true, or timestamps = true", |tcp| {
            tcp.timestamps = false;
            tcp.recovery = Profile::Ns2_1998.recovery(RecoveryKind::Fack);
        }),
        ("rto.samples: each-segment does not fit; with recovery = rack it must be round-trip or one-way-delay", |tcp| {
            tcp.rto.samples = RttSamples::EachSegment;
        }),
        ("rto.start: first-segment does not fit; with recovery = rack it must be last-ack", |tcp| {
            tcp.rto.start = TimerStart::FirstSegment;
        }),
        ("handshake.linear_timeouts: 101 does not fit; it must be at most 100", |tcp| {
            tcp.handshake.as_mut().expect("a handshake").linear_timeouts = 101;
        }),
    ];
    for (why, change) in changes {
        let mut tcp = Profile::Linux6.config();
        change(&mut tcp);
        let errors = tcp.check().unwrap_err();
        assert_eq!(errors.iter().map(|error| format!("{}: {error}", error.knob())).collect::<Vec<_>>(), [why]);
    }
}

/// The knobs that are wrong after a change of Linux's configuration.
fn wrong(change: impl FnOnce(&mut TcpConfig)) -> Vec<&'static str> {
    let mut tcp = Profile::Linux6.config();
    change(&mut tcp);
    tcp.check().err().unwrap_or_default().iter().map(ConfigError::knob).collect()
}

#[test]
fn each_bound_is_the_last_value_that_fits() {
    let day = Time::from_secs(86_400);
    let ns = Time::from_nanos;
    let segments = |mss, n| wrong(|tcp| (tcp.mss, tcp.max_window) = (mss, MaxWindow::Segments(n)));
    let window = |bytes| wrong(|tcp| tcp.max_window = MaxWindow::Bytes(bytes));
    let initial = |n| wrong(|tcp| tcp.initial_window = InitialWindow::Segments(n));
    let receive = |initial_bytes, most_bytes| {
        wrong(|tcp| tcp.receive_tuning = ReceiveTuning::Linux { initial_bytes, most_bytes })
    };
    let send = |most_bytes| wrong(|tcp| tcp.send_tuning = SendTuning::Linux { most_bytes });
    let grid = |grid_ns| wrong(|tcp| tcp.ack_policy = AckPolicy::Heartbeat { grid_ns });
    let hz = |hz| wrong(|tcp| tcp.rto.timer_hz = hz);
    let rto = |min_ns, tick_ns, max_ns| {
        wrong(|tcp| {
            let estimator = Estimator::Rfc6298;
            tcp.rto = RtoConfig { estimator, tick_ns, min_ns, max_ns, ..tcp.rto };
        })
    };
    let every = |every| {
        let grid_ns = Time::from_millis(100);
        wrong(|tcp| tcp.ack_policy = AckPolicy::QuickThenHeartbeat { quick_bytes: 1, every, grid_ns })
    };
    let (ms, none) = (Time::from_millis, Vec::<&str>::new());
    for (fits, does_not, knobs) in [
        (segments(1024, 1), segments(1024, 0), vec!["max_window"]),
        (segments(1024, 1 << 20), segments(1025, 1 << 20), vec!["max_window"]),
        (window(1), window(0), vec!["max_window"]),
        (window(1 << 30), window((1 << 30) + 1), vec!["max_window"]),
        (initial(1), initial(0), vec!["initial_window"]),
        (initial(65_535), initial(65_536), vec!["initial_window"]),
        (receive(2304, 5000), receive(2303, 5000), vec!["receive_tuning.linux.initial_bytes"]),
        (receive(5000, 5000), receive(5001, 5000), vec!["receive_tuning.linux.initial_bytes"]),
        (receive(5000, 1 << 30), receive(5000, (1 << 30) + 1), vec!["receive_tuning.linux.most_bytes"]),
        (send(2304), send(2303), vec!["send_tuning.linux.most_bytes"]),
        (send(1 << 30), send((1 << 30) + 1), vec!["send_tuning.linux.most_bytes"]),
        (grid(ns(1000)), grid(ns(999)), vec!["ack_policy.heartbeat.grid_ns"]),
        (grid(day), grid(day + ns(1)), vec!["ack_policy.heartbeat.grid_ns"]),
        (every(1), every(0), vec!["ack_policy.quick-then-heartbeat.every"]),
        (hz(10_000), hz(20_000), vec!["rto.timer_hz"]),
        (hz(0), hz(999), vec!["rto.timer_hz"]),
        (rto(ms(9), ms(0), ms(9)), rto(ms(9) + ns(1), ms(0), ms(9)), vec!["rto.min_ns"]),
        (rto(ms(1), ms(9), ms(9)), rto(ms(1), ms(9) + ns(1), ms(9)), vec!["rto.tick_ns"]),
        (rto(ns(1000), ms(0), ms(9)), rto(ns(999), ms(0), ms(9)), vec!["rto.min_ns"]),
        (rto(ms(0), ns(1000), ms(9)), rto(ms(0), ns(999), ms(9)), vec!["rto.min_ns"]),
    ] {
        assert_eq!((fits, does_not), (none.clone(), knobs));
    }
}

#[test]
fn each_delay_of_an_ack_has_the_bounds_of_timers() {
    let adaptive = |first_ns, max_ns, push_ns, tick_ns| {
        wrong(|tcp| {
            let AckPolicy::Adaptive(acks) = Profile::Linux2_2.config().ack_policy else { panic!("adaptive") };
            tcp.ack_policy = AckPolicy::Adaptive(AdaptiveAcks { first_ns, max_ns, push_ns, ..acks });
            (tcp.rto.estimator, tcp.rto.tick_ns) = (Estimator::Rfc6298, tick_ns);
        })
    };
    let (us, ns, day) = (Time::from_micros(1), Time::from_nanos(999), Time::from_secs(86_400));
    assert_eq!(adaptive(Time::ZERO, us, us, us), Vec::<&str>::new());
    assert_eq!(adaptive(Time::ZERO, us, us, ns), ["rto.tick_ns"]);
    assert_eq!(adaptive(Time::ZERO, ns, us, us), ["ack_policy.adaptive.max_ns"]);
    assert_eq!(adaptive(Time::ZERO, us, ns, us), ["ack_policy.adaptive.push_ns"]);
    assert_eq!(adaptive(day, day, day, us), Vec::<&str>::new());
    assert_eq!(adaptive(day + ns, us, us, us), ["ack_policy.adaptive.first_ns"]);
    let delayed = |timeout_ns| wrong(|tcp| tcp.ack_policy = AckPolicy::Delayed { timeout_ns });
    assert_eq!((delayed(us), delayed(ns)), (vec![], vec!["ack_policy.delayed.timeout_ns"]));
    let quick =
        |timeout_ns| wrong(|tcp| tcp.ack_policy = AckPolicy::QuickThenDelayed { quick_segments: 1, timeout_ns });
    assert_eq!((quick(us), quick(ns)), (vec![], vec!["ack_policy.quick-then-delayed.timeout_ns"]));
    for estimator in [Estimator::Linux2_0, Estimator::Linux2_2] {
        let ticks = |tick| wrong(|tcp| (tcp.rto.estimator, tcp.rto.tick_ns) = (estimator, tick));
        assert_eq!((ticks(us), ticks(ns)), (vec![], vec!["rto.tick_ns"]));
    }
}

#[test]
fn options_need_room_in_a_segment_only_where_there_are_some() {
    let mss = |timestamps, sack, mss| {
        wrong(|tcp| {
            (tcp.timestamps, tcp.sack, tcp.mss) = (timestamps, sack, mss);
            tcp.max_window = MaxWindow::Bytes(1000);
        })
    };
    for (timestamps, sack) in [(true, true), (true, false), (false, true)] {
        assert_eq!((mss(timestamps, sack, 41), mss(timestamps, sack, 40)), (vec![], vec!["mss"]));
        assert_eq!(mss(timestamps, sack, 0), ["mss"]); // once
    }
    assert_eq!(mss(false, false, 40), Vec::<&str>::new());
}

/// ns-2's agents have none of the rules of Linux 2.0, and RACK none of the timers that its record does not support.
#[test]
fn rules_that_exclude_each_other_are_named_one_by_one() {
    let none = Vec::<&str>::new();
    let reno = |change: fn(&mut RenoConfig)| {
        let mut reno = RenoConfig { rules: RecoveryRules::Ns2_1998, ..RenoConfig::STANDARD };
        change(&mut reno);
        wrong(|tcp| tcp.recovery = RecoveryConfig::Reno(reno))
    };
    assert_eq!(reno(|_| {}), none);
    assert_eq!(reno(|it| it.dup_ack_window_segments = 1), ["recovery.reno.dup_ack_window_segments"]);
    assert_eq!(reno(|it| it.retransmit_guard = RetransmitGuard::Timeout), ["recovery.reno.retransmit_guard"]);
    assert_eq!(reno(|it| it.extra_segments = 1), ["recovery.reno.extra_segments"]);
    assert_eq!(reno(|it| it.ends_with = RecoveryEnd::OutstandingPlusTwo), ["recovery.reno.ends_with"]);
    let standard = RenoConfig { extra_segments: 1, outlives_timeout: true, ..RenoConfig::STANDARD };
    assert_eq!(wrong(|tcp| tcp.recovery = RecoveryConfig::Reno(standard)), none);
    let fack = |packet_stamps, timestamps| {
        let recovery = Profile::Ns2_1998.recovery(RecoveryKind::Fack);
        wrong(|tcp| (tcp.recovery, tcp.packet_stamps, tcp.timestamps) = (recovery, packet_stamps, timestamps))
    };
    assert_eq!((fack(true, false), fack(false, true)), (vec![], vec![]));
    assert_eq!(fack(false, false), ["packet_stamps"]);
    assert_eq!(wrong(|tcp| tcp.drains_after_timeout = true), ["drains_after_timeout"]);
    let RecoveryConfig::NewReno(new_reno) = Profile::Ns2_1998.recovery(RecoveryKind::NewReno) else {
        panic!("NewReno");
    };
    let extra = |extra_segments| {
        let new_reno = NewRenoConfig { rules: RecoveryRules::Ns2_1998, extra_segments, ..new_reno };
        wrong(|tcp| tcp.recovery = RecoveryConfig::NewReno(new_reno))
    };
    assert_eq!((extra(0), extra(1)), (vec![], vec!["recovery.new-reno.extra_segments"]));
}

#[test]
fn times_are_shown_in_milliseconds_where_they_are_whole() {
    let shown =
        [Time::MAX, Time::ZERO, Time::from_secs(1), Time::from_micros(1500)].map(|time| Shown(time).to_string());
    assert_eq!(shown, ["never", "0ms", "1000ms", "1500000ns"]);
}

#[test]
fn every_error_is_reported_at_once() {
    let mut tcp = Profile::Linux6.config();
    (tcp.mss, tcp.dup_thresh, tcp.rto.timer_hz) = (0, 0, 7);
    let knobs: Vec<_> = tcp.check().unwrap_err().iter().map(ConfigError::knob).collect();
    assert_eq!(knobs, ["mss", "dup_thresh", "rto.timer_hz"]);
}
