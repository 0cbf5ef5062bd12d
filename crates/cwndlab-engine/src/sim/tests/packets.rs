//! What a probe is told of packets beside their segments: identification, timeouts, windows that close.

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_net::queue::Regions;
use cwndlab_tcp::Profile;

use super::*;

#[derive(Default)]
struct Packets {
    seen: Vec<(SegmentEvent, bool, u16, Segment)>,
    connections: Vec<ConnectionRecord>,
    objects: Vec<ObjectRecord>,
}

impl Probe for Packets {
    const ENABLED: bool = true;
    fn segment(&mut self, _: Time, event: SegmentEvent, way: Way, ip_id: u16, segment: &Segment) {
        self.seen.push((event, way.from_client, ip_id, *segment));
    }
    fn connection(&mut self, record: &ConnectionRecord) {
        self.connections.push(*record);
    }
    fn object(&mut self, _: u32, record: &ObjectRecord) {
        self.objects.push(*record);
    }
    fn queue(&mut self, _: Time, _: &QueueSample) {}
    fn window(&mut self, _: Time, _: Way, _: &WindowSample) {}
    fn link(&mut self, _: u32, _: &LinkCounters, _: Option<Regions>) {}
}

fn watch(mut scenario: Scenario, node: u32) -> Packets {
    scenario.probes.segments_at = Some(node);
    Simulation::new(&scenario, 1, 0, Packets::default()).unwrap().run().1
}

fn lossy() -> Scenario {
    let impairments = r#"{"kind": "bernoulli", "p": 0.04}, {"kind": "duplicate", "p": 0.05}"#;
    chain(&tcp(Profile::Rfc5681, "sack"), 300_000, DROP_TAIL, impairments, 600)
}

#[test]
fn a_host_gives_every_packet_an_identification_of_its_own_even_if_it_sends_a_segment_again() {
    let packets = watch(lossy(), 0);
    let sent = |(event, ..): &&(SegmentEvent, bool, u16, Segment)| matches!(event, SegmentEvent::Sent { .. });
    let ids: Vec<u16> = packets.seen.iter().filter(sent).map(|&(_, _, id, _)| id).collect();
    assert_eq!(ids, (1..=ids.len() as u16).collect::<Vec<_>>());
    assert!(packets.seen.iter().filter(sent).any(|(.., segment)| segment.retransmission));
}

#[test]
fn a_copy_that_a_link_makes_has_the_identification_of_the_original() {
    let packets = watch(lossy(), 3);
    let mut arrivals: BTreeMap<u16, Vec<Segment>> = BTreeMap::new();
    for &(event, from_client, id, segment) in &packets.seen {
        if event == SegmentEvent::Received && from_client {
            arrivals.entry(id).or_default().push(segment);
        }
    }
    assert!(arrivals.values().any(|copies| copies.len() > 1), "links copied nothing");
    for copies in arrivals.values() {
        assert!(copies.iter().all(|copy| copy == &copies[0]), "{copies:?}");
    }
}

#[test]
fn a_drop_bears_the_identification_of_the_packet_that_was_sent() {
    let packets = watch(lossy(), 0);
    let mut sent = BTreeMap::new();
    let mut dropped = BTreeSet::new();
    for &(event, from_client, id, segment) in packets.seen.iter().filter(|(_, from_client, ..)| *from_client) {
        match event {
            SegmentEvent::Sent { .. } => drop(sent.insert(id, (from_client, segment))),
            SegmentEvent::Dropped { .. } => {
                assert_eq!(sent[&id], (from_client, segment));
                dropped.insert(id);
            }
            _ => {}
        }
    }
    assert!(dropped.len() > 3);
}

#[test]
fn what_a_timer_sends_again_is_told_apart_from_what_acknowledgments_do() {
    let scenario =
        chain(&tcp(Profile::Rfc5681, "reno"), 300_000, DROP_TAIL, r#"{"kind": "bernoulli", "p": 0.08}"#, 3600);
    let packets = watch(scenario, 0);
    let timeouts =
        packets.seen.iter().filter(|(event, ..)| matches!(event, SegmentEvent::Sent { timeout: true })).count();
    let again = packets.seen.iter().filter(|(.., segment)| segment.retransmission).count();
    let record = packets.connections[0];
    // the receiver's timer has nothing to send but its SYN-ACK and FIN, which this seed does not lose
    assert_eq!(timeouts, record.timeouts as usize);
    assert!(timeouts > 0 && again > timeouts, "{timeouts} of {again}");
}

#[test]
fn a_slow_reader_closes_the_window_and_still_gets_everything_at_its_rate() {
    let mut tcp = serde_json::to_value(Profile::Rfc5681.config()).unwrap();
    tcp["receive_buffer_bytes"] = 14_600.into(); // ten segments of 1460 bytes, so that they fill it to the byte
    let mut scenario = chain(&tcp.to_string(), 200_000, DROP_TAIL, "", 60);
    scenario.traffic[0].app =
        serde_json::from_str(r#"{"kind": "bulk", "bytes": 200000, "read_rate_bps": 160000}"#).unwrap();
    let packets = watch(scenario, 0);
    let closed = packets.seen.iter().filter(|(_, from_client, _, segment)| !from_client && segment.window == 0);
    assert!(closed.count() > 0, "no window was closed");
    // 200 kB at 160 kb/s are 10 s, less the pause after the last chunk, after a round trip and a half of 44 ms
    let end = packets.objects[0].end.as_secs_f64();
    assert!((9.9..10.2).contains(&end), "read in {end} s");
    let record = packets.connections[0];
    assert!((record.bytes_up, record.failed) == (200_000, false), "{record:?}");
}
