//! The queues and hosts of a tin, its shares and its tins' rates.

use rand::SeedableRng as _;

use super::super::{Cake, CakeConfig};
use super::*;
use crate::test_packet::TestPacket;

const DUAL: Isolation = Isolation::TripleIsolate;

fn tin() -> Tin<TestPacket> {
    tins(Tins::Besteffort, 0, 1514, 100_000_000).remove(0)
}

fn hashes(flow: u32, source: u32, destination: u32) -> Hashes {
    Hashes { flow, source, destination }
}

/// `cake_hash`: 8 ways of 128 sets; a host without an entry takes a way of its set without bulk flows, its own first.
#[test]
fn a_host_has_an_entry_in_the_set_of_its_hash() {
    let queue: Cake<TestPacket> = Cake::new(CakeConfig::default(), 3);
    let tin = &queue.tins[0];
    for hash in [0_u32, 1, 7, 8, 13, 1015, 1023, 1024, 5_000, u32::MAX - 1] {
        let direct = hash as usize % 1024;
        assert_eq!(tin.host(hash, |_| (u32::MAX, 0)), direct, "all entries are free");
        assert_eq!(tin.host(hash, |_| (u32::MAX, 1)), direct, "none is free");
        let first = std::ptr::from_ref(&tin.hosts[direct / 8 * 8]);
        let others = |host: &Host| (u32::MAX, u16::from(!std::ptr::eq(host, first)));
        assert_eq!(tin.host(hash, others), direct / 8 * 8, "one of the set is free");
        let known = |host: &Host| (if std::ptr::eq(host, first) { hash } else { u32::MAX }, 1);
        assert_eq!(tin.host(hash, known), direct / 8 * 8, "one of the set is the host's");
    }
}

#[test]
fn flows_that_collide_take_the_other_ways_of_their_set() {
    for (first, set) in [(5, 0), (3 * 1024 + 517, 512), (1023, 1016)] {
        let mut tin = tin();
        let flow = |n: usize| hashes((first + 1024 * n) as u32, 1, 2);
        let places: Vec<_> = (0..8).map(|n| set + (first + n) % 8).collect();
        for (n, &place) in places.iter().enumerate() {
            assert_eq!(tin.assign(flow(n), Isolation::Flows), place);
            tin.flows[place].set = Set::Sparse;
        }
        for (n, &place) in places.iter().enumerate() {
            assert_eq!(tin.assign(flow(n), Isolation::Flows), place, "each is found again");
        }
        // The set is full: the ninth shares the queue of the first, whose tag it takes.
        assert_eq!(tin.assign(flow(8), Isolation::Flows), places[0]);
        assert_eq!(tin.tags[places[0]], flow(8).flow);
        // A queue that comes free goes to the next flow without one, and its tag with it.
        tin.flows[places[3]].set = Set::None;
        assert_eq!(tin.assign(flow(9), Isolation::Flows), places[3]);
        tin.flows[places[3]].set = Set::Bulk;
        assert_eq!(tin.assign(flow(3), Isolation::Flows), places[0], "the tag of the fourth is gone");
    }
}

/// A tag stays when a flow's queue is empty: the flow gets the same queue again, though the direct one is free.
#[test]
fn a_flow_that_comes_back_finds_its_queue_by_its_tag() {
    let mut tin = tin();
    let other = tin.assign(hashes(5, 1, 2), Isolation::Flows);
    tin.flows[other].set = Set::Sparse;
    let place = tin.assign(hashes(5 + 1024, 1, 2), Isolation::Flows);
    assert_eq!((other, place), (5, 6));
    tin.flows[other].set = Set::None;
    assert_eq!(tin.assign(hashes(5 + 1024, 1, 2), Isolation::Flows), 6);
}

#[test]
fn without_isolation_all_flows_have_the_first_queue() {
    let mut tin = tin();
    for flow in [3, 4, 5000] {
        assert_eq!(tin.assign(hashes(flow, 1, 2), Isolation::Flowblind), 0);
    }
    assert_eq!(tin.tags[0], 0, "no tag is set");
}

