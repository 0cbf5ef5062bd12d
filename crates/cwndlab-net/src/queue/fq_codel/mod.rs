//! FQ-CoDel (RFC 8290): flows are hashed to queues, each controlled by `CoDel` and served by deficit round robin. Flows
//! that have just become active have priority.

use cwndlab_units::{Ring, Time};
use serde::{Deserialize, Serialize};

use super::codel::{CodelConfig, ControlLaw};
use super::config::positive;
use super::fifo::Fifo;
use super::{flow_hash, Dropped, QueueError};
use crate::{DropCause, Packet};

/// Parameters of [`FqCodel`]; the defaults are those of RFC 8290, section 5.2.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct FqCodelConfig {
    /// Number of queues to which flows are hashed (5.2.4).
    pub flows: u32,
    /// Bytes a flow may send in its turn (5.2.2).
    pub quantum: u32,
    /// Limit on the packets in all queues together (5.2.3).
    pub limit: u32,
    /// Maximum number of packets dropped at once when the limit is exceeded, from the flow with the most bytes (4.1.2).
    /// At most half of the flow's packets are dropped, but at least one.
    pub drop_batch: u32,
    /// `CoDel`'s target.
    pub target_ns: Time,
    /// `CoDel`'s interval.
    pub interval_ns: Time,
    /// No drop while at most this many bytes are left in the flow's queue.
    pub mtu: u32,
    /// Marks ECN-capable packets where `CoDel` drops others. On by default, as in the RFC.
    pub ecn: bool,
    /// Waiting time above which all ECN-capable packets are marked, even if `ecn` is off. Off if left out.
    pub ce_threshold_ns: Option<Time>,
    /// Perturbation of the hash; drawn from the link's random stream if left out.
    pub perturbation: Option<u64>,
}

impl Default for FqCodelConfig {
    fn default() -> Self {
        let codel = CodelConfig::default();
        FqCodelConfig {
            flows: 1024,
            quantum: 1514,
            limit: 10_240,
            drop_batch: 64,
            target_ns: codel.target_ns,
            interval_ns: codel.interval_ns,
            mtu: codel.mtu,
            ecn: true,
            ce_threshold_ns: None,
            perturbation: None,
        }
    }
}

impl FqCodelConfig {
    pub(super) fn check(&self) -> Result<(), QueueError> {
        positive("flows", u64::from(self.flows))?;
        if self.flows > 65_536 {
            return Err(QueueError::TooManyFlows(self.flows));
        }
        positive("quantum", u64::from(self.quantum))?;
        positive("drop_batch", u64::from(self.drop_batch))?;
        self.codel().check()
    }

    fn codel(&self) -> CodelConfig {
        CodelConfig {
            target_ns: self.target_ns,
            interval_ns: self.interval_ns,
            limit: self.limit,
            mtu: self.mtu,
            ecn: self.ecn,
            ce_threshold_ns: self.ce_threshold_ns,
        }
    }
}

/// FQ-CoDel.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    config: FqCodelConfig,
    codel: CodelConfig,
    perturbation: u64,
    flows: Vec<Flow<P>>,
    /// Flows that became active and have not used up their first quantum.
    new_flows: Ring<u32>,
    old_flows: Ring<u32>,
    packets: u32,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct Flow<P> {
    fifo: Fifo<P>,
    law: ControlLaw,
    /// Bytes that the flow may still send in its turn; negative after a packet that was larger than the rest of the
    /// turn.
    deficit: i64,
    /// Whether the flow is in one of the two lists.
    listed: bool,
}

impl<P> FqCodel<P> {
    /// An empty queue, from a checked configuration. `seed` perturbs the hash, unless the configuration sets
    /// `perturbation`.
    pub fn new(config: FqCodelConfig, seed: u64) -> FqCodel<P> {
        let flow = || Flow { fifo: Fifo::default(), law: ControlLaw::default(), deficit: 0, listed: false };
        FqCodel {
            codel: config.codel(),
            perturbation: config.perturbation.unwrap_or(seed),
            flows: (0..config.flows).map(|_| flow()).collect(),
            new_flows: Ring::new(),
            old_flows: Ring::new(),
            packets: 0,
            bytes: 0,
            config,
        }
    }
    /// Packets waiting.
    pub fn packets(&self) -> u32 {
        self.packets
    }
    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The index of a flow's queue.
    fn index(&self, flow_key: u64) -> u32 {
        flow_hash::index(flow_key, self.perturbation, self.config.flows)
    }
}

impl<P: Packet> FqCodel<P> {
    /// Section 4.1: accepts a packet that arrives at `now`. Above the limit, packets are dropped from the head of the
    /// flow with the most bytes.
    #[allow(clippy::inline_always)] // once per packet-hop; a shaper is a second caller
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, packet: &P, dropped: &mut Vec<Dropped<P>>) -> bool {
        let index = self.index(packet.flow_key());
        self.packets += 1;
        self.bytes += u64::from(packet.wire_bytes());
        let flow = &mut self.flows[index as usize];
        flow.fifo.push(now, packet);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = i64::from(self.config.quantum);
            self.new_flows.push(index);
        }
        if self.packets > self.config.limit {
            self.drop_from_fattest(dropped);
        }
        false
    }

    /// Section 4.2: writes the next packet to send to `place`. Returns whether it was marked.
    #[allow(clippy::inline_always)] // once per packet-hop; a shaper is a second caller
    #[inline(always)]
    pub fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped<P>>, place: &mut P) -> Option<bool> {
        loop {
            let from_new = !self.new_flows.is_empty();
            let list = if from_new { &mut self.new_flows } else { &mut self.old_flows };
            let index = *list.front()?;
            let flow = &mut self.flows[index as usize];
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.config.quantum);
                list.drop_first();
                self.old_flows.push(index);
                continue;
            }
            // Without the flow meanwhile, so that its numbers need not be kept.
            (self.packets, self.bytes) = (self.packets - flow.fifo.len(), self.bytes - flow.fifo.bytes);
            let sent = flow.law.dequeue(&self.codel, &mut flow.fifo, now, dropped);
            (self.packets, self.bytes) = (self.packets + flow.fifo.len(), self.bytes + flow.fifo.bytes);
            if let Some(marked) = sent {
                *place = *flow.fifo.taken();
                flow.deficit -= i64::from(place.wire_bytes());
                return Some(marked);
            }
            list.drop_first();
            if from_new {
                // A new flow that became empty moves to the list of old flows for a round; otherwise it could always
                // return as a new flow.
                self.old_flows.push(index);
            } else {
                flow.listed = false;
            }
        }
    }

    /// Section 4.1.2: drops a batch from the flow with the most bytes; of several, from the one that is served first.
    /// The RFC leaves that open. Linux takes the first of its table, so there a random hash decides.
    #[cold]
    #[inline(never)]
    fn drop_from_fattest(&mut self, dropped: &mut Vec<Dropped<P>>) {
        let bytes = |index: &u32| self.flows[*index as usize].fifo.bytes;
        let listed = self.new_flows.iter().chain(self.old_flows.iter());
        let Some(&fattest) = listed.rev().max_by_key(|index| bytes(index)) else { return };
        let fattest = &mut self.flows[fattest as usize];
        let batch = (fattest.fifo.len() / 2).clamp(1, self.config.drop_batch);
        for _ in 0..batch {
            let Some((_, packet)) = fattest.fifo.pop() else { break };
            self.packets -= 1;
            self.bytes -= u64::from(packet.wire_bytes());
            dropped.push((DropCause::Full, packet));
        }
    }
}

#[cfg(test)]
mod tests;
