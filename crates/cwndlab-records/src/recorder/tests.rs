use cwndlab_engine::{Opened, Probe as _, Scenario};
use cwndlab_tcp::Header;

use super::*;
use crate::tables::SegmentEvent;
mod links;
mod without;

use SegmentEvent::{Ack, Drop, DupAck, Receive, Retransmit, Send};

/// Node 0 sends to node 1; node 0 is observed. The profile gives 1000-byte segments.
fn recorder() -> Recorder {
    let tcp = serde_json::to_string(&cwndlab_tcp::Profile::Ns2_1998.config()).unwrap();
    let scenario = format!(
        r#"{{"duration_ns":1000000000,"nodes":["a","b"],"tcp":[{tcp}],
        "links":[{{"name":"a>b","from":0,"to":1,"rate_bps":1000000,"delay_ns":0,"queue":{{"kind":"infinite"}}}}],
        "traffic":[{{"name":"t","client":0,"server":1,"tcp_client":0,"tcp_server":0,"start_ns":0,
                     "app":{{"kind":"bulk","bytes":null,"from":"client"}}}}],
        "probes":{{"segments_at":0}}}}"#
    );
    let mut recorder = Recorder::new(&Scenario::from_json(&scenario).unwrap());
    recorder.opened(&Opened { connection: 0, traffic: 0, tcp_client: 0, tcp_server: 0, datagrams: false });
    recorder
}

const DATA: Way = Way { connection: 0, from_client: true };
const ACKS: Way = Way { connection: 0, from_client: false };

fn data(seq: u32) -> Segment {
    Segment::from(Header {
        seq,
        ack: 1,
        len: 1000,
        window: 9000,
        flags: Flags::ACK,
        wire_bytes: 1000,
        ..Header::default()
    })
}

fn ack(ack: u32, window: u32) -> Segment {
    Segment::from(Header { seq: 1, ack, window, flags: Flags::ACK, wire_bytes: 40, ..Header::default() })
}

/// (event, segment, seq, ack) of each row.
fn rows(recorder: Recorder) -> Vec<(SegmentEvent, i64, u64, u64)> {
    let records = recorder.finish();
    let rows = Segments::rows(records.table("segments").unwrap()).unwrap();
    rows.map(|row| (row.event.0, row.segment, row.seq, row.ack)).collect()
}

#[test]
fn segments_are_numbered_from_one_and_acknowledgments_by_the_highest_packet_they_cover() {
    let mut recorder = recorder();
    recorder.segment(Time::ZERO, Seen::Sent { timeout: false }, DATA, 0, &data(1));
    recorder.segment(Time::ZERO, Seen::Sent { timeout: false }, DATA, 0, &data(1001));
    recorder.segment(Time::ZERO, Seen::Dropped { link: 0, cause: DropCause::Full }, DATA, 0, &data(1001));
    recorder.segment(Time::ZERO, Seen::Received, ACKS, 0, &ack(1001, 9000));
    recorder.segment(
        Time::ZERO,
        Seen::Sent { timeout: false },
        DATA,
        0,
        &Segment::from(Header { retransmission: true, ..data(1001).header }),
    );
    recorder.segment(Time::ZERO, Seen::Received, ACKS, 0, &ack(2001, 9000));
    assert_eq!(
        rows(recorder),
        [
            (Send, 1, 0, 0),
            (Send, 2, 1000, 0),
            (Drop, 2, 1000, 0),
            (Ack, 1, 0, 1000),
            (Retransmit, 2, 1000, 0),
            (Ack, 2, 0, 2000),
        ]
    );
}

#[test]
fn a_duplicate_acknowledges_nothing_new_with_data_outstanding_and_the_same_window() {
    let mut recorder = recorder();
    let mut see = |way, segment: &Segment| recorder.segment(Time::ZERO, Seen::Received, way, 0, segment);
    see(ACKS, &ack(1, 9000)); // nothing outstanding
    see(DATA, &data(1));
    see(DATA, &data(1001));
    see(ACKS, &ack(1, 9000)); // duplicate: the first packet was lost
    see(ACKS, &ack(1, 8000)); // window update
    see(ACKS, &ack(2001, 8000)); // all
    see(ACKS, &ack(2001, 8000)); // nothing outstanding
    let events: Vec<_> = rows(recorder).into_iter().map(|(event, ..)| event).collect();
    assert_eq!(events, [Ack, Receive, Receive, DupAck, Ack, Ack, Ack]);
}

#[test]
fn an_acknowledgment_that_a_link_dropped_acknowledged_nothing() {
    let mut recorder = recorder();
    let drop = Seen::Dropped { link: 0, cause: DropCause::Full };
    for (event, way, segment) in [
        (Seen::Received, DATA, data(1)),
        (Seen::Received, DATA, data(1001)),
        (drop, ACKS, ack(1001, 9000)),
        (Seen::Received, ACKS, ack(1001, 9000)), // the first of its kind that passes
        (Seen::Received, ACKS, ack(1001, 9000)), // a duplicate
    ] {
        recorder.segment(Time::ZERO, event, way, 0, &segment);
    }
    let events: Vec<_> = rows(recorder).into_iter().map(|(event, ..)| event).collect();
    assert_eq!(events, [Receive, Receive, Drop, Ack, DupAck]);
}

#[test]
fn offsets_go_on_past_the_wrap_of_sequence_numbers() {
    let mut recorder = recorder();
    let step = 1 << 30;
    for k in 0..6_u64 {
        let position = 1 + k * step;
        recorder.segment(Time::ZERO, Seen::Sent { timeout: false }, DATA, 0, &data(position as u32));
        recorder.segment(Time::ZERO, Seen::Received, ACKS, 0, &ack((position + 1000) as u32, 9000));
    }
    let rows = rows(recorder);
    assert_eq!((rows[10].2, rows[11].3), (5 * step, 5 * step + 1000));
}

#[test]
fn the_memory_held_is_that_of_the_rows_of_all_tables() {
    let mut recorder = recorder();
    let watched = recorder.held_bytes();
    assert_eq!(watched, size_of::<Watched>() as u64);
    recorder.segment(Time::ZERO, Seen::Sent { timeout: false }, DATA, 0, &data(1));
    let row = recorder.held_bytes() - watched;
    assert!((80..400).contains(&row), "{row} bytes of a segment");
    recorder.segment(Time::ZERO, Seen::Sent { timeout: false }, DATA, 0, &data(1001));
    assert_eq!(recorder.held_bytes(), watched + 2 * row);
    let mut held = recorder.held_bytes();
    let mut grown = |recorder: &Recorder| {
        let more = recorder.held_bytes().checked_sub(held).expect("rows add memory");
        held += more;
        more
    };
    recorder.delay(Time::ZERO, DATA, Time::ZERO, 1000);
    assert!(grown(&recorder) >= 20);
    let counters = cwndlab_net::LinkCounters::default();
    recorder.snapshot_link(Time::ZERO, 0, &counters, None);
    assert!(grown(&recorder) >= 64);
    for traced in [
        Traced::Limited { from: Time::ZERO, to: Time::from_nanos(1), by: cwndlab_tcp::Limit::Cwnd },
        Traced::Expired {
            at: Time::ZERO,
            timer: cwndlab_tcp::Expired::Retransmission,
            set_at: Time::ZERO,
            backoffs: 1,
            acked: 0,
        },
    ] {
        recorder.traced(DATA, &traced);
        assert!(grown(&recorder) >= 16, "{traced:?}");
    }
}
