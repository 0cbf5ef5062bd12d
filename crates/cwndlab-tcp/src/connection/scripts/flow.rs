//! What the sender sends while nothing is lost: windows, Nagle, probes, idle times.

use super::*;

/// RFC 5681, section 3.1.
#[test]
fn slow_start_then_congestion_avoidance() {
    let cfg = TcpConfig { initial_ssthresh_segments: 4, ..config(2) };
    client(
        &cfg,
        "0 write 100000
         0 > data 0-1000
         0 > data 1000-2000
         0.5 < ack 1000
         0.5 > data 2000-3000
         0.5 > data 3000-4000
         0.5 < ack 2000
         0.5 > data 4000-5000
         0.5 > data 5000-6000
         = cwnd 4000
         0.8 < ack 3000
         0.8 > data 6000-7000
         0.8 < ack 4000
         0.8 > data 7000-8000
         0.8 < ack 5000
         0.8 > data 8000-9000
         0.8 < ack 6000            # a window's worth is acknowledged
         0.8 > data 9000-10000
         0.8 > data 10000-11000
         = cwnd 5000",
    );
}

/// RFC 1122, 4.2.3.4.
#[test]
fn nagle_holds_a_small_segment_while_anything_is_unacknowledged() {
    let cfg = TcpConfig { nagle: true, ..config(4) };
    client(
        &cfg,
        "0.0 write 10
         0.0 > data 0-10
         0.1 write 10
         0.2 write 10
         0.3 < ack 10
         0.3 > data 10-30
         0.4 write 1500
         0.4 > data 30-1030      # a full one may go
         0.5 < ack 1030
         0.5 > data 1030-1530",
    );
}

/// Linux: `tcp_minshall_check`. The end of a message of one and a half segments is not held back.
#[test]
fn by_minshalls_rule_a_small_segment_waits_for_the_last_small_one() {
    let cfg = TcpConfig { nagle: true, nagle_rule: NagleRule::Minshall, ..config(4) };
    client(
        &cfg,
        "0.0 write 1500
         0.0 > data 0-1000
         0.0 > data 1000-1500
         0.1 write 10            # a small one is outstanding
         0.2 < ack 1000          # and still is
         0.3 < ack 1500
         0.3 > data 1500-1510
         0.3 write 1000
         0.3 > data 1510-2510    # a full one may go
         0.3 write 10            # the small one before it is outstanding
         0.4 < ack 1510
         0.4 > data 2510-2520",
    );
}

/// RFC 9293, 3.8.6.1.
#[test]
fn a_closed_window_is_probed_ever_more_seldom_and_for_ever() {
    let cfg = TcpConfig { rto: RtoConfig { max_ns: Time::from_secs(4), ..config(1).rto }, ..config(1) };
    let end = client(
        &cfg,
        "0.0 write 3000
         0.0 > data 0-1000
         0.5 < ack 1000 win 0
         2.0 > ack 0             # RTO: SRTT 0.5 s + 4 * 0.25 s = 1.5 s
         2.1 < ack 1000
         5.0 > ack 0
         9.0 > ack 0
         13.0 > ack 0
         17.0 > ack 0
         18.0 < ack 1000 win 5000
         18.0 > data 1000-2000
         18.0 > data 2000-3000
         = timeouts 0",
    );
    assert_eq!(end.stats().window_probes, 5);
}

/// RFC 9293, 3.8.6.2.1.
#[test]
fn a_silly_window_waits_and_then_is_used_all_the_same() {
    client(
        &config(4),
        "0.0 < ack 0 win 3000
         0.0 write 6000
         0.0 > data 0-1000
         0.0 > data 1000-2000
         0.0 > data 2000-3000
         0.5 < ack 3000 win 10
         2.0 > data 3000-3010",
    );
}

/// RFC 5681, section 4.1.
#[test]
fn an_idle_time_of_more_than_a_timeout_restarts_the_window() {
    let cfg = TcpConfig { restart_after_idle: true, ..config(1) };
    client(
        &cfg,
        "0.0 write 3000
         0.0 > data 0-1000
         0.1 < ack 1000
         0.1 > data 1000-2000
         0.1 > data 2000-3000
         0.2 < ack 3000
         = cwnd 3000
         9.0 write 3000
         9.0 > data 3000-4000
         = cwnd 1000
         9.1 < ack 4000
         9.1 > data 4000-5000
         9.1 > data 5000-6000",
    );
}

/// While the peer's window is closed, no data is sent to which the restart window could apply. Linux checks at the
/// window update (`tcp_ack_update_window`).
#[test]
fn a_closed_window_restarts_nothing_before_it_opens() {
    let cfg = TcpConfig { restart_after_idle: true, ..config(1) };
    client(
        &cfg,
        "0.0 write 6000
         0.0 > data 0-1000
         0.1 < ack 1000
         0.1 > data 1000-2000
         0.1 > data 2000-3000
         0.2 < ack 3000 win 0
         = cwnd 3000
         1.2 > ack 0
         = cwnd 3000
         2.0 < ack 3000 win 9000
         2.0 > data 3000-4000
         = cwnd 1000",
    );
}

/// The clock starts at 0; data sent at that time counts as sent.
#[test]
fn what_was_sent_at_time_zero_counts_as_sent() {
    let cfg = TcpConfig { restart_after_idle: true, ..config(2) };
    client(
        &cfg,
        "0 write 2000
         0 > data 0-1000
         0 > data 1000-2000
         0.1 < ack 2000
         = cwnd 3000
         9 write 3000
         9 > data 2000-3000
         9 > data 3000-4000
         = cwnd 2000
         9.1 < ack 4000
         9.1 > data 4000-5000",
    );
}

