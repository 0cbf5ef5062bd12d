//! Knobs of BBR version 3.

use serde::{Deserialize, Serialize};

/// Knobs of BBR version 3.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bbr3Config {
    /// Whose rules it follows where its two sources differ.
    pub rules: Bbr3Rules,
    /// Whether it responds to marks of a shallow threshold as the branch does (`ecn_low`); with `ecn` `dctcp`, `l4s` or
    /// `accecn`. The
    /// draft, section 3.7, leaves ECN to future work.
    pub ecn: bool,
}

impl Bbr3Config {
    /// The draft's.
    pub const STANDARD: Bbr3Config = Bbr3Config { rules: Bbr3Rules::Draft, ecn: false };
}

/// The sources of BBR version 3; docs/models/bbr.md has each difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bbr3Rules {
    /// draft-ietf-ccwg-bbr-06.
    Draft,
    /// google/bbr, branch v3, `net/ipv4/tcp_bbr.c`.
    #[serde(rename = "google-v3")]
    GoogleV3,
}
