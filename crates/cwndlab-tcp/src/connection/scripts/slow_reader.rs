//! The windows that a receiver offers whose application reads slowly, without Linux's buffers (RFC 9293, 3.8.6.2.2).

use super::*;

/// The windows in the segments that are sent after each step: data that arrives, or bytes that are read.
fn windows(cfg: &TcpConfig, steps: &[(&str, u64)]) -> Vec<Vec<u32>> {
    let mut script = Script::new(cfg, Connection::server(cfg, ISS, Time::ZERO));
    script.end.set_auto_read(false);
    let mut found = Vec::new();
    for (k, &(arrives, reads)) in steps.iter().enumerate() {
        let now = Time::from_millis(k as u64);
        script.now = now;
        if reads > 0 {
            script.end.read(cfg, now, reads);
        } else {
            let seg = script.incoming(&["data", arrives]);
            script.end.handle_segment(cfg, now, &seg);
        }
        script.poll();
        found.push(script.out.drain(..).map(|(_, segment)| segment.window).collect());
    }
    found
}

#[test]
fn the_right_edge_moves_by_segments_and_never_back() {
    let cfg = TcpConfig { receive_buffer_bytes: 4000, ..config(1) };
    let found = windows(
        &cfg,
        &[
            ("0-1000", 0),    // 3000 of 4000 bytes are free
            ("", 500),        // half a segment more, which is not told
            ("1000-1100", 0), // nor here: the edge stays at 4000
            ("", 500),        // all but 100 bytes: the edge moves by a segment
            ("1100-2100", 0),
            ("2100-3100", 0),
            ("3100-4100", 0),
        ],
    );
    let expected: [&[u32]; 7] = [&[3000], &[], &[2900], &[3900], &[2900], &[1900], &[900]];
    assert_eq!(found, expected);
}

#[test]
fn less_than_a_segment_that_is_free_is_not_offered_and_half_a_small_buffer_is() {
    let cfg = TcpConfig { receive_buffer_bytes: 1500, ..config(1) };
    let steps = [("0-1000", 0), ("1000-1500", 0), ("", 749), ("", 1)];
    assert_eq!(windows(&cfg, &steps), [&[500][..], &[0], &[], &[750]]);
}

/// `net_rx_action`: of segments that arrive at the same instant an application reads nothing before the last.
#[test]
fn what_arrives_at_one_instant_is_read_after_its_last_segment() {
    let cfg = TcpConfig { mss: 1012, handshake: None, ..Profile::Linux6.config() };
    let mut script = Script::new(&cfg, Connection::server(&cfg, ISS, Time::ZERO));
    assert!(script.end.hold_reads(&cfg) && !script.end.hold_reads(&cfg), "it holds once");
    let mut unread = Vec::new();
    for data in ["0-1000", "1000-2000"] {
        let seg = script.incoming(&["data", data]);
        script.end.handle_segment(&cfg, Time::ZERO, &seg);
        unread.push(script.end.receiver.unread);
    }
    script.end.release_reads(&cfg, Time::ZERO);
    unread.push(script.end.receiver.unread);
    assert_eq!(unread, [1000, 2000, 0]);
    assert!(!script.end.hold_reads(&TcpConfig { linux_details: false, ..cfg }));
}

/// RFC 7323, section 2.3: with window scale 1 the window on the wire counts units of 2 bytes, rounded down.
#[test]
fn a_scaled_window_is_of_whole_units() {
    let cfg = TcpConfig { receive_buffer_bytes: 100_000, window_scale: true, ..config(1) };
    // 50,000 bytes unread, of which 20,001 are read: 70,001 are free, and the edge moves by an even number
    let found = windows(&cfg, &[("0-50000", 0), ("", 20_001), ("50000-51000", 0)]);
    let expected: [&[u32]; 3] = [&[50_000], &[70_000], &[69_000]];
    assert_eq!(found, expected);
}

/// A segment of 1001 bytes is free, of which the scale can express 1000.
#[test]
fn a_closed_window_opens_by_a_segment_less_what_the_scale_cannot_express() {
    let cfg = TcpConfig { mss: 1001, receive_buffer_bytes: 100_000, window_scale: true, ..config(1) };
    let found = windows(&cfg, &[("0-50000", 0), ("50000-100000", 0), ("", 1000), ("", 1)]);
    let expected: [&[u32]; 4] = [&[50_000], &[0], &[], &[1000]];
    assert_eq!(found, expected);
}

/// `tcp_recvmsg_locked`: an application reads 64 KB at a time, so of more data that arrives at one instant the ACK that the first
/// read draws has the window of what is left.
#[test]
fn the_ack_of_a_read_of_64_kb_has_the_window_of_what_is_left() {
    let tuning = ReceiveTuning::Linux { initial_bytes: 400_000, most_bytes: 400_000 };
    let cfg = TcpConfig { mss: 1000, timestamps: false, receive_tuning: tuning, ..Profile::Linux6.config() };
    let windows = |segments: u32| {
        let mut end = Connection::client(&cfg, 0, Time::ZERO);
        let sent = |end: &mut Connection| std::iter::from_fn(|| end.poll_transmit(&cfg, Time::ZERO)).last();
        sent(&mut end);
        let header = Header { flags: Flags::ACK, ack: 1, wire_bytes: 1040, ..Header::default() };
        let syn = Header { flags: Flags::SYN | Flags::ACK, mss: 1000, window_scale_plus_1: 8, ..header };
        end.handle_segment(&cfg, Time::ZERO, &Segment::from(syn));
        let arrive = |end: &mut Connection, k: u32| {
            let data = Header { seq: 1 + 1000 * k, len: 1000, window: 65_535, ..header };
            end.handle_segment(&cfg, Time::ZERO, &Segment::from(data));
        };
        for k in 0..40 {
            arrive(&mut end, k);
            sent(&mut end);
        }
        assert!(end.hold_reads(&cfg));
        (40..40 + segments).for_each(|k| arrive(&mut end, k));
        end.release_reads(&cfg, Time::ZERO);
        sent(&mut end).unwrap().window
    };
    // A segment of 1000 bytes occupies 2304 of 400,000, so 111/256 of what is free may be advertised, in units of 8 bytes.
    assert_eq!([60, 65, 66, 80].map(windows), [173_440, 173_440, 172_440, 158_456]);
}
