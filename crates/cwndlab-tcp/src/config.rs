//! Every knob of an endpoint. Profiles (`ns2-1998`, `rfc5681`, `linux-6`) are tables of these, each value with its source.

mod bbr3;
mod check;
mod choices;
mod effect;
mod law_id;
mod ledbat;
mod recovery;

pub use bbr3::{Bbr3Config, Bbr3Rules};
pub use check::ConfigError;
pub(crate) use choices::choices;
pub use effect::WithoutEffect;
pub use law_id::{LawId, LawIdError};
pub use ledbat::{LedbatConfig, LedbatPlusPlusConfig};
pub use recovery::{
    NewRenoConfig, PrrConfig, RackConfig, RackTimers, RecoveryConfig, RecoveryKind, RecoveryRules, RenoConfig,
    RetransmitGuard, SelectiveConfig,
};

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::ecn::EcnKind;
use crate::segment::TIMESTAMPS_BYTES;

/// A profile's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The one-way TCP agents of the 1998 simulator.
    #[serde(rename = "ns2-1998")]
    Ns2_1998,
    /// The standards, without later additions.
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
    /// In segments of MSS.
    Segments(u32),
    /// In bytes.
    Bytes(u64),
}

/// When the receiver acknowledges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AckPolicy {
    /// Every segment at once.
    Every,
    /// RFC 1122, 4.2.3.2 and RFC 5681, 4.2: every second full segment; out-of-order segments at once; otherwise by a timer
    /// that starts on arrival.
    Delayed {
        /// at most 500 ms by RFC 1122
        timeout_ns: Time,
    },
    /// BSD's fast timer: as `Delayed`, but the timer fires on a fixed grid of the wall clock.
    Heartbeat {
        /// grid spacing (200 ms in BSD)
        grid_ns: Time,
    },
    /// The authors' TCP of RFC 2415: every segment for the first `quick_bytes` of a connection and after a loss
    /// or reordering, then every `every`-th, with a heartbeat grid.
    QuickThenHeartbeat {
        /// bytes acknowledged one by one
        quick_bytes: u64,
        /// then every n-th segment
        every: u32,
        /// grid spacing
        grid_ns: Time,
    },
    /// Linux: every segment for the first `quick_segments` of a connection (its "quickack" mode), then as `Delayed`.
    QuickThenDelayed {
        /// segments acknowledged one by one
        quick_segments: u32,
        /// then by this timer or every second full segment
        timeout_ns: Time,
    },
    /// Linux 2.0 and 2.2: every second full segment, else by a timer that follows the time between segments.
    Adaptive {
        /// the timer of the first segment; 0 = acknowledged at once
        first_ns: Time,
        /// longest timer
        max_ns: Time,
        /// longest timer after a segment with PSH
        push_ns: Time,
        /// whether a segment that fills a hole waits like any other, against RFC 5681, 4.2
        holes_wait: bool,
        /// whether the ACK of a second full segment waits for the next tick of the clock
        on_ticks: bool,
    },
    /// Linux 6: up to 16 segments one by one at first and after trouble, then more than one full segment or a delay that
    /// adapts between 40 and 200 ms; at once after a read of pushed data; out of order three at once, then one per millisecond.
    Linux,
}

/// How the receive buffer is sized.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ReceiveTuning {
    /// It has its size from the beginning.
    None,
    /// It grows as the application reads, as Linux's `tcp_moderate_rcvbuf` does.
    Linux {
        /// memory at first (`tcp_rmem[1]`), of which half is offered until the size of segments is known
        initial_bytes: u64,
        /// most memory (`tcp_rmem[2]`)
        most_bytes: u64,
    },
}

/// Window law.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowLawKind {
    /// RFC 5681, bytes.
    Reno,
    /// Counted in packets: +1 per ACK in slow start, +1/cwnd per ACK after.
    RenoPackets,
    /// RFC 9438.
    Cubic(CubicConfig),
    /// Counted in packets as by Linux 2.0 and 2.2: in slow start up to and including ssthresh, then +1 every cwnd + 1 ACKs.
    #[serde(rename = "reno-linux2")]
    RenoLinux2,
    /// CUBIC as the Linux kernel computes it.
    CubicLinux(CubicConfig),
    /// BBR version 1 as in Linux 6.12; paces, and owns its recovery.
    Bbr1,
    /// BBR version 3 by draft-ietf-ccwg-bbr-06 or Google's branch v3; paces, and owns its recovery.
    Bbr3(Bbr3Config),
    /// TCP Prague (draft-briscoe-iccrg-prague-congestion-control-04); paces, and owns its recovery. Reno where AccECN is not
    /// agreed on. With `ecn = accecn-ect1` at both ends.
    Prague,
    /// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-01), for background traffic.
    LedbatPlusPlus(LedbatPlusPlusConfig),
    /// LEDBAT (RFC 6817), for background traffic: by one-way delays, with `timestamps`.
    Ledbat(LedbatConfig),
    /// DCTCP (RFC 8257); Reno where ECN is not agreed on. With `ecn` `dctcp` or `l4s` at both ends.
    Dctcp,
    /// An external law, attached by the caller ([`crate::Connection::attach_law`]).
    External {
        /// Which one: a digest of its code
        code: LawId,
        /// whether it draws random numbers
        random: bool,
    },
}

