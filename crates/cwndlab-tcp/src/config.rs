//! Every knob of an endpoint. Profiles such as `rfc5681` and `linux-6` are tables that give each knob a value, with its
//! source.

pub(crate) mod check;
mod choices;
mod details;
mod effect;
mod ends;
pub(crate) mod knobs;
mod law_id;
mod laws;
mod recovery;
mod rto;
mod tcp;

pub use check::ConfigError;
pub(crate) use choices::choices;
pub use effect::WithoutEffect;
pub use ends::{FinConfig, HandshakeConfig};
pub use knobs::{all_knobs, Knob, RENAMED};
pub use law_id::{LawId, LawIdError};
pub use laws::{
    Bbr3Config, Bbr3Rules, CubicConfig, LedbatConfig, LedbatPlusPlusConfig, PragueConfig, PragueVersion, WindowLawKind,
};
pub use recovery::{
    FackConfig, NewRenoConfig, PrrConfig, RackConfig, RackTimers, RecoveryConfig, RecoveryEnd, RecoveryKind,
    RecoveryRules, RenoConfig, RetransmitGuard, SackConfig,
};
pub use rto::{Estimator, RtoConfig, RttSamples, TimerStart};
pub use tcp::TcpConfig;

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

/// A profile's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// ns-2's one-way TCP agents as of 1998.
    #[serde(rename = "ns2-1998")]
    Ns2_1998,
    /// RFC 5681 and the standards of its time: without CUBIC, RACK and the initial window of RFC 6928.
    #[serde(rename = "rfc5681")]
    Rfc5681,
    /// Linux 2.0.32 (1997).
    #[serde(rename = "linux-2.0")]
    Linux2_0,
    /// Linux 2.2.5 (1999).
    #[serde(rename = "linux-2.2")]
    Linux2_2,
    /// A current Linux kernel's defaults.
    #[serde(rename = "linux-6")]
    Linux6,
}

/// Initial window, in segments of the effective MSS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialWindow {
    /// k segments.
    Segments(u32),
    /// RFC 3390: min(4*MSS, max(2*MSS, 4380 bytes)).
    Rfc3390,
    /// RFC 6928: min(10*MSS, max(2*MSS, 14600 bytes)).
    Rfc6928,
}

/// The largest window ever used, even if the receiver offers more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MaxWindow {
    /// In segments of one MSS.
    Segments(u32),
    /// In bytes.
    Bytes(u64),
}

impl MaxWindow {
    pub(crate) fn bytes(self, mss: u32) -> u64 {
        match self {
            MaxWindow::Segments(k) => u64::from(k) * u64::from(mss),
            MaxWindow::Bytes(bytes) => bytes,
        }
    }
}

/// When the receiver acknowledges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AckPolicy {
    /// Every segment at once.
    Every,
    /// RFC 1122, 4.2.3.2 and RFC 5681, 4.2: every second full segment, and out-of-order segments at once; other
    /// segments when a timer expires that starts on their arrival.
    Delayed {
        /// at most 500 ms by RFC 1122
        timeout_ns: Time,
    },
    /// BSD's fast timer: as `Delayed`, but the timer fires on a fixed grid of the wall clock.
    Heartbeat {
        /// grid spacing (200 ms in BSD)
        grid_ns: Time,
    },
    /// The TCP of RFC 2415's authors: every segment for the first `quick_bytes` of a connection and after a loss
    /// or reordering, then every `every`-th, or at the next point of a heartbeat grid.
    QuickThenHeartbeat {
        /// segments are acknowledged one by one until this many bytes have arrived
        quick_bytes: u64,
        /// after that, every n-th segment is acknowledged
        every: u32,
        /// grid spacing
        grid_ns: Time,
    },
    /// Linux: every segment for the first `quick_segments` of a connection (its "quickack" mode), then as `Delayed`.
    QuickThenDelayed {
        /// number of segments that are acknowledged one by one
        quick_segments: u32,
        /// after that, every second full segment is acknowledged, others when this timer expires
        timeout_ns: Time,
    },
    /// Linux 2.0 and 2.2: every second full segment; otherwise when a timer expires that adapts to the time between
    /// segments.
    Adaptive(AdaptiveAcks),
    /// Linux 6: up to 16 segments one by one at first and after losses. After that, an ACK is sent when more than one
    /// full segment has arrived, when a delay has passed that adapts between 40 and 200 ms, or when the application has
    /// read pushed data. Of out-of-order segments, the first three are acknowledged without delay, then one per
    /// millisecond.
    Linux,
}

/// The `adaptive` policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveAcks {
    /// Timer for the first segment; with 0, it is acknowledged at once.
    pub first_ns: Time,
    /// Longest timer.
    pub max_ns: Time,
    /// Longest timer after a segment with PSH.
    pub push_ns: Time,
    /// Whether the ACK of a segment that fills a hole is delayed like any other, contrary to RFC 5681, 4.2.
    pub holes_wait: bool,
    /// Whether the ACK of a second full segment waits for the next tick of the clock.
    pub on_ticks: bool,
}

/// How the receive buffer is sized.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ReceiveTuning {
    /// The buffer has its full size from the beginning.
    None,
    /// The buffer grows as the application reads, as with Linux's `tcp_moderate_rcvbuf`.
    Linux {
        /// initial memory (`tcp_rmem[1]`), of which half is offered until the size of segments is known
        initial_bytes: u64,
        /// maximum memory (`tcp_rmem[2]`)
        most_bytes: u64,
    },
}

/// How the send buffer is sized.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SendTuning {
    /// It has room for all that the application writes.
    None,
    /// The buffer grows with the congestion window, as Linux's (`tcp_wmem`); the segment with which it is full is pushed.
    Linux {
        /// maximum memory (`tcp_wmem[2]`)
        most_bytes: u64,
    },
}

/// Slow start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlowStartKind {
    /// RFC 5681.
    Standard,
    /// HyStart (Ha and Rhee 2011) as in the Linux kernel's CUBIC.
    Hystart,
    /// RFC 9406 (HyStart++).
    HystartPlusPlus,
    /// SEARCH 3.0 (draft-chung-ccwg-search).
    Search,
}

/// The ACK that Nagle's algorithm makes a small segment wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NagleRule {
    /// An ACK of all data sent before (RFC 1122, 4.2.3.4).
    Rfc1122,
    /// An ACK of the last small segment (draft-minshall-nagle-01; Linux: `tcp_minshall_check`).
    Minshall,
}

/// Which data leaves at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainKind {
    /// What the window permits; if data is paced, trains of the pacer.
    Paced,
    /// Trains that a device splits into segments (Linux: `tcp_write_xmit`).
    Linux,
}

/// The amount from which ssthresh is computed when congestion is detected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReductionBase {
    /// The data in flight (RFC 5681, equation 4; RFC 9438, 4.6).
    FlightSize,
    /// cwnd, or `max_window` if that is smaller and the law counts packets. ssthresh need not be a whole number of
    /// segments (ns-2.35).
    Cwnd,
    /// As `Cwnd`, but ssthresh is rounded down to whole segments (Linux; ns-2 before 2006).
    CwndWholeSegments,
}
