use cwndlab_engine::{ConnectionRecord, Content, Probe, Reason, Scenario, SegmentEvent, Simulation, Way, WindowSample};
use cwndlab_tcp::{CongestionState, Segment, Traced};
use cwndlab_traffic::{ObjectKind, ObjectRecord};
use cwndlab_units::{Rate, Time};
use serde_json::{json, Value};

use super::*;

mod messages;

/// What a run reports.
#[derive(Default, PartialEq, Debug)]
struct Log {
    /// Time, event, direction and size of each datagram at the client.
    datagrams: Vec<(u64, String, bool, u32)>,
    connections: Vec<String>,
    /// When the connection ended.
    ended: Option<Time>,
    windows: Vec<(u64, u64, u64, CongestionState)>,
    /// The smoothed round-trip time at each of the windows, in nanoseconds.
    rtts: Vec<u64>,
    /// Bytes delivered each way, drops, and packets declared lost.
    delivered: [u64; 2],
    drops: u32,
    lost: u32,
    timeouts: u32,
    reductions: u32,
    finished: Vec<Time>,
    objects: Vec<ObjectRecord>,
    /// Windows of the server, which are also among `windows`.
    server_windows: u32,
    /// Time, whether the client sent it, and content of each datagram that the client sent or received.
    contents: Vec<(u64, bool, Content)>,
    /// Direction and report of each probe timeout.
    probes: Vec<(bool, Traced)>,
    /// Arrival, delay and size of each message or packet, in nanoseconds and bytes.
    delays: Vec<(u64, u64, u32)>,
    failures: Vec<Reason>,
}

impl Probe for Log {
    const ENABLED: bool = true;
    fn segment(&mut self, now: Time, event: SegmentEvent, way: Way, _: u16, segment: &Segment) {
        self.datagrams.push((now.as_nanos(), format!("{event:?}"), way.from_client, segment.wire_bytes));
    }
    fn datagram(&mut self, now: Time, event: SegmentEvent, way: Way, id: u16, segment: &Segment, content: &Content) {
        self.segment(now, event, way, id, segment);
        if matches!(event, SegmentEvent::Sent { .. } | SegmentEvent::Received) {
            self.contents.push((now.as_nanos(), way.from_client, content.clone()));
        }
    }
    fn traced(&mut self, way: Way, traced: &Traced) {
        self.probes.push((way.from_client, *traced));
    }
    fn delay(&mut self, now: Time, _: Way, delay: Time, payload: u32) {
        self.delays.push((now.as_nanos(), delay.as_nanos(), payload));
    }
    fn connection(&mut self, record: &ConnectionRecord) {
        self.connections.push(format!("{record:?}"));
        self.ended = (!record.end.is_never()).then_some(record.end);
        self.delivered = [record.bytes_up, record.bytes_down];
        (self.drops, self.lost, self.reductions) = (record.drops, record.retransmits, record.ecn_reductions);
        self.timeouts = record.timeouts;
    }
    fn failure(&mut self, record: &ConnectionRecord, reason: Reason) {
        assert_eq!(record.failure, Some(reason));
        self.failures.push(reason);
    }
    fn object(&mut self, _: u32, record: &ObjectRecord) {
        self.finished.push(record.end);
        self.objects.push(*record);
    }
    fn window(&mut self, now: Time, way: Way, sample: &WindowSample) {
        self.server_windows += u32::from(!way.from_client);
        self.rtts.push(sample.srtt.as_nanos());
        self.windows.push((now.as_nanos(), sample.cwnd_bytes, sample.in_flight_bytes, sample.state));
    }
}

/// A client and a server, with 10 Mb/s and 40 ms between them.
struct Case {
    stack: Value,
    app: Value,
    impairments: Value,
    queue: Value,
    seconds: u64,
    seed: u64,
}

impl Case {
    fn new(stack: &str, cc: &str) -> Case {
        Case {
            stack: json!({"stack": stack, "cc": cc}),
            app: json!({"kind": "bulk", "bytes": 3_000_000}),
            impairments: json!([]),
            queue: json!({"kind": "drop-tail", "limit": 34}),
            seconds: 8,
            seed: 1,
        }
    }

    fn with(mut self, option: &str, value: u32) -> Case {
        self.stack[option] = value.into();
        self
    }

