//! The simulator and the router drive the same links: the same packets, with the same random draws, have the same history
//! in both, over every queue, impairment and capacity.
#![cfg(target_os = "linux")]

use std::net::Ipv4Addr;

use cwndlab_engine::{Probe, Scenario, SegmentEvent, Simulation, Streams, Way};
use cwndlab_live::header::Header;
use cwndlab_live::network::{Event, LiveNetwork, LivePacket};
use cwndlab_net::impair::ImpairmentConfig;
use cwndlab_net::queue::{QueueConfig, Regions};
use cwndlab_net::{CapacityConfig, LinkCounters};
use cwndlab_tcp::Segment;
use cwndlab_units::Time;
use serde::de::DeserializeOwned;
use serde_json::{json, Value};

/// From the sender at node 0 over a router to the receiver at node 2: three flows that offer 1.5 times the bottleneck's
/// rate. Each has a codepoint of its own.
fn scenario(queue: &Value, impairments: &Value, capacity: Option<&Value>, observed: u32) -> Scenario {
    let link = |from: u32, to: u32, rate_bps: u64| {
        json!({"name": format!("{from}>{to}"), "from": from, "to": to, "rate_bps": rate_bps, "delay_ns": 3_000_001,
               "queue": {"kind": "infinite"}})
    };
    let mut bottleneck = link(1, 2, 2_000_000);
    bottleneck["queue"] = queue.clone();
    bottleneck["impairments"] = impairments.clone();
    if let Some(capacity) = capacity {
        bottleneck["capacity"] = capacity.clone();
    }
    let flow = |name: &str, ecn: &str| {
        json!({"name": name, "client": 0, "server": 2, "tcp_client": 0, "tcp_server": 0, "start_ns": 0,
               "app": {"kind": "poisson", "rate_bps": 1_000_000, "ecn": ecn}})
    };
    let tcp = serde_json::to_value(cwndlab_tcp::Profile::Rfc5681.config()).unwrap();
    let text = json!({
        "duration_ns": 8_000_000_001_u64, "nodes": ["sender", "router", "receiver"], "tcp": [tcp],
        "links": [link(0, 1, 100_000_000), bottleneck, link(2, 1, 2_000_000), link(1, 0, 100_000_000)],
        "traffic": [flow("classic", "not-ect"), flow("ect0", "ect0"), flow("ect1", "ect1")],
        "probes": {"segments_at": observed},
    });
    Scenario::from_json(&text.to_string()).unwrap()
}

/// What happened to a packet of the sender: time, the packet's number from 0, and the event.
type Log = Vec<(Time, u16, Event)>;

/// What a run of the simulator shows at a node.
#[derive(Default)]
struct Observed {
    /// Packets as they are sent: time, flow and segment.
    sent: Vec<(Time, u32, Segment)>,
    log: Log,
    links: Vec<LinkCounters>,
}

impl Probe for Observed {
    const ENABLED: bool = true;

    fn segment(&mut self, now: Time, event: SegmentEvent, way: Way, ip_id: u16, segment: &Segment) {
        let event = match event {
            SegmentEvent::Sent { .. } => return self.sent.push((now, way.connection, *segment)),
            SegmentEvent::Received => Event::Delivered,
            SegmentEvent::Dropped { link, cause } => Event::Dropped(link, cause),
            SegmentEvent::Marked { link } => Event::Marked(link),
        };
        self.log.push((now, ip_id - 1, event));
    }

    fn link(&mut self, _: u32, counters: &LinkCounters, _: Option<Regions>) {
        self.links.push(*counters);
    }
}

fn simulate(scenario: &Scenario) -> Observed {
    Simulation::new(scenario, 1, 0, Observed::default()).unwrap().run().unwrap().1
}

/// An IPv4 packet with a TCP header, as long as the segment was in the simulator. The port is the flow's number.
fn packet(flow: u32, segment: &Segment, first: bool) -> Vec<u8> {
    let mut bytes = vec![0; segment.wire_bytes as usize];
    let length = (segment.wire_bytes as u16).to_be_bytes();
    bytes[..20].copy_from_slice(&[
        0x45,
        segment.ecn,
        length[0],
        length[1],
        0,
        0,
        0x40,
        0,
        64,
        6,
        0,
        0,
        10,
        0,
        0,
        1,
        10,
        0,
        0,
        2,
    ]);
    bytes[21] = flow as u8;
    // The router counts payload from a SYN, which has the number before that of the first byte.
    bytes[24..28].copy_from_slice(&segment.seq.wrapping_sub(u32::from(first)).to_be_bytes());
    bytes[32] = 0x50;
    bytes[33] = if first { 0x02 } else { 0x10 };
    bytes
}

