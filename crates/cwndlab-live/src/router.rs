//! The router's main loop: wait, read, advance, write. It runs in a process ([`crate::devices`]) and inside a kernel
//! ([`crate::inside`]).

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use cwndlab_engine::Streams;
use cwndlab_net::Ecn;
use cwndlab_records::kernel::trace::Line;
use cwndlab_records::kernel::LinkSummary;
use cwndlab_units::Time;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::capture::Capture;
use crate::config::{CaptureConfig, RouterConfig};
use crate::datagrams::{Datagram, Senders};
use crate::header::{mark_ce, set_ecn, Header, UDP};
use crate::network::{Event, LiveNetwork, LivePacket};
use crate::report::{self, Lateness, PortSummary, Summary};
use crate::trace::{line_of, Trace};

/// Maximum number of packets read from one port before the router turns to the other ports and the schedule.
const BATCH: usize = 32;
/// After a packet from a port, the router tries to read another at once only if the packet followed the port's previous
/// one within this time. Most packets arrive alone, and a second read for each of them would waste a system call. If
/// another packet is available nevertheless, the next wait returns immediately.
const CLOSE: Time = Time::from_micros(20);
/// The largest IP packet (of IPv6, without jumbograms, of the same size).
const MAX_PACKET: usize = 65_535;

/// The clock and the ports of the system that a router runs on. Ports are known by their index in the configuration.
pub(crate) trait System {
    /// The monotonic clock, in nanoseconds.
    fn now_ns(&self) -> u64;
    /// CPU time that the router has used, in nanoseconds.
    fn cpu_ns(&self) -> u64;
    /// Waits until a port has a packet, but at most until the given time. Writes the ports with packets to `ready`, and
    /// returns whether the router is to end.
    fn wait(&mut self, until_ns: Option<u64>, ready: &mut Vec<u32>) -> io::Result<bool>;
    /// Takes a packet from a port, and returns its length. `None`: there is no packet, or the device is down.
    fn read(&mut self, port: u32, buffer: &mut [u8]) -> Option<usize>;
    /// Sends a packet to a port. Returns whether the port's device accepted it.
    fn write(&mut self, port: u32, packet: &[u8]) -> bool;
    /// Packets that the kernel has dropped at a port.
    fn drops(&mut self, port: u32) -> io::Result<u64>;
}

/// Facts about the machine.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Host {
    /// The kernel's release.
    pub kernel: String,
    /// Whether real-time scheduling was granted.
    pub real_time: bool,
    /// The MTU of each port's device.
    pub mtus: Vec<u32>,
}

/// Why the router failed.
#[derive(Debug, Error)]
pub enum RouterError {
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What the router tried to do.
        what: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// An explicit route of the scenario is invalid.
    #[error("scenario: {0}")]
    Scenario(#[from] cwndlab_engine::ScenarioError),
    /// The router inside the kernel failed.
    #[error("{0}")]
    Inside(String),
}

pub(crate) fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> RouterError {
    let what = what.into();
    move |source| RouterError::System { what, source }
}

/// What the router knows of a port.
#[derive(Debug)]
struct Port {
    mtu: u32,
    /// The link whose queue the device is, if it is one.
    link: Option<u32>,
    /// Source addresses whose packets get ECT(1) in place of ECT(0).
    ect1: Vec<IpAddr>,
    drops_at_start: u64,
    last_read: Time,
    summary: PortSummary,
}

/// Handles the packets and events that leave the network. It has the ports, which write packets, the distribution of
/// lateness, and the files of the trace and the capture.
struct Exits<S> {
    system: S,
    ports: Vec<Port>,
    lateness: Lateness,
    trace: Option<Trace>,
    capture: Option<Capture>,
    trace_error: Option<io::Error>,
    scratch: Vec<u8>,
    start_ns: u64,
    /// The ports of links' queues that are a kernel's, by link.
    queues: BTreeMap<u32, u32>,
    /// The addresses, sorted, between which the router itself sends datagrams. It removes UDP packets there instead of
    /// writing them to a port.
    datagram_ends: Vec<IpAddr>,
}

impl<S: System> Exits<S> {
    /// The time since the start; zero before the start.
    fn now(&self) -> Time {
        Time::from_nanos(self.system.now_ns().saturating_sub(self.start_ns))
    }

