//! COBALT next to a model of `cobalt_should_drop` and its helpers, on both sides of each bound.

use rand::SeedableRng as _;

use super::*;

const P: Params = Params { interval: 100_000_000, target: 5_000_000, mtu_time: 1_300_000 };
const NOW: i64 = 1_000_000_000;

/// `inv_sqrt_cache` is a table of 2^32/√n, and 2^32 - 1 for 0 and 1.
#[test]
fn the_first_roots_are_exact() {
    assert_eq!(INVERSE_ROOTS[..2], [u32::MAX; 2]);
    for (n, &root) in INVERSE_ROOTS.iter().enumerate().skip(2) {
        let exact = 4_294_967_296.0 / (n as f64).sqrt();
        assert!((f64::from(root) - exact).abs() <= 1.0, "{n}: {root} {exact}");
        let mut cobalt = Cobalt { count: n as u32, ..Cobalt::default() };
        cobalt.update_root();
        assert_eq!(cobalt.inverse_root, root);
    }
}

/// From 16 on each is a step of Newton's method from the one before, x (3 - n x²) / 2.
#[test]
fn further_roots_are_steps_of_newton_s_method() {
    for counts in [(16..400).collect::<Vec<u32>>(), (16..400).rev().collect()] {
        let first = 4_294_967_296.0 / f64::from(counts[0]).sqrt();
        let mut cobalt = Cobalt { inverse_root: first as u32, ..Cobalt::default() };
        for count in counts {
            let (x, n) = (f64::from(cobalt.inverse_root) / 4_294_967_296.0, f64::from(count));
            cobalt.count = count;
            cobalt.update_root();
            let root = f64::from(cobalt.inverse_root) / 4_294_967_296.0;
            assert!((root - x * (3.0 - n * x * x) / 2.0).abs() < 5e-9, "{count}");
            assert!((root * n.sqrt() - 1.0).abs() < 0.002, "{count}");
        }
    }
}

#[test]
fn a_full_queue_raises_the_probability_once_in_a_target_and_drops_from_then_on() {
    let start = Cobalt { blue_timer: NOW - 5_000_000, ..Cobalt::default() };
    for (now, p_drop, blue_timer) in [(NOW, 0, NOW - 5_000_000), (NOW + 1, 1 << 24, NOW + 1)] {
        for (count, then) in [(0, 1), (1, 1), (7, 7)] {
            let mut cobalt = Cobalt { count, ..start };
            cobalt.on_full(&P, now);
            let expected = Cobalt { count: then, p_drop, blue_timer, dropping: true, drop_next: now, ..start };
            assert_eq!(format!("{cobalt:?}"), format!("{expected:?}"));
        }
    }
    let mut most = Cobalt { p_drop: u32::MAX - 5, ..start };
    most.on_full(&P, NOW + 1);
    assert_eq!(most.p_drop, u32::MAX);
}

#[test]
fn an_empty_queue_lowers_the_probability_once_in_a_target_and_the_count_when_it_is_due() {
    let start = Cobalt { blue_timer: NOW - 5_000_000, p_drop: 3 << 20, dropping: true, ..Cobalt::default() };
    for (now, p_drop, blue_timer) in [(NOW, 3 << 20, NOW - 5_000_000), (NOW + 1, 2 << 20, NOW + 1)] {
        let mut cobalt = start;
        cobalt.on_empty(&P, now);
        let expected = Cobalt { p_drop, blue_timer, dropping: false, ..start };
        assert_eq!(format!("{cobalt:?}"), format!("{expected:?}"));
    }
    for (p_drop, blue_timer, then) in [(0, NOW - 9_000_000, NOW - 9_000_000), (5, NOW - 9_000_000, NOW)] {
        let mut cobalt = Cobalt { blue_timer, p_drop, ..start };
        cobalt.on_empty(&P, NOW);
        assert_eq!((cobalt.p_drop, cobalt.blue_timer), (0, then), "at rest, nothing is timed");
    }
    for (count, late, then) in [(3, 0, 2), (3, 9, 2), (3, -1, 3), (1, 0, 0), (0, 0, 0)] {
        let drop_next = NOW - late;
        let mut cobalt = Cobalt { count, drop_next, p_drop: 0, ..start };
        cobalt.on_empty(&P, NOW);
        // the interval over the root of 2, and the whole interval for 1 or 0
        let after = [99_999_999, 99_999_999, 70_710_678][then as usize % 3];
        let next = if then < count { drop_next + after } else { drop_next };
        assert_eq!((cobalt.count, cobalt.drop_next), (then, next), "{count} {late}");
    }
}

