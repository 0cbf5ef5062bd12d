//! Knobs of LEDBAT and LEDBAT++.

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

/// Knobs of LEDBAT.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedbatConfig {
    /// The queueing delay that the window aims at (RFC 6817, section 2.5: TARGET).
    pub target_ns: Time,
    /// Growth of a window per round trip without a queue, in percent of a segment (section 2.5: GAIN).
    pub gain_percent: u32,
}

impl LedbatConfig {
    /// The RFC's largest values.
    pub const STANDARD: LedbatConfig = LedbatConfig { target_ns: Time::from_millis(100), gain_percent: 100 };
}

/// Knobs of LEDBAT++.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedbatPlusPlusConfig {
    /// The queueing delay that the window aims at (draft-irtf-iccrg-ledbat-plus-plus-01, 4.5).
    pub target_ns: Time,
}

impl LedbatPlusPlusConfig {
    /// The draft's.
    pub const STANDARD: LedbatPlusPlusConfig = LedbatPlusPlusConfig { target_ns: Time::from_millis(60) };
}
