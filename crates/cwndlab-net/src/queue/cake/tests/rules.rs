//! Single rules of `sch_cake.c`, by hand.

use super::*;

fn cake(config: CakeConfig) -> Cake<TestPacket> {
    config.check().unwrap();
    Cake::new(config, 3)
}

/// `cake_advance_shaper`: a tin's own time never runs behind now, nor more than a packet ahead of it by being asked often.
#[test]
fn the_shaper_advances_the_time_of_the_tin_and_of_the_whole() {
    let now = 1_000_000_000;
    for (own, then) in [
        (now - 5, now - 5 + 1_000_000),
        (now, now + 1_000_000),
        (now + 999_999, now + 1_000_000),
        (now + 1_000_000, now + 1_000_000),
        (now + 7_000_000, now + 7_000_000),
    ] {
        for (dropped, failsafe) in [(false, 1_500_000), (true, 0)] {
            // The second tin has a quarter of 32 Mb/s: 1000 bytes take 1 ms there, and 0.25 ms of the whole.
            let mut queue = cake(CakeConfig { tins: Tins::Diffserv4, ..shaped(32 * MBIT) });
            queue.tins[3].time_next = own;
            assert_eq!(queue.charge(3, 1000, now, dropped), 1000);
            assert_eq!(queue.tins[3].time_next, then, "{own}");
            assert_eq!((queue.time_next, queue.failsafe_next), (250_000, failsafe / 4));
        }
    }
    let mut free = cake(CakeConfig::default());
    assert_eq!(free.charge(0, 1000, now, false), 1000);
    assert_eq!((free.tins[0].time_next, free.time_next, free.failsafe_next), (0, 0, 0));
}

/// `cake_reconfigure`: a quarter of the round trip at four times the rate, of at least 4 MiB, but no more than 10,240 packets.
#[test]
fn memory_is_limited_by_rate_and_round_trip() {
    for (rate_bps, rtt_ms, memory_bytes, limit) in [
        (Some(8_000_000_000_u64), 1000, None, 10_240 * 1514_u64),
        (Some(100 * MBIT), 100, None, 5_000_000),
        (Some(100 * MBIT), 50, None, 4 << 20),
        (Some(100 * MBIT), 100, Some(77), 77),
        (None, 100, None, 10_240 * 1514),
    ] {
        let rtt_ns = Time::from_millis(rtt_ms);
        let rate_bps = rate_bps.map(Rate::from_bps);
        let queue = cake(CakeConfig { rate_bps, rtt_ns, memory_bytes, ..CakeConfig::default() });
        assert_eq!(u64::from(queue.memory_limit), limit, "{rate_bps:?} {rtt_ms}");
    }
}

/// `skb->truesize` of packets that a socket sends: 256 and 576 for a head that fits, else a power of two.
#[test]
fn a_packet_takes_the_memory_of_its_buffer() {
    for (bytes, memory) in
        [(40, 832), (240, 832), (241, 256 + 1024), (688, 256 + 1024), (689, 256 + 2048), (1500, 256 + 2048)]
    {
        assert_eq!(memory_of(bytes), memory, "{bytes}");
    }
}

