//! Segments at and next to the edges of what is acceptable (RFC 9293, section 3.10.7.4; RFC 5961).

use super::*;

/// A receive window of 2000 bytes, and 500 received.
fn end(script: &str) {
    let cfg = TcpConfig { receive_buffer_bytes: 2000, fin: Some(FIN), ..config(4) };
    server(&cfg, &format!("0.0 < data 0-500\n0.0 > ack 500\n{script}"));
}

/// RFC 5961, section 3.2: a RST resets only at RCV.NXT; elsewhere in the window it is challenged, and outside dropped.
#[test]
fn a_rst_counts_at_the_next_byte_only() {
    for at in [0, 499, 2500, 2501] {
        end(&format!("0.1 < rst at {at}\n= state Established"));
    }
    for at in [501, 2499] {
        end(&format!("0.1 < rst at {at}\n0.1 > ack 500\n= state Established"));
    }
    end("0.1 < rst at 500\n= state Closed\n= error Reset");
}

/// Data that begins at the right edge is beyond it, as is all that follows; an empty segment there is not answered.
#[test]
fn data_beyond_the_window_is_answered_and_dropped() {
    end("0.1 < data 2500-2600
         0.1 > ack 500
         0.2 < data 2501-2600
         0.2 > ack 500
         0.3 < at 2500
         0.4 < at 2501
         0.5 < data 500-2500
         0.5 > ack 2500
         = received 2500");
}

/// Data that reaches beyond the window is cut off, and so is a FIN after it. A FIN at the edge is in the window.
#[test]
fn a_fin_counts_up_to_the_right_edge() {
    end("0.1 < fin data 500-2501
         0.1 > ack 2500
         = state Established
         0.2 < fin data 2500-2501
         0.2 > ack 2502
         = state CloseWait");
    end("0.1 < fin data 500-2500
         0.1 > ack 2501
         = state CloseWait
         0.2 < fin data 500-2500     # again
         0.2 > ack 2501");
    // a FIN beyond a hole waits for the data before it
    end("0.1 < fin at 1000
         0.1 > ack 500
         = state Established
         0.2 < data 500-999
         0.2 > ack 999
         0.3 < data 999-1000
         0.3 > ack 1001
         = state CloseWait");
}

/// Section 3.8.6.1: a probe of the window is one byte before the next. An empty segment further back is not answered,
/// nor one at the next byte.
#[test]
fn an_empty_segment_one_byte_before_the_next_is_a_probe() {
    end("0.1 < at 499
         0.1 > ack 500
         0.2 < at 498
         0.3 < at 500
         0.4 < data 0-500            # old data is answered
         0.4 > ack 500
         0.5 < data 498-499
         0.5 > ack 500");
}

/// Section 3.10.7.4, fifth check: an ACK of what was not sent is answered and dropped, with the data it carries.
#[test]
fn an_ack_of_what_was_not_sent_is_answered() {
    end("0.1 write 1000
         0.1 > data 0-1000
         0.2 < ack 1001 data 500-600
         0.2 > ack 500
         = received 500
         = flight 1000
         0.3 < ack 1000 data 500-600
         0.3 > ack 600
         = flight 0");
}

/// RFC 5961, section 4.2: a SYN on an established connection is challenged, wherever it lies.
#[test]
fn a_syn_is_challenged() {
    end("0.1 < syn\n0.1 > ack 500\n= state Established");
}

/// Bytes that were received before do not count again (section 3.10.7.4, first check).
#[test]
fn partly_old_data_counts_from_the_next_byte_on() {
    end("0.1 < data 400-501
         0.1 > ack 501
         = received 501
         0.2 < data 300-501
         0.2 > ack 501
         0.3 < data 502-503
         0.3 > ack 501
         0.4 < data 501-503
         0.4 > ack 503
         = received 503");
}

/// Section 3.10.7.1: a RST takes its number from the ACK that it answers; without one it is 0, and the RST acknowledges
/// all that it answers. An abort's RST is the next segment of both streams (section 3.10.5).
#[test]
fn a_rst_has_the_numbers_that_the_other_end_accepts() {
    let cfg = TcpConfig { fin: Some(FIN), ..config(4) };
    let mut it = Script::new(&cfg, Connection::server(&cfg, ISS, Time::ZERO));
    it.take(Time::from_millis(1), "data 0-500");
    it.end.write(300);
    it.poll();
    it.out.clear();
    it.end.abort();
    it.poll();
    let (_, rst) = it.out.pop_front().expect("a RST");
    assert_eq!((rst.seq, rst.ack, rst.flags), (301, 501, Flags::RST | Flags::ACK));
    let answer = |it: &mut Script<'_>, header| {
        it.end.handle_segment(&cfg, Time::from_millis(2), &Segment::from(header));
        it.poll();
        let (_, rst) = it.out.pop_front().expect("a RST");
        (rst.seq, rst.ack, rst.flags)
    };
    let late = Header { seq: 600, len: 100, ack: 77, flags: Flags::ACK, ..Header::default() };
    assert_eq!(answer(&mut it, late), (77, 0, Flags::RST));
    let syn = Header { seq: 600, len: 10, flags: Flags::SYN, ..Header::default() };
    assert_eq!(answer(&mut it, syn), (0, 611, Flags::RST | Flags::ACK));
    let fin = Header { seq: 600, len: 10, flags: Flags::FIN | Flags::SYN, ..Header::default() };
    assert_eq!(answer(&mut it, fin), (0, 612, Flags::RST | Flags::ACK));
}
