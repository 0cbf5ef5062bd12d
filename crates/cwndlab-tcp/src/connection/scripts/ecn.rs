//! How the sender responds to ECN echoes (RFC 3168, section 6.1.2).

use super::loss::after_ten;
use super::*;

fn capable() -> TcpConfig {
    TcpConfig { ecn: EcnKind::Rfc3168, ecn_to_one_segment: true, ..config(1) }
}

/// If the window is one segment, an echo closes it until the retransmission timer expires, even if everything
/// outstanding is acknowledged meanwhile. Here the window had room for two small segments.
#[test]
fn a_window_that_an_echo_closed_opens_by_the_timer_even_if_nothing_is_out() {
    let end = client(
        &capable(),
        "0.0 write 400
         0.0 > data 0-400
         0.0 write 400
         0.0 > data 400-800
         0.1 < ack 400 ece
         = cwnd 0
         0.1 < ack 800 ece
         0.1 write 3000
         1.1 > data 800-1800",
    );
    assert_eq!(end.cwnd_bytes(), 1000);
    assert_eq!(end.stats().timeouts, 0);
}

/// Ten segments, an echo with the first ACK, then no ACKs: everything is retransmitted. Meanwhile every ACK still
/// carries ECE, because no new data has been sent that could carry CWR.
#[test]
fn a_go_back_after_an_echo_grows_as_slow_start_does() {
    let cfg = TcpConfig { initial_window: InitialWindow::Segments(10), ..capable() };
    after_ten(
        &cfg,
        "0.1 < ack 1000 ece
         = cwnd 5000 ssthresh 5000
         1.1 > data 1000-2000            # the ACK has restarted the timer
         = cwnd 1000 ssthresh 4500
         1.2 < ack 2000 ece
         1.2 > data 2000-3000
         1.2 > data 3000-4000
         = cwnd 2000
         1.3 < ack 3000 ece
         1.3 > data 4000-5000
         1.3 > data 5000-6000
         1.3 < ack 4000 ece
         1.3 > data 6000-7000
         1.3 > data 7000-8000
         1.4 < ack 5000 ece
         1.4 > data 8000-9000
         = cwnd 4500                     # ssthresh; above it an echo holds the window
         1.4 < ack 6000 ece
         1.4 > data 9000-10000
         1.5 < ack 7000 ece
         1.5 > data 10000-11000
         1.5 < ack 8000 ece
         1.5 > data 11000-12000
         1.6 < ack 9000 ece
         1.6 > data 12000-13000
         1.6 < ack 10000 ece
         1.6 > data 13000-14000
         = cwnd 4500                     # although more than a window was acknowledged since",
    );
}

/// During go-back-N after a timeout, an echo halves the current window, not the data that was outstanding at the
/// timeout, because the window must not grow.
#[test]
fn an_echo_never_opens_the_window() {
    let cfg = TcpConfig { initial_window: InitialWindow::Segments(10), ..capable() };
    after_ten(
        &cfg,
        "1.0 > data 0-1000
         1.2 < ack 9000
         1.2 > data 9000-10000
         1.2 > data 10000-11000
         = cwnd 2000 ssthresh 5000
         1.3 < ack 11000 ece
         = cwnd 1000 ssthresh 2000
         1.3 > data 11000-12000",
    );
}

/// With AccECN, as in Linux, everything after the handshake is ECN-capable, including control packets and
/// retransmissions; with RFC 3168 only new data is (sections 6.1.4 and 6.1.5).
#[test]
fn with_accecn_pure_acks_fins_and_retransmissions_are_ecn_capable() {
    for (ecn, elsewhere) in [(EcnKind::Accecn, 2), (EcnKind::Rfc3168, 0)] {
        let cfg = TcpConfig { ecn, initial_window: InitialWindow::Segments(10), ..Profile::Rfc5681.config() };
        let (mut now, mut sent) = (Time::ZERO, Vec::new());
        let (mut a, mut b) = (Connection::client(&cfg, 0, now), Connection::server(&cfg, 0, now));
        let mut pass = |from: &mut Connection, to: &mut Connection, now: Time, arrives: bool| {
            while let Some(segment) = from.poll_transmit(&cfg, now) {
                sent.push((segment.flags.0 & 0b111, segment.len > 0, segment.retransmission, segment.ecn));
                if arrives {
                    to.handle_segment(&cfg, now, &segment);
                }
            }
        };
        pass(&mut a, &mut b, now, true); // SYN
        pass(&mut b, &mut a, now, true); // SYN-ACK
        pass(&mut a, &mut b, now, true); // its ACK
        a.write(1000);
        pass(&mut a, &mut b, now, false); // data, lost
        now = a.poll_timeout();
        a.handle_timeout(&cfg, now);
        pass(&mut a, &mut b, now, true); // data again
        now = b.poll_timeout();
        b.handle_timeout(&cfg, now);
        pass(&mut b, &mut a, now, true); // ACK
        a.close();
        pass(&mut a, &mut b, now, false); // FIN
        let (syn, fin) = (Flags::SYN.0, Flags::FIN.0);
        let expected = [
            (syn, false, false, 0),
            (syn, false, false, 0),
            (0, false, false, elsewhere),
            (0, true, false, 2),
            (0, true, true, elsewhere),
            (0, false, false, elsewhere),
            (fin, false, false, elsewhere),
        ];
        assert_eq!(sent, expected, "{ecn:?}: flags, data, sent again, codepoint");
    }
}

