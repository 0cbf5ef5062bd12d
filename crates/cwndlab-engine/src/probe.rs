//! The interface through which the simulator reports to a recorder. [`NoProbe`] compiles to nothing.

use cwndlab_net::queue::Regions;
use cwndlab_net::{DropCause, LinkCounters};
use cwndlab_tcp::{CongestionState, DeliveredCe, Segment, Traced};
use cwndlab_traffic::ObjectRecord;
use cwndlab_units::Time;

/// Which connection, and which way a segment goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Serial number of the connection in the order of opening, from 0; never reused.
    pub connection: u32,
    /// Whether the client end sent it.
    pub from_client: bool,
}

/// A connection that an application opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Serial number: one more than that of the connection opened before.
    pub connection: u32,
    /// Index of its traffic entry.
    pub traffic: u32,
    /// Index of the client end's configuration.
    pub tcp_client: u16,
    /// Index of the server end's configuration.
    pub tcp_server: u16,
    /// Whether it is a flow of datagrams, which has no TCP.
    pub datagrams: bool,
}

/// What happened to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentEvent {
    /// An endpoint at the observed node sent it.
    Sent {
        /// whether an expired retransmission timer made it send this again
        timeout: bool,
    },
    /// It arrived at the observed node.
    Received,
    /// A link dropped it.
    Dropped {
        /// index of the link
        link: u32,
        /// why
        cause: DropCause,
    },
    /// A link marked it CE.
    Marked {
        /// index of the link
        link: u32,
    },
}

/// The state of a connection when it ended, at a snapshot, or at the end of the run.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionRecord {
    /// Serial number.
    pub connection: u32,
    /// Index of its traffic entry.
    pub traffic: u32,
    /// When it was opened.
    pub start: Time,
    /// When the client end became established; [`Time::MAX`] if never.
    pub established: Time,
    /// When both ends were gone; [`Time::MAX`] if they are not.
    pub end: Time,
    /// In-order payload bytes delivered at the server.
    pub bytes_up: u64,
    /// In-order payload bytes delivered at the client.
    pub bytes_down: u64,
    /// Segments sent, both ends.
    pub segments_sent: u64,
    /// Segments sent again, both ends.
    pub retransmits: u32,
    /// Retransmission timeouts, both ends.
    pub timeouts: u32,
    /// Fast retransmits, both ends.
    pub fast_retransmits: u32,
    /// Reductions of the window for an ECN echo, both ends.
    pub ecn_reductions: u32,
    /// Its packets that links dropped, both ways.
    pub drops: u32,
    /// Its packets that links marked CE, both ways.
    pub marks: u32,
    /// Whether it was given up or reset.
    pub failed: bool,
}

/// One sample of a sender's window.
#[derive(Clone, Copy, Debug)]
pub struct WindowSample {
    /// Congestion window in bytes.
    pub cwnd_bytes: u64,
    /// Slow-start threshold in bytes ([`u64::MAX`] = none yet).
    pub ssthresh_bytes: u64,
    /// Smoothed round-trip time; zero before the first measurement.
    pub srtt: Time,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// How the sender sees the path.
    pub state: CongestionState,
}

/// One sample of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueSample {
    /// Index of the link.
    pub link: u32,
    /// Packets waiting or in service.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u64,
    /// The queue's own average, where it keeps one.
    pub average: Option<f64>,
}

/// A recorder: each method does nothing unless it is written, and is called only if the scenario's probes ask for it
/// and [`Probe::ENABLED`].
pub trait Probe {
    /// Whether anything is recorded at all.
    const ENABLED: bool;
    /// Memory of what was recorded so far, about.
    fn held_bytes(&self) -> u64 {
        0
    }
    /// A connection, when it is opened and before anything else of it; always called.
    fn opened(&mut self, _opened: &Opened) {}
    /// A segment at the observed node, or dropped or marked anywhere. `ip_id` is the packet's identification (RFC 791,
    /// section 3.1): its sending host counts what it sends, so one sent again has another, and a link's copy the same.
    fn segment(&mut self, _now: Time, _event: SegmentEvent, _way: Way, _ip_id: u16, _segment: &Segment) {}
    /// A packet has reached its end with `payload` bytes, `delay` after it was sent.
    fn delay(&mut self, _now: Time, _way: Way, _delay: Time, _payload: u32) {}
    /// A connection, when it ends or when the run does.
    fn connection(&mut self, _record: &ConnectionRecord) {}
    /// A snapshot of an open connection, taken just before an edge of one of the scenario's windows.
    fn snapshot_connection(&mut self, _at: Time, _record: &ConnectionRecord) {}
    /// An unfinished object, as [`Probe::object`] would record it if the run ended at this snapshot.
    fn snapshot_object(&mut self, _at: Time, _traffic: u32, _record: &ObjectRecord) {}
    /// A link's counters at a snapshot.
    fn snapshot_link(&mut self, _at: Time, _link: u32, _counters: &LinkCounters, _regions: Option<Regions>) {}
    /// A page, file, transaction or object, when it ends or when the run does.
    fn object(&mut self, _traffic: u32, _record: &ObjectRecord) {}
    /// A queue, at the sampling interval.
    fn queue(&mut self, _now: Time, _sample: &QueueSample) {}
    /// A sender's window, when it changed.
    fn window(&mut self, _now: Time, _way: Way, _sample: &WindowSample) {}
    /// What AccECN has reported to a sender, when it changed.
    fn accecn(&mut self, _now: Time, _way: Way, _counters: &DeliveredCe) {}
    /// What limited a sender, its states and the expiries of its timers, once known.
    fn traced(&mut self, _way: Way, _traced: &Traced) {}
    /// A link's counters at the end of the run, and how long its queue's average was in each region, if it keeps one with thresholds.
    fn link(&mut self, _link: u32, _counters: &LinkCounters, _regions: Option<Regions>) {}
}

/// Records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    const ENABLED: bool = false;
}
