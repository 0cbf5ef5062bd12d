//! Tests each rule of Linux's receiver; `linux/tests/golden` covers long transfers.

use super::*;

/// Linux's acknowledgments with segments of 1000 bytes, no handshake, and a buffer of full size from the beginning.
fn linux() -> TcpConfig {
    TcpConfig {
        ack_policy: AckPolicy::Linux,
        linux_details: true,
        withheld_ack_slack_ns: Time::from_micros(100),
        rto: RtoConfig { min_ns: Time::from_millis(200), timer_hz: 1000, ..config(4).rto },
        ..config(4)
    }
}

/// Returns a script in which one segment of 1000 bytes arrives per millisecond, and each is acknowledged at once.
fn quick(segments: u64) -> String {
    let one = |k| format!("0.{k:03} < data {}-{}\n0.{k:03} > ack {}\n", k * 1000, (k + 1) * 1000, (k + 1) * 1000);
    (0..segments).map(one).collect::<Vec<_>>().concat()
}

/// `tcp_incr_quickack`, `TCP_MAX_QUICKACKS`; then `__tcp_ack_snd_check` and `tcp_send_delayed_ack`.
#[test]
fn sixteen_segments_are_acknowledged_one_by_one_then_every_second_or_after_40_ms() {
    let script = quick(16)
        + "0.100 < data 16000-17000
           0.101 < data 17000-18000
           0.101 > ack 18000
           0.200 < data 18000-19000
           0.241 > ack 19000        # 40 ticks and the next slot of the wheel";
    server(&linux(), &script);
}

/// `tcp_event_data_recv`: a pause that is longer than the timeout, here 1000 ticks, starts quick ACKs again.
#[test]
fn a_pause_longer_than_the_timeout_makes_acknowledgments_quick_again() {
    server(&linux(), &(quick(16) + "1.015 < data 16000-17000\n1.056 > ack 17000"));
    server(&linux(), &(quick(16) + "1.016 < data 16000-17000\n1.016 > ack 17000"));
}

/// `tcp_event_data_recv`: data that arrives slowly, but within the delay, lengthens the delay; data that arrives
/// quickly shortens it.
#[test]
fn the_delay_follows_the_gaps_between_segments() {
    let script = quick(16)
        + "0.100 < data 16000-17000
           0.141 > ack 17000        # missed: the delay doubles to 80 ticks
           0.190 < data 17000-18000 # 90 ticks after the last: neither
           0.272 > ack 18000        # 80 ticks, on a slot of 8; it doubles to 160
           0.300 < data 18000-19000 # 110 ticks after the last: 80 + 110 = 190
           0.496 > ack 19000";
    server(&linux(), &script);
}

/// `tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`: the read of a pushed segment is acknowledged.
#[test]
fn a_read_of_pushed_data_draws_an_ack_at_once() {
    let script = quick(16)
        + "0.100 < push data 16000-17000
           0.100 > ack 17000
           0.200 < data 17000-17100 # small, so pushed or not
           0.200 > ack 17100";
    server(&linux(), &script);
    // no ACK while the application leaves the data unread
    let script = quick(16)
        + "0.100 manual
           0.100 < push data 16000-17000
           0.110 read 1000
           0.110 > ack 17000";
    server(&linux(), &script);
}

/// `tcp_event_data_sent`: an end that answers within the delay is interactive, and its answers carry its ACKs. If an
/// answer does not come in time, the end is no longer interactive (`tcp_delack_timer_handler`).
#[test]
fn an_ack_waits_for_the_answer_where_there_was_one_before() {
    server(
        &linux(),
        "0.000 < data 0-100
         0.000 > ack 100
         0.010 write 50
         0.010 > data 0-50
         0.050 < ack 50
         0.100 < data 100-200
         0.110 write 50
         0.110 > data 50-100         # and the ACK
         0.150 < ack 100
         0.200 < data 200-300
         0.241 > ack 300
         0.300 < data 300-400
         0.300 > ack 400",
    );
}

/// `tcp_enter_quickack_mode`, which Linux calls after a duplicate or a CE mark.
#[test]
fn a_duplicate_makes_acknowledgments_quick_again() {
    let script = quick(16)
        + "0.100 < data 0-1000
           0.100 > ack 16000
           0.101 < data 16000-17000
           0.101 > ack 17000
           0.102 < data 17000-18000
           0.102 > ack 18000";
    server(&linux(), &script);
}

/// Three segments of 1000 bytes that arrive at one time beyond a hole of 1000 bytes, each acknowledged at once.
fn three_beyond(at: &str, hole: u64) -> String {
    let start = hole + 1000;
    let one = |end| format!("{at} < data {}-{end}\n{at} > ack {hole} sack {start}-{end}\n", end - 1000);
    (1..=3).map(|k| one(start + 1000 * k)).collect::<Vec<_>>().concat()
}

