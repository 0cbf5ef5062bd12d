//! A tin of CAKE: its flows, their hosts, and the set-associative hash that assigns them.

use super::chain::Chain;
use super::cobalt::{Cobalt, Params};
use super::config::{Isolation, Tins};
use crate::queue::fifo::Fifo;
use crate::Rng;
use rand::RngCore as _;

/// `CAKE_QUEUES`.
pub(super) const QUEUES: usize = 1024;
/// `CAKE_SET_WAYS`.
const WAYS: usize = 8;

/// The state of a flow (`CAKE_SET_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Set {
    #[default]
    None,
    Sparse,
    /// Counted as sparse, but in the rotation of bulk flows.
    SparseWait,
    Bulk,
    Decaying,
}

#[derive(Clone, Debug)]
pub(super) struct Flow<P> {
    pub fifo: Fifo<P>,
    pub deficit: i32,
    pub cobalt: Cobalt,
    pub set: Set,
    source: u16,
    destination: u16,
}

#[derive(Clone, Copy, Debug, Default)]
struct Host {
    source_tag: u32,
    destination_tag: u32,
    source_bulk: u16,
    destination_bulk: u16,
}

/// The hashes of a packet's flow and hosts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashes {
    pub flow: u32,
    pub source: u32,
    pub destination: u32,
}

/// `cake_tin_data`.
#[derive(Clone, Debug)]
pub(super) struct Tin<P> {
    pub flows: Vec<Flow<P>>,
    tags: Vec<u32>,
    hosts: Vec<Host>,
    pub chain: Chain,
    pub params: Params,
    flow_quantum: u16,
    pub rate_ns: u64,
    pub rate_shift: u32,
    pub time_next: i64,
    pub quantum: u16,
    pub deficit: i32,
    pub backlog: u32,
    pub sparse_flows: u16,
    pub bulk_flows: u16,
}

impl<P> Tin<P> {
    /// `cake_set_rate`. `rate` in bytes per second; 0 without a shaper.
    fn new(rate: u64, quantum: u32, mtu: u32, rtt_ns: u64) -> Tin<P> {
        let (rate_ns, rate_shift) = if rate == 0 { (0, 0) } else { time_of_byte(rate) };
        let flow_quantum = if rate == 0 { 1514 } else { (rate >> 12).clamp(300, 1514) as u16 };
        let mtu_time = (u64::from(mtu) * rate_ns) >> rate_shift;
        let target_ns = (rtt_ns / 20_000).max(1) * 1000; // tc: a twentieth, in microseconds
        let target = (mtu_time * 3 / 2).max(target_ns);
        let flow = || Flow {
            fifo: Fifo::default(),
            deficit: 0,
            cobalt: Cobalt::default(),
            set: Set::None,
            source: 0,
            destination: 0,
        };
        Tin {
            flows: (0..QUEUES).map(|_| flow()).collect(),
            tags: vec![0; QUEUES],
            hosts: vec![Host::default(); QUEUES],
            chain: Chain::new(QUEUES),
            params: Params { interval: (rtt_ns + target - target_ns).max(target * 2), target, mtu_time },
            flow_quantum,
            rate_ns,
            rate_shift,
            time_next: 0,
            quantum: quantum as u16,
            deficit: 0,
            backlog: 0,
            sparse_flows: 0,
            bulk_flows: 0,
        }
    }

    /// `cake_get_flow_quantum`: less for flows whose host has several; dithered, so that rounding errors do not add up.
    pub fn flow_quantum(&self, flow: usize, isolation: Isolation, rng: &mut Rng) -> i32 {
        let mut load = 1;
        let Flow { source, destination, .. } = self.flows[flow];
        if isolation.shares_source() {
            load = load.max(self.hosts[usize::from(source)].source_bulk);
        }
        if isolation.shares_destination() {
            load = load.max(self.hosts[usize::from(destination)].destination_bulk);
        }
        let dither = u32::from(rng.next_u64() as u16);
        ((u32::from(self.flow_quantum) * (65_535 / u32::from(load)) + dither) >> 16) as i32
    }

    /// Counts a flow as bulk for its hosts (`cake_inc_*host_bulk_flow_count`), or no more.
    pub fn count_bulk(&mut self, flow: usize, isolation: Isolation, more: bool) {
        let Flow { source, destination, .. } = self.flows[flow];
        let step = |count: &mut u16| {
            *count = if more { (*count + 1).min(QUEUES as u16) } else { count.saturating_sub(1) };
        };
        if isolation.shares_source() {
            step(&mut self.hosts[usize::from(source)].source_bulk);
        }
        if isolation.shares_destination() {
            step(&mut self.hosts[usize::from(destination)].destination_bulk);
        }
    }

