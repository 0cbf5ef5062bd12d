//! The links and routes of a scenario, in scheduled time.

use std::collections::BTreeMap;
use std::net::IpAddr;

use cwndlab_engine::{LinkSpec, Routes, Scenario, ScenarioError, Streams};
use cwndlab_net::impair::ImpairmentConfig;
use cwndlab_net::network::{Network, Schedule, Wire};
use cwndlab_net::queue::{QueueConfig, Regions, RouteHosts};
use cwndlab_net::{Ack, DropCause, Ecn, LinkCounters, Packet};
use cwndlab_units::Time;

use crate::buffers::Buffers;
use crate::header::{fingerprint, Header, Tcp};

mod gate;

use gate::Gate;

/// Marks the end of a route in `LiveNetwork::hops`, where the packet is delivered.
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
    dscp: u8,
    ack: Option<Ack>,
    /// Position in `LiveNetwork::hops` of the next link, or of [`DELIVER`].
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
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn route_position(&self) -> u32 {
        self.hop
    }
    fn ack(&self) -> Option<Ack> {
        self.ack
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
    /// The packet has reached a link whose queue is a kernel's. The driver has to write it to the queue's device, and
    /// to call [`LiveNetwork::leave`] when it leaves the device.
    Queued(u32),
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

/// Links, routes and the packets on them. For each packet that it reads, the driver calls [`LiveNetwork::advance`] up to
/// the time at which the packet was read, and then [`LiveNetwork::inject`] at this time. Times must not decrease. Between
/// these calls the driver waits at most until [`LiveNetwork::next_exit`].
#[derive(Debug)]
pub struct LiveNetwork {
    /// The links. Their due times are the whole schedule.
    wires: Vec<Wire<LivePacket>>,
    /// For each link, lower bounds on the time that a packet on it still needs.
    ahead: Vec<Ahead>,
    /// The queues that are a kernel's, by link.
    gates: BTreeMap<u32, Gate>,
    /// The links of all routes, one route after the other. [`DELIVER`] ends each route.
    hops: Vec<u32>,
    /// Start in `hops` of the route between two ports.
    routes: BTreeMap<(u32, u32), u32>,
    port_of: BTreeMap<IpAddr, u32>,
    /// For each flow key, the sequence number of the first byte of data; `None` if no link has an
    /// [`ImpairmentConfig::DropSeq`].
    initial: Option<BTreeMap<u64, u32>>,
    buffers: Buffers,
    entered: u64,
    now: Time,
}

/// A network, and the function that gets its events.
struct Reported<'a, R> {
    network: &'a mut LiveNetwork,
    report: R,
    schedule: NoSchedule,
}

/// The links' due times are looked up instead.
struct NoSchedule;

impl Schedule for NoSchedule {
    fn arrival(&mut self, _: Time, _: u32, _: bool) {}
    fn service(&mut self, _: Time, _: u32) {}
}

impl<R: FnMut(&LiveNetwork, Time, &LivePacket, Event)> Reported<'_, R> {
    fn report(&mut self, packet: &LivePacket, event: Event) {
        (self.report)(self.network, self.network.now, packet, event);
    }

    /// Whether a link's queue is a kernel's, which the packet then enters.
    fn enter_gate(&mut self, link: u32, packet: &LivePacket) -> bool {
        let network = &mut *self.network;
        let Some(gate) = network.gates.get_mut(&link) else { return false };
        let sending = network.wires[link as usize].link.backlog(network.now).packets;
        gate.enter(network.now, *packet, fingerprint(network.buffers.bytes(packet.buffer)), sending);
        self.report(packet, Event::Queued(link));
        true
    }

    /// Reports the end of a packet, and releases its bytes.
    fn end(&mut self, packet: &LivePacket, event: Event) {
        self.report(packet, event);
        self.network.buffers.release(packet.buffer);
    }
}

