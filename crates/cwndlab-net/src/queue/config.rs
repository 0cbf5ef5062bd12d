//! The queue of a link as a scenario states it.

use cwndlab_units::{Rate, Time};
use serde::{Deserialize, Serialize};

use super::{
    ArrivalQueue, Cbq, CbqConfig, Codel, CodelConfig, DepartureQueue, DropOnFull, DropOnFullConfig, DropTail,
    DropTailConfig, DualPi2, DualPi2Config, FqCodel, FqCodelConfig, LinuxRed, LinuxRedConfig, Pie, PieConfig, Queue,
    QueueError, Red, RedConfig,
};

/// The unit of a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Packets, whatever their size.
    #[default]
    Packets,
    /// Wire bytes.
    Bytes,
}

/// The kind of a link's queue and its parameters.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum QueueConfig {
    /// Never drops.
    Infinite {},
    /// Drops an arriving packet that does not fit.
    DropTail(DropTailConfig),
    /// Drops from the front or at random when it is full.
    DropOnFull(DropOnFullConfig),
    /// Random early detection, Floyd and Jacobson 1993.
    Red(RedConfig),
    /// RED of Linux 2.2 and 2.3.
    LinuxRed(LinuxRedConfig),
    /// Controlled delay, RFC 8289.
    #[serde(rename = "codel")]
    Codel(CodelConfig),
    /// Proportional integral controller enhanced, RFC 8033.
    Pie(PieConfig),
    /// Fair queueing with `CoDel` for each flow, RFC 8290.
    #[serde(rename = "fq-codel")]
    FqCodel(FqCodelConfig),
    /// Dual-queue coupled PI, RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Config),
    /// Class-based queueing, Floyd and Jacobson 1995.
    Cbq(CbqConfig),
}

impl QueueConfig {
    /// Checks the parameters. The error names the parameter and what would be right.
    ///
    /// # Errors
    /// If a parameter is out of its range.
    pub fn check(&self) -> Result<(), QueueError> {
        match self {
            QueueConfig::Infinite {} => Ok(()),
            QueueConfig::DropTail(config) => config.check(),
            QueueConfig::DropOnFull(config) => config.check(),
            QueueConfig::Red(config) => config.check(),
            QueueConfig::LinuxRed(config) => config.check(),
            QueueConfig::Codel(config) => config.check(),
            QueueConfig::Pie(config) => config.check(),
            QueueConfig::FqCodel(config) => config.check(),
            QueueConfig::DualPi2(config) => config.check(),
            QueueConfig::Cbq(config) => config.check(),
        }
    }

    /// Names of the traffic that a class-based queue distinguishes.
    pub fn traffic(&self) -> Vec<&str> {
        match self {
            QueueConfig::Cbq(config) => config.traffic().collect(),
            _ => Vec::new(),
        }
    }

    /// Stores the IDs of the traffic that the classes of a class-based queue name. `number` maps the name of a traffic
    /// to the ID that its packets carry ([`crate::Packet::traffic`]).
    pub fn number_traffic(&mut self, number: impl Fn(&str) -> u8) {
        if let QueueConfig::Cbq(config) = self {
            for class in &mut config.classes {
                class.numbers = class.traffic.iter().map(|name| number(name)).collect();
            }
        }
    }

    /// The queue for a link of `rate`. The configuration must have passed [`QueueConfig::check`]. `seed` determines the
    /// queue's own random numbers (FQ-CoDel's hash perturbation, the signals of Linux's `DualPi2`).
    pub fn build<P>(&self, rate: Rate, seed: u64) -> Queue<P> {
        match self {
            QueueConfig::Infinite {} => Queue::Arrival(ArrivalQueue::Infinite),
            QueueConfig::DropTail(config) => Queue::Arrival(ArrivalQueue::DropTail(DropTail::new(config))),
            QueueConfig::Red(config) => Queue::Arrival(ArrivalQueue::Red(Box::new(Red::new(config.clone(), rate)))),
            QueueConfig::LinuxRed(config) => {
                Queue::Arrival(ArrivalQueue::LinuxRed(Box::new(LinuxRed::new(config.clone()))))
            }
            QueueConfig::DropOnFull(config) => {
                Queue::Departure(DepartureQueue::DropOnFull(Box::new(DropOnFull::new(config.clone()))))
            }
            QueueConfig::Codel(config) => Queue::Departure(DepartureQueue::Codel(Box::new(Codel::new(config.clone())))),
            QueueConfig::Pie(config) => Queue::Departure(DepartureQueue::Pie(Box::new(Pie::new(config.clone())))),
            QueueConfig::DualPi2(config) => {
                Queue::Departure(DepartureQueue::DualPi2(Box::new(DualPi2::new(config.clone(), rate, seed))))
            }
            QueueConfig::Cbq(config) => Queue::Departure(DepartureQueue::Cbq(Box::new(Cbq::new(config, rate)))),
            QueueConfig::FqCodel(config) => {
                Queue::Departure(DepartureQueue::FqCodel(Box::new(FqCodel::new(config.clone(), seed))))
            }
        }
    }
}

/// Checks that `value` lies in `range`. NaN lies in no range.
pub(super) fn within(name: &'static str, value: f64, range: std::ops::RangeInclusive<f64>) -> Result<(), QueueError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(QueueError::OutOfRange { name, value, least: *range.start(), most: *range.end() })
}

/// Checks that `value` is at least 1.
pub(super) fn positive(name: &'static str, value: u64) -> Result<(), QueueError> {
    if value > 0 {
        return Ok(());
    }
    Err(QueueError::Zero(name))
}

/// Checks that a controller's update interval is at least 0.1 ms. Every update is simulated, so shorter intervals would
/// make runs too slow.
pub(super) fn interval(name: &'static str, value: Time) -> Result<(), QueueError> {
    if value >= Time::from_micros(100) {
        return Ok(());
    }
    Err(QueueError::UpdatesTooOften { name, value })
}
