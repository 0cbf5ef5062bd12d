use super::*;
use crate::ack_policy::Arriving;
use crate::segment::Header;
use crate::Profile;

const MS: fn(u64) -> Time = Time::from_millis;
const NS: Time = Time::from_nanos(1);
/// When everything here happens.
const NOW: Time = Time::from_secs(5);

/// Ticks of a nanosecond, and a least timeout of 300 ms, which leaves the longest delay at 200 ms.
fn config() -> TcpConfig {
    let mut cfg = Profile::Linux6.config();
    (cfg.rto.min_ns, cfg.withheld_ack_slack_ns) = (MS(300), Time::ZERO);
    cfg
}

fn measured(cfg: &TcpConfig, rtt: Option<Time>) -> RttEstimator {
    let mut estimator = RttEstimator::new(&cfg.rto);
    if let Some(rtt) = rtt {
        estimator.on_sample(&cfg.rto, NOW, rtt, (1, 1));
    }
    estimator
}

/// The state of an end that has received full segments of 1000 bytes up to `NOW`, and has acknowledged them.
fn received(cfg: &TcpConfig, delay: Time) -> Linux {
    let mut linux = Linux::default();
    linux.on_established(cfg, NOW, 1000, 64_000);
    linux.size.measure(&Header { len: 1000, ..Header::default() }, 1000);
    linux.delay = ticks(&cfg.rto, delay) as u32;
    linux
}

/// `tcp_send_delayed_ack`: beyond 40 ms at most the round trip, and never more than 200 ms or the least timeout less a tick.
#[test]
fn the_ack_is_delayed_for_a_round_trip_of_40_to_200_ms() {
    let due = |cfg: &TcpConfig, delay: u64, srtt: Option<u64>| {
        let estimator = measured(cfg, srtt.map(MS));
        let mut linux = received(cfg, MS(delay));
        let due = linux.clone().delayed(cfg, NOW, &estimator);
        assert_eq!(linux.delayed_next(cfg, NOW, &estimator), due, "{delay} {srtt:?}");
        let Due::By(at) = due else { panic!("{due:?}") };
        assert_eq!((linux.expires, linux.due), (at, Some(clock(&cfg.rto, at))));
        at.saturating_sub(NOW)
    };
    let cfg = config();
    for (delay, srtt, waits) in [
        (30, Some(10), 30),
        (40, Some(10), 40),
        (41, Some(10), 40),
        (100, Some(60), 60),
        (100, Some(100), 100),
        (100, Some(120), 100),
        (100, None, 100),
        (200, None, 200),
        (201, None, 200),
        (250, Some(220), 200),
    ] {
        assert_eq!(due(&cfg, delay, srtt), MS(waits), "{delay} {srtt:?}");
    }
    let mut quick = config();
    quick.rto.min_ns = MS(50);
    assert_eq!([due(&quick, 49, None), due(&quick, 50, None)], [MS(49), MS(50).saturating_sub(NS)]);
    quick.rto.min_ns = MS(30);
    assert_eq!(due(&quick, 40, Some(10)), MS(30).saturating_sub(NS));
}

#[test]
fn an_ack_that_is_pending_goes_now_if_it_is_due_within_a_quarter_of_the_delay() {
    let cfg = config();
    let due = |earlier: Time| {
        let mut linux = received(&cfg, MS(40));
        linux.due = Some(clock(&cfg.rto, NOW + earlier));
        let due = linux.delayed(&cfg, NOW, &measured(&cfg, None));
        let mut next = received(&cfg, MS(40));
        next.due = Some(clock(&cfg.rto, NOW + earlier));
        assert_eq!(next.delayed_next(&cfg, NOW, &measured(&cfg, None)), due);
        due
    };
    assert_eq!(due(MS(10)), Due::Now);
    assert_eq!(due(MS(10) + NS), Due::By(NOW + MS(10) + NS));
    assert_eq!(due(MS(39)), Due::By(NOW + MS(39)));
    assert_eq!(due(MS(41)), Due::By(NOW + MS(40)));
}

