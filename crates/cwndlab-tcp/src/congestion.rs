//! Congestion control decides a window (or a rate), and nothing else: it never retransmits and never sees the sender.
//!
//! Contract of the calls of [`Controller`], for every law:
//! - `on_feedback(&AckReport)`: once per ACK with new information, before loss detection.
//! - `on_ack(&AckReport, &AfterAck)`: once per ACK with new information, also during recovery, after loss detection.
//! - `on_congestion(event, …)`: exactly once per congestion episode. Afterwards cwnd equals ssthresh (`Loss`, `Ecn`) or
//!   the loss window (`Rto`, `RtoRepeat`). There are three exceptions. With [`crate::TcpConfig::ecn_to_one_segment`],
//!   cwnd after `Ecn` may be smaller than the minimum of ssthresh. If the law counts cwnd in packets, as a real number,
//!   cwnd may be smaller than this minimum after any event. Laws that control their recovery, and external laws, set
//!   cwnd themselves.
//! - `on_episode(episode, …)`: once per step of a recovery episode that sets the window. Recovery reports the step;
//!   only the controller writes cwnd and ssthresh.
//! - `on_undo()`: at most once per episode, if the episode is found spurious.
//! - `on_start(Start)`: once, when the connection is established, for laws that need it.
//! - `grant()`: what may be sent, and how fast; may be called at any time.
//! - `on_idle_restart()`: once per idle period, before the first segment that follows.

mod bbr;
mod bbr3;
mod change;
mod controller;
mod cubic;
mod cubic_linux;
mod dctcp;
mod delays;
mod external;
mod historical;
mod hystart;
mod hystart_linux;
pub(crate) mod law;
mod laws;
mod ledbat;
mod ledbat_plus_plus;
mod needs;
mod prague;
pub(crate) mod prr;
mod reno;
mod rounds;
mod search;

pub use controller::Controller;
pub use external::{CongestionControl, LawError, LawFailure, LawFailures, LossEvent, Window};
pub use needs::Needs;

pub(crate) use crate::flight::PlainAck;
pub use crate::flight::{AckKind, AckReport, AfterAck};
pub(crate) use change::{Changes, WindowChange};

use cwndlab_units::Time;

/// Returns `a * b / c`, at most [`u64::MAX`]. Computes with 128 bits only if the product needs them.
pub(crate) fn product_over(a: u64, b: u64, c: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product / c,
        None => (u128::from(a) * u128::from(b) / u128::from(c)).min(u128::from(u64::MAX)) as u64,
    }
}

/// What a law permits the sender. If the law states no rate and the endpoint paces ([`crate::TcpConfig::pacing`]), the
/// pacing rate is computed from the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// Congestion window in bytes, not necessarily whole segments.
    pub cwnd_bytes: u64,
    /// Pacing rate in bytes per second.
    pub pacing_rate: Option<u64>,
    /// Number of bytes sent at once when pacing.
    pub quantum: Quantum,
    /// Whether the law's window also applies in recovery (Linux: `cong_control`). Recovery then detects losses and
    /// chooses retransmissions, but [`WindowChange::Restart`] and [`WindowChange::StillInNetwork`] are the only changes
    /// that set the window.
    pub owns_recovery: bool,
}

/// Number of bytes sent at once when pacing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantum {
    /// As much as Linux sends at the pacing rate (`tcp_tso_autosize`), and at least this many segments
    /// (`tcp_min_tso_segs`).
    OfRate(u32),
    /// This number of bytes.
    Bytes(u64),
}

impl Quantum {
    /// Linux's default.
    pub const DEFAULT: Quantum = Quantum::OfRate(2);
}

/// The information available when a connection is established.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// Time of establishment.
    pub now: Time,
    /// Sender's maximum segment size, in payload bytes.
    pub mss: u32,
    /// Size of the IP packet of a full segment.
    pub mtu: u32,
    /// Smoothed round-trip time; zero if the handshake was not measured.
    pub srtt: Time,
    /// Minimum round trip; [`Time::MAX`] if the handshake was not measured.
    pub min_rtt: Time,
}

/// The reason for a reduction of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionEvent {
    /// A loss detected by duplicate ACKs or SACK.
    Loss,
    /// An ECN echo (RFC 3168, section 6.1.2).
    Ecn,
    /// The retransmission timer expired for a segment not yet retransmitted by the timer.
    Rto,
    /// The retransmission timer expired again for the same segment (RFC 5681, section 3.1: ssthresh is held constant).
    RtoRepeat,
}