    fn scenario(&self) -> Scenario {
        let infinite = json!({"kind": "infinite"});
        let link = |from: u32, queue: &Value, impairments: &Value| {
            json!({"name": format!("from {from}"), "from": from, "to": 1 - from, "rate_bps": 10_000_000,
                "delay_ns": 20_000_000, "queue": queue, "impairments": impairments})
        };
        let scenario = json!({
            "duration_ns": self.seconds * 1_000_000_000,
            "nodes": ["client", "server"],
            "links": [link(0, &self.queue, &self.impairments), link(1, &infinite, &json!([]))],
            "tcp": [serde_json::to_value(cwndlab_tcp::TcpConfig::of(cwndlab_tcp::Profile::Rfc5681)).unwrap()],
            "traffic": [{"name": "quic", "client": 0, "server": 1, "tcp_client": 0, "tcp_server": 0, "start_ns": 0,
                "app": self.app, "stack": self.stack}],
            "probes": {"segments_at": 0, "connections": true, "cwnd": true, "states": true, "delays": true},
        });
        let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
        scenario.check_stacks(check).unwrap();
        scenario
    }

    fn run(&self) -> Log {
        let simulation = Simulation::new(&self.scenario(), self.seed, 0, Log::default()).unwrap();
        simulation.with_stacks(Box::new(QuicStacks::new())).run().unwrap().1
    }
}

const LAWS: [(&str, &str); 6] =
    [("quinn", "cubic"), ("quinn", "reno"), ("quinn", "bbr"), ("noq", "cubic"), ("noq", "reno"), ("noq", "bbr3")];

#[test]
fn every_law_delivers_a_transfer_and_ends_the_connection() {
    for (stack, cc) in LAWS {
        let log = Case::new(stack, cc).run();
        assert_eq!(log.delivered, [3_000_000, 0], "{stack} {cc}");
        // 3 MB take 2.5 s at the link's rate with headers.
        assert!(log.finished[0] > Time::from_millis(2400) && log.finished[0] < Time::from_secs(4), "{stack} {cc}");
        assert!(log.failures.is_empty(), "{:?}", log.failures);
        let ended = log.ended.unwrap_or_else(|| panic!("{stack} {cc}: the connection did not end"));
        // The client closes when its last byte is acknowledged and the server has ended, too.
        assert!(ended > log.finished[0] && ended < Time::from_secs(6), "{stack} {cc}: ended at {ended}");
        let over = log.datagrams.last().unwrap().0;
        assert!(over < 6_000_000_000, "{stack} {cc}: the connection lasts until {over}");
        assert!(log.lost.abs_diff(log.drops) <= 2, "{stack} {cc}: {} of {}", log.lost, log.drops);
    }
}

#[test]
fn a_run_depends_on_the_seed_and_on_nothing_else() {
    for (stack, cc) in LAWS {
        // Losses make runs long enough for BBR version 3 to draw when it probes again.
        let losses = json!([{"kind": "bernoulli", "p": 0.005}]);
        let endless = json!({"kind": "bulk"});
        let run = |seed| Case { seed, impairments: losses.clone(), app: endless.clone(), ..Case::new(stack, cc) }.run();
        let here = run(1);
        let elsewhere = std::thread::scope(|scope| {
            let runs = [1, 2].map(|seed| scope.spawn(move || run(seed)));
            runs.map(|run| run.join().unwrap())
        });
        assert!(here == elsewhere[0], "{stack} {cc}: two runs differ");
        assert!(here.datagrams != elsewhere[1].datagrams, "{stack} {cc}: the seed changes nothing");
    }
}

#[test]
fn bbr3_draws_its_probe_times_from_the_seed() {
    // Nothing else is random here: neither losses nor delays, and connection IDs do not change sizes.
    let run = |seed| Case { seed, app: json!({"kind": "bulk"}), ..Case::new("noq", "bbr3") }.run().windows;
    let (first, again, other) = (run(1), run(1), run(2));
    let parted = first.iter().zip(&again).find(|(one, other)| one != other);
    assert!(parted.is_none(), "{parted:?}");
    assert!(first != other, "the seed changes nothing");
}

#[test]
fn losses_duplicates_and_disorder_change_no_byte() {
    let trouble = json!([{"kind": "bernoulli", "p": 0.02}, {"kind": "duplicate", "p": 0.02},
        {"kind": "jitter", "max_ns": 3_000_000}]);
    for stack in ["quinn", "noq"] {
        let log = Case { impairments: trouble.clone(), seconds: 20, ..Case::new(stack, "cubic") }.run();
        assert_eq!(log.delivered, [3_000_000, 0], "{stack}");
        assert!(log.lost > 20, "{stack}: {}", log.lost);
    }
}

