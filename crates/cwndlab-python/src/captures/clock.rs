//! Faults of the clock that stamped a capture.

/// Packets of several queues or interfaces may be in the file in another order than that of their times. If one of the next
/// packets is not earlier than those before, they are.
const NEXT: usize = 16;
/// An order that is off by less is never a step of the clock.
const LEAST_STEP_NS: i64 = 5_000_000;

/// The times of packets, in the order of the file, as if the clock had never been set back, and each step: when, by these
/// times, and how far the clock went back.
pub fn continuous(times: &[i64]) -> (Vec<i64>, Vec<(i64, i64)>) {
    let (mut shift, mut latest) = (0, i64::MIN);
    let mut steps = Vec::new();
    let mut found = Vec::with_capacity(times.len());
    for (at, &time) in times.iter().enumerate() {
        let mut now = time.saturating_add(shift);
        let behind = latest.saturating_sub(now);
        if behind > LEAST_STEP_NS {
            let next = &times[at + 1..times.len().min(at + 1 + NEXT)];
            if !next.iter().any(|later| later.saturating_add(shift) > latest - LEAST_STEP_NS) {
                shift = shift.saturating_add(behind);
                steps.push((latest, behind));
                now = latest;
            }
        }
        latest = latest.max(now);
        found.push(now);
    }
    (found, steps)
}

/// The longest time of which all times are multiples.
pub fn tick(times: &[i64]) -> i64 {
    let first = times.first().copied().unwrap_or(0);
    times.iter().fold(0, |tick, time| gcd(tick, (time - first).abs()))
}

fn gcd(mut one: i64, mut other: i64) -> i64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}
