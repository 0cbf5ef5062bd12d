//! LEDBAT (RFC 6817): a window for background traffic, controlled by one-way delays to keep a target queueing delay.

use cwndlab_units::Time;

use super::delays::Delays;
use super::law::{Acked, Cut, LossLaw, Windows, MAX_WINDOW_BYTES};
use super::needs::Needs;
use super::reno::new_bytes;
use super::AckReport;
use crate::config::{LedbatConfig, TcpConfig};

/// Section 2.5: `MIN_CWND` SHOULD be 2.
const LEAST_SEGMENTS: u32 = 2;
/// Section 2.5: `ALLOWED_INCREASE` SHOULD be 1.
const ALLOWED_INCREASE: u64 = 1;

/// The state of one sender.
#[derive(Clone, Debug)]
pub(super) struct Ledbat {
    target: Time,
    gain: f64,
    delays: Delays,
    /// The fraction of a byte by which the window exceeds cwnd.
    fraction: f64,
}

impl Ledbat {
    pub fn new(knobs: LedbatConfig) -> Ledbat {
        Ledbat {
            target: knobs.target_ns,
            gain: f64::from(knobs.gain_percent) / 100.0,
            delays: Delays::new(),
            fraction: 0.0,
        }
    }

    /// Section 2.4.2, "on acknowledgement". `acked` bytes are acknowledged with a window of `cwnd` bytes. Returns the
    /// new window.
    pub fn on_ack(&mut self, ack: &AckReport, acked: u64, cwnd: u32) -> u32 {
        let (target, mss) = (self.target.as_secs_f64(), f64::from(ack.mss));
        // Section 2.5: except for the last measurement, none older than a round trip is used.
        let queueing = self.delays.queueing_since(ack.now.saturating_sub(ack.srtt));
        let off_target = (target - queueing.as_secs_f64()) / target;
        let cwnd = f64::from(cwnd) + self.fraction;
        let wanted = cwnd + self.gain * off_target * acked as f64 * mss / cwnd;
        let most = ack.prior_flight_bytes + ALLOWED_INCREASE * u64::from(ack.mss);
        let most = most.min(u64::from(MAX_WINDOW_BYTES)) as f64;
        let window = wanted.min(most).max(f64::from(LEAST_SEGMENTS * ack.mss));
        self.fraction = window.fract();
        window as u32
    }
}

impl LossLaw for Ledbat {
    const NEEDS: Needs = Needs { delays: true, ..Needs::NONE };

    fn on_feedback(&mut self, ack: &Acked<'_>, _: &mut Windows) {
        if let Some(delay) = ack.report.and_then(|ack| ack.one_way_delay) {
            self.delays.note(ack.plain.now, delay);
        }
    }

    /// Applies the same rule if cwnd did not limit the sender, because the rule also limits a window that is not fully
    /// used.
    fn grow(&mut self, cfg: &TcpConfig, ack: &Acked<'_>, _: bool, windows: &mut Windows) -> bool {
        if let Some(ack) = ack.report {
            windows.cwnd = self.on_ack(ack, new_bytes(cfg, ack), windows.cwnd);
        }
        true
    }

    /// Returns half of the window (section 2.4.2, "on data loss").
    fn reduce(&mut self, _: &Cut<'_>, cwnd: u32) -> u32 {
        self.fraction = 0.0;
        cwnd / 2
    }
}

#[cfg(test)]
mod tests;
