//! Knobs of LEDBAT++.

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

/// Knobs of LEDBAT++.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedbatConfig {
    /// The queueing delay that the window aims at (draft-irtf-iccrg-ledbat-plus-plus-01, 4.5).
    pub target_ns: Time,
}

impl LedbatConfig {
    /// The draft's.
    pub const STANDARD: LedbatConfig = LedbatConfig { target_ns: Time::from_millis(60) };
}