/// The hosts of a flow are those of the packet for which its queue was taken.
#[test]
fn hosts_are_assigned_as_a_queue_is_taken() {
    for (isolation, source, destination) in
        [(Isolation::DualSrchost, 7, 0), (Isolation::DualDsthost, 0, 9), (DUAL, 7, 9), (Isolation::Flows, 0, 0)]
    {
        let mut tin = tin();
        let of = |tin: &Tin<TestPacket>| (usize::from(tin.flows[5].source), usize::from(tin.flows[5].destination));
        assert_eq!(tin.assign(hashes(5, 7, 9), isolation), 5);
        assert_eq!(of(&tin), (source, destination), "{isolation:?}");
        tin.flows[5].set = Set::Sparse;
        tin.assign(hashes(5, 70, 90), isolation);
        assert_eq!(of(&tin), (source, destination), "an active flow keeps its hosts");
        tin.flows[5].set = Set::None;
        tin.assign(hashes(5, 70, 90), isolation);
        let then = (if source > 0 { 70 } else { 0 }, if destination > 0 { 90 } else { 0 });
        assert_eq!(of(&tin), then, "{isolation:?}");
        assert_eq!((tin.hosts[70].source_tag > 0, tin.hosts[90].destination_tag > 0), (source > 0, destination > 0));
    }
}

/// If a set is full, a bulk flow is counted no more for its old hosts but for the new ones.
#[test]
fn a_flow_that_takes_over_a_bulk_queue_counts_for_its_own_hosts() {
    for (set, moved) in [(Set::Bulk, 1), (Set::Sparse, 0)] {
        let mut tin = tin();
        for n in 0..8 {
            let place = tin.assign(hashes(5 + 1024 * n, 20, 40), DUAL);
            tin.flows[place].set = Set::Sparse;
        }
        for flow in [5, 6] {
            tin.count_bulk(flow, DUAL, true);
        }
        tin.flows[5].set = set;
        assert_eq!(tin.assign(hashes(5 + 1024 * 8, 30, 50), DUAL), 5);
        let count = |at: usize| (tin.hosts[at].source_bulk, tin.hosts[at].destination_bulk);
        assert_eq!((count(20).0, count(40).1), (2 - moved, 2 - moved), "{set:?}");
        assert_eq!((count(30).0, count(50).1), (moved, moved), "{set:?}");
    }
}

#[test]
fn a_host_has_from_no_bulk_flow_to_one_for_each_queue() {
    let mut tin = tin();
    tin.assign(hashes(5, 7, 9), DUAL);
    let count = |tin: &Tin<TestPacket>| (tin.hosts[7].source_bulk, tin.hosts[9].destination_bulk);
    tin.count_bulk(5, DUAL, false);
    assert_eq!(count(&tin), (0, 0));
    for _ in 0..1025 {
        tin.count_bulk(5, DUAL, true);
    }
    assert_eq!(count(&tin), (1024, 1024));
    tin.count_bulk(5, Isolation::DualSrchost, false);
    assert_eq!(count(&tin), (1023, 1024));
    tin.count_bulk(5, Isolation::DualDsthost, false);
    tin.count_bulk(5, Isolation::Flows, false);
    assert_eq!(count(&tin), (1023, 1023));
    // A flow that takes over a bulk queue adds to its hosts no more than that either.
    tin.hosts[7].source_bulk = 1024;
    tin.hosts[9].destination_bulk = 1024;
    tin.flows[5].set = Set::Bulk;
    tin.assign_hosts(5, hashes(5, 7, 9), DUAL);
    assert_eq!(count(&tin), (1024, 1024));
}

