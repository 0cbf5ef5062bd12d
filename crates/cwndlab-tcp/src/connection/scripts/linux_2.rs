//! Facts about Linux 2.0 and 2.2. Each script passes with one knob of the profile and fails without it. F1 to F5 are
//! the facts of docs/evidence/rfc2884-findings.md.

use super::loss::{after_ten, recovering};
use super::*;

/// Checks that the script passes with `cfg` and fails with `without`.
fn only_with(cfg: &TcpConfig, without: &TcpConfig, script: impl Fn(&TcpConfig)) {
    script(cfg);
    let quiet = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| script(without)));
    assert!(quiet.is_err(), "holds without it, too");
}

fn reno() -> TcpConfig {
    recovering(RecoveryKind::Reno)
}

fn reno_with(change: impl Fn(&mut RenoConfig)) -> TcpConfig {
    let mut knobs = RenoConfig::STANDARD;
    change(&mut knobs);
    TcpConfig { recovery: RecoveryConfig::Reno(knobs), ..reno() }
}

fn shaking_hands() -> TcpConfig {
    TcpConfig { handshake: Some(HandshakeConfig::STANDARD), window_law: WindowLawKind::RenoLinux2, ..config(1) }
}

/// F1 (Linux 2.0.32, `tcp_input.c` 1668 to 1675): the round trip of the handshake is not measured.
#[test]
fn a_loss_before_the_first_ack_of_data_costs_the_initial_timeout() {
    let timed = HandshakeConfig::STANDARD;
    let handshake = Some(HandshakeConfig { timed: false, ..timed });
    let rto = RtoConfig { initial_ns: Time::from_secs(3), ..config(1).rto };
    let cfg = TcpConfig { handshake, rto, ..shaking_hands() };
    only_with(&cfg, &TcpConfig { handshake: Some(timed), ..cfg }, |cfg| {
        client(
            cfg,
            "0 > syn
             0.1 < syn ack 0
             0.1 > ack 0
             0.1 write 1000
             0.1 > data 0-1000
             3.1 > data 0-1000",
        );
    });
}

/// F2 (Linux 2.0.32, `tcp_input.c` 1207 to 1224).
#[test]
fn the_ack_of_the_syn_ack_opens_the_window() {
    let cfg = TcpConfig {
        handshake: Some(HandshakeConfig { ack_opens_window: true, ..HandshakeConfig::STANDARD }),
        ..shaking_hands()
    };
    only_with(&cfg, &shaking_hands(), |cfg| {
        server(
            cfg,
            "0 < syn
             0 > syn ack 0
             0.1 < ack 0
             = cwnd 2000",
        );
    });
}

/// Linux 2.0.32, `tcp_timer.c` 142: ssthresh is min(1, window) >> 1 = 0, so the window opens from one segment as in
/// congestion avoidance.
#[test]
fn a_lost_syn_ack_leaves_no_slow_start() {
    let handshake = Some(HandshakeConfig { timeout_cuts: true, ..HandshakeConfig::STANDARD });
    let cfg = TcpConfig { handshake, timeout_ssthresh_segments: 0, ..shaking_hands() };
    only_with(&cfg, &TcpConfig { handshake: Some(HandshakeConfig::STANDARD), ..cfg }, |cfg| {
        server(
            cfg,
            "0 < syn
             0 > syn ack 0
             1 > syn ack 0
             1.1 < ack 0
             = cwnd 1000 ssthresh 0",
        );
    });
}

fn linux_clock(estimator: Estimator) -> RtoConfig {
    RtoConfig {
        estimator,
        tick_ns: Time::from_millis(10),
        initial_ns: Time::from_secs(3),
        min_ns: Time::from_millis(200),
        max_ns: Time::from_secs(120),
        ..config(1).rto
    }
}

/// F3 (Linux 2.0.32, `tcp_input.c` 111 to 155): after one round trip of 20 ticks, smoothed round trip plus deviation
/// are R = 20 + 40 ticks, and the timeout at a window of two segments is R + R/4 + R/2 = 60 + 15 + 30 ticks. 2.2.5
/// begins with a deviation of four round trips: R = 20 + 80, and the timeout is 100 + 25 + 50.
#[test]
fn the_timeout_follows_the_kernels_formula() {
    for (estimator, due) in [(Estimator::Linux2_0, "1.25"), (Estimator::Linux2_2, "1.95")] {
        let rto = linux_clock(estimator);
        let cfg = TcpConfig { rto: RtoConfig { samples: RttSamples::EachSegment, ..rto }, ..config(1) };
        let standard = RtoConfig { estimator: Estimator::Rfc6298, samples: RttSamples::EachSegment, ..rto };
        only_with(&cfg, &TcpConfig { rto: standard, ..cfg }, |cfg| {
            client(
                cfg,
                &format!(
                    "0 write 3000
                     0 > data 0-1000
                     0.2 < ack 1000
                     0.2 > data 1000-2000
                     0.2 > data 2000-3000
                     {due} > data 1000-2000"
                ),
            );
        });
    }
}

