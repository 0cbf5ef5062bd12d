mod batch;
mod counts;
mod datagrams;
mod ecn;
mod ends;
mod laws;
mod limits;
mod messages;
mod packets;
mod paths;
mod setup;
mod stacks;

use cwndlab_net::queue::Regions;
use cwndlab_net::LinkCounters;
use cwndlab_tcp::{RecoveryKind, Segment, TcpConfig};
use cwndlab_traffic::ObjectRecord;
use cwndlab_units::{Rate, Time};
use proptest::prelude::*;

use super::*;
use crate::probe::{ConnectionRecord, SegmentEvent, Way, WindowSample};
use crate::Scenario;

/// Everything that a run reports. Segments are text, so that two runs can be compared.
#[derive(Default)]
struct Log {
    segments: Vec<String>,
    connections: Vec<ConnectionRecord>,
    objects: Vec<ObjectRecord>,
    links: Vec<LinkCounters>,
    windows: Vec<(Way, WindowSample)>,
}

impl Probe for Log {
    const ENABLED: bool = true;
    fn segment(&mut self, now: Time, event: SegmentEvent, way: Way, _: u16, segment: &Segment) {
        self.segments.push(format!("{} {event:?} {way:?} {segment:?}", now.as_nanos()));
    }
    fn connection(&mut self, record: &ConnectionRecord) {
        self.connections.push(*record);
    }
    fn object(&mut self, _: u32, record: &ObjectRecord) {
        self.objects.push(*record);
    }
    fn link(&mut self, _: u32, counters: &LinkCounters, _: Option<Regions>) {
        self.links.push(*counters);
    }
    fn window(&mut self, _: Time, way: Way, sample: &WindowSample) {
        self.windows.push((way, *sample));
    }
}

/// What was seen at a node: the event, whether the client end sent the packet, its identification and its segment.
type Sight = (SegmentEvent, bool, u16, Segment);

/// What a node saw, and the records of the run.
#[derive(Default)]
struct Seen {
    segments: Vec<Sight>,
    connections: Vec<ConnectionRecord>,
    objects: Vec<ObjectRecord>,
    /// The time that the average queue length of the bottleneck spent in each region.
    regions: Option<Regions>,
}

impl Probe for Seen {
    const ENABLED: bool = true;
    fn segment(&mut self, _: Time, event: SegmentEvent, way: Way, ip_id: u16, segment: &Segment) {
        self.segments.push((event, way.from_client, ip_id, *segment));
    }
    fn connection(&mut self, record: &ConnectionRecord) {
        self.connections.push(*record);
    }
    fn object(&mut self, _: u32, record: &ObjectRecord) {
        self.objects.push(*record);
    }
    fn link(&mut self, link: u32, _: &LinkCounters, regions: Option<Regions>) {
        if link == 1 {
            self.regions = regions;
        }
    }
}

/// What `node` of a [`chain`] sees. Node 0 is the client's, node 3 the server's.
fn watch(mut scenario: Scenario, node: u32) -> Seen {
    scenario.probes.segments_at = Some(node);
    Simulation::new(&scenario, 1, 0, Seen::default()).unwrap().run().unwrap().1
}

fn tcp(profile: cwndlab_tcp::Profile, recovery: RecoveryKind) -> String {
    let (sack, recovery) = (recovery.is_selective(), profile.recovery(recovery));
    serde_json::to_string(&TcpConfig { recovery, sack, ..profile.config() }).unwrap()
}

/// Two routers between two hosts, `bytes` from client to server, impairments on the bottleneck both ways.
fn chain(tcp: &str, bytes: u64, queue: &str, impairments: &str, duration_s: u64) -> Scenario {
    let text = format!(
        r#"{{"duration_ns": {}, "nodes": ["a", "r1", "r2", "b"],
        "links": [
          {{"name": "a>r1", "from": 0, "to": 1, "rate_bps": 100000000, "delay_ns": 1000000, "queue": {{"kind": "infinite"}}}},
          {{"name": "r1>r2", "from": 1, "to": 2, "rate_bps": 1500000, "delay_ns": 20000000, "queue": {queue}, "impairments": [{impairments}]}},
          {{"name": "r2>b", "from": 2, "to": 3, "rate_bps": 100000000, "delay_ns": 1000000, "queue": {{"kind": "infinite"}}}},
          {{"name": "r1>a", "from": 1, "to": 0, "rate_bps": 100000000, "delay_ns": 1000000, "queue": {{"kind": "infinite"}}}},
          {{"name": "r2>r1", "from": 2, "to": 1, "rate_bps": 1500000, "delay_ns": 20000000, "queue": {queue}, "impairments": [{impairments}]}},
          {{"name": "b>r2", "from": 3, "to": 2, "rate_bps": 100000000, "delay_ns": 1000000, "queue": {{"kind": "infinite"}}}}],
        "tcp": [{tcp}],
        "traffic": [{{"name": "transfer", "client": 0, "server": 3, "tcp_client": 0, "tcp_server": 0, "start_ns": 0,
                      "app": {{"kind": "bulk", "bytes": {bytes}, "from": "client"}}}}],
        "probes": {{"segments_at": 0, "connections": true}}}}"#,
        duration_s * 1_000_000_000
    );
    Scenario::from_json(&text).unwrap()
}

