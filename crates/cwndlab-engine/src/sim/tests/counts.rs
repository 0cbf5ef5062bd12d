//! What a run records at each time, by hand: a packet every 6 ms to a bottleneck that needs 8 ms for each.

use super::*;
use crate::probe::{NoProbe, QueueSample};

/// Times in microseconds of packet `k`: it is sent, enters the bottleneck, leaves it, and arrives.
const fn times_us(k: u64) -> [u64; 4] {
    let sent = 6000 * k;
    let leaves = 1120 + 8000 * (k + 1);
    [sent, sent + 1120, leaves, leaves + 21_120]
}

/// Packets in the bottleneck just before `us`, and after the events of that time if `after`.
fn backlog(us: u64, after: bool) -> u64 {
    let before = |at: u64| at < us || after && at == us;
    (0..1000).map(times_us).filter(|&[_, enters, leaves, _]| before(enters) && !before(leaves)).count() as u64
}

/// The first 90 packets, which all fit into the queue of 25.
fn steady(probes: impl FnOnce(&mut ProbeSpec)) -> Scenario {
    let app = r#"{"kind": "cbr", "rate_bps": 2000000}"#;
    let mut scenario = chain(&tcp(cwndlab_tcp::Profile::Rfc5681, RecoveryKind::Reno), 1, DROP_TAIL, "", 1);
    scenario.traffic[0].app = serde_json::from_str(app).unwrap();
    scenario.duration_ns = Time::from_millis(540);
    scenario.probes = ProbeSpec::default();
    probes(&mut scenario.probes);
    scenario
}

#[derive(Default)]
struct Samples {
    queues: Vec<(u64, QueueSample)>,
    delays: Vec<(u64, Way, Time, u32)>,
    links: Vec<(u64, u32, LinkCounters)>,
    connections: Vec<(u64, ConnectionRecord)>,
    objects: Vec<(u64, u32, ObjectRecord)>,
    accecn: Vec<(Way, cwndlab_tcp::DeliveredCe)>,
    last: Option<ConnectionRecord>,
}

fn us(time: Time) -> u64 {
    time.as_nanos() / 1000
}

impl Probe for Samples {
    const ENABLED: bool = true;
    fn queue(&mut self, now: Time, sample: &QueueSample) {
        self.queues.push((us(now), *sample));
    }
    fn delay(&mut self, now: Time, way: Way, delay: Time, payload: u32) {
        self.delays.push((us(now), way, delay, payload));
    }
    fn snapshot_link(&mut self, at: Time, link: u32, counters: &LinkCounters, _: Option<Regions>) {
        self.links.push((us(at), link, *counters));
    }
    fn snapshot_connection(&mut self, at: Time, record: &ConnectionRecord) {
        self.connections.push((us(at), *record));
    }
    fn snapshot_object(&mut self, at: Time, traffic: u32, record: &ObjectRecord) {
        self.objects.push((us(at), traffic, *record));
    }
    fn accecn(&mut self, _: Time, way: Way, counters: &cwndlab_tcp::DeliveredCe) {
        self.accecn.push((way, *counters));
    }
    fn connection(&mut self, record: &ConnectionRecord) {
        self.last = Some(*record);
    }
}

fn samples(scenario: &Scenario) -> Samples {
    Simulation::new(scenario, 1, 0, Samples::default()).unwrap().run().unwrap().1
}

fn assert_backlog(seen: &[(u64, QueueSample)], times: &[u64], link: u32) {
    let found: Vec<_> = seen.iter().map(|(at, sample)| (*at, sample.link, sample.packets, sample.bytes)).collect();
    let expected = times.iter().map(|&at| (at, link, backlog(at, true) as u32, 1500 * backlog(at, true)));
    assert_eq!(found, expected.collect::<Vec<_>>());
    assert!(seen.iter().all(|(_, sample)| sample.average.is_none()));
}

#[test]
fn a_queue_is_sampled_at_each_arrival() {
    let seen = samples(&steady(|probes| probes.queues = vec![1]));
    let arrivals: Vec<_> = (0..90).map(|k| times_us(k)[1]).collect();
    assert_backlog(&seen.queues, &arrivals, 1);
}

#[test]
fn a_queue_is_sampled_at_each_interval_from_the_start() {
    let seen = samples(&steady(|probes| {
        probes.queues = vec![1];
        probes.queue_interval_ns = Some(Time::from_millis(7));
    }));
    assert_backlog(&seen.queues, &(0..=77).map(|k| 7000 * k).collect::<Vec<_>>(), 1);
    let both = samples(&steady(|probes| {
        probes.queues = vec![4, 1];
        probes.queue_interval_ns = Some(Time::from_millis(300));
    }));
    let seen: Vec<_> = both.queues.iter().map(|(at, sample)| (*at, sample.link, u64::from(sample.packets))).collect();
    assert_eq!(seen, [(0, 4, 0), (0, 1, 0), (300_000, 4, 0), (300_000, 1, backlog(300_000, true))]);
}

