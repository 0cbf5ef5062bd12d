//! Faults of the clock that stamped a capture.

/// Packets of several queues or interfaces may be in the file in another order than that of their times. If one of the next
/// packets is not earlier than those before, they are.
const NEXT: usize = 16;
/// An order that is off by less is never a step of the clock.
const LEAST_STEP_NS: i64 = 5_000_000;

/// The clock was set between a packet and the one before it in the file.
#[derive(Clone, Copy)]
pub struct Step {
    /// The packet's position.
    pub place: usize,
    /// How far the clock went back; negative if it went forward.
    pub back_ns: i64,
}

/// The times of packets, in the order of the file, as if the clock had never been set back, and each step.
pub fn continuous(times: &[i64]) -> (Vec<i64>, Vec<Step>) {
    let (mut shift, mut latest) = (0, i64::MIN);
    let mut steps = Vec::new();
    let mut found = Vec::with_capacity(times.len());
    for (place, &time) in times.iter().enumerate() {
        let mut now = time.saturating_add(shift);
        let back_ns = latest.saturating_sub(now);
        if back_ns > LEAST_STEP_NS {
            let next = &times[place + 1..times.len().min(place + 1 + NEXT)];
            if !next.iter().any(|later| later.saturating_add(shift) > latest - LEAST_STEP_NS) {
                shift = shift.saturating_add(back_ns).saturating_add(1);
                steps.push(Step { place, back_ns });
                now = latest.saturating_add(1); // what comes after a step is never as early as what came before
            }
        }
        latest = latest.max(now);
        found.push(now);
    }
    (found, steps)
}

/// Takes steps forward, in order of their places, out of the times.
pub fn close_up(times: &mut [i64], steps: &[Step]) {
    for (k, step) in steps.iter().enumerate() {
        let until = steps.get(k + 1).map_or(times.len(), |next| next.place);
        let shift: i64 = steps[..=k].iter().map(|one| one.back_ns).sum();
        times[step.place..until].iter_mut().for_each(|time| *time += shift);
    }
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
