//! What the receiver sends in response to data: ACKs, SACK blocks and windows.

use super::*;

/// RFC 2018, section 4: left window edge 5000, eight segments of 500 bytes.
#[test]
fn sack_blocks_follow_the_cases_of_rfc_2018() {
    let cfg = TcpConfig { sack: true, ..config(1) };
    // Case 1: the first four are received, the last four dropped.
    server(
        &cfg,
        "0 < data 0-5000
         0 > ack 5000
         0 < data 5000-5500
         0 > ack 5500
         0 < data 5500-6000
         0 > ack 6000
         0 < data 6000-6500
         0 > ack 6500
         0 < data 6500-7000
         0 > ack 7000",
    );
    // Case 2: the first is dropped, the other seven are received.
    server(
        &cfg,
        "0 < data 0-5000
         0 > ack 5000
         0 < data 5500-6000
         0 > ack 5000 sack 5500-6000
         0 < data 6000-6500
         0 > ack 5000 sack 5500-6500
         0 < data 6500-7000
         0 > ack 5000 sack 5500-7000
         0 < data 7000-7500
         0 > ack 5000 sack 5500-7500
         0 < data 7500-8000
         0 > ack 5000 sack 5500-8000
         0 < data 8000-8500
         0 > ack 5000 sack 5500-8500
         0 < data 8500-9000
         0 > ack 5000 sack 5500-9000",
    );
    // Case 3: the 2nd, 4th, 6th and 8th are dropped; then the 4th and the 2nd arrive late.
    server(
        &cfg,
        "0 < data 0-5000
         0 > ack 5000
         0 < data 5000-5500
         0 > ack 5500
         0 < data 6000-6500
         0 > ack 5500 sack 6000-6500
         0 < data 7000-7500
         0 > ack 5500 sack 7000-7500 6000-6500
         0 < data 8000-8500
         0 > ack 5500 sack 8000-8500 7000-7500 6000-6500
         0 < data 6500-7000
         0 > ack 5500 sack 6000-7500 8000-8500
         0 < data 5500-6000
         0 > ack 7500 sack 8000-8500",
    );
}

/// RFC 2883, section 4.1.
#[test]
fn duplicates_are_reported_as_in_rfc_2883() {
    let cfg = TcpConfig { sack: true, ..config(1) };
    // 4.1.1: two segments arrive, their ACKs are lost, and the first segment arrives again.
    server(
        &cfg,
        "0 < data 0-3000
         0 > ack 3000
         0 < data 3000-3500
         0 > ack 3500
         0 < data 3500-4000
         0 > ack 4000
         0 < data 3000-3500
         0 > ack 4000 sack 3000-3500",
    );
    // 4.1.2: out-of-order segments, and a duplicate below the hole.
    server(
        &cfg,
        "0 < data 0-3000
         0 > ack 3000
         0 < data 3000-3500
         0 > ack 3500
         0 < data 3500-4000
         0 > ack 4000
         0 < data 4500-5000
         0 > ack 4000 sack 4500-5000
         0 < data 3000-3500
         0 > ack 4000 sack 3000-3500 4500-5000",
    );
}

#[test]
fn without_sack_no_block_is_sent() {
    server(
        &config(1),
        "0 < data 1000-2000
         0 > ack 0
         0 < data 0-1000
         0 > ack 2000",
    );
}

/// RFC 5681, 4.2.
#[test]
fn delayed_acks_go_at_every_second_segment_or_by_the_timer_and_at_once_out_of_order() {
    let cfg = TcpConfig { ack_policy: AckPolicy::Delayed { timeout_ns: Time::from_millis(200) }, ..config(1) };
    server(
        &cfg,
        "0.0 < data 0-1000
         0.1 < data 1000-2000
         0.1 > ack 2000
         0.3 < data 2000-3000
         0.5 > ack 3000
         0.6 < data 4000-5000    # a hole
         0.6 > ack 3000
         0.7 < data 3000-4000    # fills it
         0.7 > ack 5000",
    );
}

#[test]
fn an_acknowledgment_rides_on_data() {
    let cfg = TcpConfig { ack_policy: AckPolicy::Delayed { timeout_ns: Time::from_millis(200) }, ..config(4) };
    server(
        &cfg,
        "0.0 < data 0-1000
         0.1 write 500
         0.1 > data 0-500
         0.5 < ack 500
         = received 1000",
    );
}

/// RFC 9293, 3.8.6.2.2.
#[test]
fn the_window_closes_when_nobody_reads_and_opens_when_somebody_does() {
    let cfg = TcpConfig { receive_buffer_bytes: 3000, ..config(1) };
    let end = server(
        &cfg,
        "0 manual
         0 < data 0-1000
         0 > ack 1000
         0 < data 1000-2000
         0 > ack 2000
         0 < data 2000-3000
         0 > ack 3000
         1 < data 3000-4000      # beyond the window
         1 > ack 3000
         = received 3000
         2 read 3000
         2 > ack 3000            # the window is open again
         3 < data 3000-4000
         3 > ack 4000",
    );
    assert_eq!(end.received(), 4000);
}