/// `__tcp_ack_snd_check` with `tcp_comp_sack_delay_ns` and `tcp_comp_sack_slack_ns`.
#[test]
fn out_of_order_three_acks_go_at_once_then_one_each_millisecond() {
    let cfg = TcpConfig { sack: true, ..linux() };
    let script = quick(16)
        + &three_beyond("0.100", 16_000)
        + "0.100 < data 20000-21000
           0.1005 < data 21000-22000
           0.1011 > ack 16000 sack 17000-22000
           0.102 < data 22000-23000
           0.1025 < data 16000-17000
           0.1025 > ack 23000           # nothing missing any more: at once (RFC 5681, 4.2)";
    server(&cfg, &script);
}

/// `tcp_delack_timer_handler`: the timer of a delayed ACK still runs after the ACK was sent, and sends an ACK that is
/// withheld when it expires.
#[test]
fn a_withheld_ack_goes_when_the_timer_of_an_earlier_one_expires() {
    let cfg = TcpConfig { sack: true, ..linux() };
    let script = quick(16)
        + "0.100 < data 16000-17000     # its ACK would be due at 0.141
           0.101 < data 17000-18000
           0.101 > ack 18000\n"
        + &three_beyond("0.139", 18_000)
        + "0.1405 < data 22000-23000    # due at 0.1416
           0.141 > ack 18000 sack 19000-23000
           0.142 < data 23000-24000
           0.1431 > ack 18000 sack 19000-24000";
    server(&cfg, &script);
    let without = TcpConfig { rto: RtoConfig { timer_hz: 0, ..cfg.rto }, ..cfg };
    let script = script.replace("0.141 > ack", "0.1416 > ack");
    server(&without, &script);
}

/// `tcp_data_queue`: a duplicate that a withheld ACK was to report is forgotten when more data arrives.
#[test]
fn a_withheld_ack_reports_a_duplicate_only_if_nothing_arrives_after_it() {
    let cfg = TcpConfig { sack: true, dsack: true, ..linux() };
    let repeated = three_beyond("0.100", 0) + "0.1002 < data 2000-3000\n";
    server(&cfg, &format!("{repeated}0.1013 > ack 0 sack 2000-3000 1000-4000"));
    server(&cfg, &format!("{repeated}0.1005 < data 4000-5000\n0.1013 > ack 0 sack 1000-5000"));
}

/// The ACK of a FIN beyond a hole is withheld as that of the data it comes with.
#[test]
fn a_fin_beyond_a_hole_draws_no_ack_of_its_own() {
    let cfg = TcpConfig { sack: true, ..linux() };
    let script = quick(16)
        + &three_beyond("0.100", 16_000)
        + "0.100 < fin data 20000-21000
           0.1011 > ack 16000 sack 17000-21001";
    server(&cfg, &script);
}

/// `tcp_fin` ends quick ACKs, so an application that closes at once sends its FIN with the ACK. It is due at once if
/// more than a segment is unacknowledged.
#[test]
fn the_ack_of_a_fin_waits_for_this_ends_fin() {
    let ends = |script: &str| server(&linux(), &(quick(4) + script));
    ends(
        "0.100 < fin data 4000-4500
         0.141 > ack 4501",
    );
    ends(
        "0.100 < fin data 4000-4500
         0.100 close
         0.100 > fin ack 4501",
    );
    ends(
        "0.100 < data 4000-5000
         0.100 > ack 5000
         0.101 < fin
         0.142 > ack 5001",
    );
}

/// `tcp_init_buffer_space`, `tcp_grow_window`, `tcp_measure_rcv_mss`: the windows are those that Linux 6.12 advertised
/// in `linux/tests/golden`.
#[test]
fn the_window_opens_with_the_segments_that_arrive() {
    let cfg = Profile::Linux6.config();
    let now = Time::from_millis(30);
    let mut end = Connection::client(&cfg, ISS, Time::ZERO);
    let sent = |end: &mut Connection| end.poll_transmit(&cfg, now).expect("a segment").window;
    assert_eq!(sent(&mut end), 64_240);
    let syn_ack = Segment::from(Header {
        flags: Flags::SYN | Flags::ACK,
        seq: 77,
        ack: ISS.wrapping_add(1),
        window: 65_160,
        mss: 1460,
        window_scale_plus_1: 8,
        sack_permitted: true,
        has_timestamps: true,
        ..Header::default()
    });
    end.handle_segment(&cfg, now, &syn_ack);
    assert_eq!(sent(&mut end), 64_256);
    let windows = (0..7).map(|k| {
        let data = Segment::from(Header {
            flags: Flags::ACK,
            seq: 78 + 1448 * k,
            ack: ISS.wrapping_add(1),
            window: 65_160,
            len: 1448,
            wire_bytes: 1500,
            has_timestamps: true,
            ..Header::default()
        });
        end.handle_segment(&cfg, now, &data);
        sent(&mut end)
    });
    assert_eq!(windows.collect::<Vec<_>>(), [67_072, 69_888, 72_832, 75_776, 78_592, 80_512, 80_512]);
}

