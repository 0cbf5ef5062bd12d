//! The options of a stack, as a scenario states them.

use cwndlab_engine::MessageSizes;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::handshake::TAG;
use crate::messages::STAMP;
use crate::random::Ids;

/// Bytes of an IPv4 and a UDP header.
const HEADERS: u16 = 28;
/// The IP packet with which a stack begins: a UDP payload of 1200 bytes (RFC 9000, section 14.1), and headers.
const SMALLEST_MTU: u16 = 1228;
/// Bytes that both stacks reserve in a packet with a message: flags, connection ID, packet number and tag, and 9 bytes for
/// the frame's type and length.
const MESSAGE_OVERHEAD: u32 = (1 + Ids::LEN + 4 + TAG + 9) as u32;

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
    /// Bytes of datagrams (RFC 9221) that may wait to be sent, with some 30 bytes more for each; further ones take the place of
    /// the oldest. If left out, 1 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagram_buffer_bytes: Option<u32>,
    /// Size of the largest IP packet; if left out, the stack begins with 1228 bytes and discovers up to 1480.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u16>,
}

/// quinn's congestion controls.
#[cfg(feature = "quinn")]
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
#[cfg(feature = "noq")]
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

    fn check(&self, stack: &str) -> Result<MessageSizes, serde_json::Error> {
        let within = |name: &str, value: Option<u64>, least: u64, most: u64| match value {
            Some(value) if !(least..=most).contains(&value) => {
                Err(serde_json::Error::custom(format!("{name} is {value}; it must be {least} to {most}")))
            }
            _ => Ok(()),
        };
        within("initial_window", self.initial_window_bytes, 2400, 1 << 30)?;
        within("ack_eliciting_threshold", self.ack_eliciting_threshold.map(u64::from), 1, 1000)?;
        within("stream_window", self.stream_window_bytes.map(u64::from), 10_000, 1 << 31)?;
        within("datagram_buffer", self.datagram_buffer_bytes.map(u64::from), 10_000, 1 << 30)?;
        within("mtu", self.mtu_bytes.map(u64::from), SMALLEST_MTU.into(), 9000)?;
        let mtu = self.mtu_bytes.unwrap_or(SMALLEST_MTU).into();
        let most = mtu - u32::from(HEADERS) - MESSAGE_OVERHEAD;
        Ok(MessageSizes { stack: stack.into(), bytes: (STAMP as u32, most), mtu })
    }
}

/// Checks the table of a stack. Returns the sizes of the messages that it can always send.
///
/// # Errors
///
/// If a key, a name or a value is wrong.
pub fn check(stack: &Value) -> Result<MessageSizes, serde_json::Error> {
    match serde_json::from_value(stack.clone())? {
        #[cfg(feature = "quinn")]
        Stack::Quinn(options) => options.check("quinn"),
        #[cfg(feature = "noq")]
        Stack::Noq(options) => options.check("noq"),
    }
}