/// Sends the packets through the router's network, which looks at it only to send.
fn route(scenario: &Scenario, sent: &[(Time, u32, Segment)]) -> (Log, Vec<LinkCounters>) {
    let ports = [(0, vec![Ipv4Addr::new(10, 0, 0, 1).into()]), (2, vec![Ipv4Addr::new(10, 0, 0, 2).into()])];
    let mut network = LiveNetwork::new(scenario, Streams::new(1, 0), &ports).unwrap();
    let mut log = Log::new();
    let mut note =
        |_: &LiveNetwork, at, packet: &LivePacket, event| log.push((at, u16::try_from(packet.id).unwrap(), event));
    let mut begun = [false; 8];
    for (at, flow, segment) in sent {
        let bytes = packet(*flow, segment, !std::mem::replace(&mut begun[*flow as usize], true));
        network.advance(*at, &mut note);
        network.inject(*at, 0, &Header::parse(&bytes).unwrap(), &bytes, &mut note);
    }
    network.advance(scenario.duration_ns, &mut note);
    let links = (0..scenario.links.len()).map(|link| network.counters(link, scenario.duration_ns)).collect();
    (log, links)
}

/// Compares both. Returns their history.
fn compare(queue: &Value, impairments: &Value, capacity: Option<&Value>) -> Log {
    let context = format!("{queue} {impairments} {capacity:?}");
    let sent = simulate(&scenario(queue, impairments, capacity, 0)).sent;
    let scenario = scenario(queue, impairments, capacity, 2);
    let mut simulated = simulate(&scenario);
    let (mut routed, links) = route(&scenario, &sent);
    // Events of the same instant are in the order of the schedule in one, and of the links in the other.
    let order = |entry: &(Time, u16, Event)| (entry.0, entry.1, format!("{:?}", entry.2));
    simulated.log.sort_by_key(order);
    routed.sort_by_key(order);
    assert!(sent.len() > 1500, "{context}: {} packets", sent.len());
    let differing = simulated.log.iter().zip(&routed).find(|(simulated, routed)| simulated != routed);
    assert_eq!(differing, None, "{context}");
    assert_eq!(simulated.log.len(), routed.len(), "{context}");
    assert_eq!(simulated.links, links, "{context}");
    simulated.log
}

/// The number of drops and marks.
fn signals(log: &Log) -> usize {
    log.iter().filter(|entry| entry.2 != Event::Delivered).count()
}

