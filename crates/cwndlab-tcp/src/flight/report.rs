//! The report of one ACK: an immutable value that loss recovery processes first, then the congestion controller. The
//! results of loss recovery are separate values: the recovery's `Outcome`, and [`AfterAck`] for the controller.

use super::rate::RateSample;
use cwndlab_units::Time;

/// How an ACK relates to the data acknowledged before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AckKind {
    /// Acknowledges new data.
    New,
    /// A duplicate (RFC 5681, section 2); with SACK, one that reports something new (RFC 6675, section 2).
    Duplicate,
    /// Acknowledges less than SND.UNA, because a later ACK has overtaken it. Its SACK blocks may still report new
    /// arrivals.
    Old,
    /// Any other ACK: it carries data, updates the window, or nothing is outstanding.
    #[default]
    Other,
}

/// What the sender learns from one ACK. Names of counts include the unit; positions are stream positions.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckReport {
    /// When the ACK arrived.
    pub now: Time,
    /// How the ACK relates to earlier ones.
    pub kind: AckKind,
    /// The sender's current maximum segment size, in payload bytes (RFC 5681, section 2: SMSS).
    pub mss: u32,
    /// Payload bytes newly acknowledged cumulatively.
    pub acked_bytes: u64,
    /// Payload bytes newly reported by SACK.
    pub sacked_bytes: u64,
    /// Payload bytes newly known to have arrived: acknowledged or reported, and not known before.
    pub delivered_bytes: u64,
    /// For an ACK of new data: with SACK, `delivered_bytes`, and in Linux what arrived twice; without SACK, the part of `acked_bytes` whose arrival no
    /// duplicate ACK had reported. 0 for other ACKs.
    pub fresh_bytes: u64,
    /// The part of `delivered_bytes` that the receiver reports as marked CE. An ACK with ECE reports everything that it
    /// delivers as marked (RFC 8257, section 3.3).
    pub ce_bytes: u64,
    /// Packets newly reported as marked by AccECN (RFC 9768); 0 without it.
    pub ce_packets: u32,
    /// Estimated bytes in the network before this ACK; 0 if the delivery rate is not measured.
    pub prior_in_flight_bytes: u64,
    /// `FlightSize` (RFC 5681, section 2) before this ACK.
    pub prior_flight_bytes: u64,
    /// Round-trip time measured by this ACK, if any (Karn's rule already applied).
    pub rtt: Option<Time>,
    /// Smoothed round-trip time, including this measurement.
    pub srtt: Time,
    /// Delivery rate, if the controller requests it ([`crate::Needs::min_rtt_window`]).
    pub rate: Option<RateSample>,
    /// SND.UNA after this ACK.
    pub snd_una: u64,
    /// SND.NXT after this ACK. Window laws use this to delimit rounds.
    pub snd_nxt: u64,
    /// Whether the segment carries neither data nor news: it acknowledges nothing new and leaves the window as it was.
    pub is_bare: bool,
    /// Whether the ACK carries SACK blocks.
    pub has_blocks: bool,
    /// The range that arrived twice, according to the ACK's first block (RFC 2883): first position, and one past the
    /// last. Only for RACK.
    pub dsack: Option<(u64, u64)>,
    /// Minimum round trip before this ACK. Only for RACK.
    pub prior_min_rtt: Time,
    /// The timestamp that the ACK echoes, if timestamps were agreed on. Only for RACK.
    pub echoed_stamp: Option<u32>,
    /// The ACK's one-way delay, including the unknown offset between the two clocks. Only for laws that use it
    /// ([`crate::Needs::delays`]).
    pub one_way_delay: Option<Time>,
    /// Whether the ACK reports congestion, by ECE or, with AccECN, by a counter that grew.
    pub ece: bool,
}

impl AckReport {
    /// Returns a copy of this report that acknowledges `acked_bytes` bytes and has no RTT sample.
    pub(crate) fn counting(&self, acked_bytes: u64) -> Self {
        AckReport { acked_bytes, fresh_bytes: acked_bytes, rtt: None, ..*self }
    }
}

/// The sender's state after loss recovery has processed an ACK. The controller gets it in addition to the report.
#[derive(Clone, Copy, Debug, Default)]
pub struct AfterAck {
    /// Bytes newly deemed lost. With RACK and with RFC 6675's SACK, each lost segment counts. Without SACK, only the
    /// first unacknowledged segment counts, when it is retransmitted.
    pub lost_bytes: u64,
    /// Whether this ACK may open the window.
    pub may_grow: bool,
    /// Whether cwnd limited the sender when it last sent (RFC 7661; RFC 9438, section 5.8). Always true unless
    /// [`crate::TcpConfig::grow_only_if_cwnd_limited`] is set.
    pub cwnd_limited: bool,
    /// Whether the sender is in loss recovery.
    pub in_recovery: bool,
    /// Whether data outstanding at a timeout is still being repaired. This and the fields below are set only if
    /// [`AckReport::rate`] is measured.
    pub after_timeout: bool,
    /// Estimated bytes in the network.
    pub in_flight_bytes: u64,
    /// Segments known to have arrived since the connection began, including the SYN.
    pub total_delivered_packets: u64,
    /// When the last of these segments arrived, or when sending restarted with nothing outstanding, whichever is later.
    pub delivered_at: Time,
    /// When the pacer allows the next data.
    pub next_departure: Time,
}

#[cfg(test)]
impl AfterAck {
    /// cwnd limited the sender and may grow; no loss is being repaired.
    pub const CALM: AfterAck = AfterAck {
        lost_bytes: 0,
        may_grow: true,
        cwnd_limited: true,
        in_recovery: false,
        after_timeout: false,
        in_flight_bytes: 0,
        total_delivered_packets: 0,
        delivered_at: Time::ZERO,
        next_departure: Time::ZERO,
    };
}

/// The part of an [`AckReport`] that most window laws need for an ordinary ACK: one that acknowledges new data, while
/// SACK has reported nothing and no loss is being repaired.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainAck {
    pub now: Time,
    pub mss: u32,
    pub acked_bytes: u64,
    pub rtt: Option<Time>,
    pub snd_una: u64,
    pub snd_nxt: u64,
}

impl PlainAck {
    /// Copies these fields from a report.
    pub fn of(ack: &AckReport) -> Self {
        let AckReport { now, mss, acked_bytes, rtt, snd_una, snd_nxt, .. } = *ack;
        PlainAck { now, mss, acked_bytes, rtt, snd_una, snd_nxt }
    }
}
