//! Impairments as a scenario states them.

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::schedule::{self, ScheduleError};

/// One impairment as a scenario states it. A link has a list of impairments. Each acts either at the link's entrance,
/// before the queue, or at its exit; those at the same end act in the list's order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ImpairmentConfig {
    /// Entrance: drops each packet with probability `p`, independently.
    Bernoulli {
        /// Probability of loss.
        p: f64,
    },
    /// Entrance: a two-state Markov chain (Gilbert 1960, Elliott 1963) that starts in the good state. Each packet is
    /// lost with the loss probability of the current state, and then the state may change.
    GilbertElliott {
        /// Probability, for each packet, of a change from good to bad.
        p_good_bad: f64,
        /// Probability, for each packet, of a change from bad to good. Its reciprocal is the mean length of a stay in
        /// the bad state, in packets.
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
        /// Numbers, in increasing order.
        packets: Vec<u64>,
    },
    /// Entrance: periodic loss of the packets numbered `first`, `first + every`, …
    DropEvery {
        /// Period in packets.
        every: u64,
        /// Number of the first packet dropped, counted from 1; `every` if left out.
        #[serde(default)]
        first: Option<u64>,
    },
    /// Entrance: drops the packets that carry these payload bytes.
    DropSeq {
        /// Stream offsets of payload bytes, counted from 0. The packet that carries such a byte is dropped.
        offsets: Vec<u64>,
        /// Number of transmissions of each byte that are dropped. With 2, the first retransmission is lost as well.
        #[serde(default = "once")]
        occurrences: u32,
    },
    /// Entrance: drops each packet with a probability that changes at stated times.
    LossSteps {
        /// Start times of the probabilities, in increasing order. The first is 0.
        at_ns: Vec<Time>,
        /// The probabilities.
        p: Vec<f64>,
        /// Period after which the steps repeat.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat_ns: Option<Time>,
    },
    /// Entrance: a token bucket, full at the start, that drops the packets for which it has too few tokens.
    Policer {
        /// Rate of the tokens, in bit/s. The link's own header does not use tokens.
        rate_bps: u64,
        /// Size of the bucket in bytes.
        burst_bytes: u64,
    },
    /// Entrance: sends a copy after the packet, with probability `p`.
    Duplicate {
        /// Probability of a copy.
        p: f64,
    },
    /// Exit: delays the packets with these numbers, counted from 1 as they leave the queue.
    DelayNth {
        /// Numbers, in increasing order.
        packets: Vec<u64>,
        /// The extra delay.
        extra_ns: Time,
    },
    /// Exit: an extra delay for each packet, uniform on 0 to `max_ns`.
    Jitter {
        /// Longest extra delay.
        max_ns: Time,
        /// Whether a packet waits for those ahead of it. Otherwise packets may overtake each other.
        #[serde(default = "yes")]
        keep_order: bool,
    },
    /// Exit: an extra delay for each packet, drawn from a normal distribution that is truncated on both sides: values
    /// beyond either cut are drawn again.
    NormalJitter {
        /// Standard deviation before truncation.
        sigma_ns: Time,
        /// Distance of the truncation from the mean, in standard deviations.
        #[serde(default = "three")]
        cut: f64,
        /// Mean; defaults to `cut` times `sigma_ns`, the smallest value for which no delay is negative.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean_ns: Option<Time>,
        /// Whether a packet waits for those ahead of it. Otherwise packets may overtake each other, as with netem.
        #[serde(default = "yes")]
        keep_order: bool,
    },
    /// Exit: the delays of packets over Wi-Fi, as picoquic's simulator draws them after measurements in bad networks: a
    /// number of short periods with a Poisson distribution of mean 1 for each packet, and with probability `p` also a
    /// number of long ones with mean 12. Each sum ends at a random point of its last period. Packets keep their order.
    WifiJitter {
        /// Probability of a long delay, from each of the times `at_ns` on.
        p: Vec<f64>,
        /// When these probabilities begin to apply, in increasing order. The first is 0.
        #[serde(default = "start")]
        at_ns: Vec<Time>,
        /// Period after which the steps repeat.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat_ns: Option<Time>,
        /// The short period.
        #[serde(default = "short_period")]
        short_ns: Time,
        /// The long period.
        #[serde(default = "long_period")]
        long_ns: Time,
    },
    /// Exit: an extra delay that changes at stated times. A packet gets the delay that applies when it leaves the
    /// transmitter.
    DelaySteps {
        /// Start times of the delays, in increasing order. The first is 0.
        at_ns: Vec<Time>,
        /// The extra delays.
        extra_ns: Vec<Time>,
        /// Period after which the steps repeat.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat_ns: Option<Time>,
        /// Whether a packet waits for those ahead of it when the delay decreases. Otherwise it overtakes them.
        #[serde(default)]
        keep_order: bool,
    },
    /// Exit: packets leave in bursts, as over Wi-Fi. The first packet of a burst waits for `hold_ns`; packets that
    /// arrive in this time leave with it, as far as the burst has room, and otherwise in bursts that follow, `hold_ns` apart.
    Aggregate {
        /// How long the first packet waits.
        hold_ns: Time,
        /// Number of packets that a burst may have; if left out, any number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        burst_packets: Option<u32>,
    },
    /// Exit: delays a packet with probability `p`, so that later packets may overtake it.
    Reorder {
        /// Probability of the delay.
        p: f64,
        /// The extra delay.
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
fn start() -> Vec<Time> {
    vec![Time::ZERO]
}
fn short_period() -> Time {
    Time::from_millis(1)
}
fn long_period() -> Time {
    Time::from_micros(7500)
}
fn yes() -> bool {
    true
}

/// Why an impairment's parameters are invalid. The message says what would be right.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum ImpairmentError {
    /// The times and values are not a valid schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A probability outside 0..=1.
    #[error("{name} is {value}; a probability lies in 0..=1")]
    Probability {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// Packet numbers that do not increase, or start at 0.
    #[error("packets must be numbers from 1 in rising order")]
    Numbers,
    /// `every` or `first` is 0.
    #[error("every and first must be at least 1")]
    Period,
    /// `occurrences` is 0, so that nothing is lost.
    #[error("occurrences is 0; it must be at least 1")]
    Occurrences,
    /// The `rate_bps` or `burst_bytes` of a policer is 0, so that no packet passes.
    #[error("rate and burst must be above 0")]
    Policer,
    /// `cut` is not in 1..=10. Most random values must lie within the cut, because those beyond it are drawn again.
    #[error("cut is {0}; it must lie in 1..=10")]
    Cut(f64),
    /// `burst_packets` is 0.
    #[error("`burst_packets` is 0; a burst has at least one packet")]
    Burst,
    /// `mean_ns` is below `cut` times `sigma_ns`.
    #[error("with this mean a delay may be negative; it must be at least {0}")]
    Mean(Time),
}

impl ImpairmentConfig {
    /// Checks the parameters. The error names the parameter and what would be right.
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
            ImpairmentConfig::LossSteps { at_ns, p, repeat_ns }
            | ImpairmentConfig::WifiJitter { at_ns, p, repeat_ns, .. } => {
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
            ImpairmentConfig::Aggregate { burst_packets: Some(0), .. } => return Err(ImpairmentError::Burst),
            ImpairmentConfig::Jitter { .. } | ImpairmentConfig::Aggregate { .. } => {}
        }
        Ok(())
    }
}

/// The smallest mean of a normal jitter for which no delay is negative.
pub(super) fn least_mean(sigma: Time, cut: f64) -> Time {
    Time::from_secs_f64(sigma.as_secs_f64() * cut)
}

fn probability(name: &'static str, value: f64) -> Result<(), ImpairmentError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(ImpairmentError::Probability { name, value })
}
