//! A short run on a kernel, written by hand, whose records are known.

use super::*;
use crate::table::Table as _;
use crate::tables::{
    ConnectionSnapshots, Connections, Delays, Failures, Links, ObjectSnapshots, Objects, Queues, SegmentEvent,
    Segments, SenderState, Windows,
};
use SegmentEvent::{Ack, Drop, DupAck, Mark, Receive, Retransmit, Send};
use SenderState::{Cwr, Disorder, Loss, Open, Recovery};

const MS: u64 = 1_000_000;
/// The initial sequence numbers; the client's wraps within the first segment.
const ISS: [u32; 2] = [u32::MAX - 500, 7000];
const SYN: u8 = 2;
const ACK: u8 = 16;
const FIN_ACK: u8 = 17;
/// MSS 1000 and a window scale of 2.
const SYN_OPTIONS: &str = "020403e801030302";

/// A line of the router's trace: milliseconds, event, port or link, packet, whether the client sent it, flags, positions
/// of the first byte and of what is acknowledged (the SYN is 0), payload bytes, options.
type Row = (u64, &'static str, u32, u64, bool, u8, u32, u32, u32, &'static str);

/// The client writes 3000 bytes. A full buffer drops the second segment, the reverse link the ACK of its fast
/// retransmission, so that a timeout sends it again. Both ends close.
const TRANSFER: [Row; 29] = [
    (20, "in", 0, 0, true, SYN, 0, 0, 0, SYN_OPTIONS),
    (21, "out", 1, 0, true, SYN, 0, 0, 0, SYN_OPTIONS),
    (21, "in", 1, 1, false, SYN | ACK, 0, 1, 0, SYN_OPTIONS),
    (22, "out", 0, 1, false, SYN | ACK, 0, 1, 0, SYN_OPTIONS),
    (22, "in", 0, 2, true, ACK, 1, 1, 0, ""),
    (22, "in", 0, 3, true, ACK, 1, 1, 1000, ""),
    (22, "in", 0, 4, true, ACK, 1001, 1, 1000, ""),
    (22, "drop-full", 0, 4, true, ACK, 1001, 1, 1000, ""),
    (22, "in", 0, 5, true, ACK, 2001, 1, 1000, ""),
    (22, "mark", 0, 5, true, ACK, 2001, 1, 1000, ""),
    (23, "out", 1, 2, true, ACK, 1, 1, 0, ""),
    (24, "out", 1, 3, true, ACK, 1, 1, 1000, ""),
    (24, "in", 1, 6, false, ACK, 1, 1001, 0, ""),
    (25, "out", 1, 5, true, ACK, 2001, 1, 1000, ""),
    (25, "out", 0, 6, false, ACK, 1, 1001, 0, ""),
    (25, "in", 1, 7, false, ACK, 1, 1001, 0, ""),
    (26, "out", 0, 7, false, ACK, 1, 1001, 0, ""),
    (31, "in", 0, 8, true, ACK, 1001, 1, 1000, ""), // 5 ms after the duplicate, which it answers
    (32, "out", 1, 8, true, ACK, 1001, 1, 1000, ""),
    (32, "in", 1, 9, false, ACK, 1, 3001, 0, ""),
    (32, "drop-loss", 1, 9, false, ACK, 1, 3001, 0, ""),
    (50, "in", 0, 10, true, ACK, 1001, 1, 1000, ""),
    (51, "out", 1, 10, true, ACK, 1001, 1, 1000, ""),
    (51, "in", 1, 11, false, ACK, 1, 3001, 0, ""),
    (52, "out", 0, 11, false, ACK, 1, 3001, 0, ""),
    (52, "in", 0, 12, true, FIN_ACK, 3001, 1, 0, ""),
    (53, "out", 1, 12, true, FIN_ACK, 3001, 1, 0, ""),
    (53, "in", 1, 13, false, FIN_ACK, 1, 3002, 0, ""),
    (54, "out", 0, 13, false, FIN_ACK, 1, 3002, 0, ""),
];
const LAST_ACK: [Row; 2] =
    [(54, "in", 0, 14, true, ACK, 3002, 2, 0, ""), (55, "out", 1, 14, true, ACK, 3002, 2, 0, "")];

