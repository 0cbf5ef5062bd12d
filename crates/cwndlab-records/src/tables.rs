//! All tables of a run. Column names include the unit; times count from the start of the run.

mod list;

pub use list::TABLES;

use cwndlab_engine::Reason;

use crate::cell::{AccEcnCounts, Cell, Label, OneOf, Sack};
use crate::column::{Batch, Column};
use crate::table::{column, counters, labels, table, ColumnDoc, SchemaError, Table, TableDoc};

labels! {
    /// What happened to a segment.
    pub enum SegmentEvent {
        /// The observed node sent data, a SYN, FIN or RST for the first time.
        Send = "send",
        /// The observed node retransmitted data, a SYN, FIN or RST.
        Retransmit = "retransmit",
        /// A pure acknowledgment passed the observed node, in either direction.
        Ack = "ack",
        /// A duplicate acknowledgment (RFC 5681, section 2) passed the observed node.
        DupAck = "dupack",
        /// A link dropped a segment.
        Drop = "drop",
        /// A link marked a segment CE.
        Mark = "mark",
        /// Data, a SYN, FIN or RST arrived at the observed node.
        Receive = "recv",
    }

    /// Why a link dropped a segment.
    pub enum DropReason {
        /// The buffer was full.
        Full = "full",
        /// Active queue management dropped the segment.
        Aqm = "aqm",
        /// A loss model dropped the segment.
        Loss = "loss",
    }

    /// The congestion state of a sender, in Linux's terms (`tcpi_ca_state`).
    pub enum SenderState {
        /// Nothing unusual.
        Open = "open",
        /// Duplicate acknowledgments or SACK blocks, but no loss detected.
        Disorder = "disorder",
        /// The window was reduced in response to ECN or local congestion.
        Cwr = "cwr",
        /// Loss recovery after a fast retransmit.
        Recovery = "recovery",
        /// Retransmission after a timeout.
        Loss = "loss",
    }

    /// What kept a sender from sending more.
    pub enum SendLimit {
        /// The connection was not established.
        Handshake = "handshake",
        /// The congestion window was full.
        Cwnd = "cwnd",
        /// The endpoint's configured maximum window was full.
        MaxWindow = "max-window",
        /// The peer's receive window was full.
        ReceiveWindow = "receive-window",
        /// Fast recovery held data back.
        Recovery = "recovery",
        /// The pacer held data back.
        Pacing = "pacing",
        /// Less than a full segment waited.
        SmallSegment = "small-segment",
        /// The send buffer was full, and all of it sent.
        SendBuffer = "send-buffer",
        /// Everything written was sent, and not all of it acknowledged.
        Application = "application",
        /// Everything written was acknowledged.
        Idle = "idle",
        /// The sender's FIN was acknowledged, or the connection was over.
        Closed = "closed",
        /// Nothing was sent and nothing arrived until the retransmission timer expired.
        Timeout = "rto",
        /// Nothing was sent and nothing arrived until the timer of a tail loss probe expired.
        Probe = "probe",
        /// Nothing was sent and nothing arrived until RACK's reordering timer expired.
        Reordering = "reordering",
    }

    /// Why a sender entered or left a state.
    pub enum StateCause {
        /// The connection began.
        Start = "start",
        /// An ACK ended the previous state.
        Ack = "ack",
        /// Duplicate ACKs or SACK blocks that did not yet indicate a loss.
        Reports = "reports",
        /// An ACK indicated a loss.
        Loss = "loss",
        /// RACK's reordering timer indicated a loss.
        ReorderingTimer = "reordering-timer",
        /// The retransmission timer expired.
        Timeout = "rto",
        /// An ECN echo.
        Ecn = "ecn",
        /// The last reduction was found to be spurious.
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

    /// The kind of an object.
    pub enum ObjectKind {
        /// A web page: the primary object and the in-line objects.
        Page = "page",
        /// A file of a transfer.
        File = "file",
        /// A connect-request-response transaction.
        Transaction = "transaction",
        /// One object of a web page, or one datagram over QUIC.
        Object = "object",
    }
}

table! {
    /// A segment that the observed node sent or received, or that a link dropped or marked (probe `segments_at`).
    "segments" Segments of SegmentRow {
        /// Time of the event.
        time_ns: u64,
        /// `send`, `retransmit`, `ack`, `dupack`, `drop`, `mark` or `recv`.
        event: OneOf<SegmentEvent>,
        /// Serial number of the connection, in the order of opening.
        connection: u32,
        /// Whether the client end sent the segment.
        from_client: bool,
        /// Whether the observed node sent the segment; false if the segment arrived there, or was dropped or marked by
        /// a link.
        sent: bool,
        /// Payload offset of the first byte: 0 is the first byte of data (and also stands for a SYN).
        seq: u64,
        /// Payload bytes.
        len: u32,
        /// Payload offset up to which the segment acknowledges; a FIN counts as one byte (0 without the ACK flag).
        ack: u64,
        /// Advertised receive window in bytes, after window scaling.
        window_bytes: u32,
        /// TCP flags as in the header: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, AE 32 (in URG's place, which is not modelled),
        /// ECE 64, CWR 128.
        flags: u8,
        /// ECN field of the IP header: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE.
        ecn: u8,
        /// Whether an expired retransmission timer made the observed node retransmit this segment.
        timeout: bool,
        /// SACK blocks as payload offsets: start, end, start, end, … most recent first. Of a QUIC datagram, the packets that
        /// its ACK frame acknowledges, by their numbers in `segment`, highest first; empty in the handshake.
        sack: Sack,
        /// AccECN option (RFC 9768): payload bytes that arrived with ECT(1), CE and ECT(0), modulo 2^24; empty without
        /// the option.
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
        /// Identification of the IP header, counted by its sending host; a retransmission has a new one. Null for runs
        /// on a kernel, whose captures contain it.
        ip_id: Option<u16>,
        /// Bytes of the IP packet.
        wire_bytes: u32,
        /// Packet number, from 1. An acknowledgment has the number of the last packet that it covers, wholly or in
        /// part. Of a QUIC datagram, the number of its packet plus 1, and 0 in the handshake.
        segment: i64,
        /// Index of the link that dropped or marked the segment.
        link: Option<u32>,
        /// Why the segment was dropped: `full`, `aqm` or `loss`.
        cause: Option<OneOf<DropReason>>,
    }
}

counters! {
    /// A connection or a datagram flow, when it ended or at the end of the run (probe `connections`). A datagram flow
    /// has no end and no values of TCP.
    "connections" Connections of ConnectionRow,
    /// A connection that was open at the start or end of a metric's window (`windows` of the scenario), in its state at
    /// that time.
    "connection_snapshots" ConnectionSnapshots of ConnectionSnapshotRow {
        both {
            /// Serial number, in the order of opening.
            connection: u32,
            /// Index of the traffic entry.
            traffic: u32,
        }
        end {
            /// Index of the node that opened the connection.
            client: u32,
            /// Index of the node at the other end.
            server: u32,
            /// When the connection was opened.
            start_ns: u64,
            /// When the client end was established; null if never.
            established_ns: Option<u64>,
            /// When both ends had closed; null if they had not.
            end_ns: Option<u64>,
        }
        both {
            /// Payload bytes delivered in order at the server; for datagrams, all that arrived.
            bytes_up: u64,
            /// Payload bytes delivered in order at the client; for datagrams, all that arrived.
            bytes_down: u64,
            /// Segments or datagrams sent, both ends.
            segments_sent: u64,
            /// Retransmitted segments, both ends.
            retransmits: u32,
            /// Retransmission timeouts, both ends; of a QUIC stack, probe timeouts.
            timeouts: u32,
            /// Fast retransmits, both ends.
            fast_retransmits: u32,
            /// Window reductions in response to ECN, both ends.
            ecn_reductions: u32,
            /// Packets of the connection that links dropped, both directions.
            drops: u32,
            /// Packets of the connection that links marked CE, both directions.
            marks: u32,
        }
        end {
            /// Whether the connection was refused, reset, abandoned, or ended by an error of its stack: the table
            /// `failures` has the reason.
            failed: bool,
        }
    }
}

table! {
    /// A connection that failed: it was refused, reset, abandoned, or ended by an error of its stack. Always recorded.
    "failures" Failures of FailureRow {
        /// Serial number of the connection.
        connection: u32,
        /// Index of the traffic entry.
        traffic: u32,
        /// When both ends had closed; null if one had not.
        end_ns: Option<u64>,
        /// Why it failed, in the words of its TCP or its stack.
        reason: Reason,
    }
}

counters! {
    /// A page, file, transaction or object that an application requested, as seen at the client.
    "objects" Objects of ObjectRow,
    /// An object that was unfinished at the start or end of a metric's window, as `objects` would record it if the run
    /// had ended then.
    "object_snapshots" ObjectSnapshots of ObjectSnapshotRow {
        both {
            /// Index of the traffic entry.
            traffic: u32,
            /// `page`, `file`, `transaction` or `object`.
            kind: OneOf<ObjectKind>,
            /// Number within the application, from 0.
            index: u32,
            /// When the object was requested.
            start_ns: u64,
            /// When the object's last byte arrived in order; null if the run ended first.
            end_ns: Option<u64>,
            /// Payload bytes, whether or not they have arrived.
            bytes: u64,
            /// Connections used.
            connections: u16,
            /// Retransmitted segments while the object was in progress, both directions.
            retransmits: u32,
            /// Retransmission timeouts while the object was in progress, both directions; of a QUIC stack, probe timeouts.
            timeouts: u32,
            /// Whether the object was finished.
            finished: bool,
        }
    }
}

counters! {
    /// The counters of a link over the run.
    "links" Links of LinkRow,
    /// The counters of a link at the start or end of a metric's window.
    "link_snapshots" LinkSnapshots of LinkSnapshotRow {
        both {
            /// Index of the link.
            link: u32,
            /// Packets offered.
            arrivals: u64,
            /// Packets accepted: sent, or still waiting.
            departures: u64,
            /// Bytes of the accepted packets, including the link's own headers.
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
            /// Time that RED's average spent below `min_th`; null for other queues.
            red_below_ns: Option<u64>,
            /// Time that RED's average spent from `min_th` up to `max_th`; null for other queues.
            red_between_ns: Option<u64>,
            /// Time that RED's average spent at `max_th` or above; null for other queues.
            red_above_ns: Option<u64>,
        }
    }
}

table! {
    /// A sample of a queue's length (probes `queues`, `queue_interval_ns`).
    "queues" Queues of QueueRow {
        /// Time of the sample.
        time_ns: u64,
        /// Index of the link.
        link: u32,
        /// Packets waiting or in service.
        packets: u32,
        /// Bytes of these packets.
        bytes: u64,
        /// The average that the queue computes (RED), in the unit of its thresholds; null for other queues.
        average: Option<f64>,
    }
}

table! {
    /// A sender's window, recorded whenever the window or the sender's state changes (probe `cwnd`).
    "cwnd" Windows of WindowRow {
        /// Time of the change.
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
        /// The sender's congestion state: `open`, `disorder`, `cwr` (with RACK, and on kernels), `recovery` or `loss`.
        state: OneOf<SenderState>,
    }
}

table! {
    /// What kept a sender from sending more (probe `limits`). For each end the intervals are contiguous, from the
    /// opening of the connection to its end or that of the run. For kernels the limit is inferred.
    "limits" Limits of LimitRow {
        /// Serial number of the connection.
        connection: u32,
        /// Whether the client end is the sender.
        from_client: bool,
        /// Start of the interval.
        from_ns: u64,
        /// End of the interval, later than its start.
        to_ns: u64,
        /// `handshake`: the connection was not established. `cwnd`: the congestion window was full. `max-window`: the
        /// configured maximum window was full. `receive-window`: the peer's receive window was full. `recovery`: fast
        /// recovery held data back, by pipe or allowance. `pacing`: the pacer held data back. `small-segment`: less
        /// than a full segment waited (Nagle, or cork). `send-buffer`: all of a full send buffer was sent. `application`:
        /// everything written was sent, but not all of it acknowledged. `idle`: everything was acknowledged. `closed`:
        /// the FIN was acknowledged, too. `rto`, `probe`, `reordering`: nothing was sent and nothing arrived until this
        /// timer expired; these replace any other limit in that time.
        limit: OneOf<SendLimit>,
    }
}

table! {
    /// A state of a sender (probe `states`). For each end the intervals are contiguous. A retransmission timeout or an
    /// undo begins a new row even if the state stays the same. For kernels the state is inferred.
    "states" States of StateRow {
        /// Serial number of the connection.
        connection: u32,
        /// Whether the client end is the sender.
        from_client: bool,
        /// When the sender entered the state.
        from_ns: u64,
        /// When the sender left the state, or when the connection or the run ended.
        to_ns: u64,
        /// `open`, `disorder`, `cwr` (with RACK), `recovery` or `loss`.
        state: OneOf<SenderState>,
        /// `start`: the connection began. `ack`: an ACK ended the previous state. `reports`: duplicate ACKs or SACK
        /// blocks. `loss`: an ACK indicated a loss. `reordering-timer`: RACK's timer indicated a loss. `rto`: the
        /// retransmission timer expired. `ecn`: an ECN echo. `undo`: the last reduction was found to be spurious and
        /// undone.
        entered_by: OneOf<StateCause>,
        /// The cause of the next state; null if the connection or the run ended.
        left_by: Option<OneOf<StateCause>>,
    }
}

table! {
    /// An expiry of one of a sender's timers (probe `states`). For kernels the expiry is inferred.
    "timeouts" Timeouts of TimeoutRow {
        /// When the timer expired.
        time_ns: u64,
        /// Serial number of the connection.
        connection: u32,
        /// Whether the client end is the sender.
        from_client: bool,
        /// `rto`: the retransmission timer, including that of a SYN; `probe`: tail loss probe, or a QUIC stack's probe
        /// timeout; `reordering`: RACK; `persist`: closed window.
        timer: OneOf<ExpiredTimer>,
        /// When the timer was set for this expiry; of a QUIC stack, when it last sent a packet that asks for an
        /// acknowledgment.
        set_ns: u64,
        /// Expiries of `rto` or `persist` since the last progress, including this one; of a QUIC stack, of `probe`.
        backoffs: u32,
        /// Payload offset of the first unacknowledged byte; of a QUIC stack, the largest packet number that was
        /// acknowledged, as in the table `segments`.
        seq: u64,
    }
}

table! {
    /// A packet that arrived at its destination (probe `delays`). Of traffic that sends datagrams over a QUIC stack, a
    /// datagram of the application, with the time that it waited at the sender.
    "delays" Delays of DelayRow {
        /// When the packet arrived.
        time_ns: u64,
        /// Serial number of the connection.
        connection: u32,
        /// Whether the client end sent the packet.
        from_client: bool,
        /// Time since the packet was sent, with a resolution of 16 ns in a run of at most 4.8 h.
        delay_ns: u64,
        /// Payload bytes; 0 for a QUIC packet without data of the application, such as an ACK.
        len: u32,
    }
}

table! {
    /// A sender's AccECN counters (RFC 9768), recorded whenever one changes (probe `accecn`). Kernels do not record
    /// them.
    "accecn" AccEcnCounters of AccEcnRow {
        /// Time of the change.
        time_ns: u64,
        /// Serial number of the connection.
        connection: u32,
        /// Whether the client end is the sender.
        from_client: bool,
        /// Packets of this sender that arrived with CE, as the sender infers from the ACE field and the option (section
        /// 3.2.2.5).
        ce_packets: u32,
        /// Payload bytes that arrived with CE, according to the option; null if the peer sends none.
        ce_bytes: Option<u32>,
        /// Payload bytes that arrived with ECT(0); null if the peer sends no option.
        ect0_bytes: Option<u32>,
        /// Payload bytes that arrived with ECT(1); null if the peer sends no option.
        ect1_bytes: Option<u32>,
    }
}

impl Segments {
    /// Adds the packet numbers that a QUIC datagram acknowledges, ranges `[start, end)`, to the last row.
    pub(crate) fn add_acked(&mut self, ranges: &[(u64, u64)]) {
        self.sack.extend_last(ranges.iter().flat_map(|&(start, end)| [start + 1, end + 1]));
    }
}

#[cfg(test)]
mod tests;