/// The kinds of a configuration, by the message of its parser.
fn kinds<T: DeserializeOwned>() -> Vec<String> {
    let message = serde_json::from_value::<T>(json!({"kind": "?"})).err().unwrap().to_string();
    let list = message.split_once("expected").map(|(_, list)| list.to_owned()).unwrap();
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Fails unless the cases have all kinds of a configuration.
fn assert_complete<T: DeserializeOwned>(cases: &[Value]) {
    // The simulator has no queues of a kernel.
    for kind in kinds::<T>().into_iter().filter(|kind| kind != "kernel") {
        assert!(cases.iter().any(|case| case["kind"] == *kind), "no case has the kind {kind:?}");
    }
}

fn queues() -> Vec<Value> {
    let class = |rate_bps: u64, bounded: bool| json!({"parent": 0, "rate_bps": rate_bps, "bounded": bounded, "queue": {"kind": "drop-tail", "limit": 20}});
    vec![
        json!({"kind": "infinite"}),
        json!({"kind": "drop-tail", "limit": 20}),
        json!({"kind": "drop-tail", "limit": 20_000, "unit": "bytes"}),
        json!({"kind": "drop-on-full", "limit": 20, "victim": "front"}),
        json!({"kind": "drop-on-full", "limit": 20, "victim": "random"}),
        json!({"kind": "red", "limit": 50, "min_th": 5, "max_th": 15, "w_q": 0.02, "ecn": true}),
        json!({"kind": "linux-red", "limit": 60_000, "min_th": 6000, "max_th": 20_000, "burst": 8, "mean_packet_bytes": 1000}),
        json!({"kind": "codel", "limit": 50, "ecn": true}),
        json!({"kind": "pie", "limit": 50, "ecn": true}),
        json!({"kind": "fq-codel", "limit": 200, "ecn": true}),
        json!({"kind": "dualpi2", "limit": 50}),
        json!({"kind": "fq-pie", "limit": 200}),
        json!({"kind": "cake", "rate_bps": 1_500_000}),
        json!({"kind": "tbf", "rate_bps": 1_500_000, "burst_bytes": 9000, "limit": 30_000}),
        json!({"kind": "cbq", "default": 2, "classes": [{"rate_bps": 2_000_000}, class(500_000, false), class(1_500_000, false)]}),
        json!({"kind": "cbq", "default": 1, "classes": [{"rate_bps": 2_000_000}, class(1_500_000, true)]}),
    ]
}

fn impairments() -> Vec<Value> {
    vec![
        json!({"kind": "bernoulli", "p": 0.1}),
        json!({"kind": "gilbert-elliott", "p_good_bad": 0.05, "p_bad_good": 0.3}),
        json!({"kind": "drop-nth", "packets": [3, 40, 41]}),
        json!({"kind": "drop-every", "every": 9}),
        json!({"kind": "drop-seq", "offsets": [14_820, 147_300], "occurrences": 2}),
        json!({"kind": "loss-steps", "at_ns": [0, 500_000_000], "p": [0.0, 0.3], "repeat_ns": 1_000_000_000}),
        json!({"kind": "policer", "rate_bps": 1_500_000, "burst_bytes": 9000}),
        json!({"kind": "duplicate", "p": 0.2}),
        json!({"kind": "delay-nth", "packets": [5, 6], "extra_ns": 20_000_000}),
        json!({"kind": "jitter", "max_ns": 9_000_000}),
        json!({"kind": "jitter", "max_ns": 9_000_000, "keep_order": false}),
        json!({"kind": "normal-jitter", "sigma_ns": 2_000_000}),
        json!({"kind": "wifi-jitter", "p": [0.05]}),
        json!({"kind": "delay-steps", "at_ns": [0, 2_000_000_000], "extra_ns": [0, 15_000_000]}),
        json!({"kind": "aggregate", "hold_ns": 4_000_000, "burst_packets": 3}),
        json!({"kind": "reorder", "p": 0.1, "extra_ns": 15_000_000}),
    ]
}

#[test]
fn every_queue_does_the_same_in_both() {
    assert_complete::<QueueConfig>(&queues());
    for queue in queues() {
        let signals = signals(&compare(&queue, &json!([]), None));
        assert!(signals > 50 || queue["kind"] == "infinite", "{queue}: {signals} drops and marks");
    }
}

#[test]
fn every_impairment_does_the_same_in_both_before_every_queue() {
    assert_complete::<ImpairmentConfig>(&impairments());
    for queue in queues() {
        let unimpaired = compare(&queue, &json!([]), None);
        for impairment in impairments() {
            let impaired = compare(&queue, &json!([impairment]), None);
            assert!(impaired != unimpaired, "{queue}: {impairment} has no effect");
        }
    }
}

#[test]
fn duplicates_and_losses_together_do_the_same_in_both() {
    let list = json!([{"kind": "duplicate", "p": 0.3}, {"kind": "bernoulli", "p": 0.1},
                      {"kind": "jitter", "max_ns": 9_000_000, "keep_order": false}]);
    for queue in queues() {
        assert!(signals(&compare(&queue, &list, None)) > 100, "{queue}");
    }
}

#[test]
fn every_varying_capacity_does_the_same_in_both() {
    let capacities = [
        json!({"kind": "steps", "at_ns": [0, 1_000_000_000], "rates_bps": [3_000_000, 500_000], "repeat_ns": 2_000_000_000}),
        json!({"kind": "deliveries", "at_ms": [3, 9, 9, 20]}),
    ];
    assert_complete::<CapacityConfig>(&capacities);
    for capacity in &capacities {
        for queue in queues() {
            compare(&queue, &json!([{"kind": "duplicate", "p": 0.1}]), Some(capacity));
        }
    }
}
