use super::*;
use crate::test_packet::TestPacket;
use rand::SeedableRng;

fn full(victim: Victim, limit: u32) -> DropOnFull<TestPacket> {
    let config = DropOnFullConfig { limit, victim };
    config.check().expect("a valid configuration");
    let mut queue = DropOnFull::new(config);
    let (mut rng, mut dropped) = (Rng::seed_from_u64(1), Vec::new());
    for id in 0..u64::from(limit) {
        queue.enqueue(Time::ZERO, TestPacket::new(id), &mut rng, &mut dropped);
    }
    assert!(dropped.is_empty(), "all of them fit");
    queue
}

fn drain(queue: &mut DropOnFull<TestPacket>) -> Vec<u64> {
    std::iter::from_fn(|| queue.dequeue().map(|left| left.packet.id)).collect()
}

#[test]
fn the_packet_at_the_front_makes_room() {
    let (mut rng, mut dropped) = (Rng::seed_from_u64(1), Vec::new());
    let mut queue = full(Victim::Front, 3);
    queue.enqueue(Time::ZERO, TestPacket::new(3), &mut rng, &mut dropped);
    queue.enqueue(Time::ZERO, TestPacket::new(4), &mut rng, &mut dropped);
    assert_eq!(
        dropped.iter().map(|(cause, packet)| (*cause, packet.id)).collect::<Vec<_>>(),
        [(DropCause::Full, 0), (DropCause::Full, 1)]
    );
    assert_eq!(queue.bytes(), u64::from(3 * TestPacket::new(0).wire_bytes()));
    assert_eq!(drain(&mut queue), [2, 3, 4]);
    assert_eq!((queue.packets(), queue.bytes()), (0, 0));
}

/// A chi-square test over the 10 positions in a full queue. The arriving packet is never dropped.
#[test]
fn any_packet_that_waits_makes_room_with_the_same_probability() {
    let mut rng = Rng::seed_from_u64(1);
    let mut counts = [0_u32; 10];
    for _ in 0..10_000 {
        let (mut queue, mut dropped) = (full(Victim::Random, 10), Vec::new());
        queue.enqueue(Time::ZERO, TestPacket::new(10), &mut rng, &mut dropped);
        counts[dropped[0].1.id as usize] += 1; // panics if it is the new one
        assert_eq!(queue.packets(), 10);
        let left = drain(&mut queue);
        assert!(left.len() == 10 && left.is_sorted(), "the others keep their order: {left:?}");
    }
    let chi2: f64 = counts.iter().map(|&n| cwndlab_units::power(f64::from(n) - 1000.0, 2) / 1000.0).sum();
    assert!(chi2 < 27.9, "chi-square {chi2} with 9 degrees of freedom, 0.1 % point 27.9");
}
