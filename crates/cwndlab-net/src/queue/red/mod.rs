//! RED, random early detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM Transactions on Networking 1(4), 1993). Section numbers are those of the paper.

mod config;

pub(super) use config::ewma_log;
pub use config::{weight_for_burst, RedConfig, RedRules};

use std::cmp::Ordering;

use cwndlab_units::{Rate, Time};
use rand::Rng as _;

use super::{Admit, Backlog, Unit};
use crate::{DropCause, Ecn, Rng};

/// Value of `count` with which the next packet passes at any drop probability (only with [`RedRules::Ns2`]).
const SKIP_ONE: u32 = u32::MAX;

/// RED. The link's ring stores the packets.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    weight: f64,
    /// ln(1 - weight), for the decay over an idle time.
    ln_keep: f64,
    /// Transmission time of a packet of mean size, in seconds (`s` of section 4).
    step_s: f64,
    average: f64,
    /// The drop probability as the average reaches `max_th`. It changes if `adaptive` is set; `adapted` then records
    /// whether the average was below, between or above the thresholds at the last arrival.
    max_p: f64,
    adapted: Ordering,
    /// Packets that passed since the last drop or mark, while the average was between the thresholds.
    count: u32,
    /// The value of `count` after a drop or mark: 1 with [`RedRules::Ns2`], otherwise 0.
    after_signal: u32,
    /// Time of the last drop of a packet that found the link idle. The average has already decayed up to this time.
    idle_from: Time,
    last_arrival: Time,
    regions: Regions,
}

/// The time that the average spent below, between and above the thresholds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Regions {
    /// Below `min_th`.
    pub below: Time,
    /// From `min_th` up to `max_th`: where RED works as intended.
    pub between: Time,
    /// At `max_th` or above.
    pub above: Time,
}

impl Regions {
    /// The time counter of the region in which `average` lies.
    #[inline]
    pub(super) fn holding<T: PartialOrd + Copy>(&mut self, average: T, min_th: T, max_th: T) -> &mut Time {
        if average < min_th {
            &mut self.below
        } else if average < max_th {
            &mut self.between
        } else {
            &mut self.above
        }
    }
}

impl Red {
    /// RED for a link of `rate`, from a checked configuration.
    ///
    /// # Panics
    /// If the configuration was not checked.
    pub fn new(config: RedConfig, rate: Rate) -> Red {
        let weight = config.weight().expect("QueueConfig::check was called");
        Red {
            weight,
            ln_keep: libm::log1p(-weight).max(f64::MIN), // finite at weight 1, so that an idle time of 0 keeps the average
            step_s: rate.serialization_time(config.mean_packet_bytes).as_secs_f64(),
            average: 0.0,
            max_p: config.max_p,
            adapted: Ordering::Equal,
            count: 0,
            after_signal: u32::from(config.rules == RedRules::Ns2),
            idle_from: Time::ZERO,
            last_arrival: Time::ZERO,
            regions: Regions::default(),
            config,
        }
    }

    /// The average queue length in the unit of the thresholds, as of the last arrival.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// The time that the average spent in each region, up to `now`. Between arrivals the average counts as constant,
    /// except that it decays while the link is idle, as the algorithm assumes.
    pub fn regions(&self, now: Time, idle_since: Option<Time>) -> Regions {
        let mut regions = self.regions;
        self.account(&mut regions, now, idle_since);
        regions
    }

    /// Decides on a packet of `wire_bytes` that arrives at `now` and finds `backlog`.
    pub fn on_arrival(&mut self, now: Time, backlog: Backlog, wire_bytes: u32, ecn: Ecn, rng: &mut Rng) -> Admit {
        let length = self.length(&backlog);
        if backlog.packets > 0 {
            let RedConfig { min_th, max_th, .. } = self.config;
            *self.regions.holding(self.average, min_th, max_th) += now.saturating_sub(self.last_arrival);
        } else {
            let mut regions = self.regions;
            self.account(&mut regions, now, backlog.idle_since());
            self.regions = regions;
        }
        self.last_arrival = now;
        self.update_average(now, &backlog, length);
        if self.config.adaptive {
            self.adapt();
        }
        let admit = self.decide(&backlog, length, wire_bytes, ecn, rng);
        if backlog.packets == 0 && matches!(admit, Admit::Drop(_)) {
            // The dropped packet does not end the idle time, but the average has already decayed up to now.
            self.idle_from = now;
        }
        admit
    }

    /// The queue length to which the average and the limit apply.
    fn length(&self, backlog: &Backlog) -> u64 {
        match (self.config.unit, self.config.counts_in_service) {
            (Unit::Packets, true) => u64::from(backlog.packets),
            (Unit::Packets, false) => u64::from(backlog.waiting_packets()),
            (Unit::Bytes, true) => backlog.bytes,
            (Unit::Bytes, false) => backlog.waiting_bytes(),
        }
    }

    /// Updates the moving average at an arrival (section 4). An idle time counts as the `m` small packets that could
    /// have been sent in it, each of which would have found an empty queue.
    fn update_average(&mut self, now: Time, backlog: &Backlog, length: u64) {
        if let Some(since) = backlog.idle_since() {
            let idle = now.saturating_sub(since.max(self.idle_from)).as_secs_f64();
            let packets = idle / self.step_s;
            let packets = if self.config.rules == RedRules::Ns2 { packets.floor() + 1.0 } else { packets };
            self.average *= libm::exp(self.ln_keep * packets);
        } else {
            self.average += self.weight * (length as f64 - self.average);
        }
    }

