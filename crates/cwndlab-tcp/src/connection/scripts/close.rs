//! Closing and resetting (RFC 9293, 3.6; RFC 5961).

use super::*;

fn cfg() -> TcpConfig {
    TcpConfig { fin: Some(FinConfig::of(Profile::Linux6)), ..config(4) }
}

/// RFC 9293, figure 12.
#[test]
fn a_normal_close_ends_in_time_wait_here_and_closed_there() {
    client(
        &cfg(),
        "0.0 write 500
         0.0 close
         0.0 > data 0-500
         0.0 > fin ack 0
         = state FinWait1
         0.1 < ack 501
         = state FinWait2
         0.2 < fin
         0.2 > ack 1
         = state TimeWait
         60.1 < at 0 fin         # our ACK was lost
         60.1 > ack 1
         = state TimeWait
         = state TimeWait
         120.2 < ack 501
         120.2 > rst             # RFC 9293, 3.10.7.1
         = state Closed error none",
    );
    server(
        &cfg(),
        "0.0 < data 0-500 fin
         0.0 > ack 501
         = state CloseWait received 500
         0.5 write 700           # a half-closed connection still sends
         0.5 > data 0-700
         0.5 close
         0.5 > fin ack 501
         = state LastAck
         0.6 < at 501 ack 701
         = state Closed error none",
    );
}

/// RFC 9293, figure 13.
#[test]
fn both_ends_may_close_at_once() {
    client(
        &cfg(),
        "0.0 close
         0.0 > fin ack 0
         0.1 < fin ack 0         # has not seen ours
         0.1 > ack 1
         = state Closing
         0.2 < at 1 ack 1
         = state TimeWait",
    );
}

#[test]
fn a_fin_that_also_acknowledges_ours_leads_straight_to_time_wait() {
    client(
        &cfg(),
        "0.0 close
         0.0 > fin ack 0
         0.1 < fin ack 1
         0.1 > ack 1
         = state TimeWait",
    );
}

#[test]
fn a_fin_before_lost_data_waits_for_it() {
    server(
        &cfg(),
        "0.0 < data 1000-2000 fin
         0.0 > ack 0
         = state Established
         0.1 < data 0-1000
         0.1 > ack 2001
         = state CloseWait received 2000",
    );
}

#[test]
fn a_lost_fin_is_sent_again() {
    client(
        &cfg(),
        "0.0 close
         0.0 > fin ack 0
         1.0 > fin ack 0
         3.0 > fin ack 0
         3.1 < ack 1
         = state FinWait2",
    );
}

/// RFC 9293, 3.10.7.1 and 3.10.7.4: if TIME-WAIT is too short, the last ACK may be lost and never be sent again.
#[test]
fn a_fin_that_comes_to_a_closed_end_is_reset_and_that_reset_is_no_failure() {
    let cfg = TcpConfig { fin: Some(FinConfig { time_wait_ns: Time::ZERO, ..FIN }), ..cfg() };
    client(
        &cfg,
        "0.0 close
         0.0 > fin ack 0
         0.1 < fin ack 1
         0.1 > ack 1
         0.2 < ack 1             # a straggler
         0.2 > rst
         = state Closed
         1.1 < at 0 fin ack 1
         1.1 > rst",
    );
    server(
        &cfg,
        "0.0 < fin
         0.0 > ack 1
         0.0 close
         0.0 > fin ack 1
         = state LastAck
         0.2 < at 1 rst
         = state Closed error none",
    );
}

/// RFC 5961, sections 3.2 and 4.2.
#[test]
fn only_an_exact_reset_resets_and_others_are_challenged() {
    server(
        &cfg(),
        "0.0 < data 0-1000
         0.0 > ack 1000
         0.1 < at 1500 rst       # in the window, not its first number
         0.1 > ack 1000
         0.2 < at 900 rst        # before the window
         0.3 < syn
         0.3 > ack 1000
         = state Established
         0.4 < at 1000 rst
         = state Closed error Reset",
    );
}

#[test]
fn an_abort_tells_the_peer() {
    client(
        &cfg(),
        "0.0 write 100
         0.0 > data 0-100
         0.1 abort
         0.1 > rst ack 0
         = state Closed error Aborted",
    );
}

#[test]
fn data_never_acknowledged_is_given_up_with_a_reason() {
    let cfg = cfg();
    let mut end = Connection::client(&cfg, ISS, Time::ZERO);
    end.write(10);
    let mut now = Time::ZERO;
    while !end.is_finished() {
        while end.poll_transmit(&cfg, now).is_some() {}
        now = end.poll_timeout();
        assert!(!now.is_never());
        end.handle_timeout(&cfg, now);
    }
    assert_eq!(end.error(), Some(CloseReason::RetransmitTimeout));
    assert!(now > Time::from_secs(100), "R2 is at least 100 s (RFC 9293, 3.8.3): {now}");
}

