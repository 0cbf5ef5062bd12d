use cwndlab_units::Rate;

use super::*;
use crate::test_packet::TestPacket;
use crate::Ack;

mod rules;

const MBIT: u64 = 1_000_000;

fn shaped(bps: u64) -> CakeConfig {
    CakeConfig { rate_bps: Some(Rate::from_bps(bps)), perturbation: Some(1), ..CakeConfig::default() }
}

/// Offers all packets at time 0 and returns those that leave until `until`, with their times.
fn departures(mut config: CakeConfig, packets: &[TestPacket], until: Time) -> Vec<(TestPacket, Time)> {
    config.hosts =
        (0..8).map(|host| RouteHosts { start: 10 * host, source: host / 4, destination: host % 4 }).collect();
    config.check().unwrap();
    let (mut queue, mut dropped, mut left) = (Cake::new(config, 3), Vec::new(), Vec::new());
    for packet in packets {
        queue.enqueue(Time::ZERO, packet, &mut dropped);
    }
    let mut now = Time::ZERO;
    while let Some(ready) = queue.next_ready(now).filter(|&ready| ready <= until) {
        now = ready;
        if let Some(Dequeued { packet, .. }) = queue.dequeue(now, &mut dropped) {
            left.push((packet, now));
        }
    }
    left
}

/// `count` packets of each of these flows, by turns; a flow is its number and the position of its route.
fn flows(count: u64, flows: &[(u64, u32)]) -> Vec<TestPacket> {
    let of = |id| flows.iter().map(move |&(flow, place)| TestPacket { place, ..TestPacket::of_flow(id, flow) });
    (0..count).flat_map(of).collect()
}

#[test]
fn the_shaper_counts_overhead_cells_and_the_least_size() {
    let gaps = |config: CakeConfig, bytes: u32| {
        let packets: Vec<_> = (0..3).map(|id| TestPacket { bytes, ..TestPacket::new(id) }).collect();
        let left = departures(config, &packets, Time::MAX);
        (left[2].1 - left[1].1).as_nanos()
    };
    // 8 Mb/s: a byte takes a microsecond.
    assert_eq!(gaps(shaped(8 * MBIT), 1000), 1_000_000);
    assert_eq!(gaps(CakeConfig { overhead: 18, mpu: 84, ..shaped(8 * MBIT) }, 40), 84_000);
    assert_eq!(gaps(CakeConfig { overhead: 44, framing: Framing::Atm, ..shaped(8 * MBIT) }, 40), 2 * 53_000);
    assert_eq!(gaps(CakeConfig { framing: Framing::Ptm, ..shaped(8 * MBIT) }, 100), 102_000);
}

#[test]
fn hosts_share_before_their_flows_do() {
    // Three flows of source 0, one of source 1, each to a destination of its own.
    let packets = flows(400, &[(1, 1), (2, 11), (3, 21), (4, 71)]);
    let alone = |isolation| {
        let config = CakeConfig { isolation, rtt_ns: Time::from_secs(4), ..shaped(8 * MBIT) };
        let left = departures(config, &packets, Time::from_millis(400));
        left.iter().filter(|(packet, _)| packet.flow == 4).count() as f64 / left.len() as f64
    };
    assert!((alone(Isolation::Flows) - 0.25).abs() < 0.02);
    assert!((alone(Isolation::DualDsthost) - 0.25).abs() < 0.02);
    assert!((alone(Isolation::DualSrchost) - 0.5).abs() < 0.02);
    assert!((alone(Isolation::TripleIsolate) - 0.5).abs() < 0.02);
}

#[test]
fn voice_leaves_before_best_effort_and_bulk_gets_what_is_left() {
    let point = |dscp, number| Codepoint { dscp, traffic: vec![number_name(number)], numbers: vec![number] };
    let config = CakeConfig { codepoints: vec![point(46, 1), point(8, 2)], ..shaped(8 * MBIT) };
    let of = |id, traffic| TestPacket { traffic, ..TestPacket::of_flow(id, u64::from(traffic)) };
    let packets: Vec<_> = (0..200).flat_map(|id| [of(id, 2), of(id, 0), of(id, 1)]).collect();
    let left = departures(config, &packets, Time::from_millis(160));
    let count = |traffic| left.iter().filter(|(packet, _)| packet.traffic == traffic).count();
    // cake_config_diffserv3: voice has priority up to a quarter, bulk a sixteenth.
    assert!((38..=44).contains(&count(1)) && (8..=14).contains(&count(2)), "{} {}", count(1), count(2));
}

/// Without a shaper, classes have turns by their quanta: 1024 for best effort, 256 for voice and 64 for bulk
/// (`cake_config_diffserv3`).
#[test]
fn classes_without_a_shaper_share_by_their_quanta() {
    let point = |dscp, number| Codepoint { dscp, traffic: vec![number_name(number)], numbers: vec![number] };
    let config = CakeConfig {
        codepoints: vec![point(46, 1), point(8, 2)],
        perturbation: Some(1),
        rtt_ns: Time::from_secs(4),
        ..CakeConfig::default()
    };
    let of = |id, traffic| TestPacket { traffic, ..TestPacket::of_flow(id, u64::from(traffic)) };
    let packets: Vec<_> = (0..1000).flat_map(|id| [of(id, 2), of(id, 0), of(id, 1)]).collect();
    let left = departures(config, &packets, Time::MAX);
    let count = |traffic| left[..840].iter().filter(|(packet, _)| packet.traffic == traffic).count();
    for (traffic, of_21) in [(0, 16), (1, 4), (2, 1)] {
        assert!(count(traffic).abs_diff(40 * of_21) <= 4, "{traffic}: {}", count(traffic));
    }
}