#[test]
fn each_packet_has_the_delay_of_its_way_and_its_wait() {
    let seen = samples(&steady(|probes| probes.delays = true));
    assert!(seen.delays.len() > 60, "{}", seen.delays.len());
    for (k, &(now, way, delay, payload)) in (0..).zip(&seen.delays) {
        let [sent, _, _, arrives] = times_us(k);
        assert_eq!((now, way, payload), (arrives, Way { connection: 0, from_client: true }, 1472));
        assert!(delay.as_nanos().abs_diff(1000 * (arrives - sent)) < 16, "packet {k}: {delay}");
    }
}

/// A window's edge sees what has happened before it: at 300 ms, a packet is sent that does not count yet.
#[test]
fn a_snapshot_has_the_counts_up_to_its_time() {
    let mut scenario = steady(|probes| probes.connections = true);
    let ms = Time::from_millis;
    scenario.windows.insert("w".into(), (ms(100), ms(300)));
    let seen = samples(&scenario);
    let count = |at: u64, step: usize| (0..90).filter(|&k| times_us(k)[step] < at).count() as u64;
    let edges = [100_000, 300_000];
    assert_eq!(seen.connections.iter().map(|&(at, _)| at).collect::<Vec<_>>(), edges);
    for &(at, record) in &seen.connections {
        let expected = (count(at, 0), 1472 * count(at, 3), 0, Time::MAX);
        assert_eq!((record.segments_sent, record.bytes_up, record.bytes_down, record.end), expected, "{at}");
    }
    assert_eq!(seen.links.len(), 12, "six links twice");
    for (at, _, counters) in seen.links.iter().filter(|(_, link, _)| *link == 1) {
        let sojourn_us: u64 =
            (0..90).map(times_us).map(|[_, enters, leaves, _]| leaves.min(*at).saturating_sub(enters)).sum();
        let entered = count(*at, 1);
        assert_eq!((counters.arrivals, counters.accepted, counters.bytes), (entered, entered, 1500 * entered));
        assert_eq!((us(counters.busy), us(counters.sojourn)), (at - 1120, sojourn_us), "{at}");
    }
    let last = seen.last.expect("the connection is recorded at the end, too");
    assert_eq!((last.segments_sent, last.bytes_up), (91, 1472 * count(540_001, 3)));
}

#[test]
fn a_snapshot_has_the_objects_that_are_under_way() {
    let mut scenario = chain(&tcp(cwndlab_tcp::Profile::Rfc5681, RecoveryKind::Reno), 300_000, DROP_TAIL, "", 60);
    let second = Time::from_secs(1);
    scenario.windows.insert("w".into(), (second, Time::from_secs(50)));
    let seen = samples(&scenario);
    let [(at, traffic, record)] = seen.objects[..] else { panic!("{:?}", seen.objects) };
    assert_eq!((at, traffic, record.start, record.end), (1_000_000, 0, Time::ZERO, Time::MAX));
    // The copy of the application that was ended for it leaves the application as it was.
    let (_, log) = run(&scenario, 0);
    scenario.windows.clear();
    assert_eq!(run(&scenario, 0).1.objects, log.objects);
}

#[test]
fn a_run_in_parts_is_the_same_run() {
    let scenario = chain(&tcp(cwndlab_tcp::Profile::Rfc5681, RecoveryKind::Reno), 300_000, DROP_TAIL, "", 60);
    let whole = Simulation::new(&scenario, 1, 0, NoProbe).unwrap().run().unwrap().0;
    let mut parts = Simulation::new(&scenario, 1, 0, NoProbe).unwrap();
    assert_eq!(parts.summary(), Summary::default());
    let mut before = Summary::default();
    for second in 1..4 {
        parts.run_until(Time::from_secs(second)).unwrap();
        let now = parts.summary();
        assert!(now.hops > before.hops && now.delivered > before.delivered && now.events > before.events, "{now:?}");
        assert_eq!((now.connections, now.in_flight), (1, 0));
        // Each packet crosses three links.
        assert!(3 * now.delivered <= now.hops && now.hops <= 3 * now.injected, "{now:?}");
        before = now;
    }
    assert_eq!(parts.run().unwrap().0, whole);
    // The bottleneck, the second of three links, drops some.
    assert_eq!((whole.hops, whole.injected), (3 * whole.delivered + whole.dropped, whole.delivered + whole.dropped));
    assert!(whole.dropped > 0);
}

