//! What one ACK reports: an immutable value that passes through loss detection and the episode to the controller. What these
//! conclude from it are values of their own: the recovery's `Outcome`, and [`AfterAck`] for the controller.

use super::rate::RateSample;
use cwndlab_units::Time;

/// How an ACK relates to what has been acknowledged before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AckKind {
    /// Acknowledges new data.
    New,
    /// A duplicate (RFC 5681, section 2); with SACK, one that reports something new (RFC 6675, section 2).
    Duplicate,
    /// Below SND.UNA: it was overtaken, but its blocks may report later arrivals.
    Old,
    /// Neither: it comes with data, updates the window, or nothing is outstanding.
    #[default]
    Other,
}

/// The content of one ACK for the sender. Each field's name includes its unit; positions are stream positions.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckReport {
    /// When the ACK arrived.
    pub now: Time,
    /// How it relates to earlier ones.
    pub kind: AckKind,
    /// Sender's maximum segment size in force, in payload bytes (RFC 5681, section 2: SMSS).
    pub mss: u32,
    /// Payload bytes newly acknowledged cumulatively.
    pub acked_bytes: u64,
    /// Payload bytes newly reported by SACK.
    pub sacked_bytes: u64,
    /// Payload bytes newly known to have arrived: acknowledged or reported, and not known before.
    pub delivered_bytes: u64,
    /// Of `acked_bytes`, those not reported before by a SACK block or duplicate ACK.
    pub fresh_bytes: u64,
    /// Of `delivered_bytes`, those that the receiver reports as having met congestion (CE). An ACK with ECE reports all
    /// that it delivers as marked (RFC 8257, section 3.3).
    pub ce_bytes: u64,
    /// Packets newly reported as marked by AccECN (RFC 9768); 0 without it.
    pub ce_packets: u32,
    /// Bytes thought to be in the network before this ACK; 0 where `rate` is not measured.
    pub prior_in_flight_bytes: u64,
    /// `FlightSize` (RFC 5681, section 2) before this ACK.
    pub prior_flight_bytes: u64,
    /// Round-trip time measured by this ACK, if any (Karn's rule already applied).
    pub rtt: Option<Time>,
    /// Smoothed round-trip time, with this measurement.
    pub srtt: Time,
    /// Delivery rate, where the controller asks for it ([`crate::Needs::min_rtt_window`]).
    pub rate: Option<RateSample>,
    /// SND.UNA, with this ACK.
    pub snd_una: u64,
    /// First position not yet sent (delimits rounds).
    pub snd_nxt: u64,
    /// Whether it carries SACK blocks.
    pub has_blocks: bool,
    /// What arrived twice, by its first block (RFC 2883): first position, and one past the last. Known to RACK only.
    pub dsack: Option<(u64, u64)>,
    /// Least round trip before this ACK; known to RACK only.
    pub prior_min_rtt: Time,
    /// The stamp it echoes, where timestamps are agreed on; known to RACK only.
    pub echoed_stamp: Option<u32>,
    /// Whether it reports congestion: by ECE, or with AccECN by a counter that grew.
    pub ece: bool,
}

impl AckReport {
    /// The report of an ACK that acknowledges these bytes in order, and measures no round trip.
    pub(crate) fn counting(&self, acked_bytes: u64) -> Self {
        AckReport { acked_bytes, fresh_bytes: acked_bytes, rtt: None, ..*self }
    }
}

/// The sender once loss recovery has taken an ACK: what the controller gets besides the report.
#[derive(Clone, Copy, Debug, Default)]
pub struct AfterAck {
    /// Bytes newly deemed lost: with RACK and with RFC 6675's SACK each segment, without SACK the first when it goes again.
    pub lost_bytes: u64,
    /// Whether the window may grow by this ACK.
    pub may_grow: bool,
    /// Whether the sender was limited by cwnd when it last sent (RFC 7661; RFC 9438, section 5.8); true if nothing needs it
    /// ([`crate::TcpConfig::grow_only_if_cwnd_limited`]).
    pub cwnd_limited: bool,
    /// Whether the sender is in loss recovery.
    pub in_recovery: bool,
    /// Whether what a timeout found outstanding is still being repaired. This and the fields below are set only where
    /// [`AckReport::rate`] is measured.
    pub after_timeout: bool,
    /// Bytes thought to be in the network.
    pub in_flight_bytes: u64,
    /// Segments known to have arrived since the connection began, the SYN among them.
    pub total_delivered_packets: u64,
    /// When the last of them were, or sending restarted.
    pub delivered_at: Time,
    /// When the pacer lets the next data go.
    pub next_departure: Time,
}

#[cfg(test)]
impl AfterAck {
    /// cwnd limited the sender and may grow; nothing is being repaired.
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

/// What most laws need of it: an ACK of new data of which nothing was known before, where nothing is being repaired.
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
    /// What of a report is in it.
    pub fn of(ack: &AckReport) -> Self {
        let AckReport { now, mss, acked_bytes, rtt, snd_una, snd_nxt, .. } = *ack;
        PlainAck { now, mss, acked_bytes, rtt, snd_una, snd_nxt }
    }
}