/// With HZ = 250, 40 ms are 10 ticks, 200 ms are 50, and the least timeout of 200 ms leaves 49.
#[test]
fn delays_are_whole_ticks_of_the_kernels_clock() {
    let mut cfg = config();
    (cfg.rto.timer_hz, cfg.rto.min_ns) = (250, MS(200));
    let waits = |delay: u64, srtt: Option<u64>| {
        let mut linux = received(&cfg, MS(delay));
        let due = linux.delayed_next(&cfg, NOW, &measured(&cfg, srtt.map(MS)));
        let Due::By(at) = due else { panic!("{due:?}") };
        let ticks = linux.due.expect("is set") - clock(&cfg.rto, NOW);
        // A timer that is set at a tick counts from the next one, and goes off within a microsecond of its tick.
        assert_eq!((at - NOW).as_nanos() / 1000, 4000 * (ticks + 1));
        ticks
    };
    assert_eq!(waits(40, None), 10);
    assert_eq!(waits(100, None), 25);
    assert_eq!(waits(100, Some(57)), 15, "57 ms are rounded up");
    assert_eq!(waits(200, None), 49);
    assert_eq!(waits(300, None), 49);
}

/// `tcp_event_data_recv`.
#[test]
fn the_delay_follows_the_time_between_segments() {
    let cfg = config();
    let estimator = measured(&cfg, Some(MS(100)));
    let rto = estimator.rto(&cfg.rto);
    assert!(rto > MS(200));
    let after = |delay: Time, gap: Time| {
        let mut linux = received(&cfg, delay);
        linux.note_time(&cfg, NOW + gap, &estimator, 64_000);
        assert_eq!(linux.last_data, clock(&cfg.rto, NOW + gap));
        (Time::from_nanos(u64::from(linux.delay)), linux.quick)
    };
    assert_eq!(after(Time::ZERO, MS(7)), (MS(40), 16), "the first data");
    assert_eq!(after(MS(100), Time::ZERO), (MS(70), 0));
    assert_eq!(after(MS(100), MS(5)), (MS(70), 0));
    assert_eq!(after(MS(100), MS(20)), (MS(70), 0));
    assert_eq!(after(MS(100), MS(20) + NS), (MS(70) + NS, 0));
    assert_eq!(after(MS(100), MS(99)), (MS(149), 0));
    assert_eq!(after(MS(100), MS(100)), (MS(100), 0), "a pause of the delay leaves it as it is");
    assert_eq!(after(MS(180), MS(179)), (MS(200), 0), "at most 200 ms");
    assert_eq!(after(MS(100), rto), (MS(100), 0));
    assert_eq!(after(MS(100), rto + NS), (MS(100), 16), "after a longer pause the peer starts slowly");
    let mut short = config();
    (short.rto.min_ns, short.rto.variance_floor_ns) = (MS(10), MS(10));
    let estimator = measured(&short, Some(MS(40)));
    let rto = estimator.rto(&short.rto);
    assert!(rto < MS(150));
    let mut linux = received(&short, MS(140));
    linux.note_time(&short, NOW + MS(110), &estimator, 64_000);
    assert_eq!(Time::from_nanos(u64::from(linux.delay)), rto, "at most the timeout");
}

/// `tcp_incr_quickack`: half a window of full segments, at least 2 and at most 16 or what was asked for.
#[test]
fn as_many_acks_are_quick_as_half_the_window_has_segments() {
    let cfg = config();
    let quick = |window: u32, most: u8, before: u8| {
        let mut linux = received(&cfg, MS(40));
        linux.quick = before;
        linux.add_quick(most, window);
        linux.quick
    };
    assert_eq!([quick(1999, 16, 0), quick(2000, 16, 0), quick(5999, 16, 0), quick(6000, 16, 0)], [2, 1, 2, 3]);
    assert_eq!([quick(31_999, 16, 0), quick(64_000, 16, 0), quick(64_000, 2, 0), quick(6000, 16, 5)], [15, 16, 2, 5]);
}

