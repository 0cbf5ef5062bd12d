//! Transmitters whose rate changes at times given in the scenario. Because these times are known, the departure of each
//! packet can be computed in advance, and a changing rate needs no additional events.

use cwndlab_units::{Rate, Time};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::schedule::{self, Schedule, ScheduleError};

/// Size of a delivery opportunity, as in Mahimahi.
const OPPORTUNITY_BYTES: u32 = 1500;

/// How a link's capacity changes over time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CapacityConfig {
    /// A rate that changes in steps. If a packet is in transmission at a step, its remaining bits are sent at the new
    /// rate. At rate 0 the transmitter pauses and the queue fills.
    Steps {
        /// Start times of the rates, in increasing order. The first is 0.
        at_ns: Vec<Time>,
        /// The rates, in bit/s.
        rates_bps: Vec<u64>,
        /// Period after which the steps repeat.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat_ns: Option<Time>,
    },
    /// A Mahimahi packet-delivery trace. Each entry is an opportunity to send 1500 bytes, which is lost if no packet is
    /// waiting. A large packet may take several opportunities, and several small packets may share one. The trace
    /// repeats after its last entry.
    Deliveries {
        /// Times in milliseconds, in non-decreasing order.
        at_ms: Vec<u64>,
    },
}

/// Why a capacity is invalid. The message says what would be right.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CapacityError {
    /// The times and rates are not a valid schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A rate that is neither 0 nor between 8 bit/s and 400 Gbit/s.
    #[error("the rate {0} bit/s must be 0, or at least 8 bit/s and at most 400 Gbit/s")]
    Rate(u64),
    /// All rates of a repeating schedule are 0.
    #[error("all rates are 0; at least one must be above 0")]
    NeverUp,
    /// The last step has rate 0 and never ends.
    #[error("the last rate is 0, so that the link would be down for ever; let it end")]
    DownForEver,
    /// The trace is empty or ends at 0 ms.
    #[error("the trace must last for more than 0 ms")]
    EmptyTrace,
    /// A time in a trace is earlier than the previous one.
    #[error("the times of a trace must never fall")]
    TraceOrder,
}

impl CapacityConfig {
    /// Checks the parameters. The error names the parameter and what would be right.
    ///
    /// # Errors
    /// If a parameter is out of its range.
    pub fn check(&self) -> Result<(), CapacityError> {
        match self {
            CapacityConfig::Steps { at_ns, rates_bps, repeat_ns } => {
                schedule::check(at_ns, rates_bps.len(), *repeat_ns)?;
                if let Some(rate) = rates_bps.iter().find(|&&rate| rate != 0 && !valid(rate)) {
                    return Err(CapacityError::Rate(*rate));
                }
                if repeat_ns.is_some() && rates_bps.iter().all(|&rate| rate == 0) {
                    return Err(CapacityError::NeverUp);
                }
                if repeat_ns.is_none() && rates_bps.last() == Some(&0) {
                    return Err(CapacityError::DownForEver);
                }
                Ok(())
            }
            CapacityConfig::Deliveries { at_ms } => {
                if at_ms.last().is_none_or(|&last| last == 0) {
                    return Err(CapacityError::EmptyTrace);
                }
                if at_ms.windows(2).any(|pair| pair[0] > pair[1]) {
                    return Err(CapacityError::TraceOrder);
                }
                Ok(())
            }
        }
    }

    /// A lower bound on the transmission time of a packet of `bytes`.
    pub fn least_time(&self, bytes: u32) -> Time {
        match self {
            CapacityConfig::Steps { rates_bps, .. } => {
                let fastest = rates_bps.iter().copied().max().unwrap_or(0).max(1);
                Rate::from_bps(fastest).serialization_time(bytes)
            }
            CapacityConfig::Deliveries { .. } => Time::ZERO,
        }
    }

