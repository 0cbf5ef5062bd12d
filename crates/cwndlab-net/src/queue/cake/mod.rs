//! CAKE, common applications kept enhanced: the shaper, flow isolation, tins, AQM and ACK filter of Linux 6.12's
//! `net/sched/sch_cake.c`, in its integers. The functions of the source are named where they are followed.

mod ack_filter;
mod chain;
mod cobalt;
mod config;
mod heap;
mod tin;

pub use config::{AckFilter, CakeConfig, Codepoint, Framing, Isolation, RouteHosts, Tins};

use cwndlab_units::Time;
use rand::SeedableRng as _;

use super::{flow_hash, Dequeued, Dropped};
use crate::{DropCause, Ecn, Packet, Rng};

use ack_filter::redundant;
use chain::{DECAYING, NEW, OLD};
use heap::Fattest;
use tin::{tin_of, tins, Hashes, Set, Tin};

/// `sch->limit`: packets of the largest size that fit at most.
const LIMIT_PACKETS: u32 = 10_240;

/// CAKE.
#[derive(Clone, Debug)]
pub struct Cake<P> {
    config: CakeConfig,
    /// The codepoint of each traffic ID.
    codepoints: Vec<u8>,
    perturbation: u64,
    rng: Rng,
    tins: Vec<Tin<P>>,
    fattest: Fattest,
    /// The tin that is served.
    current: usize,
    /// Times from which the shaper lets the next packet go: the earlier of both decides.
    time_next: i64,
    failsafe_next: i64,
    memory: u32,
    memory_limit: u32,
    packets: u32,
    bytes: u64,
}