/// `tcp_ecn_accept_cwr`: a sender that has reduced its window, also for a loss, may have little to send.
#[test]
fn data_with_cwr_is_acknowledged_at_once() {
    let script = quick(16)
        + "0.100 < cwr data 16000-17000
           0.100 > ack 17000
           0.110 < data 17000-18000
           0.151 > ack 18000";
    server(&TcpConfig { ecn: EcnKind::Rfc3168, ..linux() }, &script);
}

/// `tcp_compressed_ack_kick` does not read the clock: a withheld ACK has the timestamp of the last arrival.
#[test]
fn a_withheld_ack_has_the_timestamp_of_the_segment_that_arrived_last() {
    let cfg = TcpConfig { sack: true, timestamps: true, ..linux() };
    let mut it = Script::new(&cfg, Connection::server(&cfg, ISS, Time::ZERO));
    for (at, range) in [(1, "1000-2000"), (2, "2000-3000"), (3, "3000-4000")] {
        it.take(Time::from_millis(at), &format!("data {range}"));
    }
    it.now = Time::from_millis(4);
    let seg = it.incoming(&["data", "4000-5000"]);
    it.end.handle_segment(&cfg, it.now, &seg);
    it.now = it.end.poll_timeout();
    assert_eq!(it.now, Time::from_micros(5100));
    it.end.handle_timeout(&cfg, it.now);
    let ack = it.end.poll_transmit(&cfg, it.now).expect("the withheld ACK");
    assert_eq!(ack.ts_val, cfg.timestamp(Time::from_millis(4)));
}

/// `tcp_cong_control`: the ACK delivers two segments, one of which SACK reports.
#[test]
fn slow_start_counts_what_sack_reports_with_new_data() {
    let cfg =
        TcpConfig { slow_start_limit_segments: 0, linux_details: true, ..super::loss::recovering(RecoveryKind::Rack) };
    client(
        &cfg,
        "0 write 4000
        0 > data 0-1000
        0 > data 1000-2000
        0 > data 2000-3000
        0 > data 3000-4000
        0.1 < ack 1000
        = cwnd 11000
        0.11 < ack 2000 sack 3000-4000
        = cwnd 13000
        0.111 < ack 4000
        = cwnd 14000",
    );
}

/// `tcp_rtt_tsopt_us`: from a timestamp, the round trip is in whole milliseconds of the kernel's clock, at least one.
#[test]
fn a_round_trip_from_a_timestamp_counts_milliseconds() {
    let cfg = TcpConfig { rto: RtoConfig { tick_phase_ns: Time::from_micros(300), ..linux().rto }, ..linux() };
    for (sent_us, now_us, rtt_ms) in [(10_000, 30_600, 20), (10_000, 30_700, 21), (10_000, 10_100, 1)] {
        let (sent, now) = (Time::from_micros(sent_us), Time::from_micros(now_us));
        let rtt = cfg.stamped_rtt(now, cfg.timestamp(sent));
        assert_eq!(rtt, Time::from_millis(rtt_ms), "{sent_us} {now_us}");
    }
}

/// `__tcp_ack_snd_check`: the ACK of a FIN waits if it would advertise a smaller window than the last one, as unread data
/// fills the buffer. The next read sends it (`__tcp_cleanup_rbuf`).
#[test]
fn the_ack_of_a_fin_waits_for_the_window_of_a_slow_reader() {
    let cfg = TcpConfig { receive_buffer_bytes: 40_000, ..linux() };
    let arrives = "0.100 < data 16000-17000\n0.102 < fin at 17000\n";
    server(&cfg, &format!("{}{arrives}0.102 > ack 17001", quick(16)));
    server(&cfg, &format!("{}0.099 manual\n{arrives}0.110 read 1000\n0.110 > ack 17001", quick(16)));
}

/// `tcp_send_dupack`: a segment that arrives again with the FIN is reported with the FIN's sequence number.
#[test]
fn a_duplicate_with_the_fin_is_reported_with_its_sequence_number() {
    let cfg = TcpConfig { dsack: true, sack: true, ..linux() };
    let arrives = "0 < data 0-1000\n0 > ack 1000\n0.010 < fin data 1000-1500\n";
    server(&cfg, &format!("{arrives}0.020 < fin data 1000-1500\n0.020 > ack 1501 sack 1000-1501"));
    server(&cfg, &format!("{arrives}0.020 < data 1000-1500\n0.020 > ack 1501 sack 1000-1500"));
}
