//! Which queues need not be asked, and what a link counts of those that decide.

use super::*;

#[test]
fn a_link_is_plain_if_its_queue_takes_any_packet_while_it_is_short() {
    let bytes = QueueConfig::DropTail(DropTailConfig { limit: 3000, unit: Unit::Bytes, counts_in_service: true });
    let waiting = QueueConfig::DropTail(DropTailConfig { limit: 3, unit: Unit::Packets, counts_in_service: false });
    let kernel = serde_json::from_value(serde_json::json!({"kind": "kernel", "qdisc": "fq"})).unwrap();
    for (queue, plain, bounded) in [
        (drop_tail(3), true, false),
        (bytes, true, false),
        (waiting, true, false),
        (QueueConfig::Infinite {}, true, false),
        (kernel, true, false),
        (QueueConfig::Red(RedConfig::new(20, 5.0, 15.0)), false, false),
        (QueueConfig::Codel(CodelConfig::default()), false, false),
        (bounded_class(QueueConfig::Infinite {}, true), false, true),
        (bounded_class(QueueConfig::Infinite {}, false), false, false),
    ] {
        let link = link(8_000_000, Time::ZERO, &queue);
        assert_eq!((link.is_plain(), link.has_bounded_class()), (plain, bounded), "{queue:?}");
    }
    let capacity = CapacityConfig::Deliveries { at_ms: vec![1] };
    assert!(!link(8_000_000, Time::ZERO, &drop_tail(3)).varying(&capacity).is_plain());
    assert!(!link(8_000_000, Time::ZERO, &drop_tail(3)).impaired(Impairments::default()).is_plain());
}

/// With a header of 18 bytes the class would count less than the link sends.
#[test]
fn a_bounded_class_is_alone_only_on_a_link_without_headers() {
    let queue = bounded_class(QueueConfig::Infinite {}, true);
    let made = |header| {
        Link::<TestPacket>::new(Rate::from_bps(8_000_000), Time::ZERO, header, &queue, crate::Rng::seed_from_u64(1))
    };
    assert!(made(0).has_bounded_class() && !made(18).has_bounded_class());
}

/// Of limits in bytes: with the packet in service they hold three packets of 1000 bytes, without it four.
#[test]
fn a_limit_in_bytes_counts_the_packet_in_service_or_not() {
    for (counts_in_service, fit) in [(true, 3), (false, 4)] {
        let queue = QueueConfig::DropTail(DropTailConfig { limit: 3000, unit: Unit::Bytes, counts_in_service });
        let mut link = link(8_000_000, Time::ZERO, &queue);
        let queued = (0..6).filter(|_| link.offer(Time::ZERO, &packet(1000)) == Offered::Queued).count();
        assert_eq!((queued, link.counters().max_packets), (fit, fit as u32));
        assert_eq!(link.counters().drops, [6 - fit as u64, 0, 0]);
        // A larger packet than the limit goes into service on an idle link, but does not wait.
        let idle = Time::from_millis(10);
        let large = link.offer(idle, &packet(3001));
        assert_eq!(large == Offered::Queued, !counts_in_service, "{large:?}");
    }
}

#[test]
fn the_largest_number_of_packets_includes_the_one_in_service() {
    for queue in
        [drop_tail(9), QueueConfig::Codel(CodelConfig::default()), QueueConfig::Red(RedConfig::new(20, 9.0, 15.0))]
    {
        let mut link = link(8_000_000, Time::ZERO, &queue);
        let mut most = Vec::new();
        for (us, expected) in [(0, 1), (1, 2), (2, 3), (2500, 3), (2501, 3), (2502, 4), (9000, 4)] {
            while link.next_service() <= Time::from_micros(us) {
                link.serve(link.next_service());
            }
            link.offer(Time::from_micros(us), &packet(1000));
            most.push((link.counters().max_packets, expected));
        }
        assert!(most.iter().all(|(found, expected)| found == expected), "{queue:?}: {most:?}");
    }
}

