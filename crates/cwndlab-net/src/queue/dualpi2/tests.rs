use super::*;
use crate::test_packet::TestPacket;

const RATE: Rate = Rate::from_bps(80_000_000); // 1000 bytes take 0.1 ms

fn packet(id: u64, ecn: Ecn) -> TestPacket {
    TestPacket { ecn, ..TestPacket::new(id) }
}

/// A queue whose controller is fixed at `base`.
fn fixed(base: f64) -> DualPi2<TestPacket> {
    let config = DualPi2Config { alpha: 0.0, beta: 0.0, ..DualPi2Config::default() };
    let mut queue = DualPi2::new(config, RATE, 1);
    queue.base = base;
    queue
}

/// Sends 10,000 packets one by one, without waiting. Returns how many are marked and how many are dropped.
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
    // With p' = 0.1, k p' = 20 % are marked, and p'^2 = 1 % are dropped (or marked, with ECT(0)).
    let near = |count: usize, expected: usize| count.abs_diff(expected) <= 1;
    let (low, classic, classic_ecn) = (signals(0.1, Ecn::Ect1), signals(0.1, Ecn::NotEct), signals(0.1, Ecn::Ect0));
    assert!(near(low.0, 2000) && low.1 == 0, "{low:?}");
    assert!(classic.0 == 0 && near(classic.1, 100), "{classic:?}");
    assert!(near(classic_ecn.0, 100) && classic_ecn.1 == 0, "{classic_ecn:?}");
}

