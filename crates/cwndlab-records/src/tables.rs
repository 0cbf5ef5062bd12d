//! Every table that a run leaves behind. Units are part of the columns' names; times count from the start of the run.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};

use crate::cell::{AccEcnCounts, Cell, Label, OneOf, Sack};
use crate::table::{column, counters, labels, table, ColumnDoc, SchemaError, Table, TableDoc};

labels! {
    /// What happened to a segment.
    pub enum SegmentEvent {
        /// The observed node sent data, a SYN, FIN or RST for the first time.
        Send = "send",
        /// The observed node sent it again.
        Retransmit = "retransmit",
        /// A pure acknowledgment passed the observed node, either way.
        Ack = "ack",
        /// It was a duplicate by RFC 5681, section 2.
        DupAck = "dupack",
        /// A link dropped a segment.
        Drop = "drop",
        /// A link marked it CE.
        Mark = "mark",
        /// Data, a SYN, FIN or RST arrived at the observed node.
        Receive = "recv",
    }

    /// Why a link dropped a segment.
    pub enum DropReason {
        /// The buffer was full.
        Full = "full",
        /// Active queue management.
        Aqm = "aqm",
        /// A loss model.
        Loss = "loss",
    }

    /// How a sender sees its path, in Linux's words (`tcpi_ca_state`).
    pub enum SenderState {
        /// Nothing unusual.
        Open = "open",
        /// Duplicate acknowledgments or SACK blocks, but no loss found.
        Disorder = "disorder",
        /// The window was reduced for an ECN echo or a local congestion.
        Cwr = "cwr",
        /// Loss recovery after a fast retransmit.
        Recovery = "recovery",
        /// Sending again after a timeout.
        Loss = "loss",
    }

    /// What kept a sender from sending more.
    pub enum SendLimit {
        /// The connection was not established.
        Handshake = "handshake",
        /// The congestion window was full.
        Cwnd = "cwnd",
        /// The endpoint's configured largest window was full.
        MaxWindow = "max-window",
        /// The peer's receive window was full.
        ReceiveWindow = "receive-window",
        /// Fast recovery held data back.
        Recovery = "recovery",
        /// The pacer held data back.
        Pacing = "pacing",
        /// Less than a full segment waited.
        SmallSegment = "small-segment",
        /// Everything written was sent, and not all of it acknowledged.
        Application = "application",
        /// Everything written was acknowledged.
        Idle = "idle",
        /// The sender's FIN was acknowledged, or the connection was over.
        Closed = "closed",
        /// Silence until the retransmission timer expired.
        Timeout = "rto",
        /// Silence until the timer of a tail loss probe expired.
        Probe = "probe",
        /// Silence until the reordering timer of RACK expired.
        Reordering = "reordering",
    }

    /// Why a sender entered or left a state.
    pub enum StateCause {
        /// The connection began.
        Start = "start",
        /// An ACK ended an episode.
        Ack = "ack",
        /// Duplicate ACKs or SACK blocks that were not yet a loss.
        Reports = "reports",
        /// A loss was found by an ACK.
        Loss = "loss",
        /// RACK's reordering timer found a loss.
        ReorderingTimer = "reordering-timer",
        /// The retransmission timer expired.
        Timeout = "rto",
        /// An ECN echo.
        Ecn = "ecn",
        /// The last reduction was found spurious.
        Undo = "undo",
    }

    /// Which timer of a sender expired.
    pub enum ExpiredTimer {
        /// The retransmission timer.
        Retransmission = "rto",
        /// The timer of a tail loss probe.
        Probe = "probe",
        /// RACK's reordering timer.
        Reordering = "reordering",
        /// The persist timer.
        Persist = "persist",
    }

    /// What an object is.
    pub enum ObjectKind {
        /// A web page: primary object and in-line objects.
        Page = "page",
        /// A file of a transfer.
        File = "file",
        /// A connect-request-response transaction.
        Transaction = "transaction",
        /// One object of a web page.
        Object = "object",
    }
}

