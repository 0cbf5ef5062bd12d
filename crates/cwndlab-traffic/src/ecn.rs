//! The ECN codepoint of unresponsive traffic.

use serde::{Deserialize, Serialize};

/// The ECN codepoint that a sender sets (RFC 3168, section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum EcnField {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECT(1), which identifies L4S (RFC 9331, section 4.1).
    Ect1 = 1,
    /// ECT(0), for classic ECN.
    Ect0 = 2,
}