    /// `cake_hash`: the queue of a packet's flow.
    pub fn assign(&mut self, hashes: Hashes, isolation: Isolation) -> usize {
        if isolation == Isolation::Flowblind {
            return 0;
        }
        let direct = hashes.flow as usize % QUEUES;
        if self.tags[direct] == hashes.flow && self.flows[direct].set != Set::None {
            return direct;
        }
        let set = direct - direct % WAYS;
        let way = |step: usize| set + (direct + step) % WAYS;
        let tagged = (0..WAYS).map(way).find(|&k| self.tags[k] == hashes.flow);
        let (index, allocate) = if let Some(found) = tagged {
            (found, self.flows[found].set == Set::None)
        } else if let Some(free) = (0..WAYS).map(way).find(|&k| self.flows[k].set == Set::None) {
            (free, true)
        } else {
            if self.flows[direct].set == Set::Bulk {
                self.count_bulk(direct, isolation, false);
            }
            (direct, true)
        };
        self.tags[index] = hashes.flow;
        if allocate {
            self.assign_hosts(index, hashes, isolation);
        }
        index
    }

    /// The part of `cake_hash` for the hosts of a flow that gets a queue.
    fn assign_hosts(&mut self, index: usize, hashes: Hashes, isolation: Isolation) {
        let bulk = self.flows[index].set == Set::Bulk;
        if isolation.shares_source() {
            let tags = |host: &Host| (host.source_tag, host.source_bulk);
            let found = self.host(hashes.source, tags);
            self.hosts[found].source_tag = hashes.source;
            self.flows[index].source = found as u16;
            if bulk {
                let count = &mut self.hosts[found].source_bulk;
                *count = (*count + 1).min(QUEUES as u16);
            }
        }
        if isolation.shares_destination() {
            let tags = |host: &Host| (host.destination_tag, host.destination_bulk);
            let found = self.host(hashes.destination, tags);
            self.hosts[found].destination_tag = hashes.destination;
            self.flows[index].destination = found as u16;
            if bulk {
                let count = &mut self.hosts[found].destination_bulk;
                *count = (*count + 1).min(QUEUES as u16);
            }
        }
    }

    /// The entry of a host: the one with its tag, one without bulk flows, or that of its hash.
    fn host(&self, hash: u32, tag_and_bulk: impl Fn(&Host) -> (u32, u16)) -> usize {
        let direct = hash as usize % QUEUES;
        let set = direct - direct % WAYS;
        let ways = || (0..WAYS).map(|step| set + (direct + step) % WAYS);
        ways()
            .find(|&k| tag_and_bulk(&self.hosts[k]).0 == hash)
            .or_else(|| ways().find(|&k| tag_and_bulk(&self.hosts[k]).1 == 0))
            .unwrap_or(direct)
    }
}

/// The time of a byte as a multiplication and a shift, at least 64 bytes/s.
fn time_of_byte(rate: u64) -> (u64, u32) {
    let (mut time, mut shift) = ((1_000_000_000_u64 << 34) / rate.max(64), 34);
    while time >> 34 != 0 {
        (time, shift) = (time >> 1, shift - 1);
    }
    (time, shift)
}

/// The tins of a preset, and which of them is the one whose rate is that of the whole (`cake_config_*`).
pub(super) fn tins<P>(preset: Tins, rate: u64, mtu: u32, rtt_ns: u64) -> Vec<Tin<P>> {
    let tin = |rate: u64, quantum: u32| Tin::new(rate, quantum.max(1), mtu, rtt_ns);
    match preset {
        Tins::Besteffort => vec![tin(rate, 65_535)],
        Tins::Precedence | Tins::Diffserv8 => {
            let fewer = |&(rate, quantum): &(u64, u32)| Some(((rate * 7) >> 3, (quantum * 7) >> 3));
            std::iter::successors(Some((rate, 256)), fewer).take(8).map(|(rate, quantum)| tin(rate, quantum)).collect()
        }
        Tins::Diffserv4 => [0, 4, 1, 2].map(|shift| tin(rate >> shift, 1024 >> shift)).into(),
        Tins::Diffserv3 => [0, 4, 2].map(|shift| tin(rate >> shift, 1024 >> shift)).into(),
    }
}

/// The tin of a codepoint.
pub(super) fn tin_of(preset: Tins, dscp: u8) -> usize {
    let tin = match preset {
        Tins::Besteffort => 0,
        Tins::Precedence => dscp >> 3,
        Tins::Diffserv3 => DIFFSERV3[usize::from(dscp)],
        Tins::Diffserv4 => DIFFSERV4[usize::from(dscp)],
        Tins::Diffserv8 => DIFFSERV8[usize::from(dscp)],
    };
    usize::from(tin)
}

#[rustfmt::skip]
const DIFFSERV8: [u8; 64] = [
    2, 0, 1, 2, 4, 2, 2, 2, 1, 2, 1, 2, 1, 2, 1, 2, 5, 2, 4, 2, 4, 2, 4, 2, 3, 2, 3, 2, 3, 2, 3, 2,
    6, 2, 3, 2, 3, 2, 3, 2, 6, 2, 2, 2, 6, 2, 6, 2, 7, 2, 2, 2, 2, 2, 2, 2, 7, 2, 2, 2, 2, 2, 2, 2,
];
#[rustfmt::skip]
const DIFFSERV4: [u8; 64] = [
    0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0,
    3, 0, 2, 0, 2, 0, 2, 0, 3, 0, 0, 0, 3, 0, 3, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
];
#[rustfmt::skip]
const DIFFSERV3: [u8; 64] = [
    0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
];

#[cfg(test)]
mod tests;
