use super::*;
use crate::test_packet::TestPacket;
use rand::SeedableRng;

mod bounds;

fn rng() -> Rng {
    Rng::seed_from_u64(5)
}

/// The results of 20 s of load on a link that sends one packet of 1000 bytes per millisecond. The mean delay is that of
/// the second half.
struct Outcome {
    mean_delay_s: f64,
    drops: u32,
    marks: u32,
    first_signal: Option<Time>,
}

/// Runs the queue with `load_percent` packets arriving every 100 ms.
fn run(config: PieConfig, load_percent: u64, make: fn(u64) -> TestPacket) -> Outcome {
    let mut queue = Pie::new(config);
    let (mut rng, mut dropped) = (rng(), Vec::new());
    let (mut delay_s, mut sent) = (0.0, 0);
    let mut outcome = Outcome { mean_delay_s: 0.0, drops: 0, marks: 0, first_signal: None };
    for ms in 0..20_000_u64 {
        let now = Time::from_millis(ms);
        for _ in (ms * load_percent / 100)..((ms + 1) * load_percent / 100) {
            // The packet's offset holds its arrival time, from which its delay is computed when it leaves.
            let marked = queue.enqueue(now, TestPacket { offset: ms, ..make(ms) }, &mut rng, &mut dropped);
            if marked || !dropped.is_empty() {
                outcome.first_signal.get_or_insert(now);
            }
            outcome.marks += u32::from(marked);
            outcome.drops += dropped.drain(..).count() as u32;
        }
        if let Some(Dequeued { packet, .. }) = queue.dequeue(now) {
            if ms >= 10_000 {
                delay_s += (ms - packet.offset) as f64 / 1e3;
                sent += 1;
            }
        }
    }
    outcome.mean_delay_s = delay_s / f64::from(sent);
    outcome
}

/// Under an unresponsive load of 120 %, a sixth of the packets must be dropped, and the delay must settle at the
/// target.
fn assert_controls(config: &PieConfig) {
    let outcome = run(PieConfig { limit: 100_000, ..config.clone() }, 120, TestPacket::new);
    assert!((outcome.mean_delay_s - 0.015).abs() < 0.004, "mean delay {} s", outcome.mean_delay_s);
    let share = f64::from(outcome.drops) / 24_000.0;
    assert!((share - 1.0 / 6.0).abs() < 0.01, "dropped {share}");
}

#[test]
fn the_delay_settles_at_its_target_with_either_estimate() {
    assert_controls(&PieConfig::default());
    assert_controls(&PieConfig { estimate: DelayEstimate::Rate, ..PieConfig::default() });
}

#[test]
fn the_delay_settles_at_its_target_without_the_optional_elements() {
    assert_controls(&PieConfig { derandomize: false, cap_adjustment: false, ..PieConfig::default() });
}

#[test]
fn a_load_below_the_rate_is_never_dropped() {
    let outcome = run(PieConfig::default(), 95, TestPacket::new);
    assert_eq!((outcome.drops, outcome.marks), (0, 0));
}

#[test]
fn the_first_burst_passes_unharmed() {
    let burst = PieConfig { limit: 100_000, ..PieConfig::default() };
    let first = run(burst.clone(), 300, TestPacket::new).first_signal.unwrap();
    assert!(first >= Time::from_millis(150), "{first}");
    let none = PieConfig { max_burst_ns: Time::ZERO, ..burst };
    assert!(run(none, 300, TestPacket::new).first_signal.unwrap() < Time::from_millis(150));
}

#[test]
fn ecn_capable_packets_are_marked_below_the_threshold_and_dropped_above_it() {
    let config = PieConfig { ecn: true, limit: 100_000, ..PieConfig::default() };
    let gentle = run(PieConfig { ecn_threshold: 1.0, ..config.clone() }, 105, TestPacket::ect);
    assert!(gentle.marks > 0);
    let strict = run(PieConfig { ecn_threshold: 0.0, ..config.clone() }, 105, TestPacket::ect);
    assert!(strict.marks == 0 && strict.drops > 0);
    // Marks do not reduce an unresponsive overload, so the probability rises above 10 %, where packets are dropped.
    let both = run(config, 120, TestPacket::ect);
    assert!(both.marks > 0 && both.drops > 0);
    let not_capable = run(PieConfig { ecn: true, ..PieConfig::default() }, 120, TestPacket::new);
    assert_eq!(not_capable.marks, 0);
}

