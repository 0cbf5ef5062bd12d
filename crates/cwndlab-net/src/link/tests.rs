use std::collections::VecDeque;

use proptest::prelude::*;
use rand::SeedableRng as _;

use super::*;
use crate::impair::ImpairmentConfig;
use crate::queue::{CbqClassConfig, CbqConfig, CodelConfig, DropTailConfig, RedConfig, Sharing, Unit};
use crate::test_packet::TestPacket;
use crate::Ecn;

mod impaired;
mod paths;
mod rooms;
mod settled;

fn drop_tail(limit: u64) -> QueueConfig {
    QueueConfig::DropTail(DropTailConfig { limit, unit: Unit::Packets, counts_in_service: true })
}

fn link(rate_bps: u64, delay: Time, queue: &QueueConfig) -> Link<TestPacket> {
    Link::new(Rate::from_bps(rate_bps), delay, 0, queue, crate::Rng::seed_from_u64(1))
}

fn packet(bytes: u32) -> TestPacket {
    TestPacket { bytes, ..TestPacket::new(0) }
}

#[test]
fn a_packet_arrives_after_its_serialization_and_the_propagation_delay() {
    let mut link = link(9600, Time::from_millis(150), &drop_tail(3));
    assert_eq!(link.offer(Time::ZERO, &packet(1000)), Offered::Queued);
    assert_eq!(link.next_arrival(), Time::from_nanos(833_333_333 + 150_000_000));
    assert_eq!(link.arrive(Time::from_millis(983)), None);
    assert!(link.arrive(link.next_arrival()).is_some());
    assert_eq!(link.next_arrival(), Time::MAX);
}

#[test]
fn three_buffers_hold_two_waiting_packets_and_the_one_in_service() {
    // RFC 2416: "which can hold at most two packets while one is being sent"
    let mut link = link(9600, Time::ZERO, &drop_tail(3));
    for _ in 0..3 {
        assert_eq!(link.offer(Time::ZERO, &packet(1000)), Offered::Queued);
    }
    assert!(matches!(link.offer(Time::ZERO, &packet(1000)), Offered::Dropped(DropCause::Full)));
    assert_eq!(link.backlog(Time::ZERO).packets, 3);
    // at the very instant of the first departure there is room again
    assert_eq!(link.offer(Time::from_nanos(833_333_333), &packet(1000)), Offered::Queued);
    assert_eq!(link.counters().drops[DropCause::Full as usize], 1);
}

#[test]
fn the_header_of_the_link_takes_time_on_it() {
    let queue = QueueConfig::Infinite {};
    let mut link: Link<TestPacket> =
        Link::new(Rate::from_bps(8_000_000), Time::ZERO, 18, &queue, crate::Rng::seed_from_u64(1));
    link.offer(Time::ZERO, &packet(982));
    assert_eq!(link.next_arrival(), Time::from_millis(1));
}

fn class(rate_bps: u64) -> CbqClassConfig {
    CbqClassConfig {
        parent: None,
        rate_bps: Rate::from_bps(rate_bps),
        priority: 0,
        bounded: false,
        traffic: Vec::new(),
        numbers: Vec::new(),
        flows: Vec::new(),
        queue: None,
        max_burst: 1,
        min_idle_ns: None,
        max_packet_bytes: 1000,
    }
}

/// A bounded class of 1 Mb/s on a link of 8 Mb/s; with a sibling that gets no packets, or alone.
fn bounded_class(queue: QueueConfig, alone: bool) -> QueueConfig {
    let leaf =
        |queue| CbqClassConfig { parent: Some(0), bounded: true, queue: Some(Box::new(queue)), ..class(1_000_000) };
    let sibling = CbqClassConfig { priority: 1, flows: vec![u64::MAX], ..leaf(QueueConfig::Infinite {}) };
    let mut classes = vec![class(8_000_000), leaf(queue), sibling];
    classes.truncate(if alone { 2 } else { 3 });
    QueueConfig::Cbq(CbqConfig { classes, default: 1, sharing: Sharing::Formal })
}

#[test]
fn a_class_over_its_limit_is_not_served_before_it_may_send() {
    let mut link = link(8_000_000, Time::ZERO, &bounded_class(QueueConfig::Infinite {}, false));
    let mut now = Time::ZERO;
    let mut services = Vec::new();
    for _ in 0..20 {
        link.offer(now, &packet(1000)); // one every 3 ms, but the class may send only one every 8 ms
        let due = link.next_service();
        if due <= now + Time::from_millis(3) {
            let before = link.counters().accepted;
            link.serve(due);
            assert_eq!(link.counters().accepted, before + 1, "a service at {due} found nothing");
            services.push(due);
        }
        now += Time::from_millis(3);
    }
    assert!(services.len() > 3, "{services:?}");
}

