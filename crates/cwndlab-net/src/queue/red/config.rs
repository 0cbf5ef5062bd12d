//! Parameters of RED.

use cwndlab_units::power;

use serde::{Deserialize, Serialize};

use crate::queue::config::{positive, within};
use crate::queue::{QueueError, Unit};

/// Interpretations of the algorithm of Floyd and Jacobson 1993, "the paper".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RedRules {
    /// The paper's text: spacings (numbers of packets from one drop or mark to the next) are uniform on 1..1/p, and an
    /// idle time counts as a number of packets that need not be whole.
    #[default]
    Paper,
    /// ns-2.35, for comparisons with it. The arriving packet counts among those that have passed, so spacings are
    /// uniform on 1..1/p - 1 (as in the paper's figure 2). There is no drop or mark while at most one packet waits or
    /// the average is below `min_th`, nor for the first packet after such a time. An idle time is rounded down to whole
    /// packets, and one packet is added.
    Ns2,
}

/// Parameters of [`super::Red`]. Thresholds and limit are in `unit`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    /// Capacity; a packet that exceeds it is dropped regardless of the average.
    pub limit: u64,
    /// The unit of thresholds, average and limit. With bytes, the drop probability of a packet is in proportion to its
    /// size (section 7 of the paper).
    #[serde(default)]
    pub unit: Unit,
    /// While the average is below this, nothing is dropped or marked.
    pub min_th: f64,
    /// While the average is at or above this, every packet is dropped, except as `gentle` and `hard_drop` specify.
    pub max_th: f64,
    /// The drop probability as the average reaches `max_th`.
    #[serde(default = "default_max_p")]
    pub max_p: f64,
    /// Weight of one arrival in the average. If neither `w_q` nor `burst` is set, the weight is the paper's 0.002;
    /// setting both is an error.
    #[serde(default)]
    pub w_q: Option<f64>,
    /// The burst, in packets, that may pass without drops. It determines the weight, a power of two, as in Linux
    /// ([`weight_for_burst`]).
    #[serde(default)]
    pub burst: Option<u32>,
    /// Size of a typical packet, in bytes. Its transmission time is the step of the average while the link is idle, and
    /// it converts bytes to packets for `burst` (Linux's avpkt).
    #[serde(default = "default_mean_packet_bytes")]
    pub mean_packet_bytes: u32,
    /// With `unit` bytes: the packet size that has the full drop probability (`MaximumPacketSize` of the paper).
    #[serde(default = "default_max_packet_bytes")]
    pub max_packet_bytes: u32,
    /// Marks ECN-capable packets instead of dropping them.
    #[serde(default)]
    pub ecn: bool,
    /// Whether ECN-capable packets are dropped like all others while the average is at or above `max_th` (with
    /// `gentle`: twice `max_th`), as in RFC 2884 and with Linux's "harddrop". Otherwise they are marked. If the buffer
    /// is full, they are dropped in either case.
    #[serde(default = "yes")]
    pub hard_drop: bool,
    /// The drop probability rises from `max_p` to 1 between `max_th` and twice `max_th`, instead of jumping to 1 at
    /// `max_th`.
    #[serde(default)]
    pub gentle: bool,
    /// At least 1/p packets pass between two drops or marks, so that spacings are uniform on 1/p..2/p. This is ns-2's
    /// `wait_`, which is on by default in ns-2.
    #[serde(default)]
    pub wait: bool,
    /// Whether `max_p` adapts: it is divided by three when the average falls below `min_th`, and doubled, to at most 1,
    /// when it reaches `max_th`.
    #[serde(default)]
    pub adaptive: bool,
    /// The interpretation of the algorithm: the paper's text, or ns-2's.
    #[serde(default)]
    pub rules: RedRules,
    /// Whether the average and the limit include the packet in service. In ns-2 and Linux they do not.
    #[serde(default)]
    pub counts_in_service: bool,
}

fn default_max_p() -> f64 {
    0.1
}
fn default_mean_packet_bytes() -> u32 {
    1000
}
fn default_max_packet_bytes() -> u32 {
    1500
}
fn yes() -> bool {
    true
}

/// The weight that the paper recommends (section 6).
const DEFAULT_WEIGHT: f64 = 0.002;

impl RedConfig {
    /// RED with thresholds in packets, without ECN, with the paper's weight and a `max_p` of 0.1.
    pub fn new(limit: u64, min_th: f64, max_th: f64) -> RedConfig {
        RedConfig {
            limit,
            unit: Unit::Packets,
            min_th,
            max_th,
            max_p: default_max_p(),
            w_q: None,
            burst: None,
            mean_packet_bytes: default_mean_packet_bytes(),
            max_packet_bytes: default_max_packet_bytes(),
            ecn: false,
            hard_drop: true,
            gentle: false,
            wait: false,
            adaptive: false,
            rules: RedRules::Paper,
            counts_in_service: false,
        }
    }

    /// The weight of one arrival in the average, from `w_q` or from `burst`.
    ///
    /// # Errors
    /// If both are given, or no weight lets a burst of this length pass without drops.
    pub fn weight(&self) -> Result<f64, QueueError> {
        match (self.w_q, self.burst) {
            (Some(_), Some(_)) => Err(QueueError::WeightTwice),
            (Some(w_q), None) => Ok(w_q),
            (None, None) => Ok(DEFAULT_WEIGHT),
            (None, Some(burst)) => {
                let min_packets = match self.unit {
                    Unit::Packets => self.min_th,
                    Unit::Bytes => self.min_th / f64::from(self.mean_packet_bytes),
                };
                weight_for_burst(burst, min_packets).ok_or(QueueError::BurstTooShort { burst, min_packets })
            }
        }
    }

    pub(in crate::queue) fn check(&self) -> Result<(), QueueError> {
        positive("limit", self.limit)?;
        positive("mean_packet_bytes", u64::from(self.mean_packet_bytes))?;
        positive("max_packet_bytes", u64::from(self.max_packet_bytes))?;
        within("min_th", self.min_th, 0.0..=f64::MAX)?;
        if self.max_th <= self.min_th || !self.max_th.is_finite() {
            return Err(QueueError::Thresholds { max_th: self.max_th, min_th: self.min_th });
        }
        within("max_p", self.max_p, 0.0..=1.0)?;
        within("w_q", self.weight()?, f64::MIN_POSITIVE..=1.0)
    }
}

/// The weight by Linux's rule: the largest 2^-k for which a burst of `burst` packets into an empty queue does not raise
/// the average to `min_th`, that is, `burst + 1 - min_th <= (1 - (1 - w)^burst) / w`. `None` if the burst is shorter
/// than `min_th`.
pub fn weight_for_burst(burst: u32, min_th_packets: f64) -> Option<f64> {
    ewma_log(burst, min_th_packets).map(|k| power(0.5, k))
}

/// The exponent k of the weight 2^-k that [`weight_for_burst`] returns.
pub(in crate::queue) fn ewma_log(burst: u32, min_th_packets: f64) -> Option<u32> {
    let needed = f64::from(burst) + 1.0 - min_th_packets;
    if needed < 1.0 {
        return None;
    }
    let allows = |w: f64| needed <= (1.0 - power(1.0 - w, burst)) / w;
    (1..32_u32).find(|&k| allows(power(0.5, k)))
}
