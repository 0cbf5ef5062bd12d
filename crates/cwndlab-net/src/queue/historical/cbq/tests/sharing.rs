//! Turns of classes, what they may borrow, and the accounts of what waits.

use super::*;

fn cbq(config: &CbqConfig) -> Cbq<TestPacket> {
    Cbq::new(config, LINK)
}

/// A class within its limit at `at`, as its estimator has it.
fn within(cbq: &mut Cbq<TestPacket>, class: usize, at: Time) {
    cbq.classes[class].estimator.undertime = at;
}

fn fill(cbq: &mut Cbq<TestPacket>, flow: u64, packets: u64, bytes: u32) {
    let (mut rng, mut dropped) = (Rng::seed_from_u64(1), Vec::new());
    for id in 0..packets {
        cbq.enqueue(Time::ZERO, TestPacket { bytes, ..TestPacket::of_flow(id, flow) }, &mut rng, &mut dropped);
    }
    assert!(dropped.is_empty());
}

#[test]
fn packets_bytes_and_waiting_classes_are_counted() {
    let mut queue = cbq(&config(vec![root(), leaf(4_000_000, 1), leaf(4_000_000, 2), leaf(2_000_000, 3)]));
    assert_eq!((queue.packets(), queue.bytes(), queue.waiting_classes()), (0, 0, 0));
    fill(&mut queue, 1, 2, 700);
    fill(&mut queue, 2, 1, 300);
    let mut left = vec![(queue.packets(), queue.bytes(), queue.waiting_classes())];
    let mut now = Time::ZERO;
    while queue.packets() > 0 {
        if let Some(sent) = queue.dequeue(now) {
            left.push((queue.packets(), queue.bytes(), queue.waiting_classes()));
            now += LINK.serialization_time(sent.packet.bytes);
        } else {
            now = queue.next_ready(now).unwrap();
        }
    }
    assert_eq!(left[0], (3, 1700, 2));
    assert_eq!(left[3], (0, 0, 0));
    assert!([(2, 1000, 2), (2, 1400, 1)].contains(&left[1]), "{left:?}");
    assert!([(1, 300, 1), (1, 700, 1)].contains(&left[2]), "{left:?}");
    assert!(queue.next_ready(now).is_none());
}

/// Classes that may all borrow have turns by their rates in bytes, whatever the sizes of their packets.
#[test]
fn turns_are_of_bytes() {
    let config =
        CbqConfig { sharing: Sharing::AncestorsOnly, ..config(vec![root(), leaf(2_000_000, 1), leaf(500_000, 2)]) };
    for (large, small) in [(1000, 1000), (1500, 300), (300, 1500)] {
        let mut queue = cbq(&config);
        // The root is always within its limit.
        queue.classes[0].estimator = Estimator::new(1e9, 1e9, 1, 1000, 0.0);
        fill(&mut queue, 1, 3000, large);
        fill(&mut queue, 2, 3000, small);
        let mut bytes = [0_u32; 2];
        let mut now = Time::from_secs(1);
        for _ in 0..900 {
            let sent = queue.dequeue(now).expect("they may borrow").packet;
            bytes[sent.flow as usize - 1] += sent.bytes;
            now += LINK.serialization_time(sent.bytes);
        }
        let share = f64::from(bytes[0]) / f64::from(bytes[0] + bytes[1]);
        assert!((share - 0.8).abs() < 0.02, "{large} and {small} bytes: {share}");
    }
}

/// If all classes are over their limits, those that may use an idle link have turns of a packet each.
#[test]
fn classes_over_their_limits_share_an_idle_link_by_turns() {
    let bounded = CbqClassConfig { bounded: true, ..leaf(100_000, 4) };
    let config = config(vec![
        CbqClassConfig { rate_bps: Rate::from_bps(1_000_000), ..root() },
        leaf(300_000, 1),
        leaf(300_000, 2),
        leaf(300_000, 3),
        bounded,
    ]);
    let mut queue = cbq(&config);
    for flow in [1, 3, 4] {
        fill(&mut queue, flow, 9, 1000);
    }
    for class in 0..5 {
        within(&mut queue, class, Time::from_secs(99));
    }
    let flows: Vec<_> = (0..6).map(|_| queue.dequeue(Time::from_secs(1)).unwrap().packet.flow).collect();
    // The turn passes from place to place, also over the class without packets: 1, then its neighbours' turn, twice 3.
    assert_eq!(flows.iter().filter(|&&flow| flow == 4).count(), 0);
    assert!(flows.contains(&1) && flows.contains(&3), "{flows:?}");
    assert_eq!(queue.next_ready(Time::from_secs(1)), Some(Time::from_secs(1)), "the link may be used");
}

#[test]
fn a_leaf_below_a_bounded_class_may_not_use_an_idle_link() {
    let agency = CbqClassConfig { parent: Some(0), queue: None, bounded: true, ..class(4_000_000) };
    let member = CbqClassConfig { parent: Some(1), ..leaf(2_000_000, 1) };
    let queue = cbq(&config(vec![root(), agency, member, leaf(1_000_000, 2)]));
    assert_eq!(queue.leaves.iter().map(|leaf| leaf.free).collect::<Vec<_>>(), [false, true]);
}

