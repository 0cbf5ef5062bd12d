//! The router's main loop: wait, read, advance, write.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd as _;

use cwndlab_engine::Streams;
use cwndlab_net::Ecn;
use cwndlab_records::kernel::trace::Line;
use cwndlab_records::kernel::LinkSummary;
use cwndlab_units::Time;
use thiserror::Error;

use crate::capture::Capture;
use crate::config::{parse_mac, CaptureConfig, DeviceConfig, PortConfig, RouterConfig};
use crate::datagrams::{Datagram, Senders};
use crate::header::{mark_ce, set_ecn, Header, UDP};
use crate::network::{Event, LivePacket, Network};
use crate::report::{self, Lateness, PortSummary, Summary};
use crate::sys::{self, Epoll, InNamespace, PacketSocket};
use crate::trace::{line_of, Trace};

/// Maximum number of packets read from one port before the router turns to the other ports and the schedule.
const BATCH: usize = 32;
/// After a packet from a port, the router tries to read another at once only if the packet followed the port's previous
/// one within this time. Most packets arrive alone, and a second read for each of them would waste a system call. If
/// another packet is available nevertheless, the next wait returns immediately.
const CLOSE: Time = Time::from_micros(20);
/// The largest IPv4 packet.
const MAX_PACKET: usize = 65_535;
/// The token by which epoll reports a signal that ends the router.
const TERMINATION: u64 = u64::MAX;

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
}

fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> RouterError {
    let what = what.into();
    move |source| RouterError::System { what, source }
}

/// A device through which packets enter and leave.
#[derive(Debug)]
struct Port {
    device: Device,
    mtu: u32,
    /// Source addresses whose packets get ECT(1) in place of ECT(0).
    ect1: Vec<Ipv4Addr>,
    /// `/proc/net/dev` of the device's namespace, which counts the packets that the kernel drops at the device.
    statistics: File,
    drops_at_start: u64,
    last_read: Time,
    summary: PortSummary,
}

#[derive(Debug)]
enum Device {
    Tun(File),
    Packet { socket: PacketSocket, peer: [u8; 6] },
}

impl Port {
    fn open(config: &PortConfig) -> Result<Port, RouterError> {
        let name = config.device.name();
        if let DeviceConfig::Packet { near: Some(near), .. } = &config.device {
            let entered = InNamespace::enter(&near.netns);
            let _near = entered.map_err(system(format!("entering network namespace {}", near.netns.display())))?;
            sys::turn_offloads_off(&near.name).map_err(system(format!("turning off the offloads of {}", near.name)))?;
            sys::wait_until_running(&near.name).map_err(system(format!("waiting for {}", near.name)))?;
        }
        let _there = match &config.netns {
            Some(path) => {
                let entered = InNamespace::enter(path);
                Some(entered.map_err(system(format!("entering network namespace {}", path.display())))?)
            }
            None => None,
        };
        let device = match &config.device {
            DeviceConfig::Tun { name } => {
                Device::Tun(sys::open_tun(name).map_err(system(format!("opening TUN device {name}")))?)
            }
            DeviceConfig::Packet { name, peer_mac, .. } => Device::Packet {
                socket: PacketSocket::open(name).map_err(system(format!("opening packet socket on {name}")))?,
                peer: parse_mac(peer_mac).expect("RouterConfig checks it"),
            },
        };
        sys::wait_until_running(name).map_err(system(format!("waiting for {name}")))?;
        let mtu = sys::mtu(name).map_err(system(format!("asking for the MTU of {name}")))?;
        // The file belongs to the namespace that this thread is in when it is opened.
        let statistics =
            File::open("/proc/thread-self/net/dev").map_err(system("opening /proc/thread-self/net/dev"))?;
        let summary = PortSummary { device: name.to_owned(), ..PortSummary::default() };
        let ect1 = config.ect1.clone();
        let mut port = Port { device, mtu, ect1, statistics, drops_at_start: 0, last_read: Time::ZERO, summary };
        port.drops_at_start = port.kernel_drops().map_err(system(format!("reading the statistics of {name}")))?;
        Ok(port)
    }