impl WindowLawKind {
    /// Every law, with these knobs of CUBIC.
    pub const fn all(cubic: CubicConfig) -> [WindowLawKind; 11] {
        [
            WindowLawKind::Reno,
            WindowLawKind::RenoPackets,
            WindowLawKind::Cubic(cubic),
            WindowLawKind::RenoLinux2,
            WindowLawKind::CubicLinux(cubic),
            WindowLawKind::Dctcp,
            WindowLawKind::Bbr1,
            WindowLawKind::Bbr3(Bbr3Config::STANDARD),
            WindowLawKind::Prague,
            WindowLawKind::LedbatPlusPlus(LedbatPlusPlusConfig::STANDARD),
            WindowLawKind::Ledbat(LedbatConfig::STANDARD),
        ]
    }

    /// Whether it models the path, and has a slow start of its own.
    pub(crate) const fn models_path(self) -> bool {
        matches!(self, WindowLawKind::Bbr1 | WindowLawKind::Bbr3(_) | WindowLawKind::Prague)
    }

    /// Whether it is CUBIC, and makes room for new flows.
    pub(crate) fn converges_fast(self) -> bool {
        use WindowLawKind::{Cubic, CubicLinux};
        matches!(
            self,
            Cubic(CubicConfig { fast_convergence: true }) | CubicLinux(CubicConfig { fast_convergence: true })
        )
    }
}

/// CUBIC's knobs, in both forms of the law.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CubicConfig {
    /// Whether `W_max` is lowered further when windows shrink, to make room for new flows (RFC 9438, 4.7).
    pub fast_convergence: bool,
}

/// The three-way handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandshakeConfig {
    /// Whether it is measured (RFC 6298, 2.2 allows its first round trip); if not the timeout stays `rto.initial_ns` until
    /// the first data is acknowledged.
    pub timed: bool,
    /// Whether the ACK of the SYN-ACK counts as an ACK that opens the window (RFC 5681, 3.1 forbids it by default).
    pub ack_opens_window: bool,
    /// Whether a timeout of a SYN reduces ssthresh like any other.
    pub timeout_cuts: bool,
    /// Timeouts of a SYN before they begin to double (RFC 6298, 5.5: none).
    pub linear_timeouts: u8,
    /// How many times a SYN or SYN-ACK may be sent again without taking the initial window to one segment (RFC 5681, 3.1:
    /// none).
    pub free_retransmissions: u8,
    /// Whether its packets are ECN-capable: SYN-ACKs by RFC 5562; with DCTCP SYN, SYN-ACK and RST by RFC 8257, section 3.6.
    #[serde(default)]
    pub ecn_capable: bool,
}

impl HandshakeConfig {
    /// The standards' values.
    pub const STANDARD: HandshakeConfig = HandshakeConfig {
        timed: true,
        ack_opens_window: false,
        timeout_cuts: false,
        linear_timeouts: 0,
        free_retransmissions: 0,
        ecn_capable: false,
    };
}

/// How connections end with FIN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinConfig {
    /// Whether FIN has a segment of its own, which waits for the window; if not it rides on the last segment of data.
    pub alone: bool,
    /// How long TIME-WAIT lasts (2*MSL).
    pub time_wait_ns: Time,
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

/// What a small segment waits for by Nagle's algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NagleRule {
    /// An ACK of everything (RFC 1122, 4.2.3.4).
    Rfc1122,
    /// An ACK of the last small segment (draft-minshall-nagle-01; Linux: `tcp_minshall_check`).
    Minshall,
}

/// What ssthresh is a fraction of when congestion is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReductionBase {
    /// What is in flight (RFC 5681, equation 4; RFC 9438, 4.6).
    FlightSize,
    /// The usable window, fractions kept (ns-2.35).
    Cwnd,
    /// The usable window, the result rounded down to whole segments (Linux; ns-2 before 2006).
    CwndWholeSegments,
}

/// Who computes the retransmission timeout from round trips.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// RFC 6298, section 2; with a coarse tick Jacobson's integers of 1988.
    Rfc6298,
    /// Linux 2.0: RTO = R + R/4 + (R >> (cwnd - 1)) with R = srtt + 4 mean deviations, in ticks.
    #[serde(rename = "linux-2.0")]
    Linux2_0,
    /// Linux 2.2: the same, with a first deviation twice as large.
    #[serde(rename = "linux-2.2")]
    Linux2_2,
    /// The Linux kernel: mean deviation with its largest value of a round trip, in microseconds.
    Linux,
}