    fn on_event(&mut self, network: &LiveNetwork, at: Time, packet: &LivePacket, event: Event) {
        let bytes = network.bytes(packet);
        let ce = packet.is_ce();
        let to = match event {
            Event::Delivered => (!self.is_own_datagram(bytes)).then_some(packet.port),
            Event::Queued(link) => Some(self.queues[&link]),
            Event::Dropped(..) | Event::Marked(_) => None,
        };
        if let Some(port) = to {
            // A duplicate without the mark may share the bytes, so the mark is set in a copy.
            self.scratch.clear();
            self.scratch.extend_from_slice(bytes);
            if ce {
                mark_ce(&mut self.scratch);
            }
            let summary = &mut self.ports[port as usize].summary;
            if self.system.write(port, &self.scratch) {
                summary.written += 1;
            } else {
                summary.write_errors += 1;
            }
            self.lateness.add(self.now().saturating_sub(at));
        }
        if let Some(line) = line_of(event, packet.port) {
            self.record(at, line, packet.id, bytes, ce);
        }
    }

    fn is_own_datagram(&self, bytes: &[u8]) -> bool {
        if self.datagram_ends.is_empty() {
            return false;
        }
        let header = Header::parse(bytes).expect("it was parsed as it entered");
        header.protocol == UDP && self.datagram_ends.binary_search(&header.destination).is_ok()
    }

    /// Injects a datagram that the router itself sends into the network.
    fn enter(&mut self, network: &mut LiveNetwork, at: Time, datagram: &Datagram) {
        let bytes = &datagram.bytes;
        let header = Header::parse(bytes).expect("the router made it");
        self.record(at, Line::In(datagram.port), network.entered(), bytes, false);
        network.inject(at, datagram.port, &header, bytes, |network, at, packet, event| {
            self.on_event(network, at, packet, event);
        });
    }

    fn record(&mut self, at: Time, line: Line, id: u64, bytes: &[u8], ce: bool) {
        if let Some(trace) = &mut self.trace {
            if let Err(error) = trace.packet(at, line, id, bytes, ce) {
                self.trace_error.get_or_insert(error);
            }
        }
        if let Some(capture) = &mut self.capture {
            if let Err(error) = capture.packet(at, line, id, bytes, ce) {
                self.trace_error.get_or_insert(error);
            }
        }
    }
}

/// A router that is ready to run.
pub(crate) struct Router<'a, S> {
    config: &'a RouterConfig,
    host: Host,
    network: LiveNetwork,
    sampler: Sampler,
    exits: Exits<S>,
}