fn number_name(number: u8) -> String {
    format!("traffic {number}")
}

#[test]
fn the_filter_leaves_two_acks_and_if_aggressive_one() {
    let ack = |id: u64, number| TestPacket {
        bytes: 52,
        ack: Some(Ack { number, acknowledges: true, pure: true, ecn_flags: 0, timestamps: None, sack: false }),
        ..TestPacket::new(id)
    };
    let acks: Vec<_> = (0..6).map(|id| ack(id, 1000 * id as u32)).collect();
    let ids = |ack_filter, packets: &[TestPacket]| {
        let left = departures(CakeConfig { ack_filter, ..shaped(8 * MBIT) }, packets, Time::MAX);
        left.iter().map(|(packet, _)| packet.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(AckFilter::Off, &acks), [0, 1, 2, 3, 4, 5]);
    assert_eq!(ids(AckFilter::On, &acks), [4, 5]);
    assert_eq!(ids(AckFilter::Aggressive, &acks), [5]);
    let with_sack = |mut packet: TestPacket| {
        packet.ack = packet.ack.map(|ack| Ack { sack: true, ..ack });
        packet
    };
    let mixed = [acks[0], with_sack(acks[1]), acks[2], acks[3]];
    assert_eq!(ids(AckFilter::Aggressive, &mixed), [1, 3], "SACK blocks are kept");
    assert_eq!(ids(AckFilter::Aggressive, &[acks[0], acks[0], acks[0]]), [0, 0, 0], "duplicates count");
}

/// `cake_tcph_may_drop` and `cake_ack_filter`: which of three ACKs is dropped when the last of them comes.
#[test]
fn an_ack_is_kept_if_it_says_more_than_the_newest() {
    let plain = Ack { number: 100, acknowledges: true, pure: true, ecn_flags: 0, timestamps: None, sack: false };
    let newest = Ack { number: 300, ..plain };
    let stamps = |value, echo| Some((value, echo));
    for (first, last, drops) in [
        (plain, newest, true),
        (Ack { pure: false, ..plain }, newest, false),
        (Ack { number: 301, ..plain }, newest, false),
        (Ack { number: 300, ..plain }, newest, false),
        (Ack { number: 300, ..plain }, Ack { sack: true, ..newest }, true),
        (Ack { sack: true, ..plain }, newest, false),
        (Ack { number: u32::MAX, ..plain }, newest, true),
        (Ack { timestamps: stamps(5, 7), ..plain }, Ack { timestamps: stamps(5, 7), ..newest }, true),
        (Ack { timestamps: stamps(6, 7), ..plain }, Ack { timestamps: stamps(5, 7), ..newest }, false),
        (Ack { timestamps: stamps(5, 8), ..plain }, Ack { timestamps: stamps(5, 7), ..newest }, false),
        (Ack { timestamps: stamps(4, 6), ..plain }, Ack { timestamps: stamps(5, 7), ..newest }, true),
        (plain, Ack { acknowledges: false, ..newest }, false),
        (Ack { ecn_flags: 64, ..plain }, newest, false),
    ] {
        let of = |id, ack| TestPacket { bytes: 52, ack: Some(ack), ..TestPacket::new(id) };
        let config = CakeConfig { ack_filter: AckFilter::Aggressive, ..shaped(8 * MBIT) };
        let left = departures(config, &[of(1, first), of(2, last)], Time::MAX);
        assert_eq!(left.len(), if drops { 1 } else { 2 }, "{first:?} {last:?}");
    }
    // An ACK of another flow, or a packet that is none, is neither dropped nor counted.
    let of = |id, flow, ack| TestPacket { bytes: 52, ack, ..TestPacket::of_flow(id, flow) };
    let config = CakeConfig { ack_filter: AckFilter::On, isolation: Isolation::Flowblind, ..shaped(8 * MBIT) };
    let packets = [of(1, 1, Some(plain)), of(2, 2, Some(plain)), of(3, 1, None), of(4, 1, Some(newest))];
    assert_eq!(departures(config, &packets, Time::MAX).len(), 4);
}

#[test]
fn memory_that_runs_out_costs_the_longest_queue() {
    let config = CakeConfig { memory_bytes: Some(40 * memory_of(1000)), ..shaped(8 * MBIT) };
    let mut packets = flows(3, &[(1, 1)]);
    packets.extend(flows(80, &[(2, 1)]));
    let left = departures(config, &packets, Time::MAX);
    let of = |flow| left.iter().filter(|(packet, _)| packet.flow == flow).count();
    assert_eq!((of(1), of(2)), (3, 37));
}

#[test]
fn what_cannot_work_is_refused() {
    let twice = Codepoint { dscp: 8, traffic: vec!["a".into(), "a".into()], numbers: Vec::new() };
    for (bad, says) in [
        (
            CakeConfig { codepoints: vec![Codepoint { dscp: 64, ..twice.clone() }], ..CakeConfig::default() },
            "dscp is 64",
        ),
        (CakeConfig { codepoints: vec![twice], ..CakeConfig::default() }, "two classes"),
        (shaped(100), "rate_bps is 100"),
        (CakeConfig { rtt_ns: Time::from_secs(5), ..CakeConfig::default() }, "rtt_ns is 5000000000"),
    ] {
        assert!(bad.check().unwrap_err().to_string().contains(says), "{:?}", bad.check());
    }
}