/// Two ends with this kind of ECN, an ECN-capable handshake, and an initial window of ten segments.
fn capable_ends(ecn: EcnKind) -> (TcpConfig, Connection, Connection) {
    let handshake = Some(HandshakeConfig { ecn_capable: true, ..HandshakeConfig::STANDARD });
    let cfg = TcpConfig { ecn, handshake, initial_window: InitialWindow::Segments(10), ..Profile::Rfc5681.config() };
    let (a, b) = (Connection::client(&cfg, 0, Time::ZERO), Connection::server(&cfg, 0, Time::ZERO));
    (cfg, a, b)
}

/// Takes the one segment that `from` sends, and returns its flags and codepoint. Delivers the segment to `to`, if there
/// is one, with CE if it is ECN-capable.
fn cross(cfg: &TcpConfig, now: Time, from: &mut Connection, to: Option<&mut Connection>) -> (Flags, u8) {
    let segment = from.poll_transmit(cfg, now).expect("a segment");
    assert!(from.poll_transmit(cfg, now).is_none());
    if let Some(to) = to {
        let ecn = if segment.ecn == 0 { 0 } else { crate::ecn::CE };
        to.handle_segment(cfg, now, &Segment { header: Header { ecn, ..segment.header }, ..segment });
    }
    (segment.flags, segment.ecn)
}

/// RFC 5562, section 3.2, figure 2.
#[test]
fn a_marked_syn_ack_goes_again_without_ect_and_leaves_one_segment() {
    let (cfg, mut a, mut b) = capable_ends(EcnKind::Rfc3168);
    let (now, syn_ack) = (Time::ZERO, Flags::SYN | Flags::ACK | Flags::ECE);
    assert_eq!(cross(&cfg, now, &mut a, Some(&mut b)), (Flags::SYN | Flags::ECE | Flags::CWR, 0));
    assert_eq!(cross(&cfg, now, &mut b, Some(&mut a)), (syn_ack, crate::ecn::ECT_0));
    assert_eq!(a.state(), State::SynSent);
    assert_eq!(cross(&cfg, now, &mut a, Some(&mut b)), (Flags::ACK | Flags::ECE, 0));
    assert_eq!(b.state(), State::SynReceived);
    assert_eq!(cross(&cfg, now, &mut b, Some(&mut a)), (syn_ack, 0));
    assert_eq!(cross(&cfg, now, &mut a, Some(&mut b)), (Flags::ACK, 0));
    assert_eq!([a.state(), b.state()], [State::Established; 2]);
    assert_eq!([a.cwnd_bytes(), b.cwnd_bytes()].map(|cwnd| cwnd / 1460), [10, 1]);
}

/// RFC 5562, section 3.1, figure 1. The second SYN-ACK arrives unmarked and establishes the connection.
#[test]
fn a_lost_syn_ack_goes_again_without_ect() {
    let (cfg, mut a, mut b) = capable_ends(EcnKind::Rfc3168);
    cross(&cfg, Time::ZERO, &mut a, Some(&mut b));
    assert_eq!(cross(&cfg, Time::ZERO, &mut b, None).1, crate::ecn::ECT_0);
    let now = b.poll_timeout();
    b.handle_timeout(&cfg, now);
    assert_eq!(cross(&cfg, now, &mut b, Some(&mut a)).1, 0);
    assert_eq!(a.state(), State::Established);
}