proptest! {
    /// RED's average and limit include the packet in service. Therefore, when an arrival and the start of a
    /// transmission coincide, their order makes no difference.
    #[test]
    fn a_bounded_class_does_the_same_alone_as_with_an_idle_sibling(
        arrivals in proptest::collection::vec((0_u64..12_000_000, 40_u32..1500, any::<bool>()), 1..150), max_burst in 1_u32..10
    ) {
        let red = RedConfig { ecn: true, w_q: Some(0.1), counts_in_service: true, ..RedConfig::new(12, 2.0, 6.0) };
        let [mut one, mut other] = [true, false].map(|alone| {
            let mut queue = bounded_class(QueueConfig::Red(red.clone()), alone);
            let QueueConfig::Cbq(config) = &mut queue else { unreachable!() };
            config.classes[1].max_burst = max_burst;
            link(8_000_000, Time::from_millis(3), &queue)
        });
        prop_assert!(one.has_bounded_class() && !other.has_bounded_class());
        let mut now = Time::ZERO;
        for (id, (gap, bytes, ect)) in (0..).zip(arrivals) {
            now += Time::from_nanos(gap);
            let ecn = if ect { Ecn::Ect0 } else { Ecn::NotEct };
            let packet = TestPacket { bytes, ecn, ..TestPacket::new(id) };
            let [before, expected] = [&mut one, &mut other].map(|link| {
                let mut arrived = Vec::new();
                loop {
                    let next = link.next_arrival().min(link.next_service());
                    if next >= now {
                        break;
                    }
                    if link.next_service() == next {
                        link.serve(next);
                    } else {
                        arrived.push((next, link.arrive(next)));
                    }
                }
                let mut counters = link.counters_at(now);
                let backlog = link.backlog(now);
                let seen = (backlog.packets, backlog.bytes, link.regions(now), link.packets_inside());
                let mut offered = link.offer(now, &packet);
                if let Some((cause, _)) = link.pop_dropped() {
                    offered = Offered::Dropped(cause);
                }
                counters.max_packets = link.counters_at(now).max_packets;
                (arrived, counters, seen, offered, link.average())
            });
            prop_assert_eq!(before, expected, "{}", now);
        }
    }
}

#[test]
fn an_arrival_as_a_packet_of_a_bounded_class_begins_to_be_sent_comes_before_or_after_it_as_the_events_do() {
    let queue = DropTailConfig { limit: 2000, unit: Unit::Bytes, counts_in_service: false };
    for served in [false, true] {
        let mut link = link(8_000_000, Time::ZERO, &bounded_class(QueueConfig::DropTail(queue.clone()), true));
        for _ in 0..3 {
            assert_eq!(link.offer(Time::ZERO, &packet(1000)), Offered::Queued); // one is sent, two wait
        }
        // the link is free after 1 ms, but the class may not send before 8 ms
        link.serve(Time::from_millis(1));
        let now = Time::from_millis(8);
        assert_eq!(link.next_service(), now);
        if served {
            link.serve(now);
        }
        // The limit applies only to packets that wait behind one in service. After `serve` a packet is in service;
        // without it, none is yet.
        let expected = if served { Offered::Dropped(DropCause::Full) } else { Offered::Queued };
        assert_eq!(link.offer(now, &packet(1001)), expected);
    }
}

#[test]
fn a_queue_that_decides_at_departure_sends_back_to_back() {
    let codel = QueueConfig::Codel(CodelConfig::default());
    let mut link = link(8_000_000, Time::from_millis(1), &codel);
    for _ in 0..3 {
        assert_eq!(link.offer(Time::ZERO, &packet(1000)), Offered::Queued);
    }
    assert_eq!((link.next_arrival(), link.next_service()), (Time::from_millis(2), Time::from_millis(1)));
    link.serve(Time::from_millis(1));
    link.serve(Time::from_millis(2));
    assert_eq!(link.next_service(), Time::MAX);
    for ms in [2, 3, 4] {
        assert_eq!(link.next_arrival(), Time::from_millis(ms));
        assert!(link.arrive(Time::from_millis(ms)).is_some());
    }
    // 3 + 2 + 1 packet-milliseconds in the system
    assert_eq!(link.counters().sojourn, Time::from_millis(6));
}

