//! Implements the engine's [`Probe`]: writes the events of a run into the record tables.

use cwndlab_engine::{
    ConnectionRecord, Content, Opened, Probe, QueueSample, Reason, Scenario, SegmentEvent as Seen, Way, WindowSample,
};
use cwndlab_net::queue::Regions;
use cwndlab_net::{DropCause, LinkCounters};
use cwndlab_tcp::{Cause, CongestionState, DeliveredCe, Expired, Flags, Limit, Segment, Traced};
use cwndlab_traffic::ObjectRecord;
use cwndlab_units::Time;

use crate::cell::{AccEcnCounts, OneOf};
use crate::records::{Place, Records};
use crate::sequence::{offset, sack, unwrap, Half, Numbers, Passage};
use crate::table::Table as _;
use crate::tables::{
    AccEcnCounters, AccEcnRow, ConnectionRow, ConnectionSnapshots, Connections, DelayRow, Delays, ExpiredTimer,
    FailureRow, Failures, LimitRow, Limits, LinkRow, LinkSnapshots, Links, ObjectKind, ObjectRow, ObjectSnapshots,
    Objects, QueueRow, Queues, SegmentRow, Segments, SendLimit, SenderState, StateCause, StateRow, States, TimeoutRow,
    Timeouts, WindowRow, Windows,
};
use crate::trace::Flow;

/// Records a run into tables. To run without records and their cost, use [`cwndlab_engine::NoProbe`].
#[derive(Debug)]
pub struct Recorder {
    segments: Segments,
    connections: Connections,
    objects: Objects,
    links: Links,
    queues: Queues,
    windows: Windows,
    connection_snapshots: ConnectionSnapshots,
    object_snapshots: ObjectSnapshots,
    link_snapshots: LinkSnapshots,
    limits: Limits,
    states: States,
    timeouts: Timeouts,
    delays: Delays,
    accecn: AccEcnCounters,
    failures: Failures,
    /// State of each connection, if segments are observed.
    watched: Vec<Watched>,
    place: Place,
    duration: Time,
    /// Client and server node of each traffic entry.
    ends: Vec<(u32, u32)>,
    /// Payload bytes of a full segment, by the client's and the server's configuration index.
    unit: Vec<Vec<u32>>,
}

/// The state of a connection that is needed to number its segments.
#[derive(Debug)]
struct Watched {
    flow: Flow,
    unit: u32,
    /// The halves of the client and of the server, in this order.
    halves: [Half; 2],
}

/// The initial state of each end. The SYN counts as acknowledged, because a connection may have no handshake.
const NEW: Half = Half { high: 1, ack: 1, window: None };

fn some(time: Time) -> Option<u64> {
    (!time.is_never()).then_some(time.as_nanos())
}

impl Recorder {
    /// A recorder for one run of a scenario.
    pub fn new(scenario: &Scenario) -> Recorder {
        let observed = scenario.probes.segments_at;
        let name = |node: u32| scenario.nodes.get(node as usize).cloned();
        Recorder {
            segments: Segments::default(),
            connections: Connections::default(),
            objects: Objects::default(),
            links: Links::default(),
            queues: Queues::default(),
            windows: Windows::default(),
            connection_snapshots: ConnectionSnapshots::default(),
            object_snapshots: ObjectSnapshots::default(),
            link_snapshots: LinkSnapshots::default(),
            limits: Limits::default(),
            states: States::default(),
            timeouts: Timeouts::default(),
            delays: Delays::default(),
            accecn: AccEcnCounters::default(),
            failures: Failures::default(),
            watched: Vec::new(),
            place: Place {
                network: scenario.network,
                node: observed.and_then(name),
                links: scenario.links.iter().map(|link| (link.name.clone(), (link.from, link.to))).collect(),
            },
            duration: scenario.duration_ns,
            ends: scenario.traffic.iter().map(|traffic| (traffic.client, traffic.server)).collect(),
            unit: scenario.tcp.iter().map(|a| scenario.tcp.iter().map(|b| a.full_segment_bytes(b)).collect()).collect(),
        }
    }

    /// Finishes all tables and returns them.
    pub fn finish(self) -> Records {
        let batches = vec![
            self.segments.finish(),
            self.connections.finish(),
            self.objects.finish(),
            self.links.finish(),
            self.queues.finish(),
            self.windows.finish(),
            self.connection_snapshots.finish(),
            self.object_snapshots.finish(),
            self.link_snapshots.finish(),
            self.limits.finish(),
            self.states.finish(),
            self.timeouts.finish(),
            self.delays.finish(),
            self.accecn.finish(),
            self.failures.finish(),
        ];
        Records::new(batches, self.watched.iter().map(|watched| watched.flow).collect(), self.place)
    }