#[test]
fn the_steps_follow_the_table_of_section_4_3() {
    let config = PieConfig::default();
    let step_from = |drop_prob: f64| {
        let mut controller = Controller { drop_prob, delay_old_s: 0.035, ..Controller::new(&config, true) };
        controller.update(&config, 0.035); // 20 ms above the target, no trend: 0.125 * 0.02 = 0.0025, scaled
        controller.drop_prob - drop_prob
    };
    for (drop_prob, divisor) in
        [(0.0, 2048.0), (0.000_005, 512.0), (0.000_05, 128.0), (0.000_5, 32.0), (0.005, 8.0), (0.05, 2.0), (0.5, 1.0)]
    {
        assert!((step_from(drop_prob) * divisor - 0.0025).abs() < 1e-9, "at {drop_prob}");
    }
}

#[test]
fn the_cap_limits_a_step_to_two_percent_once_the_probability_is_ten() {
    let step = |cap_adjustment| {
        let config = PieConfig { cap_adjustment, ..PieConfig::default() };
        let mut controller = Controller { drop_prob: 0.1, ..Controller::new(&config, true) };
        controller.update(&config, 0.1);
        controller.drop_prob - 0.1
    };
    assert!((step(true) - 0.02).abs() < 1e-12);
    assert!((step(false) - (0.125 * 0.085 + 1.25 * 0.1)).abs() < 1e-12);
}

#[test]
fn the_probability_decays_by_two_percent_an_update_when_idle_and_the_burst_allowance_returns() {
    let config = PieConfig { alpha: 0.0, beta: 0.0, ..PieConfig::default() };
    let mut controller = Controller { drop_prob: 0.5, ..Controller::new(&config, true) };
    controller.burst_allowance = Time::ZERO;
    controller.update(&config, 0.0);
    assert!((controller.drop_prob - 0.49).abs() < 1e-12);
    assert_eq!(controller.burst_allowance, Time::ZERO);
    controller.drop_prob = 0.0;
    controller.update(&config, 0.0);
    assert_eq!(controller.burst_allowance, config.max_burst_ns);
}

#[test]
fn derandomized_drops_are_never_close_together_nor_far_apart() {
    let config = PieConfig::default();
    let mut rng = rng();
    let mut controller =
        Controller { drop_prob: 0.1, delay_old_s: 0.1, burst_allowance: Time::ZERO, ..Controller::new(&config, true) };
    let mut spacings = Vec::new();
    let mut spacing = 0;
    for _ in 0..100_000 {
        spacing += 1;
        if controller.drop_early(&config, 100_000, &mut rng) {
            spacings.push(spacing);
            spacing = 0;
        }
    }
    // The sum reaches 0.85 with the 9th packet, and 8.5 with the 85th (or, because it is rounded, with the 86th).
    assert_eq!(spacings.iter().min(), Some(&9));
    assert!(*spacings.iter().max().unwrap() <= 86);
}

#[test]
fn inactive_until_a_third_of_the_buffer_is_filled() {
    let config =
        PieConfig { activate_at: Some(1.0 / 3.0), limit: 900, max_burst_ns: Time::ZERO, ..PieConfig::default() };
    let mut queue = Pie::new(config);
    let (mut rng, mut dropped) = (rng(), Vec::new());
    for id in 0..300 {
        queue.enqueue(Time::from_millis(id * 100), TestPacket::new(id), &mut rng, &mut dropped);
    }
    assert!(!queue.controller.active);
    queue.enqueue(Time::from_secs(31), TestPacket::new(300), &mut rng, &mut dropped);
    assert!(queue.controller.active);
    assert_eq!(dropped, []);
}

#[test]
fn a_long_idle_time_costs_no_loop_of_updates() {
    let mut queue = Pie::new(PieConfig::default());
    let (mut rng, mut dropped) = (rng(), Vec::new());
    // Single steps of 15 ms through a century would take too long.
    queue.enqueue(Time::from_secs(3_000_000_000), TestPacket::new(0), &mut rng, &mut dropped);
    assert!(queue.next_update > Time::from_secs(3_000_000_000));
    assert!(queue.next_update <= Time::from_secs(3_000_000_000) + Time::from_millis(15));
}

/// RFC 8033, section 4.1: the accumulated probability counts since the last drop, of whatever kind.
#[test]
fn a_drop_of_a_full_buffer_resets_the_accumulated_probability() {
    let mut queue = Pie::new(PieConfig { limit: 1, ..PieConfig::default() });
    let (mut rng, mut dropped) = (rng(), Vec::new());
    queue.enqueue(Time::ZERO, TestPacket::new(0), &mut rng, &mut dropped);
    queue.controller.accumulated = 0.7;
    queue.enqueue(Time::ZERO, TestPacket::new(1), &mut rng, &mut dropped);
    assert!(matches!(dropped[..], [(DropCause::Full, _)]));
    assert!(queue.controller.accumulated.abs() < f64::MIN_POSITIVE);
}
