//! Rules of Linux's sender, and PAWS.

use super::loss::recovering;
use super::seams::{external, reports};
use super::*;

fn linux(kind: RecoveryKind) -> TcpConfig {
    TcpConfig { linux_details: true, ..recovering(kind) }
}

/// RFC 7323, section 5.3, R1: what an old duplicate acknowledges and carries is not taken, but it is answered.
#[test]
fn a_segment_with_an_older_timestamp_is_answered_but_not_taken() {
    let end = client(
        &TcpConfig { timestamps: true, sack: false, mss: 1012, ..config(4) },
        "0 write 2000
         0 > data 0-1000
         0 > data 1000-2000
         0.010 < data 0-1000 ts 5000 0
         0.010 > ack 1000
         0.011 < data 1000-2000 ack 1000 ts 4999 0
         0.011 > ack 1000
         0.012 < data 0-1000 ack 2000 ts 4999 0
         0.012 > ack 1000
         0.013 < ack 2000 ts 4999 0
         = flight 2000
         0.014 < data 1000-2000 ack 2000 ts 5000 0
         0.014 > ack 2000",
    );
    assert_eq!((end.received(), end.in_flight()), (2000, 0));
}

/// `TCP_PAWS_WINDOW`, in milliseconds of the kernel's clock; `tcp_disordered_ack`: a duplicate ACK may be late by 1.2
/// times the timeout.
#[test]
fn linux_takes_a_timestamp_that_is_a_millisecond_older_and_late_duplicate_acks() {
    let cfg = TcpConfig { timestamps: true, mss: 1012, ..linux(RecoveryKind::Rack) };
    let end = server(
        &cfg,
        "0.010 < data 0-1000 ts 5000 0
         0.010 > ack 1000
         0.011 < data 1000-2000 ts 4000 0
         0.011 > ack 2000
         0.012 < data 2000-3000 ts 3999 0
         0.012 > ack 2000",
    );
    assert_eq!(end.received(), 2000);
    let sent = format!(
        "0 write 4000
         {}0.010 < data 0-1000 ack 0 ts 9000 0
         0.010 > ack 1000
         ",
        sends("0", 0..4000)
    );
    client(&cfg, &format!("{sent}0.011 < ack 0 sack 1000-4000 ts 1000 0\n0.011 > data 0-1000"));
    client(&cfg, &format!("{sent}0.011 < ack 1000 ts 1000 0\n= flight 4000"));
}

/// `tcp_rack_mark_lost`: an ACK that reports no arrival reveals no loss, only the reordering timer does.
#[test]
fn an_ack_without_news_reveals_no_loss() {
    let script = |at: &str| {
        format!(
            "0 write 4000
             {}0.1 < ack 0 sack 3000-4000
             0.126 < ack 0 sack 3000-4000 win 90000
             {at} > data 0-1000",
            sends("0", 0..4000)
        )
    };
    let timed = |linux_details| {
        let RecoveryConfig::Rack(rack) = RecoveryKind::Rack.standard() else { unreachable!() };
        TcpConfig {
            linux_details,
            recovery: RecoveryConfig::Rack(RackConfig { timers: RackTimers::Linux, ..rack }),
            rto: RtoConfig { timer_hz: 1000, ..config(10).rto },
            ..recovering(RecoveryKind::Rack)
        }
    };
    client(&timed(false), &script("0.126"));
    client(&timed(true), &script("0.128"));
}

/// `tcp_fastretrans_alert`: a duplicate ACK with an echo that reveals a loss begins recovery, as without the echo.
#[test]
fn a_loss_that_comes_with_an_echo_reduces_the_window_once() {
    let cfg = TcpConfig { ecn: EcnKind::Rfc3168, ..linux(RecoveryKind::Rack) };
    let flags = |end: Connection| (end.cwnd_bytes(), end.ssthresh_bytes(), end.stats().fast_retransmits);
    let [with, without] = ["ece", ""].map(|echo| {
        flags(client(
            &cfg,
            &format!(
                "0 write 10000
                 {}0.1 < ack 0 sack 1000-4000 {echo}
                 0.1 > data 0-1000
                 0.11 < ack 0 sack 1000-6000 {echo}
                 0.12 < ack 0 sack 1000-9000 {echo}",
                sends("0", 0..10_000)
            ),
        ))
    });
    assert_eq!(with, without);
    assert_eq!((with.1, with.2), (5000, 1));
}