    /// Records a segment of a run on a kernel.
    pub(crate) fn file_segment(&mut self, row: SegmentRow) {
        self.segments.push(row);
    }

    /// Records a link's counters at the end of a run of this `length`, which may differ from the scenario's duration.
    pub(crate) fn file_link(&mut self, link: u32, length: Time, counters: &LinkCounters, regions: Option<Regions>) {
        self.links.push(Recorder::link_row(link, length, counters, regions));
    }

    /// The row of a segment, whose connection's numbers it advances.
    #[inline]
    fn segment_row(&mut self, now: Time, event: Seen, way: Way, ip_id: u16, segment: &Segment) -> SegmentRow {
        let watched = &mut self.watched[way.connection as usize];
        let mine = usize::from(!way.from_client);
        let (own, other) = (watched.halves[mine], watched.halves[1 - mine]);
        let has_ack = segment.flags.has(Flags::ACK);
        let numbers = Numbers {
            position: unwrap(segment.seq, own.high),
            ack: if has_ack { unwrap(segment.ack, other.high) } else { 0 },
            len: segment.len,
            window: segment.window,
            flags: segment.flags,
        };
        let passage = match event {
            Seen::Sent { .. } => Passage::Sent { again: segment.retransmission },
            Seen::Received => Passage::Received,
            Seen::Dropped { link, cause } => Passage::Dropped(link, cause),
            Seen::Marked { link } => Passage::Marked(link),
        };
        let (row_event, link, cause) = numbers.event(passage, &own, &other);
        let row = SegmentRow {
            time_ns: now.as_nanos(),
            event: OneOf(row_event),
            connection: way.connection,
            from_client: way.from_client,
            sent: matches!(event, Seen::Sent { .. }),
            seq: offset(numbers.position),
            len: segment.len,
            ack: offset(numbers.ack),
            window_bytes: segment.window,
            flags: segment.flags.0,
            ecn: segment.ecn,
            timeout: matches!(event, Seen::Sent { timeout: true }),
            sack: sack(segment.sack.as_slice().iter().copied(), other.high),
            accecn: segment.accecn.map(AccEcnCounts::from).unwrap_or_default(),
            ts_val: segment.has_timestamps.then_some(segment.ts_val),
            ts_ecr: segment.has_timestamps.then_some(segment.ts_ecr),
            mss_bytes: (segment.mss != 0).then_some(segment.mss),
            window_scale: segment.window_scale_plus_1.checked_sub(1),
            sack_permitted: segment.sack_permitted,
            ip_id: Some(ip_id),
            wire_bytes: segment.wire_bytes,
            segment: numbers.packet(watched.unit),
            link,
            cause,
        };
        let own = &mut watched.halves[mine];
        own.high = own.high.max(numbers.end());
        if link.is_none() && has_ack {
            own.acknowledged(numbers.ack, segment.window);
        }
        row
    }

    /// Converts a connection's record to a row, adding the nodes of its client and server.
    fn connection_row(&self, record: &ConnectionRecord) -> ConnectionRow {
        let (client, server) = self.ends[record.traffic as usize];
        ConnectionRow {
            connection: record.connection,
            traffic: record.traffic,
            client,
            server,
            start_ns: record.start.as_nanos(),
            established_ns: some(record.established),
            end_ns: some(record.end),
            bytes_up: record.bytes_up,
            bytes_down: record.bytes_down,
            segments_sent: record.segments_sent,
            retransmits: record.retransmits,
            timeouts: record.timeouts,
            fast_retransmits: record.fast_retransmits,
            ecn_reductions: record.ecn_reductions,
            drops: record.drops,
            marks: record.marks,
            failed: record.failure.is_some(),
        }
    }

    /// A link's row at `now`: its counters, and its mean queue length since the start of the run.
    fn link_row(link: u32, now: Time, counters: &LinkCounters, regions: Option<Regions>) -> LinkRow {
        let drops = |cause: DropCause| counters.drops[cause as usize];
        LinkRow {
            link,
            arrivals: counters.arrivals,
            departures: counters.accepted,
            bytes: counters.bytes,
            drops_full: drops(DropCause::Full),
            drops_aqm: drops(DropCause::Aqm),
            drops_loss: drops(DropCause::Loss),
            marks: counters.marks,
            busy_ns: counters.busy.as_nanos(),
            mean_queue_packets: counters.sojourn.as_secs_f64() / now.as_secs_f64(),
            max_queue_packets: counters.max_packets,
            red_below_ns: regions.map(|r| r.below.as_nanos()),
            red_between_ns: regions.map(|r| r.between.as_nanos()),
            red_above_ns: regions.map(|r| r.above.as_nanos()),
        }
    }
}

