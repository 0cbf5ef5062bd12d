//! CUBIC (RFC 9438). Windows in segments, times in seconds, as in the RFC's equations.
//!
//! The cube root is computed once per congestion episode; an ACK in congestion avoidance costs at most two cubes and
//! two divisions.

use super::law::{Acked, Cut, Growth, LossLaw, Pause, Windows};
use crate::config::TcpConfig;
use cwndlab_units::Time;

/// RFC 9438, section 4.6.
pub(super) const BETA: f64 = 0.7;
/// RFC 9438, section 5.1.
pub(super) const C: f64 = 0.4;
/// RFC 9438, section 4.3: 3*(1-beta)/(1+beta).
pub(super) const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// State of CUBIC (RFC 9438, section 4.1.2). Values that change once per episode are f32 (a relative error of 6e-8) to
/// keep the state small; those that grow by fractions per ACK are f64.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Cubic {
    /// Window just before the last reduction, in segments, lowered by fast convergence where that applied. 0 before the
    /// first reduction and after a timeout; the next stage then starts with K = 0.
    pub w_max: f32,
    /// Time to grow back to `w_max`, in s.
    pub k_s: f32,
    /// cwnd when ssthresh was last set, in segments.
    pub cwnd_prior: f32,
    /// Fraction of a byte that has not yet been added to cwnd.
    credit_bytes: f32,
    /// Window of the Reno-friendly estimate, in segments.
    pub w_est: f64,
    /// Start of the current congestion avoidance stage, moved forward by the time in which the application limited the
    /// sender; MAX if the stage has not begun.
    pub epoch_start: Time,
    /// Last ACK of the stage. The time between it and an application-limited ACK does not count (section 5.8).
    last_ack: Time,
    before: Before,
}

/// State that an undo restores (section 4.9).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Before {
    w_max: f32,
    k_s: f32,
    cwnd_prior: f32,
    w_est: f32,
    epoch_start: Time,
}

impl Cubic {
    pub fn new() -> Self {
        let before = Before { epoch_start: Time::MAX, ..Before::default() };
        Cubic { epoch_start: Time::MAX, before, ..Cubic::default() }
    }

    /// `W_cubic(t)`, equation 1.
    fn w_cubic(&self, t_s: f64) -> f64 {
        let d = t_s - f64::from(self.k_s);
        C * d * d * d + f64::from(self.w_max)
    }

    /// Begins a congestion avoidance stage with `cwnd` segments.
    fn begin(&mut self, now: Time, cwnd: f64) {
        self.epoch_start = now;
        self.last_ack = now;
        self.w_est = cwnd;
        self.credit_bytes = 0.0;
        if f64::from(self.w_max) > cwnd {
            // Equation 2.
            self.k_s = libm::cbrt((f64::from(self.w_max) - cwnd) / C) as f32;
        } else {
            // Sections 4.8 and 4.10: after a timeout or an exit from slow start without loss.
            self.k_s = 0.0;
            self.w_max = cwnd as f32;
        }
    }

    /// Takes an ACK in congestion avoidance. Returns the new cwnd in bytes.
    fn open(&mut self, cwnd_bytes: u32, ack: &Growth) -> u32 {
        // `per_mss` and `windows_acked` take the only two divisions per ACK.
        let mss = f64::from(ack.mss);
        let per_mss = 1.0 / mss;
        let cwnd = f64::from(cwnd_bytes) * per_mss;
        if self.epoch_start.is_never() {
            self.begin(ack.now, cwnd);
        }
        self.last_ack = ack.now;
        let t = ack.now.saturating_sub(self.epoch_start).as_nanos() as f64 * 1e-9;
        let windows_acked = ack.bytes as f64 * per_mss / cwnd;

        // Section 4.3, equation 4: alpha is 1 once W_est has reached cwnd_prior.
        let alpha = if self.w_est >= f64::from(self.cwnd_prior) { 1.0 } else { ALPHA };
        self.w_est += alpha * windows_acked;
        if self.w_cubic(t) < self.w_est {
            // Reno-friendly region. If something else has raised cwnd above W_est, cwnd does not fall.
            return cwnd_bytes.max((self.w_est * mss) as u32);
        }
        // Sections 4.4 and 4.5: grow towards the target window one RTT ahead, by at most a factor of 1.5 per RTT.
        let target = self.w_cubic(t + ack.srtt.as_nanos() as f64 * 1e-9).clamp(cwnd, 1.5 * cwnd);
        let credit = f64::from(self.credit_bytes) + (target - cwnd) * windows_acked * mss;
        let whole = credit as u32;
        self.credit_bytes = (credit - f64::from(whole)) as f32;
        cwnd_bytes.saturating_add(whole)
    }

    /// Responds to congestion (section 4.6), with fast convergence (4.7) if configured. Returns `flight_bytes` * beta.
    pub fn on_congestion(&mut self, cwnd_bytes: u32, flight_bytes: u64, mss: u32, fast_convergence: bool) -> u32 {
        let cwnd = cwnd_bytes as f32 / mss as f32;
        self.cwnd_prior = cwnd;
        self.w_max = if fast_convergence && cwnd < self.w_max { cwnd * (1.0 + BETA as f32) / 2.0 } else { cwnd };
        self.epoch_start = Time::MAX;
        (flight_bytes as f64 * BETA).round() as u32
    }
}

impl LossLaw for Cubic {
    fn avoid(&mut self, growth: &Growth, cwnd: u32) -> u32 {
        self.open(cwnd, growth)
    }

    /// Excludes the time since the last ACK from the stage, because cwnd did not limit the sender (section 5.8).
    fn grow(&mut self, _: &TcpConfig, ack: &Acked<'_>, limited: bool, _: &mut Windows) -> bool {
        if limited && !self.epoch_start.is_never() {
            self.epoch_start += ack.plain.now.saturating_sub(self.last_ack);
            self.last_ack = ack.plain.now;
        }
        false
    }

    fn reduce(&mut self, cut: &Cut<'_>, cwnd: u32) -> u32 {
        self.before = Before {
            w_max: self.w_max,
            k_s: self.k_s,
            cwnd_prior: self.cwnd_prior,
            w_est: self.w_est as f32,
            epoch_start: self.epoch_start,
        };
        let converges = cut.cfg.window_law.converges_fast();
        self.on_congestion(cwnd, cut.base, cut.mss, converges) / cut.unit * cut.unit
    }

    /// Clears `w_max`, so that the next stage starts with K = 0 and `W_max` = cwnd (section 4.8).
    fn on_timeout(&mut self, _: &TcpConfig) {
        self.w_max = 0.0;
    }

    fn on_undo(&mut self) {
        let Before { w_max, k_s, cwnd_prior, w_est, epoch_start } = self.before;
        *self = Cubic { w_max, k_s, cwnd_prior, w_est: f64::from(w_est), epoch_start, ..*self };
    }

    fn on_pause(&mut self, pause: Pause) {
        if matches!(pause, Pause::Restart) {
            self.epoch_start = Time::MAX;
        }
    }
}

#[cfg(test)]
mod models;
#[cfg(test)]
mod tests;
