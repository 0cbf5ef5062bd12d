//! The paths for most packets, which a driver takes where [`Wire`] says that it may, do what the full paths do.

use super::*;

impl Line {
    /// Handles an arrival event, by the short path if there is one.
    pub(super) fn arrival(&mut self, link: u32) {
        let Line { wires, events, now, short_cuts, .. } = self;
        let wire = &mut wires[link as usize];
        let Some(taken) = short_cuts.as_mut().filter(|_| wire.passes && wire.arrival_due == *now) else {
            return self.arrive(link);
        };
        *taken += 1;
        let first = *wire.link.first();
        let packet = *wire.arrive(events, link);
        assert_eq!(packet, first);
        match self.next_link(&packet) {
            Some(link) => self.offer(link, &Self::onward(&packet)),
            None => self.on_delivered(&packet, false),
        }
    }

    /// Offers a packet by a short path, if there is one and the queue need not be asked.
    pub(super) fn takes_a_short_cut(&mut self, link: u32, packet: &TestPacket) -> bool {
        let Line { wires, events, now, short_cuts: Some(taken), .. } = self else { return false };
        let wire = &mut wires[link as usize];
        let write = |place: &mut TestPacket| *place = *packet;
        let done = wire.ordinary && wire.take(events, *now, link, packet.bytes, write)
            || wire.early && wire.take_early(events, *now, link, packet.bytes, write);
        *taken += u32::from(done);
        done
    }
}

/// Packets of two sizes; as many as fill a queue of nine, and then a pause in which it empties.
fn bursts() -> Vec<(Time, TestPacket)> {
    let burst = |k: u64| (0..14).map(move |n| (Time::from_millis(40 * k) + Time::from_micros(300 * n), 20 * k + n));
    let packet = |id: u64| TestPacket { bytes: if id % 3 == 0 { 400 } else { 1000 }, ..TestPacket::ect(id) };
    (0..5).flat_map(burst).map(|(at, id)| (at, packet(id))).collect()
}

#[test]
fn a_packet_that_takes_a_short_cut_arrives_as_on_the_full_path() {
    let packets = DropTailConfig { limit: 9, unit: Unit::Packets, counts_in_service: true };
    let bytes = DropTailConfig { limit: 6000, unit: Unit::Bytes, counts_in_service: true };
    let jitter = |wire: Wire<TestPacket>| {
        let rules = [ImpairmentConfig::Jitter { max_ns: Time::from_millis(2), keep_order: true }];
        Wire::new(wire.link.impaired(Impairments::new(&rules)))
    };
    let ways: [fn(Wire<TestPacket>) -> Wire<TestPacket>; 2] = [|wire| wire, jitter];
    for queue in [packets, bytes].map(QueueConfig::DropTail) {
        for (way, early) in ways.into_iter().zip([false, true]) {
            let [full, short] = [None, Some(0)].map(|short_cuts| {
                let line = Line { short_cuts, ..line(&queue, way) };
                assert_eq!((line.wires[1].ordinary, line.wires[1].early), (!early, early));
                line.run(&bursts())
            });
            // On the first link as well as on the second; only those that the second one's queue drops have no third.
            let taken = short.short_cuts.unwrap();
            let accepted = full.delivered.len() as u32;
            assert!(!full.dropped.is_empty() && accepted > 40, "{queue:?}");
            assert_eq!(taken, 2 * 70 + 2 * accepted, "{queue:?}");
            // `more` is reported only to a driver that asks for it by [`Wire::delivering`].
            let times = |line: &Line| line.delivered.iter().map(|&(id, at, _)| (id, at)).collect::<Vec<_>>();
            assert_eq!((times(&full), &full.dropped), (times(&short), &short.dropped), "{queue:?}");
            for (one, other) in full.wires.iter().zip(&short.wires) {
                assert_eq!(one.link.counters(), other.link.counters(), "{queue:?}");
                assert!(other.arrival_due.is_never());
            }
        }
    }
}

/// Times of arrivals, as they were scheduled.
#[derive(Default)]
struct Arrivals(Vec<Time>);
impl Schedule for Arrivals {
    fn arrival(&mut self, at: Time, _: u32, sole: bool) {
        assert!(sole);
        self.0.push(at);
    }
    fn service(&mut self, _: Time, _: u32) {}
}

/// Such a packet is scheduled once: when it enters an empty link, or when the one ahead has arrived.
#[test]
fn each_packet_of_a_link_has_one_arrival_event() {
    let queue = QueueConfig::Infinite {};
    let mut wire = wire(&queue, 8_000_000);
    let mut events = Arrivals::default();
    let due = |events: &Arrivals| events.0.clone();
    for id in 0..2 {
        assert!(wire.take(&mut events, Time::ZERO, 3, 1000, |place| *place = TestPacket::new(id)));
        assert_eq!((due(&events), wire.arrival_due), (vec![Time::from_millis(1)], Time::from_millis(1)));
    }
    assert_eq!(wire.arrive(&mut events, 3).id, 0);
    assert_eq!((due(&events), wire.arrival_due), ([1, 2].map(Time::from_millis).to_vec(), Time::from_millis(2)));
    assert_eq!(wire.arrive(&mut events, 3).id, 1);
    assert_eq!((events.0.len(), wire.arrival_due), (2, Time::MAX));
}

/// A queue that has to decide leaves everything as it was.
#[test]
fn a_short_cut_into_a_full_queue_has_no_effect() {
    let full = QueueConfig::DropTail(DropTailConfig { limit: 1, unit: Unit::Packets, counts_in_service: true });
    let jitter = ImpairmentConfig::Jitter { max_ns: Time::from_millis(2), keep_order: true };
    let mut events = Events::default();
    let mut early = Wire::new(wire(&full, 8_000_000).link.impaired(Impairments::new(&[jitter])));
    let mut plain = wire(&full, 8_000_000);
    assert!(early.take_early(&mut events, Time::ZERO, 0, 1000, |place| *place = TestPacket::new(1)));
    assert!(plain.take(&mut events, Time::ZERO, 1, 1000, |place| *place = TestPacket::new(1)));
    let before = [&early, &plain].map(|wire| (wire.link.counters(), wire.arrival_due));
    assert!(!early.take_early(&mut events, Time::ZERO, 0, 1000, |place| *place = TestPacket::new(2)));
    assert!(!plain.take(&mut events, Time::ZERO, 1, 1000, |place| *place = TestPacket::new(2)));
    assert_eq!([&early, &plain].map(|wire| (wire.link.counters(), wire.arrival_due)), before);
    assert_eq!(events.0.len(), 2);
}
