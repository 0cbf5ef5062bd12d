//! Opening (RFC 9293, 3.5).

use super::*;

fn with_handshake() -> TcpConfig {
    TcpConfig { handshake: Some(HandshakeConfig::STANDARD), window_scale: false, ..config(2) }
}

#[test]
fn three_segments_open_a_connection_and_data_rides_on_the_third() {
    client(
        &with_handshake(),
        "0.0 > syn
         0.0 write 1500
         0.1 < syn ack 0 win 8000
         0.1 > data 0-1000
         0.1 > data 1000-1500
         = state Established cwnd 2000",
    );
    server(
        &with_handshake(),
        "0.0 < syn win 8000
         0.0 > syn ack 0
         = state SynReceived
         0.1 < ack 0 data 0-10
         0.1 > ack 10
         = state Established received 10",
    );
}

/// RFC 6298, 5.5 and 5.7; RFC 5681, section 3.1.
#[test]
fn a_lost_syn_is_sent_again_and_costs_the_initial_window() {
    client(
        &with_handshake(),
        "0.0 > syn
         1.0 > syn
         3.0 > syn
         3.5 < syn ack 0
         3.5 > ack 0
         = state Established cwnd 1000
         4.0 write 5000
         4.0 > data 0-1000
         7.0 > data 0-1000       # 3 s, as nothing has been measured",
    );
}

/// Linux's `tcp_init_transfer`: the loss of one SYN does not reduce the initial window.
#[test]
fn linux_reduces_the_initial_window_only_if_a_syn_was_sent_again_twice() {
    let cfg = TcpConfig {
        handshake: Some(HandshakeConfig { free_retransmissions: 1, ..HandshakeConfig::STANDARD }),
        ..with_handshake()
    };
    client(
        &cfg,
        "0.0 > syn
         1.0 > syn
         1.5 < syn ack 0
         1.5 > ack 0
         = state Established cwnd 2000",
    );
    client(
        &cfg,
        "0.0 > syn
         1.0 > syn
         3.0 > syn
         3.5 < syn ack 0
         3.5 > ack 0
         = state Established cwnd 1000",
    );
}

fn with_kernels_clock() -> TcpConfig {
    TcpConfig {
        handshake: Some(HandshakeConfig { free_retransmissions: 1, ..HandshakeConfig::STANDARD }),
        linux_details: true,
        rto: RtoConfig { timer_hz: 1000, ..with_handshake().rto },
        ..with_handshake()
    }
}

/// `tcp_check_req`, `tcp_init_transfer`: the SYN-ACK that answers a repeated SYN counts with the one that the timer
/// sent, and the timer starts again.
#[test]
fn linux_counts_the_syn_ack_that_answers_a_repeated_syn() {
    server(
        &with_kernels_clock(),
        "0.0 < syn
         0.0 > syn ack 0
         1.024 > syn ack 0      # 1 s, on a slot of 64 ms
         1.1 < syn
         1.1 > syn ack 0
         1.2 < ack 0
         = state Established cwnd 1000",
    );
    server(
        &with_kernels_clock(),
        "0.0 < syn
         0.0 > syn ack 0
         1.0 < syn
         1.0 > syn ack 0
         1.9 < ack 0            # before 2.0 s
         = state Established cwnd 2000",
    );
}

/// `tcp_ack_update_rtt`: a timestamp tells which SYN was answered, so the timeout does not stay at 3 s.
#[test]
fn linux_measures_a_repeated_handshake_by_its_timestamps() {
    let cfg = TcpConfig { timestamps: true, ..with_kernels_clock() };
    let mut it = Script::new(&cfg, Connection::client(&cfg, ISS, Time::ZERO));
    it.run("0.0 > syn\n1.024 > syn");
    it.take(Time::from_micros(1_074_600), &format!("syn ack 0 ts 1 {}", cfg.timestamp(Time::from_millis(1024))));
    assert_eq!(it.end.srtt(&cfg), Time::from_millis(50));
}