#[test]
fn the_server_may_send_and_short_flows_may_follow_each_other() {
    for stack in ["quinn", "noq"] {
        let app = json!({"kind": "bulk", "bytes": 500_000, "from": "server"});
        let log = Case { app, ..Case::new(stack, "cubic") }.run();
        assert_eq!(log.delivered, [0, 500_000]);
        let size = json!({"kind": "fixed", "value": 20_000.0});
        let app = json!({"kind": "short-flows", "arrival_rate": 5.0, "flow_bytes": size, "flows": 20});
        let log = Case { app, ..Case::new(stack, "cubic") }.run();
        assert_eq!((log.finished.len(), log.connections.len()), (20, 20));
        assert!(log.finished.iter().all(|end| !end.is_never()));
    }
}

#[test]
fn files_and_transactions_use_a_stream_in_each_direction() {
    let fixed = |value: f64| json!({"kind": "fixed", "value": value});
    let ftp = json!({"kind": "ftp", "file_bytes": fixed(50_000.0), "pause_s": fixed(0.1), "files": 5});
    let rr = json!({"kind": "rr", "request_bytes": fixed(200.0), "response_bytes": fixed(3000.0), "transactions": 5});
    let crr = json!({"kind": "crr", "request_bytes": fixed(200.0), "response_bytes": fixed(3000.0), "transactions": 5});
    for stack in ["quinn", "noq"] {
        for (app, connections) in [(&ftp, 5), (&rr, 1), (&crr, 5)] {
            let log = Case { app: app.clone(), ..Case::new(stack, "cubic") }.run();
            let ends: Vec<_> = log.finished.iter().filter(|end| !end.is_never()).collect();
            assert_eq!((ends.len(), log.connections.len()), (5, connections), "{stack} {app}");
        }
    }
}

#[test]
fn the_objects_of_a_page_share_the_connection_as_streams() {
    let fixed = |value: f64| json!({"kind": "fixed", "value": value});
    // More objects than the peer allows streams at a time (100), and one that takes far longer than the others.
    for (objects, bytes, losses) in [(3, 200_000.0, 0.0), (150, 5_000.0, 0.01), (0, 30_000.0, 0.0)] {
        let app = json!({"kind": "web", "protocol": "http/3", "clock": "request", "inline_trigger": "whole-primary",
            "object_bytes": fixed(20_000.0), "inline_bytes": fixed(bytes), "request_bytes": fixed(300.0),
            "inline_objects": objects, "think_s": fixed(0.5), "pages": 2, "record_objects": true});
        for (stack, cc) in LAWS {
            let impairments = json!([{"kind": "bernoulli", "p": losses}]);
            let log = Case { app: app.clone(), impairments, seconds: 20, ..Case::new(stack, cc) }.run();
            let (pages, parts): (Vec<&ObjectRecord>, Vec<&ObjectRecord>) =
                log.objects.iter().partition(|one| one.kind == ObjectKind::Page);
            let all = 20_000 + objects * bytes as u64;
            assert!(pages.iter().all(|page| page.bytes == all && page.connections == 1), "{stack} {cc}: {pages:?}");
            assert_eq!((pages.len(), parts.len(), log.connections.len()), (2, 2 * (objects as usize + 1), 2));
            assert_eq!(log.delivered, [300 * (objects + 1), all], "{stack} {cc}");
            assert!(log.server_windows > 3, "{stack} {cc}: {}", log.server_windows);
            // All in-line objects are requested at once, when the primary object has arrived, and arrive together.
            let first = &parts[1..=objects as usize];
            assert!(first.iter().all(|one| one.start == parts[0].end), "{stack} {cc}: {first:?}");
            if losses == 0.0 && objects > 0 {
                let spread = first.iter().map(|one| one.end.as_nanos()).max().unwrap() - first[0].end.as_nanos();
                assert!(spread < 20_000_000, "{stack} {cc}: {first:?}");
            }
        }
    }
}

