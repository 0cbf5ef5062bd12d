//! The links and routes of a scenario, in scheduled time.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cwndlab_engine::{Routes, Scenario, ScenarioError, Streams};
use cwndlab_net::impair::ImpairmentConfig;

use cwndlab_net::queue::Regions;
use cwndlab_net::{DropCause, Ecn, Link, LinkCounters, Offered, Packet};
use cwndlab_units::Time;

use crate::buffers::Buffers;
use crate::header::{Header, Tcp};

/// Marks the end of a route in `Network::hops`, where the packet is delivered.
const DELIVER: u32 = u32::MAX;

/// A packet inside the router.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LivePacket {
    /// Serial number of the packet in order of entry, from 0. A duplicate has the number of its original.
    pub id: u64,
    pub(crate) buffer: u32,
    wire_bytes: u32,
    flow_key: u64,
    payload: (u32, u32),
    /// Position in `Network::hops` of the link that the packet is on, or of [`DELIVER`].
    hop: u32,
    /// The port through which the packet leaves.
    pub(crate) port: u32,
    ecn: Ecn,
}

impl LivePacket {
    /// Whether the packet carries CE now.
    pub fn is_ce(&self) -> bool {
        self.ecn == Ecn::Ce
    }
}

impl Packet for LivePacket {
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow_key(&self) -> u64 {
        self.flow_key
    }
    fn payload(&self) -> (u32, u32) {
        self.payload
    }
}

/// What happened to a packet, at a scheduled time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A queue or a loss model of a link dropped the packet.
    Dropped(u32, DropCause),
    /// A link's queue marked the packet CE.
    Marked(u32),
    /// The packet has reached its port, where the driver has to write it.
    Delivered,
}

/// Lower bounds on the times that a packet needs on a link and after it, computed for the smallest packet.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// From the start of the packet's transmission to its arrival at the link's far end.
    here: Time,
    /// From the link's far end to the packet's delivery, on the shortest of the routes; [`Time::MAX`] if no route uses
    /// the link.
    beyond: Time,
}

/// The smallest packet: an IPv4 header.
const LEAST_BYTES: u32 = 20;

/// Links, routes and the packets on them. For each packet that it reads, the driver calls [`Network::advance`] up to
/// the time at which the packet was read, and then [`Network::inject`] at this time. Times must not decrease. Between
/// these calls the driver waits at most until [`Network::next_exit`].
#[derive(Debug)]
pub struct Network {
    links: Vec<Link<LivePacket>>,
    /// For each link, the next time at which [`Network::advance`] has to process it.
    due: Vec<Time>,
    /// For each link, lower bounds on the time that a packet on it still needs.
    ahead: Vec<Ahead>,
    /// For each link, a time before which no packet on it can be delivered.
    exits: Vec<Time>,
    /// The links of all routes, one route after the other. [`DELIVER`] ends each route.
    hops: Vec<u32>,
    /// Start in `hops` of the route between two ports.
    routes: BTreeMap<(u32, u32), u32>,
    port_of: BTreeMap<Ipv4Addr, u32>,
    /// For each flow key, the sequence number of the first byte of data; `None` if no link has an
    /// [`ImpairmentConfig::DropSeq`].
    initial: Option<BTreeMap<u64, u32>>,
    buffers: Buffers,
    entered: u64,
    now: Time,
}

