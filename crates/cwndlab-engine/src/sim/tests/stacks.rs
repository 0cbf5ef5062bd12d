//! A toy stack from outside the engine: it sends one datagram, and sends it again until the answer has arrived.

use cwndlab_tcp::CongestionState;
use serde_json::{json, Value};

use super::*;
use crate::stacks::{Content, Endpoint, Opening, Progress, StackCounters, StackError, StackWindow, Stacks};
use crate::MessageSizes;

const SIZE: usize = 500;
const PATIENCE: Time = Time::from_millis(100);

/// An end: the client sends datagrams, and the server answers each with its first byte.
#[derive(Default)]
struct End {
    is_client: bool,
    left: u64,
    /// The number of the datagram to send next, or expected next.
    number: u8,
    due: bool,
    timer: Option<Time>,
    answer: Option<u8>,
    ended: bool,
    progress: Progress,
    lost: u32,
    /// Probe timeouts that have been reported.
    reported: u32,
}

impl Endpoint for End {
    fn handle_datagram(&mut self, _: Time, _: u8, payload: &[u8]) {
        if self.is_client {
            if payload == [self.number] {
                self.number += 1;
                self.left -= 1;
                self.timer = None;
                self.due = self.left > 0;
            }
        } else if let [number, ..] = payload {
            assert!(payload.len() == SIZE && payload.iter().all(|byte| byte == number), "a payload was damaged");
            self.progress.established = true;
            if *number == self.number {
                self.number += 1;
                self.progress.received += SIZE as u64;
            }
            self.answer = Some(*number);
        }
        self.progress.closed = self.is_client && self.ended && self.left == 0;
    }
    fn handle_timeout(&mut self, _: Time) {
        self.timer = None;
        self.lost += 1;
        self.due = true;
    }
    fn poll_datagram(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<u8> {
        assert!(payload.is_empty());
        if let Some(number) = self.answer.take() {
            payload.push(number);
            return Some(0);
        }
        if !std::mem::take(&mut self.due) {
            return None;
        }
        payload.resize(SIZE, self.number);
        self.timer = Some(now + PATIENCE);
        Some(2)
    }
    fn poll_timeout(&mut self) -> Time {
        self.timer.unwrap_or(Time::MAX)
    }
    fn write(&mut self, bytes: u64) {
        self.left = bytes / SIZE as u64;
        self.due = true;
    }
    fn close(&mut self) {
        self.ended = true;
    }
    fn describe(&mut self, payload: &[u8]) -> Content {
        let number = u64::from(payload[0]);
        let acked = if self.is_client { vec![] } else { vec![(0, number + 1)] };
        Content { number: Some(number), acked, elicits_ack: self.is_client, has_data: false }
    }
    fn poll_probe(&mut self) -> Option<u32> {
        (self.reported < self.lost).then(|| {
            self.reported += 1;
            self.reported
        })
    }
    fn progress(&self) -> Progress {
        // The server cannot tell when the client is done; the connection is over when the client has forgotten it.
        Progress { established: true, drained: self.progress.closed, ..self.progress }
    }
    fn counters(&self) -> StackCounters {
        StackCounters { lost: self.lost, timeouts: self.lost, ecn_reductions: 0 }
    }
    /// That of the client grows by a datagram with each answer.
    fn window(&self) -> Option<StackWindow> {
        self.is_client.then(|| StackWindow {
            cwnd_bytes: SIZE as u64 * (1 + u64::from(self.number)),
            ssthresh_bytes: 7,
            srtt: Time::from_millis(3),
            in_flight_bytes: 5,
            state: CongestionState::Open,
        })
    }
}

struct Toy;

impl Stacks for Toy {
    fn open(&mut self, stack: &Value, opening: &Opening) -> Result<[Box<dyn Endpoint>; 2], StackError> {
        if stack["works"] == false {
            return Err(StackError("the toy is broken".into()));
        }
        assert_ne!(opening.seeds[0], opening.seeds[1]);
        Ok([Box::new(End { is_client: true, ..End::default() }), Box::new(End::default())])
    }
}

/// The chain with a transfer of 20 kB over the toy.
fn toy(stack: Value, impairments: &str) -> Scenario {
    let tcp = tcp(cwndlab_tcp::Profile::Rfc5681, RecoveryKind::Reno);
    let mut scenario = chain(&tcp, 20_000, DROP_TAIL, impairments, 60);
    scenario.traffic[0].stack = Some(stack);
    scenario
}

fn run_toy(scenario: &Scenario) -> (Summary, Log) {
    Simulation::new(scenario, 1, 0, Log::default()).unwrap().with_stacks(Box::new(Toy)).run().unwrap()
}

#[test]
fn a_stack_exchanges_payloads_and_is_recorded_as_a_connection() {
    let (summary, log) = run_toy(&toy(json!({}), ""));
    let record = log.connections[0];
    assert_eq!((record.bytes_up, record.bytes_down, record.segments_sent), (20_000, 0, 80));
    assert_eq!((record.retransmits, record.drops, record.failure), (0, 0, None));
    assert_eq!((summary.delivered, summary.in_flight), (80, 0));
    // Each of 40 exchanges takes the time of its packets on six links, and 44 ms of propagation.
    let exchange = 2 * 22_000_000 + 2 * (528 + 29) * 80 + (528 + 29) * 5333;
    assert!(log.objects[0].end.as_nanos().abs_diff(40 * exchange) < 44_000_000, "{:?}", log.objects[0]);
    assert!(log.windows.is_empty(), "the probe is off");
    // The client is observed: its datagrams of 500 bytes, whose numbers count bytes from 1, and answers of one byte.
    for (k, (seq, len)) in [(1, 500), (1, 1), (501, 500), (2, 1), (1001, 500)].into_iter().enumerate() {
        let of = |field: &str, value: u32| log.segments[k].contains(&format!(" {field}: {value},"));
        assert!(of("seq", seq) && of("len", len) && of("wire_bytes", len + 28), "{}", log.segments[k]);
    }
}

#[test]
fn the_window_of_a_stack_is_recorded_whenever_it_changes() {
    let mut scenario = toy(json!({}), "");
    scenario.probes.cwnd = true;
    let (_, log) = run_toy(&scenario);
    let windows: Vec<_> = log.windows.iter().map(|(way, sample)| (way.from_client, sample.cwnd_bytes)).collect();
    assert_eq!(windows, (1..=40).map(|k| (true, k * SIZE as u64)).collect::<Vec<_>>());
    let (way, first) = &log.windows[0];
    assert_eq!((way.connection, first.ssthresh_bytes, first.in_flight_bytes), (0, 7, 5));
    assert_eq!((first.srtt, first.state), (Time::from_millis(3), CongestionState::Open));
}

#[test]
fn dropped_and_duplicated_payloads_reach_their_end_intact() {
    let trouble = r#"{"kind": "bernoulli", "p": 0.1}, {"kind": "duplicate", "p": 0.3}"#;
    let (_, log) = run_toy(&toy(json!({}), trouble));
    let record = log.connections[0];
    assert_eq!(record.bytes_up, 20_000);
    assert!(record.retransmits > 3 && record.drops > 3, "{record:?}");
    assert_eq!(record.timeouts, record.retransmits);
    // The transfer is all that the connection carries, and the client alone loses anything.
    let object = log.objects[0];
    assert!(record.retransmits - object.retransmits <= 1 && record.timeouts - object.timeouts <= 1, "{object:?}");
    assert_eq!(record.established, Time::ZERO, "the toy's client needs no handshake");
}

/// Connections of their own slots: windows and bytes of both, and no memory once they are over.
#[test]
fn two_connections_of_a_stack_are_kept_apart() {
    let mut scenario = toy(json!({}), r#"{"kind": "bernoulli", "p": 0.05}"#);
    let mut second = scenario.traffic[0].clone();
    (second.name, second.start_ns) = ("second".into(), Time::from_millis(7));
    scenario.traffic.push(second);
    scenario.probes.cwnd = true;
    let (_, log) = run_toy(&scenario);
    for connection in [0, 1] {
        let windows: Vec<_> = log.windows.iter().filter(|(way, _)| way.connection == connection).collect();
        let sizes: Vec<_> = windows.iter().map(|(_, sample)| sample.cwnd_bytes).collect();
        assert_eq!(sizes, (1..=40).map(|k| k * SIZE as u64).collect::<Vec<_>>(), "{connection}");
        let record = log.connections.iter().find(|one| one.connection == connection).unwrap();
        assert_eq!((record.bytes_up, record.traffic), (20_000, connection));
        assert!(record.retransmits > 0, "{record:?}");
    }
    let mut simulation = Simulation::new(&scenario, 1, 0, Log::default()).unwrap().with_stacks(Box::new(Toy));
    simulation.run_until(Time::from_millis(20)).unwrap();
    assert!(simulation.outside.memory_bytes() >= 2 * (64 << 10));
    simulation.run_until(Time::from_secs(60)).unwrap();
    assert_eq!((simulation.outside.memory_bytes(), simulation.free_conns.len()), (0, 2));
}

#[test]
fn a_stack_that_fails_ends_the_run_and_so_does_one_that_is_missing() {
    let broken = Simulation::new(&toy(json!({"works": false}), ""), 1, 0, Log::default()).unwrap();
    let error = broken.with_stacks(Box::new(Toy)).run().err().unwrap().to_string();
    assert_eq!(error, "the toy is broken (flow transfer, 0.000000000 s simulated)");
    let missing = Simulation::new(&toy(json!({}), ""), 1, 0, Log::default()).unwrap();
    let error = missing.run().err().unwrap().to_string();
    assert_eq!(error, "this engine was built without stacks (flow transfer, 0.000000000 s simulated)");
}

#[test]
fn a_stack_without_requests_or_messages_ends_the_run_of_an_application_that_needs_them() {
    let fixed = |value: u32| json!({"kind": "fixed", "value": value});
    let page = json!({"kind": "web", "protocol": "http/3", "clock": "syn", "inline_trigger": "whole-primary",
        "object_bytes": fixed(1000), "request_bytes": fixed(500), "think_s": fixed(1)});
    let datagrams = json!({"kind": "cbr", "rate_bps": 1_000_000, "packet_bytes": fixed(500)});
    for (app, why) in [(page, "sends no requests"), (datagrams, "sends no datagrams of an application")] {
        let mut scenario = toy(json!({}), "");
        scenario.traffic[0].app = serde_json::from_value(app).unwrap();
        let simulation = Simulation::new(&scenario, 1, 0, Log::default()).unwrap();
        let error = simulation.with_stacks(Box::new(Toy)).run().err().unwrap().to_string();
        assert!(error.starts_with(&format!("this stack {why} (flow transfer, 0.")), "{error}");
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {}

#[test]
fn the_table_of_a_stack_is_checked_at_its_place() {
    let scenario = toy(json!({"colour": 1}), "");
    let sizes = MessageSizes { stack: "toy".into(), bytes: (12, 472), mtu: 528 };
    let check = |table: &Value| serde_json::from_value::<Table>(table.clone()).map(|_| sizes.clone());
    let refusal = scenario.check_stacks(check).unwrap_err().refusals().remove(0);
    assert_eq!(refusal.path, ["traffic", "0", "stack", "colour"]);
    assert_eq!(refusal.unknown.unwrap().name, "colour");
    assert!(toy(json!({}), "").check_stacks(check).is_ok());
    let datagrams = |bytes: u32| {
        let mut scenario = toy(json!({}), "");
        let packet = json!({"kind": "fixed", "value": bytes});
        let app = json!({"kind": "cbr", "rate_bps": 1000, "packet_bytes": packet});
        scenario.traffic[0].app = serde_json::from_value(app).unwrap();
        scenario.check_stacks(check).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!((datagrams(40), datagrams(500)), (String::new(), String::new()));
    assert!(datagrams(39).contains("packet is 39 bytes; it must be at least 40"), "{}", datagrams(39));
    let large = "toy with an mtu of 528 bytes carries at most 500 of them; write packet = \"500B\", or a larger mtu";
    assert!(datagrams(501).contains(large), "{}", datagrams(501));
}

#[test]
fn an_application_that_does_not_run_on_its_transport_is_rejected() {
    let fixed = json!({"kind": "fixed", "value": 1000});
    let web = |protocol: &str| {
        json!({"kind": "web", "protocol": protocol, "clock": "syn", "inline_trigger": "whole-primary",
            "object_bytes": fixed, "request_bytes": fixed, "think_s": fixed})
    };
    let error = |app: Value, stack: Option<Value>| {
        let mut scenario = toy(json!({}), "");
        scenario.traffic[0].app = serde_json::from_value(app).unwrap();
        scenario.traffic[0].stack = stack;
        scenario.check().err().map(|error| error.to_string()).unwrap_or_default()
    };
    let quic = || Some(json!({}));
    for (app, stack, why) in [
        (json!({"kind": "cbr", "rate_bps": 1000, "ecn": "ect0"}), quic(), "a QUIC stack sets ECN codepoints itself"),
        (json!({"kind": "bulk", "read_rate_bps": 1000}), quic(), "QUIC carries no `bulk` with `read_rate`"),
        (web("http/1.1"), quic(), "pages over QUIC need `protocol = \"http/3\"`"),
        (web("http/3"), None, "`http/3` needs a QUIC stack"),
    ] {
        let error = error(app, stack);
        assert!(error.starts_with(&format!("traffic[0] (transfer).app: {why}")), "{error}");
    }
    assert_eq!(error(web("http/3"), quic()), "");
}

/// What a run records of the contents of datagrams: their numbers at the observed node, and payload of each delay.
#[derive(Default)]
struct Contents {
    numbers: Vec<u64>,
    without: usize,
    delays: usize,
}

impl Probe for Contents {
    const ENABLED: bool = true;
    fn segment(&mut self, _: Time, _: SegmentEvent, _: Way, _: u16, _: &Segment) {
        self.without += 1;
    }
    fn datagram(&mut self, _: Time, _: SegmentEvent, way: Way, _: u16, _: &Segment, content: &Content) {
        assert_eq!(way.connection, 0);
        self.numbers.extend(content.number);
    }
    fn delay(&mut self, _: Time, _: Way, _: Time, payload: u32) {
        self.delays += usize::from(payload == 0);
    }
}

#[test]
fn contents_of_datagrams_are_recorded_where_something_reads_them() {
    let contents = |observed: bool, delays: bool| {
        let mut scenario = toy(json!({}), "");
        scenario.probes.segments_at = observed.then_some(0);
        scenario.probes.delays = delays;
        let simulation = Simulation::new(&scenario, 1, 0, Contents::default()).unwrap();
        simulation.with_stacks(Box::new(Toy)).run().unwrap().1
    };
    // 40 datagrams are sent and 40 answers arrive, each with the number of its datagram.
    let seen = contents(true, false);
    assert_eq!((seen.numbers.len(), seen.without, seen.delays), (80, 0, 0));
    assert_eq!(seen.numbers[..4], [0, 0, 1, 1]);
    // The toy says of none that it has data, so that delays are of datagrams without payload.
    let seen = contents(false, true);
    assert_eq!((seen.numbers.len(), seen.without, seen.delays), (0, 0, 80));
    let seen = contents(true, true);
    assert_eq!((seen.numbers.len(), seen.without, seen.delays), (80, 0, 80));
}

/// Timers that expired: when, at which end, how often in a row, when the timer was set, and what was acknowledged by then.
#[derive(Default)]
struct Timers(Vec<(Time, bool, u32, Time, u64)>, u32);

impl Probe for Timers {
    const ENABLED: bool = true;
    fn connection(&mut self, record: &ConnectionRecord) {
        self.1 = record.timeouts;
    }
    fn traced(&mut self, way: Way, traced: &cwndlab_tcp::Traced) {
        if let cwndlab_tcp::Traced::Expired { at, timer: cwndlab_tcp::Expired::Probe, set_at, backoffs, acked } =
            *traced
        {
            self.0.push((at, way.from_client, backoffs, set_at, acked));
        }
    }
}

#[test]
fn probe_timeouts_of_a_stack_are_reported_when_they_happen() {
    let mut scenario = toy(json!({}), r#"{"kind": "bernoulli", "p": 0.1}"#);
    scenario.probes.connections = true;
    for states in [true, false] {
        scenario.probes.states = states;
        let simulation = Simulation::new(&scenario, 1, 0, Timers::default()).unwrap();
        let Timers(seen, timeouts) = simulation.with_stacks(Box::new(Toy)).run().unwrap().1;
        assert!(timeouts > 3, "{timeouts}");
        if !states {
            assert!(seen.is_empty());
            continue;
        }
        let backoffs: Vec<_> = seen.iter().map(|&(_, _, backoffs, ..)| backoffs).collect();
        assert_eq!(backoffs, (1..=timeouts).collect::<Vec<_>>());
        assert!(seen.iter().all(|&(at, from_client, _, set_at, _)| from_client && set_at + PATIENCE == at), "{seen:?}");
        // Answers acknowledge all datagrams up to theirs, of 40.
        let acked: Vec<_> = seen.iter().map(|&(.., acked)| acked).collect();
        assert!(acked.is_sorted() && acked[0] < *acked.last().unwrap() && *acked.last().unwrap() < 40, "{acked:?}");
        assert!(seen.windows(2).all(|pair| pair[0].0 + PATIENCE <= pair[1].0), "{seen:?}");
    }
}