impl<R: FnMut(&LiveNetwork, Time, &LivePacket, Event)> Network for Reported<'_, R> {
    type Packet = LivePacket;
    type Schedule = NoSchedule;

    fn now(&self) -> Time {
        self.network.now
    }
    fn wire(&mut self, link: u32) -> (&mut Wire<LivePacket>, &mut NoSchedule) {
        (&mut self.network.wires[link as usize], &mut self.schedule)
    }
    fn next_link(&self, packet: &LivePacket) -> Option<u32> {
        Some(self.network.hops[packet.hop as usize]).filter(|&link| link != DELIVER)
    }
    fn onward(packet: &LivePacket) -> LivePacket {
        LivePacket { hop: packet.hop + 1, ..*packet }
    }
    fn offer(&mut self, link: u32, packet: &LivePacket) {
        if self.network.gates.is_empty() || !self.enter_gate(link, packet) {
            self.offer_to_link(link, packet);
        }
    }
    fn on_copied(&mut self, _: u32, copy: &mut LivePacket) {
        self.network.buffers.share(copy.buffer);
    }
    fn on_marked(&mut self, link: u32, packet: &LivePacket) {
        self.report(packet, Event::Marked(link));
    }
    fn on_dropped(&mut self, link: u32, cause: DropCause, packet: &LivePacket) {
        self.end(packet, Event::Dropped(link, cause));
    }
    fn on_arrived(&mut self, _: u32, _: &LivePacket) {}
    fn on_delivered(&mut self, packet: &LivePacket, _: bool) {
        self.end(packet, Event::Delivered);
    }
    fn on_queue_changed(&mut self, _: u32) {}
}

impl LiveNetwork {
    /// The network of a checked scenario. Each port is given by its node and addresses.
    ///
    /// # Errors
    ///
    /// If an explicit route of the scenario is invalid. Ports without a path between them are left unconnected.
    pub fn new(
        scenario: &Scenario,
        streams: Streams,
        ports: &[(u32, Vec<IpAddr>)],
    ) -> Result<LiveNetwork, ScenarioError> {
        let scripted = |impairment: &ImpairmentConfig| matches!(impairment, ImpairmentConfig::DropSeq { .. });
        let by_sequence = scenario.links.iter().flat_map(|link| &link.impairments).any(scripted);
        let least = scenario.links.iter().map(|spec| Ahead { here: spec.least_time(LEAST_BYTES), beyond: Time::MAX });
        let mut network = LiveNetwork {
            wires: Vec::new(),
            ahead: least.collect(),
            gates: gates(scenario),
            hops: Vec::new(),
            routes: BTreeMap::new(),
            port_of: BTreeMap::new(),
            initial: by_sequence.then(BTreeMap::new),
            buffers: Buffers::default(),
            entered: 0,
            now: Time::ZERO,
        };
        let (mut routes, mut hosts) = (Routes::new(scenario), Vec::new());
        for (port, (node, addresses)) in ports.iter().enumerate() {
            network.port_of.extend(addresses.iter().map(|&address| (address, port as u32)));
            for (other, (to, _)) in ports.iter().enumerate().filter(|&(_, (to, _))| to != node) {
                // A packet's hash would have to be that of its connection: studies on a kernel have no ECMP.
                if let Some(links) = routes.between(scenario, *node, *to)?.into_iter().next() {
                    let start = network.hops.len() as u32;
                    network.routes.insert((port as u32, other as u32), start);
                    hosts.push(RouteHosts { start, source: *node, destination: *to });
                    let mut beyond = Time::ZERO;
                    for link in links.iter().rev() {
                        let ahead = &mut network.ahead[*link as usize];
                        ahead.beyond = ahead.beyond.min(beyond);
                        // A packet that meets a kernel's queue leaves the network for a while.
                        beyond = if network.gates.contains_key(link) { Time::ZERO } else { beyond + ahead.here };
                    }
                    network.hops.extend(links);
                    network.hops.push(DELIVER);
                }
            }
        }
        let wire = |spec: &LinkSpec| {
            let rng = streams.stream(&format!("link:{}", spec.name));
            let mut queue = spec.queue.clone();
            queue.number_hosts(&hosts);
            Wire::new(spec.build(&queue, rng))
        };
        network.wires = scenario.links.iter().map(wire).collect();
        Ok(network)
    }

    /// A time before which no packet in the network can be delivered; [`Time::MAX`] if there are no packets. The driver
    /// may wait until then: nothing is visible from outside earlier, and events have their scheduled times even if they
    /// are processed later.
    pub fn next_exit(&self) -> Time {
        let exit = |(wire, ahead): (&Wire<LivePacket>, &Ahead)| {
            wire.arrival_due.min(wire.service_due + ahead.here) + ahead.beyond
        };
        self.wires.iter().zip(&self.ahead).map(exit).min().unwrap_or(Time::MAX)
    }

