use std::collections::BTreeSet;

use cwndlab_units::Rate;
use rand::SeedableRng as _;

use super::*;
use crate::impair::{ImpairmentConfig, Impairments};
use crate::queue::{CodelConfig, DropTailConfig, QueueConfig, RedConfig, Unit};
use crate::test_packet::TestPacket;

mod reports;
mod short_cuts;

fn wire(queue: &QueueConfig, rate_bps: u64) -> Wire<TestPacket> {
    Wire::new(Link::new(Rate::from_bps(rate_bps), Time::ZERO, 0, queue, crate::Rng::seed_from_u64(1)))
}

#[test]
fn a_link_of_which_something_is_reported_takes_the_path_that_reports_it() {
    let queue = QueueConfig::DropTail(DropTailConfig { limit: 9, unit: Unit::Packets, counts_in_service: true });
    let paths = |wire: Wire<TestPacket>| [wire.ordinary, wire.early, wire.passes, wire.watched, wire.observed];
    let plain = || wire(&queue, 1_000_000);
    assert_eq!(paths(plain()), [true, false, true, false, false]);
    assert_eq!(paths(plain().watched()), [false, false, true, true, false]);
    assert_eq!(paths(plain().observed()), [true, false, false, false, true]);
    assert_eq!(paths(plain().observed().watched()), [false, false, false, true, true]);
    assert_eq!(paths(plain().delivering()), [true, false, true, false, false]);
    // 20 bytes take 0.1 ns, so several packets may arrive at the same nanosecond.
    assert_eq!(paths(wire(&queue, 1_600_000_000_000).delivering()), [true, false, false, false, false]);
    let codel = QueueConfig::Codel(CodelConfig::default());
    assert_eq!(paths(wire(&codel, 1_000_000)), [false, false, true, false, false]);
    let plain = plain();
    assert!(plain.arrival_due.is_never() && plain.service_due.is_never());
}

/// Two links in a row and the events of both; what happens to packets.
struct Line {
    now: Time,
    wires: [Wire<TestPacket>; 2],
    events: Events,
    delivered: Vec<(u64, Time, bool)>,
    dropped: Vec<(u32, u64)>,
    marked: Vec<(u32, u64)>,
    copied: usize,
    arrived: Vec<(u32, u64)>,
    /// Changes of each link's queue, and the packets in it then.
    changes: [Vec<u32>; 2],
    /// How often the paths for most packets were taken, if they are to be.
    short_cuts: Option<u32>,
}

/// Events by time and link: (arrival?, link).
#[derive(Default)]
struct Events(BTreeSet<(Time, bool, u32)>);

impl Schedule for Events {
    fn arrival(&mut self, at: Time, link: u32, sole: bool) {
        let others = self.0.iter().any(|&(_, is_arrival, of)| is_arrival && of == link);
        assert!(!(sole && others), "link {link} has another arrival");
        self.0.insert((at, true, link));
    }
    fn service(&mut self, at: Time, link: u32) {
        assert!(!at.is_never());
        self.0.insert((at, false, link));
    }
}

impl Network for Line {
    type Packet = TestPacket;
    type Schedule = Events;
    fn now(&self) -> Time {
        self.now
    }
    fn wire(&mut self, link: u32) -> (&mut Wire<TestPacket>, &mut Events) {
        (&mut self.wires[link as usize], &mut self.events)
    }
    fn next_link(&self, packet: &TestPacket) -> Option<u32> {
        (packet.place < 2).then_some(packet.place)
    }
    fn onward(packet: &TestPacket) -> TestPacket {
        TestPacket { place: packet.place + 1, ..*packet }
    }
    fn offer(&mut self, link: u32, packet: &TestPacket) {
        if !self.takes_a_short_cut(link, packet) {
            self.offer_to_link(link, packet);
        }
    }
    fn on_copied(&mut self, _: u32, _: &mut TestPacket) {
        self.copied += 1;
    }
    fn on_marked(&mut self, link: u32, packet: &TestPacket) {
        assert_eq!(packet.ecn, crate::Ecn::Ce);
        self.marked.push((link, packet.id));
    }
    fn on_dropped(&mut self, link: u32, _: DropCause, packet: &TestPacket) {
        self.dropped.push((link, packet.id));
    }
    fn on_arrived(&mut self, link: u32, packet: &TestPacket) {
        self.arrived.push((link, packet.id));
    }
    fn on_delivered(&mut self, packet: &TestPacket, more: bool) {
        self.delivered.push((packet.id, self.now, more));
    }
    fn on_queue_changed(&mut self, link: u32) {
        let now = self.now;
        let packets = self.wires[link as usize].link.backlog(now).packets;
        self.changes[link as usize].push(packets);
    }
}