/// `__tcp_ecn_check_ce`: two quick ACKs after a mark, and after a segment without ECT on a path with ECN.
#[test]
fn marks_and_segments_without_ect_make_two_acks_quick() {
    let cfg = config();
    let state = |linux: &Linux| (linux.quick, linux.delay, linux.interactive);
    let mut linux = Linux { interactive: true, ..received(&cfg, MS(100)) };
    linux.note_codepoint(&cfg, 0, 64_000);
    assert_eq!(state(&linux), (0, 100_000_000, true), "no ECT was seen");
    linux.note_codepoint(&cfg, 2, 64_000);
    assert_eq!(state(&linux), (0, 100_000_000, true));
    linux.note_codepoint(&cfg, 0, 64_000);
    assert_eq!(state(&linux), (2, 40_000_000, false));
    for (delay, begins, quick) in [(100, false, 2), (100, true, 2), (0, false, 2), (0, true, 16)] {
        let mut linux = Linux { interactive: true, ..received(&cfg, MS(delay)) };
        linux.on_mark(&cfg, 64_000, begins);
        assert_eq!(state(&linux), (quick, 40_000_000, false), "{delay} {begins}");
    }
}

/// `__tcp_ack_snd_check`: more than a segment waits and the window holds, or an ACK is quick, or one is asked for.
#[test]
fn an_ack_is_due_with_more_than_a_segment_unless_it_would_narrow_the_window() {
    let cfg = config();
    let due = |nxt: u64, quick: u8, interactive: bool, effect: Effect| {
        let mut linux = Linux { quick, interactive, ..received(&cfg, MS(40)) };
        (linux.is_due(nxt, &effect), linux.quick)
    };
    let (no, holds) = (Effect::default(), Effect { window_holds: true, ..Effect::default() });
    let tight = Effect { window_tight: true, ..holds };
    assert_eq!(due(1001, 0, false, holds), (false, 0), "one segment");
    assert_eq!(due(1002, 0, false, holds), (true, 0));
    assert_eq!(due(1002, 0, false, no), (false, 0));
    assert_eq!(due(1001, 1, false, no), (true, 1));
    assert_eq!(due(1001, 1, true, no), (false, 1));
    assert_eq!(due(1001, 0, true, Effect { asks: true, ..no }), (true, 0));
    assert_eq!(due(1001, 1, false, tight), (true, 1), "the window is determined with the second segment");
    assert_eq!(due(1002, 1, false, Effect { window_holds: false, ..tight }), (false, 0));
}

/// `__tcp_cleanup_rbuf`: `ICSK_ACK_PUSHED2`, or `ICSK_ACK_PUSHED` of an end that does not answer.
#[test]
fn a_read_triggers_the_ack_of_pushed_data_once_nothing_is_left_to_read() {
    let cfg = config();
    let due = |pushed: u8, interactive: bool, nxt: u64, empty: bool| {
        let linux = Linux { scheduled: true, pushed, interactive, ..received(&cfg, MS(40)) };
        assert!(!Linux { scheduled: false, ..linux.clone() }.read_is_due(nxt, empty));
        linux.read_is_due(nxt, empty)
    };
    assert!(!due(0, false, 1001, true) && due(0, false, 1002, false), "more than a segment");
    assert!(due(1, false, 1001, true) && !due(1, true, 1001, true) && !due(1, false, 1001, false));
    assert!(due(2, true, 1001, true) && !due(2, true, 1001, false));
}

/// `tcp_event_ack_sent` and `tcp_event_data_sent`.
#[test]
fn an_answer_within_the_delay_makes_the_end_interactive() {
    let cfg = config();
    let answers = |delay: u64, after: Time, with_data: bool| {
        let mut linux = received(&cfg, MS(delay));
        assert_eq!(linux.on_sent(&cfg, NOW + after, 1001, with_data), NOW + after);
        linux.interactive
    };
    assert!(answers(40, Time::ZERO, true) && answers(40, MS(39), true));
    assert!(!answers(40, MS(40), true) && !answers(40, MS(1), false) && !answers(0, Time::ZERO, true));
}

#[test]
fn an_ack_uses_up_a_quick_one_if_data_waits_and_the_last_resets_the_delay() {
    let cfg = config();
    let sent = |quick: u8, scheduled: bool| {
        let state = Linux {
            quick,
            scheduled,
            pushed: 2,
            due: Some(7),
            compressed: 3,
            acks_before: true,
            ..received(&cfg, MS(90))
        };
        let mut linux = state;
        linux.on_sent(&cfg, NOW, 5001, false);
        assert_eq!((linux.scheduled, linux.pushed, linux.due, linux.compressed), (false, 0, None, 0));
        assert_eq!((linux.acks_before, linux.acknowledged), (false, 5001));
        (linux.quick, linux.delay / 1_000_000)
    };
    assert_eq!([sent(3, true), sent(3, false), sent(1, true), sent(1, false)], [(2, 90), (3, 90), (0, 40), (1, 90)]);
    assert_eq!(sent(0, true), (0, 90));
}