    pub(crate) fn build(&self) -> Capacity {
        match self {
            CapacityConfig::Steps { at_ns, rates_bps, repeat_ns } => {
                let rates = Schedule::new(at_ns, rates_bps, *repeat_ns);
                let per_round = rates.round().map(|(rate, time)| u128::from(rate) * u128::from(time.as_nanos())).sum();
                Capacity::Steps { rates, per_round }
            }
            CapacityConfig::Deliveries { at_ms } => Capacity::Deliveries(Deliveries {
                at: at_ms.iter().map(|&ms| Time::from_millis(ms)).collect(),
                next: 0,
                base: Time::ZERO,
                current: Time::MAX,
                left: 0,
            }),
        }
    }
}

/// Whether a nonzero rate is valid. The range is the same as for links with a constant rate.
fn valid(rate: u64) -> bool {
    (8..=400_000_000_000).contains(&rate)
}

/// The transmitter of a link whose capacity changes. Callers must pass times in non-decreasing order.
#[derive(Debug)]
pub(crate) enum Capacity {
    /// `per_round` is the capacity of one round (period) of a repeating schedule, in bits per second times nanoseconds.
    Steps {
        rates: Schedule<u64>,
        per_round: u128,
    },
    Deliveries(Deliveries),
}

/// The state of a transmitter that follows a packet-delivery trace.
#[derive(Debug)]
pub(crate) struct Deliveries {
    at: Vec<Time>,
    /// Index in `at` of the next opportunity.
    next: usize,
    /// Start of the current round of the trace.
    base: Time,
    /// The time of the last opportunity used, of which `left` bytes remain.
    current: Time,
    left: u32,
}

impl Capacity {
    /// The time at which a transmission that begins at `begin` ends. `waited` is whether the packet had to wait in the
    /// queue.
    pub(crate) fn finish(&mut self, begin: Time, waited: bool, bytes: u32) -> Time {
        match self {
            Capacity::Steps { rates, per_round } => finish_at_rates(rates, *per_round, begin, bytes),
            Capacity::Deliveries(deliveries) => deliveries.finish(begin, waited, bytes),
        }
    }
}

fn finish_at_rates(rates: &mut Schedule<u64>, per_round: u128, begin: Time, bytes: u32) -> Time {
    // What is left to send, in bits per second times nanoseconds.
    let mut need = u128::from(bytes) * 8_000_000_000;
    let mut from = begin;
    if let Some(period) = rates.period() {
        // Skip whole rounds at once: a round may be as short as 1 ns, while a packet may take 25 minutes.
        let rounds = need.saturating_sub(1) / per_round.max(1);
        need -= rounds * per_round;
        from += period * rounds as u64;
    }
    loop {
        let (rate, until) = rates.at(from);
        let rate = u128::from(rate);
        let room = rate * u128::from((until - from).as_nanos());
        if rate > 0 && (until.is_never() || need <= room) {
            return from + Time::from_nanos(((need + rate / 2) / rate) as u64);
        }
        need -= room;
        from = until;
    }
}

impl Deliveries {
    fn next_time(&self) -> Time {
        self.base + self.at[self.next]
    }

    fn advance(&mut self) {
        self.next += 1;
        if self.next == self.at.len() {
            self.next = 0;
            self.base += self.at[self.at.len() - 1];
        }
    }

    fn finish(&mut self, begin: Time, waited: bool, bytes: u32) -> Time {
        if !waited || begin != self.current {
            self.left = 0;
        }
        let mut need = bytes;
        loop {
            let taken = need.min(self.left);
            self.left -= taken;
            need -= taken;
            if need == 0 {
                return self.current;
            }
            // a packet that did not wait cannot use an opportunity at the instant of its arrival
            while self.next_time() < begin || (!waited && self.next_time() == begin) {
                self.advance();
            }
            self.current = self.next_time();
            self.left = OPPORTUNITY_BYTES;
            self.advance();
        }
    }
}

#[cfg(test)]
mod tests;
