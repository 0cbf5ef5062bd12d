use super::*;
use crate::test_packet::TestPacket;

mod model;

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// Keeps the queueing delay above 50 ms, with one arrival and one departure every 0.1 ms. Returns the times of the
/// drops or marks, in ms since the first one.
fn signal_times_under_overload(ecn: bool, make: fn(u64) -> TestPacket) -> Vec<f64> {
    let mut queue = Codel::new(CodelConfig { ecn, limit: 100_000, ..CodelConfig::default() });
    let mut dropped = Vec::new();
    for id in 0..1000 {
        queue.enqueue(Time::ZERO, make(id), &mut dropped);
    }
    let mut signals = Vec::new();
    for step in 500..6000_u64 {
        let now = Time::from_micros(100 * step);
        queue.enqueue(now, make(step), &mut dropped);
        let packet = queue.dequeue(now, &mut dropped).expect("overloaded");
        for _ in dropped.drain(..) {
            signals.push(now.as_secs_f64() * 1e3);
        }
        if packet.marked {
            assert_eq!(packet.packet.ecn, Ecn::Ce);
            signals.push(now.as_secs_f64() * 1e3);
        }
    }
    signals.iter().map(|at| at - signals[0]).collect()
}

/// Times of drops or marks that are interval / sqrt(count) apart (RFC 8289, sections 3.2 and 5.7).
const VECTOR_MS: [f64; 6] = [0.0, 100.0, 170.7, 228.4, 278.4, 323.2];

#[test]
fn drops_come_at_the_times_of_the_control_law() {
    let times = signal_times_under_overload(false, TestPacket::new);
    for (measured, expected) in times.iter().zip(VECTOR_MS) {
        assert!((measured - expected).abs() <= 0.15, "{measured} ms, the law says {expected}");
    }
    assert!(times.len() > VECTOR_MS.len());
}

#[test]
fn marks_come_at_the_times_of_the_drops_they_replace() {
    let drops = signal_times_under_overload(false, TestPacket::new);
    let marks = signal_times_under_overload(true, TestPacket::ect);
    assert_eq!(drops[..6], marks[..6]);
}

/// A packet that another queue has marked needs no new signal: the control law continues as if this queue had marked
/// the packet, but reports no mark.
#[test]
fn a_packet_that_is_marked_already_is_no_new_mark() {
    let marked = |id| TestPacket { ecn: Ecn::Ce, ..TestPacket::new(id) };
    let mut queue = Codel::new(CodelConfig { ecn: true, limit: 100_000, ..CodelConfig::default() });
    let mut dropped = Vec::new();
    for id in 0..1000 {
        queue.enqueue(Time::ZERO, marked(id), &mut dropped);
    }
    for id in 500..1400 {
        let packet = queue.dequeue(ms(id), &mut dropped).expect("overloaded");
        assert_eq!((packet.marked, packet.packet.ecn), (false, Ecn::Ce));
    }
    assert!(dropped.is_empty());
    assert!(queue.law.count > 1);
}

#[test]
fn packets_without_ect_are_dropped_even_if_the_queue_marks() {
    let with = signal_times_under_overload(true, TestPacket::new);
    assert_eq!(with, signal_times_under_overload(false, TestPacket::new));
}

#[test]
fn a_delay_below_target_never_drops() {
    let mut queue = Codel::new(CodelConfig::default());
    let mut dropped = Vec::new();
    for id in 0..10_000_u64 {
        queue.enqueue(ms(id), TestPacket::new(id), &mut dropped);
        if id >= 4 {
            assert!(queue.dequeue(ms(id), &mut dropped).is_some()); // each packet waits 4 ms
        }
    }
    assert_eq!(dropped, []);
}

#[test]
fn the_last_mtu_is_never_dropped_however_long_it_waited() {
    let mut queue = Codel::new(CodelConfig { mtu: 1500, ..CodelConfig::default() });
    let mut dropped = Vec::new();
    for id in 0..100_u64 {
        queue.enqueue(ms(1000 * id), TestPacket::new(id), &mut dropped);
        queue.enqueue(ms(1000 * id), TestPacket::new(id), &mut dropped);
        assert!(queue.dequeue(ms(1000 * id + 500), &mut dropped).is_some());
        assert!(queue.dequeue(ms(1000 * id + 999), &mut dropped).is_some());
    }
    assert_eq!(dropped, []);
}

#[test]
fn a_full_queue_drops_the_arrival() {
    let mut queue = Codel::new(CodelConfig { limit: 2, ..CodelConfig::default() });
    let mut dropped = Vec::new();
    for id in 0..3 {
        queue.enqueue(Time::ZERO, TestPacket::new(id), &mut dropped);
    }
    assert_eq!(dropped, [(DropCause::Full, TestPacket::new(2))]);
    assert_eq!((queue.packets(), queue.bytes()), (2, 2000));
}

/// Linux (`include/net/codel_impl.h`) marks every packet that waited longer than `ce_threshold`, but not a packet that
/// waited for exactly this time.
#[test]
fn packets_that_waited_beyond_the_ce_threshold_are_marked_without_a_drop_schedule() {
    let config = CodelConfig { ce_threshold_ns: Some(ms(1)), limit: 100_000, ..CodelConfig::default() };
    for (make, expected) in
        [(TestPacket::ect as fn(u64) -> TestPacket, [false, true, true]), (TestPacket::new, [false; 3])]
    {
        let mut queue = Codel::new(config.clone());
        let mut dropped = Vec::new();
        for id in 0..3 {
            queue.enqueue(Time::ZERO, make(id), &mut dropped);
        }
        let marks =
            [ms(1), Time::from_micros(1001), ms(50)].map(|at| queue.dequeue(at, &mut dropped).expect("one").marked);
        assert_eq!((marks, dropped.len()), (expected, 0));
    }
}