/// RFC 9293, 3.8.6.2.2: an update is due once the window would grow by a segment or half the buffer, whichever is less.
#[test]
fn a_window_opens_by_half_a_buffer_that_holds_less_than_two_segments() {
    let cfg = TcpConfig { receive_buffer_bytes: 1600, ..config(1) };
    server(
        &cfg,
        "0 manual
         0 < data 0-1000
         0 > ack 1000
         0 < data 1000-1600
         0 > ack 1600
         1 read 799              # less than half of 1600
         2 read 1
         2 > ack 1600",
    );
}

/// RFC 2883, section 4: if part of a segment arrived before, that part is reported; here beyond a hole, where nothing
/// is acknowledged yet.
#[test]
fn a_partial_duplicate_beyond_a_hole_is_reported() {
    let cfg = TcpConfig { sack: true, ..config(1) };
    server(
        &cfg,
        "0 < data 1000-2000
         0 > ack 0 sack 1000-2000
         0 < data 1500-2500
         0 > ack 0 sack 1500-2000 1000-2500
         0 < data 500-1200
         0 > ack 0 sack 1000-1200 500-2500
         0 < data 0-500
         0 > ack 2500",
    );
}

/// RFC 2883, section 4: the block reports the data that arrived twice, but not the FIN behind it, which arrived once.
#[test]
fn a_duplicate_before_a_fin_is_reported_without_the_fin() {
    let cfg = TcpConfig { sack: true, fin: Some(FIN), ..config(1) };
    server(
        &cfg,
        "0 < data 1000-2000 fin
         0 > ack 0 sack 1000-2001
         0 < data 1000-2000
         0 > ack 0 sack 1000-2000 1000-2001",
    );
}

/// RFC 9293, 3.10.7.4: data beyond the window is "trimmed to the window", including a FIN that follows it.
#[test]
fn a_fin_beyond_the_window_is_not_received() {
    let cfg = TcpConfig { receive_buffer_bytes: 3000, sack: true, fin: Some(FIN), ..config(1) };
    let end = server(
        &cfg,
        "0 < data 2000-3500 fin
         0 > ack 0 sack 2000-3000
         0 < data 0-2000
         0 > ack 3000",
    );
    assert!(!end.peer_closed());
    assert_eq!(end.receiver.fin_at, None);
}

/// RFC 9293, 3.8.6.1, about the receiver of a probe: "it must still send an acknowledgment showing its next expected
/// sequence number and current window".
#[test]
fn a_probe_of_a_closed_window_with_data_is_acknowledged_at_once() {
    let policy = AckPolicy::Delayed { timeout_ns: Time::from_millis(200) };
    let cfg = TcpConfig { receive_buffer_bytes: 2000, ack_policy: policy, sack: true, ..config(1) };
    let end = server(
        &cfg,
        "0 manual
         0 < data 0-2000
         0 > ack 2000
         1 < data 2000-2001
         1 > ack 2000
         = received 2000",
    );
    assert!(end.receiver.beyond.is_none());
}

/// A segment that starts at the right edge lies entirely beyond the window: there is nothing to keep or to report.
#[test]
fn a_segment_at_the_right_edge_leaves_no_empty_block() {
    let cfg = TcpConfig { receive_buffer_bytes: 3000, sack: true, ..config(1) };
    let end = server(&cfg, "0 < data 3000-4000\n0 > ack 0");
    assert!(end.receiver.beyond.is_none(), "{:?}", end.receiver.beyond);
    server(
        &cfg,
        "0 < data 3000-4000
         0 > ack 0
         0 < data 1000-2000
         0 > ack 0 sack 1000-2000
         0 < data 3000-4000
         0 > ack 0 sack 1000-2000",
    );
}

/// RFC 9293, section 3.10.7.4, first check: what does not fit into the window is answered with an ACK, except for a segment
/// that takes no sequence number.
#[test]
fn a_segment_before_or_beyond_the_window_is_answered_unless_it_is_empty() {
    let cfg = TcpConfig { receive_buffer_bytes: 4000, ..config(1) };
    server(
        &cfg,
        "0.0 < data 0-1000
         0.0 > ack 1000
         0.1 < data 5001-6001
         0.1 > ack 1000
         0.2 < at 5001 ack 0
         0.3 < at 5001 fin ack 0
         0.3 > ack 1000
         0.4 < data 0-1000
         0.4 > ack 1000
         0.5 < at 0 ack 0
         0.6 < fin
         0.6 > ack 1001
         0.7 < at 1000 fin ack 0
         0.7 > ack 1001
         = received 1000",
    );
}