table! {
    /// A segment that the observed node sent or received, or that a link dropped or marked (probe `segments_at`).
    "segments" Segments of SegmentRow {
        /// When.
        time_ns: u64,
        /// `send`, `retransmit`, `ack`, `dupack`, `drop`, `mark` or `recv`.
        event: OneOf<SegmentEvent>,
        /// Serial number of the connection, in the order of opening.
        connection: u32,
        /// Whether the client end sent it.
        from_client: bool,
        /// Whether the observed node sent it; false where it arrived there, or was dropped or marked by a link.
        sent: bool,
        /// Payload offset of the first byte: 0 is the first byte of data (and stands for a SYN).
        seq: u64,
        /// Payload bytes.
        len: u32,
        /// Payload offset up to which the segment acknowledges; a FIN counts one (0 without the ACK flag).
        ack: u64,
        /// Receive window offered, in bytes, already scaled.
        window_bytes: u32,
        /// TCP flags as in the header: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, AE 32 (in URG's place, which is not modelled),
        /// ECE 64, CWR 128.
        flags: u8,
        /// ECN field of the IP header: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE.
        ecn: u8,
        /// Whether it is what an expired retransmission timer made the observed node send again.
        timeout: bool,
        /// SACK blocks as payload offsets: start, end, start, end, … most recent first.
        sack: Sack,
        /// AccECN option (RFC 9768): payload bytes that arrived with ECT(1), CE and ECT(0), modulo 2^24; empty without it.
        accecn: AccEcnCounts,
        /// Timestamps option: value.
        ts_val: Option<u32>,
        /// Timestamps option: echo reply.
        ts_ecr: Option<u32>,
        /// MSS option of a SYN, in bytes.
        mss_bytes: Option<u16>,
        /// Window scale option of a SYN: the shift.
        window_scale: Option<u8>,
        /// Whether a SYN permits SACK.
        sack_permitted: bool,
        /// Identification of the IP header: its sending host counts its packets, one sent again has another. Null of a
        /// kernel's runs, whose captures have it.
        ip_id: Option<u16>,
        /// Bytes of the IP packet.
        wire_bytes: u32,
        /// Packet number, 1-based: of data its own, of an acknowledgment the highest it covers wholly or in part.
        segment: i64,
        /// Index of the link that dropped or marked it.
        link: Option<u32>,
        /// Why it was dropped: `full`, `aqm` or `loss`.
        cause: Option<OneOf<DropReason>>,
    }
}

counters! {
    /// A connection or a flow of datagrams, as it ended or as it stood at the end of the run (probe `connections`).
    /// A flow of datagrams has no end, and nothing of TCP.
    "connections" Connections of ConnectionRow,
    /// A connection that was open at an edge of a metric's window (`windows` of the scenario), as it stood then.
    "connection_snapshots" ConnectionSnapshots of ConnectionSnapshotRow {
        both {
            /// Serial number, in the order of opening.
            connection: u32,
            /// Index of its traffic entry.
            traffic: u32,
        }
        end {
            /// Index of the node that opened it.
            client: u32,
            /// Index of the node at the other end.
            server: u32,
            /// When it was opened.
            start_ns: u64,
            /// When the client end was established; null if never.
            established_ns: Option<u64>,
            /// When both ends were gone; null if they were not.
            end_ns: Option<u64>,
        }
        both {
            /// Payload bytes delivered in order at the server; of datagrams, all that arrived.
            bytes_up: u64,
            /// The same at the client.
            bytes_down: u64,
            /// Segments or datagrams sent, both ends.
            segments_sent: u64,
            /// Segments sent again, both ends.
            retransmits: u32,
            /// Retransmission timeouts, both ends.
            timeouts: u32,
            /// Fast retransmits, both ends.
            fast_retransmits: u32,
            /// Reductions of the window for an ECN echo, both ends.
            ecn_reductions: u32,
            /// Its packets that links dropped, both ways.
            drops: u32,
            /// Its packets that links marked CE, both ways.
            marks: u32,
        }
        end {
            /// Whether it was given up or reset.
            failed: bool,
        }
    }
}