/// `tcp_validate_incoming`: a duplicate of what was acknowledged is dropped before its timestamp counts, so that the
/// original of a later segment, with an older timestamp, is taken.
#[test]
fn the_timestamp_of_an_old_duplicate_does_not_count() {
    let script = "0.010 < data 0-1000 ts 5000 0
         0.010 > ack 1000
         0.010 < data 1000-2000 ts 5000 0
         0.010 > ack 2000
         0.011 < data 0-1000 ts 6000 0
         0.011 > ack 2000 sack 0-1000
         0.012 < data 2000-3000 ts 5500 0
         0.012 > ack ";
    let received = |linux_details, last: u32| {
        let cfg = TcpConfig { timestamps: true, mss: 1012, linux_details, ..recovering(RecoveryKind::Rack) };
        server(&cfg, &format!("{script}{last}")).received()
    };
    assert_eq!(received(true, 3000), 3000);
    assert_eq!(received(false, 2000), 2000, "by RFC 7323 alone it is older than TS.Recent");
}

/// `tcp_rearm_rto`: without SACK, every ACK of new data restarts the timeout, though with RACK its timers do.
#[test]
fn without_sack_each_new_ack_restarts_the_timeout() {
    let RecoveryConfig::Rack(rack) = RecoveryKind::Rack.standard() else { unreachable!() };
    let cfg = TcpConfig {
        sack: false,
        recovery: RecoveryConfig::Rack(RackConfig { timers: RackTimers::Linux, ..rack }),
        rto: RtoConfig { min_ns: Time::from_secs(1), ..config(10).rto },
        ..linux(RecoveryKind::Rack)
    };
    let sent = sends("0", 0..4000);
    let end =
        client(&cfg, &format!("0 write 4000\n{sent}0.1 < ack 1000\n0.7 < ack 2000\n1.3 < ack 3000\n1.9 < ack 4000"));
    assert_eq!((end.in_flight(), end.stats().timeouts), (0, 0));
}

/// `tcp_slow_start`: the window opens by packets, so that the short last segment of an object counts as a full one.
#[test]
fn a_short_segment_opens_the_window_by_a_packet() {
    let opened = |linux_details| {
        let cfg = TcpConfig { linux_details, slow_start_limit_segments: 0, ..config(4) };
        client(&cfg, "0 write 1500\n0 > data 0-1000\n0 > data 1000-1500\n0.1 < ack 1500").cwnd_bytes()
    };
    assert_eq!((opened(true), opened(false)), (6000, 5500));
}

/// `FLAG_ACK_MAYBE_DELAYED`: after more than five minutes the minimum of the round trip is forgotten for a longer one, but
/// not for that of a single short segment, whose ACK may have been delayed.
#[test]
fn the_round_trip_of_a_short_segment_does_not_replace_an_old_minimum() {
    for (bytes, ms) in [(100, 50), (1000, 200)] {
        let cfg = TcpConfig { mss: 1000, handshake: None, timestamps: false, ..Profile::Linux6.config() };
        let end = client(
            &cfg,
            &format!(
                "0.0 write 1000
                 0.0 > data 0-1000
                 0.05 < ack 1000
                 400.0 write {bytes}
                 400.0 > data 1000-{end}
                 400.2 < ack {end}",
                end = 1000 + bytes
            ),
        );
        assert_eq!(end.sender.snd.rtt.min_rtt(), Time::from_millis(ms), "of {bytes} bytes");
    }
}

/// `tcp_fastretrans_alert`: an echo's episode covers what was outstanding then. If the first segment sent later is lost, the
/// next ACK ends that episode, and the repair reduces the window once more.
#[test]
fn a_loss_of_what_was_sent_after_an_echo_reduces_the_window_again() {
    let after = |linux_details| {
        let cfg = TcpConfig { ecn: EcnKind::Rfc3168, linux_details, ..recovering(RecoveryKind::Rack) };
        let end = client(
            &cfg,
            &format!(
                "0 write 20000
                 {}0.1 < ack 2000 ece
                 0.1 > data 10000-11000
                 0.11 < ack 4000
                 0.11 > data 11000-12000
                 0.12 < ack 6000
                 0.12 > data 12000-13000
                 0.13 < ack 8000
                 0.14 < ack 10000
                 {}0.2 < ack 10000 sack 11000-14000
                 0.2 > data 10000-11000
                 {}0.21 < ack 10000 sack 11000-15000
                 0.21 > data 18000-19000",
                sends("0", 0..10_000),
                sends("0.14", 13_000..15_000),
                sends("0.2", 15_000..18_000),
            ),
        );
        end.ssthresh_bytes()
    };
    assert_eq!((after(true), after(false)), (2500, 5000));
}

