//! Reads runs on a kernel. Converts the router's trace and the testbed's measurements to record tables, with the same
//! [`Recorder`] that the simulator uses.
//!
//! The router sees every packet enter and leave, so connections are reconstructed from its trace: a segment counts as
//! sent when it enters the router and as received when it leaves. The testbed supplies what only the hosts know:
//! objects and windows.

mod connection;
mod connections;
mod options;
pub mod trace;

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::net::{IpAddr, SocketAddr};

use cwndlab_engine::{Probe as _, QueueSample, Reason, Scenario, WindowSample};
use cwndlab_net::queue::Regions;
use cwndlab_net::{DropCause, LinkCounters};
use cwndlab_tcp::CongestionState;
use cwndlab_traffic::{ObjectKind, ObjectRecord};
use cwndlab_units::Time;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::recorder::Recorder;
use crate::records::Records;
use crate::tables::SegmentRow;
use connections::Reader;

/// Why a run on a kernel cannot be read.
#[derive(Debug, Error)]
pub enum KernelError {
    /// A file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line of a trace cannot be parsed.
    #[error("line {line} of the router's trace: {why}")]
    Line {
        /// The line's number; the header is line 1.
        line: usize,
        /// What is wrong with the line.
        why: &'static str,
    },
    /// A connection was opened to a port that no traffic of the study uses, or from an address that no host of the
    /// study has.
    #[error("line {line} of the router's trace: no traffic of the study is between {client} and {server}")]
    Stranger {
        /// The line's number.
        line: usize,
        /// The end that opened the connection.
        client: SocketAddr,
        /// The other end.
        server: SocketAddr,
    },
}

/// The testbed's output for a run. Other keys are ignored.
#[derive(Clone, Debug, Deserialize)]
pub struct Testbed {
    /// When the workload started, on the machine's clock.
    pub zero_ns: i64,
    /// When the router started, on the machine's clock. The times in the router's trace count from then.
    pub router_start_ns: i64,
    /// For each of the router's ports, the host at the port and its addresses.
    pub ports: Vec<(u32, Vec<IpAddr>)>,
    /// The addresses that belong to programs, each with its traffic entry: a program chooses its ports itself.
    #[serde(default)]
    pub programs: Vec<(IpAddr, u32)>,
    /// The objects that the applications requested.
    pub objects: Vec<Object>,
    /// Samples of the senders' windows.
    pub windows: Vec<Window>,
    /// The connections that failed, as the kernel reported it to the applications: address and port of the client, and why.
    #[serde(default)]
    pub failed_connections: Vec<(IpAddr, u16, String)>,
    /// The router's summary.
    pub summary: Summary,
}

impl Testbed {
    /// Why connections failed that no RST shows, by their clients.
    fn failures(&self) -> BTreeMap<SocketAddr, Reason> {
        let failed = self.failed_connections.iter().rev(); // the first of a client counts
        failed.map(|(address, port, reason)| (SocketAddr::new(*address, *port), Reason::new(reason))).collect()
    }
}

/// An object, with times on the machine's clock.
#[derive(Clone, Debug, Deserialize)]
pub struct Object {
    traffic: u32,
    kind: ObjectKind,
    index: u32,
    start_ns: i64,
    end_ns: Option<i64>,
    bytes: u64,
    connections: u16,
    client_ends: Vec<(IpAddr, u16)>,
}

/// A sample of `TCP_INFO`: time on the machine's clock, address and port of the sender, address and port of its peer,
/// congestion window, slow-start threshold, round-trip time (0 before the first measurement), bytes in flight, and the
/// number of the state in `enum tcp_ca_state`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Window(i64, IpAddr, u16, IpAddr, u16, u64, Option<u64>, u64, u64, u8);

/// The router's counters.
#[derive(Clone, Debug, Deserialize)]
pub struct Summary {
    /// How long the router ran.
    pub wall_ns: u64,
    /// The counters of each link when the router stopped, in the scenario's order of links.
    pub links: Vec<LinkSummary>,
    /// The counters of each link at each snapshot, and at the end of the scenario if the router ran that long.
    pub link_snapshots: Vec<Vec<LinkSummary>>,
}

/// The counters of a link, written by the router and read here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkSummary {
    /// The link's name.
    pub name: String,
    /// Packets offered.
    pub arrivals: u64,
    /// Packets accepted.
    pub accepted: u64,
    /// Bytes accepted.
    pub bytes: u64,
    /// Packets dropped by a full buffer.
    pub drops_full: u64,
    /// Packets dropped by active queue management.
    pub drops_aqm: u64,
    /// Packets dropped by loss models.
    pub drops_loss: u64,
    /// Packets marked CE.
    pub marks: u64,
    /// Time for which the link's transmitter was busy.
    pub busy_ns: u64,
    /// Sum over all packets of the time that each spent in the link. Divided by the length of the run, this is the mean
    /// number of packets in the link (Little 1961).
    pub sojourn_ns: u64,
    /// Largest number of packets in the link.
    pub max_queue_packets: u32,
    /// Time that RED's average spent below `min_th`, between its thresholds, and at `max_th` or above.
    pub red_ns: Option<[u64; 3]>,
}