fn run(scenario: &Scenario, replicate: u64) -> (Summary, Log) {
    Simulation::new(scenario, 1, replicate, Log::default()).unwrap().run().unwrap()
}

const DROP_TAIL: &str = r#"{"kind": "drop-tail", "limit": 25}"#;

#[test]
fn a_transfer_over_a_clean_path_takes_the_time_of_its_packets() {
    let tcp = tcp(cwndlab_tcp::Profile::Ns2_1998, RecoveryKind::Reno).replace("{\"segments\":1}", "{\"segments\":20}");
    let (summary, log) = run(&chain(&tcp, 10_000, DROP_TAIL, "", 10), 0);
    // ten packets of 1000 bytes back to back take 5.333 ms each on the bottleneck; add 0.08 ms on each access link, and
    // 22 ms of propagation
    let end = log.objects[0].end.as_nanos();
    assert_eq!(end, 80_000 + 10 * 5_333_333 + 80_000 + 22_000_000 + if end % 10 == 3 { 3 } else { 0 });
    assert_eq!((summary.delivered, summary.dropped, summary.in_flight), (20, 0, 0));
}

#[test]
fn a_node_that_cannot_be_reached_is_named() {
    let mut scenario = chain(&tcp(cwndlab_tcp::Profile::Rfc5681, RecoveryKind::Reno), 1, DROP_TAIL, "", 1);
    scenario.links.remove(4);
    let error = Simulation::new(&scenario, 1, 0, Log::default()).err().unwrap().to_string();
    assert_eq!(error, "topology: no path leads from node b to node a");
}

