//! Builds a simulation from a scenario, ready to run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cwndlab_net::network::Wire;
use cwndlab_net::queue::{QueueConfig, RouteHosts};
use cwndlab_traffic::{App, Sampler, Setup};
use cwndlab_units::Time;

use super::apps::AppSlot;
use super::limits::Watch;
use super::stacks::Outside;
use super::traces::Traces;
use super::{Simulation, Summary};
use crate::events::{EventQueue, MAX_SOURCES};
use crate::packet::{Packet, SackTable, Ticks};
use crate::probe::Probe;
use crate::streams::Streams;
use cwndlab_scenario::Scenario;
use cwndlab_scenario::{invalid, Place, ScenarioError};
use cwndlab_scenario::{Paths, Routes};

impl<P: Probe> Simulation<P> {
    /// Builds the simulation of one replicate of a scenario.
    ///
    /// # Errors
    ///
    /// If the scenario does not pass [`Scenario::check`], or there is no path between the two nodes of a traffic entry.
    pub fn new(scenario: &Scenario, seed: u64, replicate: u64, probe: P) -> Result<Simulation<P>, ScenarioError> {
        scenario.check()?;
        let streams = Streams::new(seed, replicate);
        let apps_and_links = 2 * scenario.links.len() + scenario.traffic.len();
        if apps_and_links >= MAX_SOURCES as usize / 2 {
            return Err(invalid("links", "more links and traffic entries than the event queue has sources for"));
        }
        let mut simulation = Simulation {
            now: Time::ZERO,
            events: EventQueue::new(scenario.links.len() as u32),
            wires: wires(scenario, streams, P::ENABLED)?,
            labels_packets: P::ENABLED && (scenario.probes.segments_at.is_some() || scenario.probes.delays)
                || !scenario.classified().is_empty(),
            ticks: Ticks::of_run(scenario.duration_ns),
            traffic_numbers: traffic_numbers(scenario),
            hops: Vec::new(),
            conns: Vec::new(),
            signals: Vec::new(),
            datagrams: Vec::new(),
            free_conns: Vec::new(),
            configs: scenario.tcp.clone(),
            sacks: SackTable::default(),
            apps: Vec::new(),
            streams,
            traffic_names: traffic_names(scenario),
            dirty: VecDeque::new(),
            held_reads: Vec::new(),
            notified: u32::MAX,
            commands: Vec::new(),
            observed: scenario.probes.segments_at.unwrap_or(u32::MAX),
            ip_ids: vec![0; scenario.nodes.len()],
            samples_senders: P::ENABLED && scenario.probes.samples_senders(),
            probes: scenario.probes.clone(),
            last_windows: Vec::new(),
            last_accecn: Vec::new(),
            traces: Traces::default(),
            probe,
            duration: scenario.duration_ns,
            snapshots: scenario.snapshot_times(),
            summary: Summary::default(),
            watch: Watch::default(),
            laws: None,
            outside: Outside::new(scenario),
        };
        simulation.apps = simulation.build_apps(scenario, streams)?;
        for (index, traffic) in scenario.traffic.iter().enumerate() {
            let source = simulation.app_source(index as u32);
            simulation.events.push(traffic.start_ns, source);
        }
        if P::ENABLED && scenario.probes.queue_interval_ns.is_some() && !scenario.probes.queues.is_empty() {
            let source = simulation.sampler_source();
            simulation.events.push(Time::ZERO, source);
        }
        Ok(simulation)
    }

    fn build_apps(&mut self, scenario: &Scenario, streams: Streams) -> Result<Vec<AppSlot>, ScenarioError> {
        let shared = samplers(scenario)?;
        let mut routes = Routes::new(scenario);
        let mut apps = Vec::with_capacity(scenario.traffic.len());
        for (index, traffic) in scenario.traffic.iter().enumerate() {
            let tcp = |index: u16| &scenario.tcp[usize::from(index)];
            let mss = tcp(traffic.tcp_client).full_segment_bytes(tcp(traffic.tcp_server));
            let app = application(scenario, index, mss, &shared, streams)?;
            let forth = routes.resolve(scenario, traffic.client, traffic.server)?;
            let back = routes.resolve(scenario, traffic.server, traffic.client)?;
            let delays = |paths: Paths| paths.starts().map(|start| delay(scenario, routes.links(start)));
            let longest = |paths| delays(paths).max().unwrap_or_default();
            check_round_trip(scenario, index, longest(forth) + longest(back))?;
            apps.push(AppSlot::new(app, [forth, back], [traffic.client, traffic.server], traffic.start_ns));
        }
        self.hops = routes.hops;
        self.watch.fixed_bytes = apps.iter().map(|slot| slot.app.memory_bytes()).sum();
        Ok(apps)
    }
}

/// The longest round trip that TCP can measure: timestamps count microseconds in 32 bits, so the age of a timestamp is
/// unambiguous up to half of that range.
const LONGEST_ROUND_TRIP: Time = Time::from_micros(1 << 31);

/// The propagation delay of a path.
fn delay(scenario: &Scenario, path: impl Iterator<Item = u32>) -> Time {
    path.fold(Time::ZERO, |sum, link| sum + scenario.links[link as usize].delay_ns)
}

