//! What the sender makes of echoes (RFC 3168, section 6.1.2).

use super::loss::after_ten;
use super::*;

fn capable() -> TcpConfig {
    TcpConfig { ecn: EcnKind::Rfc3168, ecn_to_one_segment: true, ..config(1) }
}

/// At one segment an echo closes the window until the retransmit timer expires, though all that was out is acknowledged
/// meanwhile: two small segments had fitted into the window of one.
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

/// Ten segments, the echo of the first, then nothing: everything goes again, and while it does every ACK still carries ECE, as
/// no new data has gone that could carry CWR.
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
         = cwnd 4500",
    );
}

/// An echo while everything goes again after a timeout halves what the window admits, not what was out before: it may not grow.
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

/// With AccECN everything after the handshake is ECN-capable, control packets and repairs included, as in Linux; with RFC 3168
/// only new data is (section 6.1.4 and 6.1.5).
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