impl LinkSummary {
    /// Summarizes a link's counters and, if its queue is RED, the time in each region of the average.
    pub fn new(name: String, counters: &LinkCounters, regions: Option<Regions>) -> LinkSummary {
        LinkSummary {
            name,
            arrivals: counters.arrivals,
            accepted: counters.accepted,
            bytes: counters.bytes,
            drops_full: counters.drops[DropCause::Full as usize],
            drops_aqm: counters.drops[DropCause::Aqm as usize],
            drops_loss: counters.drops[DropCause::Loss as usize],
            marks: counters.marks,
            busy_ns: counters.busy.as_nanos(),
            sojourn_ns: counters.sojourn.as_nanos(),
            max_queue_packets: counters.max_packets,
            red_ns: regions.map(|r| [r.below, r.between, r.above].map(Time::as_nanos)),
        }
    }

    fn counters(&self) -> LinkCounters {
        let mut drops = [0; DropCause::COUNT];
        drops[DropCause::Full as usize] = self.drops_full;
        drops[DropCause::Aqm as usize] = self.drops_aqm;
        drops[DropCause::Loss as usize] = self.drops_loss;
        LinkCounters {
            arrivals: self.arrivals,
            accepted: self.accepted,
            bytes: self.bytes,
            drops,
            marks: self.marks,
            busy: Time::from_nanos(self.busy_ns),
            sojourn: Time::from_nanos(self.sojourn_ns),
            max_packets: self.max_queue_packets,
        }
    }

    fn regions(&self) -> Option<Regions> {
        let [below, between, above] = self.red_ns?.map(Time::from_nanos);
        Some(Regions { below, between, above })
    }
}

/// The hosts whose packets are in the segments table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Observed {
    /// No host.
    Nothing,
    /// The host at this port of the router.
    Port(u32),
    /// All hosts. A packet that arrives has two rows, as sent and as received.
    Everywhere,
}

/// The testbed's choices about how to read a run, which are not part of the scenario.
#[derive(Clone, Debug)]
pub struct Choices {
    /// The times of the snapshots, at which counters were read.
    pub snapshots: Vec<Time>,
    /// The hosts whose packets are in the segments table.
    pub observed: Observed,
    /// Whether time 0 of the tables is when the first data packet was sent, instead of when the workload started.
    pub from_first_data: bool,
    /// A retransmission within this time after a packet arrived at its sender counts as a response to that packet. A
    /// later retransmission counts as caused by a timeout.
    pub answer: Time,
}

/// Reads a run on a kernel. Returns its tables, and the time on the router's clock that is time 0 in the tables.
///
/// # Errors
/// If a trace cannot be read.
pub fn read(
    scenario: &Scenario,
    testbed: &Testbed,
    choices: &Choices,
    packets: impl BufRead,
    queues: Option<impl BufRead>,
) -> Result<(Records, i64), KernelError> {
    let mut reader = Reader::new(scenario, testbed, choices);
    reader.read(packets)?;
    let run = Run { scenario, testbed, zero: reader.zero(), reader: &reader };
    let mut recorder = Recorder::new(scenario);
    for row in reader.segments.iter().filter(|row| run.is_within(row.time_ns)) {
        // Rows before time 0 are left out. A handshake precedes time 0 only if time 0 is that of the first data packet,
        // a choice for studies whose TCP has no handshake.
        recorder.file_segment(SegmentRow { time_ns: run.since_zero(row.time_ns), ..*row });
    }
    for packet in reader.delivered.iter().filter(|packet| run.is_within(packet.at)) {
        let (at, delay) = (run.since_zero(packet.at), Time::from_nanos(packet.delay));
        recorder.delay(Time::from_nanos(at), packet.way, delay, packet.payload);
    }
    let failures = testbed.failures();
    for connection in &reader.connections {
        let mut record = connection.record(run.zero, run.end());
        if record.end.is_never() {
            record.failure = failures.get(&connection.client_end).copied();
        }
        recorder.connection(&record);
        if let Some(reason) = record.failure {
            recorder.failure(&record, reason);
        }
    }
    for (at, record) in &reader.snapshots {
        recorder.snapshot_connection(*at, record);
    }
    run.file_objects(&mut recorder, &choices.snapshots);
    run.file_links(&mut recorder, &choices.snapshots);
    // Tables of probes that are off are empty, as in the simulator.
    let samples_queues = scenario.probes.queue_interval_ns.is_some() && !scenario.probes.queues.is_empty();
    if let Some(queues) = queues.filter(|_| samples_queues) {
        run.file_queues(&mut recorder, queues)?;
    }
    if scenario.probes.cwnd {
        run.file_windows(&mut recorder);
    }
    Ok((recorder.finish(), run.zero))
}

