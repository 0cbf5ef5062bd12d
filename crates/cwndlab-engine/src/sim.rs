//! The run loop: the clock advances from event to event.
//!
//! An event is a packet's arrival at the far end of a link, the end of a service, or a timer. Each source has at most
//! one live event, so the number of events grows with links and connections, not with packets. Events of the same
//! instant are handled in the order in which they were scheduled.

mod apps;
mod batch;
mod conn;
mod connection;
mod connection_records;
mod datagrams;
mod exit;
mod limits;
mod links;
mod setup;
mod stacks;
#[cfg(test)]
mod tests;
mod traces;

pub use setup::build_application;
use std::collections::VecDeque;

use cwndlab_net::network::{Network as _, Wire};
use cwndlab_tcp::{CongestionState, DeliveredCe, LawFailures, TcpConfig};
use cwndlab_traffic::Command;
use cwndlab_units::Time;

use crate::budget::{Budget, RunError};
use crate::events::EventQueue;
use crate::laws::Laws;
use crate::packet::{Packet, SackTable, Ticks};
use crate::probe::{Probe, QueueSample};
use crate::streams::Streams;
use apps::AppSlot;
use conn::{Conn, Signals};
use cwndlab_scenario::{ProbeSpec, Scenario};
use datagrams::DatagramFlow;
use limits::Watch;
use stacks::Outside;
use traces::Traces;

/// Totals of a run. Every packet is delivered, dropped or in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Packets that endpoints sent, and copies made by duplication.
    pub injected: u64,
    /// Packets handed to endpoints.
    pub delivered: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets inside links at the end.
    pub in_flight: u64,
    /// Number of times that a packet crossed a link.
    pub hops: u64,
    /// Events handled, including stale ones (those of a timer that has since been set to another time).
    pub events: u64,
    /// Connections opened.
    pub connections: u64,
}

/// One run of a scenario. Build with [`Simulation::new`], then [`Simulation::run`].
pub struct Simulation<P: Probe> {
    now: Time,
    events: EventQueue,
    wires: Vec<Wire<Packet>>,
    /// For each application, the ID by which class-based queues recognize its packets; empty if no queue has classes
    /// that list traffic.
    traffic_numbers: Vec<u8>,
    /// Whether packets are labelled when they are sent, as class-based queues, delay records and observed nodes
    /// require.
    labels_packets: bool,
    /// The unit in which packets have the time at which they were sent, if delays are recorded.
    ticks: Ticks,
    /// Routes of all connections: link indices, each route ended by [`cwndlab_scenario::DELIVER`].
    hops: Vec<u32>,
    conns: Vec<Conn>,
    /// Congestion signals of each connection, by its index in `conns`.
    signals: Vec<Signals>,
    /// Datagram flows, in the order of opening.
    datagrams: Vec<DatagramFlow>,
    free_conns: Vec<u32>,
    configs: Vec<TcpConfig>,
    sacks: SackTable,
    apps: Vec<AppSlot>,
    streams: Streams,
    /// Names of the traffic entries; empty if no window law draws random numbers.
    traffic_names: Vec<String>,
    /// Endpoints to poll before the clock advances, because an application has given them commands.
    dirty: VecDeque<u32>,
    /// Ends whose applications read once the last packet of this instant has arrived.
    held_reads: Vec<u32>,
    /// The end whose application is being notified; `u32::MAX` if none. It is not added to `dirty`, because it is
    /// polled afterwards anyway.
    notified: u32,
    commands: Vec<Command>,
    /// Node at which segments are observed; `u32::MAX` if none.
    observed: u32,
    /// For each node, the IP identification of the last packet sent; counted only if segments are observed.
    ip_ids: Vec<u16>,
    probes: ProbeSpec,
    /// Whether senders are sampled or traced.
    samples_senders: bool,
    /// The window of each end as last sampled. Empty if windows are not recorded.
    last_windows: Vec<Window>,
    /// For each end: the connection's serial number and the AccECN counters last recorded.
    last_accecn: Vec<(u32, DeliveredCe)>,
    traces: Traces,
    probe: P,
    duration: Time,
    snapshots: Vec<Time>,
    summary: Summary,
    watch: Watch,
    laws: Option<LawBook>,
    outside: Outside,
}

// The size is a power of two, so that indexing needs only a shift.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Wire<Packet>>() == 256);

/// A connection's serial number, and its cwnd, ssthresh and congestion state at one end.
type Window = (u32, u64, u64, CongestionState);

/// Window laws from outside the engine.
struct LawBook {
    laws: Box<dyn Laws>,
    /// Names of the traffic entries.
    traffic: Vec<String>,
    failures: LawFailures,
}