#[test]
fn no_more_than_the_configured_window_is_ever_out() {
    let cfg = TcpConfig { max_window: MaxWindow::Segments(2), ..config(10) };
    client(
        &cfg,
        "0 write 9000
         0 > data 0-1000
         0 > data 1000-2000
         0.5 < ack 1000
         0.5 > data 2000-3000",
    );
}

/// RFC 2861, section 3.2, as in Linux, with a timeout of 1 s: if for so long cwnd was not full and no ACK might open it
/// (`tcp_cong_avoid`), data sent finds it unused. Of 16 segments 1 or 2 were used, but the initial window of 4 is the minimum:
/// (16 + 4) / 2. After another timeout the window is (10 + 4) / 2.
#[test]
fn a_window_that_was_not_full_for_a_timeout_falls_half_the_way_to_what_was_used() {
    let slow = "0.0 write 4000\n".to_owned()
        + &sends("0.0", 0..4000)
        + "0.1 < ack 4000
         0.1 write 8000\n"
        + &sends("0.1", 4000..12_000)
        + "0.2 < ack 12000
         = cwnd 16000
         0.9 write 1000
         0.9 > data 12000-13000
         1.0 < ack 13000
         1.3 write 1000
         1.3 > data 13000-14000
         = cwnd 16000
         1.4 < ack 14000
         2.3 write 1000
         2.3 > data 14000-15000
         = cwnd 16000
         2.45 write 1000
         2.45 > data 15000-16000
         = cwnd WANTED1
         2.5 < ack 16000
         3.4 write 1000
         3.4 > data 16000-17000
         = cwnd WANTED1
         3.55 write 1000
         3.55 > data 17000-18000
         = cwnd WANTED2";
    for (window_validation, first, second) in [(true, "10000", "7000"), (false, "16000", "16000")] {
        let rack = RackConfig { window_validation, ..RackConfig::STANDARD };
        let cfg = TcpConfig {
            grow_only_if_cwnd_limited: true,
            slow_start_limit_segments: 0,
            recovery: RecoveryConfig::Rack(rack),
            sack: true,
            ..config(4)
        };
        client(&cfg, &slow.replace("WANTED1", first).replace("WANTED2", second));
    }
}

/// Linux 6.12, `tcp_write_xmit` and `tcp_cwnd_validate`: usage is checked only when something is sent, so the last ACKs
/// of a transfer that filled the window open it, too.
#[test]
fn the_last_acks_of_a_full_window_open_it_too() {
    let cfg = TcpConfig { grow_only_if_cwnd_limited: true, ..config(4) };
    client(
        &cfg,
        "0.0 write 4000
         0.0 > data 0-1000
         0.0 > data 1000-2000
         0.0 > data 2000-3000
         0.0 > data 3000-4000    # the window is full
         0.1 < ack 1000
         0.1 write 1000
         0.1 > data 4000-5000    # and is not, but the round goes on
         0.2 < ack 2000
         0.2 < ack 3000
         0.2 < ack 4000          # the round is over, and nothing is sent
         = cwnd 8000
         0.2 < ack 5000
         = cwnd 9000",
    );
}

/// Probes of a closed window reveal nothing about the path: once the window is open, a loss waits for the same timeout
/// as before.
#[test]
fn backing_off_the_probes_leaves_the_retransmission_timeout_alone() {
    let cfg = TcpConfig { rto: RtoConfig { min_ns: Time::from_secs(1), ..config(2).rto }, ..config(2) };
    client(
        &cfg,
        "0.0 write 1000
         0.0 > data 0-1000
         0.1 < ack 1000 win 0
         0.1 write 1000
         1.1 > ack 0             # the first probe, a timeout later
         1.2 < ack 1000 win 0
         3.1 > ack 0             # 2 s
         3.2 < ack 1000 win 0
         7.1 > ack 0             # 4 s
         7.2 < ack 1000 win 8000
         7.2 > data 1000-2000
         8.2 > data 1000-2000    # not 16 s",
    );
}

/// `rto.timer_hz`: ticks of 100 ms.
#[test]
fn every_timer_fires_on_a_tick_of_its_clock() {
    let rto = RtoConfig { timer_hz: 10, min_ns: Time::from_secs(1), ..config(2).rto };
    let cfg = TcpConfig { rto, fin: Some(FinConfig { time_wait_ns: Time::from_secs(2), ..FIN }), ..config(2) };
    // the retransmission timer, set when the segments are sent, and again by the ACK
    client(
        &cfg,
        "0.05 write 2000
         0.05 > data 0-1000
         0.05 > data 1000-2000
         0.15 < ack 1000
         1.20 > data 1000-2000",
    );
    // the persist timer
    client(
        &cfg,
        "0.05 write 1000
         0.05 > data 0-1000
         0.15 < ack 1000 win 0
         0.15 write 1000
         1.20 > ack 0",
    );
    // TIME-WAIT
    client(
        &cfg,
        "0.05 close
         0.05 > fin ack 0
         0.15 < ack 1
         0.25 < fin
         0.25 > ack 1
         2.25 < fin
         2.25 > ack 1
         = state TimeWait
         4.35 < data 1-1
         4.35 > rst
         = state Closed",
    );
}