fn adaptive(holes_wait: bool, on_ticks: bool, push_ms: u64) -> TcpConfig {
    let ack_policy = AckPolicy::Adaptive(AdaptiveAcks {
        first_ns: Time::from_millis(330),
        max_ns: Time::from_millis(500),
        push_ns: Time::from_millis(push_ms),
        holes_wait,
        on_ticks,
    });
    TcpConfig { ack_policy, rto: linux_clock(Estimator::Linux2_0), ..config(1) }
}

/// F4 (Linux 2.0.32, `tcp_input.c` 55 to 102): the ACK of the first segment waits for 33 ticks, the next one for half
/// of that plus the time between the segments.
#[test]
fn the_delay_of_acks_adapts_to_the_time_between_segments() {
    let cfg = adaptive(true, false, 500);
    let fixed = AckPolicy::Delayed { timeout_ns: Time::from_millis(330) };
    only_with(&cfg, &TcpConfig { ack_policy: fixed, ..cfg }, |cfg| {
        client(
            cfg,
            "1.0 < data 0-1000
             1.33 > ack 1000
             1.4 < data 1000-2000        # (33 >> 1) + 40 = 56 ticks: no more than half a second
             1.9 > ack 2000
             1.92 < data 2000-3000       # (56 >> 1) + 52
             1.93 < data 3000-4000       # two full segments
             1.93 > ack 4000",
        );
    });
}

/// Linux 2.0.32, `tcp_output.c` 1080: a timer of 0 fires with the next tick.
#[test]
fn the_ack_of_a_second_segment_waits_for_the_clock() {
    only_with(&adaptive(true, true, 500), &adaptive(true, false, 500), |cfg| {
        client(
            cfg,
            "1.001 < data 0-1000
             1.002 < data 1000-2000
             1.01 > ack 2000",
        );
    });
}

/// Linux 2.0.32, `tcp_input.c` 1931 to 1936.
#[test]
fn a_segment_that_fills_a_hole_waits_like_any_other() {
    only_with(&adaptive(true, true, 500), &adaptive(false, true, 500), |cfg| {
        client(
            cfg,
            "1.0 < data 1000-2000
             1.0 > ack 0
             1.1 < data 0-1000           # (33 >> 1) + 10 = 26 ticks
             1.36 > ack 2000",
        );
    });
}

/// Linux 2.0.32, `tcp_input.c` 1931: an ACK waits for HZ/50 after a segment with PSH.
#[test]
fn push_shortens_the_delay() {
    for (push_ms, due) in [(20, Time::from_millis(20)), (500, Time::from_millis(330))] {
        let cfg = adaptive(true, true, push_ms);
        let mut end = Connection::client(&cfg, 0, Time::ZERO);
        let flags = Flags::ACK | Flags::PSH;
        end.handle_segment(
            &cfg,
            Time::ZERO,
            &Segment::from(Header { seq: 1, ack: 1, len: 100, flags, ..Header::default() }),
        );
        assert_eq!(end.poll_timeout(), due);
    }
}

/// F5 (Linux 2.0.32, `tcp_input.c` 1218 to 1237): slow start up to and at ssthresh, then one segment every cwnd + 1
/// ACKs.
#[test]
fn the_window_grows_by_a_segment_every_cwnd_plus_one_acks() {
    let cfg = TcpConfig { window_law: WindowLawKind::RenoLinux2, initial_ssthresh_segments: 2, ..config(2) };
    only_with(&cfg, &TcpConfig { window_law: WindowLawKind::RenoPackets, ..cfg }, |cfg| {
        client(
            cfg,
            "0 write 6000
             0 > data 0-1000
             0 > data 1000-2000
             0.1 < ack 1000
             = cwnd 3000                 # at ssthresh it is slow start still
             0.1 > data 2000-3000
             0.1 > data 3000-4000
             0.2 < ack 2000
             0.2 > data 4000-5000
             0.2 < ack 3000
             0.2 > data 5000-6000
             0.2 < ack 4000
             = cwnd 3000
             0.3 < ack 5000
             = cwnd 4000",
        );
    });
}