/// RFC 8257, section 3.6. RSTs are ECN-capable, too. Marks of all these packets are ignored.
#[test]
fn with_dctcp_syn_syn_ack_and_rst_are_ecn_capable_and_their_marks_ignored() {
    let (cfg, mut a, mut b) = capable_ends(EcnKind::Dctcp);
    let now = Time::ZERO;
    assert_eq!(cross(&cfg, now, &mut a, Some(&mut b)).1, crate::ecn::ECT_0);
    assert_eq!(cross(&cfg, now, &mut b, Some(&mut a)).1, crate::ecn::ECT_0);
    assert_eq!(cross(&cfg, now, &mut a, Some(&mut b)), (Flags::ACK, 0));
    assert_eq!([a.state(), b.state()], [State::Established; 2]);
    assert_eq!([a.cwnd_bytes(), b.cwnd_bytes()].map(|cwnd| cwnd / 1460), [10, 10]);
    a.abort();
    assert_eq!(cross(&cfg, now, &mut a, Some(&mut b)), (Flags::RST | Flags::ACK, crate::ecn::ECT_0));
}

/// Before the receiver is polled, three segments arrive: one, then one that changes DCTCP.CE, then a copy of the
/// latter. The ACK that reports the state before the change (RFC 8257, section 3.2) does not acknowledge the second
/// segment, so it reports no duplicate of it; the next ACK does.
#[test]
fn the_ack_before_a_change_of_dctcp_ce_reports_no_duplicate_that_came_after_it() {
    let cfg = TcpConfig {
        ecn: EcnKind::Dctcp,
        handshake: None,
        sack: true,
        dsack: true,
        initial_window: InitialWindow::Segments(10),
        ..Profile::Rfc5681.config()
    };
    let now = Time::ZERO;
    let (mut a, mut b) = (Connection::client(&cfg, 0, now), Connection::server(&cfg, 0, now));
    a.write(2920);
    let [first, second] = [(); 2].map(|()| a.poll_transmit(&cfg, now).expect("a segment"));
    let second = Segment { header: Header { ecn: crate::ecn::CE, ..second.header }, ..second };
    for segment in [first, second, second] {
        b.handle_segment(&cfg, now, &segment);
    }
    let acks: Vec<_> = std::iter::from_fn(|| b.poll_transmit(&cfg, now)).collect();
    let shown: Vec<_> = acks.iter().map(|ack| (ack.ack, ack.flags.has(Flags::ECE), ack.sack.as_slice())).collect();
    assert_eq!(shown, [(1461, false, &[][..]), (2921, true, &[(1461, 2921)])]);
}

/// The codepoints of the first data of client and server after a handshake of these kinds.
fn codepoints(kinds: [EcnKind; 2]) -> [u8; 2] {
    let configs = kinds.map(|ecn| TcpConfig { ecn, ..Profile::Linux6.config() });
    let now = Time::ZERO;
    let mut ends = [Connection::client(&configs[0], ISS, now), Connection::server(&configs[1], 77, now)];
    let mut found = [9, 9];
    for turn in 0..8 {
        let side = turn % 2;
        while let Some(segment) = ends[side].poll_transmit(&configs[side], now) {
            if segment.len > 0 && found[side] == 9 {
                found[side] = segment.ecn;
            }
            ends[1 - side].handle_segment(&configs[1 - side], now, &segment);
        }
        if turn == 1 {
            for end in &mut ends {
                end.write(1000);
            }
        }
    }
    found
}

/// RFC 3168, section 6.1.1; RFC 9768, section 3.1.2: with a peer that knows only RFC 3168, `AccECN` falls back to it,
/// but not with ECT(1), which is L4S's. A client that only accepts requests none.
#[test]
fn data_has_the_codepoint_that_both_ends_can_agree_on() {
    use EcnKind::{Accecn, AccecnEct1, AccecnFlags, Accept, Dctcp, L4s, Off, Rfc2481, Rfc3168, Rfc3168Ect1};
    let all = [Off, Accept, Rfc2481, Rfc3168, Rfc3168Ect1, Dctcp, L4s, Accecn, AccecnEct1, AccecnFlags];
    let own = |kind| match kind {
        Rfc3168Ect1 | L4s | AccecnEct1 => 1,
        _ => 2,
    };
    let is_accurate = |kind| matches!(kind, Accecn | AccecnEct1 | AccecnFlags);
    for (client, server) in all.iter().flat_map(|client| all.map(|server| (*client, server))) {
        let alike = is_accurate(client) == is_accurate(server);
        let wanted = if matches!(client, Off | Accept) || server == Off || !alike && server == AccecnEct1 {
            [0, 0]
        } else if !alike && client == AccecnEct1 {
            [0, own(server)]
        } else {
            [own(client), own(server)]
        };
        assert_eq!(codepoints([client, server]), wanted, "{client:?} {server:?}");
    }
}
