//! The options of a stack, as a scenario states them.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes of an IPv4 and a UDP header.
const HEADERS: u16 = 28;

/// A stack and its options.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "stack", deny_unknown_fields)]
pub enum Stack {
    /// quinn-proto 0.11.19.
    #[cfg(feature = "quinn")]
    Quinn(Options<QuinnLaw>),
    /// noq-proto 1.4.0.
    #[cfg(feature = "noq")]
    Noq(Options<NoqLaw>),
}

/// The options of a stack.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options<L: Default> {
    /// Congestion control.
    #[serde(default)]
    pub cc: L,
    /// Initial congestion window; if left out, the stack's own, 12,000 bytes for both stacks except for quinn's BBR, which
    /// starts with 240,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window_bytes: Option<u64>,
    /// Number of packets that the receiver may leave unacknowledged (draft-ietf-quic-ack-frequency); if left out, the stack
    /// does not negotiate the extension, and every second packet is acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_eliciting_threshold: Option<u32>,
    /// Bytes that the peer may send on the stream before the receiver grants more; if left out, 1.25 MB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_window_bytes: Option<u32>,
    /// Size of the largest IP packet; if left out, the stack begins with 1228 bytes and discovers up to 1480.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u16>,
}

/// quinn's congestion controls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuinnLaw {
    /// CUBIC, the stack's default.
    #[default]
    Cubic,
    /// NewReno.
    Reno,
    /// BBR, version 1.
    Bbr,
}

/// noq's congestion controls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoqLaw {
    /// CUBIC, the stack's default.
    #[default]
    Cubic,
    /// NewReno.
    Reno,
    /// BBR, version 3.
    Bbr3,
}

impl<L: Default> Options<L> {
    /// The largest UDP payload, if it is fixed.
    pub(crate) fn payload(&self) -> Option<u16> {
        self.mtu_bytes.map(|mtu| mtu - HEADERS)
    }

    fn check(&self) -> Result<(), serde_json::Error> {
        let within = |name: &str, value: Option<u64>, least: u64, most: u64| match value {
            Some(value) if !(least..=most).contains(&value) => {
                Err(serde_json::Error::custom(format!("{name} is {value}; it must be {least} to {most}")))
            }
            _ => Ok(()),
        };
        within("initial_window", self.initial_window_bytes, 2400, 1 << 30)?;
        within("ack_eliciting_threshold", self.ack_eliciting_threshold.map(u64::from), 1, 1000)?;
        within("stream_window", self.stream_window_bytes.map(u64::from), 10_000, 1 << 31)?;
        within("mtu", self.mtu_bytes.map(u64::from), 1228, 9000)
    }
}

/// Checks the table of a stack.
///
/// # Errors
///
/// If a key, a name or a value is wrong.
pub fn check(stack: &Value) -> Result<(), serde_json::Error> {
    match serde_json::from_value(stack.clone())? {
        #[cfg(feature = "quinn")]
        Stack::Quinn(options) => options.check(),
        #[cfg(feature = "noq")]
        Stack::Noq(options) => options.check(),
    }
}