counters! {
    /// A page, file, transaction or object that an application asked for, as seen at the client.
    "objects" Objects of ObjectRow,
    /// An object that was unfinished at an edge of a metric's window, as `objects` would have it if the run had ended then.
    "object_snapshots" ObjectSnapshots of ObjectSnapshotRow {
        both {
            /// Index of its traffic entry.
            traffic: u32,
            /// `page`, `file`, `transaction` or `object`.
            kind: OneOf<ObjectKind>,
            /// Number within the application, from 0.
            index: u32,
            /// When its clock began.
            start_ns: u64,
            /// When its last byte arrived in order; null if the run ended first.
            end_ns: Option<u64>,
            /// Payload bytes.
            bytes: u64,
            /// Connections used.
            connections: u16,
            /// Segments sent again while it was under way, both directions.
            retransmits: u32,
            /// Retransmission timeouts while it was under way, both directions.
            timeouts: u32,
            /// Whether it was finished.
            finished: bool,
        }
    }
}

counters! {
    /// What a link counted over the run.
    "links" Links of LinkRow,
    /// What a link had counted at an edge of a metric's window.
    "link_snapshots" LinkSnapshots of LinkSnapshotRow {
        both {
            /// Index of the link.
            link: u32,
            /// Packets offered.
            arrivals: u64,
            /// Packets accepted: sent, or still waiting.
            departures: u64,
            /// Bytes of those, with the link's own header.
            bytes: u64,
            /// Packets dropped by a full buffer.
            drops_full: u64,
            /// Packets dropped by active queue management.
            drops_aqm: u64,
            /// Packets dropped by a loss model.
            drops_loss: u64,
            /// Packets marked CE.
            marks: u64,
            /// Time the transmitter was busy.
            busy_ns: u64,
            /// Mean number of packets waiting or in service since the start of the run (Little 1961).
            mean_queue_packets: f64,
        }
        end {
            /// Largest number of packets waiting or in service.
            max_queue_packets: u32,
        }
        both {
            /// How long RED's average was below `min_th`; null of other queues.
            red_below_ns: Option<u64>,
            /// How long it was from `min_th` up to `max_th`.
            red_between_ns: Option<u64>,
            /// How long it was at `max_th` or above.
            red_above_ns: Option<u64>,
        }
    }
}

table! {
    /// A sample of a queue's length (probes `queues`, `queue_interval_ns`).
    "queues" Queues of QueueRow {
        /// When.
        time_ns: u64,
        /// Index of the link.
        link: u32,
        /// Packets waiting or in service.
        packets: u32,
        /// Their bytes.
        bytes: u64,
        /// The queue's own average where it keeps one (RED), in the unit of its thresholds.
        average: Option<f64>,
    }
}

table! {
    /// A sender's window, whenever it or the sender's state changed (probe `cwnd`).
    "cwnd" Windows of WindowRow {
        /// When.
        time_ns: u64,
        /// Serial number of the connection.
        connection: u32,
        /// Whether the client end is the sender.
        from_client: bool,
        /// Congestion window.
        cwnd_bytes: u64,
        /// Slow-start threshold; null before the first loss.
        ssthresh_bytes: Option<u64>,
        /// Smoothed round-trip time; null before the first measurement.
        srtt_ns: Option<u64>,
        /// Bytes sent and not yet acknowledged.
        in_flight_bytes: u64,
        /// How the sender sees the path: `open`, `disorder`, `cwr` (with RACK, and kernels), `recovery` or `loss`.
        state: OneOf<SenderState>,
    }
}

table! {
    /// What kept a sender from sending more (probe `limits`). For each end the intervals follow one another without a gap,
    /// from the opening of the connection to its end or that of the run. Of kernels it is inferred.
    "limits" Limits of LimitRow {
        /// Serial number of the connection.
        connection: u32,
        /// Whether the client end is the sender.
        from_client: bool,
        /// Start of the interval.
        from_ns: u64,
        /// End of the interval, later than its start.
        to_ns: u64,
        /// `handshake`: not established. `cwnd`: the congestion window was full. `max-window`: the configured largest window was.
        /// `receive-window`: the peer's was. `recovery`: fast recovery held data back, by pipe or allowance. `pacing`: the
        /// pacer did. `small-segment`: less than a full segment waited (Nagle, or cork). `application`: everything written was
        /// sent, and not all of it acknowledged. `idle`: everything was acknowledged. `closed`: the FIN, too. `rto`, `probe`,
        /// `reordering`: nothing was sent and nothing arrived until this timer expired; it replaces what else is true then.
        limit: OneOf<SendLimit>,
    }
}