struct Run<'a> {
    scenario: &'a Scenario,
    testbed: &'a Testbed,
    reader: &'a Reader<'a>,
    /// Time 0 of the tables on the router's clock.
    zero: i64,
}

impl Run<'_> {
    fn end(&self) -> i64 {
        self.scenario.duration_ns.as_nanos() as i64
    }

    /// Whether a time on the router's clock is within the run.
    fn is_within(&self, router_ns: u64) -> bool {
        (0..=self.end()).contains(&(router_ns as i64 - self.zero))
    }

    fn since_zero(&self, router_ns: u64) -> u64 {
        (router_ns as i64 - self.zero).max(0) as u64
    }

    /// Records the objects that began before the end of the run and, for each snapshot, the objects in progress at its
    /// time.
    fn file_objects(&self, recorder: &mut Recorder, snapshots: &[Time]) {
        let mut connections: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for connection in &self.reader.connections {
            connections.entry(connection.client_end).or_default().push(connection);
        }
        let clock = self.testbed.router_start_ns + self.zero;
        let until = |object: &Object, end: i64| {
            let began = object.start_ns - clock;
            let ended = object.end_ns.map(|at| at - clock).filter(|&at| at <= end);
            let under_way = began..=ended.unwrap_or(end);
            let of =
                |times: &[u64]| times.iter().filter(|&&at| under_way.contains(&(at as i64 - self.zero))).count() as u32;
            let ends = object.client_ends.iter().map(|&(address, port)| SocketAddr::new(address, port));
            let used: Vec<_> = ends.filter_map(|end| connections.get(&end)).flatten().collect();
            (began < end).then(|| ObjectRecord {
                kind: object.kind,
                index: object.index,
                start: Time::from_nanos(began.max(0) as u64),
                end: ended.map_or(Time::MAX, |at| Time::from_nanos(at as u64)),
                bytes: object.bytes,
                connections: object.connections,
                retransmits: used.iter().map(|connection| of(&connection.retransmits)).sum(),
                timeouts: used.iter().map(|connection| of(&connection.timeouts)).sum(),
            })
        };
        for object in &self.testbed.objects {
            if let Some(record) = until(object, self.end()) {
                recorder.object(object.traffic, &record);
            }
        }
        for &at in snapshots {
            for object in &self.testbed.objects {
                match until(object, at.as_nanos() as i64) {
                    Some(record) if record.end.is_never() => recorder.snapshot_object(at, object.traffic, &record),
                    _ => {}
                }
            }
        }
    }

    fn file_links(&self, recorder: &mut Recorder, snapshots: &[Time]) {
        let Summary { wall_ns, links, link_snapshots } = &self.testbed.summary;
        // The router stops a little after the scenario's end, and its last counters include that time. The snapshot at
        // the scenario's end does not, so it is used if there is one.
        let (length, links) = match link_snapshots.get(snapshots.len()) {
            Some(at_end) => (self.scenario.duration_ns, at_end),
            None => (Time::from_nanos(*wall_ns), links),
        };
        for (index, link) in links.iter().enumerate() {
            recorder.file_link(index as u32, length, &link.counters(), link.regions());
        }
        for (&at, links) in snapshots.iter().zip(link_snapshots) {
            for (index, link) in links.iter().enumerate() {
                recorder.snapshot_link(at, index as u32, &link.counters(), link.regions());
            }
        }
    }

    fn file_queues(&self, recorder: &mut Recorder, queues: impl BufRead) -> Result<(), KernelError> {
        trace::samples(queues, |at, link, packets, bytes, average| {
            if self.is_within(at) {
                let sample = QueueSample { link, packets, bytes, average };
                recorder.queue(Time::from_nanos(self.since_zero(at)), &sample);
            }
        })
    }

    fn file_windows(&self, recorder: &mut Recorder) {
        let clock = self.testbed.router_start_ns + self.zero;
        for &Window(at, source, port, destination, peer_port, cwnd, ssthresh, rtt, flight, state) in
            &self.testbed.windows
        {
            let sender = SocketAddr::new(source, port);
            let found = self.reader.latest(sender, SocketAddr::new(destination, peer_port));
            if let Some(way) = found.filter(|_| at - clock <= self.end()) {
                let sample = WindowSample {
                    cwnd_bytes: cwnd,
                    ssthresh_bytes: ssthresh.unwrap_or(u64::MAX),
                    srtt: Time::from_nanos(rtt),
                    in_flight_bytes: flight,
                    // <linux/tcp.h>, enum tcp_ca_state
                    state: match state {
                        0 => CongestionState::Open,
                        1 => CongestionState::Disorder,
                        2 => CongestionState::Cwr,
                        3 => CongestionState::Recovery,
                        _ => CongestionState::Loss,
                    },
                };
                recorder.window(Time::from_nanos((at - clock).max(0) as u64), way, &sample);
            }
        }
    }
}

#[cfg(test)]
mod tests;
