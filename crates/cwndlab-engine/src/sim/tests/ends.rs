//! What belongs to which end: numbers of bytes, directions, times and losses, with several flows at once.

use super::*;

/// Segments by connection and direction: sequence number and length.
#[derive(Default)]
struct Ways {
    segments: Vec<(Way, u32, u32)>,
    delays: Vec<(Way, u32)>,
    connections: Vec<ConnectionRecord>,
    objects: Vec<ObjectRecord>,
}

impl Probe for Ways {
    const ENABLED: bool = true;
    fn segment(&mut self, _: Time, event: SegmentEvent, way: Way, _: u16, segment: &Segment) {
        if !matches!(event, SegmentEvent::Dropped { .. }) {
            self.segments.push((way, segment.seq, segment.len));
        }
    }
    fn delay(&mut self, _: Time, way: Way, _: Time, payload: u32) {
        self.delays.push((way, payload));
    }
    fn connection(&mut self, record: &ConnectionRecord) {
        self.connections.push(*record);
    }
    fn object(&mut self, _: u32, record: &ObjectRecord) {
        self.objects.push(*record);
    }
}

fn reno() -> String {
    tcp(cwndlab_tcp::Profile::Rfc5681, RecoveryKind::Reno)
}

/// Flows of 400 kb/s: one from the client, one from the server, and another one from the client.
fn three_flows() -> Scenario {
    let mut scenario = chain(&reno(), 1, DROP_TAIL, "", 5);
    let flow = |name: &str, from: &str| {
        let mut entry = scenario.traffic[0].clone();
        entry.name = name.into();
        entry.app =
            serde_json::from_str(&format!(r#"{{"kind": "cbr", "rate_bps": 400000, "from": "{from}"}}"#)).unwrap();
        entry
    };
    scenario.traffic = vec![flow("up", "client"), flow("down", "server"), flow("more", "client")];
    scenario
}

#[test]
fn each_end_of_a_datagram_flow_numbers_its_own_bytes() {
    let seen = Simulation::new(&three_flows(), 1, 0, Ways::default()).unwrap().run().unwrap().1;
    for (connection, from_client) in [(0, true), (1, false), (2, true)] {
        let way = Way { connection, from_client };
        let numbers: Vec<_> =
            seen.segments.iter().filter(|(of, ..)| *of == way).map(|&(_, seq, len)| (seq, len)).collect();
        assert!(numbers.len() > 150, "{way:?}");
        assert!(numbers.iter().zip(0..).all(|(&found, k)| found == (1 + 1472 * k, 1472)), "{:?}", &numbers[..3]);
        let other = Way { connection, from_client: !from_client };
        assert!(seen.segments.iter().all(|(of, ..)| *of != other), "nothing answers");
    }
    for record in &seen.connections {
        let (mine, others) = if record.connection == 1 {
            (record.bytes_down, record.bytes_up)
        } else {
            (record.bytes_up, record.bytes_down)
        };
        assert!(mine > 150 * 1472 && mine % 1472 == 0 && others == 0, "{record:?}");
        assert_eq!((record.segments_sent, record.traffic), (167, record.connection));
    }
}

#[test]
fn packets_in_the_network_are_those_that_neither_arrived_nor_were_dropped() {
    let mut scenario = three_flows();
    scenario.links[1].impairments =
        serde_json::from_str(r#"[{"kind": "bernoulli", "p": 0.2}, {"kind": "duplicate", "p": 0.2}]"#).unwrap();
    let mut simulation = Simulation::new(&scenario, 1, 0, Ways::default()).unwrap();
    for ms in [500, 1003, 2517, 4000] {
        simulation.run_until(Time::from_millis(ms)).unwrap();
        let summary = simulation.summary();
        let inside: u32 = simulation.conns.iter().map(|conn| conn.in_network).sum();
        assert_eq!(u64::from(inside), summary.injected - summary.delivered - summary.dropped);
        assert!(inside > 0 && inside < 20 && summary.dropped > 0);
    }
}

#[test]
fn delays_are_of_both_directions() {
    let mut scenario = chain(&reno(), 60_000, DROP_TAIL, "", 60);
    scenario.probes.delays = true;
    let (summary, seen) = Simulation::new(&scenario, 1, 0, Ways::default()).unwrap().run().unwrap();
    assert_eq!(seen.delays.len() as u64, summary.delivered);
    let count = |from_client, with_data: bool| {
        seen.delays
            .iter()
            .filter(|(way, payload)| way.from_client == from_client && (*payload > 0) == with_data)
            .count()
    };
    // 60,000 bytes are 41 full segments and a part; nothing is lost.
    assert_eq!((count(true, true), count(false, true)), (42, 0));
    assert!(count(false, false) > 20 && count(true, false) >= 2, "ACKs, and SYN, ACK and FIN");
}

#[test]
fn a_connection_is_recorded_with_the_segments_of_both_ends_and_its_handshake() {
    let (summary, log) = run(&chain(&reno(), 60_000, r#"{"kind": "infinite"}"#, "", 60), 0);
    let record = log.connections[0];
    assert_eq!((record.segments_sent, summary.dropped), (summary.injected, 0));
    // Two ways of 22 ms, with a SYN and a SYN-ACK.
    assert!((44_000_000..45_500_000).contains(&record.established.as_nanos()), "{}", record.established);
    assert_eq!((record.start, record.bytes_up, record.bytes_down), (Time::ZERO, 60_000, 0));
}

/// A transfer that is the whole connection has all of its losses.
#[test]
fn an_object_has_the_losses_of_its_connection() {
    for (from, impairments) in
        [("client", r#"{"kind": "bernoulli", "p": 0.06}"#), ("server", r#"{"kind": "bernoulli", "p": 0.06}"#)]
    {
        let mut scenario = chain(&reno(), 300_000, DROP_TAIL, impairments, 600);
        scenario.traffic[0].app =
            serde_json::from_str(&format!(r#"{{"kind": "bulk", "bytes": 300000, "from": "{from}"}}"#)).unwrap();
        let (_, log) = run(&scenario, 3);
        let (object, record) = (log.objects[0], log.connections[0]);
        assert!(object.retransmits > 5 && object.timeouts > 0, "{object:?}");
        // The end of the connection may have some of its own.
        assert!(
            record.retransmits - object.retransmits <= 2 && record.timeouts - object.timeouts <= 2,
            "{object:?} {record:?}"
        );
    }
}

#[test]
fn what_is_unfinished_at_the_end_of_the_run_is_recorded_so() {
    let mut scenario = chain(&reno(), 10_000_000, DROP_TAIL, "", 5);
    let (_, log) = run(&scenario, 0);
    assert_eq!((log.objects.len(), log.objects[0].end, log.connections[0].end), (1, Time::MAX, Time::MAX));
    scenario.probes.connections = false;
    let (_, log) = run(&scenario, 0);
    assert_eq!((log.objects.len(), log.connections.len()), (1, 0), "connections are recorded only on request");
}

/// One connection after the other uses the same slot, with windows, delays and traces of its own.
#[test]
fn a_slot_that_is_used_again_starts_anew() {
    let mut scenario = chain(&reno(), 1, DROP_TAIL, "", 60);
    scenario.tcp[0].fin.as_mut().unwrap().time_wait_ns = Time::from_millis(1);
    let flows =
        r#"{"kind": "short-flows", "arrival_rate": 1, "flow_bytes": {"kind": "fixed", "value": 20000}, "flows": 12}"#;
    scenario.traffic[0].app = serde_json::from_str(flows).unwrap();
    scenario.probes.cwnd = true;
    let (summary, log) = run(&scenario, 0);
    assert_eq!((summary.connections, log.connections.len()), (12, 12));
    for serial in 0..12 {
        let windows: Vec<_> = log.windows.iter().filter(|(way, _)| way.connection == serial).collect();
        assert_eq!(windows[0].1.ssthresh_bytes, u64::MAX, "{serial}");
        assert!(windows.len() > 3 && windows.iter().all(|(way, _)| way.from_client == windows[0].0.from_client));
        let record = log.connections.iter().find(|one| one.connection == serial).unwrap();
        assert_eq!(record.bytes_up + record.bytes_down, 20_000, "{serial}");
        assert!(record.established - record.start < Time::from_millis(60));
    }
}
