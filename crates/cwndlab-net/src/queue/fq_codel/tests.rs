use super::*;
use crate::queue::Dequeued;
use crate::test_packet::TestPacket;
use crate::Ecn;

fn queue(config: FqCodelConfig) -> FqCodel<TestPacket> {
    FqCodel::new(config, 3)
}

/// Takes the next packet to send.
fn dequeue(
    queue: &mut FqCodel<TestPacket>,
    now: Time,
    dropped: &mut Vec<Dropped<TestPacket>>,
) -> Option<Dequeued<TestPacket>> {
    let mut packet = TestPacket::default();
    let marked = queue.dequeue(now, dropped, &mut packet)?;
    Some(Dequeued { packet, marked })
}

/// Sends `n` packets at the same instant, and returns the flow of each.
fn served(queue: &mut FqCodel<TestPacket>, n: usize) -> Vec<u64> {
    let mut dropped = Vec::new();
    let flows = (0..n).map_while(|_| dequeue(queue, Time::ZERO, &mut dropped)).map(|sent| sent.packet.flow).collect();
    assert_eq!(dropped, []);
    flows
}

fn fill(queue: &mut FqCodel<TestPacket>, flow: u64, packets: u64, bytes: u32) {
    let mut dropped = Vec::new();
    for id in 0..packets {
        queue.enqueue(Time::ZERO, &TestPacket { bytes, ..TestPacket::of_flow(id, flow) }, &mut dropped);
    }
    assert_eq!(dropped, []);
}

#[test]
fn backlogged_flows_share_by_bytes_whatever_their_packet_size() {
    let mut queue = queue(FqCodelConfig::default());
    fill(&mut queue, 1, 1000, 1500);
    fill(&mut queue, 2, 4000, 300);
    let served = served(&mut queue, 1200);
    let bytes = |flow, size| served.iter().filter(|&&f| f == flow).count() * size;
    let (large, small) = (bytes(1, 1500), bytes(2, 300));
    assert!(large.abs_diff(small) <= 2 * 1514, "{large} and {small}");
}

#[test]
fn a_new_flow_goes_before_the_backlogged_ones() {
    let mut queue = queue(FqCodelConfig { quantum: 1500, ..FqCodelConfig::default() });
    fill(&mut queue, 1, 10, 1000);
    assert_eq!(served(&mut queue, 4), [1; 4]); // flow 1 is an old flow, which may send 500 bytes more in its turn
    fill(&mut queue, 2, 1, 1000);
    assert_eq!(served(&mut queue, 2), [2, 1]);
}

#[test]
fn a_flow_that_comes_back_at_once_is_not_new_again() {
    let mut queue = queue(FqCodelConfig { quantum: 2000, ..FqCodelConfig::default() });
    fill(&mut queue, 1, 10, 1000);
    fill(&mut queue, 2, 1, 500);
    assert_eq!(served(&mut queue, 4), [1, 1, 2, 1]); // flow 2 became empty and follows flow 1 in the list of old flows
    fill(&mut queue, 2, 1, 500);
    assert_eq!(served(&mut queue, 2), [1, 2]); // flow 2 would go first if it were new again
}

#[test]
fn past_the_limit_half_of_the_fattest_flow_is_dropped_from_its_head() {
    let mut queue = queue(FqCodelConfig { limit: 20, ..FqCodelConfig::default() });
    fill(&mut queue, 1, 4, 1000);
    fill(&mut queue, 2, 16, 1000);
    let mut dropped = Vec::new();
    queue.enqueue(Time::ZERO, &TestPacket::of_flow(99, 1), &mut dropped);
    let ids: Vec<_> = dropped.iter().map(|(cause, packet)| (*cause, packet.flow, packet.id)).collect();
    assert_eq!(ids, (0..8).map(|id| (DropCause::Full, 2, id)).collect::<Vec<_>>());
    assert_eq!((queue.packets(), queue.bytes()), (13, 13_000));
}

/// Whatever queues the hash gives the flows.
#[test]
fn of_equally_fat_flows_the_one_that_is_served_first_loses() {
    for first in 1..20 {
        let mut queue = queue(FqCodelConfig { limit: 4, ..FqCodelConfig::default() });
        fill(&mut queue, first, 2, 1000);
        fill(&mut queue, first + 1, 2, 1000);
        let mut dropped = Vec::new();
        queue.enqueue(Time::ZERO, &TestPacket { bytes: 500, ..TestPacket::of_flow(9, first + 2) }, &mut dropped);
        assert_eq!(dropped.iter().map(|(_, packet)| packet.flow).collect::<Vec<_>>(), [first]);
    }
}

#[test]
fn the_batch_of_drops_is_bounded() {
    let mut queue = queue(FqCodelConfig { limit: 1000, ..FqCodelConfig::default() });
    fill(&mut queue, 1, 1000, 1000);
    let mut dropped = Vec::new();
    queue.enqueue(Time::ZERO, &TestPacket::of_flow(1000, 1), &mut dropped);
    assert_eq!(dropped.len(), 64);
}

#[test]
fn codel_acts_on_the_slow_flow_alone() {
    let mut queue = queue(FqCodelConfig { ecn: false, ..FqCodelConfig::default() });
    let mut dropped = Vec::new();
    let mut id = 0;
    // The link sends one packet per ms. Flow 1 offers two packets per ms, and flow 2 one every 20 ms.
    for ms in 0..2000 {
        let now = Time::from_millis(ms);
        for flow in if ms % 20 == 0 { vec![1, 1, 2] } else { vec![1, 1] } {
            id += 1;
            queue.enqueue(now, &TestPacket::of_flow(id, flow), &mut dropped);
        }
        dequeue(&mut queue, now, &mut dropped);
    }
    assert!(dropped.len() > 10);
    assert!(dropped.iter().all(|(cause, packet)| *cause == DropCause::Aqm && packet.flow == 1));
}

#[test]
fn a_packet_that_is_marked_already_is_no_new_mark() {
    let mut queue = queue(FqCodelConfig { ecn: true, ..FqCodelConfig::default() });
    let mut dropped = Vec::new();
    let mut marks = 0;
    for ms in 0..2000 {
        let now = Time::from_millis(ms);
        for id in [2 * ms, 2 * ms + 1] {
            // Every second packet was marked by another queue.
            let ecn = if id % 2 == 0 { Ecn::Ce } else { Ecn::Ect0 };
            queue.enqueue(now, &TestPacket { ecn, ..TestPacket::of_flow(id, 1) }, &mut dropped);
        }
        let packet = dequeue(&mut queue, now, &mut dropped).expect("overloaded");
        assert!(!packet.marked || packet.packet.id % 2 == 1);
        marks += u32::from(packet.marked);
    }
    assert!(marks > 0 && dropped.is_empty());
}

#[test]
fn the_hash_spreads_flows_evenly_and_depends_on_the_perturbation() {
    let queue =
        |perturbation| queue(FqCodelConfig { flows: 64, perturbation: Some(perturbation), ..FqCodelConfig::default() });
    let (a, b) = (queue(1), queue(2));
    let mut bins = [0_u32; 64];
    for key in 0..64_000 {
        bins[a.index(key) as usize] += 1;
    }
    assert!(bins.iter().all(|&n| (850..1150).contains(&n)), "{bins:?}");
    let same = (0..64_000).filter(|&key| a.index(key) == b.index(key)).count();
    assert!((800..1200).contains(&same), "{same}");
}