/// Rejects a path whose round-trip time TCP could not measure.
fn check_round_trip(scenario: &Scenario, index: usize, trip: Time) -> Result<(), ScenarioError> {
    let traffic = &scenario.traffic[index];
    if trip <= LONGEST_ROUND_TRIP || traffic.app.is_unresponsive() {
        return Ok(());
    }
    let place = Place::in_list("traffic", index, &traffic.name, "server");
    Err(invalid(place, format!("is a round trip of {} min away; TCP's may take 35", trip.as_nanos() / 60_000_000_000)))
}

/// Builds the application of a traffic entry, for a driver other than the simulator. The application draws the same
/// numbers, from the same streams, as in the simulator. `segment_bytes` is the payload of a full segment in that
/// driver.
///
/// # Errors
///
/// If there is no such entry, or its specification is invalid.
pub fn build_application(
    scenario: &Scenario,
    traffic: usize,
    segment_bytes: u32,
    streams: Streams,
) -> Result<App, ScenarioError> {
    if traffic >= scenario.traffic.len() {
        let why = format!("entry {traffic} does not exist; there are {}", scenario.traffic.len());
        return Err(invalid("traffic", why));
    }
    application(scenario, traffic, segment_bytes, &samplers(scenario)?, streams)
}

fn samplers(scenario: &Scenario) -> Result<BTreeMap<String, Sampler>, ScenarioError> {
    scenario.distributions.samplers().map_err(|why| invalid("distributions", why))
}

fn application(
    scenario: &Scenario,
    index: usize,
    mss: u32,
    shared: &BTreeMap<String, Sampler>,
    streams: Streams,
) -> Result<App, ScenarioError> {
    let traffic = &scenario.traffic[index];
    let mut setup = Setup {
        tcp_client: traffic.tcp_client,
        tcp_server: traffic.tcp_server,
        mss,
        over_quic: traffic.stack.is_some(),
        ip_header_bytes: scenario.network.header_bytes(),
        shared,
        stream: &mut |purpose| streams.traffic(&traffic.name, purpose),
    };
    App::new(&traffic.app, &mut setup)
        .map_err(|why| invalid(Place::in_list("traffic", index, &traffic.name, "app"), why))
}

/// The value of [`Simulation::traffic_numbers`].
fn traffic_numbers(scenario: &Scenario) -> Vec<u8> {
    let names = scenario.classified();
    if names.is_empty() {
        return Vec::new();
    }
    let number = |traffic: &crate::TrafficSpec| names.iter().position(|name| traffic.is_of(name));
    scenario.traffic.iter().map(|traffic| number(traffic).map_or(0, |at| at as u8 + 1)).collect()
}

/// The value of [`Simulation::traffic_names`].
fn traffic_names(scenario: &Scenario) -> Vec<String> {
    if scenario.tcp.iter().any(|tcp| tcp.window_law.needs().draws) {
        scenario.traffic.iter().map(|traffic| traffic.name.clone()).collect()
    } else {
        Vec::new()
    }
}

/// The hosts of all routes, numbered as [`Simulation::build_apps`] resolves them; empty unless a queue asks for them.
fn route_hosts(scenario: &Scenario) -> Result<Vec<RouteHosts>, ScenarioError> {
    if !scenario.links.iter().any(|link| link.queue.knows_hosts()) {
        return Ok(Vec::new());
    }
    let (mut routes, mut hosts) = (Routes::new(scenario), Vec::new());
    for traffic in &scenario.traffic {
        for (source, destination) in [(traffic.client, traffic.server), (traffic.server, traffic.client)] {
            let Paths { start, .. } = routes.resolve(scenario, source, destination)?;
            hosts.push(RouteHosts { start, source, destination });
        }
    }
    hosts.sort_unstable_by_key(|route| route.start);
    Ok(hosts)
}

/// Rejects queues of a kernel, which the simulator has not.
fn reject_kernel_queues(scenario: &Scenario) -> Result<(), ScenarioError> {
    for (index, link) in scenario.links.iter().enumerate() {
        if let QueueConfig::Kernel(_) = &link.queue {
            let place = Place::in_list("links", index, &link.name, "queue");
            return Err(invalid(
                place,
                "the simulator runs no queues of a kernel; run the study with --backend linux-virtual",
            ));
        }
    }
    Ok(())
}

/// The links. Those whose queue or whose far end is recorded are watched and observed if `records`.
fn wires(scenario: &Scenario, streams: Streams, records: bool) -> Result<Vec<Wire<Packet>>, ScenarioError> {
    reject_kernel_queues(scenario)?;
    let hosts = route_hosts(scenario)?;
    let names = scenario.classified();
    let number = |wanted: &str| names.iter().position(|name| *name == wanted).map_or(0, |at| at as u8 + 1);
    let ends: BTreeSet<u32> = scenario.traffic.iter().flat_map(|traffic| [traffic.client, traffic.server]).collect();
    let wire = |(index, spec): (u32, &crate::LinkSpec)| {
        let rng = streams.stream(&format!("link:{}", spec.name));
        let mut queue = spec.queue.clone();
        queue.number_traffic(number);
        queue.number_hosts(&hosts);
        let by_arrival = scenario.probes.queue_interval_ns.is_none() && scenario.probes.queues.contains(&index);
        let observed = scenario.probes.segments_at == Some(spec.to);
        let mut wire = Wire::new(spec.build(&queue, rng));
        if ends.contains(&spec.to) {
            wire = wire.delivering();
        }
        if records && by_arrival {
            wire = wire.watched();
        }
        if records && observed {
            wire = wire.observed();
        }
        wire
    };
    Ok((0..).zip(&scenario.links).map(wire).collect())
}