#[test]
fn marks_are_counted_where_they_are_made() {
    let red = RedConfig { w_q: Some(1.0), ecn: true, hard_drop: false, ..RedConfig::new(1000, 1.0, 2.0) };
    let mut by_arrival = link(8_000_000, Time::ZERO, &QueueConfig::Red(red));
    let offered: Vec<_> = (0..6).map(|id| by_arrival.offer(Time::ZERO, &TestPacket::ect(id))).collect();
    // The average is the number of those that wait: the fourth packet is the first to find two.
    assert_eq!(offered[3..], [Offered::Marked; 3]);
    assert_eq!(by_arrival.counters().marks, offered.iter().filter(|&&one| one == Offered::Marked).count() as u64);
    let config = CodelConfig { ce_threshold_ns: Some(Time::from_micros(1500)), ..CodelConfig::default() };
    let mut by_departure = link(8_000_000, Time::ZERO, &QueueConfig::Codel(config));
    for id in 0..4 {
        assert_eq!(by_departure.offer(Time::ZERO, &TestPacket::ect(id)), Offered::Queued);
    }
    let mut taken = Vec::new();
    while !by_departure.next_service().is_never() {
        let now = by_departure.next_service();
        let (due, signals) = by_departure.serve(now);
        assert_eq!((due, signals), (by_departure.next_service(), by_departure.has_signals()));
        taken.push(by_departure.take_marked().map(|packet| packet.id));
        assert!(!by_departure.has_signals());
    }
    // They begin to be sent after 1, 2 and 3 ms.
    assert_eq!(taken, [None, Some(2), Some(3)]);
    assert_eq!(by_departure.counters().marks, 2);
}

/// A shaper's next service is when its tokens suffice, though the link is free earlier.
#[test]
fn a_shaped_link_is_served_when_the_shaper_allows() {
    let tbf = serde_json::json!({"kind": "tbf", "rate_bps": 800_000, "burst_bytes": 1000, "limit": 9000});
    let cake = serde_json::json!({"kind": "cake", "rate_bps": 800_000});
    for queue in [tbf, cake] {
        let queue: QueueConfig = serde_json::from_value(queue).unwrap();
        let mut link = link(8_000_000, Time::ZERO, &queue);
        for id in 0..3 {
            link.offer(Time::ZERO, &TestPacket::new(id));
        }
        // 1000 bytes take 1 ms on the link, and 10 ms of the shaper.
        let mut due = Vec::new();
        while !link.next_service().is_never() {
            due.push(link.next_service());
            link.serve(link.next_service());
        }
        assert_eq!(due, [1, 10, 20].map(Time::from_millis), "{queue:?}");
    }
}

/// At the instant at which a packet has left, it counts no more.
#[test]
fn a_packet_that_comes_as_another_leaves_finds_one_less() {
    for queue in [drop_tail(9), QueueConfig::Codel(CodelConfig::default())] {
        let mut link = link(8_000_000, Time::ZERO, &queue);
        for at in [Time::ZERO, Time::ZERO, Time::from_millis(1)] {
            link.offer(at, &packet(1000));
        }
        assert_eq!(link.counters().max_packets, 2, "{queue:?}");
    }
}

/// Drops that nobody has fetched yet are counted once.
#[test]
fn drops_that_are_not_fetched_do_not_change_what_waits() {
    let mut link = link(8_000_000, Time::ZERO, &QueueConfig::Codel(CodelConfig { limit: 1, ..CodelConfig::default() }));
    for id in 0..4 {
        link.offer(Time::ZERO, &TestPacket::new(id));
    }
    link.serve(Time::from_millis(1));
    assert_eq!((link.backlog(Time::from_millis(1)).packets, link.counters().drops), (1, [2, 0, 0]));
    assert_eq!(
        [link.pop_dropped(), link.pop_dropped(), link.pop_dropped()].map(|one| one.map(|(_, packet)| packet.id)),
        [Some(3), Some(2), None]
    );
}

#[test]
fn a_queue_that_decides_at_departure_sends_the_header_of_the_link() {
    let queue = QueueConfig::Codel(CodelConfig::default());
    let seed = crate::Rng::seed_from_u64(1);
    let mut link: Link<TestPacket> = Link::new(Rate::from_bps(8_000_000), Time::ZERO, 18, &queue, seed);
    for _ in 0..2 {
        link.offer(Time::ZERO, &packet(982));
    }
    assert_eq!(link.next_service(), Time::from_millis(1));
    link.serve(Time::from_millis(1));
    assert_eq!((link.counters().bytes, link.counters().busy), (2000, Time::from_millis(2)));
}
