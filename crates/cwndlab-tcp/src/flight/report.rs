//! What one ACK reports: a value that passes from loss detection to the episode, the timer and the controller. What loss
//! detection finds completes it before the controller gets it.

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
    /// Bytes newly deemed lost: with RACK and with RFC 6675's SACK each segment, without SACK the first when it goes again.
    pub lost_bytes: u64,
    /// Of `delivered_bytes`, those that the receiver reports as having met congestion (CE). ECE alone says so of all that its
    /// ACK delivers (RFC 8257, section 3.3).
    pub ce_bytes: u64,
    /// Packets newly reported as marked by AccECN (RFC 9768); 0 without it.
    pub ce_packets: u32,
    /// Bytes thought to be in the network, with this ACK and what it shows to be lost; 0 where `rate` is not measured.
    pub in_flight_bytes: u64,
    /// The same before this ACK.
    pub prior_in_flight_bytes: u64,
    /// Segments known to have arrived since the connection began, the SYN among them, and when the last of them were (or
    /// sending restarted); 0 if `rate` is not measured.
    pub total_delivered_packets: u64,
    /// See `total_delivered_packets`.
    pub delivered_at: Time,
    /// When the pacer lets the next data go; 0 where `rate` is not measured.
    pub next_departure: Time,
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
    /// Whether its first block says that something arrived twice (RFC 2883); known to RACK only.
    pub has_dsack: bool,
    /// The stamp it echoes, where timestamps are agreed on; known to RACK only.
    pub echoed_stamp: Option<u32>,
    /// Whether it reports congestion: by ECE, or with AccECN by a counter that grew.
    pub ece: bool,
    /// Whether the sender was limited by cwnd when it last sent (RFC 7661; RFC 9438, section 5.8); true if nothing needs it
    /// ([`crate::TcpConfig::grow_only_if_cwnd_limited`]).
    pub cwnd_limited: bool,
    /// Whether the sender is in loss recovery, with this ACK.
    pub in_recovery: bool,
    /// Whether what a timeout found outstanding is still being repaired, with this ACK.
    pub after_timeout: bool,
    /// Whether the window may grow by this ACK.
    pub may_grow: bool,
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
    #[inline]
    pub fn of(ack: &AckReport) -> Self {
        let AckReport { now, mss, acked_bytes, rtt, snd_una, snd_nxt, .. } = *ack;
        PlainAck { now, mss, acked_bytes, rtt, snd_una, snd_nxt }
    }
}