    fn file(&self) -> &File {
        match &self.device {
            Device::Tun(file) => file,
            Device::Packet { socket, .. } => &socket.file,
        }
    }

    fn write(&mut self, packet: &[u8]) {
        let written = match &self.device {
            Device::Tun(file) => (&*file).write(packet).map(|_| ()),
            Device::Packet { socket, peer } => socket.send(*peer, packet),
        };
        match written {
            Ok(()) => self.summary.written += 1,
            Err(_) => self.summary.write_errors += 1,
        }
    }

    /// Packets dropped at the device in either direction since its creation, and at the socket since the last call.
    fn kernel_drops(&mut self) -> io::Result<u64> {
        self.statistics.rewind()?;
        let mut text = String::new();
        self.statistics.read_to_string(&mut text)?;
        let prefix = format!("{}:", self.summary.device);
        let line = text.lines().map(str::trim_start).find_map(|line| line.strip_prefix(&prefix)).unwrap_or("");
        // Receive and transmit have eight columns each; the fourth of each is "drop".
        let drops = |column: usize| line.split_whitespace().nth(column).and_then(|word| word.parse::<u64>().ok());
        let at_socket = match &self.device {
            Device::Tun(_) => 0,
            Device::Packet { socket, .. } => u64::from(socket.dropped()?),
        };
        Ok(drops(3).unwrap_or(0) + drops(11).unwrap_or(0) + at_socket)
    }
}

/// Handles the packets and events that leave the network. It has the ports, which write packets, the distribution of
/// lateness, and the files of the trace and the capture.
struct Exits {
    ports: Vec<Port>,
    lateness: Lateness,
    trace: Option<Trace>,
    capture: Option<Capture>,
    trace_error: Option<io::Error>,
    scratch: Vec<u8>,
    start_ns: u64,
    /// The addresses, sorted, between which the router itself sends datagrams. It removes UDP packets there instead of
    /// writing them to a port.
    datagram_ends: Vec<[u8; 4]>,
}

impl Exits {
    /// The time since the start; zero before the start.
    fn now(&self) -> Time {
        Time::from_nanos(sys::monotonic_ns().saturating_sub(self.start_ns))
    }

    /// The time until `at`, in nanoseconds; 0 if `at` has passed.
    fn until(&self, at: Time) -> u64 {
        (self.start_ns + at.as_nanos()).saturating_sub(sys::monotonic_ns())
    }

    fn on_event(&mut self, network: &Network, at: Time, packet: &LivePacket, event: Event) {
        let bytes = network.bytes(packet);
        let ce = packet.is_ce();
        if event == Event::Delivered && !self.is_own_datagram(bytes) {
            // A duplicate without the mark may share the bytes, so the mark is set in a copy.
            self.scratch.clear();
            self.scratch.extend_from_slice(bytes);
            if ce {
                mark_ce(&mut self.scratch);
            }
            self.ports[packet.port as usize].write(&self.scratch);
            self.lateness.add(self.now().saturating_sub(at));
        }
        self.record(at, line_of(event, packet.port), packet.id, bytes, ce);
    }

    fn is_own_datagram(&self, bytes: &[u8]) -> bool {
        let to = |end: &[u8; 4]| end[..].cmp(&bytes[16..20]);
        bytes[9] == UDP && self.datagram_ends.binary_search_by(to).is_ok()
    }