impl Probe for Recorder {
    const ENABLED: bool = true;

    fn held_bytes(&self) -> u64 {
        self.segments.held_bytes()
            + self.connections.held_bytes()
            + self.objects.held_bytes()
            + self.queues.held_bytes()
            + self.windows.held_bytes()
            + self.connection_snapshots.held_bytes()
            + self.object_snapshots.held_bytes()
            + self.link_snapshots.held_bytes()
            + self.limits.held_bytes()
            + self.states.held_bytes()
            + self.timeouts.held_bytes()
            + self.delays.held_bytes()
            + self.accecn.held_bytes()
            + (self.watched.len() * size_of::<Watched>()) as u64
    }

    fn opened(&mut self, opened: &Opened) {
        if self.place.node.is_none() {
            return;
        }
        let (client, server) = self.ends[opened.traffic as usize];
        debug_assert_eq!(opened.connection as usize, self.watched.len(), "connections are opened in serial order");
        self.watched.push(Watched {
            flow: Flow { client, server, traffic: opened.traffic, datagrams: opened.datagrams },
            unit: self.unit[usize::from(opened.tcp_client)][usize::from(opened.tcp_server)],
            halves: [NEW; 2],
        });
    }

    fn datagram(&mut self, now: Time, event: Seen, way: Way, ip_id: u16, segment: &Segment, content: &Content) {
        let row = self.segment_row(now, event, way, ip_id, segment);
        let number = content.number.map_or(0, |number| number as i64 + 1);
        self.segments.push(SegmentRow { segment: number, ..row });
        self.segments.add_acked(&content.acked);
    }

    fn segment(&mut self, now: Time, event: Seen, way: Way, ip_id: u16, segment: &Segment) {
        let row = self.segment_row(now, event, way, ip_id, segment);
        self.segments.push(row);
    }

    fn delay(&mut self, now: Time, way: Way, delay: Time, payload: u32) {
        self.delays.push(DelayRow {
            time_ns: now.as_nanos(),
            connection: way.connection,
            from_client: way.from_client,
            delay_ns: delay.as_nanos(),
            len: payload,
        });
    }

    fn connection(&mut self, record: &ConnectionRecord) {
        self.connections.push(self.connection_row(record));
    }

    fn failure(&mut self, record: &ConnectionRecord, reason: Reason) {
        self.failures.push(FailureRow {
            connection: record.connection,
            traffic: record.traffic,
            end_ns: some(record.end),
            reason,
        });
    }

    fn snapshot_connection(&mut self, at: Time, record: &ConnectionRecord) {
        self.connection_snapshots.push(self.connection_row(record).at(at.as_nanos()));
    }

    fn snapshot_object(&mut self, at: Time, traffic: u32, record: &ObjectRecord) {
        self.object_snapshots.push(object_row(traffic, record).at(at.as_nanos()));
    }

    fn link(&mut self, link: u32, counters: &LinkCounters, regions: Option<Regions>) {
        self.file_link(link, self.duration, counters, regions);
    }

    fn snapshot_link(&mut self, at: Time, link: u32, counters: &LinkCounters, regions: Option<Regions>) {
        self.link_snapshots.push(Recorder::link_row(link, at, counters, regions).at(at.as_nanos()));
    }

    fn object(&mut self, traffic: u32, record: &ObjectRecord) {
        self.objects.push(object_row(traffic, record));
    }

    fn queue(&mut self, now: Time, sample: &QueueSample) {
        self.queues.push(QueueRow {
            time_ns: now.as_nanos(),
            link: sample.link,
            packets: sample.packets,
            bytes: sample.bytes,
            average: sample.average,
        });
    }

    fn window(&mut self, now: Time, way: Way, sample: &WindowSample) {
        self.windows.push(WindowRow {
            time_ns: now.as_nanos(),
            connection: way.connection,
            from_client: way.from_client,
            cwnd_bytes: sample.cwnd_bytes,
            ssthresh_bytes: (sample.ssthresh_bytes != u64::MAX).then_some(sample.ssthresh_bytes),
            srtt_ns: (sample.srtt != Time::ZERO).then_some(sample.srtt.as_nanos()),
            in_flight_bytes: sample.in_flight_bytes,
            state: sender_state(sample.state),
        });
    }