impl Network {
    /// The network of a checked scenario. Each port is given by its node and addresses.
    ///
    /// # Errors
    ///
    /// If an explicit route of the scenario is invalid. Ports without a path between them are left unconnected.
    pub fn new(
        scenario: &Scenario,
        streams: Streams,
        ports: &[(u32, Vec<Ipv4Addr>)],
    ) -> Result<Network, ScenarioError> {
        let mut links = Vec::new();
        for spec in &scenario.links {
            let rng = streams.stream(&format!("link:{}", spec.name));
            links.push(spec.build(&spec.queue, rng));
        }
        let scripted = |impairment: &ImpairmentConfig| matches!(impairment, ImpairmentConfig::DropSeq { .. });
        let by_sequence = scenario.links.iter().flat_map(|link| &link.impairments).any(scripted);
        let least = scenario.links.iter().map(|spec| Ahead { here: spec.least_time(LEAST_BYTES), beyond: Time::MAX });
        let mut network = Network {
            due: vec![Time::MAX; links.len()],
            ahead: least.collect(),
            exits: vec![Time::MAX; links.len()],
            links,
            hops: Vec::new(),
            routes: BTreeMap::new(),
            port_of: BTreeMap::new(),
            initial: by_sequence.then(BTreeMap::new),
            buffers: Buffers::default(),
            entered: 0,
            now: Time::ZERO,
        };
        let mut routes = Routes::new(scenario);
        for (port, (node, addresses)) in ports.iter().enumerate() {
            network.port_of.extend(addresses.iter().map(|&address| (address, port as u32)));
            for (other, (to, _)) in ports.iter().enumerate().filter(|&(_, (to, _))| to != node) {
                if let Some(links) = routes.between(scenario, *node, *to)? {
                    network.routes.insert((port as u32, other as u32), network.hops.len() as u32);
                    let mut beyond = Time::ZERO;
                    for ahead in links.iter().rev().map(|&link| link as usize) {
                        let ahead = &mut network.ahead[ahead];
                        ahead.beyond = ahead.beyond.min(beyond);
                        beyond += ahead.here;
                    }
                    network.hops.extend(links);
                    network.hops.push(DELIVER);
                }
            }
        }
        Ok(network)
    }

    /// A time before which no packet in the network can be delivered; [`Time::MAX`] if there are no packets. The driver
    /// may wait until then: nothing is visible from outside earlier, and events have their scheduled times even if they
    /// are processed later.
    pub fn next_exit(&self) -> Time {
        self.exits.iter().copied().min().unwrap_or(Time::MAX)
    }

    /// Accepts a packet that was read from `port` at `now`. [`Network::advance`] must have been called up to `now`.
    /// Returns the packet's number, or `None` if no port has its destination address or no route leads to that port.
    pub fn inject(
        &mut self,
        now: Time,
        port: u32,
        header: &Header,
        bytes: &[u8],
        mut report: impl FnMut(&Network, Time, &LivePacket, Event),
    ) -> Option<u64> {
        let to = *self.port_of.get(&header.destination)?;
        let hop = *self.routes.get(&(port, to))?;
        let id = self.entered;
        self.entered += 1;
        let packet = LivePacket {
            id,
            buffer: self.buffers.insert(bytes),
            wire_bytes: header.total_bytes,
            flow_key: header.flow_key(),
            payload: self.payload(header),
            hop,
            port: to,
            ecn: header.ecn,
        };
        self.now = self.now.max(now);
        self.forward(self.now, packet, &mut report);
        Some(id)
    }

    /// Processes everything that is scheduled up to `now`, in the order of the schedule (at equal times, by the link's
    /// index).
    pub fn advance(&mut self, now: Time, mut report: impl FnMut(&Network, Time, &LivePacket, Event)) {
        while let Some((index, at)) = self.earliest().filter(|&(_, at)| at <= now) {
            self.now = self.now.max(at);
            let link = &mut self.links[index];
            if link.next_service() <= at {
                link.serve(at);
                self.after_queue(index, at, &mut report);
            }
            while let Some(packet) = self.links[index].arrive(at) {
                self.forward(at, LivePacket { hop: packet.hop + 1, ..packet }, &mut report);
            }
            self.update_due(index);
        }
        self.now = self.now.max(now);
    }

    fn earliest(&self) -> Option<(usize, Time)> {
        self.due.iter().copied().enumerate().min_by_key(|&(_, at)| at)
    }

