//! PIE's integers next to a model of `sch_pie.c` that is written with wide numbers and tables, on both sides of each bound.

use rand::{RngCore as _, SeedableRng as _};

use super::*;

const TARGET: u64 = 15_000_000 >> 6;
const MTU: u32 = 1514;
/// Of `pie_calculate_probability`: the probability below which the gains are divided, and by what.
const SCALES: [(u64, i128); 6] = [(10, 2), (100, 8), (1000, 32), (10_000, 128), (100_000, 512), (1_000_000, 2048)];

/// Each value, the one before it and the one after it.
fn around(values: &[u64]) -> Vec<u64> {
    let mut all: Vec<u64> = values.iter().flat_map(|&value| [value.saturating_sub(1), value, value + 1]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn params(alpha: u32, beta: u32, bytemode: bool) -> Params {
    Params { target: TARGET, alpha, beta, bytemode, mtu: MTU }
}

/// The state after `pie_calculate_probability`.
fn updated(before: &Pie, p: &Params, backlog: u64) -> Pie {
    let (delay, old, max) = (i128::from(before.delay), i128::from(before.old_delay), i128::from(MAX_PROB));
    let divisor = SCALES.iter().rev().find(|(part, _)| before.prob < MAX_PROB / part).map_or(1, |&(_, by)| by);
    let gain = |sixteenths: u32| i128::from(sixteenths) * (max / 15_625_000) / 16 / divisor;
    let mut step = gain(p.alpha) * (delay - i128::from(p.target)) + gain(p.beta) * (delay - old);
    if before.prob >= MAX_PROB / 10 && step > max / 50 {
        step = max / 100 * 2;
    }
    if delay > 3_906_250 {
        step += max / 50; // 250 ms
    }
    let mut prob = (i128::from(before.prob) + step).max(0) as u64;
    if delay == 0 && old == 0 && backlog == 0 {
        prob -= prob / 64;
    }
    let rests = prob == 0 && [before.delay, before.old_delay].iter().all(|&at| at < p.target / 2);
    let after = Pie { old_delay: before.delay, prob, ..*before };
    if rests {
        Pie { delay: before.delay, old_delay: before.delay, ..Pie::default() }
    } else {
        after
    }
}

#[test]
fn the_probability_changes_as_in_the_kernel() {
    let mut probs = around(&SCALES.map(|(part, _)| MAX_PROB / part));
    probs.extend([0, 1, 63, 64, 127, MAX_PROB / 10_000_000, MAX_PROB / 5, MAX_PROB / 2, MAX_PROB]);
    let delays = around(&[0, TARGET / 2, TARGET, 3_906_250, 15_625_000]);
    for (alpha, beta) in [(2, 20), (0, 0), (32, 5)] {
        let p = params(alpha, beta, false);
        for &prob in &probs {
            for (&delay, &old_delay) in delays.iter().flat_map(|now| delays.iter().map(move |old| (now, old))) {
                for backlog in [0, 1] {
                    let before = Pie { delay, old_delay, burst: 77, last_departure: Some(5), prob, accumulated: 9 };
                    let mut pie = before;
                    pie.update(&p, backlog);
                    assert_eq!(pie, updated(&before, &p, backlog), "{before:?}, {backlog} bytes wait");
                }
            }
        }
    }
}

/// A probability that would pass 2^64 becomes 1, and does not decay.
#[test]
fn a_probability_that_overflows_becomes_one() {
    let mut pie = Pie { delay: 1, old_delay: 1, prob: u64::MAX - 1, ..Pie::default() };
    pie.delay = 15_625_000;
    pie.update(&params(32, 0, false), 0);
    assert_eq!(pie.prob, MAX_PROB);
}

/// Whether `pie_drop_early` drops, and the sum of the probabilities then; `draw` is a random number below 2^56.
fn early(pie: &Pie, p: &Params, backlog: u64, bytes: u32, draw: u64) -> (bool, u64) {
    let calm = pie.delay < p.target / 2 && pie.prob < MAX_PROB / 5;
    if pie.burst > 0 || calm || backlog < 2 * u64::from(p.mtu) {
        return (false, pie.accumulated);
    }
    let small = p.bytemode && bytes <= p.mtu;
    let prob = if small { pie.prob / u64::from(p.mtu) * u64::from(bytes) } else { pie.prob };
    let sum = if prob > 0 { pie.accumulated + prob } else { 0 };
    match sum {
        sum if sum < MAX_PROB / 100 * 85 => (false, sum),
        sum if sum >= MAX_PROB / 2 * 17 => (true, sum),
        _ if draw < prob => (true, 0),
        sum => (false, sum),
    }
}

#[test]
fn a_packet_is_dropped_early_as_in_the_kernel() {
    let mut rng = Rng::seed_from_u64(9);
    let mut seen = [0, 0];
    for prob in around(&[0, MAX_PROB / 100, MAX_PROB / 5, MAX_PROB / 2, MAX_PROB]) {
        for accumulated in [0, MAX_PROB / 100 * 85, MAX_PROB / 2 * 17]
            .iter()
            .flat_map(|&sum| around(&[u64::saturating_sub(sum, prob), sum]))
        {
            for (burst, delay) in [(0, TARGET / 2 - 1), (0, TARGET / 2), (1, TARGET)] {
                for backlog in around(&[2 * u64::from(MTU)]) {
                    for (bytemode, bytes) in [(false, 100), (true, 100), (true, MTU), (true, MTU + 1)] {
                        let p = params(2, 20, bytemode);
                        let mut pie = Pie { delay, old_delay: 3, burst, last_departure: None, prob, accumulated };
                        let draw = rng.clone().next_u64() >> 8;
                        let expected = early(&pie, &p, backlog, bytes, draw);
                        let drops = pie.drops_early(&p, backlog, bytes, &mut rng);
                        assert_eq!((drops, pie.accumulated), expected, "{pie:?} {p:?} {backlog} {bytes}");
                        seen[usize::from(drops)] += 1;
                        rng.next_u64();
                    }
                }
            }
        }
    }
    assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
}

#[test]
fn a_departure_measures_its_wait_and_uses_up_the_burst() {
    let mut pie = Pie::default();
    pie.on_departure(1000, 400, 1);
    assert_eq!((pie.delay, pie.burst, pie.last_departure), (600, BURST, Some(1000)));
    pie.on_departure(1300, 500, 0); // the last packet of the flow
    assert_eq!((pie.delay, pie.burst, pie.last_departure), (0, BURST - 300, Some(1300)));
    pie.on_departure(1300 + BURST, 1300, 5);
    assert_eq!((pie.delay, pie.burst), (BURST, 0));
}
