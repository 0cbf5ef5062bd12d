//! Parameters of PIE.

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::queue::config::{interval, positive, within};
use crate::queue::QueueError;

/// The source of PIE's estimate of the queueing delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DelayEstimate {
    /// The waiting time of the last packet sent; 0 once the queue is empty (RFC 8033, section 4.2; Linux).
    #[default]
    Timestamp,
    /// The backlog divided by the measured departure rate (section 5.2).
    Rate,
}

/// Parameters of [`super::Pie`]; the defaults are those of RFC 8033, with the optional elements that Linux has.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct PieConfig {
    /// Maximum number of waiting packets; a packet that exceeds it is dropped. The default is 1000, as in Linux.
    pub limit: u32,
    /// Target delay (`QDELAY_REF`). The default is 15 ms.
    pub target_ns: Time,
    /// Interval of the updates (`T_UPDATE`). The default is 15 ms.
    pub update_ns: Time,
    /// Weight of the delay's distance from the target, in Hz. The default is 1/8.
    pub alpha: f64,
    /// Weight of the change in delay since the last update, in Hz. The default is 1 + 1/4.
    pub beta: f64,
    /// Length of a burst that passes without drops when there was no congestion (`MAX_BURST`). The
    /// default is 150 ms.
    pub max_burst_ns: Time,
    /// Size of a typical packet, in bytes. Nothing is dropped while at most two packets of this size wait.
    pub mean_packet_bytes: u32,
    /// The source of the delay estimate.
    pub estimate: DelayEstimate,
    /// Marks ECN-capable packets where others are dropped (section 5.1).
    pub ecn: bool,
    /// Drop probability from which ECN-capable packets are dropped instead of marked (`mark_ecnth`). The default is
    /// 0.1.
    pub ecn_threshold: f64,
    /// Spaces drops: since the last drop, the probabilities of the arriving packets are added up; no packet is dropped
    /// before the sum reaches 0.85, and one is always dropped when it reaches 8.5 (section 5.4).
    pub derandomize: bool,
    /// Limits the increase of the probability to 0.02 per update once the probability is at least 0.1 (section 5.5).
    pub cap_adjustment: bool,
    /// PIE is inactive until this share of `limit` is filled (a third in section 5.3); always active if left out.
    pub activate_at: Option<f64>,
}

impl Default for PieConfig {
    fn default() -> Self {
        PieConfig {
            limit: 1000,
            target_ns: Time::from_millis(15),
            update_ns: Time::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst_ns: Time::from_millis(150),
            mean_packet_bytes: 1024,
            estimate: DelayEstimate::Timestamp,
            ecn: false,
            ecn_threshold: 0.1,
            derandomize: true,
            cap_adjustment: true,
            activate_at: None,
        }
    }
}

impl PieConfig {
    pub(in crate::queue) fn check(&self) -> Result<(), QueueError> {
        positive("limit", u64::from(self.limit))?;
        positive("target_ns", self.target_ns.as_nanos())?;
        interval("update_ns", self.update_ns)?;
        within("alpha", self.alpha, 0.0..=f64::MAX)?;
        within("beta", self.beta, 0.0..=f64::MAX)?;
        within("ecn_threshold", self.ecn_threshold, 0.0..=1.0)?;
        self.activate_at.map_or(Ok(()), |share| within("activate_at", share, 0.0..=1.0))
    }
}