/// The state and the signal after `cobalt_should_drop`, for a draw of the random number.
fn decided(before: &Cobalt, sojourn: u64, markable: bool, bulk: u32, draw: u32) -> (Cobalt, Signal) {
    let mut c = *before;
    let root = |count: u32, old: u32| {
        if let Some(&root) = INVERSE_ROOTS.get(count as usize) {
            return root;
        }
        let (x, n) = (u128::from(old), u128::from(count));
        let twice = ((3 << 32) - n * ((x * x) >> 32)) >> 2;
        ((twice * x) >> 31) as u32
    };
    let later = |from: i64, root: u32| from + ((u128::from(P.interval) * u128::from(root)) >> 32) as i64;
    let bounds = [P.target, P.mtu_time * 2 * u64::from(bulk), P.mtu_time * 4];
    let over = bounds.iter().all(|&bound| sojourn > bound);
    let mut due = c.count > 0 && NOW >= c.drop_next;
    // The time by which the packet is late is that of the schedule before a drop state is entered.
    let mut late = NOW - c.drop_next;
    if over && !c.dropping {
        c.drop_next = later(NOW, c.inverse_root);
    }
    c.dropping = over;
    if over && c.count == 0 {
        c.count = 1;
    }
    let mut signal = Signal { drop: false, mark: false };
    let step = |c: &mut Cobalt, count: u32| {
        (c.count, c.inverse_root) = (count, root(count, c.inverse_root));
        c.drop_next = later(c.drop_next, c.inverse_root);
        NOW - c.drop_next
    };
    if over && due {
        signal = Signal { drop: !markable, mark: markable };
        let count = c.count + 1;
        late = step(&mut c, count);
    }
    while due && !over {
        let count = c.count - 1;
        late = step(&mut c, count);
        due = count > 0 && late >= 0;
    }
    signal.drop |= draw < before.p_drop;
    if c.count == 0 {
        c.drop_next = NOW + P.interval as i64;
    } else if late > 0 && !signal.drop {
        c.drop_next = NOW;
    }
    (c, signal)
}

#[test]
fn packets_are_signalled_as_in_the_kernel() {
    let mut rng = Rng::seed_from_u64(4);
    let mut seen = [0, 0, 0];
    for count in [0, 1, 2, 3, 15, 16, 17, 40] {
        let inverse_root = if count == 0 { 0 } else { (4_294_967_295.0 / f64::from(count).sqrt()) as u32 };
        for late in [-50_000_000, -1, 0, 1, 15_000_000, 60_000_000, 250_000_000] {
            for sojourn in [P.target, P.mtu_time * 4, P.mtu_time * 10].iter().flat_map(|&at| [at - 1, at, at + 1]) {
                for (bulk, markable) in [(0, false), (2, true), (5, false), (5, true)] {
                    for (dropping, p_drop) in [(false, 0), (true, 0), (true, 1 << 31), (false, u32::MAX)] {
                        let before =
                            Cobalt { count, inverse_root, drop_next: NOW - late, blue_timer: 3, p_drop, dropping };
                        let draw = if p_drop > 0 { rng.clone().next_u32() } else { 0 };
                        let expected = decided(&before, sojourn, markable, bulk, draw);
                        let mut cobalt = before;
                        let drawn = rng.clone();
                        let signal = cobalt.decide(&P, NOW, sojourn, markable, bulk, &mut rng);
                        assert_eq!(
                            (format!("{cobalt:?}"), signal),
                            (format!("{:?}", expected.0), expected.1),
                            "{before:?}, {sojourn} ns, {bulk} bulk flows"
                        );
                        assert_eq!(rng != drawn, p_drop > 0, "a number is drawn only for BLUE");
                        seen[0] += u32::from(signal.drop);
                        seen[1] += u32::from(signal.mark);
                        seen[2] += u32::from(!signal.drop && !signal.mark);
                    }
                }
            }
        }
    }
    assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
}
