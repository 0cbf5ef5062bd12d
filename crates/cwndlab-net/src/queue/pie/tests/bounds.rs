//! Both sides of each bound of RFC 8033, sections 4 and 5, next to a model of its text.

use super::*;

/// Each number, the one before it and the one after it.
fn around(numbers: &[f64]) -> Vec<f64> {
    numbers.iter().flat_map(|&x| [x * (1.0 - 1e-12), x, x * (1.0 + 1e-12)]).collect()
}

/// Whether a packet gets a signal, and the sum of the probabilities then; `draw` is a random number below 1.
fn early(config: &PieConfig, before: &Controller, queued_bytes: u64, draw: f64) -> (bool, f64) {
    let safe = before.delay_old_s < 0.0075 && before.drop_prob < 0.2 || queued_bytes <= 2048;
    if !before.active || before.burst_allowance > Time::ZERO || safe {
        return (false, before.accumulated);
    }
    if !config.derandomize {
        return (draw < before.drop_prob, before.accumulated);
    }
    let sum = if before.drop_prob > 0.0 { before.accumulated + before.drop_prob } else { 0.0 };
    let hit = sum >= 8.5 || sum >= 0.85 && draw < before.drop_prob;
    (hit, if hit { 0.0 } else { sum })
}

#[test]
fn a_packet_gets_a_signal_as_section_4_says() {
    let mut rng = rng();
    let mut seen = [0, 0];
    for derandomize in [true, false] {
        let config = PieConfig { derandomize, ..PieConfig::default() };
        for drop_prob in [0.0, 0.01, 0.199, 0.2, 0.25, 0.9] {
            for accumulated in around(&[0.5, 0.85, 8.5]).iter().flat_map(|&sum| [sum, sum - drop_prob]) {
                for (burst_allowance, active) in [(Time::ZERO, true), (Time::from_nanos(1), true), (Time::ZERO, false)]
                {
                    for delay_old_s in [0.0, 0.007_499_999, 0.0075, 0.02] {
                        for queued_bytes in [0, 2048, 2049] {
                            let before = Controller { drop_prob, delay_old_s, burst_allowance, accumulated, active };
                            let draw = rng.clone().random::<f64>();
                            let expected = early(&config, &before, queued_bytes, draw);
                            let mut controller = before;
                            let hit = controller.drop_early(&config, queued_bytes, &mut rng);
                            rng.random::<f64>();
                            assert_eq!(
                                (hit, controller.accumulated.to_bits()),
                                (expected.0, expected.1.to_bits()),
                                "{before:?}, {queued_bytes} bytes, {draw}"
                            );
                            assert_eq!(controller, Controller { accumulated: controller.accumulated, ..before });
                            seen[usize::from(hit)] += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(seen.iter().all(|&n| n > 50), "{seen:?}");
}

/// The state after an update. Divisors of section 4.2: the probability below which each applies.
fn updated(config: &PieConfig, before: &Controller, delay_s: f64) -> Controller {
    let target_s = 0.015;
    let divisors = [(0.1, 2.0), (0.01, 8.0), (0.001, 32.0), (0.000_1, 128.0), (0.000_01, 512.0), (0.000_001, 2048.0)];
    let by = divisors.iter().rev().find(|&&(below, _)| before.drop_prob < below).map_or(1.0, |&(_, by)| by);
    let mut step = (config.alpha * (delay_s - target_s) + config.beta * (delay_s - before.delay_old_s)) * (1.0 / by);
    if config.cap_adjustment && before.drop_prob >= 0.1 && step > 0.02 {
        step = 0.02;
    }
    let mut drop_prob = before.drop_prob + step;
    if delay_s == 0.0 && before.delay_old_s == 0.0 {
        drop_prob *= 0.98;
    }
    let drop_prob = drop_prob.clamp(0.0, 1.0);
    let left = before.burst_allowance.as_nanos().saturating_sub(15_000_000);
    if drop_prob == 0.0 && delay_s < 0.0075 && before.delay_old_s < 0.0075 {
        let burst_allowance = Time::from_millis(150);
        return Controller {
            drop_prob,
            delay_old_s: delay_s,
            burst_allowance,
            accumulated: 0.0,
            active: config.activate_at.is_none(),
        };
    }
    Controller { drop_prob, delay_old_s: delay_s, burst_allowance: Time::from_nanos(left), ..*before }
}

#[test]
fn the_controller_is_updated_as_section_4_says() {
    for (activate_at, cap_adjustment) in [(None, true), (Some(0.3), true), (None, false)] {
        let config = PieConfig { cap_adjustment, activate_at, ..PieConfig::default() };
        let probs = around(&[0.000_001, 0.000_01, 0.000_1, 0.001, 0.01, 0.1, 0.2, 1.0]);
        for drop_prob in probs.into_iter().chain([0.0]).map(|prob| prob.min(1.0)) {
            for delay_s in [0.0, 0.001, 0.007_499_999, 0.0075, 0.015, 0.03, 2.0] {
                for delay_old_s in [0.0, 0.001, 0.007_499_999, 0.0075, 0.02, 0.5] {
                    for ms in [0, 10, 15, 40] {
                        let before = Controller {
                            drop_prob,
                            delay_old_s,
                            burst_allowance: Time::from_millis(ms),
                            accumulated: 0.4,
                            active: true,
                        };
                        let mut controller = before;
                        controller.update(&config, delay_s);
                        let expected = updated(&config, &before, delay_s);
                        let off = (controller.drop_prob - expected.drop_prob).abs();
                        assert!(off < 1e-15, "{before:?} {delay_s}: {controller:?}");
                        assert_eq!(
                            controller,
                            Controller { drop_prob: controller.drop_prob, ..expected },
                            "{before:?} {delay_s}"
                        );
                    }
                }
            }
        }
        let still = Controller { drop_prob: 0.5, active: false, ..Controller::new(&config, false) };
        let mut controller = still;
        controller.update(&config, 1.0);
        assert_eq!(controller, still, "an inactive controller rests");
    }
}

/// Section 5.1: below the threshold, and only there, a packet that carries CE already passes without another signal.
#[test]
fn a_signal_marks_passes_or_drops_by_the_codepoint_and_the_threshold() {
    for (drop_prob, ecn, codepoint, marks, drops) in [
        (0.05, true, Ecn::Ect0, true, false),
        (0.05, true, Ecn::Ect1, true, false),
        (0.05, true, Ecn::Ce, false, false),
        (0.05, true, Ecn::NotEct, false, true),
        (0.1, true, Ecn::Ect0, false, true),
        (0.1, true, Ecn::Ce, false, true),
        (0.05, false, Ecn::Ect0, false, true),
        (0.05, false, Ecn::Ce, false, true),
    ] {
        let mut queue = Pie::new(PieConfig { ecn, ..PieConfig::default() });
        let (mut rng, mut dropped) = (rng(), Vec::new());
        for id in 0..3 {
            queue.enqueue(Time::ZERO, TestPacket::new(id), &mut rng, &mut dropped);
        }
        let burst_allowance = Time::ZERO;
        queue.controller = Controller { drop_prob, delay_old_s: 0.1, burst_allowance, accumulated: 8.5, active: true };
        let packet = TestPacket { ecn: codepoint, ..TestPacket::new(9) };
        let marked = queue.enqueue(Time::ZERO, packet, &mut rng, &mut dropped);
        let case = format!("{drop_prob} {ecn} {codepoint:?}");
        assert_eq!((marked, dropped.len()), (marks, usize::from(drops)), "{case}");
        assert!(dropped.iter().all(|&(cause, dropped)| (cause, dropped.id) == (DropCause::Aqm, 9)));
        assert_eq!(queue.packets(), if drops { 3 } else { 4 }, "{case}");
    }
}

/// A third of 900 packets are 300.
#[test]
fn an_inactive_queue_begins_with_its_share_of_the_buffer_and_a_full_allowance() {
    let config = PieConfig { activate_at: Some(1.0 / 3.0), limit: 900, ..PieConfig::default() };
    let used = Controller { drop_prob: 0.3, accumulated: 5.0, ..Controller::new(&config, false) };
    for (packets, active) in [(299, false), (300, true), (301, true)] {
        let mut controller = used;
        controller.activate(&config, packets);
        assert_eq!(controller, if active { Controller::new(&config, true) } else { used }, "{packets}");
    }
    let mut already = Controller { active: true, ..used };
    already.activate(&config, 800);
    assert_eq!(already, Controller { active: true, ..used });
    let mut always = Controller { active: true, ..used };
    always.activate(&PieConfig::default(), 800);
    assert_eq!(always, Controller { active: true, ..used });
}

/// Updates come every 15 ms from 15 ms on, and at most one of them at an instant.
#[test]
fn updates_are_made_up_to_the_time_of_a_packet() {
    let config = PieConfig { alpha: 0.001, beta: 0.0, ..PieConfig::default() };
    let mut queue = Pie::new(config);
    let (mut rng, mut dropped) = (rng(), Vec::new());
    queue.controller = Controller { drop_prob: 0.5, delay_old_s: 0.015, active: true, ..queue.controller };
    for (us, next_ms, updates) in [(14_999, 15, 0), (15_000, 30, 1), (15_001, 30, 1), (75_000, 90, 5)] {
        queue.enqueue(Time::from_micros(us), TestPacket::new(0), &mut rng, &mut dropped);
        // Each lowers the allowance by 15 ms.
        assert_eq!(queue.controller.burst_allowance, Time::from_millis(150 - 15 * updates), "{us}");
        assert_eq!(queue.next_update, Time::from_millis(next_ms), "{us}");
    }
}
