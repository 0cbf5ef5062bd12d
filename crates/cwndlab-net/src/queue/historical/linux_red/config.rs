//! Parameters of [`super::LinuxRed`], and how `tc` converts them (iproute2, `tc/tc_red.c` and `tc/q_red.c`).

use cwndlab_units::{power, Rate};
use serde::{Deserialize, Serialize};

use super::TICKS_PER_S;
use crate::queue::config::{positive, within};
use crate::queue::red::ewma_log;
use crate::queue::QueueError;

/// Versions of the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LinuxRedVersion {
    /// Linux 2.2.4 to 2.3.14: the decay of the average during an idle time comes only from the kernel's table of idle
    /// times.
    #[default]
    #[serde(rename = "2.2.5")]
    V2_2_5,
    /// Linux 2.3.15 and later: an idle time so short that its table entry is 0 also reduces the average, in proportion
    /// to its length.
    #[serde(rename = "2.3.15")]
    V2_3_15,
}

/// Parameters of [`super::LinuxRed`], those of `tc qdisc add … red`. All sizes are in bytes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LinuxRedConfig {
    /// Capacity: a packet that finds more bytes than this waiting is dropped regardless of the average.
    pub limit: u64,
    /// While the average is below this, nothing is dropped or marked.
    pub min_th: u32,
    /// While the average is at or above this, every packet is dropped, except as `hard_drop` specifies.
    pub max_th: u32,
    /// The requested probability at `max_th` (tc's `probability`). The kernel uses the largest
    /// `(max_th - min_th) / 2^k` below it.
    #[serde(default = "default_max_p")]
    pub max_p: f64,
    /// The burst, in packets, that may pass without drops. It determines the weight, which is a power of two.
    pub burst: u32,
    /// Size of a typical packet (tc's avpkt).
    pub mean_packet_bytes: u32,
    /// The link's rate as passed to `tc`. It affects only the decay during idle times.
    #[serde(default = "default_bandwidth")]
    pub bandwidth_bps: Rate,
    /// Marks ECN-capable packets where others are dropped.
    #[serde(default)]
    pub ecn: bool,
    /// Whether ECN-capable packets are dropped like all others while the average is at or above `max_th`, as in RFC
    /// 2884. Linux 2.3.49 marks them instead.
    #[serde(default = "yes")]
    pub hard_drop: bool,
    /// The version of the algorithm.
    #[serde(default)]
    pub version: LinuxRedVersion,
}

fn default_max_p() -> f64 {
    0.02
}
fn default_bandwidth() -> Rate {
    Rate::from_bps(10_000_000)
}
fn yes() -> bool {
    true
}

impl LinuxRedConfig {
    /// RED with tc's defaults.
    pub fn new(limit: u64, min_th: u32, max_th: u32, burst: u32, mean_packet_bytes: u32) -> LinuxRedConfig {
        LinuxRedConfig {
            limit,
            min_th,
            max_th,
            max_p: default_max_p(),
            burst,
            mean_packet_bytes,
            bandwidth_bps: default_bandwidth(),
            ecn: false,
            hard_drop: true,
            version: LinuxRedVersion::default(),
        }
    }

    pub(in crate::queue) fn check(&self) -> Result<(), QueueError> {
        positive("limit", self.limit)?;
        positive("min_th", u64::from(self.min_th))?;
        positive("mean_packet_bytes", u64::from(self.mean_packet_bytes))?;
        positive("bandwidth_bps", self.bandwidth_bps.as_bps())?;
        let (min_th, max_th) = (f64::from(self.min_th), f64::from(self.max_th));
        if self.max_th <= self.min_th {
            return Err(QueueError::Thresholds { max_th, min_th });
        }
        within("max_p", self.max_p, (max_th - min_th) / power(2.0, 30)..=1.0)?;
        self.weight_log().map(|_| ())
    }

    /// The exponent k of the weight 2^-k (`tc_red_eval_ewma`).
    pub(super) fn weight_log(&self) -> Result<u32, QueueError> {
        let min_packets = f64::from(self.min_th) / f64::from(self.mean_packet_bytes);
        let burst = self.burst;
        ewma_log(burst, min_packets).ok_or(QueueError::BurstTooShort { burst, min_packets })
    }

    /// The exponent k of the largest probability `(max_th - min_th) / 2^k` that is below `max_p` (`tc_red_eval_P`).
    pub(super) fn probability_log(&self) -> u32 {
        let per_byte = self.max_p / f64::from(self.max_th - self.min_th);
        (0..31).find(|&k| per_byte * power(2.0, k) > 1.0).unwrap_or(31)
    }

    /// The table of idle times and its `cell_log` (`tc_red_eval_idle_damping`). Entry i is the number of bits by which
    /// an idle time of `i << cell_log` ticks shifts the average.
    pub(super) fn idle_table(&self, weight_log: u32) -> ([u8; 256], u32) {
        let packet_s = self.bandwidth_bps.serialization_time(self.mean_packet_bytes).as_secs_f64();
        // The kernel uses these natural logarithms as shifts, so the average decays as 2^-x where e^-x was meant.
        let per_tick = -libm::log1p(-(power(0.5, weight_log))) / (packet_s * TICKS_PER_S as f64);
        let longest = 31.0 / per_tick;
        let cell_log = (0..32).find(|&k| longest / power(2.0, k) < 512.0).unwrap_or(31);
        let mut table = [31; 256];
        for (entry, ticks) in table.iter_mut().zip((0_u64..255).map(|i| i << cell_log)) {
            *entry = (ticks as f64 * per_tick).min(31.0) as u8;
        }
        (table, cell_log)
    }
}