fn trace(rows: &[Row]) -> String {
    let line = |&(ms, event, place, packet, up, flags, seq, ack, len, options): &Row| {
        let (mine, other) = if up { (0, 1) } else { (1, 0) };
        let (from, to) = if up { ("10.0.0.1,10.0.0.2", "40000,5001") } else { ("10.0.0.2,10.0.0.1", "5001,40000") };
        let seq = ISS[mine].wrapping_add(seq);
        let ack = if flags & ACK == 0 { 0 } else { ISS[other].wrapping_add(ack) };
        let (at, wire) = (ms * MS, len + 40);
        format!("{at},{event},{place},{packet},{from},{to},{flags},{seq},{ack},2500,{len},{wire},2,{options}\n")
    };
    format!("{}\n{}", trace::COLUMNS, rows.iter().map(line).collect::<String>())
}

fn scenario(app: &str) -> Scenario {
    let tcp = serde_json::to_string(&cwndlab_tcp::Profile::Linux6.config()).unwrap();
    let link = |name: &str, from: u32| {
        format!(
            r#"{{"name":"{name}","from":{from},"to":{},"rate_bps":1000000,"delay_ns":0,"queue":{{"kind":"infinite"}}}}"#,
            1 - from
        )
    };
    let text = format!(
        r#"{{"duration_ns":100000000,"nodes":["a","b"],"tcp":[{tcp}],"links":[{},{}],
        "traffic":[{{"name":"t","client":0,"server":1,"tcp_client":0,"tcp_server":0,"start_ns":0,"app":{app}}}],
        "probes":{{"segments_at":0,"connections":true,"delays":true,"cwnd":true,
                   "queues":[0],"queue_interval_ns":1000000}}}}"#,
        link("a>b", 0),
        link("b>a", 1)
    );
    Scenario::from_json(&text).unwrap()
}

/// The workload starts 10 ms after the router, whose clock is 1 s behind the machine's.
fn testbed(more: &str) -> Testbed {
    let counters = r#"{"name":"a>b","arrivals":7,"accepted":6,"bytes":4160,"drops_full":1,"drops_aqm":2,"drops_loss":3,
        "marks":4,"busy_ns":5,"sojourn_ns":200000000,"max_queue_packets":3,"red_ns":[7,8,9]}"#;
    let text = format!(
        r#"{{"zero_ns":1010000000,"router_start_ns":1000000000,
        "ports":[[0,["10.0.0.1"]],[1,["10.0.0.2"]]],"windows":[],"objects":[],
        "summary":{{"wall_ns":200000000,"links":[{counters}],"link_snapshots":[]}}{more}}}"#
    );
    // Of a key that is given twice, the later value counts.
    serde_json::from_value(serde_json::from_str(&text).unwrap()).unwrap()
}

const CHOICES: Choices = Choices {
    snapshots: Vec::new(),
    observed: Observed::Port(0),
    from_first_data: false,
    answer: Time::from_millis(5),
};
const BULK: &str = r#"{"kind":"bulk","bytes":3000,"from":"client"}"#;
const NO_QUEUES: Option<&[u8]> = None;

fn records(testbed: &Testbed, choices: &Choices, rows: &[Row]) -> (Records, i64) {
    read(&scenario(BULK), testbed, choices, trace(rows).as_bytes(), NO_QUEUES).unwrap()
}

fn whole() -> Vec<Row> {
    [&TRANSFER[..], &LAST_ACK].concat()
}

macro_rules! rows {
    ($records:expr, $Table:ident) => {
        $Table::rows($records.table($Table::DOC.name).unwrap()).unwrap().collect::<Vec<_>>()
    };
}

#[test]
fn a_connection_is_counted_from_what_enters_and_leaves_the_router() {
    let (records, zero) = records(&testbed(""), &CHOICES, &whole());
    assert_eq!(zero, 10 * MS as i64);
    let [one] = rows!(records, Connections)[..] else { panic!("one connection") };
    assert_eq!((one.traffic, one.client, one.server, one.failed), (0, 0, 1, false));
    assert_eq!((one.start_ns, one.established_ns, one.end_ns), (10 * MS, Some(12 * MS), Some(45 * MS)));
    assert_eq!((one.bytes_up, one.bytes_down, one.segments_sent), (3000, 0, 15));
    assert_eq!((one.retransmits, one.fast_retransmits, one.timeouts), (2, 1, 1));
    assert_eq!((one.drops, one.marks, one.ecn_reductions), (2, 1, 0));
    assert!(rows!(records, Failures).is_empty());
}

#[test]
fn without_the_last_ack_a_connection_has_no_end_and_the_reason_that_the_kernel_reported() {
    let failed =
        r#","failed_connections":[["10.0.0.1",40000,"timed out"],["10.0.0.1",40000,"later"],["10.0.0.1",1,"no"]]"#;
    let (records, _) = records(&testbed(failed), &CHOICES, &TRANSFER);
    let [one] = rows!(records, Connections)[..] else { panic!("one connection") };
    assert_eq!((one.end_ns, one.failed), (None, true));
    let [failure] = rows!(records, Failures)[..] else { panic!("one failure") };
    assert_eq!((failure.reason.to_string(), failure.end_ns), ("timed out".to_owned(), None));
    assert!(!rows!(self::records(&testbed(""), &CHOICES, &TRANSFER).0, Connections)[0].failed);
}

