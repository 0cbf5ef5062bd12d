//! Impairments as a scenario states them.

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::schedule::{self, ScheduleError};

/// One impairment as a scenario states it. A link has a list of them; those of one end act in the list's order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ImpairmentConfig {
    /// Entrance: drops each packet with probability `p`, independently.
    Bernoulli {
        /// Probability of loss.
        p: f64,
    },
    /// Entrance: a two-state Markov chain (Gilbert 1960, Elliott 1963) that starts in the good state. Each packet is
    /// lost with its state's probability, and then the state may change.
    GilbertElliott {
        /// Probability a packet of good to bad.
        p_good_bad: f64,
        /// Probability a packet of bad to good; the mean burst is its reciprocal.
        p_bad_good: f64,
        /// Loss probability in the good state; 0 in Gilbert's model.
        #[serde(default)]
        loss_good: f64,
        /// Loss probability in the bad state.
        #[serde(default = "one")]
        loss_bad: f64,
    },
    /// Entrance: drops the packets with these numbers, counted from 1 as they arrive at the link.
    DropNth {
        /// Numbers, in rising order.
        packets: Vec<u64>,
    },
    /// Entrance: periodic loss, the packets number `first`, `first + every`, …
    DropEvery {
        /// Period in packets.
        every: u64,
        /// The first that is dropped, counted from 1; `every` if left out.
        #[serde(default)]
        first: Option<u64>,
    },
    /// Entrance: drops the packets that carry these payload bytes.
    DropSeq {
        /// Stream offsets of payload bytes, 0 being the first; each names the packet that holds it.
        offsets: Vec<u64>,
        /// How many transmissions of each are dropped; 2 loses the first retransmission as well.
        #[serde(default = "once")]
        occurrences: u32,
    },
    /// Entrance: drops each packet with a probability that changes at stated times.
    LossSteps {
        /// When each probability begins; the first is 0, and they rise.
        at_ns: Vec<Time>,
        /// The probabilities.
        p: Vec<f64>,
        /// The steps begin again after this time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat_ns: Option<Time>,
    },
    /// Entrance: a token bucket that starts full and drops the packets for which it has too few tokens.
    Policer {
        /// Bits per second at which tokens come; those of the link's own header are not counted.
        rate_bps: u64,
        /// Bytes that the bucket holds.
        burst_bytes: u64,
    },
    /// Entrance: sends a copy after the packet, with probability `p`.
    Duplicate {
        /// Probability of a copy.
        p: f64,
    },
    /// Exit: delays the packets with these numbers, counted from 1 as they leave the queue.
    DelayNth {
        /// Numbers, in rising order.
        packets: Vec<u64>,
        /// The extra delay, in nanoseconds.
        extra_ns: Time,
    },
    /// Exit: an extra delay for each packet, uniform on 0 to `max_ns`.
    Jitter {
        /// Longest extra delay, in nanoseconds.
        max_ns: Time,
        /// Whether a packet waits for those before it; otherwise they may overtake each other.
        #[serde(default = "yes")]
        keep_order: bool,
    },
    /// Exit: an extra delay for each packet from a normal distribution that is cut at both sides (drawn again outside).
    NormalJitter {
        /// Standard deviation before the cut, in nanoseconds.
        sigma_ns: Time,
        /// The cut, in standard deviations from the mean.
        #[serde(default = "three")]
        cut: f64,
        /// Mean; defaults to `cut` times `sigma_ns`, the smallest value for which no delay is negative.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean_ns: Option<Time>,
        /// Whether a packet waits for those before it; otherwise they may overtake each other, as with netem.
        #[serde(default = "yes")]
        keep_order: bool,
    },
    /// Exit: an extra delay that changes at stated times, looked up as a packet leaves the transmitter.
    DelaySteps {
        /// When each delay begins; the first is 0, and they rise.
        at_ns: Vec<Time>,
        /// The extra delays, in nanoseconds.
        extra_ns: Vec<Time>,
        /// The steps begin again after this time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat_ns: Option<Time>,
        /// Whether a packet waits for those before it where the delay falls; otherwise it overtakes them.
        #[serde(default)]
        keep_order: bool,
    },
    /// Exit: packets leave in bursts, as over Wi-Fi. The first of a burst waits for `hold_ns`, and those that come
    /// meanwhile leave with it.
    Aggregate {
        /// How long the first waits, in nanoseconds.
        hold_ns: Time,
    },
    /// Exit: delays a packet with probability `p`, so that later ones overtake it.
    Reorder {
        /// Probability of the delay.
        p: f64,
        /// The extra delay, in nanoseconds.
        extra_ns: Time,
    },
}