impl Estimator {
    /// Whether it is that of Linux 2.0 or 2.2, whose clock is `tick_ns`.
    #[inline]
    pub(crate) fn is_linux_2(self) -> bool {
        matches!(self, Estimator::Linux2_0 | Estimator::Linux2_2)
    }
}

/// What the estimator takes as samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RttSamples {
    /// The round trip of each ACK of new data where timestamps are agreed on, else of one segment a window, and of none that was
    /// sent again (RFC 6298, 3).
    RoundTrip,
    /// The round trip of each segment that an ACK acknowledges, from when it was last sent; of none until everything that a timeout
    /// found outstanding is acknowledged (Linux 2.0).
    EachSegment,
    /// The one-way delay of each ACK that gives a round trip (now less its sender's stamp), as with the agents of RFC 2415's
    /// authors. Both ends then need the same clock.
    OneWayDelay,
}

/// Where the retransmission timeout counts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimerStart {
    /// The last ACK of new data, or the first segment sent with nothing under way (RFC 6298, 5.1 and 5.3).
    LastAck,
    /// When the first unacknowledged segment was last sent (Linux 2.0 and 2.2).
    FirstSegment,
}

/// Retransmission timeout.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RtoConfig {
    /// Who computes it.
    pub estimator: Estimator,
    /// Clock granularity: 0 measures to the nanosecond; 0.1 s or 0.5 s as in the 1990s.
    pub tick_ns: Time,
    /// How far the clocks of `tick_ns` and `timer_hz` are ahead of the run's (how long the endpoint had been up).
    pub tick_phase_ns: Time,
    /// Before the first measurement (RFC 6298, 2.1: 1 s; ns-2: 6 s).
    pub initial_ns: Time,
    /// Smallest RTO (RFC 6298, 2.4: 1 s; Linux: 200 ms; ns-2 of 1998: none).
    pub min_ns: Time,
    /// Largest RTO.
    pub max_ns: Time,
    /// Least value of the variance term: RTO = SRTT + max(this, 4*RTTVAR). RFC 6298, 2.3 calls it G; Linux uses its
    /// minimum RTO here. Unused with a coarse tick.
    pub variance_floor_ns: Time,
    /// What the estimator takes as samples; not each segment with RACK, which keeps its own record.
    pub samples: RttSamples,
    /// Where the timeout counts from; RACK has `timers` of its own instead.
    pub start: TimerStart,
    /// Ticks a second of the clock that timers run by, and the wheel that Linux keeps them in, which rounds up
    /// ([`TcpConfig::expiry`]); 0 = to the nanosecond.
    pub timer_hz: u32,
}