#[test]
fn a_reset_ends_a_connection_as_refused_before_and_as_reset_after_it_is_established() {
    let reset = |from: usize| {
        let mut rows = TRANSFER[..from].to_vec();
        rows.push((60, "in", 1, 20, false, 4 | ACK, 1, 1, 0, ""));
        rows.push((61, "out", 0, 20, false, 4 | ACK, 1, 1, 0, ""));
        let (records, _) = records(&testbed(""), &CHOICES, &rows);
        let [one] = rows!(records, Connections)[..] else { panic!("one connection") };
        assert_eq!((one.end_ns, one.failed), (Some(51 * MS), true));
        rows!(records, Failures)[0].reason.to_string()
    };
    assert_eq!(reset(2), cwndlab_tcp::CloseReason::Refused.to_string());
    assert_eq!(reset(12), cwndlab_tcp::CloseReason::Reset.to_string());
}

#[test]
fn the_observed_host_sees_what_it_sends_and_receives_and_what_links_drop_and_mark() {
    let (records, _) = records(&testbed(""), &CHOICES, &whole());
    let seen: Vec<_> = rows!(records, Segments)
        .iter()
        .map(|row| (row.time_ns / MS, row.event.0, row.sent, row.segment, row.seq, row.ack, row.link, row.timeout))
        .collect();
    let expected = [
        (10, Send, true, 0, 0, 0, None, false),
        (12, Receive, false, 0, 0, 0, None, false),
        (12, Ack, true, 0, 0, 0, None, false),
        (12, Send, true, 1, 0, 0, None, false),
        (12, Send, true, 2, 1000, 0, None, false),
        (12, Drop, false, 2, 1000, 0, Some(0), false),
        (12, Send, true, 3, 2000, 0, None, false),
        (12, Mark, false, 3, 2000, 0, Some(0), false),
        (15, Ack, false, 1, 0, 1000, None, false),
        (16, DupAck, false, 1, 0, 1000, None, false),
        (21, Retransmit, true, 2, 1000, 0, None, false),
        (22, Drop, false, 3, 0, 3000, Some(1), false),
        (40, Retransmit, true, 2, 1000, 0, None, true),
        (42, Ack, false, 3, 0, 3000, None, false),
        (42, Send, true, 4, 3000, 0, None, false),
        (44, Receive, false, 1, 0, 3001, None, false),
        (44, Ack, true, 1, 3001, 1, None, false),
    ];
    assert_eq!(seen, expected);
    let first = &rows!(records, Segments)[0];
    assert_eq!((first.mss_bytes, first.window_scale, first.sack_permitted), (Some(1000), Some(2), false));
    assert_eq!((first.window_bytes, first.wire_bytes, first.ecn, first.ip_id), (2500, 40, 2, None));
    let third = &rows!(records, Segments)[2];
    assert_eq!((third.window_bytes, third.mss_bytes), (10_000, None), "scaled by 4 after the SYN");
}

#[test]
fn which_packets_are_in_the_table_is_a_choice() {
    let at = |observed| {
        let choices = Choices { observed, ..CHOICES };
        rows!(records(&testbed(""), &choices, &whole()).0, Segments).len()
    };
    // 31 lines, of which three are of links
    assert_eq!(at(Observed::Nothing), 0);
    assert_eq!(at(Observed::Everywhere), 31);
    assert_eq!((at(Observed::Port(0)), at(Observed::Port(1)), at(Observed::Port(2))), (17, 17, 3));
}

#[test]
fn the_delay_of_a_packet_is_its_time_in_the_router() {
    let (records, _) = records(&testbed(""), &CHOICES, &whole());
    let delays: Vec<_> = rows!(records, Delays)
        .iter()
        .filter(|row| row.len > 0)
        .map(|row| (row.time_ns / MS, row.from_client, row.delay_ns / MS, row.len))
        .collect();
    assert_eq!(delays, [(14, true, 2, 1000), (15, true, 3, 1000), (22, true, 1, 1000), (41, true, 1, 1000)]);
}

#[test]
fn time_0_may_be_that_of_the_first_data() {
    let choices = Choices { from_first_data: true, ..CHOICES };
    let (records, zero) = records(&testbed(""), &choices, &whole());
    assert_eq!(zero, 22 * MS as i64);
    let segments = rows!(records, Segments);
    assert_eq!((segments.len(), segments[0].time_ns), (16, 0), "the handshake before is left out");
    assert_eq!(rows!(records, Connections)[0].start_ns, 0);
}

