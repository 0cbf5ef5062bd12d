//! Congestion control decides a window (or a rate), and nothing else: it never retransmits and never sees the sender.
//!
//! Contract of the calls of [`WindowLaw`], for every law:
//! - `on_delivered`: once per ACK that delivers new data, before the others.
//! - `on_ack(&AckSample)`: exactly once per ACK that cumulatively or selectively delivers new data.
//! - `on_congestion(event, …)`: exactly once per congestion episode. Afterwards `cwnd == ssthresh` (`Loss`, `Ecn`; CUBIC
//!   lets cwnd go below for `Ecn`) or one segment (`Rto`, `RtoRepeat`). Recovery may then set another window for the
//!   episode by `set_cwnd` (Tahoe's one segment, Reno's inflation, PRR) and leaves it where growth is to go on.
//! - `on_undo()`: at most once, if the last episode is found spurious.
//! - `on_idle_restart()`: once, before the first segment after an idle time.

mod cubic;
mod cubic_linux;
mod dctcp;
mod hystart;
mod hystart_linux;
mod law;
mod reno;

pub use law::WindowLaw;

use cwndlab_units::Time;

/// What one ACK told the sender; every field's unit is in its name.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// When the ACK arrived.
    pub now: Time,
    /// Sender's maximum segment size in force, in payload bytes (RFC 5681, section 2: SMSS).
    pub mss: u32,
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
    /// The retransmission timer expired for a segment not yet retransmitted by the timer.
    Rto,
    /// The retransmission timer expired again for the same segment (RFC 5681, section 3.1: ssthresh is held).
    RtoRepeat,
}
