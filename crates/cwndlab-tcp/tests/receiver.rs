//! What a receiver answers, by the examples of RFC 2018, section 4.

use cwndlab_tcp::{AckPolicy, Connection, Flags, Profile, Segment, TcpConfig};
use cwndlab_units::Time;

/// First sequence number in; ACK number and blocks out.
type Row = (u32, u32, &'static [(u32, u32)]);

/// The left edge of the window is 5000 and segments have 500 bytes.
fn receive(rows: &[Row]) {
    let cfg = TcpConfig { sack: true, ack_policy: AckPolicy::Every, mss: 500, ..Profile::Rfc5681.config() };
    let now = Time::from_millis(1);
    let mut c = Connection::server(&cfg, 0, Time::ZERO);
    let syn =
        Segment { seq: 4999, flags: Flags::SYN, window: 65535, mss: 500, sack_permitted: true, ..Segment::default() };
    c.handle_segment(&cfg, now, &syn);
    let answer = c.poll_transmit(&cfg, now).expect("a SYN-ACK");
    assert!(answer.sack_permitted && answer.ack == 5000);
    for &(seq, ack, blocks) in rows {
        let data = Segment { seq, ack: 1, len: 500, window: 65535, flags: Flags::ACK, ..Segment::default() };
        c.handle_segment(&cfg, now, &data);
        let answer = c.poll_transmit(&cfg, now).expect("an ACK at once");
        assert_eq!((answer.ack, answer.sack.as_slice()), (ack, blocks), "after {seq}");
        assert_eq!(c.poll_transmit(&cfg, now), None);
    }
}

#[test]
fn rfc2018_case_1_the_last_four_are_lost() {
    receive(&[(5000, 5500, &[]), (5500, 6000, &[]), (6000, 6500, &[]), (6500, 7000, &[])]);
}

#[test]
fn rfc2018_case_2_the_first_is_lost() {
    receive(&[
        (5500, 5000, &[(5500, 6000)]),
        (6000, 5000, &[(5500, 6500)]),
        (6500, 5000, &[(5500, 7000)]),
        (7000, 5000, &[(5500, 7500)]),
        (7500, 5000, &[(5500, 8000)]),
        (8000, 5000, &[(5500, 8500)]),
        (8500, 5000, &[(5500, 9000)]),
    ]);
}

#[test]
fn rfc2018_case_3_every_second_is_lost_and_two_come_late() {
    receive(&[
        (5000, 5500, &[]),
        (6000, 5500, &[(6000, 6500)]),
        (7000, 5500, &[(7000, 7500), (6000, 6500)]),
        (8000, 5500, &[(8000, 8500), (7000, 7500), (6000, 6500)]),
        // the fourth comes out of order, then the second
        (6500, 5500, &[(6000, 7500), (8000, 8500)]),
        (5500, 7500, &[(8000, 8500)]),
    ]);
}

#[test]
fn rfc2883_a_segment_that_came_twice_is_reported_once_as_the_first_block() {
    // RFC 2883, section 4.1.1 (3): below the cumulative ACK, with data beyond a hole
    receive(&[
        (5000, 5500, &[]),
        (6000, 5500, &[(6000, 6500)]),
        (5000, 5500, &[(5000, 5500), (6000, 6500)]),
        (6500, 5500, &[(6000, 7000)]),
    ]);
}