#[test]
fn what_comes_after_the_run_is_left_out() {
    let mut rows = whole();
    rows.push((110, "in", 0, 15, true, ACK, 3002, 2, 0, "")); // at its end
    rows.push((111, "in", 0, 16, true, ACK, 3002, 2, 0, ""));
    let (records, _) = records(&testbed(""), &CHOICES, &rows);
    let last = rows!(records, Segments).last().copied().unwrap();
    assert_eq!((last.time_ns, rows!(records, Segments).len()), (100 * MS, 18));
}

#[test]
fn snapshots_have_the_open_connections_and_unfinished_objects() {
    let object = r#","objects":[
        {"traffic":0,"kind":"file","index":3,"start_ns":1012000000,"end_ns":1052000000,"bytes":3000,"connections":1,
         "client_ends":[["10.0.0.1",40000]]},
        {"traffic":0,"kind":"page","index":4,"start_ns":1109999999,"end_ns":null,"bytes":9,"connections":0,"client_ends":[]},
        {"traffic":0,"kind":"page","index":5,"start_ns":1110000000,"end_ns":null,"bytes":9,"connections":0,"client_ends":[]}]"#;
    let choices = Choices { snapshots: [5, 21, 60].map(Time::from_millis).to_vec(), ..CHOICES };
    let (records, _) = records(&testbed(object), &choices, &whole());
    let connections: Vec<_> = rows!(records, ConnectionSnapshots)
        .iter()
        .map(|row| (row.time_ns / MS, row.bytes_up, row.segments_sent, row.retransmits))
        .collect();
    // at 21 ms before what happens then; at 5 ms there is none, and at 60 ms it has ended
    assert_eq!(connections, [(21, 1000, 8, 0)]);
    let unfinished: Vec<_> = rows!(records, ObjectSnapshots).iter().map(|row| (row.time_ns / MS, row.index)).collect();
    assert_eq!(unfinished, [(5, 3), (21, 3)]);
    let objects: Vec<_> = rows!(records, Objects)
        .iter()
        .map(|row| (row.index, row.start_ns, row.end_ns, row.retransmits, row.timeouts, row.finished))
        .collect();
    let expected = [(3, 2 * MS, Some(42 * MS), 2, 1, true), (4, 100 * MS - 1, None, 0, 0, false)];
    assert_eq!(objects, expected);
}

#[test]
fn the_counters_of_links_are_those_at_the_end_of_the_scenario_if_the_router_ran_that_long() {
    let (records, _) = records(&testbed(""), &CHOICES, &[]);
    let [link] = rows!(records, Links)[..] else { panic!("one link") };
    assert_eq!((link.arrivals, link.departures, link.bytes, link.marks, link.busy_ns), (7, 6, 4160, 4, 5));
    assert_eq!((link.drops_full, link.drops_aqm, link.drops_loss, link.max_queue_packets), (1, 2, 3, 3));
    assert_eq!((link.red_below_ns, link.red_between_ns, link.red_above_ns), (Some(7), Some(8), Some(9)));
    assert!((link.mean_queue_packets - 1.0).abs() < 1e-12, "200 ms in the 200 ms that the router ran");
    let mut at_end = testbed("");
    at_end.summary.link_snapshots = vec![at_end.summary.links.clone()];
    let [link] = rows!(self::records(&at_end, &CHOICES, &[]).0, Links)[..] else { panic!("one link") };
    assert!((link.mean_queue_packets - 2.0).abs() < 1e-12, "200 ms in the 100 ms of the scenario");
}

#[test]
fn what_the_router_writes_of_a_links_counters_is_read_back() {
    let summary = testbed("").summary.links[0].clone();
    let again = LinkSummary::new(summary.name.clone(), &summary.counters(), summary.regions());
    assert_eq!(serde_json::to_string(&again).unwrap(), serde_json::to_string(&summary).unwrap());
}