/// A class that is over its limit waits for itself or for the first ancestor that comes within its limit.
#[test]
fn the_next_packet_is_ready_when_a_lender_comes_within_its_limit() {
    let agency = CbqClassConfig { parent: Some(0), queue: None, bounded: true, ..class(4_000_000) };
    let member = CbqClassConfig { parent: Some(1), ..leaf(2_000_000, 1) };
    let lone = CbqClassConfig { bounded: true, ..leaf(1_000_000, 2) };
    let config = config(vec![root(), agency, member, lone]);
    let s = Time::from_secs;
    for (of_agency, of_member, of_lone, ready) in [
        (s(7), s(9), s(8), s(7)),
        (s(9), s(7), s(8), s(7)),
        (s(9), s(8), s(6), s(6)),
        (s(5), s(9), s(8), s(5)),
        (s(9), s(5), s(8), s(5)),
    ] {
        let mut queue = cbq(&config);
        fill(&mut queue, 1, 1, 1000);
        fill(&mut queue, 2, 1, 1000);
        for (class, at) in [(1, of_agency), (2, of_member), (3, of_lone)] {
            within(&mut queue, class, at);
        }
        assert_eq!(queue.next_ready(s(5)), Some(ready), "{of_agency} {of_member} {of_lone}");
    }
}

/// Formal sharing: nobody borrows from the root while a class within its limit has packets. One that is just within it at
/// this instant does not count yet.
#[test]
fn an_unsatisfied_class_keeps_others_from_borrowing() {
    let s = Time::from_secs;
    let urgent = CbqClassConfig { priority: 0, ..leaf(2_000_000, 1) };
    let other = CbqClassConfig { priority: 1, ..leaf(2_000_000, 2) };
    for (undertime, waiting, unsatisfied) in [(s(4), 1, true), (s(5), 1, false), (s(6), 1, false), (s(4), 0, false)] {
        let mut queue = cbq(&config(vec![root(), urgent.clone(), other.clone()]));
        fill(&mut queue, 2, 1, 1000);
        fill(&mut queue, 1, waiting, 1000);
        within(&mut queue, 1, undertime);
        within(&mut queue, 2, s(9));
        assert_eq!(queue.is_unsatisfied(1, s(5)), unsatisfied);
        assert_eq!(queue.permitted(2, s(5)), !unsatisfied, "{undertime} {waiting}");
        queue.sharing = Sharing::AncestorsOnly;
        assert!(queue.permitted(2, s(5)));
    }
}

/// A class demands from its ancestors only if it may borrow from them.
#[test]
fn a_bounded_class_does_not_make_its_parent_unsatisfied() {
    let s = Time::from_secs;
    for bounded in [true, false] {
        let agency = CbqClassConfig { parent: Some(0), queue: None, ..class(4_000_000) };
        let member = CbqClassConfig { parent: Some(1), bounded, ..leaf(2_000_000, 1) };
        let mut queue = cbq(&config(vec![root(), agency, member, leaf(1_000_000, 2)]));
        fill(&mut queue, 1, 1, 1000);
        within(&mut queue, 1, s(4));
        assert!(queue.is_unsatisfied(2, s(5)), "the class itself");
        assert_eq!(queue.is_unsatisfied(1, s(5)), !bounded);
    }
}

/// A queue of its own counts the packet in service for its time at the rate of the class.
#[test]
fn the_backlog_of_a_class_has_the_packet_in_service_at_its_rate() {
    let mut queue = cbq(&config(vec![root(), leaf(1_000_000, 1)]));
    fill(&mut queue, 1, 3, 1000);
    let start = Time::from_millis(10);
    assert!(queue.dequeue(start).is_some());
    let leaf = &queue.leaves[0];
    // 1000 bytes take 8 ms at 1 Mb/s.
    for (ns, packets, bytes, in_service_bytes) in [(7_999_999, 3, 3000, 1000), (8_000_000, 2, 2000, 0)] {
        let free_at = start + Time::from_millis(8);
        let expected = Backlog { packets, bytes, in_service_bytes, free_at };
        assert_eq!(leaf.backlog(start + Time::from_nanos(ns)), expected);
    }
}

/// The lower bound of the average is below zero by what the configuration says.
#[test]
fn a_class_owes_no_more_than_its_lower_bound() {
    let min_idle_ns = Some(Time::from_micros(500));
    let mut queue = cbq(&config(vec![root(), CbqClassConfig { min_idle_ns, ..leaf(1_000_000, 1) }]));
    fill(&mut queue, 1, 500, 1000);
    let mut now = Time::ZERO;
    for _ in 0..500 {
        assert!(queue.dequeue(now).is_some(), "it may borrow");
        now += LINK.serialization_time(1000);
    }
    assert!((queue.classes[1].estimator.average_s() + 0.0005).abs() < 1e-12);
}