fn one() -> f64 {
    1.0
}
fn three() -> f64 {
    3.0
}
fn once() -> u32 {
    1
}
fn yes() -> bool {
    true
}

/// An impairment that no link can have; the message says what would be right.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum ImpairmentError {
    /// The steps make no schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// Not a probability.
    #[error("{name} is {value}; a probability lies in 0..=1")]
    Probability {
        /// The parameter.
        name: &'static str,
        /// What it is.
        value: f64,
    },
    /// Numbers of packets out of order, or 0.
    #[error("packets must be numbers from 1 in rising order")]
    Numbers,
    /// A period or a first packet of 0.
    #[error("every and first must be at least 1")]
    Period,
    /// Loses nothing.
    #[error("occurrences is 0; it must be at least 1")]
    Occurrences,
    /// A policer that lets nothing pass.
    #[error("rate and burst must be above 0")]
    Policer,
    /// Most draws must lie within the cut, so that one is found soon.
    #[error("cut is {0}; it must lie in 1..=10")]
    Cut(f64),
    /// The mean is too small for the cut.
    #[error("with this mean a delay may be negative; it must be at least {0}")]
    Mean(Time),
}

impl ImpairmentConfig {
    /// Whether the parameters make sense; the error names the parameter and what would be right.
    ///
    /// # Errors
    /// If a parameter is out of its range.
    pub fn check(&self) -> Result<(), ImpairmentError> {
        match self {
            ImpairmentConfig::Bernoulli { p }
            | ImpairmentConfig::Duplicate { p }
            | ImpairmentConfig::Reorder { p, .. } => probability("p", *p)?,
            ImpairmentConfig::GilbertElliott { p_good_bad, p_bad_good, loss_good, loss_bad } => {
                probability("p_good_bad", *p_good_bad)?;
                probability("p_bad_good", *p_bad_good)?;
                probability("loss_good", *loss_good)?;
                probability("loss_bad", *loss_bad)?;
            }
            ImpairmentConfig::DropNth { packets } | ImpairmentConfig::DelayNth { packets, .. } => {
                if packets.first() == Some(&0) || packets.windows(2).any(|pair| pair[0] >= pair[1]) {
                    return Err(ImpairmentError::Numbers);
                }
            }
            ImpairmentConfig::DropEvery { every, first } => {
                if *every == 0 || *first == Some(0) {
                    return Err(ImpairmentError::Period);
                }
            }
            ImpairmentConfig::DropSeq { occurrences, .. } => {
                if *occurrences == 0 {
                    return Err(ImpairmentError::Occurrences);
                }
            }
            ImpairmentConfig::LossSteps { at_ns, p, repeat_ns } => {
                schedule::check(at_ns, p.len(), *repeat_ns)?;
                p.iter().try_for_each(|&p| probability("p", p))?;
            }
            ImpairmentConfig::DelaySteps { at_ns, extra_ns, repeat_ns, .. } => {
                schedule::check(at_ns, extra_ns.len(), *repeat_ns)?;
            }
            ImpairmentConfig::Policer { rate_bps, burst_bytes } => {
                if *rate_bps == 0 || *burst_bytes == 0 {
                    return Err(ImpairmentError::Policer);
                }
            }
            ImpairmentConfig::NormalJitter { sigma_ns, cut, mean_ns, .. } => {
                if !(1.0..=10.0).contains(cut) {
                    return Err(ImpairmentError::Cut(*cut));
                }
                let least = least_mean(*sigma_ns, *cut);
                if mean_ns.is_some_and(|mean| mean < least) {
                    return Err(ImpairmentError::Mean(least));
                }
            }
            ImpairmentConfig::Jitter { .. } | ImpairmentConfig::Aggregate { .. } => {}
        }
        Ok(())
    }
}

/// The least mean of a normal jitter with which no delay is negative.
pub(super) fn least_mean(sigma: Time, cut: f64) -> Time {
    Time::from_secs_f64(sigma.as_secs_f64() * cut)
}

fn probability(name: &'static str, value: f64) -> Result<(), ImpairmentError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(ImpairmentError::Probability { name, value })
}
