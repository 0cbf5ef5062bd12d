//! Bit rates and exact serialization times.

use serde::{Deserialize, Serialize};

use crate::Time;

/// A bit rate in bit/s. A link's rate is never zero, because loading a study rejects a rate of zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Rate(u64);

impl Rate {
    /// A rate of `bps` bit/s.
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }
    /// The rate in bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Time to send `bytes` at this rate, rounded to the nearest nanosecond (half up).
    ///
    /// # Panics
    /// If the rate is zero.
    pub const fn serialization_time(self, bytes: u32) -> Time {
        let bit_ns = bytes as u128 * 8 * 1_000_000_000;
        Time::from_nanos(((bit_ns + self.0 as u128 / 2) / self.0 as u128) as u64)
    }
}

/// Computes [`Rate::serialization_time`] without a division, by a fixed-point reciprocal of the rate. For packets up to
/// 64 KiB at 1 kbit/s or more, both return the same time (see the property test). The exception is a time very close to
/// halfway between two nanoseconds, which may be rounded either way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Serializer {
    /// ns per byte, with 32 fractional bits
    ns_per_byte_q32: u64,
}

impl Serializer {
    /// Computes the reciprocal of `rate`.
    ///
    /// # Panics
    /// If the rate is zero, or so slow (below 8e9/2^32 bit/s, about 2 bit/s) that a byte takes over 4 s.
    pub fn new(rate: Rate) -> Serializer {
        let q32 = ((8_000_000_000_u128 << 32) + u128::from(rate.0) / 2) / u128::from(rate.0);
        Serializer { ns_per_byte_q32: u64::try_from(q32).expect("the loader rejects a link slower than 2 bit/s") }
    }
    /// Time to send `bytes`.
    #[inline]
    pub fn time(self, bytes: u32) -> Time {
        let ns = (u128::from(bytes) * u128::from(self.ns_per_byte_q32) + (1 << 31)) >> 32;
        Time::from_nanos(ns as u64)
    }
}