/// Every knob of an endpoint. Shared by all connections of a traffic group; never copied into one.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpConfig {
    /// Payload bytes of a full segment without options, and the MSS option offered (in `ns2-1998` the wire size of a data
    /// packet, as its headers are 0). Timestamps, where agreed, take 12 bytes of it (RFC 6691, RFC 7323 appendix A).
    pub mss: u32,
    /// IP and TCP header bytes of a segment with data, without options.
    pub header_bytes: u32,
    /// Wire bytes of a segment without data, without options.
    pub ack_bytes: u32,
    /// The three-way handshake; without one both ends start ESTABLISHED at the same time.
    pub handshake: Option<HandshakeConfig>,
    /// The end by FIN; without one connections end when all data is acknowledged.
    pub fin: Option<FinConfig>,
    /// SACK option (RFC 2018) offered.
    pub sack: bool,
    /// Most blocks of an ACK; of those of RFC 2018 four fit into the options, or three next to timestamps.
    pub sack_blocks: u8,
    /// Whether the first block reports what arrived twice (DSACK, RFC 2883).
    pub dsack: bool,
    /// Timestamps option (RFC 7323) offered.
    pub timestamps: bool,
    /// Whether each data packet has a stamp that costs no bytes, and its ACK echoes it, as in ns-2; FACK of ns-2 measures by it.
    pub packet_stamps: bool,
    /// Window scale option (RFC 7323) offered.
    pub window_scale: bool,
    /// Loss recovery, with the knobs of its kind.
    pub recovery: RecoveryConfig,
    /// Explicit congestion notification (RFC 2481, RFC 3168).
    pub ecn: EcnKind,
    /// Whether an echo may take cwnd to one segment, and at one closes it until the retransmit timer expires
    /// (RFC 3168, 6.1.2); otherwise the minimum is two segments.
    pub ecn_to_one_segment: bool,
    /// Whether an ACK with an echo does not open the window in slow start either (RFC 3168, 6.1.2: SHOULD NOT).
    pub ecn_holds_slow_start: bool,
    /// Duplicate ACKs before fast retransmit.
    pub dup_thresh: u32,
    /// Whether nothing new is sent after a timeout until everything that was outstanding is acknowledged.
    pub drains_after_timeout: bool,
    /// RFC 3042.
    pub limited_transmit: bool,
    /// Window law, with the knobs of its kind.
    pub window_law: WindowLawKind,
    /// Slow start.
    pub slow_start: SlowStartKind,
    /// Most segments by which one ACK opens the window in slow start (RFC 3465's L; RFC 5681, 3.1: 1; 0 = no limit).
    pub slow_start_limit_segments: u16,
    /// Whether cwnd grows only when it was what limited the sender (RFC 7661; RFC 9438, 5.8).
    pub grow_only_if_cwnd_limited: bool,
    /// What a reduction starts from.
    pub reduce_from: ReductionBase,
    /// Least ssthresh after a timeout, in segments (RFC 5681, equation 4: 2).
    pub timeout_ssthresh_segments: u16,
    /// Whether each timeout of the same data reduces ssthresh again (RFC 5681, 3.1: held); `reno-packets` always does.
    pub each_timeout_cuts: bool,
    /// Initial window, at connection start only.
    pub initial_window: InitialWindow,
    /// Window after a timeout, and where Tahoe and ns-2's FACK restart, in segments (RFC 5681, 3.1: LW, 1).
    pub loss_window_segments: u16,
    /// Whether the window restarts at `min(IW, cwnd)` after an idle time of one RTO (RFC 5681, 4.1).
    pub restart_after_idle: bool,
    /// Initial slow-start threshold in segments (0 = none).
    pub initial_ssthresh_segments: u32,
    /// Largest window.
    pub max_window: MaxWindow,
    /// Receive buffer in bytes: what the receiver offers.
    pub receive_buffer_bytes: u64,
    /// How the receive buffer is sized.
    pub receive_tuning: ReceiveTuning,
    /// When the receiver acknowledges.
    pub ack_policy: AckPolicy,
    /// Whether an ACK that is due at once goes before the application can answer what arrived; if not, the answer carries it.
    pub acks_before_answers: bool,
    /// Nagle's algorithm (RFC 1122, 4.2.3.4).
    pub nagle: bool,
    /// What a small segment waits for by that algorithm.
    pub nagle_rule: NagleRule,
    /// Whether data is paced, as by Linux with `fq` as the queue: by 200 % of cwnd a round trip while cwnd is below half of
    /// ssthresh, else by 120 %; the first ten segments of a connection are not.
    pub pacing: bool,
    /// Maximum number of segments sent at once when pacing (Linux: `gso_max_segs`; 1 on a device without segmentation
    /// offload); 0 = as many as the rate says.
    pub max_train_segments: u16,
    /// Retransmission timeout.
    pub rto: RtoConfig,
}

impl TcpConfig {
    /// Whether windows are counted in whole segments, as in Linux.
    pub(crate) fn counts_whole_segments(&self) -> bool {
        self.reduce_from == ReductionBase::CwndWholeSegments
    }

    /// Whether idle windows, RACK and the end of its episodes follow Linux where it departs from the RFCs. A kernel that counts
    /// whole segments does all of it, so this has no knob of its own.
    pub(crate) fn departs_as_linux(&self) -> bool {
        self.counts_whole_segments()
    }

    /// Whether data is paced: by [`TcpConfig::pacing`], or as the window law states a rate.
    #[must_use]
    pub fn paces(&self) -> bool {
        self.pacing || self.window_law.needs().paces
    }

    /// The handshake's knobs; the standards' for a connection that is opened without one.
    pub(crate) fn shaking(&self) -> HandshakeConfig {
        self.handshake.unwrap_or(HandshakeConfig::STANDARD)
    }

    /// Whether FIN has a segment of its own.
    #[inline]
    pub(crate) fn sends_fin_alone(&self) -> bool {
        self.fin.is_some_and(|fin| fin.alone)
    }

    /// How the receive buffer is sized: kernels with `adaptive` acknowledgments did not tune it.
    pub(crate) fn tuning(&self) -> ReceiveTuning {
        match self.ack_policy {
            AckPolicy::Adaptive { .. } => ReceiveTuning::None,
            _ => self.receive_tuning,
        }
    }

    /// Payload bytes of a full segment to this peer: the smaller MSS, less what timestamps take where both offer them
    /// (RFC 6691; RFC 7323, appendix A).
    #[must_use]
    pub fn full_segment_bytes(&self, peer: &TcpConfig) -> u32 {
        let options = if self.timestamps && peer.timestamps { TIMESTAMPS_BYTES } else { 0 };
        self.mss.min(peer.mss).saturating_sub(options).max(1)
    }
}