#[test]
fn options_reach_the_stack() {
    for (stack, cc) in LAWS {
        let largest = |log: &Log| log.datagrams.iter().map(|one| one.3).max().unwrap();
        assert_eq!(largest(&Case::new(stack, cc).run()), 1480, "{stack}: what path MTU discovery finds");
        let fixed = Case::new(stack, cc).with("mtu_bytes", 1400).run();
        assert_eq!(largest(&fixed), 1400, "{stack}");
        let first = |bytes| Case::new(stack, cc).with("initial_window_bytes", bytes).run().windows[0].1;
        // quinn's BBR has already counted the first ACK.
        let larger = first(40_000) - first(20_000);
        assert_eq!(larger, 20_000, "{stack} {cc}");
    }
    for stack in ["quinn", "noq"] {
        // ACKs are what the server sends.
        let acks = |case: Case| case.run().datagrams.iter().filter(|one| !one.2).count();
        let (usual, few) =
            (acks(Case::new(stack, "cubic")), acks(Case::new(stack, "cubic").with("ack_eliciting_threshold", 20)));
        assert!(few * 3 < usual, "{stack}: {few} instead of {usual} ACKs");
        // A window of 20 kB every 40 ms: 4 Mb/s.
        let slow = Case::new(stack, "cubic").with("stream_window_bytes", 20_000).run();
        assert!(slow.finished[0] > Time::from_secs(5), "{stack}: {}", slow.finished[0]);
    }
}

#[test]
fn probe_timeouts_are_counted_and_recorded() {
    for stack in ["quinn", "noq"] {
        let undisturbed = Case::new(stack, "cubic").with("mtu_bytes", 1500).run();
        assert_eq!((undisturbed.timeouts, undisturbed.delivered[0]), (0, 3_000_000), "{stack}");
        assert_eq!(undisturbed.probes, []);
        // From 1 to 3 s nothing gets through. The timer expires after about 0.1 s and then after twice the time, so four
        // times: after 0.1, 0.3, 0.7 and 1.5 s. The fifth time, after 3.1 s, the path is back.
        let outage =
            json!([{"kind": "loss-steps", "at_ns": [0, 1_000_000_000, 3_000_000_000_u64], "p": [0.0, 1.0, 0.0]}]);
        let log = Case { impairments: outage, ..Case::new(stack, "cubic") }.run();
        assert_eq!(log.delivered, [3_000_000, 0], "{stack}");
        assert!((4..=6).contains(&log.timeouts), "{stack}: {} timeouts", log.timeouts);
        assert_eq!(log.probes.len(), log.timeouts as usize);
        let expired = log.probes.iter().filter_map(|&(from_client, probe)| match probe {
            Traced::Expired { at, set_at, backoffs, acked, .. } if from_client => Some((at, set_at, backoffs, acked)),
            _ => None,
        });
        let expired: Vec<_> = expired.collect();
        assert_eq!(expired.iter().map(|one| one.2).collect::<Vec<_>>()[..4], [1, 2, 3, 4], "{stack}");
        for pair in expired[..4].windows(2) {
            // Each probe sets the timer again, for twice the time, and nothing more is acknowledged.
            let [(before, set_before, _, acked), (at, set_at, ..)] = [pair[0], pair[1]];
            assert!((set_at - before) < Time::from_millis(1), "{stack}: {expired:?}");
            let ratio = (at - set_at).as_nanos() as f64 / (before - set_before).as_nanos() as f64;
            assert!((1.99..2.01).contains(&ratio), "{stack}: {expired:?}");
            assert_eq!(acked, pair[1].3, "{stack}");
        }
    }
}

#[test]
fn packets_have_their_numbers_and_what_they_acknowledge() {
    for stack in ["quinn", "noq"] {
        let trouble = json!([{"kind": "bernoulli", "p": 0.1}]);
        let log = Case { impairments: trouble, ..Case::new(stack, "cubic") }.run();
        let (sent, received): (Vec<_>, Vec<_>) = log.contents.iter().partition(|one| one.1);
        let numbers: Vec<u64> = sent.iter().filter_map(|one| one.2.number).collect();
        // A sender skips a few numbers to detect acknowledgments of packets that it has not sent.
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{stack}");
        let last = numbers[numbers.len() - 1];
        assert!(last + 1 - numbers.len() as u64 <= 20, "{stack}: {last}, {} packets", numbers.len());
        let mut acked = std::collections::BTreeSet::new();
        for (_, _, content) in &received {
            assert!(content.acked.windows(2).all(|pair| pair[1].1 < pair[0].0), "{stack}: {:?}", content.acked);
            acked.extend(content.acked.iter().flat_map(|&(start, end)| start..end));
        }
        assert!(acked.iter().all(|number| numbers.binary_search(number).is_ok()), "{stack}");
        // The last ones may still be on their way at the end of the run.
        let missing = numbers.iter().filter(|number| !acked.contains(number) && **number + 40 < last).count();
        assert!(missing.abs_diff(log.drops as usize) <= 12, "{stack}: {missing} not acknowledged, {}", log.drops);
        assert!(received.iter().any(|one| one.2.acked.len() > 4), "{stack}: more ranges than TCP's SACK has");
    }
}