/// `tcp_try_undo_spurious_syn`: a SYN-ACK that answers the first of three SYNs does not reduce the initial window.
#[test]
fn linux_keeps_the_initial_window_if_the_first_syn_was_answered() {
    let cwnd = |answered_ms: u64| {
        let rto = RtoConfig { tick_phase_ns: Time::from_millis(64), ..with_kernels_clock().rto };
        let cfg = TcpConfig { timestamps: true, rto, ..with_kernels_clock() };
        let mut it = Script::new(&cfg, Connection::client(&cfg, ISS, Time::ZERO));
        it.run("0.0 > syn\n1.024 > syn\n3.072 > syn");
        it.take(Time::from_millis(3100), &format!("syn ack 0 ts 1 {}", cfg.timestamp(Time::from_millis(answered_ms))));
        it.end.cwnd_bytes()
    };
    assert_eq!((cwnd(0), cwnd(1024), cwnd(3072)), (2 * 988, 988, 988));
}

/// `tcp_ecn_clear_syn` (RFC 3168, section 6.1.1.1).
#[test]
fn linux_asks_for_ecn_with_the_first_syn_only() {
    let cfg = TcpConfig { ecn: EcnKind::Rfc3168, ..with_kernels_clock() };
    let mut end = Connection::client(&cfg, ISS, Time::ZERO);
    let first = end.poll_transmit(&cfg, Time::ZERO).expect("a SYN");
    assert_eq!(first.flags, Flags::SYN | Flags::ECE | Flags::CWR);
    let later = end.poll_timeout();
    end.handle_timeout(&cfg, later);
    assert_eq!(end.poll_transmit(&cfg, later).expect("a SYN").flags, Flags::SYN);
}

/// ns-2 of 1998 measured the round trip of data only; its initial timeout was 6 s (`rtxcur_init_`).
#[test]
fn a_handshake_that_is_not_timed_leaves_the_first_timeout_to_the_first_data() {
    let mut cfg = with_handshake();
    let script = |timeout: &str| {
        format!(
            "0.0 > syn
             0.1 < syn ack 0
             0.1 > ack 0
             1.0 write 1000
             1.0 > data 0-1000
             {timeout} > data 0-1000"
        )
    };
    cfg.rto.initial_ns = Time::from_secs(6);
    client(&cfg, &script("2.0")); // RFC 6298's minimum, 1 s
    cfg.handshake = Some(HandshakeConfig { timed: false, ..HandshakeConfig::STANDARD });
    client(&cfg, &script("7.0"));
}

#[test]
fn a_lost_syn_ack_is_sent_again_by_the_timer_or_when_the_syn_comes_again() {
    server(
        &with_handshake(),
        "0.0 < syn
         0.0 > syn ack 0
         0.5 < syn
         0.5 > syn ack 0
         1.0 > syn ack 0
         1.2 < ack 0
         = state Established",
    );
}

/// RFC 6298, section 3 (Karn's algorithm).
#[test]
fn a_syn_ack_that_went_twice_because_the_syn_did_is_not_measured() {
    let cfg = with_handshake();
    let end = server(
        &cfg,
        "0.0 < syn
         0.0 > syn ack 0
         0.5 < syn
         0.5 > syn ack 0
         0.6 < ack 0
         = state Established",
    );
    assert_eq!(end.srtt(&cfg), Time::ZERO);
}

/// RFC 6298, section 2: the first timeout is a second after the SYN.
#[test]
fn a_timeout_is_told_from_one_that_is_not_due_before_a_time() {
    let cfg = with_handshake();
    let mut end = Connection::client(&cfg, ISS, Time::ZERO);
    assert!(end.poll_transmit(&cfg, Time::ZERO).is_some());
    let second = Time::from_secs(1);
    assert_eq!(end.poll_timeout(), second);
    for (before, found) in [(Time::from_nanos(1_000_000_001), Some(second)), (second, None), (Time::ZERO, None)] {
        assert_eq!(end.timeout_before(before), found, "{before}");
    }
}

#[test]
fn an_unanswered_syn_is_given_up_with_a_reason() {
    let cfg = with_handshake();
    let mut end = Connection::client(&cfg, ISS, Time::ZERO);
    let mut syns = 0;
    while !end.is_finished() {
        while end.poll_transmit(&cfg, end.poll_timeout()).is_some() {
            syns += 1;
        }
        let at = end.poll_timeout();
        assert!(!at.is_never());
        end.handle_timeout(&cfg, at);
    }
    assert_eq!(end.error(), Some(CloseReason::ConnectTimeout));
    assert!(syns > 3, "{syns}");
}

/// RFC 9293, figure 7.
#[test]
fn both_ends_may_open_at_once() {
    client(
        &with_handshake(),
        "0.0 > syn
         0.1 < syn
         0.1 > syn ack 0
         = state SynReceived
         0.2 < syn ack 0
         = state Established",
    );
}