    /// Accepts a packet that was read from `port` at `now`. [`LiveNetwork::advance`] must have been called up to `now`.
    /// Returns the packet's number, or `None` if no port has its destination address or no route leads to that port.
    pub fn inject(
        &mut self,
        now: Time,
        port: u32,
        header: &Header,
        bytes: &[u8],
        report: impl FnMut(&LiveNetwork, Time, &LivePacket, Event),
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
            dscp: header.dscp,
            ack: header.ack(bytes),
            hop,
            port: to,
            ecn: header.ecn,
        };
        self.now = self.now.max(now);
        Reported { network: self, report, schedule: NoSchedule }.forward(&packet);
        Some(id)
    }

    /// A packet leaves the kernel's queue of a link at `now`. [`LiveNetwork::advance`] must have been called up to `now`.
    /// Returns whether the packet had entered that queue.
    pub fn leave(
        &mut self,
        now: Time,
        link: u32,
        header: &Header,
        bytes: &[u8],
        report: impl FnMut(&LiveNetwork, Time, &LivePacket, Event),
    ) -> bool {
        let Some(gate) = self.gates.get_mut(&link) else { return false };
        let (cause, mut dropped, is_ce) = (gate.cause(), Vec::new(), header.ecn == Ecn::Ce);
        let flow = (header.flow_key(), header.dscp);
        let Some((packet, marked)) = gate.leave(now, flow, fingerprint(bytes), is_ce, &mut dropped) else {
            return false;
        };
        self.now = self.now.max(now);
        let mut reported = Reported { network: self, report, schedule: NoSchedule };
        for packet in dropped {
            reported.end(&packet, Event::Dropped(link, cause));
        }
        if marked {
            reported.report(&packet, Event::Marked(link));
        }
        reported.offer_to_link(link, &packet);
        true
    }

    /// Processes everything that is scheduled up to `now`, in the order of the schedule (at equal times, by the link's
    /// index).
    pub fn advance(&mut self, now: Time, report: impl FnMut(&LiveNetwork, Time, &LivePacket, Event)) {
        let mut reported = Reported { network: self, report, schedule: NoSchedule };
        while let Some((link, at)) = reported.network.earliest().filter(|&(_, at)| at <= now) {
            reported.network.now = at;
            reported.serve(link);
            while reported.network.wires[link as usize].arrival_due == at {
                reported.arrive(link);
            }
        }
        self.now = self.now.max(now);
    }

    /// The link with the earliest event, and its time.
    fn earliest(&self) -> Option<(u32, Time)> {
        let due = self.wires.iter().map(|wire| wire.arrival_due.min(wire.service_due));
        (0..).zip(due).min_by_key(|&(_, at)| at)
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
        let mut counters = self.wires[link].link.counters_at(now);
        if let Some(gate) = self.gates.get(&(link as u32)) {
            gate.count(now, &mut counters);
        }
        counters
    }
    /// The state of a link's queue at `now`: packets and bytes, including the packet in service, and RED's average
    /// length.
    pub fn queue(&mut self, link: usize, now: Time) -> (u32, u64, Option<f64>) {
        let backlog = self.wires[link].link.backlog(now);
        let (packets, bytes) = self.gates.get(&(link as u32)).map_or((0, 0), Gate::backlog);
        (backlog.packets + packets, backlog.bytes + bytes, self.wires[link].link.average())
    }
    /// The time that a link's RED average spent below, between and above its thresholds.
    pub fn regions(&mut self, link: usize, now: Time) -> Option<Regions> {
        self.wires[link].link.regions(now)
    }
}

/// The queues of a scenario that are a kernel's, by link.
fn gates(scenario: &Scenario) -> BTreeMap<u32, Gate> {
    let gate = |(link, spec): (u32, &LinkSpec)| match &spec.queue {
        QueueConfig::Kernel(config) => Some((link, Gate::new(config))),
        _ => None,
    };
    (0..).zip(&scenario.links).filter_map(gate).collect()
}

#[cfg(test)]
mod tests;
