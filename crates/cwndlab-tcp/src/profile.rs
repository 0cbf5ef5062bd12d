//! Profiles: each gives every knob the value that it had in an era. The values are defined with the knobs
//! ([`crate::config`]).

use crate::config::{Profile, TcpConfig};

mod json;

pub use json::{choices_json, knobs_json};

impl Profile {
    /// All profiles, in the order of their eras.
    pub const ALL: [Profile; 5] =
        [Profile::Ns2_1998, Profile::Rfc5681, Profile::Linux2_0, Profile::Linux2_2, Profile::Linux6];

    /// The profile's name in study files.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Ns2_1998 => "ns2-1998",
            Profile::Rfc5681 => "rfc5681",
            Profile::Linux2_0 => "linux-2.0",
            Profile::Linux2_2 => "linux-2.2",
            Profile::Linux6 => "linux-6",
        }
    }

    /// The profile with this name.
    pub fn from_name(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|p| p.name() == name)
    }

    /// The profile's value of every knob.
    pub const fn config(self) -> TcpConfig {
        TcpConfig::of(self)
    }
}

#[cfg(test)]
mod tests;