#[test]
fn samples_of_windows_count_within_the_run_and_keep_their_state() {
    let sample = |at: u64, state: u8| {
        format!(r#"[{},"10.0.0.1",40000,"10.0.0.2",5001,14600,{},{},2000,{state}]"#, 1_010_000_000 + at * MS, 7300, 50)
    };
    let samples = [sample(20, 0), sample(21, 1), sample(22, 2), sample(23, 3), sample(100, 4), sample(101, 0)];
    let none = r#"[1011000000,"10.0.0.2",5001,"10.0.0.1",40000,1,null,0,0,0],[1011000000,"10.0.0.3",1,"10.0.0.1",1,1,1,1,1,1]"#;
    let (records, _) = records(&testbed(&format!(r#","windows":[{},{none}]"#, samples.join(","))), &CHOICES, &whole());
    let rows = rows!(records, Windows);
    let states: Vec<_> = rows.iter().map(|row| (row.time_ns / MS, row.from_client, row.state.0)).collect();
    let expected = [(20, true, Open), (21, true, Disorder), (22, true, Cwr), (23, true, Recovery), (100, true, Loss)];
    assert_eq!(states[..5], expected);
    assert_eq!(states[5..], [(1, false, Open)], "of the server; an address without a connection has none");
    let values = |k: usize| (rows[k].cwnd_bytes, rows[k].ssthresh_bytes, rows[k].srtt_ns, rows[k].in_flight_bytes);
    assert_eq!((values(0), values(5)), ((14_600, Some(7300), Some(50), 2000), (1, None, None, 0)));
}

#[test]
fn samples_of_queues_count_from_time_0() {
    let queues = format!("{}\n9999999,0,1,40,\n10000000,0,2,80,1.5\n110000001,0,1,40,\n", trace::QUEUE_COLUMNS);
    let read = |scenario: &Scenario| {
        let empty = trace(&[]);
        let (records, _) = read(scenario, &testbed(""), &CHOICES, empty.as_bytes(), Some(queues.as_bytes())).unwrap();
        rows!(records, Queues)
    };
    let [row] = read(&scenario(BULK))[..] else { panic!("one sample within the run") };
    assert_eq!((row.time_ns, row.link, row.packets, row.bytes, row.average), (0, 0, 2, 80, Some(1.5)));
    let mut off = scenario(BULK);
    off.probes.queue_interval_ns = None;
    assert!(read(&off).is_empty());
}

#[test]
fn datagrams_are_a_flow_whose_bytes_are_those_that_arrived() {
    let app = r#"{"kind":"cbr","rate_bps":1000000}"#;
    let rows: [Row; 6] = [
        (20, "in", 0, 0, true, 0, 0, 0, 1000, ""),
        (21, "in", 0, 1, true, 0, 0, 0, 500, ""),
        (21, "drop-aqm", 0, 1, true, 0, 0, 0, 500, ""),
        (22, "out", 1, 0, true, 0, 0, 0, 1000, ""),
        (23, "in", 0, 2, true, 0, 0, 0, 300, ""),
        (24, "out", 1, 2, true, 0, 0, 0, 300, ""),
    ];
    let text = trace(&rows);
    let (records, _) = read(&scenario(app), &testbed(""), &CHOICES, text.as_bytes(), NO_QUEUES).unwrap();
    let [one] = rows!(records, Connections)[..] else { panic!("one flow") };
    assert_eq!((one.bytes_up, one.bytes_down, one.segments_sent, one.drops, one.marks), (1300, 0, 3, 1, 0));
    assert_eq!((one.start_ns, one.end_ns, one.client), (10 * MS, None, 0));
    let seen: Vec<_> = rows!(records, Segments).iter().map(|row| (row.event.0, row.seq, row.len)).collect();
    assert_eq!(seen, [(Send, 0, 1000), (Send, 1000, 500), (Drop, 1000, 500), (Send, 1500, 300)]);
}

#[test]
fn a_trace_that_cannot_be_read_names_the_line_and_what_is_wrong_with_it() {
    let good = trace(&TRANSFER[..1]);
    let error = |text: &str| {
        let failed = read(&scenario(BULK), &testbed(""), &CHOICES, text.as_bytes(), NO_QUEUES);
        failed.unwrap_err().to_string()
    };
    let line = "line 2 of the router's trace: ";
    for (old, new, why) in [
        (",in,", ",into,", "the event is unknown"),
        (",40000,", ",many,", "the port is not a number"),
        (",2500,", ",x,", "a column holds something else than it should"),
        (",0204", ",024", "the options are not hexadecimal"),
        (",2,020403e801030302", "", "it has too few columns"),
        (",5001,", ",5002,", "no traffic of the study is between 10.0.0.1:40000 and 10.0.0.2:5002"),
        (",10.0.0.1,", ",10.0.0.9,", "no traffic of the study is between 10.0.0.9:40000 and 10.0.0.2:5001"),
    ] {
        assert_eq!(error(&good.replacen(old, new, 1)), format!("{line}{why}"), "{new}");
    }
    assert_eq!(error("time_ns\n"), "line 1 of the router's trace: the columns are not those of this version's router");
}
