//! The interface through which the simulator reports to a recorder. [`NoProbe`] compiles to nothing.

use cwndlab_net::queue::Regions;
use cwndlab_net::{DropCause, LinkCounters};
use cwndlab_tcp::{CongestionState, DeliveredCe, Segment, Traced};
use cwndlab_traffic::ObjectRecord;
use cwndlab_units::Time;

use crate::reason::Reason;
use crate::stacks::Content;

/// A connection and the direction of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Serial number of the connection in the order of opening, from 0; never reused.
    pub connection: u32,
    /// Whether the client end sent the segment.
    pub from_client: bool,
}

/// A connection opened by an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Serial number: one more than that of the previous connection.
    pub connection: u32,
    /// Index of its traffic entry.
    pub traffic: u32,
    /// Index of the client end's configuration.
    pub tcp_client: u16,
    /// Index of the server end's configuration.
    pub tcp_server: u16,
    /// Whether it is a datagram flow, which has no TCP.
    pub datagrams: bool,
}

/// What happened to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentEvent {
    /// An endpoint at the observed node sent the segment.
    Sent {
        /// whether it was retransmitted after a retransmission timeout
        timeout: bool,
    },
    /// The segment arrived at the observed node.
    Received,
    /// A link dropped the segment.
    Dropped {
        /// index of the link
        link: u32,
        /// why
        cause: DropCause,
    },
    /// A link marked the segment CE.
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
    /// When the connection ended; [`Time::MAX`] if it has not.
    pub end: Time,
    /// In-order payload bytes delivered at the server.
    pub bytes_up: u64,
    /// In-order payload bytes delivered at the client.
    pub bytes_down: u64,
    /// Segments sent, both ends.
    pub segments_sent: u64,
    /// Retransmitted segments, both ends.
    pub retransmits: u32,
    /// Retransmission timeouts, both ends.
    pub timeouts: u32,
    /// Fast retransmits, both ends.
    pub fast_retransmits: u32,
    /// Window reductions in response to ECN, both ends.
    pub ecn_reductions: u32,
    /// Drops of this connection's packets by links, both directions.
    pub drops: u32,
    /// CE marks of this connection's packets by links, both directions.
    pub marks: u32,
    /// Why the connection failed: it was refused, reset, abandoned, or ended by an error of its stack.
    pub failure: Option<Reason>,
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
    /// The congestion state of the sender.
    pub state: CongestionState,
}

/// One sample of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueSample {
    /// Index of the link.
    pub link: u32,
    /// Packets waiting or in service.
    pub packets: u32,
    /// Bytes of these packets.
    pub bytes: u64,
    /// The average queue length, if the queue computes one.
    pub average: Option<f64>,
}

/// A recorder. Each method does nothing by default. The simulator calls methods only if [`Probe::ENABLED`] is true. Of
/// the records that a [`crate::ProbeSpec`] can request, it reports only those that the scenario requests.
pub trait Probe {
    /// Whether anything is recorded.
    const ENABLED: bool;
    /// Approximate memory of the records so far.
    fn held_bytes(&self) -> u64 {
        0
    }
    /// Called when a connection is opened, before any other method is called for the connection. The scenario need not
    /// request this.
    fn opened(&mut self, _opened: &Opened) {}
    /// Called for each segment that is sent or received at the observed node, or dropped or marked by any link. `ip_id`
    /// is the packet's identification (RFC 791, section 3.1). Each host numbers the packets that it sends, so a
    /// retransmission has a new `ip_id`; a copy made by a link has the original's.
    fn segment(&mut self, _now: Time, _event: SegmentEvent, _way: Way, _ip_id: u16, _segment: &Segment) {}
    /// As [`Probe::segment`], for a datagram of a stack from outside the engine.
    fn datagram(
        &mut self,
        now: Time,
        event: SegmentEvent,
        way: Way,
        ip_id: u16,
        segment: &Segment,
        _content: &Content,
    ) {
        self.segment(now, event, way, ip_id, segment);
    }
    /// Called when a packet with `payload` bytes has reached its destination, `delay` after it was sent; for an application
    /// that sends messages over a stack, when a message has.
    fn delay(&mut self, _now: Time, _way: Way, _delay: Time, _payload: u32) {}
    /// Called for each connection, when it ends or at the end of the run.
    fn connection(&mut self, _record: &ConnectionRecord) {}
    /// A connection failed; called when it ends, or at the end of the run, whatever is probed.
    fn failure(&mut self, _record: &ConnectionRecord, _reason: Reason) {}
    /// Called for each open connection at a snapshot, just before the start or end of one of the scenario's windows.
    fn snapshot_connection(&mut self, _at: Time, _record: &ConnectionRecord) {}
    /// Called for each unfinished object at a snapshot, with the record that [`Probe::object`] would receive if the run
    /// ended then.
    fn snapshot_object(&mut self, _at: Time, _traffic: u32, _record: &ObjectRecord) {}
    /// Called for each link at a snapshot, with its counters.
    fn snapshot_link(&mut self, _at: Time, _link: u32, _counters: &LinkCounters, _regions: Option<Regions>) {}
    /// Called for each page, file, transaction or object, when it ends or at the end of the run.
    fn object(&mut self, _traffic: u32, _record: &ObjectRecord) {}
    /// Called for each sample of a queue.
    fn queue(&mut self, _now: Time, _sample: &QueueSample) {}
    /// Called when a sender's window has changed.
    fn window(&mut self, _now: Time, _way: Way, _sample: &WindowSample) {}
    /// Called when the AccECN counters of a sender have changed.
    fn accecn(&mut self, _now: Time, _way: Way, _counters: &DeliveredCe) {}
    /// Called when an interval ends during which a sender had the same limit or was in the same congestion state, and
    /// when one of a sender's timers expires.
    fn traced(&mut self, _way: Way, _traced: &Traced) {}
    /// Called for each link at the end of the run, with its counters and, for RED queues, the time that the average
    /// queue length spent below, between and above the thresholds.
    fn link(&mut self, _link: u32, _counters: &LinkCounters, _regions: Option<Regions>) {}
}

/// A recorder that records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    const ENABLED: bool = false;
}