    /// Self-configuring RED (Feng, Kandlur, Saha and Shin 1997). The rule and its factors are those of ns-3's
    /// `RedQueueDisc::UpdateMaxPFeng`; the report itself was not available.
    fn adapt(&mut self) {
        let RedConfig { min_th, max_th, .. } = self.config;
        let side = match self.average {
            average if average < min_th => Ordering::Less,
            average if average >= max_th => Ordering::Greater,
            _ => Ordering::Equal,
        };
        match side {
            Ordering::Less if self.adapted != side => self.max_p /= 3.0,
            Ordering::Greater if self.adapted != side => self.max_p = (2.0 * self.max_p).min(1.0),
            _ => {}
        }
        self.adapted = side;
    }

    fn decide(&mut self, backlog: &Backlog, length: u64, wire_bytes: u32, ecn: Ecn, rng: &mut Rng) -> Admit {
        if self.is_full(backlog, length, wire_bytes) {
            self.count = self.after_signal;
            return Admit::Drop(DropCause::Full);
        }
        let RedConfig { min_th, max_th, gentle, hard_drop, .. } = self.config;
        let max_p = self.max_p;
        let ns2 = self.config.rules == RedRules::Ns2;
        let can_mark = self.config.ecn && ecn != Ecn::NotEct;
        if self.average < min_th || ns2 && length <= 1 {
            self.count = if ns2 { SKIP_ONE } else { 0 };
            return Admit::Enqueue;
        }
        let ceiling = if gentle { 2.0 * max_th } else { max_th };
        if self.average >= ceiling {
            self.count = self.after_signal;
            return signal(can_mark && !hard_drop, ecn);
        }
        let mut p = if self.average < max_th {
            max_p * (self.average - min_th) / (max_th - min_th)
        } else {
            max_p + (1.0 - max_p) * (self.average - max_th) / max_th
        };
        if self.config.unit == Unit::Bytes {
            p *= f64::from(wire_bytes) / f64::from(self.config.max_packet_bytes);
        }
        if self.spaced(p, rng) {
            return signal(can_mark, ecn);
        }
        Admit::Enqueue
    }

    /// Whether a packet with drop probability `p` gets a signal (drop or mark). The probability p / (1 - count p),
    /// where `count` packets have passed since the last signal, makes the number of packets from one signal to the next
    /// uniform on 1..=1/p (section 7).
    fn spaced(&mut self, p: f64, rng: &mut Rng) -> bool {
        if self.count == SKIP_ONE {
            self.count = 2;
            return false;
        }
        let used = f64::from(self.count) * p - if self.config.wait { 1.0 } else { 0.0 };
        let hit = used >= 0.0 && (used + p >= 1.0 || rng.random::<f64>() * (1.0 - used) < p);
        self.count = if hit { self.after_signal } else { self.count + 1 };
        hit
    }

    fn is_full(&self, backlog: &Backlog, length: u64, wire_bytes: u32) -> bool {
        if backlog.packets == 0 && !self.config.counts_in_service {
            return false; // the packet goes straight into service
        }
        match self.config.unit {
            Unit::Packets => length >= self.config.limit,
            Unit::Bytes => length + u64::from(wire_bytes) > self.config.limit,
        }
    }

    /// Adds the time since the last arrival to `regions`.
    fn account(&self, regions: &mut Regions, now: Time, idle_since: Option<Time>) {
        let (min_th, max_th) = (self.config.min_th, self.config.max_th);
        let idle_from = idle_since.unwrap_or(now).max(self.idle_from).max(self.last_arrival).min(now);
        *regions.holding(self.average, min_th, max_th) += idle_from.saturating_sub(self.last_arrival);
        if idle_from == now {
            return; // not idle
        }
        // During an idle time, the average decays exponentially, so the times at which it passes the thresholds can be
        // computed.
        let to_max = self.time_to_decay(max_th, idle_from, now);
        let to_min = self.time_to_decay(min_th, idle_from, now);
        regions.above += to_max - idle_from;
        regions.between += to_min - to_max;
        regions.below += now.max(to_min) - to_min;
    }

    /// The time at which the average, if it decays from the time `from` on, falls below `threshold`; at most `until`.
    fn time_to_decay(&self, threshold: f64, from: Time, until: Time) -> Time {
        if self.average <= threshold {
            return from;
        }
        let span_s = self.step_s * libm::log(threshold / self.average) / self.ln_keep;
        (from + Time::from_secs_f64(span_s)).min(until.max(from))
    }
}

/// Returns the decision on a packet that gets a signal. If marking is allowed, the packet is marked, or accepted
/// unchanged if it already carries CE. Otherwise it is dropped.
pub(super) fn signal(may_mark: bool, ecn: Ecn) -> Admit {
    match (may_mark, ecn) {
        (true, Ecn::Ce) => Admit::Enqueue,
        (true, _) => Admit::Mark,
        (false, _) => Admit::Drop(DropCause::Aqm),
    }
}

#[cfg(test)]
mod tests;