    /// Injects a datagram that the router itself sends into the network.
    fn enter(&mut self, network: &mut Network, at: Time, datagram: &Datagram) {
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

/// Runs until the configured time has passed or a signal arrives. `ready` is called once, as soon as packets are
/// forwarded, with the start time on the monotonic clock.
///
/// # Errors
///
/// If a device cannot be opened, a file cannot be written, or waiting fails.
pub fn run(config: &RouterConfig, ready: impl FnOnce(u64)) -> Result<Summary, RouterError> {
    sys::end_with_parent();
    let ports: Vec<Port> = config.ports.iter().map(Port::open).collect::<Result<_, _>>()?;
    let places: Vec<(u32, Vec<Ipv4Addr>)> = config.ports.iter().map(|p| (p.node, p.addresses.clone())).collect();
    let mut network = Network::new(&config.scenario, Streams::new(config.seed, config.replicate), &places)?;
    let epoll = Epoll::new().map_err(system("epoll"))?;
    for (token, port) in ports.iter().enumerate() {
        epoll
            .add(port.file().as_raw_fd(), token as u64)
            .map_err(system(format!("waiting for {}", port.summary.device)))?;
    }
    let signals = sys::termination().map_err(system("signalfd"))?;
    epoll.add(signals.as_raw_fd(), TERMINATION).map_err(system("waiting for signals"))?;
    sys::least_timer_slack();
    let real_time = config.real_time_priority > 0 && sys::real_time(config.real_time_priority).is_ok();

    let mut sampler = Sampler::new(config)?;
    let trace = match &config.trace {
        Some(path) => {
            let create = Trace::create(path, sampler.interval.is_some());
            Some(create.map_err(system(format!("creating {}", path.display())))?)
        }
        None => None,
    };
    let capture = match &config.capture {
        Some(CaptureConfig { path, port }) => {
            let links = config.scenario.links.iter().map(|link| link.name.clone()).collect();
            Some(Capture::create(path, *port, links).map_err(system(format!("creating {}", path.display())))?)
        }
        None => None,
    };
    let ends = config.datagrams.iter().flat_map(|flow| [flow.client, flow.server]);
    let mut datagram_ends: Vec<[u8; 4]> = ends.map(|end| end.ip().octets()).collect();
    datagram_ends.sort_unstable();
    let start_ns = sys::monotonic_ns() + config.lead_ns.as_nanos();
    let cpu_start = sys::cpu_ns();
    let mut exits = Exits {
        ports,
        lateness: Lateness::default(),
        trace,
        capture,
        trace_error: None,
        scratch: Vec::with_capacity(MAX_PACKET),
        start_ns,
        datagram_ends,
    };
    ready(start_ns);
    let end = config.duration_ns.unwrap_or(Time::MAX);
    let mut tokens = Vec::new();
    let mut buffer = vec![0; MAX_PACKET];
    loop {
        let now = exits.now();
        sampler.read_counters(config, &mut network, &mut exits, now);
        sampler.advance(&mut network, &mut exits, now);
        if now >= end || tokens.contains(&TERMINATION) {
            break;
        }
        // Samples of queues need no wake-up: they are taken for their scheduled times, even if the router is late.
        let next = network.next_exit().min(sampler.snapshot_at).min(sampler.senders.next()).min(end);
        let wait = (!next.is_never()).then(|| exits.until(next));
        epoll.wait(wait, &mut tokens).map_err(system("epoll_pwait2"))?;
        for &token in tokens.iter().filter(|&&token| token != TERMINATION) {
            read_port(token as usize, &mut network, &mut exits, &mut sampler, &mut buffer);
        }
    }
    let wall_ns = sys::monotonic_ns().saturating_sub(start_ns);
    let cpu_ns = sys::cpu_ns() - cpu_start;
    finish_files(config, &mut exits).map_err(system("writing the trace"))?;
    let summary = summarize(config, &mut network, exits, wall_ns, cpu_ns, real_time);
    Ok(Summary { link_snapshots: sampler.snapshots, ..summary })
}

fn finish_files(config: &RouterConfig, exits: &mut Exits) -> io::Result<()> {
    if let Some(error) = exits.trace_error.take() {
        return Err(error);
    }
    if let (Some(capture), Some(asked)) = (exits.capture.take(), &config.capture) {
        let node = config.ports[asked.port as usize].node;
        capture.finish(&config.scenario.nodes[node as usize])?;
    }
    exits.trace.take().map_or(Ok(()), Trace::finish)
}

fn read_port(index: usize, network: &mut Network, exits: &mut Exits, sampler: &mut Sampler, buffer: &mut [u8]) {
    for _ in 0..BATCH {
        // An error means that no packet is available ("would block") or that the device is down. There is nothing to
        // read in either case.
        let Ok(length) = exits.ports[index].file().read(buffer) else { return };
        let now = exits.now();
        sampler.advance(network, exits, now);
        let alone = now > exits.ports[index].last_read + CLOSE;
        exits.ports[index].last_read = now;
        let mtu = exits.ports[index].mtu;
        let port = &mut exits.ports[index].summary;
        port.read += 1;
        let Some(mut header) = Header::parse(&buffer[..length]) else {
            port.ignored += 1;
            continue;
        };
        if header.ecn == Ecn::Ect0 && exits.ports[index].ect1.contains(&header.source) {
            set_ecn(buffer, Ecn::Ect1);
            header.ecn = Ecn::Ect1;
        }
        let port = &mut exits.ports[index].summary;
        port.oversized += u64::from(header.total_bytes > mtu);
        let bytes = &buffer[..header.total_bytes as usize];
        let next_id = network.entered();
        exits.record(now, Line::In(index as u32), next_id, bytes, false);
        let report = |network: &Network, at, packet: &LivePacket, event| exits.on_event(network, at, packet, event);
        if network.inject(now, index as u32, &header, bytes, report).is_none() {
            exits.ports[index].summary.unroutable += 1;
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
    fn read_counters(&mut self, config: &RouterConfig, network: &mut Network, exits: &mut Exits, now: Time) {
        while self.snapshot_at <= now {
            self.advance(network, exits, self.snapshot_at);
            self.snapshots.push(report::links(&config.scenario, network, self.snapshot_at));
            self.snapshot_at = config.snapshots_ns.get(self.snapshots.len()).copied().unwrap_or(Time::MAX);
        }
    }

    fn advance(&mut self, network: &mut Network, exits: &mut Exits, now: Time) {
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
    fn advance_to(&mut self, network: &mut Network, exits: &mut Exits, now: Time) {
        while self.senders.next() <= now {
            let at = self.senders.next();
            network.advance(at, |network, at, packet, event| exits.on_event(network, at, packet, event));
            self.senders.send(at, |datagram| exits.enter(network, at, &datagram));
        }
        network.advance(now, |network, at, packet, event| exits.on_event(network, at, packet, event));
    }
}

fn summarize(
    config: &RouterConfig,
    network: &mut Network,
    mut exits: Exits,
    wall_ns: u64,
    cpu_ns: u64,
    real_time: bool,
) -> Summary {
    for port in &mut exits.ports {
        let drops = port.kernel_drops().unwrap_or(port.drops_at_start);
        port.summary.kernel_drops = drops.saturating_sub(port.drops_at_start);
    }
    let lateness = exits.lateness;
    let ports: Vec<PortSummary> = exits.ports.into_iter().map(|port| port.summary).collect();
    let cpu_share = cpu_ns as f64 / wall_ns.max(1) as f64;
    let invalid_because = report::violations(&config.limits, &lateness, cpu_share, &ports);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Summary {
        event: "summary",
        valid: invalid_because.is_empty(),
        invalid_because,
        kernel: release.trim().to_owned(),
        wall_ns,
        cpu_share,
        real_time,
        packets: ports.iter().map(|port| port.written).sum(),
        lateness_p50_ns: lateness.percentile(0.5).as_nanos(),
        lateness_p99_ns: lateness.percentile(0.99).as_nanos(),
        lateness_p999_ns: lateness.percentile(0.999).as_nanos(),
        lateness_max_ns: lateness.percentile(1.0).as_nanos(),
        packets_inside: network.packets_inside(),
        ports,
        links: report::links(&config.scenario, network, Time::from_nanos(wall_ns)),
        link_snapshots: Vec::new(),
    }
}