impl<P> Cake<P> {
    /// An empty queue, from a checked configuration. `seed` is that of its random numbers, and perturbs the hash unless
    /// the configuration sets `perturbation`.
    pub fn new(config: CakeConfig, seed: u64) -> Cake<P> {
        let rate = config.rate_bps.map_or(0, |rate| rate.as_bps() / 8);
        let rtt_us = config.rtt_ns.as_nanos() / 1000;
        let mut codepoints = vec![0; 256];
        for point in &config.codepoints {
            for &number in &point.numbers {
                codepoints[usize::from(number)] = point.dscp;
            }
        }
        let most = LIMIT_PACKETS.saturating_mul(config.mtu);
        Cake {
            tins: tins(config.tins, rate, config.mtu, rtt_us * 1000),
            // cake_reconfigure
            memory_limit: match config.memory_bytes {
                Some(bytes) => bytes,
                None if rate > 0 => ((rate * rtt_us / 250_000) as u32).max(4 << 20).min(most),
                None => most,
            },
            perturbation: config.perturbation.unwrap_or(seed),
            rng: Rng::seed_from_u64(seed),
            fattest: Fattest::new(),
            current: 0,
            time_next: 0,
            failsafe_next: 0,
            memory: 0,
            packets: 0,
            bytes: 0,
            codepoints,
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

    /// The time from which the shaper lets the next packet go, if that is after `now`.
    fn held_until(&self, now: Time) -> Option<Time> {
        let next = self.time_next.min(self.failsafe_next);
        (next > now.as_nanos() as i64).then(|| Time::from_nanos(next as u64))
    }

    /// See [`super::DepartureQueue::next_ready`].
    pub(super) fn next_ready(&self, now: Time) -> Option<Time> {
        (self.packets > 0).then(|| self.held_until(now).unwrap_or(now))
    }

    /// See [`super::DepartureQueue::next_turn`].
    pub(super) fn next_turn(&self, free_at: Time) -> Time {
        self.held_until(free_at).unwrap_or(free_at)
    }

    /// What the shaper counts for a packet of `bytes` (`cake_calc_overhead`).
    fn shaped_bytes(&self, bytes: u32) -> u32 {
        let bytes = (bytes as i32 + i32::from(self.config.overhead)).max(i32::from(self.config.mpu)) as u32;
        match self.config.framing {
            Framing::None => bytes,
            Framing::Atm => bytes.div_ceil(48) * 53,
            Framing::Ptm => bytes + bytes.div_ceil(64),
        }
    }

    /// `cake_advance_shaper`: returns what it counts.
    fn charge(&mut self, tin: usize, bytes: u32, now: i64, dropped: bool) -> i32 {
        let bytes = self.shaped_bytes(bytes);
        // The first tin of each preset has the rate of the whole.
        let whole = (u64::from(bytes) * self.tins[0].rate_ns) >> self.tins[0].rate_shift;
        if self.tins[0].rate_ns > 0 {
            let tin = &mut self.tins[tin];
            let own = ((u64::from(bytes) * tin.rate_ns) >> tin.rate_shift) as i64;
            if tin.time_next < now {
                tin.time_next += own;
            } else if tin.time_next < now + own {
                tin.time_next = now + own;
            }
            self.time_next += whole as i64;
            if !dropped {
                self.failsafe_next += (whole + (whole >> 1)) as i64;
            }
        }
        bytes as i32
    }

    /// The hash of a key.
    fn hash(&self, key: u64) -> u32 {
        flow_hash::mix(key, self.perturbation) as u32
    }
}

/// Memory that Linux takes for a packet of `bytes` from a socket (`skb->truesize`): 256 bytes, and a buffer that is either
/// small or of `kmalloc`, with 16 bytes of headroom and 320 of `skb_shared_info`.
fn memory_of(bytes: u32) -> u32 {
    let needed = bytes + 16;
    256 + if needed <= 256 { 576 } else { (needed.next_multiple_of(64) + 320).next_power_of_two() }
}

impl<P: Packet> Cake<P> {
    fn hashes(&self, packet: &P) -> Hashes {
        let isolation = self.config.isolation;
        let at = self.config.hosts.partition_point(|route| route.start < packet.route_position());
        let route = at.checked_sub(1).map(|at| self.config.hosts[at]);
        let (source, destination) = route.map_or((0, 0), |route| (route.source, route.destination));
        let (source, destination) = (self.hash(u64::from(source)), self.hash(u64::from(destination) | 1 << 32));
        let flow = if isolation.flows() {
            self.hash(packet.flow_key())
        } else {
            let of = |wanted: bool, hash| if wanted { hash } else { 0 };
            of(isolation.by_source(), source) ^ of(isolation.by_destination(), destination)
        };
        Hashes { flow, source, destination }
    }

    /// `cake_enqueue`. Returns false, because no packet is marked at arrival.
    pub fn enqueue(&mut self, arrival: Time, packet: &P, dropped: &mut Vec<Dropped<P>>) -> bool {
        let now = arrival.as_nanos() as i64;
        let dscp = packet.dscp() | self.codepoints[usize::from(packet.traffic())];
        let tin = tin_of(self.config.tins, dscp);
        let hashes = self.hashes(packet);
        let b = &mut self.tins[tin];
        let index = b.assign(hashes, self.config.isolation);
        if b.backlog == 0 {
            b.time_next = b.time_next.max(now);
            if self.packets == 0 && self.time_next < now {
                (self.time_next, self.failsafe_next) = (now, now);
            }
        }
        let bytes = packet.wire_bytes();
        let flow = &mut b.flows[index];
        flow.fifo.push(arrival, packet);
        let redundant = match self.config.ack_filter {
            AckFilter::Off => None,
            AckFilter::On => redundant(&flow.fifo, false),
            AckFilter::Aggressive => redundant(&flow.fifo, true),
        };
        let filtered = redundant.and_then(|place| flow.fifo.remove(place));
        let fewer = filtered.as_ref().map_or(0, Packet::wire_bytes);
        b.backlog = b.backlog + bytes - fewer;
        self.memory += memory_of(bytes);
        self.packets += 1;
        self.bytes += u64::from(bytes);
        if let Some(ack) = filtered {
            self.memory -= memory_of(fewer);
            self.packets -= 1;
            self.bytes -= u64::from(fewer);
            if self.config.ingress {
                self.charge(tin, fewer, now, true);
            }
            dropped.push((DropCause::Aqm, ack));
        }
        self.fattest.add(tin, index, bytes, fewer);
        self.activate(tin, index);
        while self.memory > self.memory_limit {
            self.drop_from_fattest(now, dropped);
        }
        false
    }

    /// The part of `cake_enqueue` that puts a flow into the lists.
    fn activate(&mut self, tin: usize, index: usize) {
        let isolation = self.config.isolation;
        let b = &mut self.tins[tin];
        match b.flows[index].set {
            Set::None | Set::Decaying => {
                b.chain.move_to_tail(NEW, index);
                b.flows[index].set = Set::Sparse;
                b.sparse_flows += 1;
                b.flows[index].deficit = b.flow_quantum(index, isolation, &mut self.rng);
            }
            Set::SparseWait => {
                b.flows[index].set = Set::Bulk;
                b.sparse_flows -= 1;
                b.bulk_flows += 1;
                b.count_bulk(index, isolation, true);
            }
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// `cake_drop`: from the head of the flow with the most bytes.
    #[cold]
    fn drop_from_fattest(&mut self, now: i64, dropped: &mut Vec<Dropped<P>>) {
        let (tin, index) = self.fattest.top();
        let b = &mut self.tins[tin];
        let flow = &mut b.flows[index];
        let Some((_, packet)) = flow.fifo.pop() else {
            self.fattest.timeout = 0;
            return;
        };
        flow.cobalt.on_full(&b.params, now);
        let bytes = packet.wire_bytes();
        self.forget(tin, index, bytes);
        if self.config.ingress {
            self.charge(tin, bytes, now, true);
        }
        dropped.push((DropCause::Full, packet));
    }

    /// Accounts for a packet that left the queue of a flow.
    fn forget(&mut self, tin: usize, index: usize, bytes: u32) {
        self.tins[tin].backlog -= bytes;
        self.memory -= memory_of(bytes);
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
        self.fattest.subtract(tin, index, bytes);
    }

    /// `cake_dequeue`: the next packet to send.
    pub fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        let mut first = true;
        while self.packets > 0 && self.held_until(now).is_none() {
            self.choose_tin(now.as_nanos() as i64)?;
            while let Some(index) = self.choose_flow(first) {
                first = false;
                match self.take(index, now, dropped) {
                    Taken::Packet(packet) => return Some(packet),
                    Taken::Nothing => break,
                    Taken::Dropped => {} // cake_dequeue: `goto retry`
                }
            }
        }
        None
    }

    /// The part of `cake_dequeue` that chooses a tin.
    fn choose_tin(&mut self, now: i64) -> Option<()> {
        let has_flows = |b: &Tin<P>| b.sparse_flows + b.bulk_flows > 0;
        if self.tins[0].rate_ns > 0 {
            let mut best_time = i64::MAX;
            self.current = 0;
            for (index, b) in self.tins.iter().enumerate().filter(|(_, b)| has_flows(b)) {
                let wait = b.time_next - now;
                if wait <= 0 || wait <= best_time {
                    (best_time, self.current) = (wait, index);
                }
            }
            return has_flows(&self.tins[self.current]).then_some(());
        }
        let (mut wrapped, mut empty) = (false, true);
        loop {
            let b = &mut self.tins[self.current];
            if b.deficit >= 0 && has_flows(b) {
                return Some(());
            }
            if b.deficit <= 0 {
                b.deficit += i32::from(b.quantum);
            }
            empty &= !has_flows(b);
            self.current += 1;
            if self.current >= self.tins.len() {
                self.current = 0;
                if wrapped && empty {
                    return None;
                }
                wrapped = true;
            }
        }
    }

    /// The flow whose turn it is, once those without credit have got theirs (`flow isolation (DRR++)`).
    fn choose_flow(&mut self, mut first: bool) -> Option<usize> {
        let isolation = self.config.isolation;
        let b = &mut self.tins[self.current];
        loop {
            let decaying = b.chain.first(DECAYING);
            let index = decaying
                .filter(|_| first)
                .or_else(|| b.chain.first(NEW))
                .or_else(|| b.chain.first(OLD))
                .or(decaying)?;
            first = false;
            let flow = &mut b.flows[index];
            if flow.deficit > 0 {
                return Some(index);
            }
            if flow.set == Set::Sparse {
                if flow.fifo.len() > 0 {
                    flow.set = Set::Bulk;
                    b.sparse_flows -= 1;
                    b.bulk_flows += 1;
                    b.count_bulk(index, isolation, true);
                } else {
                    flow.set = Set::SparseWait;
                }
            }
            b.flows[index].deficit += b.flow_quantum(index, isolation, &mut self.rng);
            b.chain.move_to_tail(OLD, index);
        }
    }

    /// The next packet of a flow that the AQM lets pass (`Retrieve a packet via the AQM`).
    fn take(&mut self, index: usize, at: Time, dropped: &mut Vec<Dropped<P>>) -> Taken<P> {
        let (tin, now) = (self.current, at.as_nanos() as i64);
        loop {
            let b = &mut self.tins[tin];
            let Some((arrived, mut packet)) = b.flows[index].fifo.pop() else {
                self.rest(index, now);
                return Taken::Nothing;
            };
            let bytes = packet.wire_bytes();
            self.forget(tin, index, bytes);
            let b = &mut self.tins[tin];
            let bulk = if self.config.ingress { u32::from(b.bulk_flows) } else { 0 };
            let flow = &mut b.flows[index];
            let (sojourn, markable) = ((at - arrived).as_nanos(), packet.ecn() != Ecn::NotEct);
            let signal = flow.cobalt.decide(&b.params, now, sojourn, markable, bulk, &mut self.rng);
            let marked = signal.mark && packet.ecn() != Ecn::Ce;
            if marked {
                packet.mark_ce();
            }
            // The last packet of a flow may be marked, but is not dropped.
            let pass = !signal.drop || flow.fifo.len() == 0;
            if pass || self.config.ingress {
                let charged = self.charge(tin, bytes, now, !pass);
                let b = &mut self.tins[tin];
                b.flows[index].deficit -= charged;
                b.deficit -= charged;
            }
            if pass {
                self.fattest.timeout = self.fattest.timeout.saturating_sub(1);
                return Taken::Packet(Dequeued { packet, marked });
            }
            dropped.push((DropCause::Aqm, packet));
            if self.config.ingress {
                return Taken::Dropped;
            }
        }
    }

    /// An empty flow leaves the rotation, to decay first if its AQM is not at rest.
    fn rest(&mut self, index: usize, now: i64) {
        let isolation = self.config.isolation;
        let b = &mut self.tins[self.current];
        let flow = &mut b.flows[index];
        flow.cobalt.on_empty(&b.params, now);
        let decays = flow.cobalt.p_drop > 0 || flow.cobalt.count > 0 || now < flow.cobalt.drop_next;
        match flow.set {
            Set::Bulk => {
                b.bulk_flows -= 1;
                b.count_bulk(index, isolation, false);
            }
            Set::Sparse | Set::SparseWait => b.sparse_flows -= 1,
            Set::None | Set::Decaying => {}
        }
        if decays {
            b.chain.move_to_tail(DECAYING, index);
            b.flows[index].set = Set::Decaying;
        } else {
            b.chain.remove(index);
            b.flows[index].set = Set::None;
        }
    }
}

/// What a flow gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Taken<P> {
    /// A packet to send.
    Packet(Dequeued<P>),
    /// A drop, after which the flows are asked again.
    Dropped,
    /// It was empty.
    Nothing,
}

#[cfg(test)]
mod tests;