/// `tcp_delack_timer_handler`.
#[test]
fn an_expiry_doubles_the_delay_or_ends_the_wait_for_an_answer() {
    let cfg = config();
    let estimator = measured(&cfg, Some(MS(100)));
    let expired = |delay: u64, due: Option<u64>, interactive: bool, compressed: u8| {
        let mut linux = Linux { due, interactive, compressed, expires: NOW, ..received(&cfg, MS(delay)) };
        linux.on_timer(&cfg, NOW, &estimator);
        (linux.delay / 1_000_000, linux.interactive)
    };
    assert_eq!(expired(70, Some(1), false, 0), (140, false));
    assert_eq!(expired(110, Some(1), false, 0), (200, false));
    assert_eq!(expired(70, Some(1), true, 0), (40, false));
    assert_eq!(expired(70, None, true, 0), (70, true));
    assert_eq!(expired(70, Some(1), false, 1), (70, false), "the ACKs withheld are sent");
    let mut short = config();
    (short.rto.min_ns, short.rto.variance_floor_ns) = (MS(10), MS(10));
    let estimator = measured(&short, Some(MS(40)));
    let mut linux = Linux { due: Some(1), ..received(&short, MS(90)) };
    linux.on_timer(&short, NOW, &estimator);
    assert_eq!(Time::from_nanos(u64::from(linux.delay)), estimator.rto(&short.rto), "at most the timeout");
}

/// The timer of withheld ACKs does not read the clock (`tcp_compressed_ack_kick`).
#[test]
fn what_the_timer_of_withheld_acks_sends_has_the_time_of_the_last_segment() {
    let cfg = config();
    let stamp = |compressed: u8, expires: Time| {
        let mut linux = Linux { compressed, expires, withheld_at: MS(4000), ..received(&cfg, MS(40)) };
        linux.on_timer(&cfg, NOW, &measured(&cfg, None));
        let first = linux.on_sent(&cfg, NOW, 1001, false);
        assert_eq!(linux.on_sent(&cfg, NOW, 1001, false), NOW, "only the first");
        first
    };
    assert_eq!(stamp(1, NOW + NS), MS(4000));
    assert_eq!(stamp(1, NOW), NOW, "this was the timer of a delayed ACK");
    assert_eq!(stamp(0, NOW + NS), NOW);
}