#[test]
fn counters_at_a_time_hold_no_time_after_it() {
    let codel = QueueConfig::Codel(serde_json::from_value(serde_json::json!({"limit": 10})).unwrap());
    for queue in [drop_tail(10), codel] {
        let mut link = link(8_000_000, Time::from_millis(1), &queue); // 1 ms a packet
        for _ in 0..3 {
            assert_eq!(link.offer(Time::ZERO, &packet(1000)), Offered::Queued);
        }
        // 3 in the system until 1 ms, 2 until 2 ms, 1 until 3 ms
        for (us, busy, sojourn) in [(500, 500, 1500), (1500, 1500, 4000), (2500, 2500, 5500), (4000, 3000, 6000)] {
            while link.next_service() <= Time::from_micros(us) {
                link.serve(link.next_service());
            }
            let counters = link.counters_at(Time::from_micros(us));
            assert_eq!(
                (counters.busy, counters.sojourn),
                (Time::from_micros(busy), Time::from_micros(sojourn)),
                "{us}"
            );
        }
    }
}

/// A reference model of a link, in which every departure is an explicit event.
struct Model {
    queue: VecDeque<u64>,
    limit: usize,
    service: u64,
    free_at: u64,
}

impl Model {
    fn offer(&mut self, now: u64) -> bool {
        while self.queue.front().is_some_and(|&departure| departure <= now) {
            self.queue.pop_front();
        }
        if self.queue.len() >= self.limit {
            return false;
        }
        self.free_at = self.free_at.max(now) + self.service;
        self.queue.push_back(self.free_at);
        true
    }
}

proptest! {
    #[test]
    fn the_lazily_recovered_queue_is_the_queue_with_explicit_departures(
        gaps in proptest::collection::vec(0_u64..3_000_000, 1..300), limit in 1_u64..8, delay in 0_u64..5_000_000
    ) {
        let mut link = link(8_000_000, Time::from_nanos(delay), &drop_tail(limit)); // 1 ms a packet
        let mut model = Model { queue: VecDeque::new(), limit: limit as usize, service: 1_000_000, free_at: 0 };
        let (mut now, mut out) = (0, 0);
        for gap in &gaps {
            now += gap;
            while link.next_arrival() <= Time::from_nanos(now) {
                prop_assert!(link.arrive(link.next_arrival()).is_some());
                out += 1;
            }
            let accepted = link.offer(Time::from_nanos(now), &packet(1000)) == Offered::Queued;
            prop_assert_eq!(accepted, model.offer(now));
            prop_assert_eq!(link.backlog(Time::from_nanos(now)).packets as usize, model.queue.len());
            prop_assert_eq!(link.backlog(Time::from_nanos(now)).bytes as usize, 1000 * model.queue.len());
        }
        let counters = link.counters();
        prop_assert_eq!(counters.arrivals, gaps.len() as u64);
        prop_assert_eq!(counters.accepted + counters.drops[0], counters.arrivals);
        prop_assert_eq!(out + link.packets_inside(), counters.accepted);
    }
}

/// Offers packets at the given times (ns), with the given sizes in bytes. Returns their arrival times at the far end.
fn arrivals(link: &mut Link<TestPacket>, offered: &[(u64, u32)]) -> Vec<Time> {
    let mut found = Vec::new();
    let mut run = |link: &mut Link<TestPacket>, until: Time| loop {
        let next = link.next_arrival().min(link.next_service());
        if next > until || next.is_never() {
            return;
        }
        if link.next_service() == next {
            link.serve(next);
        } else if link.arrive(next).is_some() {
            found.push(next);
        }
    };
    for &(at, bytes) in offered {
        // At equal times, the packet is offered before the link is served.
        run(link, Time::from_nanos(at.saturating_sub(1)));
        link.offer(Time::from_nanos(at), &packet(bytes));
    }
    run(link, Time::MAX);
    found
}

