//! What parameters of queues have in common: units, checks, and the traffic that classes name.

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use super::{QueueConfig, QueueError, RouteHosts};

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

impl QueueConfig {
    /// Names of the traffic that a class-based queue distinguishes.
    pub fn traffic(&self) -> Vec<&str> {
        match self {
            QueueConfig::Cbq(config) => config.traffic().collect(),
            QueueConfig::Cake(config) => config.traffic().collect(),
            _ => Vec::new(),
        }
    }

    /// Stores the IDs of the traffic that the classes of a class-based queue name. `number` maps the name of a traffic
    /// to the ID that its packets carry ([`crate::Packet::traffic`]).
    pub fn number_traffic(&mut self, number: impl Fn(&str) -> u8) {
        let numbers = |names: &[String]| names.iter().map(|name| number(name)).collect();
        match self {
            QueueConfig::Cbq(config) => {
                for class in &mut config.classes {
                    class.numbers = numbers(&class.traffic);
                }
            }
            QueueConfig::Cake(config) => {
                for point in &mut config.codepoints {
                    point.numbers = numbers(&point.traffic);
                }
            }
            _ => {}
        }
    }

    /// Whether the queue tells hosts apart, so that it needs [`QueueConfig::number_hosts`].
    pub fn knows_hosts(&self) -> bool {
        matches!(self, QueueConfig::Cake(_))
    }

    /// Stores the hosts of all routes, in order of their start ([`crate::Packet::route_position`]).
    pub fn number_hosts(&mut self, routes: &[RouteHosts]) {
        if let QueueConfig::Cake(config) = self {
            config.hosts = routes.to_vec();
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

#[cfg(test)]
mod tests;
