//! PIE's estimate of the queueing delay.

use cwndlab_units::Time;

use super::DelayEstimate;

/// Bytes over which the departure rate is measured (`DQ_THRESHOLD` of RFC 8033, section 5.2).
const MEASURED_BYTES: u64 = 1 << 14;
/// Weight of one measurement (`DQ_THRESHOLD` / 2^16).
const WEIGHT: f64 = 0.25;

#[derive(Clone, Copy, Debug)]
pub(super) enum DelayEstimator {
    /// `last_s` is the waiting time of the last packet sent, in seconds.
    Timestamp { last_s: f64 },
    Rate {
        /// The start of the current measurement, and the bytes that have left since.
        measuring: Option<(Time, u64)>,
        /// The smoothed time in which [`MEASURED_BYTES`] leave, in seconds; `None` before the first measurement.
        average_s: Option<f64>,
    },
}

impl DelayEstimator {
    pub(super) fn new(estimate: DelayEstimate) -> DelayEstimator {
        match estimate {
            DelayEstimate::Timestamp => DelayEstimator::Timestamp { last_s: 0.0 },
            DelayEstimate::Rate => DelayEstimator::Rate { measuring: None, average_s: None },
        }
    }

    /// Updates the estimate when a packet of `bytes` leaves a queue that held `queued_bytes`, including this packet.
    pub(super) fn on_departure(&mut self, now: Time, arrived: Time, bytes: u32, queued_bytes: u64) {
        let bytes = u64::from(bytes);
        match self {
            DelayEstimator::Timestamp { last_s } => {
                *last_s = if queued_bytes == bytes { 0.0 } else { (now - arrived).as_secs_f64() };
            }
            DelayEstimator::Rate { measuring, average_s } => {
                if measuring.is_none() && queued_bytes >= MEASURED_BYTES {
                    *measuring = Some((now, 0));
                }
                let Some((start, sent)) = measuring else { return };
                // The measurement excludes this packet, which has not left yet.
                if *sent >= MEASURED_BYTES {
                    let sample_s = (now - *start).as_secs_f64() * MEASURED_BYTES as f64 / *sent as f64;
                    *average_s = Some(average_s.map_or(sample_s, |old| old + WEIGHT * (sample_s - old)));
                    *measuring = (queued_bytes >= MEASURED_BYTES).then_some((now, bytes));
                } else {
                    *sent += bytes;
                }
            }
        }
    }

    /// The delay now, with `queued_bytes` waiting, in seconds.
    pub(super) fn current_s(&self, queued_bytes: u64) -> f64 {
        match self {
            DelayEstimator::Timestamp { last_s } => *last_s,
            DelayEstimator::Rate { average_s, .. } => {
                average_s.map_or(0.0, |average_s| queued_bytes as f64 * average_s / MEASURED_BYTES as f64)
            }
        }
    }
}

#[cfg(test)]
mod tests;