impl<P: Probe> Simulation<P> {
    /// Replaces the default budget.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Simulation<P> {
        self.watch.budget = budget;
        self
    }

    /// Adds window laws from outside the engine.
    #[must_use]
    pub fn with_laws(mut self, scenario: &Scenario, laws: Box<dyn Laws>) -> Simulation<P> {
        let traffic = scenario.traffic.iter().map(|entry| entry.name.clone()).collect();
        self.laws = Some(LawBook { laws, traffic, failures: LawFailures::default() });
        self
    }

    /// Runs to the end of the scenario's duration. Returns the totals and the probe with its records.
    ///
    /// # Errors
    ///
    /// If the run exceeds its budget, or simulated time does not advance.
    pub fn run(self) -> Result<(Summary, P), RunError> {
        self.run_while(&mut |_| true)
    }

    /// As [`Simulation::run`], but calls `go_on` with the simulated time every 2^16 events (2^10 with laws from outside
    /// the engine), and ends with [`RunError::Stopped`] if `go_on` returns false.
    ///
    /// # Errors
    ///
    /// As [`Simulation::run`], or [`RunError::Stopped`].
    pub fn run_while(mut self, go_on: &mut dyn FnMut(Time) -> bool) -> Result<(Summary, P), RunError> {
        if P::ENABLED {
            for at in std::mem::take(&mut self.snapshots) {
                self.run_watched(at - Time::from_nanos(1), go_on)?;
                self.now = at;
                self.snapshot();
            }
        }
        self.run_watched(self.duration, go_on)?;
        self.finish();
        Ok((self.summary, self.probe))
    }

    /// Handles all events up to and including `until`.
    ///
    /// # Errors
    ///
    /// As [`Simulation::run`]. After an error the simulation must not be used any more.
    pub fn run_until(&mut self, until: Time) -> Result<(), RunError> {
        self.run_watched(until, &mut |_| true)
    }

    /// Handles at most `count` events, up to and including `until`. Returns the number handled.
    fn handle_events(&mut self, until: Time, count: u64) -> u64 {
        if count == 0 {
            return 0;
        }
        self.events.allow(count);
        while let Some((time, entry)) = self.events.pop_until(until) {
            debug_assert!(time >= self.now, "the clock went back");
            self.now = time;
            if (entry as usize) < self.wires.len() {
                self.on_arrival(entry); // the entry of a link
            } else {
                let source = self.events.release(entry);
                self.on_other(source);
            }
            if self.events.left() == 0 {
                break;
            }
        }
        count - self.events.left()
    }

    /// Handles an event of an entry that no link owns: an arrival from a link that holds packets back, the end of a
    /// service, or a timer of an application, of the queue sampler or of an endpoint.
    fn on_other(&mut self, source: u32) {
        let wires = self.wires.len() as u32;
        let apps = self.apps.len() as u32;
        if source < wires {
            return self.arrive(source);
        }
        match source - wires {
            index if index < wires => self.serve(index),
            index if index < wires + apps => self.on_app_timer(index - wires),
            index if index == wires + apps => self.on_sample(),
            index => self.on_end_timer(index - wires - apps - 1),
        }
    }

    fn app_source(&self, app: u32) -> u32 {
        2 * self.wires.len() as u32 + app
    }
    fn sampler_source(&self) -> u32 {
        self.app_source(self.apps.len() as u32)
    }
    #[inline]
    fn end_source(&self, end: u32) -> u32 {
        2 * self.wires.len() as u32 + self.apps.len() as u32 + 1 + end
    }

    fn on_sample(&mut self) {
        let Some(interval) = self.probes.queue_interval_ns else { return };
        for index in 0..self.probes.queues.len() {
            self.sample_queue(self.probes.queues[index]);
        }
        self.events.push(self.now + interval, self.sampler_source());
    }

    #[inline(never)]
    fn sample_queue(&mut self, link: u32) {
        let queue = &mut self.wires[link as usize].link;
        let backlog = queue.backlog(self.now);
        let sample = QueueSample { link, packets: backlog.packets, bytes: backlog.bytes, average: queue.average() };
        self.probe.queue(self.now, &sample);
    }

    /// Records open connections, unfinished objects and links in the state that they had before the events of this
    /// instant.
    #[cold]
    fn snapshot(&mut self) {
        self.snapshot_apps();
        for slot in self.open_connections() {
            let record = self.connection_record(slot, Time::MAX);
            self.probe.snapshot_connection(self.now, &record);
        }
        for (index, wire) in self.wires.iter_mut().enumerate() {
            let counters = wire.link.counters_at(self.now);
            let regions = wire.link.regions(self.now);
            self.probe.snapshot_link(self.now, index as u32, &counters, regions);
        }
    }

    /// Slots of the open connections, if connections are recorded.
    fn open_connections(&self) -> Vec<u32> {
        let open = |&slot: &u32| self.probes.connections && self.conns[slot as usize].live;
        (0..self.conns.len() as u32).filter(open).collect()
    }

    /// At the end of the run, records unfinished objects, open connections and the counters of links.
    fn finish(&mut self) {
        self.end_apps();
        if P::ENABLED {
            for slot in self.open_connections() {
                self.record_connection(slot, Time::MAX);
            }
            for slot in 0..self.conns.len() as u32 {
                self.end_traces(slot);
            }
        }
        self.summary.hops = self.hops_made();
        self.summary.in_flight = self.wires.iter().map(|wire| wire.link.packets_inside()).sum();
        debug_assert_eq!(
            self.summary.injected,
            self.summary.delivered + self.summary.dropped + self.summary.in_flight,
            "every packet is delivered, dropped or in flight"
        );
        if P::ENABLED {
            for (index, wire) in self.wires.iter_mut().enumerate() {
                if wire.link.has_bounded_class() {
                    wire.link.serve(self.now); // unlike a snapshot, the end of the run includes the events at that time
                }
                let counters = wire.link.counters_at(self.now);
                let regions = wire.link.regions(self.now);
                self.probe.link(index as u32, &counters, regions);
            }
        }
    }

    /// Memory of the connections, live or free for reuse: both endpoints with their timers. Excludes links, and lists
    /// that endpoints allocate on lossy paths.
    pub fn connection_bytes(&self) -> usize {
        self.conns.len() * size_of::<Conn>() + self.free_conns.len() * size_of::<u32>()
    }

    /// Number of times that a packet has crossed a link.
    fn hops_made(&self) -> u64 {
        self.wires.iter().map(|wire| wire.link.crossed()).sum()
    }

    /// The totals so far, without `in_flight`.
    pub fn summary(&self) -> Summary {
        Summary { hops: self.hops_made(), ..self.summary }
    }
}