/// RFC 9293, 3.10.7.4 and RFC 1122, 4.2.2.13: when a SYN in TIME-WAIT may open the connection again.
#[test]
fn a_syn_beyond_what_was_received_opens_time_wait_again_at_the_end_that_listens() {
    let closed = "0.0 close
         0.0 > fin ack 0
         0.1 < ack 1
         0.2 < fin
         0.2 > ack 1
         = state TimeWait
         1.0 < syn at 0          # perhaps an old duplicate
         1.0 > ack 1
         = state TimeWait";
    server(
        &cfg(),
        &format!(
            "{closed}
             2.0 < syn at 5000
             2.0 > syn ack 5001
             = state SynReceived
             2.1 < at 5001 ack 65539 # 65537 beyond the FIN, and the SYN itself
             = state Established
             2.2 < data 5001-6001
             2.2 > ack 6001
             = received 1000 error none"
        ),
    );
    client(
        &cfg(),
        &format!(
            "{closed}
             2.0 < syn at 5000
             2.0 > ack 1
             = state TimeWait"
        ),
    );
}

/// RFC 6191, section 2: with timestamps, a newer timestamp is enough.
#[test]
fn a_newer_stamp_opens_time_wait_again_whatever_the_number() {
    let cfg = TcpConfig { timestamps: true, ..cfg() };
    for (stamp, state) in [(0_u32, State::TimeWait), (1, State::SynReceived), ((1 << 31) + 1, State::TimeWait)] {
        let mut end = server(
            &cfg,
            "0.0 close
             0.0 > fin ack 0
             0.1 < ack 1
             0.2 < fin
             0.2 > ack 1",
        );
        let syn = Segment::from(Header { flags: Flags::SYN, has_timestamps: true, ts_val: stamp, ..Header::default() });
        end.handle_segment(&cfg, Time::from_secs(1), &syn);
        assert_eq!(end.state(), state, "stamp {stamp}");
    }
}

/// RFC 9293, 3.10.7.1: the answer is `<SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>` if the segment has no ACK, else
/// `<SEQ=SEG.ACK><CTL=RST>`.
#[test]
fn a_closed_port_answers_every_segment_but_a_reset() {
    let cfg = TcpConfig { handshake: Some(HandshakeConfig::STANDARD), fin: Some(FIN), ..config(1) };
    let mut end = Connection::server(&cfg, ISS, Time::ZERO);
    end.close();
    let mut answer = |seg: Segment| {
        end.handle_segment(&cfg, Time::ZERO, &seg);
        end.poll_transmit(&cfg, Time::ZERO).map(|s| (s.seq, s.ack, s.flags))
    };
    let syn = Segment::from(Header { seq: 77, flags: Flags::SYN, ..Header::default() });
    assert_eq!(answer(syn), Some((0, 78, Flags::RST | Flags::ACK)));
    assert_eq!(answer(Segment::from(Header { len: 10, ..syn.header })), Some((0, 88, Flags::RST | Flags::ACK)));
    let ack = Segment::from(Header { seq: 78, ack: 500, flags: Flags::ACK, ..Header::default() });
    assert_eq!(answer(ack), Some((500, 0, Flags::RST)));
    assert_eq!(answer(Segment::from(Header { flags: Flags::RST, ..syn.header })), None);
    assert_eq!(answer(Segment::from(Header { flags: Flags::RST | Flags::ACK, ..ack.header })), None);
}

/// RFC 7323, section 3.2: timestamps "SHOULD be sent in an <RST> segment", which is longer by the option.
#[test]
fn a_reset_carries_timestamps_where_they_are_agreed_on() {
    for (timestamps, bytes) in [(true, 12), (false, 0)] {
        let cfg = TcpConfig { timestamps, fin: Some(FIN), header_bytes: 40, ack_bytes: 40, ..config(1) };
        let mut end = Connection::client(&cfg, 0, Time::ZERO);
        let now = Time::from_millis(3);
        end.handle_segment(
            &cfg,
            now,
            &Segment::from(Header {
                seq: 1,
                ack: 1,
                len: 10,
                flags: Flags::ACK,
                ts_val: 9,
                has_timestamps: timestamps,
                ..Header::default()
            }),
        );
        end.abort();
        let reset = end.poll_transmit(&cfg, now).expect("a RST");
        assert!(reset.flags.has(Flags::RST));
        assert_eq!((reset.has_timestamps, reset.wire_bytes), (timestamps, 40 + bytes));
        assert_eq!((reset.ts_val, reset.ts_ecr), if timestamps { (3000, 9) } else { (0, 0) });
    }
}