/// `cake_hash`: without flows, the hashes of both hosts are combined by an exclusive or.
#[test]
fn a_packet_is_hashed_by_what_is_isolated() {
    let hosts =
        vec![RouteHosts { start: 0, source: 1, destination: 2 }, RouteHosts { start: 10, source: 2, destination: 1 }];
    let of = |isolation, place| {
        let queue =
            cake(CakeConfig { isolation, hosts: hosts.clone(), perturbation: Some(1), ..CakeConfig::default() });
        let Hashes { flow, source, destination } = queue.hashes(&TestPacket { place, ..TestPacket::of_flow(0, 9) });
        assert_eq!(source, queue.hash(u64::from(if place > 10 { 2_u32 } else { 1 })));
        assert_eq!(destination, queue.hash((1 << 32) + if place > 10 { 1 } else { 2 }), "not the same as of a source");
        assert_eq!(queue.hash(9), flow_hash::mix(9, 1) as u32);
        (flow, source, destination, queue.hash(9))
    };
    for place in [1, 10, 11] {
        for isolation in [Isolation::Flows, Isolation::DualSrchost, Isolation::DualDsthost, Isolation::TripleIsolate] {
            let (flow, _, _, of_flow) = of(isolation, place);
            assert_eq!(flow, of_flow, "{isolation:?}");
        }
        let (flow, source, destination, _) = of(Isolation::Hosts, place);
        assert_eq!(flow, source ^ destination);
        let (flow, source, ..) = of(Isolation::Srchost, place);
        assert_eq!(flow, source);
        let (flow, _, destination, _) = of(Isolation::Dsthost, place);
        assert_eq!(flow, destination);
        assert_eq!(of(Isolation::Flowblind, place).0, 0);
    }
}

/// The tables of the presets by the names of codepoints, and which kinds of isolation share by which host.
#[test]
fn codepoints_have_their_tins_and_isolations_their_hosts() {
    let (le, cs1, ef, cs7, best) = (1, 8, 46, 56, 0);
    for (preset, tins) in [
        (Tins::Besteffort, [0; 5]),
        (Tins::Precedence, [0, 1, 5, 7, 0]),
        (Tins::Diffserv3, [1, 1, 2, 2, 0]),
        (Tins::Diffserv4, [1, 1, 3, 3, 0]),
        (Tins::Diffserv8, [0, 1, 6, 7, 2]),
    ] {
        assert_eq!([le, cs1, ef, cs7, best].map(|dscp| tin_of(preset, dscp)), tins, "{preset:?}");
    }
    for (isolation, flows, source, destination) in [
        (Isolation::Flowblind, false, false, false),
        (Isolation::Srchost, false, true, false),
        (Isolation::Dsthost, false, false, true),
        (Isolation::Hosts, false, true, true),
        (Isolation::Flows, true, false, false),
        (Isolation::DualSrchost, true, true, false),
        (Isolation::DualDsthost, true, false, true),
        (Isolation::TripleIsolate, true, true, true),
    ] {
        let found = [isolation.flows(), isolation.by_source(), isolation.by_destination()];
        assert_eq!(found, [flows, source, destination], "{isolation:?}");
        let shares = [isolation.shares_source(), isolation.shares_destination()];
        assert_eq!(shares, [flows && source, flows && destination], "{isolation:?}");
    }
}

/// A codepoint of the traffic is added to that of the packet.
#[test]
fn a_packet_goes_to_the_tin_of_its_codepoint() {
    let point = Codepoint { dscp: 46, traffic: vec!["a".into()], numbers: vec![7] };
    for (dscp, traffic, tin) in [(0, 7, 2), (46, 0, 2), (46, 7, 2), (8, 0, 1), (0, 0, 0)] {
        let mut queue = cake(CakeConfig { codepoints: vec![point.clone()], ..CakeConfig::default() });
        queue.enqueue(Time::ZERO, &TestPacket { traffic, dscp, ..TestPacket::new(0) }, &mut Vec::new());
        let backlogs: Vec<_> = queue.tins.iter().map(|tin| tin.backlog).collect();
        assert_eq!(backlogs.iter().position(|&bytes| bytes == 1000), Some(tin), "{dscp} {traffic}: {backlogs:?}");
    }
}

/// An idle shaper begins again at the time of the packet, but one that is ahead does not go back.
#[test]
fn a_packet_that_finds_the_queue_empty_sets_the_times() {
    let now = 50_000_000;
    for (time_next, then) in [(now - 1, now), (now, now), (now + 9, now + 9)] {
        let mut queue = cake(shaped(8 * MBIT));
        (queue.time_next, queue.failsafe_next, queue.tins[0].time_next) = (time_next, 99, time_next);
        queue.enqueue(Time::from_nanos(now as u64), &TestPacket::new(0), &mut Vec::new());
        let failsafe = if time_next < now { now } else { 99 };
        assert_eq!((queue.time_next, queue.failsafe_next, queue.tins[0].time_next), (then, failsafe, then));
        // With a packet waiting they stay.
        queue.enqueue(Time::from_nanos(now as u64 + 500), &TestPacket::new(0), &mut Vec::new());
        assert_eq!((queue.time_next, queue.tins[0].time_next), (then, then));
    }
}