#[test]
fn a_round_trip_that_stamps_cannot_measure_is_refused() {
    let mut scenario = chain(&tcp(cwndlab_tcp::Profile::Rfc5681, RecoveryKind::Reno), 1, DROP_TAIL, "", 1);
    let refused = |scenario: &Scenario| Simulation::new(scenario, 1, 0, Log::default()).err().map(|e| e.to_string());
    scenario.links[1].delay_ns = Time::from_secs(35 * 60);
    assert_eq!(refused(&scenario), None);
    scenario.links[4].delay_ns = Time::from_secs(60);
    let why = "traffic[0] (transfer).server: is a round trip of 36 min away; TCP's may take 35";
    assert_eq!(refused(&scenario).as_deref(), Some(why));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn every_packet_is_accounted_for_and_every_byte_arrives(
        profile in proptest::sample::select(&cwndlab_tcp::Profile::ALL),
        recovery in proptest::sample::select(RecoveryKind::ALL),
        bytes in 1_u64..120_000, limit in 2_u64..30, loss in 0.0..0.15_f64, reorder in 0.0..0.1_f64,
        duplicate in 0.0..0.05_f64, codel in any::<bool>(), replicate in 0_u64..1000
    ) {
        let queue = if codel { r#"{"kind": "codel"}"#.into() } else { format!(r#"{{"kind": "drop-tail", "limit": {limit}}}"#) };
        let impairments = format!(
            r#"{{"kind": "bernoulli", "p": {loss}}}, {{"kind": "reorder", "p": {reorder}, "extra_ns": 15000000}}, {{"kind": "duplicate", "p": {duplicate}}}"#
        );
        // RACK cannot be combined with the timers of Linux 2.0 and 2.2
        let linux_2 = [cwndlab_tcp::Profile::Linux2_0, cwndlab_tcp::Profile::Linux2_2].contains(&profile);
        prop_assume!(!linux_2 || recovery != RecoveryKind::Rack);
        let scenario = chain(&tcp(profile, recovery), bytes, &queue, &impairments, 3600);
        let (summary, log) = run(&scenario, replicate);
        prop_assert_eq!(summary.injected, summary.delivered + summary.dropped + summary.in_flight);
        let record = log.connections[0];
        prop_assert!(record.bytes_up == bytes || record.failure.is_some(), "{record:?}");
        prop_assert_eq!(log.connections.len(), 1);
        let (again, second) = run(&scenario, replicate);
        prop_assert_eq!(summary, again);
        prop_assert_eq!(log.segments, second.segments);
    }
}

/// A class-based queue of 1.5 Mb/s: a class of 300 kb/s, which may not borrow, for the traffic named `claimed`, and a
/// class of 1.2 Mb/s for all other traffic.
fn classes(claimed: &str) -> String {
    let leaf = |rate: u32, more: &str| {
        format!(r#"{{"parent": 0, "rate_bps": {rate}, "max_packet_bytes": 1000, "queue": {DROP_TAIL}{more}}}"#)
    };
    format!(
        r#"{{"kind": "cbq", "default": 2, "classes": [{{"rate_bps": 1500000}}, {}, {}]}}"#,
        leaf(300_000, &format!(r#", "bounded": true, "traffic": ["{claimed}"]"#)),
        leaf(1_200_000, "")
    )
}

/// When the only connection of a traffic source ended, in seconds.
fn end_s(log: &Log, traffic: u32) -> f64 {
    log.connections.iter().find(|c| c.traffic == traffic).unwrap().end.as_secs_f64()
}

#[test]
fn a_class_has_the_traffic_that_it_names() {
    for (claimed, slow) in [("one", [true, false]), ("two", [false, true])] {
        let (_, log) = run(&merge(&classes(claimed)), 0);
        for (traffic, slow) in (0..).zip(slow) {
            // 300 packets at 300 kb/s take 8 s, less the burst at the start; at 1.2 Mb/s 2 s
            let seconds = end_s(&log, traffic);
            assert!(if slow { (7.9..9.5).contains(&seconds) } else { seconds < 3.0 }, "{claimed}: {seconds}");
        }
    }
}

#[test]
fn instances_of_traffic_belong_to_its_class() {
    let mut scenario = merge(&classes("one"));
    scenario.traffic[0].name = "one.0".into();
    let (_, log) = run(&scenario, 0);
    assert!(end_s(&log, 0) > 7.9);
}

#[test]
fn a_class_of_traffic_that_is_not_there_is_refused() {
    let mut scenario = merge(&classes("one"));
    scenario.traffic[0].name = "ones".into();
    let error = scenario.check().unwrap_err().to_string();
    assert_eq!(error, "links[2] (r>c).queue: there is no traffic \"one\" for a class");
}

#[test]
fn a_rate_beyond_the_limits_is_refused_with_the_name_of_its_link() {
    let mut scenario = merge(&classes("one"));
    scenario.links[2].rate_bps = Rate::from_bps(400_000_000_001);
    let error = scenario.check().unwrap_err().to_string();
    let why = "r>c runs at 400000000001 bit/s; a link needs at least 8 bit/s and at most 400 Gbit/s";
    assert_eq!(error, format!("links[2] (r>c).rate_bps: {why}"));
}

/// Two sources on links as fast as the bottleneck: packets arrive exactly as services end.
fn merge(queue: &str) -> Scenario {
    let tcp = tcp(cwndlab_tcp::Profile::Ns2_1998, RecoveryKind::Reno);
    let link = |name: &str, from: u32, to: u32, queue: &str| {
        format!(
            r#"{{"name": "{name}", "from": {from}, "to": {to}, "rate_bps": 1500000, "delay_ns": 10000000, "queue": {queue}}}"#
        )
    };
    let free = r#"{"kind": "infinite"}"#;
    let links = [
        link("a>r", 0, 2, free),
        link("b>r", 1, 2, free),
        link("r>c", 2, 3, queue),
        link("c>r", 3, 2, free),
        link("r>a", 2, 0, free),
        link("r>b", 2, 1, free),
    ];
    let flow = |name: &str, client: u32| {
        format!(
            r#"{{"name": "{name}", "client": {client}, "server": 3, "tcp_client": 0, "tcp_server": 0, "start_ns": 0,
                 "app": {{"kind": "bulk", "bytes": 300000, "from": "client"}}}}"#
        )
    };
    Scenario::from_json(&format!(
        r#"{{"duration_ns": 60000000000, "nodes": ["a", "b", "r", "c"], "links": [{}], "tcp": [{tcp}],
             "traffic": [{}, {}], "probes": {{"connections": true}}}}"#,
        links.join(","),
        flow("one", 0),
        flow("two", 1)
    ))
    .unwrap()
}

#[test]
fn a_queue_that_decides_at_departure_but_never_drops_is_a_fifo_even_when_arrivals_meet_ends_of_service() {
    let codel = r#"{"kind": "codel", "target_ns": 1000000000000, "interval_ns": 2000000000000}"#;
    let (fifo, by_arrival) = run(&merge(r#"{"kind": "infinite"}"#), 0);
    let (served, by_service) = run(&merge(codel), 0);
    assert_eq!((served.delivered, served.dropped), (fifo.delivered, fifo.dropped));
    assert_eq!(by_service.objects, by_arrival.objects);
    assert_eq!(by_service.objects.len(), 2);
}
