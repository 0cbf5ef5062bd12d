//! A link's queue that is a kernel's own. Packets are written to a device whose queueing discipline it is, and enter the
//! link when they leave the device.

use std::collections::{BTreeMap, VecDeque};

use cwndlab_net::queue::KernelQueueConfig;
use cwndlab_net::{DropCause, LinkCounters, Packet as _};
use cwndlab_units::Time;

use super::LivePacket;

/// A packet that has not left after this time counts as dropped: no later packet of its flow came.
const LONGEST: Time = Time::from_secs(10);
/// How often such packets are looked for.
const LOOK: Time = Time::from_secs(1);

/// A packet in the kernel's queue, unless the queue has dropped it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside {
    pub(super) packet: LivePacket,
    /// Of the content ([`crate::header::fingerprint`]).
    fingerprint: u64,
    entered: Time,
}

/// Follows the packets in a kernel's queue.
///
/// A kernel does not report which packet it drops. But packets of a flow with the same codepoint leave in the order in
/// which they entered, so what a packet has overtaken was dropped.
#[derive(Debug)]
pub(super) struct Gate {
    flows: BTreeMap<(u64, u8), VecDeque<Inside>>,
    /// When to look for packets that have been inside for too long.
    next_look: Time,
    packets: u32,
    bytes: u64,
    cause: DropCause,
    drops: u64,
    marks: u64,
    waited: Time,
    max_packets: u32,
}

impl Gate {
    pub(super) fn new(config: &KernelQueueConfig) -> Gate {
        Gate {
            flows: BTreeMap::new(),
            next_look: LONGEST,
            packets: 0,
            bytes: 0,
            cause: if config.is_plain_fifo() { DropCause::Full } else { DropCause::Aqm },
            drops: 0,
            marks: 0,
            waited: Time::ZERO,
            max_packets: 0,
        }
    }

    /// Why the queue drops packets.
    pub(super) fn cause(&self) -> DropCause {
        self.cause
    }

    /// A packet enters; `sending` packets are in the link behind the queue.
    pub(super) fn enter(&mut self, now: Time, packet: LivePacket, fingerprint: u64, sending: u32) {
        self.packets += 1;
        self.bytes += u64::from(packet.wire_bytes);
        self.max_packets = self.max_packets.max(self.packets + sending);
        let flow = self.flows.entry((packet.flow_key, packet.dscp)).or_default();
        flow.push_back(Inside { packet, fingerprint, entered: now });
    }

    /// A packet of a flow leaves. Returns it and whether the queue marked it, and appends the packets that must have been
    /// dropped to `dropped`. `None`: no such packet is inside.
    pub(super) fn leave(
        &mut self,
        now: Time,
        flow: (u64, u8),
        fingerprint: u64,
        is_ce: bool,
        dropped: &mut Vec<LivePacket>,
    ) -> Option<(LivePacket, bool)> {
        let inside = self.flows.get_mut(&flow)?;
        let place = inside.iter().position(|one| one.fingerprint == fingerprint)?;
        let first = dropped.len();
        dropped.extend(inside.drain(..place).map(|one| one.packet));
        let Inside { mut packet, entered, .. } = inside.pop_front()?;
        if inside.is_empty() {
            self.flows.remove(&flow);
        }
        if now >= self.next_look {
            self.next_look = now + LOOK;
            self.flows.retain(|_, inside| {
                let gone = inside.partition_point(|one| one.entered + LONGEST <= now);
                dropped.extend(inside.drain(..gone).map(|one| one.packet));
                !inside.is_empty()
            });
        }
        self.packets -= 1 + (dropped.len() - first) as u32;
        let lost: u64 = dropped[first..].iter().map(|packet| u64::from(packet.wire_bytes)).sum();
        self.bytes -= u64::from(packet.wire_bytes) + lost;
        self.drops += (dropped.len() - first) as u64;
        self.waited += now.saturating_sub(entered);
        let marked = is_ce && !packet.is_ce();
        if marked {
            packet.mark_ce();
            self.marks += 1;
        }
        Some((packet, marked))
    }