    fn accecn(&mut self, now: Time, way: Way, counters: &DeliveredCe) {
        let bytes = |bytes: u32| counters.by_option.then_some(bytes);
        self.accecn.push(AccEcnRow {
            time_ns: now.as_nanos(),
            connection: way.connection,
            from_client: way.from_client,
            ce_packets: counters.packets,
            ce_bytes: bytes(counters.ce_bytes),
            ect0_bytes: bytes(counters.ect0_bytes),
            ect1_bytes: bytes(counters.ect1_bytes),
        });
    }

    fn traced(&mut self, way: Way, traced: &Traced) {
        let Way { connection, from_client } = way;
        match *traced {
            Traced::Limited { from, to, by } => self.limits.push(LimitRow {
                connection,
                from_client,
                from_ns: from.as_nanos(),
                to_ns: to.as_nanos(),
                limit: send_limit(by),
            }),
            Traced::Was { from, to, state, entered_by, left_by } => self.states.push(StateRow {
                connection,
                from_client,
                from_ns: from.as_nanos(),
                to_ns: to.as_nanos(),
                state: sender_state(state),
                entered_by: state_cause(entered_by),
                left_by: left_by.map(state_cause),
            }),
            Traced::Expired { at, timer, set_at, backoffs, acked } => self.timeouts.push(TimeoutRow {
                time_ns: at.as_nanos(),
                connection,
                from_client,
                timer: OneOf(match timer {
                    Expired::Retransmission => ExpiredTimer::Retransmission,
                    Expired::Probe => ExpiredTimer::Probe,
                    Expired::Reordering => ExpiredTimer::Reordering,
                    Expired::Persist => ExpiredTimer::Persist,
                }),
                set_ns: set_at.as_nanos(),
                backoffs,
                seq: acked,
            }),
        }
    }
}

fn sender_state(state: CongestionState) -> OneOf<SenderState> {
    OneOf(match state {
        CongestionState::Open => SenderState::Open,
        CongestionState::Disorder => SenderState::Disorder,
        CongestionState::Cwr => SenderState::Cwr,
        CongestionState::Recovery => SenderState::Recovery,
        CongestionState::Loss => SenderState::Loss,
    })
}

fn send_limit(limit: Limit) -> OneOf<SendLimit> {
    OneOf(match limit {
        Limit::Handshake => SendLimit::Handshake,
        Limit::Cwnd => SendLimit::Cwnd,
        Limit::MaxWindow => SendLimit::MaxWindow,
        Limit::ReceiveWindow => SendLimit::ReceiveWindow,
        Limit::Recovery => SendLimit::Recovery,
        Limit::Pacing => SendLimit::Pacing,
        Limit::SmallSegment => SendLimit::SmallSegment,
        Limit::SendBuffer => SendLimit::SendBuffer,
        Limit::Application => SendLimit::Application,
        Limit::Idle => SendLimit::Idle,
        Limit::Closed => SendLimit::Closed,
        Limit::Timeout => SendLimit::Timeout,
        Limit::Probe => SendLimit::Probe,
        Limit::Reordering => SendLimit::Reordering,
    })
}

fn state_cause(cause: Cause) -> OneOf<StateCause> {
    OneOf(match cause {
        Cause::Start => StateCause::Start,
        Cause::Ack => StateCause::Ack,
        Cause::Reports => StateCause::Reports,
        Cause::Loss => StateCause::Loss,
        Cause::ReorderingTimer => StateCause::ReorderingTimer,
        Cause::Timeout => StateCause::Timeout,
        Cause::Ecn => StateCause::Ecn,
        Cause::Undo => StateCause::Undo,
    })
}

fn object_row(traffic: u32, record: &ObjectRecord) -> ObjectRow {
    ObjectRow {
        traffic,
        kind: OneOf(match record.kind {
            cwndlab_traffic::ObjectKind::Page => ObjectKind::Page,
            cwndlab_traffic::ObjectKind::File => ObjectKind::File,
            cwndlab_traffic::ObjectKind::Transaction => ObjectKind::Transaction,
            cwndlab_traffic::ObjectKind::Object => ObjectKind::Object,
        }),
        index: record.index,
        start_ns: record.start.as_nanos(),
        end_ns: some(record.end),
        bytes: record.bytes,
        connections: record.connections,
        retransmits: record.retransmits,
        timeouts: record.timeouts,
        finished: !record.end.is_never(),
    }
}

#[cfg(test)]
mod tests;