    /// Passes a packet to the link of its hop, or reports its delivery.
    fn forward(&mut self, at: Time, packet: LivePacket, report: &mut impl FnMut(&Network, Time, &LivePacket, Event)) {
        let index = self.hops[packet.hop as usize];
        if index == DELIVER {
            report(self, at, &packet, Event::Delivered);
            self.buffers.release(packet.buffer);
            return;
        }
        let link = &mut self.links[index as usize];
        let offered = link.offer(at, &packet);
        let copy = link.pop_copy();
        if let Some(copy) = &copy {
            self.buffers.share(copy.buffer); // before the original is dropped, which releases the buffer
        }
        self.after_offer(index, at, &packet, offered, report);
        self.after_queue(index as usize, at, report);
        if let Some(copy) = copy {
            let offered = self.links[index as usize].offer_copy(at, &copy);
            self.after_offer(index, at, &copy, offered, report);
            self.after_queue(index as usize, at, report);
        }
        self.update_due(index as usize);
    }

    fn after_offer(
        &mut self,
        index: u32,
        at: Time,
        packet: &LivePacket,
        offered: Offered,
        report: &mut impl FnMut(&Network, Time, &LivePacket, Event),
    ) {
        match offered {
            Offered::Queued => {}
            Offered::Marked => report(self, at, &LivePacket { ecn: Ecn::Ce, ..*packet }, Event::Marked(index)),
            Offered::Dropped(cause) => {
                report(self, at, packet, Event::Dropped(index, cause));
                self.buffers.release(packet.buffer);
            }
        }
    }

    /// Reports the packets that a link's queue dropped or marked when the link was last called. Does nothing for a
    /// queue that decides about drops and marks when packets arrive.
    fn after_queue(&mut self, index: usize, at: Time, report: &mut impl FnMut(&Network, Time, &LivePacket, Event)) {
        if !self.links[index].is_served() {
            return;
        }
        while let Some((cause, packet)) = self.links[index].pop_dropped() {
            report(self, at, &packet, Event::Dropped(index as u32, cause));
            self.buffers.release(packet.buffer);
        }
        if let Some(packet) = self.links[index].take_marked() {
            report(self, at, &packet, Event::Marked(index as u32));
        }
    }

    fn update_due(&mut self, index: usize) {
        let link = &self.links[index];
        let (arrival, service) = (link.next_arrival(), link.next_service());
        self.due[index] = arrival.min(service);
        let Ahead { here, beyond } = self.ahead[index];
        self.exits[index] = arrival.min(service + here) + beyond;
    }

    /// The stream offset and the length of the TCP payload. Offsets count from the first byte after the flow's SYN.
    /// Both are 0 unless a link has an [`ImpairmentConfig::DropSeq`].
    fn payload(&mut self, header: &Header) -> (u32, u32) {
        let (Some(initial), Some(tcp)) = (&mut self.initial, header.tcp) else { return (0, 0) };
        let key = header.flow_key();
        if tcp.flags & Tcp::SYN != 0 {
            initial.insert(key, tcp.seq.wrapping_add(1));
        }
        let first = initial.get(&key).copied().unwrap_or(tcp.seq);
        (tcp.seq.wrapping_sub(first), tcp.payload)
    }

    /// The bytes of a packet, as the router read them.
    pub fn bytes(&self, packet: &LivePacket) -> &[u8] {
        self.buffers.bytes(packet.buffer)
    }
    /// Number of packets that have entered so far. The next packet gets this number as its `id`.
    pub fn entered(&self) -> u64 {
        self.entered
    }
    /// Number of packets in the network.
    pub fn packets_inside(&self) -> usize {
        self.buffers.in_use()
    }
    /// A link's counters up to `now`.
    pub fn counters(&mut self, link: usize, now: Time) -> LinkCounters {
        self.links[link].counters_at(now)
    }
    /// The state of a link's queue at `now`: packets and bytes, including the packet in service, and RED's average
    /// length.
    pub fn queue(&mut self, link: usize, now: Time) -> (u32, u64, Option<f64>) {
        let backlog = self.links[link].backlog(now);
        (backlog.packets, backlog.bytes, self.links[link].average())
    }
    /// The time that a link's RED average spent below, between and above its thresholds.
    pub fn regions(&mut self, link: usize, now: Time) -> Option<Regions> {
        self.links[link].regions(now)
    }
}

#[cfg(test)]
mod tests;