proptest! {
    #[test]
    fn on_a_varying_link_a_queue_that_decides_at_departure_but_never_drops_is_a_fifo(
        gaps in proptest::collection::vec((0_u64..4_000_000, 40_u32..1500), 1..60), trace in any::<bool>()
    ) {
        let capacity = if trace {
            CapacityConfig::Deliveries { at_ms: vec![1, 1, 2, 5, 9] }
        } else {
            let at_ns = [0, 3, 8].map(Time::from_millis).to_vec();
            CapacityConfig::Steps { at_ns, rates_bps: vec![4_000_000, 0, 9_000_000], repeat_ns: Some(Time::from_millis(10)) }
        };
        let codel = QueueConfig::Codel(CodelConfig { target_ns: Time::from_secs(1000), ..CodelConfig::default() });
        let mut at = 1;
        let offered: Vec<_> = gaps.iter().map(|&(gap, bytes)| { at += gap; (at, bytes) }).collect();
        let [fifo, served] = [QueueConfig::Infinite {}, codel].map(|queue| {
            let mut link = link(1_000_000, Time::from_millis(7), &queue).varying(&capacity);
            let times = arrivals(&mut link, &offered);
            assert_eq!(link.packets_inside(), 0);
            (times, link.counters().busy)
        });
        prop_assert_eq!(fifo.0.len(), offered.len());
        prop_assert_eq!(fifo, served);
    }
}

/// A packet that waited may use an opportunity at the instant at which it may begin; one that arrives then may not.
#[test]
fn an_arrival_at_an_idle_link_misses_the_opportunity_of_that_instant_with_any_queue() {
    let capacity = CapacityConfig::Deliveries { at_ms: vec![1, 1, 2, 5, 9] };
    let offered = [(1_000_000, 1500), (5_000_000, 1500), (5_000_000, 1500)];
    for queue in [QueueConfig::Infinite {}, QueueConfig::Codel(CodelConfig::default())] {
        let mut link = link(1_000_000, Time::ZERO, &queue).varying(&capacity);
        let ms: Vec<u64> = arrivals(&mut link, &offered).iter().map(|at| at.as_nanos() / 1_000_000).collect();
        assert_eq!(ms, [2, 9, 10], "{queue:?}");
    }
}

proptest! {
    #[test]
    fn delays_drawn_as_packets_enter_are_those_drawn_as_they_leave(
        arrivals in proptest::collection::vec((0_u64..3_000_000, 40_u32..1500), 1..200), limit in 1_u64..8
    ) {
        let jitter = ImpairmentConfig::Jitter { max_ns: Time::from_millis(2), keep_order: true };
        let [mut entry, mut exit] = [true, false].map(|at_entry| {
            let rules = Impairments::new(std::slice::from_ref(&jitter));
            let mut link = link(8_000_000, Time::from_millis(3), &drop_tail(limit)).impaired(rules);
            if let Some(impaired) = link.impaired.as_mut().filter(|_| !at_entry) {
                impaired.departures = None;
            }
            link
        });
        prop_assert!(!entry.holds_back() && exit.holds_back());
        let mut now = Time::ZERO;
        for (id, (gap, bytes)) in (0..).zip(arrivals) {
            now += Time::from_nanos(gap);
            let [one, other] = [&mut entry, &mut exit].map(|link| {
                let mut arrived = Vec::new();
                while link.next_arrival() < now {
                    let next = link.next_arrival();
                    arrived.extend(link.arrive(next).map(|packet| (next, packet.id)));
                }
                let offered = link.offer(now, &TestPacket { bytes, ..TestPacket::new(id) });
                (arrived, offered, link.backlog(now), link.counters_at(now), link.packets_inside())
            });
            prop_assert_eq!(format!("{one:?}"), format!("{other:?}"));
        }
    }
}

#[test]
fn only_links_that_may_deliver_two_packets_at_one_instant_say_so() {
    let smallest = [(0, 20), (0, 20), (0, 20)];
    for (rate_bps, apart) in [(9600, true), (300_000_000_000, true), (400_000_000_000, false)] {
        let mut link = link(rate_bps, Time::from_millis(1), &drop_tail(3));
        assert_eq!(link.bunches(), !apart, "{rate_bps}");
        assert_eq!(arrivals(&mut link, &smallest).is_sorted_by(|one, next| one < next), apart, "{rate_bps}");
    }
    let capacity = CapacityConfig::Deliveries { at_ms: vec![1, 1, 2] };
    assert!(link(9600, Time::ZERO, &drop_tail(3)).varying(&capacity).bunches());
    let jitter = ImpairmentConfig::Jitter { max_ns: Time::from_millis(1), keep_order: true };
    assert!(link(9600, Time::ZERO, &drop_tail(3)).impaired(Impairments::new(&[jitter])).bunches());
}
