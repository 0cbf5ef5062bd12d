use super::*;
use crate::test_packet::TestPacket;

const RATE: Rate = Rate::from_bps(80_000_000); // 1000 bytes take 0.1 ms

fn packet(id: u64, ecn: Ecn) -> TestPacket {
    TestPacket { ecn, ..TestPacket::new(id) }
}

/// A queue whose controller stands still at `base`.
fn fixed(base: f64) -> DualPi2<TestPacket> {
    let config = DualPi2Config { alpha: 0.0, beta: 0.0, ..DualPi2Config::default() };
    let mut queue = DualPi2::new(config, RATE);
    queue.base = base;
    queue
}

/// Of 10,000 packets that pass one by one without waiting: how many are marked and how many dropped.
fn signals(base: f64, ecn: Ecn) -> (usize, usize) {
    let mut queue = fixed(base);
    let (mut dropped, mut marks) = (Vec::new(), 0);
    for id in 0..10_000 {
        let now = Time::from_micros(100 * id);
        queue.enqueue(now, packet(id, ecn), &mut dropped);
        marks += usize::from(queue.dequeue(now, &mut dropped).is_some_and(|sent| sent.marked));
    }
    (marks, dropped.len())
}

#[test]
fn marks_are_coupled_to_the_square_root_of_the_drops() {
    // p' = 0.1: k p' = 20 % marked, p'^2 = 1 % dropped (or marked, for ECT(0)).
    let near = |count: usize, expected: usize| count.abs_diff(expected) <= 1;
    let (low, classic, classic_ecn) = (signals(0.1, Ecn::Ect1), signals(0.1, Ecn::NotEct), signals(0.1, Ecn::Ect0));
    assert!(near(low.0, 2000) && low.1 == 0, "{low:?}");
    assert!(classic.0 == 0 && near(classic.1, 100), "{classic:?}");
    assert!(near(classic_ecn.0, 100) && classic_ecn.1 == 0, "{classic_ecn:?}");
}

#[test]
fn in_overload_both_queues_drop_whatever_their_ecn_field_says() {
    // p' = 0.6: p_CL would be 1.2, p_C is 36 %.
    for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct] {
        let (marks, drops) = signals(0.6, ecn);
        assert!(drops.abs_diff(3600) <= 1, "{ecn:?}: {drops}");
        assert_eq!(marks, if ecn == Ecn::Ect1 { 10_000 - drops } else { 0 }, "{ecn:?}");
    }
}

#[test]
fn the_low_latency_queue_marks_by_its_own_delay_on_a_ramp() {
    let share = |delay_us: u64| {
        let mut queue = fixed(0.0);
        let (mut dropped, mut marks) = (Vec::new(), 0);
        for id in 0..1000 {
            let now = Time::from_millis(10 * id);
            queue.enqueue(now, packet(id, Ecn::Ect1), &mut dropped);
            let sent = queue.dequeue(now + Time::from_micros(delay_us), &mut dropped).unwrap();
            marks += u32::from(sent.marked);
        }
        f64::from(marks) / 1000.0
    };
    assert!(share(799) == 0.0 && share(1200) > 0.99);
    assert!((share(1000) - 0.5).abs() < 0.01, "{}", share(1000));
}

#[test]
fn low_latency_packets_go_first_but_the_classic_queue_keeps_its_share() {
    let mut queue = fixed(0.0);
    let mut dropped = Vec::new();
    for id in 0..2000 {
        queue.enqueue(Time::ZERO, packet(id, Ecn::NotEct), &mut dropped);
        queue.enqueue(Time::ZERO, packet(id, Ecn::Ect1), &mut dropped);
    }
    let first = queue.dequeue(Time::ZERO, &mut dropped).unwrap().packet;
    assert_eq!(first.ecn, Ecn::Ect1);
    let sent: Vec<_> = (0..1000).map(|_| queue.dequeue(Time::ZERO, &mut dropped).unwrap().packet.ecn).collect();
    let classic = sent.iter().filter(|&&ecn| ecn == Ecn::NotEct).count();
    assert!((98..=102).contains(&classic), "{classic} of 1000");
}

/// Unresponsive classic load of 120 % of 10,000 packets a second: a sixth is dropped, p' being its root, 0.41.
#[test]
fn the_classic_delay_settles_at_its_target() {
    let mut queue = DualPi2::new(DualPi2Config::default(), RATE);
    let (mut dropped, mut delay_s, mut sent) = (Vec::new(), 0.0, 0);
    for slot in 0..200_000_u64 {
        let now = Time::from_micros(100 * slot);
        for _ in (slot * 120 / 100)..((slot + 1) * 120 / 100) {
            let arriving = TestPacket { offset: slot, ..packet(slot, Ecn::NotEct) };
            queue.enqueue(now, arriving, &mut dropped);
        }
        if let Some(Dequeued { packet, .. }) = queue.dequeue(now, &mut dropped) {
            if slot >= 100_000 {
                delay_s += (slot - packet.offset) as f64 / 1e4;
                sent += 1;
            }
        }
    }
    let mean_s = delay_s / f64::from(sent);
    assert!((mean_s - 0.015).abs() < 0.002, "{mean_s}");
    assert!((queue.base - (1.0_f64 / 6.0).sqrt()).abs() < 0.02, "{}", queue.base);
}

#[test]
fn a_long_idle_time_costs_no_loop_of_updates() {
    let mut queue = DualPi2::new(DualPi2Config::default(), RATE);
    let now = Time::from_secs(3_000_000_000);
    queue.enqueue(now, packet(0, Ecn::Ect1), &mut Vec::new());
    assert!(queue.next_update > now && queue.next_update <= now + Time::from_millis(16));
}
