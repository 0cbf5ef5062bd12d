//! `CoDel` next to the pseudocode of RFC 8289, section 5, over traffic that fills and empties the queue again and again.

use std::collections::VecDeque;

use super::*;

const TARGET: u64 = 2_000_000;
const INTERVAL: u64 = 12_000_000;
const MTU: u64 = 1500;

/// `codel_queue_t`; times in nanoseconds, 0 for none.
#[derive(Default)]
struct Model {
    queue: VecDeque<(u64, TestPacket)>,
    first_above: u64,
    drop_next: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
    ecn: bool,
    dropped: Vec<u64>,
    /// How often the dropping state was entered with a higher rate than the first one.
    resumed: u32,
}

impl Model {
    /// `dodequeue`: the packet, and whether it may be dropped.
    fn take(&mut self, now: u64) -> Option<(TestPacket, bool)> {
        let Some((arrived, packet)) = self.queue.pop_front() else {
            self.first_above = 0;
            return None;
        };
        let left: u64 = self.queue.iter().map(|(_, packet)| u64::from(packet.bytes)).sum();
        let mut ok = false;
        if now - arrived < TARGET || left <= MTU {
            self.first_above = 0;
        } else if self.first_above == 0 {
            self.first_above = now + INTERVAL;
        } else {
            ok = now >= self.first_above;
        }
        Some((packet, ok))
    }

    fn law(&self, from: u64) -> u64 {
        from + (INTERVAL as f64 / f64::from(self.count).sqrt()).round() as u64
    }

    /// Marks the packet, if marks are on and it is ECN-capable, or drops it.
    fn signal(&mut self, packet: &mut TestPacket) -> bool {
        if self.ecn && packet.ecn == Ecn::Ect0 {
            packet.ecn = Ecn::Ce;
            return true;
        }
        self.dropped.push(packet.id);
        false
    }

    /// `deque`.
    fn next(&mut self, now: u64) -> Option<TestPacket> {
        let Some((mut packet, mut ok)) = self.take(now) else {
            self.dropping = false;
            return None;
        };
        if self.dropping {
            self.dropping = ok;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if self.signal(&mut packet) {
                    self.drop_next = self.law(self.drop_next);
                    break;
                }
                let Some(next) = self.take(now) else {
                    self.dropping = false;
                    return None;
                };
                (packet, ok) = next;
                self.dropping = ok;
                if ok {
                    self.drop_next = self.law(self.drop_next);
                }
            }
        } else if ok {
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.last_count);
            let recently = now < self.drop_next + 16 * INTERVAL;
            self.count = if delta > 1 && recently { delta } else { 1 };
            self.resumed += u32::from(self.count > 1);
            self.drop_next = self.law(now);
            self.last_count = self.count;
            if !self.signal(&mut packet) {
                packet = self.take(now)?.0;
            }
        }
        Some(packet)
    }
}

/// Random phases of too much traffic and of too little, for 20 s, with a departure each millisecond.
fn compare(ecn: bool, seed: u64) -> (usize, u32) {
    let config = CodelConfig {
        target_ns: Time::from_nanos(TARGET),
        interval_ns: Time::from_nanos(INTERVAL),
        ecn,
        ..CodelConfig::default()
    };
    let (mut queue, mut model) = (Codel::new(config), Model { ecn, ..Model::default() });
    let (mut dropped, mut ids) = (Vec::new(), Vec::new());
    let mut state = seed;
    let mut next = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let (mut load, mut until) = (2, 0);
    for ms in 1..20_000 {
        if ms >= until {
            (load, until) = (next(4), ms + [20, 60, 250, 900][next(4) as usize]);
        }
        for _ in 0..next(load + 1) {
            let at = 1_000_000 * ms;
            let ecn = if next(4) > 0 { Ecn::Ect0 } else { Ecn::NotEct };
            let packet = TestPacket { bytes: 100 + next(1400) as u32, ecn, ..TestPacket::new(ids.len() as u64) };
            ids.push(packet.id);
            queue.enqueue(Time::from_nanos(at), packet, &mut dropped);
            model.queue.push_back((at, packet));
        }
        let at = 1_000_000 * ms + next(3);
        let sent = queue.dequeue(Time::from_nanos(at), &mut dropped);
        assert_eq!(sent.map(|sent| sent.packet), model.next(at), "{ms} ms");
        let of_queue: Vec<_> = dropped.drain(..).map(|(_, packet)| packet.id).collect();
        assert_eq!(of_queue, std::mem::take(&mut model.dropped), "{ms} ms");
        assert_eq!((queue.law.count, queue.law.dropping), (model.count, model.dropping), "{ms} ms");
    }
    (ids.len(), model.resumed)
}

#[test]
fn packets_are_sent_marked_and_dropped_as_the_pseudocode_does() {
    for (ecn, seed) in [(false, 1), (true, 2)] {
        let (packets, resumed) = compare(ecn, seed);
        assert!(packets > 10_000 && resumed > 3, "{packets} packets, {resumed} times");
    }
}

/// `deque` of the pseudocode: the rate is resumed within 16 intervals of the next drop that was due, if more
/// than one had been dropped.
#[test]
fn a_rate_is_resumed_if_it_was_left_less_than_sixteen_intervals_ago() {
    for (count, last_count, after_ns, then) in
        [(9, 3, 16 * INTERVAL - 1, 6), (9, 3, 16 * INTERVAL, 1), (5, 3, 1, 2), (4, 3, 1, 1), (3, 3, 1, 1)]
    {
        let (target_ns, interval_ns) = (Time::from_nanos(TARGET), Time::from_nanos(INTERVAL));
        let mut queue = Codel::new(CodelConfig { target_ns, interval_ns, ..CodelConfig::default() });
        let (mut dropped, now) = (Vec::new(), Time::from_secs(10));
        for id in 0..9 {
            queue.enqueue(Time::from_secs(9), TestPacket::new(id), &mut dropped);
        }
        let first_above = Some(now);
        let drop_next = now - Time::from_nanos(after_ns);
        queue.law = ControlLaw { first_above, drop_next, count, last_count, ..ControlLaw::default() };
        assert!(queue.dequeue(now, &mut dropped).is_some());
        assert_eq!((queue.law.count, queue.law.last_count, dropped.len()), (then, then, 1), "{count} {after_ns}");
    }
}
