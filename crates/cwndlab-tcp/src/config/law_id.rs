//! Identifiers of external laws.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Identifies an external law by 128 bits of a digest of its code. In JSON, it is a string of 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LawId(pub u128);

impl std::fmt::Display for LawId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Text that is not a [`LawId`].
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0:?} is not the digest of a law: it must have 32 hexadecimal digits")]
pub struct LawIdError(String);

impl std::str::FromStr for LawId {
    type Err = LawIdError;

    fn from_str(text: &str) -> Result<Self, LawIdError> {
        let wrong = || LawIdError(text.to_owned());
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u128::from_str_radix(text, 16).ok().filter(|_| digits).map(LawId).ok_or_else(wrong)
    }
}

impl Serialize for LawId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LawId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