#[test]
fn in_overload_both_queues_drop_whatever_their_ecn_field_says() {
    // With p' = 0.6, p_CL would be 1.2, and p_C is 36 %.
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

/// Returns the share of the classic queue in the bytes sent while both queues wait; its packets are of `classic` bytes,
/// the others of `low` bytes.
fn classic_share_of_bytes(mut queue: DualPi2<TestPacket>, classic: u32, low: u32) -> f64 {
    let mut dropped = Vec::new();
    for id in 0..4000 {
        for (bytes, ecn) in [(classic, Ecn::NotEct), (low, Ecn::Ect1)] {
            queue.enqueue(Time::ZERO, TestPacket { bytes, ..packet(id, ecn) }, &mut dropped);
        }
    }
    let (mut of_classic, mut all) = (0.0, 0.0);
    while queue.classic.fifo.len() > 0 && queue.low.fifo.len() > 0 {
        let sent = queue.dequeue(Time::ZERO, &mut dropped).unwrap().packet;
        all += f64::from(sent.bytes);
        of_classic += if sent.ecn == Ecn::NotEct { f64::from(sent.bytes) } else { 0.0 };
    }
    of_classic / all
}

#[test]
fn the_share_of_the_classic_queue_is_one_of_bytes() {
    for (classic, low) in [(1500, 1500), (1500, 100), (100, 1500), (700, 300)] {
        let share = classic_share_of_bytes(fixed(0.0), classic, low);
        assert!((share - 0.1).abs() < 0.01, "{classic} and {low} bytes: {share}");
    }
    let config = DualPi2Config { alpha: 0.0, beta: 0.0, classic_share: 0.3, ..DualPi2Config::default() };
    let share = classic_share_of_bytes(DualPi2::new(config, RATE, 1), 700, 300);
    assert!((share - 0.3).abs() < 0.01, "{share}");
}

#[test]
fn nothing_is_owed_to_a_queue_that_had_nothing_to_send() {
    let mut queue = fixed(0.0);
    let mut dropped = Vec::new();
    for (id, ecn) in [Ecn::Ect1, Ecn::Ect1, Ecn::NotEct].into_iter().enumerate() {
        queue.enqueue(Time::ZERO, packet(id as u64, ecn), &mut dropped);
    }
    queue.dequeue(Time::ZERO, &mut dropped);
    assert!(queue.owed > 0.0, "the classic queue waited");
    queue.dequeue(Time::ZERO, &mut dropped);
    assert!(queue.owed.abs() < f64::MIN_POSITIVE, "the low-latency queue is empty");
}

/// The load is unresponsive classic traffic of 120 % of 10,000 packets per second. A sixth of it has to be dropped, so
/// p' is the square root of 1/6, 0.41.
#[test]
fn the_classic_delay_settles_at_its_target() {
    let mut queue = DualPi2::new(DualPi2Config::default(), RATE, 1);
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
    // With an alpha of 0, the probability does not change.
    for (alpha, base) in [(0.16, 0.0), (0.0, 0.5)] {
        let mut queue = DualPi2::new(DualPi2Config { alpha, ..DualPi2Config::default() }, RATE, 1);
        queue.base = base;
        let now = Time::from_secs(3_000_000_000);
        queue.enqueue(now, packet(0, Ecn::Ect1), &mut Vec::new());
        assert!(queue.next_update > now && queue.next_update <= now + Time::from_millis(16));
    }
}

/// Linux's form, with the controller fixed at `base`.
fn fixed_linux(base: f64) -> DualPi2<TestPacket> {
    let config = DualPi2Config { form: DualPi2Form::Linux, alpha: 0.0, beta: 0.0, ..DualPi2Config::default() };
    let mut queue = DualPi2::new(config, RATE, 7);
    queue.base = base;
    queue
}

/// Sends 20,000 packets, each with `behind` others left in the queue. Returns how many are marked and how many are
/// dropped.
fn signals_linux(base: f64, ecn: Ecn, behind: u64) -> (usize, usize) {
    let mut queue = fixed_linux(base);
    let (mut dropped, mut marks) = (Vec::new(), 0);
    for id in 0..20_000 + behind {
        queue.enqueue(Time::ZERO, packet(id, ecn), &mut dropped);
        if id >= behind {
            while u64::from(queue.packets()) > behind {
                marks += usize::from(queue.dequeue(Time::ZERO, &mut dropped).is_some_and(|sent| sent.marked));
            }
        }
    }
    (marks, dropped.len())
}

#[test]
fn linux_draws_marks_and_squared_drops_and_spares_queues_below_two_packets() {
    // With p = 0.1, 20 % of the low-latency packets are marked, and 1 % of the classic packets are dropped or marked.
    // Six standard deviations of 20,000 draws are 340 and 85.
    let near = |count: usize, expected: usize, most: usize| count.abs_diff(expected) <= most;
    let (low, classic, classic_ecn) =
        (signals_linux(0.1, Ecn::Ect1, 3), signals_linux(0.1, Ecn::NotEct, 3), signals_linux(0.1, Ecn::Ect0, 3));
    assert!(near(low.0, 4000, 340) && low.1 == 0, "{low:?}");
    assert!(classic.0 == 0 && near(classic.1, 200, 85), "{classic:?}");
    assert!(near(classic_ecn.0, 200, 85) && classic_ecn.1 == 0, "{classic_ecn:?}");
    // With 2 x 1000 bytes left, the queue is below 2 MTU.
    assert_eq!(signals_linux(0.1, Ecn::Ect1, 2), (0, 0));
}

#[test]
fn linux_in_overload_drops_and_marks_the_rest_of_the_low_latency_queue() {
    for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct] {
        // 40 packets stay behind, so drops never take the queue below two MTU
        let (marks, drops) = signals_linux(0.6, ecn, 40);
        assert!(drops.abs_diff(7200) <= 450, "{ecn:?}: {drops}");
        assert_eq!(marks > 0, ecn == Ecn::Ect1, "{ecn:?}");
    }
    // A marking probability of k p' = 1 is not yet overload: all packets are marked, and none dropped.
    assert_eq!(signals_linux(0.5, Ecn::Ect1, 40), (20_000, 0));
}

#[test]
fn linux_marks_all_that_waited_longer_than_the_step() {
    for (delay_us, marked) in [(999, false), (1000, false), (1001, true)] {
        let mut queue = fixed_linux(0.0);
        queue.enqueue(Time::ZERO, packet(0, Ecn::Ect1), &mut Vec::new());
        let sent = queue.dequeue(Time::from_micros(delay_us), &mut Vec::new()).unwrap();
        assert_eq!(sent.marked, marked, "{delay_us}");
    }
}

