//! Drop-tail: a packet that does not fit is dropped.

use serde::{Deserialize, Serialize};

use super::config::positive;
use super::{Admit, Backlog, QueueError, Unit};
use crate::DropCause;

/// Parameters of [`DropTail`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DropTailConfig {
    /// Capacity, in `unit`.
    pub limit: u64,
    /// The unit of `limit`.
    #[serde(default)]
    pub unit: Unit,
    /// Whether `limit` includes the packet in service. Both conventions exist: with ns-2's limit of 3, two packets wait
    /// and one is in service (`true`); a router's transmit queue usually counts only waiting packets (`false`).
    #[serde(default = "yes")]
    pub counts_in_service: bool,
}

fn yes() -> bool {
    true
}

impl DropTailConfig {
    pub(super) fn check(&self) -> Result<(), QueueError> {
        positive("limit", self.limit)?;
        if self.unit == Unit::Packets && self.limit >= u64::from(u32::MAX) {
            return Err(QueueError::TooManyPackets(self.limit));
        }
        Ok(())
    }
}

/// Drop-tail. The link's ring stores the packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DropTail {
    /// An arriving packet is dropped if it finds this many packets in the link, including the one in service;
    /// `u32::MAX` if the limit is in bytes.
    full_at_packets: u32,
    counts_in_service: bool,
    /// The limit in bytes; `u64::MAX` if the limit is in packets.
    byte_limit: u64,
}

impl DropTail {
    /// The queue of a checked configuration.
    pub fn new(config: &DropTailConfig) -> DropTail {
        let counts_in_service = config.counts_in_service;
        match config.unit {
            // A limit that excludes the packet in service is equivalent to a limit that includes it and is higher by
            // one, because packets wait only while another is in service.
            Unit::Packets => DropTail {
                full_at_packets: config.limit as u32 + u32::from(!counts_in_service),
                counts_in_service,
                byte_limit: u64::MAX,
            },
            Unit::Bytes => DropTail { full_at_packets: u32::MAX, counts_in_service, byte_limit: config.limit },
        }
    }

    /// With fewer packets than this in the link, every arriving packet fits; 0 if the limit is in bytes.
    pub fn takes_any_below(&self) -> u32 {
        if self.byte_limit == u64::MAX {
            self.full_at_packets
        } else {
            0
        }
    }

    /// The limit in bytes: an arriving packet fits if the packets in the link, with this one, do not exceed it. 0 if
    /// the limit is in packets.
    pub fn takes_any_up_to_bytes(&self) -> u64 {
        if self.byte_limit == u64::MAX {
            0
        } else {
            self.byte_limit
        }
    }

    /// Decides on a packet of `wire_bytes`.
    #[inline]
    pub fn on_arrival(&self, backlog: Backlog, wire_bytes: u32) -> Admit {
        let fits = if self.byte_limit == u64::MAX {
            backlog.packets < self.full_at_packets
        } else {
            self.fits_bytes(backlog, wire_bytes)
        };
        if fits {
            Admit::Enqueue
        } else {
            Admit::Drop(DropCause::Full)
        }
    }

    #[inline]
    fn fits_bytes(&self, backlog: Backlog, wire_bytes: u32) -> bool {
        if self.counts_in_service {
            return backlog.bytes + u64::from(wire_bytes) <= self.byte_limit;
        }
        // On an idle link the packet goes straight into service and never waits.
        backlog.in_service_bytes == 0 || backlog.waiting_bytes() + u64::from(wire_bytes) <= self.byte_limit
    }
}

#[cfg(test)]
mod tests;