/// Accounts of packets, bytes and memory after ACKs were filtered, packets dropped and sent.
#[test]
fn what_waits_is_what_came_less_what_left() {
    let ack = Ack { number: 0, acknowledges: true, pure: true, ecn_flags: 0, timestamps: None, sack: false };
    let limit = 12 * memory_of(1000);
    for ingress in [false, true] {
        let memory_bytes = Some(limit);
        let mut queue =
            cake(CakeConfig { ack_filter: AckFilter::Aggressive, ingress, memory_bytes, ..shaped(8 * MBIT) });
        let (mut dropped, mut waiting) = (Vec::new(), std::collections::BTreeMap::new());
        for id in 0..60_u64 {
            let of_acks = id % 3 == 0;
            let ack = of_acks.then_some(Ack { number: id as u32, ..ack });
            let bytes = if of_acks { 52 + id as u32 % 7 } else { 900 + id as u32 };
            let packet = TestPacket { bytes, ack, ..TestPacket::of_flow(id, id % 3) };
            waiting.insert(id, bytes);
            queue.enqueue(Time::from_millis(id / 4), &packet, &mut dropped);
            if id % 4 == 3 {
                let sent = queue.dequeue(Time::from_millis(id / 4), &mut dropped);
                waiting.retain(|&id, _| sent.is_none_or(|sent| sent.packet.id != id));
            }
            for (_, packet) in dropped.drain(..) {
                waiting.remove(&packet.id);
            }
            let memory: u32 = waiting.values().map(|&bytes| memory_of(bytes)).sum();
            let bytes: u32 = waiting.values().sum();
            assert_eq!((queue.packets(), queue.bytes()), (waiting.len() as u32, u64::from(bytes)), "packet {id}");
            assert_eq!((queue.memory, queue.tins.iter().map(|tin| tin.backlog).sum()), (memory, bytes));
            assert!(memory <= limit);
        }
        assert!(waiting.len() < 20, "some were dropped");
    }
}

/// `cake_dequeue`: an empty flow decays while its AQM is not at rest, and only then.
#[test]
fn an_empty_flow_leaves_the_lists_if_its_aqm_is_at_rest() {
    let now = 90_000_000;
    for (p_drop, count, drop_next, decays) in [
        (0, 0, now, false),
        (0, 0, now - 1, false),
        (0, 0, now + 1, true),
        (1 << 30, 0, now - 1, true),
        (0, 9, now - 1, true),
        (0, 9, now - 500_000_000, true),
    ] {
        for set in [Set::Sparse, Set::SparseWait, Set::Bulk] {
            let mut queue = cake(CakeConfig { tins: Tins::Besteffort, ..CakeConfig::default() });
            let b = &mut queue.tins[0];
            b.chain.move_to_tail(OLD, 4);
            (b.flows[4].set, b.sparse_flows, b.bulk_flows) = (set, 5, 5);
            let cobalt = &mut b.flows[4].cobalt;
            (cobalt.p_drop, cobalt.count, cobalt.drop_next) = (p_drop, count, drop_next);
            queue.rest(4, now);
            let b = &queue.tins[0];
            let lists = [NEW, OLD, DECAYING].map(|list| b.chain.first(list));
            assert_eq!(lists, [None, None, decays.then_some(4)], "{p_drop} {count} {drop_next}");
            assert_eq!(b.flows[4].set, if decays { Set::Decaying } else { Set::None });
            let bulk = u16::from(set == Set::Bulk);
            assert_eq!((b.sparse_flows, b.bulk_flows), (4 + bulk, 5 - bulk));
        }
    }
}

