//! FQ-PIE: flows are hashed to queues, each controlled by PIE at its entrance and served by deficit round robin. The rules
//! and the integers are those of Linux 6.12's `net/sched/sch_fq_pie.c` and `sch_pie.c`.

mod pie;

use cwndlab_units::{Ring, Time};
use serde::{Deserialize, Serialize};

use super::config::{interval, positive, within};
use super::fifo::Fifo;
use super::{flow_hash, Dequeued, Dropped, QueueError};
use crate::{DropCause, Ecn, Packet, Rng};

use pie::{Params, Pie, MAX_PROB};

/// Parameters of [`FqPie`]; the defaults are Linux's.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct FqPieConfig {
    /// Limit on the packets in all queues together.
    pub limit: u32,
    /// Number of queues to which flows are hashed.
    pub flows: u32,
    /// Acceptable delay.
    pub target_ns: Time,
    /// Interval between updates of the drop probabilities.
    pub update_ns: Time,
    /// The time of the first update. Linux's timer starts with the queue.
    pub first_update_ns: Time,
    /// Weight of the delay's distance from the target, in sixteenths.
    pub alpha: u32,
    /// Weight of the delay's change, in sixteenths.
    pub beta: u32,
    /// Bytes a flow may send in its turn.
    pub quantum: u32,
    /// The largest packet (the MTU with its header): a flow with less than two of them is not dropped from.
    pub mtu: u32,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Probability, in per cent, above which ECN-capable packets are dropped, too.
    pub ecn_prob: u32,
    /// Whether small packets are dropped less often.
    pub bytemode: bool,
    /// Perturbation of the hash; drawn from the link's random stream if left out.
    pub perturbation: Option<u64>,
}

impl Default for FqPieConfig {
    fn default() -> Self {
        FqPieConfig {
            limit: 10_240,
            flows: 1024,
            target_ns: Time::from_millis(15),
            update_ns: Time::from_millis(15),
            first_update_ns: Time::from_millis(500),
            alpha: 2,
            beta: 20,
            quantum: 1514,
            mtu: 1514,
            ecn: false,
            ecn_prob: 10,
            bytemode: false,
            perturbation: None,
        }
    }
}

impl FqPieConfig {
    pub(super) fn check(&self) -> Result<(), QueueError> {
        positive("limit", u64::from(self.limit))?;
        positive("flows", u64::from(self.flows))?;
        if self.flows > 65_536 {
            return Err(QueueError::TooManyFlows(self.flows));
        }
        positive("target_ns", self.target_ns.as_nanos())?;
        interval("update_ns", self.update_ns)?;
        within("alpha", f64::from(self.alpha), 0.0..=32.0)?;
        within("beta", f64::from(self.beta), 0.0..=32.0)?;
        within("quantum", f64::from(self.quantum), 256.0..=1_048_576.0)?;
        within("mtu", f64::from(self.mtu), 1.0..=1_048_576.0)?;
        within("ecn_prob", f64::from(self.ecn_prob), 0.0..=100.0)
    }
}

/// FQ-PIE.
#[derive(Clone, Debug)]
pub struct FqPie<P> {
    config: FqPieConfig,
    params: Params,
    perturbation: u64,
    flows: Vec<Flow<P>>,
    new_flows: Ring<u32>,
    old_flows: Ring<u32>,
    /// Flows whose PIE is not at rest: only these need updates.
    stirred: Vec<u32>,
    next_update: Time,
    packets: u32,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct Flow<P> {
    fifo: Fifo<P>,
    pie: Pie,
    deficit: i64,
    /// Whether the flow is in one of the two lists.
    listed: bool,
    stirred: bool,
}

impl<P> FqPie<P> {
    /// An empty queue, from a checked configuration. `seed` perturbs the hash, unless the configuration sets
    /// `perturbation`.
    pub fn new(config: FqPieConfig, seed: u64) -> FqPie<P> {
        let flow = || Flow { fifo: Fifo::default(), pie: Pie::default(), deficit: 0, listed: false, stirred: false };
        FqPie {
            params: Params {
                target: pie::ticks(config.target_ns),
                alpha: config.alpha,
                beta: config.beta,
                bytemode: config.bytemode,
                mtu: config.mtu,
            },
            perturbation: config.perturbation.unwrap_or(seed),
            flows: (0..config.flows).map(|_| flow()).collect(),
            new_flows: Ring::new(),
            old_flows: Ring::new(),
            stirred: Vec::new(),
            next_update: config.first_update_ns,
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

    /// `fq_pie_timer`, for all updates up to `now`.
    fn update(&mut self, now: Time) {
        while self.next_update <= now {
            if self.stirred.is_empty() {
                // All are at rest, where an update changes nothing.
                let missed = (now - self.next_update).as_nanos() / self.config.update_ns.as_nanos();
                self.next_update += self.config.update_ns * missed;
            }
            self.stirred.retain(|&index| {
                let flow = &mut self.flows[index as usize];
                flow.pie.update(&self.params, flow.fifo.bytes);
                flow.stirred = flow.fifo.len() > 0 || flow.pie != Pie::default();
                flow.stirred
            });
            self.next_update += self.config.update_ns;
        }
    }

    /// The index of a flow's queue.
    fn index(&self, flow_key: u64) -> usize {
        flow_hash::index(flow_key, self.perturbation, self.config.flows) as usize
    }
}

impl<P: Packet> FqPie<P> {
    /// `fq_pie_qdisc_enqueue`. Returns whether the packet was marked.
    pub fn enqueue(&mut self, now: Time, packet: &P, rng: &mut Rng, dropped: &mut Vec<Dropped<P>>) -> bool {
        self.update(now);
        let (mut packet, bytes) = (*packet, packet.wire_bytes());
        let index = self.index(packet.flow_key());
        let flow = &mut self.flows[index];
        let full = self.packets >= self.config.limit;
        let mut marked = false;
        if full || flow.pie.drops_early(&self.params, flow.fifo.bytes, bytes, rng) {
            let low = flow.pie.prob <= (MAX_PROB / 100) * u64::from(self.config.ecn_prob);
            if full || !self.config.ecn || !low || packet.ecn() == Ecn::NotEct {
                flow.pie.accumulated = 0;
                dropped.push((if full { DropCause::Full } else { DropCause::Aqm }, packet));
                return false;
            }
            marked = packet.ecn() != Ecn::Ce;
            if marked {
                packet.mark_ce();
            }
        }
        flow.fifo.push(now, &packet);
        self.packets += 1;
        self.bytes += u64::from(bytes);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = i64::from(self.config.quantum);
            self.new_flows.push(index as u32);
        }
        if !flow.stirred {
            flow.stirred = true;
            self.stirred.push(index as u32);
        }
        marked
    }

    /// `fq_pie_qdisc_dequeue`: the next packet to send. None is marked here.
    pub fn dequeue(&mut self, now: Time) -> Option<Dequeued<P>> {
        self.update(now);
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
            if let Some((arrived, packet)) = flow.fifo.pop() {
                let bytes = packet.wire_bytes();
                self.packets -= 1;
                self.bytes -= u64::from(bytes);
                flow.deficit -= i64::from(bytes);
                flow.pie.on_departure(pie::ticks(now), pie::ticks(arrived), flow.fifo.bytes);
                return Some(Dequeued { packet, marked: false });
            }
            list.drop_first();
            if from_new && !self.old_flows.is_empty() {
                self.old_flows.push(index); // a pass through the old flows, to prevent starvation
            } else {
                flow.listed = false;
            }
        }
    }
}

#[cfg(test)]
mod tests;
