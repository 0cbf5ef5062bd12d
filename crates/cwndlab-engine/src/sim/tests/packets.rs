//! What a probe receives in addition to segments: identification, timeouts, windows that close.

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_tcp::{Profile, RecoveryKind};

use super::*;
use crate::reason::Reason;

fn lossy() -> Scenario {
    let impairments = r#"{"kind": "bernoulli", "p": 0.04}, {"kind": "duplicate", "p": 0.05}"#;
    chain(&tcp(Profile::Rfc5681, RecoveryKind::Sack), 300_000, DROP_TAIL, impairments, 600)
}

#[test]
fn a_host_gives_every_packet_an_identification_of_its_own_even_if_it_sends_a_segment_again() {
    let seen = watch(lossy(), 0);
    let sent = |(event, ..): &&Sight| matches!(event, SegmentEvent::Sent { .. });
    let ids: Vec<u16> = seen.segments.iter().filter(sent).map(|&(_, _, id, _)| id).collect();
    assert_eq!(ids, (1..=ids.len() as u16).collect::<Vec<_>>());
    assert!(seen.segments.iter().filter(sent).any(|(.., segment)| segment.retransmission));
}

#[test]
fn a_copy_that_a_link_makes_has_the_identification_of_the_original() {
    let seen = watch(lossy(), 3);
    let mut arrivals: BTreeMap<u16, Vec<Segment>> = BTreeMap::new();
    for &(event, from_client, id, segment) in &seen.segments {
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
    let seen = watch(lossy(), 0);
    let mut sent = BTreeMap::new();
    let mut dropped = BTreeSet::new();
    for &(event, from_client, id, segment) in seen.segments.iter().filter(|(_, from_client, ..)| *from_client) {
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
    let scenario = chain(
        &tcp(Profile::Rfc5681, RecoveryKind::Reno),
        300_000,
        DROP_TAIL,
        r#"{"kind": "bernoulli", "p": 0.08}"#,
        3600,
    );
    let seen = watch(scenario, 0);
    let timeouts =
        seen.segments.iter().filter(|(event, ..)| matches!(event, SegmentEvent::Sent { timeout: true })).count();
    let again = seen.segments.iter().filter(|(.., segment)| segment.retransmission).count();
    let record = seen.connections[0];
    // the receiver's timer has nothing to send but its SYN-ACK and FIN, which this seed does not lose
    assert_eq!(timeouts, record.timeouts as usize);
    assert!(timeouts > 0 && again > timeouts, "{timeouts} of {again}");
}

#[test]
fn a_slow_reader_closes_the_window_and_still_gets_everything_at_its_rate() {
    let mut tcp = serde_json::to_value(Profile::Rfc5681.config()).unwrap();
    tcp["receive_buffer_bytes"] = 14_600.into(); // filled exactly by ten segments of 1460 bytes
    let mut scenario = chain(&tcp.to_string(), 200_000, DROP_TAIL, "", 60);
    scenario.traffic[0].app =
        serde_json::from_str(r#"{"kind": "bulk", "bytes": 200000, "read_rate_bps": 160000}"#).unwrap();
    let seen = watch(scenario, 0);
    let closed = seen.segments.iter().filter(|(_, from_client, _, segment)| !from_client && segment.window == 0);
    assert!(closed.count() > 0, "no window was closed");
    // 200 kB at 160 kb/s take 10 s, less the pause after the last chunk; reading begins after one and a half round
    // trips of 44 ms
    let end = seen.objects[0].end.as_secs_f64();
    assert!((9.9..10.2).contains(&end), "read in {end} s");
    let record = seen.connections[0];
    assert!((record.bytes_up, record.failure) == (200_000, None), "{record:?}");
}

#[test]
fn a_connection_that_gets_no_answer_fails_with_its_reason_even_if_connections_are_not_probed() {
    #[derive(Default)]
    struct Failed(Vec<(u32, &'static str)>);
    impl Probe for Failed {
        const ENABLED: bool = true;
        fn failure(&mut self, record: &ConnectionRecord, reason: Reason) {
            self.0.push((record.traffic, reason.text()));
        }
    }
    let tcp = serde_json::to_string(&Profile::Rfc5681.config()).unwrap();
    let mut scenario = chain(&tcp, 9000, DROP_TAIL, r#"{"kind": "bernoulli", "p": 1}"#, 3600);
    scenario.probes.connections = false;
    let failed = Simulation::new(&scenario, 1, 0, Failed::default()).unwrap().run().unwrap().1;
    assert_eq!(failed.0, [(0, "the peer did not answer the connection request")]);
}

/// Options are kept apart from the packet, in a slot that is free again once the packet has arrived: a duplicate needs one of
/// its own.
#[test]
fn duplicated_acknowledgments_arrive_with_the_blocks_with_which_they_were_sent() {
    let impairments = r#"{"kind": "bernoulli", "p": 0.05}, {"kind": "duplicate", "p": 0.4}"#;
    let scenario = chain(&tcp(Profile::Rfc5681, RecoveryKind::Sack), 600_000, DROP_TAIL, impairments, 600);
    let of_server = |seen: Seen, sent: bool| -> Vec<(u16, Vec<(u32, u32)>)> {
        let mine = seen
            .segments
            .into_iter()
            .filter(|(event, from_client, ..)| !from_client && matches!(event, SegmentEvent::Sent { .. }) == sent);
        mine.map(|(_, _, id, segment)| (id, segment.sack.as_slice().to_vec())).collect()
    };
    let sent: BTreeMap<u16, Vec<(u32, u32)>> = of_server(watch(scenario.clone(), 3), true).into_iter().collect();
    let arrived: Vec<_> = of_server(watch(scenario, 0), false);
    let with_blocks = arrived.iter().filter(|(_, blocks)| !blocks.is_empty()).count();
    assert!(with_blocks > 100, "{with_blocks}");
    for (id, blocks) in &arrived {
        assert_eq!(blocks, &sent[id], "packet {id}");
    }
}

/// The intervals of a sender's limits.
#[derive(Default)]
struct Limits(Vec<(bool, Time, Time, cwndlab_tcp::Limit)>);

impl Probe for Limits {
    const ENABLED: bool = true;
    fn traced(&mut self, way: Way, traced: &cwndlab_tcp::Traced) {
        if let cwndlab_tcp::Traced::Limited { from, to, by } = *traced {
            self.0.push((way.from_client, from, to, by));
        }
    }
}

#[test]
fn what_limits_a_sender_is_looked_at_while_it_sends() {
    use cwndlab_tcp::Limit;
    let tcp = tcp(Profile::Rfc5681, RecoveryKind::NewReno);
    let mut scenario = chain(&tcp, 20_000, DROP_TAIL, "", 2);
    scenario.probes.limits = true;
    let intervals = Simulation::new(&scenario, 1, 0, Limits::default()).unwrap().run().unwrap().1 .0;
    for end in [true, false] {
        let of_end: Vec<_> = intervals.iter().filter(|interval| interval.0 == end).collect();
        assert!(of_end.windows(2).all(|pair| pair[0].2 == pair[1].1 && pair[0].3 != pair[1].3), "{of_end:?}");
        assert!(of_end.iter().all(|interval| interval.1 < interval.2));
    }
    // The client waits for the SYN-ACK, 44 ms and the time of two SYNs, then for acknowledgments.
    let client: Vec<_> = intervals.iter().filter(|interval| interval.0).collect();
    assert_eq!((client[0].1, client[0].3), (Time::ZERO, Limit::Handshake));
    assert!(client[0].2.as_nanos().abs_diff(44_500_000) < 500_000, "{:?}", client[0]);
    assert!(client.len() > 3 && client.iter().any(|interval| interval.3 == Limit::Cwnd), "{client:?}");
}