impl<'a, S: System> Router<'a, S> {
    pub(crate) fn new(config: &'a RouterConfig, mut system: S, host: Host) -> Result<Router<'a, S>, RouterError> {
        // Devices of queues are no ends of routes, so they get no place.
        let hosts = config.ports.iter().filter(|port| port.link.is_none());
        let places: Vec<(u32, Vec<IpAddr>)> = hosts.map(|port| (port.node, port.addresses.clone())).collect();
        let network = LiveNetwork::new(&config.scenario, Streams::new(config.seed, config.replicate), &places)?;
        let sampler = Sampler::new(config)?;
        let trace = match &config.trace {
            Some(path) => {
                let create = Trace::create(path, sampler.interval.is_some());
                Some(create.map_err(failed(format!("creating {}", path.display())))?)
            }
            None => None,
        };
        let capture = match &config.capture {
            Some(CaptureConfig { path, port }) => {
                let links = config.scenario.links.iter().map(|link| link.name.clone()).collect();
                Some(
                    Capture::create(path, *port, links, config.scenario.network)
                        .map_err(failed(format!("creating {}", path.display())))?,
                )
            }
            None => None,
        };
        let mut ports = Vec::new();
        for (index, (port, &mtu)) in config.ports.iter().zip(&host.mtus).enumerate() {
            let device = port.device.name().to_owned();
            let drops = system.drops(index as u32);
            ports.push(Port {
                mtu,
                link: port.link,
                ect1: port.ect1.clone(),
                drops_at_start: drops.map_err(failed(format!("reading the statistics of {device}")))?,
                last_read: Time::ZERO,
                summary: PortSummary { device, ..PortSummary::default() },
            });
        }
        let ends = config.datagrams.iter().flat_map(|flow| [flow.client, flow.server]);
        let mut datagram_ends: Vec<IpAddr> = ends.map(|end| end.ip()).collect();
        datagram_ends.sort_unstable();
        let exits = Exits {
            system,
            ports,
            lateness: Lateness::default(),
            trace,
            capture,
            trace_error: None,
            scratch: Vec::with_capacity(MAX_PACKET),
            start_ns: 0,
            queues: (0..).zip(&config.ports).filter_map(|(index, port)| Some((port.link?, index))).collect(),
            datagram_ends,
        };
        Ok(Router { config, host, network, sampler, exits })
    }

    /// Runs until the configured time has passed or the router is to end. `start_ns` is its time 0 on the monotonic
    /// clock.
    pub(crate) fn run(mut self, start_ns: u64) -> Result<Summary, RouterError> {
        let Router { config, network, sampler, exits, .. } = &mut self;
        exits.start_ns = start_ns;
        let cpu_start = exits.system.cpu_ns();
        let end = config.duration_ns.unwrap_or(Time::MAX);
        let mut ready = Vec::new();
        let mut to_end = false;
        let mut buffer = vec![0; MAX_PACKET];
        loop {
            let now = exits.now();
            sampler.read_counters(config, network, exits, now);
            sampler.advance(network, exits, now);
            if now >= end || to_end {
                break;
            }
            // Samples of queues need no wake-up: they are taken for their scheduled times, even if the router is late.
            let next = network.next_exit().min(sampler.snapshot_at).min(sampler.senders.next()).min(end);
            let until = (!next.is_never()).then(|| start_ns + next.as_nanos());
            to_end = exits.system.wait(until, &mut ready).map_err(failed("waiting for packets"))?;
            for &port in &ready {
                read_port(port, network, exits, sampler, &mut buffer);
            }
        }
        let wall_ns = exits.system.now_ns().saturating_sub(start_ns);
        let cpu_ns = exits.system.cpu_ns() - cpu_start;
        finish_files(config, exits).map_err(failed("writing the trace"))?;
        Ok(self.summarize(wall_ns, cpu_ns))
    }

    fn summarize(self, wall_ns: u64, cpu_ns: u64) -> Summary {
        let Router { config, host, mut network, sampler, mut exits } = self;
        for (index, port) in exits.ports.iter_mut().enumerate() {
            let drops = exits.system.drops(index as u32).unwrap_or(port.drops_at_start);
            port.summary.kernel_drops = drops.saturating_sub(port.drops_at_start);
        }
        let lateness = exits.lateness;
        let ports: Vec<PortSummary> = exits.ports.into_iter().map(|port| port.summary).collect();
        let cpu_share = cpu_ns as f64 / wall_ns.max(1) as f64;
        let invalid_because = report::violations(&config.limits, &lateness, cpu_share, &ports);
        Summary {
            event: "summary",
            valid: invalid_because.is_empty(),
            invalid_because,
            kernel: host.kernel,
            wall_ns,
            cpu_share,
            real_time: host.real_time,
            packets: ports.iter().map(|port| port.written).sum(),
            lateness_p50_ns: lateness.percentile(0.5).as_nanos(),
            lateness_p99_ns: lateness.percentile(0.99).as_nanos(),
            lateness_p999_ns: lateness.percentile(0.999).as_nanos(),
            lateness_max_ns: lateness.percentile(1.0).as_nanos(),
            packets_inside: network.packets_inside(),
            ports,
            links: report::links(&config.scenario, &mut network, Time::from_nanos(wall_ns)),
            link_snapshots: sampler.snapshots,
        }
    }
}

fn finish_files<S>(config: &RouterConfig, exits: &mut Exits<S>) -> io::Result<()> {
    if let Some(error) = exits.trace_error.take() {
        return Err(error);
    }
    if let (Some(capture), Some(asked)) = (exits.capture.take(), &config.capture) {
        let node = config.ports[asked.port as usize].node;
        capture.finish(&config.scenario.nodes[node as usize])?;
    }
    exits.trace.take().map_or(Ok(()), Trace::finish)
}

fn read_port<S: System>(
    index: u32,
    network: &mut LiveNetwork,
    exits: &mut Exits<S>,
    sampler: &mut Sampler,
    buffer: &mut [u8],
) {
    for _ in 0..BATCH {
        let Some(length) = exits.system.read(index, buffer) else { return };
        let now = exits.now();
        sampler.advance(network, exits, now);
        let port = &mut exits.ports[index as usize];
        let alone = now > port.last_read + CLOSE;
        port.last_read = now;
        port.summary.read += 1;
        // What a kernel says to its neighbours in IPv6 is not the study's.
        let addressed = |header: &Header| header.destination.is_ipv4() || !header.destination.is_multicast();
        let Some(mut header) = Header::parse(&buffer[..length]).filter(addressed) else {
            port.summary.ignored += 1;
            continue;
        };
        if let Some(link) = port.link {
            let report =
                |network: &LiveNetwork, at, packet: &LivePacket, event| exits.on_event(network, at, packet, event);
            let has_entered = network.leave(now, link, &header, &buffer[..length], report);
            exits.ports[index as usize].summary.unroutable += u64::from(!has_entered);
            continue;
        }
        if header.ecn == Ecn::Ect0 && port.ect1.contains(&header.source) {
            set_ecn(buffer, Ecn::Ect1);
            header.ecn = Ecn::Ect1;
        }
        port.summary.oversized += u64::from(header.total_bytes > port.mtu);
        let bytes = &buffer[..header.total_bytes as usize];
        let next_id = network.entered();
        exits.record(now, Line::In(index), next_id, bytes, false);
        let report = |network: &LiveNetwork, at, packet: &LivePacket, event| exits.on_event(network, at, packet, event);
        if network.inject(now, index, &header, bytes, report).is_none() {
            exits.ports[index as usize].summary.unroutable += 1;
        }
        if alone {
            return;
        }
    }
}

/// Advances the network. At their scheduled times, takes samples of queues and sends the router's own datagrams.
struct Sampler {
    senders: Senders,
    queues: Vec<u32>,
    interval: Option<Time>,
    next: Time,
    /// The time of the next snapshot of the links' counters. `snapshots` has the counters at the previous snapshots.
    snapshot_at: Time,
    snapshots: Vec<Vec<LinkSummary>>,
}

impl Sampler {
    fn new(config: &RouterConfig) -> Result<Sampler, RouterError> {
        let senders = Senders::new(config)?;
        let probes = &config.scenario.probes;
        let interval = probes.queue_interval_ns.filter(|_| !probes.queues.is_empty() && config.trace.is_some());
        let next = if interval.is_some() { Time::ZERO } else { Time::MAX };
        let snapshot_at = config.snapshots_ns.first().copied().unwrap_or(Time::MAX);
        let queues = probes.queues.clone();
        Ok(Sampler { senders, queues, interval, next, snapshot_at, snapshots: Vec::new() })
    }