/// A script in which twelve segments are sent, and three duplicate ACKs lead to the repair of the first, at 0.12.
fn three_duplicates() -> String {
    format!(
        "0 write 12000
         {}0.1 < ack 0
         0.1 > data 10000-11000
         0.11 < ack 0
         0.11 > data 11000-12000
         0.12 < ack 0
         0.12 > data 0-1000\n",
        sends("0", 0..10_000)
    )
}

/// `tcp_add_reno_sack`, `tcp_newreno_mark_lost`: without SACK, each duplicate ACK counts as an arrival, and the third marks the
/// first segment as lost, which is then repaired. A partial ACK takes from the arrivals what it acknowledges beyond the hole,
/// and marks the next segment.
#[test]
fn without_sack_linux_counts_arrivals_by_duplicate_acks() {
    let cfg = TcpConfig { sack: false, limited_transmit: true, ..linux(RecoveryKind::Rack) };
    let counts = |more: &str| {
        let script = three_duplicates() + more;
        let info = client(&cfg, &script).info(&cfg);
        (info.state, info.sacked, info.lost, info.retransmitted)
    };
    assert_eq!(counts(""), (CongestionState::Recovery, 3, 1, Some(1)));
    assert_eq!(counts("0.13 < ack 0"), (CongestionState::Recovery, 4, 1, Some(1)));
    assert_eq!(counts("0.2 < ack 3000"), (CongestionState::Recovery, 1, 1, Some(0)));
}

/// `tcp_add_reno_sack`, `tcp_remove_reno_sacks`: without SACK three duplicate ACKs have delivered three packets, so an ACK of
/// three delivers one more, the repair, which was sent 0.08 s ago, when the third was delivered.
#[test]
fn without_sack_an_arrival_that_a_duplicate_ack_reported_is_not_delivered_again() {
    let cfg = external(TcpConfig { sack: false, limited_transmit: true, ..linux(RecoveryKind::Rack) });
    let rate = reports(&cfg, &(three_duplicates() + "0.2 < ack 3000")).last().unwrap().rate.unwrap();
    assert_eq!((rate.delivered_packets, rate.ack_elapsed), (1, Time::from_millis(80)));
}

/// `tcp_dsack_seen`: what arrived twice counts as delivered once more, so that after a timeout the window opens by it, too.
#[test]
fn a_segment_that_arrived_twice_opens_the_window_once_more() {
    let cwnd = |linux_details: bool, twice: &str| {
        let cfg = TcpConfig {
            linux_details,
            dsack: true,
            slow_start_limit_segments: 0,
            initial_window: InitialWindow::Segments(10),
            ..recovering(RecoveryKind::Rack)
        };
        let mut script = Script::new(&cfg, Connection::client(&cfg, ISS, Time::ZERO));
        script.run(&format!("0 write 10000\n{}1 > data 9000-10000\n2 > data 0-1000", sends("0", 0..10_000)));
        script.take(Time::from_millis(2300), &format!("ack 2000{twice}"));
        script.end.cwnd_bytes()
    };
    assert_eq!(cwnd(true, " sack 0-1000") - cwnd(true, ""), 1000);
    assert_eq!(cwnd(false, " sack 0-1000"), cwnd(false, ""));
}

/// Linux 2.2.5, `tcp_set_rto`: a round trip of 10 ticks gives 10 + 40, a quarter of this more, and an eighth for a window
/// of four segments: 50 + 12 + 6 ticks of 10 ms.
#[test]
fn the_timeout_of_linux_2_2_counts_the_window_in_segments() {
    let rto = RtoConfig { samples: RttSamples::RoundTrip, ..Profile::Linux2_2.config().rto };
    let cfg = TcpConfig { rto, ..config(4) };
    let end = client(&cfg, &format!("0 write 4000\n{}0.1 < ack 4000", sends("0", 0..4000)));
    assert_eq!(end.rto(&cfg), Time::from_millis(680));
}
