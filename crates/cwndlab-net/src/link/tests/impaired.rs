//! Links with impairments: what is counted, held back and copied.

use super::*;

fn impaired(queue: &QueueConfig, rules: &[ImpairmentConfig]) -> Link<TestPacket> {
    link(8_000_000, Time::from_millis(1), queue).impaired(Impairments::new(rules))
}

#[test]
fn losses_are_counted_apart_from_other_drops() {
    let loss = [ImpairmentConfig::DropEvery { every: 3, first: None }];
    for queue in [drop_tail(4), QueueConfig::Codel(CodelConfig { limit: 3, ..CodelConfig::default() })] {
        let mut link = impaired(&queue, &loss);
        let offered: Vec<_> = (0..12).map(|_| link.offer(Time::ZERO, &packet(1000))).collect();
        let is_lost = |k: &usize| offered[*k] == Offered::Dropped(DropCause::Loss);
        assert_eq!((0..12).filter(is_lost).collect::<Vec<_>>(), [2, 5, 8, 11], "{queue:?}");
        while link.pop_dropped().is_some() {}
        let counters = link.counters();
        // Four of the other eight fit: one is sent and three wait.
        assert_eq!((counters.drops, counters.arrivals), ([4, 0, 4], 12), "{queue:?}");
        assert_eq!(counters.marks, 0);
    }
}

/// Packets 2 and 4 have to wait for 5 ms more at the far end.
#[test]
fn packets_that_wait_for_the_end_of_a_delay_are_inside_and_have_not_crossed() {
    let delay = [ImpairmentConfig::DelayNth { packets: vec![2, 4], extra_ns: Time::from_millis(5) }];
    let mut link = impaired(&drop_tail(9), &delay);
    for id in 1..=4 {
        link.offer(Time::ZERO, &TestPacket::new(id));
    }
    let mut seen = Vec::new();
    while !link.next_arrival().is_never() {
        let now = link.next_arrival();
        let id = link.arrive(now).map(|packet| packet.id);
        seen.push((now.as_nanos() / 1_000_000, id, link.crossed(), link.packets_inside()));
    }
    assert_eq!(
        seen,
        [
            (2, Some(1), 1, 3),
            (3, None, 1, 3),
            (4, Some(3), 2, 2),
            (5, None, 2, 2),
            (8, Some(2), 3, 1),
            (10, Some(4), 4, 0),
        ]
    );
}

#[test]
fn a_copy_that_is_not_offered_yet_is_inside() {
    let mut link = impaired(&drop_tail(9), &[ImpairmentConfig::Duplicate { p: 1.0 }]);
    assert_eq!(link.offer(Time::ZERO, &TestPacket::new(7)), Offered::Queued);
    assert_eq!((link.packets_inside(), link.counters().arrivals), (2, 1));
    let copy = link.pop_copy().unwrap();
    assert_eq!((copy.id, link.packets_inside(), link.pop_copy()), (7, 1, None));
    assert_eq!(link.offer_copy(Time::ZERO, &copy), Offered::Queued);
    assert_eq!((link.packets_inside(), link.counters().arrivals, link.pop_copy()), (2, 2, None));
}

/// A delay of the link is taken from the arrival to find when the packet was sent.
#[test]
fn a_step_of_the_delay_is_one_of_the_time_at_which_a_packet_leaves_the_transmitter() {
    let ms = Time::from_millis;
    let steps = ImpairmentConfig::DelaySteps {
        at_ns: vec![Time::ZERO, ms(3)],
        extra_ns: vec![ms(10), ms(20)],
        repeat_ns: None,
        keep_order: false,
    };
    // Packets leave after 1, 2 and 3 ms and arrive 50 ms later.
    let mut link = link(8_000_000, ms(50), &drop_tail(9)).impaired(Impairments::new(&[steps]));
    for id in 1..=3 {
        link.offer(Time::ZERO, &TestPacket::new(id));
    }
    let mut arrived = Vec::new();
    while !link.next_arrival().is_never() {
        let now = link.next_arrival();
        arrived.extend(link.arrive(now).map(|packet| (packet.id, now)));
    }
    assert_eq!(arrived, [(1, ms(61)), (2, ms(62)), (3, ms(73))]);
}

proptest! {
    /// With delays that are drawn as packets enter, the short path does what the full one does.
    #[test]
    fn the_short_path_with_delays_keeps_the_same_backlog(
        steps in proptest::collection::vec((0_u64..2500, 40_u32..1500, any::<bool>()), 1..80), limit in 1_u64..9,
    ) {
        let jitter = [ImpairmentConfig::Jitter { max_ns: Time::from_millis(2), keep_order: true }];
        let [mut short, mut full] = [0; 2].map(|_| {
            let (rate, seed) = (Rate::from_bps(8_000_000), crate::Rng::seed_from_u64(1));
            let link: Link<TestPacket> = Link::new(rate, Time::from_millis(1), 18, &drop_tail(limit), seed);
            link.impaired(Impairments::new(&jitter))
        });
        let mut now = Time::ZERO;
        let mut refused = 0;
        for (id, (after, bytes, looks)) in (0..).zip(steps) {
            now += Time::from_micros(after);
            while full.next_arrival() <= now {
                let at = full.next_arrival();
                prop_assert_eq!(short.next_arrival(), at);
                let packet = *short.arrive_plain().0;
                prop_assert_eq!(full.arrive(at), Some(packet));
            }
            let sent = TestPacket { bytes, ..TestPacket::new(id) };
            let accepted = full.offer(now, &sent) == Offered::Queued;
            let arrival = short.offer_early(now, bytes, |place| *place = sent);
            prop_assert_eq!(arrival.is_some(), accepted);
            prop_assert!(arrival.is_none_or(|at| at >= full.next_arrival()));
            refused += u64::from(!accepted);
            if looks {
                prop_assert_eq!(short.backlog(now), full.backlog(now));
                let mut counters = full.counters_at(now);
                prop_assert_eq!(counters.drops[0], refused);
                counters.drops[0] = 0; // the short path leaves the drop to its caller
                counters.arrivals -= refused;
                prop_assert_eq!(short.counters_at(now), counters);
            }
        }
    }
}