table! {
    /// A state of a sender (probe `states`). For each end the intervals follow one another without a gap. An expired
    /// retransmission timer or an undo begins a new row even if the state stays. Of kernels it is inferred.
    "states" States of StateRow {
        /// Serial number of the connection.
        connection: u32,
        /// Whether the client end is the sender.
        from_client: bool,
        /// When it was entered.
        from_ns: u64,
        /// When it was left, or the connection or the run ended.
        to_ns: u64,
        /// `open`, `disorder`, `cwr` (with RACK), `recovery` or `loss`.
        state: OneOf<SenderState>,
        /// `start`: the connection began. `ack`: an ACK ended the state before. `reports`: duplicate ACKs or SACK blocks.
        /// `loss`: an ACK showed a loss. `reordering-timer`: RACK's timer did. `rto`: the retransmission timer expired.
        /// `ecn`: an ECN echo. `undo`: the last reduction was found spurious and taken back.
        entered_by: OneOf<StateCause>,
        /// By what the next state was entered; null if the connection or the run ended.
        left_by: Option<OneOf<StateCause>>,
    }
}

table! {
    /// An expiry of one of a sender's timers (probe `states`). Of kernels it is inferred.
    "timeouts" Timeouts of TimeoutRow {
        /// When.
        time_ns: u64,
        /// Serial number of the connection.
        connection: u32,
        /// Whether the client end is the sender.
        from_client: bool,
        /// `rto`: the retransmission timer, that of a SYN included; `probe`: tail loss probe; `reordering`: RACK; `persist`: closed
        /// window.
        timer: OneOf<ExpiredTimer>,
        /// When the timer was set to expire then.
        set_ns: u64,
        /// Expiries of `rto` or `persist` since the last progress, with this one.
        backoffs: u32,
        /// Payload offset of the first unacknowledged byte.
        seq: u64,
    }
}

table! {
    /// A packet that reached its end (probe `delays`).
    "delays" Delays of DelayRow {
        /// When it arrived.
        time_ns: u64,
        /// Serial number of the connection.
        connection: u32,
        /// Whether the client end sent it.
        from_client: bool,
        /// How long it was under way since its end sent it, to 16 ns; of more than 68 s the remainder.
        delay_ns: u64,
        /// Payload bytes.
        len: u32,
    }
}

table! {
    /// What AccECN (RFC 9768) had reported to a sender, whenever a counter changed (probe `accecn`). Kernels do not record it.
    "accecn" AccEcnCounters of AccEcnRow {
        /// When.
        time_ns: u64,
        /// Serial number of the connection.
        connection: u32,
        /// Whether the client end is the sender.
        from_client: bool,
        /// Packets of this sender that arrived with CE, as it concludes from the ACE field and the option (section 3.2.2.5).
        ce_packets: u32,
        /// Payload bytes that arrived with CE, by the option; null if the peer sends none.
        ce_bytes: Option<u32>,
        /// Payload bytes that arrived with ECT(0); null likewise.
        ect0_bytes: Option<u32>,
        /// Payload bytes that arrived with ECT(1); null likewise.
        ect1_bytes: Option<u32>,
    }
}

/// Every table, in the order of the documentation.
pub const TABLES: [TableDoc; 14] = [
    Segments::DOC,
    Connections::DOC,
    Objects::DOC,
    Links::DOC,
    Queues::DOC,
    Windows::DOC,
    ConnectionSnapshots::DOC,
    ObjectSnapshots::DOC,
    LinkSnapshots::DOC,
    Limits::DOC,
    States::DOC,
    Timeouts::DOC,
    Delays::DOC,
    AccEcnCounters::DOC,
];

#[cfg(test)]
mod tests;