/// `tcp_comp_sack_nr` and `tcp_comp_sack_delay_ns`: three duplicates at once, then one ACK for each 1 ms or 20th of a round trip.
#[test]
fn acks_of_segments_beyond_a_hole_are_withheld_after_the_third() {
    let cfg = TcpConfig { withheld_ack_slack_ns: Time::from_micros(100), ..config() };
    let seg = Header { len: 1000, ..Header::default() };
    let new = Arriving { start: 5001, end: 6001, seg: &seg, sack: true, timestamps: false, mss: 1000 };
    let ask = |linux: &mut Linux, srtt: Option<Time>, round_trip: Time, nxt: u64, new: &Arriving<'_>| {
        let effect = Effect { round_trip, ..Effect::default() };
        let (beyond, rtt) = (None, measured(&cfg, srtt));
        let data = Data { now: NOW, mss: 1000, arrival: Arrival::Beyond, new, nxt, beyond, effect, rtt: &rtt };
        linux.compressed(&cfg, &data)
    };
    let fresh = || received(&cfg, MS(40));
    let fourth = |srtt: Option<Time>, round_trip: Time| {
        let mut linux = fresh();
        for _ in 0..3 {
            assert_eq!(ask(&mut linux, srtt, round_trip, 1001, &new), Due::Now);
        }
        let due = ask(&mut linux, srtt, round_trip, 1001, &new);
        assert_eq!((linux.compressed, linux.withheld_at), (1, NOW));
        (linux, due)
    };
    let slack = Time::from_micros(100);
    let by = |wait: Time| Due::By(NOW + wait + slack);
    assert_eq!(fourth(None, MS(10)).1, by(Time::from_micros(500)));
    assert_eq!(fourth(None, MS(20)).1, by(MS(1)));
    assert_eq!(fourth(None, MS(21)).1, by(MS(1)));
    assert_eq!(fourth(Some(MS(4)), MS(10)).1, by(Time::from_micros(200)), "the shorter of both round trips");
    assert_eq!(fourth(Some(MS(10)), MS(4)).1, by(Time::from_micros(200)));
    let (mut linux, _) = fourth(None, MS(10));
    for withheld in 2..=44 {
        assert_eq!(ask(&mut linux, None, MS(10), 1001, &new), Due::Running);
        assert_eq!(linux.compressed, withheld);
    }
    assert_eq!(ask(&mut linux, None, MS(10), 1001, &new), Due::Now, "at most 44");
    let (mut linux, _) = fourth(None, MS(10));
    linux.compressed = 0;
    assert_eq!(ask(&mut linux, None, MS(10), 2001, &new), Due::Now, "another hole");
    assert_eq!(ask(&mut fourth(None, MS(10)).0, None, MS(10), 1001, &Arriving { sack: false, ..new }), Due::Now);
    for (expires, due) in
        [(NOW, by(Time::from_micros(500))), (NOW + NS, Due::By(NOW + NS)), (NOW + MS(9), by(Time::from_micros(500)))]
    {
        let mut linux = Linux { expires, hole: 1001, duplicates: 3, ..fresh() };
        assert_eq!(ask(&mut linux, None, MS(10), 1001, &new), due, "a timer that runs sends it");
    }
}

/// A FIN of the peer while this end has not closed: the ACK waits for the answer, unless more than a segment waits.
#[test]
fn the_ack_of_a_fin_waits_unless_more_than_a_segment_does() {
    let cfg = config();
    let due = |nxt: u64, holds: bool| {
        let mut linux = received(&cfg, MS(40));
        let due = linux.fin_due(&cfg, NOW, &measured(&cfg, None), (nxt, holds));
        assert!(linux.is_scheduled());
        due
    };
    assert_eq!([due(1001, true), due(1002, false)], [Due::By(NOW + MS(40)); 2]);
    assert_eq!(due(1002, true), Due::Now);
}

/// `tcp_fin`.
#[test]
fn after_the_peers_fin_acks_wait_for_data_of_this_end() {
    let mut linux = Linux { quick: 1, ..received(&config(), MS(40)) };
    assert!(linux.is_due(1001, &Effect::default()));
    linux.on_fin();
    assert!(!linux.is_due(1001, &Effect::default()));
}

/// `tcp_measure_rcv_mss`: `ICSK_ACK_PUSHED`, then `ICSK_ACK_PUSHED2`.
#[test]
fn short_segments_count_as_pushed_up_to_two_and_full_ones_with_psh_once() {
    let cfg = config();
    let pushed = |segments: &[(u32, Flags)]| {
        let mut linux = received(&cfg, MS(40));
        for &(len, flags) in segments {
            let seg = Header { len, flags, ..Header::default() };
            let new = Arriving { start: 1001, end: 2001, seg: &seg, sack: true, timestamps: false, mss: 1000 };
            let (effect, rtt) = (Effect::default(), measured(&cfg, None));
            let arrival = Arrival::InOrder(len);
            linux.measure(&Data {
                now: NOW,
                mss: 1000,
                arrival,
                new: &new,
                nxt: 2001,
                beyond: None,
                effect,
                rtt: &rtt,
            });
        }
        linux.pushed
    };
    let short = (10, Flags::ACK | Flags::PSH);
    assert_eq!(
        [pushed(&[(1000, Flags::ACK)]), pushed(&[(1000, Flags::PSH)]), pushed(&[(1000, Flags::PSH); 2])],
        [0, 1, 1]
    );
    assert_eq!([pushed(&[short]), pushed(&[short; 2]), pushed(&[short; 3])], [1, 2, 2]);
    assert_eq!(pushed(&[short, short, (1000, Flags::PSH)]), 2);
}