/// F5 (Linux 2.0.32, `tcp_timer.c` 142 to 146).
#[test]
fn a_timeout_at_one_segment_leaves_no_threshold() {
    let cfg = TcpConfig {
        window_law: WindowLawKind::RenoLinux2,
        timeout_ssthresh_segments: 0,
        each_timeout_cuts: true,
        ..config(4)
    };
    let script = |cfg: &TcpConfig| {
        client(
            cfg,
            "0 write 4000
             0 > data 0-1000
             0 > data 1000-2000
             0 > data 2000-3000
             0 > data 3000-4000
             1 > data 0-1000
             = ssthresh 2000
             3 > data 0-1000
             = cwnd 1000 ssthresh 0",
        );
    };
    only_with(&cfg, &TcpConfig { timeout_ssthresh_segments: 2, ..cfg }, script);
    only_with(&cfg, &TcpConfig { each_timeout_cuts: false, ..cfg }, script);
}

/// F5 (Linux 2.0.32, `tcp_output.c` 661): `high_seq` moves with timeouts only.
#[test]
fn nothing_prevents_a_second_fast_retransmit() {
    let cfg = reno_with(|reno| reno.retransmit_guard = RetransmitGuard::Timeout);
    only_with(&cfg, &reno(), |cfg| {
        after_ten(
            cfg,
            "0.5 < ack 0
             0.5 < ack 0
             0.5 < ack 0
             0.5 > data 0-1000
             0.9 < ack 3000
             0.9 < ack 3000
             0.9 < ack 3000
             0.9 < ack 3000
             0.9 > data 3000-4000",
        );
    });
}

/// Linux 2.0.32, `tcp_input.c` 1279.
#[test]
fn duplicate_acks_do_not_count_below_three_segments() {
    let cfg = reno_with(|reno| reno.dup_ack_window_segments = 11);
    only_with(&cfg, &reno(), |cfg| {
        after_ten(
            cfg,
            "0.5 < ack 0
             0.5 < ack 0
             0.5 < ack 0
             0.5 < ack 0
             = cwnd 10000",
        );
    });
}

/// Linux 2.0.32, `tcp_input.c` 1294: ssthresh + `MAX_DUP_ACKS` + 1.
#[test]
fn fast_recovery_begins_with_a_segment_more() {
    let cfg = reno_with(|reno| reno.extra_segments = 1);
    only_with(&cfg, &reno(), |cfg| {
        after_ten(
            cfg,
            "0.5 < ack 0
             0.5 < ack 0
             0.5 < ack 0
             0.5 > data 0-1000           # window 5 + 4
             0.5 < ack 0
             0.5 < ack 0                 # 5 + 6
             0.5 > data 10000-11000",
        );
    });
}

/// Linux 2.0.32, `tcp_input.c` 1312 to 1316 and `tcp_timer.c` 142.
#[test]
fn a_timeout_in_fast_recovery_is_followed_by_half_the_inflated_window() {
    let cfg = TcpConfig { window_law: WindowLawKind::RenoLinux2, ..reno_with(|reno| reno.outlives_timeout = true) };
    only_with(&cfg, &TcpConfig { recovery: reno().recovery, ..cfg }, |cfg| {
        after_ten(
            cfg,
            "0.5 < ack 0
             0.5 < ack 0
             0.5 < ack 0
             0.5 > data 0-1000           # window 5 + 3
             1.5 > data 0-1000
             = cwnd 1000 ssthresh 4000
             1.6 < ack 7000
             1.6 > data 7000-8000
             1.6 > data 8000-9000
             1.6 > data 9000-10000
             1.6 > data 10000-11000
             = cwnd 4000",
        );
    });
}

/// Linux 2.0.32, `tcp_input.c` 1496 and `tcp_output.c` 189.
#[test]
fn nothing_new_is_sent_until_what_timed_out_is_acknowledged() {
    let cfg = TcpConfig { drains_after_timeout: true, ..reno() };
    only_with(&cfg, &reno(), |cfg| {
        after_ten(
            cfg,
            "1.0 > data 0-1000
             1.1 < ack 9000
             1.1 > data 9000-10000       # cwnd is two segments
             1.2 < ack 10000
             1.2 > data 10000-11000
             1.2 > data 11000-12000
             1.2 > data 12000-13000",
        );
    });
}

