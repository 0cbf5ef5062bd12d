//! PIE, proportional integral controller enhanced (RFC 8033). Packets are dropped at arrival, with a probability that a
//! controller updates at fixed intervals from the queueing delay and its trend.

mod config;
mod delay;

pub use config::{DelayEstimate, PieConfig};

use cwndlab_units::Time;
use rand::Rng as _;

use super::fifo::Fifo;
use super::{Dequeued, Dropped};
use crate::{DropCause, Ecn, Packet, Rng};
use delay::DelayEstimator;

/// A FIFO controlled by PIE.
#[derive(Clone, Debug)]
pub struct Pie<P> {
    config: PieConfig,
    fifo: Fifo<P>,
    delay: DelayEstimator,
    controller: Controller,
    /// The next update of the drop probability. Updates that are due are carried out when a packet next arrives or
    /// leaves, before the packet itself is handled. This is equivalent, because the input of an update changes only
    /// when a packet arrives or leaves.
    next_update: Time,
}

/// The variables of RFC 8033, section 4.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Controller {
    drop_prob: f64,
    /// Delay at the last update, in seconds.
    delay_old_s: f64,
    burst_allowance: Time,
    /// Sum of the probabilities since the last drop (section 5.4).
    accumulated: f64,
    active: bool,
}

impl<P> Pie<P> {
    /// An empty queue, from a checked configuration.
    pub fn new(config: PieConfig) -> Pie<P> {
        Pie {
            fifo: Fifo::default(),
            delay: DelayEstimator::new(config.estimate),
            controller: Controller::new(&config, config.activate_at.is_none()),
            next_update: config.update_ns,
            config,
        }
    }
    /// Packets waiting.
    pub fn packets(&self) -> u32 {
        self.fifo.len()
    }
    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        self.fifo.bytes
    }
    fn update_until(&mut self, now: Time) {
        while self.next_update <= now {
            let before = self.controller;
            let delay_s = self.delay.current_s(self.fifo.bytes);
            self.controller.update(&self.config, delay_s);
            let period = self.config.update_ns.as_nanos();
            let mut steps = 1;
            if self.controller == before {
                // The controller is at rest (as after a long idle time), so the remaining updates until now have no
                // effect.
                steps += (now - self.next_update).as_nanos() / period;
            }
            self.next_update += self.config.update_ns * steps;
        }
    }
}

impl<P: Packet> Pie<P> {
    /// Section 4.1: accepts, marks or drops a packet that arrives at `now`. Returns whether it was marked.
    pub fn enqueue(&mut self, now: Time, mut packet: P, rng: &mut Rng, dropped: &mut Vec<Dropped<P>>) -> bool {
        self.update_until(now);
        if self.fifo.len() >= self.config.limit {
            self.controller.accumulated = 0.0;
            dropped.push((DropCause::Full, packet));
            return false;
        }
        self.controller.activate(&self.config, self.fifo.len());
        let mut marked = false;
        if self.controller.drop_early(&self.config, self.fifo.bytes, rng) {
            // Section 5.1: marks only while the probability is low.
            let may_mark = self.config.ecn && self.controller.drop_prob < self.config.ecn_threshold;
            match packet.ecn() {
                Ecn::Ect0 | Ecn::Ect1 if may_mark => {
                    packet.mark_ce();
                    marked = true;
                }
                Ecn::Ce if may_mark => {}
                _ => {
                    dropped.push((DropCause::Aqm, packet));
                    return false;
                }
            }
        }
        self.fifo.push(now, &packet);
        marked
    }

    /// The next packet to send. Drops nothing, because PIE drops packets at arrival.
    pub fn dequeue(&mut self, now: Time) -> Option<Dequeued<P>> {
        self.update_until(now);
        let before = self.fifo.bytes;
        let (arrived, packet) = self.fifo.pop()?;
        self.delay.on_departure(now, arrived, packet.wire_bytes(), before);
        Some(Dequeued { packet, marked: false })
    }
}

impl Controller {
    fn new(config: &PieConfig, active: bool) -> Controller {
        Controller { drop_prob: 0.0, delay_old_s: 0.0, burst_allowance: config.max_burst_ns, accumulated: 0.0, active }
    }

    /// Activates PIE once the configured share of the buffer is filled (RFC 8033, section 5.3).
    fn activate(&mut self, config: &PieConfig, packets: u32) {
        if !self.active && config.activate_at.is_some_and(|share| f64::from(packets) >= share * f64::from(config.limit))
        {
            *self = Controller::new(config, true);
        }
    }

    /// Whether an arriving packet is dropped or marked (sections 4.1 and 4.4, and 5.4 if derandomized).
    fn drop_early(&mut self, config: &PieConfig, queued_bytes: u64, rng: &mut Rng) -> bool {
        if !self.active || self.burst_allowance > Time::ZERO {
            return false;
        }
        let half_target_s = config.target_ns.as_secs_f64() / 2.0;
        if self.delay_old_s < half_target_s && self.drop_prob < 0.2 {
            return false;
        }
        if queued_bytes <= 2 * u64::from(config.mean_packet_bytes) {
            return false;
        }
        if !config.derandomize {
            return rng.random::<f64>() < self.drop_prob;
        }
        self.accumulated = if self.drop_prob == 0.0 { 0.0 } else { self.accumulated + self.drop_prob };
        if self.accumulated < 0.85 {
            return false;
        }
        let hit = self.accumulated >= 8.5 || rng.random::<f64>() < self.drop_prob;
        if hit {
            self.accumulated = 0.0;
        }
        hit
    }

    /// Updates the drop probability and the burst allowance (sections 4.2 to 4.4). Called once per update interval.
    fn update(&mut self, config: &PieConfig, delay_s: f64) {
        if !self.active {
            return;
        }
        let target_s = config.target_ns.as_secs_f64();
        let mut step = config.alpha * (delay_s - target_s) + config.beta * (delay_s - self.delay_old_s);
        step *= scale(self.drop_prob);
        if config.cap_adjustment && self.drop_prob >= 0.1 {
            step = step.min(0.02); // section 5.5
        }
        self.drop_prob += step;
        if delay_s == 0.0 && self.delay_old_s == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        let calm = self.drop_prob == 0.0 && delay_s < target_s / 2.0 && self.delay_old_s < target_s / 2.0;
        self.delay_old_s = delay_s;
        self.burst_allowance = self.burst_allowance.saturating_sub(config.update_ns);
        if calm {
            // Section 4.4: the congestion is over, so a new burst may pass. Section 5.3: PIE becomes inactive if
            // `activate_at` is set.
            *self = Controller { delay_old_s: delay_s, ..Controller::new(config, config.activate_at.is_none()) };
        }
    }
}

/// The auto-tuning table of section 4.3: the lower the probability, the smaller its steps.
fn scale(drop_prob: f64) -> f64 {
    const TABLE: [(f64, f64); 6] =
        [(0.000_001, 2048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];
    TABLE.iter().find(|(below, _)| drop_prob < *below).map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

#[cfg(test)]
mod tests;
