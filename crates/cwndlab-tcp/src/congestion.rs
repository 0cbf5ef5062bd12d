//! Congestion control decides a window (or a rate), and nothing else: it never retransmits and never sees the sender.
//!
//! Contract of the calls, for every law:
//! - `on_ack(&AckSample)`: exactly once per ACK that cumulatively or selectively delivers new data.
//! - `on_congestion(event, now)`: exactly once per congestion episode.
//! - `on_undo()`: once, if the episode is found spurious.

use cwndlab_units::Time;

/// What one ACK told the sender; every field's unit is in its name.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// When the ACK arrived.
    pub now: Time,
    /// Bytes newly acknowledged cumulatively.
    pub acked_bytes: u64,
    /// Bytes newly known to be delivered (cumulatively or by SACK).
    pub delivered_bytes: u64,
    /// Bytes in flight before this ACK was processed.
    pub prior_in_flight_bytes: u64,
    /// Round-trip time measured by this ACK, if any (Karn's rule already applied).
    pub rtt: Option<Time>,
    /// Smallest round-trip time of the connection so far.
    pub min_rtt: Time,
    /// Smoothed round-trip time.
    pub srtt: Time,
    /// First sequence position not yet sent (stream position; delimits rounds).
    pub snd_nxt: u64,
    /// Cumulative acknowledgment (stream position).
    pub snd_una: u64,
    /// Whether the sender was limited by cwnd when it last sent (RFC 7661 / RFC 9438, section 5.8: do not grow otherwise).
    pub cwnd_limited: bool,
    /// Whether the sender is in loss recovery.
    pub in_recovery: bool,
}

/// Why the window must shrink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionEvent {
    /// Loss found by duplicate ACKs or SACK.
    Loss,
    /// An ECN echo (RFC 3168, section 6.1.2).
    Ecn,
    /// The retransmission timer expired.
    Rto,
}