#[test]
fn linux_keeps_the_credit_until_both_queues_are_empty() {
    let mut queue = fixed_linux(0.0);
    let mut dropped = Vec::new();
    // The credit starts at -1200 and rises by 100 with each packet of the low-latency queue, so it is positive after 13
    // packets.
    queue.enqueue(Time::ZERO, packet(0, Ecn::NotEct), &mut dropped);
    for id in 1..40 {
        queue.enqueue(Time::ZERO, packet(id, Ecn::Ect1), &mut dropped);
    }
    let order: Vec<_> = (0..40).map(|_| queue.dequeue(Time::ZERO, &mut dropped).unwrap().packet.ecn).collect();
    assert_eq!(order.iter().position(|&ecn| ecn == Ecn::NotEct), Some(13));
    // Nothing is charged while the classic queue is empty, so the credit does not change after the classic packet.
    assert!((queue.owed - (100.0 - 900.0)).abs() < 1e-6, "{}", queue.owed);
    queue.enqueue(Time::ZERO, packet(41, Ecn::Ect1), &mut dropped);
    assert!((queue.owed + 1200.0).abs() < 1e-6, "reset by the empty queue: {}", queue.owed);
}

#[test]
fn keys_of_the_other_form_are_rejected() {
    let ramp = DualPi2Config { form: DualPi2Form::Linux, range_ns: Time::ZERO, ..DualPi2Config::default() };
    assert_eq!(ramp.check().unwrap_err().to_string(), "range_ns has an effect only with form = \"rfc9332\"");
    let step = DualPi2Config { step_ns: Time::ZERO, ..DualPi2Config::default() };
    assert_eq!(step.check().unwrap_err().to_string(), "step_ns has an effect only with form = \"linux\"");
}

/// Appendix A.1: the sum has to exceed 1, so that a half gives a signal with the third packet, and then with every second.
#[test]
fn a_signal_comes_when_the_sum_of_probabilities_exceeds_one() {
    let mut lane: Lane<TestPacket> = Lane::new();
    let hits: Vec<_> = (0..7).map(|_| lane.recur(0.5)).collect();
    assert_eq!(hits, [false, false, true, false, true, false, true]);
}

/// Without a ramp, the delay of its beginning is enough.
#[test]
fn a_ramp_of_no_width_is_a_step() {
    let native = |range_ns, us| {
        let config = DualPi2Config { range_ns, ..DualPi2Config::default() };
        DualPi2::<TestPacket>::new(config, RATE, 1).native(f64::from(us) / 1e6)
    };
    assert_eq!([799, 800, 801].map(|us| native(Time::ZERO, us) > 0.5), [false, true, true]);
    let ramp = [800, 900, 1200, 1300].map(|us| native(Time::from_micros(400), us));
    assert!(
        ramp.iter().zip([0.0, 0.25, 1.0, 1.0]).all(|(found, expected)| (found - expected).abs() < 1e-9),
        "{ramp:?}"
    );
}

/// The controller's updates by hand: each adds 0.16 times the distance of the delay from 15 ms and 3.2 times its change.
#[test]
fn the_controller_follows_the_longer_of_both_delays() {
    let ms = Time::from_millis;
    let mut queue = DualPi2::new(DualPi2Config::default(), RATE, 1);
    let mut dropped = Vec::new();
    queue.enqueue(ms(1), packet(0, Ecn::NotEct), &mut dropped);
    queue.enqueue(ms(12), packet(1, Ecn::Ect1), &mut dropped);
    queue.enqueue(ms(15), packet(2, Ecn::NotEct), &mut dropped);
    assert_eq!((queue.base.to_bits(), queue.next_update), (0, ms(16)));
    // At 16 ms the first packet has waited for 15 ms: its distance is 0, the change 15 ms. At 32 ms for 31 ms.
    queue.enqueue(ms(16), packet(3, Ecn::NotEct), &mut dropped);
    assert!((queue.base - 3.2 * 0.015).abs() < 1e-12 && queue.next_update == ms(32), "{}", queue.base);
    queue.enqueue(ms(40), packet(4, Ecn::NotEct), &mut dropped);
    let second = 0.048 + 0.16 * 0.016 + 3.2 * 0.016;
    assert!((queue.base - second).abs() < 1e-12 && queue.next_update == ms(48), "{}", queue.base);
    // Without packets the delay is 0, and the output falls by steps until it is 0; then the updates rest.
    while queue.dequeue(ms(47), &mut dropped).is_some() {}
    queue.enqueue(ms(48), packet(5, Ecn::Ect1), &mut dropped);
    let third = (second - 0.16 * 0.015 - 3.2 * 0.031).max(0.0);
    assert!((queue.base - third).abs() < 1e-12 && (queue.delay_old_s - 0.0).abs() < 1e-12, "{}", queue.base);
}

