//! PIE as `net/sched/sch_pie.c` has it, with delays by timestamps. Times are ticks of 64 ns, probabilities fractions of
//! 2^56.

use cwndlab_units::Time;
use rand::RngCore as _;

use crate::Rng;

/// Probability 1.
pub(super) const MAX_PROB: u64 = u64::MAX >> 8;
const TICKS_PER_S: u64 = 1_000_000_000 >> 6;
/// The burst that passes at first: 150 ms.
const BURST: u64 = 150_000_000 >> 6;

/// `PSCHED_NS2TICKS`.
pub(super) fn ticks(time: Time) -> u64 {
    time.as_nanos() >> 6
}

/// `pie_params`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    pub target: u64,
    pub alpha: u32,
    pub beta: u32,
    pub bytemode: bool,
    pub mtu: u32,
}

/// `pie_vars`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pie {
    delay: u64,
    old_delay: u64,
    burst: u64,
    last_departure: Option<u64>,
    pub prob: u64,
    pub accumulated: u64,
}

impl Default for Pie {
    /// `pie_vars_init`, of a flow that has not sent yet.
    fn default() -> Pie {
        Pie { delay: 0, old_delay: 0, burst: BURST, last_departure: None, prob: 0, accumulated: 0 }
    }
}

#[cfg(test)]
impl Pie {
    /// After its burst, with this delay.
    pub(super) fn due(delay: u64) -> Pie {
        Pie { delay, burst: 0, ..Pie::default() }
    }
}

impl Pie {
    /// `pie_drop_early`.
    pub(super) fn drops_early(&mut self, p: &Params, backlog: u64, bytes: u32, rng: &mut Rng) -> bool {
        if self.burst > 0 || self.delay < p.target / 2 && self.prob < MAX_PROB / 5 || backlog < 2 * u64::from(p.mtu) {
            return false;
        }
        let prob =
            if p.bytemode && bytes <= p.mtu { u64::from(bytes) * (self.prob / u64::from(p.mtu)) } else { self.prob };
        self.accumulated = if prob == 0 { 0 } else { self.accumulated.wrapping_add(prob) };
        if self.accumulated < (MAX_PROB / 100) * 85 {
            return false;
        }
        if self.accumulated >= (MAX_PROB / 2) * 17 {
            return true;
        }
        let drop = rng.next_u64() >> 8 < prob;
        if drop {
            self.accumulated = 0;
        }
        drop
    }

    /// `pie_process_dequeue`.
    pub(super) fn on_departure(&mut self, now: u64, arrived: u64, backlog: u64) {
        self.delay = if backlog > 0 { now - arrived } else { 0 };
        let elapsed = self.last_departure.map_or(0, |last| u64::from((now - last) as u32));
        self.last_departure = Some(now);
        self.burst = self.burst.saturating_sub(elapsed);
    }

    /// `pie_calculate_probability`.
    pub(super) fn update(&mut self, p: &Params, backlog: u64) {
        let (delay, old_delay) = (self.delay, self.old_delay);
        let mut changes = !(delay == 0 && backlog != 0);
        let mut alpha = (u64::from(p.alpha) * (MAX_PROB / TICKS_PER_S)) >> 4;
        let mut beta = (u64::from(p.beta) * (MAX_PROB / TICKS_PER_S)) >> 4;
        if self.prob < MAX_PROB / 10 {
            (alpha, beta) = (alpha >> 1, beta >> 1);
            let mut power = 100;
            while self.prob < MAX_PROB / power && power <= 1_000_000 {
                (alpha, beta, power) = (alpha >> 2, beta >> 2, power * 10);
            }
        }
        let mut delta = alpha.wrapping_mul(delay.wrapping_sub(p.target)) as i64;
        delta = delta.wrapping_add(beta.wrapping_mul(delay.wrapping_sub(old_delay)) as i64);
        let before = self.prob;
        if delta > (MAX_PROB / 50) as i64 && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        if delay > 250_000_000 >> 6 {
            delta += (MAX_PROB / 50) as i64;
        }
        self.prob = self.prob.wrapping_add(delta as u64);
        if delta > 0 {
            if self.prob < before {
                self.prob = MAX_PROB;
                changes = false;
            }
        } else if self.prob > before {
            self.prob = 0;
        }
        if delay == 0 && old_delay == 0 && changes {
            self.prob -= self.prob / 64;
        }
        if delay < p.target / 2 && old_delay < p.target / 2 && self.prob == 0 {
            // pie_vars_init, which leaves both delays as they are
            self.burst = BURST;
            self.last_departure = None;
            self.accumulated = 0;
        }
        self.old_delay = delay;
    }
}

#[cfg(test)]
mod tests;