/// `cake_get_flow_quantum`: the quantum over the larger of the numbers of bulk flows, to the next whole number at random.
#[test]
fn the_quantum_of_a_flow_is_divided_by_the_bulk_flows_of_its_busier_host() {
    let mut rng = Rng::seed_from_u64(3);
    let mut tin = tin();
    tin.assign(hashes(5, 7, 9), DUAL);
    (tin.hosts[7].source_bulk, tin.hosts[9].destination_bulk) = (3, 7);
    for (isolation, load) in
        [(DUAL, 7.0), (Isolation::DualSrchost, 3.0), (Isolation::DualDsthost, 7.0), (Isolation::Flows, 1.0)]
    {
        let drawn: Vec<_> = (0..20_000).map(|_| tin.flow_quantum(5, isolation, &mut rng)).collect();
        let exact: f64 = 1514.0 * libm::floor(65_535.0 / load) / 65_536.0;
        assert!(drawn.iter().all(|&n| n == exact as i32 || n == exact as i32 + 1), "{isolation:?} {exact}");
        let mean = f64::from(drawn.iter().sum::<i32>()) / 20_000.0;
        assert!((mean - exact).abs() < 0.015, "{isolation:?}: {mean} {exact}");
    }
    (tin.hosts[7].source_bulk, tin.hosts[9].destination_bulk) = (8, 7);
    assert_eq!(tin.flow_quantum(5, DUAL, &mut rng) / 10, 18);
}

/// `cake_set_rate` and the presets: rates in bytes per second, as times of 1,000,000 bytes.
#[test]
fn each_preset_has_its_rates_and_quanta() {
    let rate = 10_000_000;
    let eighths = |k| (0..k).fold(rate, |rate, _| rate * 7 / 8);
    let quanta = [256, 224, 196, 171, 149, 130, 113, 98];
    let expected: [(Tins, Vec<(u64, u16)>); 5] = [
        (Tins::Besteffort, vec![(rate, 65_535)]),
        (Tins::Precedence, (0..8).map(|k| (eighths(k), quanta[k])).collect()),
        (Tins::Diffserv8, (0..8).map(|k| (eighths(k), quanta[k])).collect()),
        (Tins::Diffserv4, vec![(rate, 1024), (rate / 16, 64), (rate / 2, 512), (rate / 4, 256)]),
        (Tins::Diffserv3, vec![(rate, 1024), (rate / 16, 64), (rate / 4, 256)]),
    ];
    for (preset, tins_of) in expected {
        let made: Vec<Tin<TestPacket>> = tins(preset, rate, 1514, 100_000_000);
        assert_eq!(made.len(), tins_of.len());
        for (tin, (rate, quantum)) in made.iter().zip(tins_of) {
            let ns = (1_000_000 * tin.rate_ns) >> tin.rate_shift;
            assert!(ns.abs_diff(1_000_000_000_000_000 / rate) <= 1, "{preset:?}: {ns}");
            assert_eq!(tin.quantum, quantum, "{preset:?}");
            assert!(tin.rate_ns >> 33 == 1 || tin.rate_shift == 34, "as many bits as 34 allow");
        }
    }
    assert_eq!(time_of_byte(1), time_of_byte(64), "at least 64 bytes/s");
    assert_ne!(time_of_byte(65), time_of_byte(64));
}

#[test]
fn a_slow_tin_has_a_small_quantum_and_a_long_target() {
    // bytes per second: quantum, time of a packet of 1514 bytes, target and interval in us, at a round trip of 100 ms
    for (rate, quantum, mtu_us, target_us, interval_us) in [
        (0, 1514, 0, 5000, 100_000),
        (300 << 12, 300, 1232, 5000, 100_000),
        (301 << 12, 301, 1228, 5000, 100_000),
        (1513 << 12, 1513, 244, 5000, 100_000),
        (1600 << 12, 1514, 231, 5000, 100_000),
        (100_000, 300, 15_140, 22_710, 117_710),
        (10_000, 300, 151_400, 227_100, 454_200),
    ] {
        let tin: Tin<TestPacket> = tins(Tins::Besteffort, rate, 1514, 100_000_000).remove(0);
        let Params { interval, target, mtu_time } = tin.params;
        let us = [mtu_time, target, interval].map(|ns| (ns + 500) / 1000);
        assert_eq!((tin.flow_quantum, us), (quantum, [mtu_us, target_us, interval_us]), "{rate}");
    }
    let tin: Tin<TestPacket> = tins(Tins::Besteffort, 0, 1514, 19_999).remove(0);
    assert_eq!((tin.params.target, tin.params.interval), (1000, 19_999), "a microsecond at least");
}