/// Linux 2.0.32, `tcp_input.c` 1421 to 1489: one ACK gives three samples of 40, 30 and 20 ticks instead of one. The
/// second, of 30 ticks, moves srtt to 40 - 10/8, and so on.
#[test]
fn every_segment_acknowledged_is_a_measurement() {
    let rto = RtoConfig { samples: RttSamples::EachSegment, ..linux_clock(Estimator::Linux2_0) };
    let cfg = TcpConfig { rto, ..config(3) };
    let measured = |cfg: &TcpConfig| {
        let end = client(
            cfg,
            "0 write 1000
             0 > data 0-1000
             0.1 write 1000
             0.1 > data 1000-2000
             0.2 write 1000
             0.2 > data 2000-3000
             0.4 < ack 3000",
        );
        // in eighths of a tick: 320, 320 + (30 - 40) = 310, 310 + (20 - 38) = 292, of which 36 ticks are whole
        assert_eq!(end.srtt(cfg), Time::from_millis(360));
    };
    only_with(&cfg, &TcpConfig { rto: RtoConfig { samples: RttSamples::RoundTrip, ..rto }, ..cfg }, measured);
}

/// Linux 2.0.32, `tcp_timer.c` 43 to 61: an ACK does not restart the timer, which then counts from the sending of the
/// next segment.
#[test]
fn the_timeout_counts_from_the_first_segment() {
    let rto = RtoConfig { start: TimerStart::FirstSegment, ..config(1).rto };
    let cfg = TcpConfig { rto, ..config(2) };
    only_with(&cfg, &config(2), |cfg| {
        client(
            cfg,
            "0 write 1000
             0 > data 0-1000
             0.2 write 1000
             0.2 > data 1000-2000
             0.5 < ack 1000              # RTO: 0.5 + 4 * 0.25
             1.7 > data 1000-2000",
        );
    });
}

/// Linux 2.0.32, `tcp_output.c` 835 to 936: FIN has a segment of its own, and waits for the window.
#[test]
fn fin_goes_alone_and_waits_for_the_window() {
    let cfg = TcpConfig { fin: Some(FinConfig { alone: true, ..FIN }), ..config(2) };
    only_with(&cfg, &config(2), |cfg| {
        client(
            cfg,
            "0 write 1500
             0 close
             0 > data 0-1000
             0 > data 1000-1500
             0.1 < ack 1000
             0.1 > fin ack 0",
        );
    });
}

/// Linux 2.2.5, `tcp_input.c` 552 to 571: a partial ACK leaves the inflated window as it is.
#[test]
fn a_partial_ack_need_not_deflate_the_window() {
    let new_reno = NewRenoConfig { partial_window_deflation: false, ..NewRenoConfig::STANDARD };
    let cfg = TcpConfig { recovery: RecoveryConfig::NewReno(new_reno), ..recovering(RecoveryKind::NewReno) };
    only_with(&cfg, &recovering(RecoveryKind::NewReno), |cfg| {
        after_ten(
            cfg,
            "0.5 < ack 0
             0.5 < ack 0
             0.5 < ack 0
             0.5 > data 0-1000           # window 5 + 3
             0.9 < ack 4000              # 6 are out of 8
             0.9 > data 4000-5000
             0.9 > data 10000-11000
             0.9 > data 11000-12000",
        );
    });
}

/// An echo may reduce cwnd to one segment (RFC 3168, 6.1.2), or only to two: see docs/models/ecn.md.
#[test]
fn an_echo_leaves_two_packets_where_it_may_not_leave_one() {
    for (to_one, left) in [(true, 1000), (false, 2000)] {
        for window_law in [WindowLawKind::Reno, WindowLawKind::RenoPackets, WindowLawKind::RenoLinux2] {
            let cfg = TcpConfig { ecn: EcnKind::Rfc3168, ecn_to_one_segment: to_one, window_law, ..config(2) };
            let mut end = client(
                &cfg,
                "0 write 9000
                 0 > data 0-1000
                 0 > data 1000-2000",
            );
            let flags = Flags::ACK | Flags::ECE;
            let ack = Segment::from(Header { seq: 1, ack: 2001, window: 90_000, flags, ..Header::default() });
            end.handle_segment(&cfg, Time::from_millis(100), &ack);
            assert_eq!(end.cwnd_bytes(), left, "{window_law:?}, to one: {to_one}");
        }
    }
}