#[test]
fn a_reset_answers_a_syn_where_nobody_listens() {
    client(
        &with_handshake(),
        "0.0 > syn
         0.1 < rst ack 0
         = state Closed error Refused",
    );
}

/// RFC 9293, 3.10.7.4, second check: a RST in SYN-RECEIVED returns a passive open to LISTEN and makes an active open
/// fail as refused.
#[test]
fn a_reset_before_the_handshake_is_done_listens_again_or_refuses() {
    server(
        &with_handshake(),
        "0.0 < syn
         0.0 > syn ack 0
         0.1 < rst
         = state Listen
         0.2 < syn
         0.2 > syn ack 0
         0.3 < ack 0
         = state Established",
    );
    client(
        &with_handshake(),
        "0.0 > syn
         0.1 < syn
         0.1 > syn ack 0
         0.2 < rst
         = state Closed error Refused",
    );
}

/// RFC 9293, figure 8: an old SYN-ACK is rejected because of the sequence number that it acknowledges.
#[test]
fn a_syn_ack_of_another_connection_is_refused() {
    client(
        &with_handshake(),
        "0.0 > syn
         0.1 < syn ack 5000
         0.1 > rst
         = state SynSent",
    );
}

/// RFC 5681, section 3.1: the initial window counts segments of the size that both ends agreed on. The script's peer has
/// an MSS of 1000.
#[test]
fn the_initial_window_is_of_segments_that_the_peer_accepts() {
    let cfg = TcpConfig { mss: 1460, handshake: Some(HandshakeConfig::STANDARD), ..config(3) };
    let end = client(
        &cfg,
        "0.0 > syn
         0.1 < syn ack 0
         0.1 > ack 0
         = cwnd 3000",
    );
    assert_eq!((end.state(), end.mtu(&cfg)), (State::Established, 1000 + cfg.header_bytes));
}

/// `tcp_select_initial_window`: where windows are scaled, the first one is as large as the buffer allows, though the SYN cannot
/// say so; without scaling it is what the SYN says.
#[test]
fn the_first_scaled_window_is_larger_than_that_of_the_syn() {
    let tuning = ReceiveTuning::Linux { initial_bytes: 262_144, most_bytes: 262_144 };
    for (window_scale, edge) in [(true, 131_000), (false, 65_535)] {
        let cfg = TcpConfig {
            mss: 1000,
            window_scale,
            receive_tuning: tuning,
            timestamps: false,
            ..Profile::Linux6.config()
        };
        let mut end = Connection::client(&cfg, 0, Time::ZERO);
        let syn = end.poll_transmit(&cfg, Time::ZERO).unwrap();
        assert_eq!(syn.window, 65_535);
        let header =
            Header { flags: Flags::SYN | Flags::ACK, ack: 1, mss: 1000, window_scale_plus_1: 8, ..Header::default() };
        end.handle_segment(&cfg, Time::ZERO, &Segment::from(header));
        assert_eq!(end.receiver.edge, 1 + edge);
    }
}

/// RFC 2018, section 2; RFC 7323, sections 2.2 and 3.2: an option holds in both directions if both ends offer it, and
/// not otherwise.
#[test]
fn an_option_holds_if_both_ends_offer_it() {
    let offers = |bits: u32| TcpConfig {
        sack: bits & 1 != 0,
        timestamps: bits & 2 != 0,
        window_scale: bits & 4 != 0,
        ..Profile::Linux6.config()
    };
    let now = Time::ZERO;
    for (client, server) in (0..8).flat_map(|client| (0..8).map(move |server| (client, server))) {
        let configs = [offers(client), offers(server)];
        let mut ends = [Connection::client(&configs[0], ISS, now), Connection::server(&configs[1], 77, now)];
        for side in [0, 1, 0] {
            while let Some(segment) = ends[side].poll_transmit(&configs[side], now) {
                ends[1 - side].handle_segment(&configs[1 - side], now, &segment);
            }
        }
        for end in &ends {
            assert_eq!(end.state(), State::Established);
            let held = [end.agreed.sack, end.agreed.timestamps, end.receiver.shift_plus_1 > 0];
            let wanted = [1, 2, 4].map(|bit| client & server & bit != 0);
            assert_eq!(held, wanted, "{client:03b} {server:03b}");
            let options = if wanted[1] { 12 } else { 0 };
            assert_eq!(end.mss(), 1460 - options);
        }
    }
}