    /// Reads the links' counters at each snapshot up to `now`. The main loop wakes up for each snapshot, so none is
    /// read late.
    fn read_counters<S: System>(
        &mut self,
        config: &RouterConfig,
        network: &mut LiveNetwork,
        exits: &mut Exits<S>,
        now: Time,
    ) {
        while self.snapshot_at <= now {
            self.advance(network, exits, self.snapshot_at);
            self.snapshots.push(report::links(&config.scenario, network, self.snapshot_at));
            self.snapshot_at = config.snapshots_ns.get(self.snapshots.len()).copied().unwrap_or(Time::MAX);
        }
    }

    fn advance<S: System>(&mut self, network: &mut LiveNetwork, exits: &mut Exits<S>, now: Time) {
        while let Some(interval) = self.interval.filter(|_| self.next <= now) {
            self.advance_to(network, exits, self.next);
            for &link in &self.queues {
                let sample = network.queue(link as usize, self.next);
                let Some(trace) = &mut exits.trace else { continue };
                if let Err(error) = trace.queue(self.next, link, sample) {
                    exits.trace_error.get_or_insert(error);
                }
            }
            self.next += interval;
        }
        self.advance_to(network, exits, now);
    }

    /// Advances without taking samples of queues.
    fn advance_to<S: System>(&mut self, network: &mut LiveNetwork, exits: &mut Exits<S>, now: Time) {
        while self.senders.next() <= now {
            let at = self.senders.next();
            network.advance(at, |network, at, packet, event| exits.on_event(network, at, packet, event));
            self.senders.send(at, |datagram| exits.enter(network, at, &datagram));
        }
        network.advance(now, |network, at, packet, event| exits.on_event(network, at, packet, event));
    }
}

#[cfg(test)]
mod tests;