    /// Packets and bytes inside, among them those that were dropped and that nothing has overtaken yet.
    pub(super) fn backlog(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    /// Adds what happened in the queue to the counters of the link.
    pub(super) fn count(&self, now: Time, counters: &mut LinkCounters) {
        let waiting = self.flows.values().flatten().map(|one| now.saturating_sub(one.entered));
        counters.sojourn += waiting.fold(self.waited, |sum, time| sum + time);
        counters.arrivals += self.drops + u64::from(self.packets);
        counters.drops[self.cause as usize] += self.drops;
        counters.marks += self.marks;
        counters.max_packets = counters.max_packets.max(self.max_packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(qdisc: &str) -> Gate {
        Gate::new(&serde_json::from_value(serde_json::json!({ "qdisc": qdisc })).unwrap())
    }

    fn packet(id: u64, flow: u64) -> LivePacket {
        LivePacket { id, flow_key: flow, wire_bytes: 1000, ..LivePacket::default() }
    }

    #[test]
    fn what_a_packet_of_the_same_flow_overtakes_was_dropped() {
        let mut gate = gate("fq_codel");
        for id in 0..6 {
            gate.enter(Time::from_micros(id), packet(id, id % 2), id, 0);
        }
        let mut dropped = Vec::new();
        let (left, marked) = gate.leave(Time::from_millis(1), (0, 0), 4, true, &mut dropped).unwrap();
        assert_eq!((left.id, left.is_ce(), marked), (4, true, true));
        assert_eq!(dropped.iter().map(|packet| packet.id).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(gate.backlog(), (3, 3000), "the other flow's");
        let mut counters = LinkCounters::default();
        gate.count(Time::from_millis(1), &mut counters);
        assert_eq!((counters.arrivals, counters.drops, counters.marks, counters.max_packets), (5, [0, 2, 0], 1, 6));
        let waited = 1_000_000 - 4000 + 3 * 1_000_000 - 1000 - 3000 - 5000;
        assert_eq!(counters.sojourn, Time::from_nanos(waited));
    }

    #[test]
    fn what_has_not_left_after_ten_seconds_was_dropped() {
        let mut gate = gate("pfifo limit 10");
        gate.enter(Time::ZERO, packet(0, 0), 0, 0);
        gate.enter(Time::from_secs(1), packet(1, 1), 1, 0);
        gate.enter(Time::from_secs(10), packet(2, 2), 2, 0);
        let mut dropped = Vec::new();
        let at = Time::from_secs(10);
        assert_eq!(gate.leave(at, (2, 0), 2, false, &mut dropped).unwrap().0.id, 2);
        assert_eq!(dropped.iter().map(|packet| packet.id).collect::<Vec<_>>(), [0]);
        assert_eq!((gate.cause(), gate.backlog()), (DropCause::Full, (1, 1000)));
        assert!(gate.leave(at, (0, 0), 7, false, &mut dropped).is_none(), "never entered");
    }

    #[test]
    fn packets_behind_the_queue_count_for_its_longest_length_and_earlier_drops_do_not() {
        let mut gate = gate("fq_codel");
        gate.enter(Time::ZERO, packet(0, 0), 0, 3);
        gate.enter(Time::ZERO, packet(1, 0), 1, 1);
        let mut dropped = vec![packet(8, 0), packet(9, 0)];
        gate.leave(Time::ZERO, (0, 0), 1, false, &mut dropped).unwrap();
        let mut counters = LinkCounters::default();
        gate.count(Time::ZERO, &mut counters);
        assert_eq!((counters.max_packets, counters.drops, gate.backlog()), (4, [0, 1, 0], (0, 0)));
    }

    #[test]
    fn old_packets_are_looked_for_once_a_second() {
        let mut gate = gate("fq_codel");
        let at = Time::from_millis;
        for (ms, flow) in [(0, 0), (500, 1), (1_000, 2)] {
            gate.enter(at(ms), packet(flow, flow), flow, 0);
        }
        // (time, and the flows whose packets are found to be gone)
        for (ms, gone) in [(9_999, vec![]), (10_000, vec![0]), (10_999, vec![]), (11_000, vec![1, 2])] {
            gate.enter(at(ms), packet(9, 9), ms, 0);
            let mut dropped = Vec::new();
            gate.leave(at(ms), (9, 0), ms, false, &mut dropped).unwrap();
            assert_eq!(dropped.iter().map(|packet| packet.id).collect::<Vec<_>>(), gone, "{ms}");
        }
    }
}