#[test]
fn memory_of_connections_is_that_of_their_slots() {
    let mut scenario = chain(&tcp(cwndlab_tcp::Profile::Rfc5681, RecoveryKind::Reno), 1, DROP_TAIL, "", 20);
    scenario.tcp[0].fin.as_mut().unwrap().time_wait_ns = Time::from_millis(1);
    let flows =
        r#"{"kind": "short-flows", "arrival_rate": 20, "flow_bytes": {"kind": "fixed", "value": 1000}, "flows": 40}"#;
    scenario.traffic[0].app = serde_json::from_str(flows).unwrap();
    let mut simulation = Simulation::new(&scenario, 1, 0, NoProbe).unwrap();
    simulation.run_until(Time::from_secs(20)).unwrap();
    let slots = simulation.conns.len();
    assert!((2..20).contains(&slots) && simulation.free_conns.len() == slots, "{slots}");
    assert_eq!(simulation.connection_bytes(), slots * size_of::<Conn>() + 4 * slots);
}

/// With marks and no loss, the sender knows at the end of each packet that was marked, and the codepoints of all its bytes.
#[test]
fn counters_of_marks_are_recorded_as_they_change() {
    let mut endpoint = serde_json::to_value(cwndlab_tcp::Profile::Rfc5681.config()).unwrap();
    endpoint["ecn"] = "accecn".into();
    let red = r#"{"kind": "red", "limit": 60, "min_th": 4, "max_th": 30, "max_p": 0.1, "w_q": 0.02, "ecn": true}"#;
    let mut scenario = chain(&endpoint.to_string(), 1_000_000, red, "", 600);
    scenario.probes.accecn = true;
    let seen = samples(&scenario);
    let record = seen.last.unwrap();
    assert_eq!((record.bytes_up, record.retransmits, record.drops), (1_000_000, 0, 0));
    assert!(record.marks > 5, "{record:?}");
    let of = |from_client| {
        seen.accecn.iter().filter(move |(way, _)| way.from_client == from_client).map(|&(_, counters)| counters)
    };
    let client: Vec<_> = of(true).collect();
    assert!(client.windows(2).all(|pair| pair[0] != pair[1]), "a record for each change");
    assert!(client
        .windows(2)
        .all(|pair| pair[0].packets <= pair[1].packets && pair[0].ect0_bytes <= pair[1].ect0_bytes));
    let last = client.last().unwrap();
    assert_eq!((last.packets, last.by_option, last.ect1_bytes), (record.marks, true, 0));
    assert_eq!(last.ect0_bytes + last.ce_bytes, 1_000_000);
    assert!(client.len() > 100 && seen.accecn.iter().all(|(way, _)| way.connection == 0), "{}", client.len());
    assert!(of(false).all(|counters| counters.packets == 0));
    scenario.probes.accecn = false;
    assert!(samples(&scenario).accecn.is_empty());
}

/// Windows are recorded of a sender, whenever one changes: the first is the initial window.
#[test]
fn windows_are_recorded_of_the_end_that_sends_data() {
    let mut scenario = chain(&tcp(cwndlab_tcp::Profile::Rfc5681, RecoveryKind::Reno), 100_000, DROP_TAIL, "", 60);
    scenario.probes.cwnd = true;
    for (from, from_client) in [("client", true), ("server", false)] {
        scenario.traffic[0].app =
            serde_json::from_str(&format!(r#"{{"kind": "bulk", "bytes": 100000, "from": "{from}"}}"#)).unwrap();
        let (_, log) = run(&scenario, 0);
        assert!(
            log.windows.len() > 10 && log.windows.iter().all(|(way, _)| *way == Way { connection: 0, from_client })
        );
        let first = log.windows[0].1;
        assert_eq!((first.cwnd_bytes % 1460, first.ssthresh_bytes), (0, u64::MAX));
        assert!(first.cwnd_bytes >= first.in_flight_bytes && first.in_flight_bytes > 0);
        let states: Vec<_> =
            log.windows.iter().map(|(_, one)| (one.cwnd_bytes, one.ssthresh_bytes, one.state)).collect();
        assert!(states.windows(2).all(|pair| pair[0] != pair[1]), "a record for each change");
        // After the handshake of 44 ms, there is a round-trip time.
        assert!(log.windows.iter().all(|(_, one)| us(one.srtt) > 44_000), "{:?}", log.windows[0]);
    }
}