/// A fast link and one of 8 Mb/s (1 ms a packet) with `queue`, both idle.
fn line(queue: &QueueConfig, last: impl Fn(Wire<TestPacket>) -> Wire<TestPacket>) -> Line {
    let first = QueueConfig::DropTail(DropTailConfig { limit: 99, unit: Unit::Packets, counts_in_service: true });
    Line {
        now: Time::ZERO,
        wires: [wire(&first, 800_000_000), last(wire(queue, 8_000_000))],
        events: Events::default(),
        delivered: Vec::new(),
        dropped: Vec::new(),
        marked: Vec::new(),
        copied: 0,
        arrived: Vec::new(),
        changes: [Vec::new(), Vec::new()],
        short_cuts: None,
    }
}

impl Line {
    /// Sends these packets at these times, and handles all events.
    fn run(mut self, sends: &[(Time, TestPacket)]) -> Line {
        let mut sends = sends.iter().peekable();
        loop {
            let until = sends.peek().map_or(Time::MAX, |(at, _)| *at);
            match self.events.0.first().copied() {
                Some((at, is_arrival, index)) if at < until => {
                    self.events.0.pop_first();
                    self.now = at;
                    if is_arrival {
                        self.arrival(index);
                    } else {
                        self.serve(index);
                    }
                }
                _ => {
                    let Some((at, packet)) = sends.next() else { return self };
                    self.now = *at;
                    self.forward(packet);
                }
            }
        }
    }
}

/// Sends 40 packets in pairs, a pair each millisecond.
fn sent(queue: &QueueConfig, last: impl Fn(Wire<TestPacket>) -> Wire<TestPacket>) -> Line {
    let sends: Vec<_> = (0..40).map(|id| (Time::from_millis(id / 2), TestPacket::ect(id))).collect();
    line(queue, last).run(&sends)
}

#[test]
fn every_packet_is_delivered_or_dropped_once_whatever_is_reported_of_the_link() {
    let short = QueueConfig::DropTail(DropTailConfig { limit: 9, unit: Unit::Packets, counts_in_service: true });
    let long = QueueConfig::DropTail(DropTailConfig { limit: 99, unit: Unit::Packets, counts_in_service: true });
    let codel = QueueConfig::Codel(CodelConfig::default());
    for (queue, loses) in [(&short, true), (&long, false), (&codel, false)] {
        let plain = sent(queue, |wire| wire);
        let ways: [fn(Wire<TestPacket>) -> Wire<TestPacket>; 4] =
            [Wire::watched, Wire::observed, Wire::delivering, |wire| wire.watched().observed().delivering()];
        assert_eq!(!plain.dropped.is_empty(), loses, "{queue:?}");
        assert!(plain.changes[1].is_empty() && plain.arrived.is_empty() && plain.copied == 0);
        for way in ways {
            let other = sent(queue, way);
            assert_eq!(
                (&other.delivered, &other.dropped, &other.marked),
                (&plain.delivered, &plain.dropped, &plain.marked)
            );
            let wire = &other.wires[1];
            let changes = other.changes[1].len();
            assert_eq!(changes > 0, wire.watched, "{queue:?}");
            let arrived: Vec<_> = other.delivered.iter().map(|&(id, ..)| (1, id)).collect();
            assert_eq!(other.arrived, if wire.observed { arrived } else { vec![] });
        }
        let mut ids: Vec<_> = plain.delivered.iter().map(|&(id, ..)| id).collect();
        ids.extend(plain.dropped.iter().map(|&(_, id)| id));
        ids.sort_unstable();
        assert_eq!(ids, (0..40).collect::<Vec<_>>());
        // The last link sends a packet each millisecond from the arrival of the first, 10 us after it was sent.
        for (k, &(_, at, more)) in plain.delivered.iter().enumerate() {
            assert_eq!((at, more), (Time::from_micros(10 + 1000 * (k as u64 + 1)), false), "{queue:?}");
        }
    }
}

#[test]
fn a_watched_queue_is_looked_at_with_each_packet_that_enters() {
    let long = QueueConfig::DropTail(DropTailConfig { limit: 99, unit: Unit::Packets, counts_in_service: true });
    let line = sent(&long, Wire::watched);
    // A pair arrives each millisecond, 10 us apart, as one packet leaves.
    let expected: Vec<_> = (0..20).flat_map(|pair| [pair + 1, pair + 2]).collect();
    assert_eq!(line.changes[1], expected);
}