#[test]
fn marks_reduce_the_window() {
    for stack in ["quinn", "noq"] {
        let queue = json!({"kind": "codel", "limit": 1000, "ecn": true});
        let log = Case { queue, app: json!({"kind": "bulk"}), ..Case::new(stack, "cubic") }.run();
        assert!(log.reductions > 5 && log.drops == 0, "{stack}: {} reductions, {} drops", log.reductions, log.drops);
        assert!(log.windows.iter().any(|one| one.3 == CongestionState::Cwr));
    }
}

#[test]
fn delays_tell_packets_with_data_from_acknowledgments() {
    for stack in ["quinn", "noq"] {
        let log = Case::new(stack, "cubic").run();
        let with_data: u64 = log.delays.iter().map(|one| u64::from(one.2)).sum();
        // 3 MB, in packets with some 30 bytes of headers; what was lost and sent again arrived once.
        assert!((3_000_000..3_250_000).contains(&with_data), "{stack}: {with_data}");
        // ACKs find no queue; the client's few packets without data do.
        let empty: Vec<u64> = log.delays.iter().filter(|one| one.2 == 0).map(|one| one.1).collect();
        let queued = empty.iter().filter(|delay| **delay > 21_500_000).count();
        assert!(empty.len() > 500 && queued < 50, "{stack}: {queued} of {}", empty.len());
    }
}

#[test]
fn recorded_round_trip_times_are_measured() {
    for (stack, cc) in LAWS {
        let log = Case::new(stack, cc).run();
        // The path and its queue: 40 ms and at most 41 ms; nothing of the 333 ms that both stacks assume at first.
        let within = log.rtts.iter().all(|rtt| (40_000_000..85_000_000).contains(rtt));
        assert!(within && log.rtts.len() > 20, "{stack} {cc}: {:?}", &log.rtts[..4]);
    }
}

#[test]
fn what_is_in_flight_stays_near_the_window() {
    for (stack, cc) in LAWS {
        let log = Case { app: json!({"kind": "bulk"}), ..Case::new(stack, cc) }.run();
        let settled = log.windows.iter().filter(|one| one.0 > 5_000_000_000);
        let most = settled.map(|one| one.2 as f64 / one.1 as f64).fold(0.0, f64::max);
        // quinn's BBR keeps a window's worth of packets outstanding when it reduces the window for a probe of the RTT.
        assert!(most > 0.5 && most < if cc == "bbr" { 30.0 } else { 2.5 }, "{stack} {cc}: {most}");
    }
}

#[test]
fn wrong_tables_are_rejected() {
    let wrong = |table: Value| check(&table).unwrap_err().to_string();
    assert!(wrong(json!({"stack": "quiche"})).contains("expected `quinn` or `noq`"));
    assert!(wrong(json!({"stack": "quinn", "cc": "bbr3"})).contains("expected one of `cubic`, `reno`, `bbr`"));
    assert!(wrong(json!({"stack": "quinn", "mtu": 1})).contains("unknown field `mtu`"));
    assert_eq!(wrong(json!({"stack": "noq", "mtu_bytes": 500})), "mtu is 500; it must be 1228 to 9000");
}

#[test]
fn a_connection_that_a_stack_ends_fails_with_the_reason_of_the_stack() {
    // noq closes a connection whose peer leaves too many gaps in a stream, as losses do within a large window.
    let mut case = Case::new("noq", "cubic").with("stream_window_bytes", 64_000_000);
    case.app = json!({"kind": "bulk"});
    case.queue = json!({"kind": "drop-tail", "limit": 833});
    let mut scenario = case.scenario();
    for link in &mut scenario.links {
        (link.rate_bps, link.delay_ns) = (Rate::from_bps(50_000_000), Time::from_millis(100));
    }
    let simulation = Simulation::new(&scenario, 1, 0, Log::default()).unwrap();
    let log = simulation.with_stacks(Box::new(QuicStacks::new())).run().unwrap().1;
    let [reason] = log.failures[..] else { panic!("{:?}", log.failures) };
    assert!(reason.text().ends_with("too many gaps in stream buffer"), "{reason}");
}