/// `cake_dequeue`: a sparse flow without credit waits as one if it is empty, and else becomes a bulk flow.
#[test]
fn a_sparse_flow_that_has_used_its_credit_becomes_bulk_only_with_packets() {
    for (packets, set) in [(0, Set::SparseWait), (1, Set::Bulk)] {
        let mut queue = cake(CakeConfig { tins: Tins::Besteffort, ..CakeConfig::default() });
        for _ in 0..packets {
            queue.tins[0].flows[4].fifo.push(Time::ZERO, &TestPacket::new(0));
        }
        let b = &mut queue.tins[0];
        b.chain.move_to_tail(NEW, 4);
        (b.flows[4].set, b.flows[4].deficit, b.sparse_flows) = (Set::Sparse, 0, 1);
        assert_eq!(queue.choose_flow(true), Some(4));
        let b = &queue.tins[0];
        assert_eq!((b.flows[4].set, b.sparse_flows, b.bulk_flows), (set, 1 - packets, packets));
        assert!((1513..=1514).contains(&b.flows[4].deficit), "{}", b.flows[4].deficit);
        assert_eq!([NEW, OLD].map(|list| b.chain.first(list)), [None, Some(4)]);
    }
}

/// New flows go before old ones, and decaying ones before both at the first look of a dequeue, after them at the next ones.
#[test]
fn a_decaying_flow_is_looked_at_first_but_once() {
    let mut queue = cake(CakeConfig { tins: Tins::Besteffort, ..CakeConfig::default() });
    let b = &mut queue.tins[0];
    for (flow, list) in [(1, OLD), (2, NEW), (3, DECAYING)] {
        b.flows[flow].deficit = 100;
        b.chain.move_to_tail(list, flow);
    }
    assert_eq!((queue.choose_flow(true), queue.choose_flow(false)), (Some(3), Some(2)));
    queue.tins[0].chain.remove(2);
    assert_eq!(queue.choose_flow(false), Some(1));
    queue.tins[0].chain.remove(1);
    assert_eq!(queue.choose_flow(false), Some(3));
    queue.tins[0].chain.remove(3);
    assert_eq!(queue.choose_flow(true), None);
}

/// With a shaper: the last of the tins that are due, else the one that is due first. Tins without flows are not asked.
#[test]
fn a_tin_is_chosen_by_its_time() {
    for (times, flows, chosen) in [
        ([0, 0, 0], [1, 1, 1], Some(2)),
        ([0, 5, 9], [1, 1, 1], Some(0)),
        ([7, 5, 9], [1, 1, 1], Some(1)),
        ([7, 5, 5], [1, 1, 1], Some(2)),
        ([7, 5, 9], [1, 0, 1], Some(0)),
        ([0, 0, 9], [0, 0, 1], Some(2)),
        ([0, 0, 0], [0, 0, 0], None),
    ] {
        let mut queue = cake(shaped(8 * MBIT));
        for ((tin, time), flows) in queue.tins.iter_mut().zip(times).zip(flows) {
            (tin.time_next, tin.sparse_flows) = (1000 + time, flows);
        }
        let found = queue.choose_tin(1000).map(|()| queue.current);
        assert_eq!(found, chosen, "{times:?} {flows:?}");
    }
}

/// Without a shaper, a tin may need several rounds until it has credit for a packet.
#[test]
fn packets_larger_than_the_quanta_leave_after_several_rounds() {
    let mut queue = cake(CakeConfig::default());
    let mut dropped = Vec::new();
    for (id, dscp) in [0, 8, 46, 0, 8, 46].into_iter().enumerate() {
        let packet = TestPacket { dscp, bytes: 9000, ..TestPacket::of_flow(id as u64, u64::from(dscp)) };
        queue.enqueue(Time::ZERO, &packet, &mut dropped);
    }
    let left = (0..6).filter(|_| queue.dequeue(Time::ZERO, &mut dropped).is_some()).count();
    assert_eq!((left, queue.packets(), dropped.len()), (6, 0, 0));
}