/// Updates that change nothing are not skipped while a packet waits, whose delay they will find.
#[test]
fn an_update_of_an_unchanged_output_does_not_hide_the_delay_of_a_waiting_packet() {
    let ms = Time::from_millis;
    let mut queue = DualPi2::new(DualPi2Config::default(), RATE, 1);
    let mut dropped = Vec::new();
    queue.enqueue(ms(16), packet(0, Ecn::NotEct), &mut dropped);
    assert_eq!(queue.next_update, ms(32));
    queue.enqueue(ms(64), packet(1, Ecn::NotEct), &mut dropped);
    // At 32, 48 and 64 ms it has waited for 16, 32 and 48 ms.
    let steps: f64 = [0.016, 0.032, 0.048].iter().map(|delay| 0.16 * (delay - 0.015) + 3.2 * 0.016).sum();
    assert!((queue.base - steps).abs() < 1e-12 && queue.next_update == ms(80), "{} {steps}", queue.base);
}

#[test]
fn a_full_buffer_drops_whatever_the_lane() {
    let mut queue = DualPi2::new(DualPi2Config { limit: 2, ..DualPi2Config::default() }, RATE, 1);
    let mut dropped = Vec::new();
    for (id, ecn) in [Ecn::Ect1, Ecn::NotEct, Ecn::Ect1, Ecn::NotEct].into_iter().enumerate() {
        queue.enqueue(Time::ZERO, packet(id as u64, ecn), &mut dropped);
    }
    assert_eq!(
        dropped.iter().map(|&(cause, packet)| (cause, packet.id)).collect::<Vec<_>>(),
        [(DropCause::Full, 2), (DropCause::Full, 3)]
    );
    assert_eq!((queue.packets(), queue.bytes()), (2, 2000));
}

/// Without packets the output falls by 0.16 times 15 ms with each update, also if none is looked at for a long time.
#[test]
fn the_output_falls_while_nothing_waits() {
    let mut queue: DualPi2<TestPacket> = DualPi2::new(DualPi2Config::default(), RATE, 1);
    queue.base = 0.5;
    queue.update_until(Time::from_millis(16 * 62));
    assert!((queue.base - (0.5 - 62.0 * 0.16 * 0.015)).abs() < 1e-9, "{}", queue.base);
}

/// The delay before an idle time does not count after it.
#[test]
fn an_idle_update_forgets_the_delay_before_it() {
    let mut queue: DualPi2<TestPacket> = DualPi2::new(DualPi2Config::default(), RATE, 1);
    queue.delay_old_s = 0.03;
    queue.update_until(Time::from_millis(16));
    assert!(queue.delay_old_s.abs() < f64::MIN_POSITIVE && queue.base.abs() < f64::MIN_POSITIVE);
}

#[test]
fn linux_charges_a_lane_only_while_the_other_waits() {
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        let mut queue = fixed_linux(0.0);
        for id in 0..3 {
            queue.enqueue(Time::ZERO, packet(id, ecn), &mut Vec::new());
        }
        for _ in 0..2 {
            queue.dequeue(Time::ZERO, &mut Vec::new());
            assert!((queue.owed + 1200.0).abs() < 1e-9, "{ecn:?}: {}", queue.owed);
        }
    }
    let other = DualPi2Config { form: DualPi2Form::Linux, min_th_ns: Time::ZERO, ..DualPi2Config::default() };
    assert_eq!(other.check().unwrap_err().to_string(), "min_th_ns has an effect only with form = \"rfc9332\"");
}
