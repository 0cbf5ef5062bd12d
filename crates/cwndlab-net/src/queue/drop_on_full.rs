//! A queue that makes room when it is full: it drops the packet at its front or a random one instead of the arriving
//! one. RFC 2884, section 2, names both as alternatives to tail drop.

use cwndlab_units::Time;
use rand::Rng as _;
use serde::{Deserialize, Serialize};

use super::config::positive;
use super::fifo::Fifo;
use super::{Dequeued, Dropped, QueueError};
use crate::{DropCause, Packet, Rng};

/// The packet that is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The packet that has waited longest.
    Front,
    /// Any waiting packet, each with the same probability. The arriving packet joins the end of the queue.
    Random,
}

/// Parameters of [`DropOnFull`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DropOnFullConfig {
    /// Maximum number of waiting packets.
    pub limit: u32,
    /// Which packet is dropped to make room for an arriving one.
    pub victim: Victim,
}

impl DropOnFullConfig {
    pub(super) fn check(&self) -> Result<(), QueueError> {
        positive("limit", u64::from(self.limit))
    }
}

/// A FIFO that drops a waiting packet if it is full when another arrives.
#[derive(Clone, Debug)]
pub struct DropOnFull<P> {
    config: DropOnFullConfig,
    fifo: Fifo<P>,
}

impl<P> DropOnFull<P> {
    /// An empty queue, from a checked configuration.
    pub fn new(config: DropOnFullConfig) -> DropOnFull<P> {
        DropOnFull { config, fifo: Fifo::default() }
    }
    /// Packets waiting.
    pub fn packets(&self) -> u32 {
        self.fifo.len()
    }
    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        self.fifo.bytes
    }
}

impl<P: Packet> DropOnFull<P> {
    /// Accepts a packet that arrives at `now`. If the queue is full, first drops a waiting packet. Returns false,
    /// because the packet is never marked.
    pub fn enqueue(&mut self, now: Time, packet: P, rng: &mut Rng, dropped: &mut Vec<Dropped<P>>) -> bool {
        if self.fifo.len() >= self.config.limit {
            let place = match self.config.victim {
                Victim::Front => 0,
                Victim::Random => rng.random_range(0..self.fifo.len()),
            };
            dropped.extend(self.fifo.remove(place).map(|packet| (DropCause::Full, packet)));
        }
        self.fifo.push(now, &packet);
        false
    }

    /// The next packet to send.
    pub fn dequeue(&mut self) -> Option<Dequeued<P>> {
        self.fifo.pop().map(|(_, packet)| Dequeued { packet, marked: false })
    }
}

#[cfg(test)]
mod tests;
