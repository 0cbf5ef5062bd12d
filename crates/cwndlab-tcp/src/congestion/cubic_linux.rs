//! CUBIC as in the Linux kernel (`tcp_cubic.c`): in whole segments and integers, with a clock of 1 ms and the kernel's
//! HyStart.
//!
//! Differences from RFC 9438: until the first reduction, the kernel grows the window by at least a segment per 20
//! acknowledged; it evaluates the curve a minimum RTT ahead, not an SRTT; it always uses alpha = 0.53; and after a
//! spurious reduction it restores cwnd and ssthresh, but not the curve.

use super::hystart_linux::HystartLinux;
use super::law::{Acked, Cut, Growth, LossLaw, Pause, Windows};
use super::needs::Needs;
use super::reno::spend_credit;
use super::PlainAck;
use crate::clock::Clock;
use crate::config::{SlowStartKind, TcpConfig};
use cwndlab_units::Time;

/// beta = 717/1024 (RFC 9438, section 4.6: 0.7).
const BETA: u64 = 717;
const ONE: u64 = 1024;
/// Time unit of the cubic function: 2^-10 s.
const TIME_BITS: u32 = 10;
/// C = 410 / 2^10 (RFC 9438, section 5.1: 0.4).
const C: u64 = 410;
/// A cube in units of 2^-30 s^3 per segment: 1 / C (`cube_factor`).
const CUBE_PER_SEGMENT: u64 = (1 << (10 + 3 * TIME_BITS)) / C;
/// Reno's estimate grows by one segment per 15/8 windows acknowledged (1/alpha of RFC 9438, section 4.3, equation 4).
/// In eighths of a window.
const WINDOWS_PER_SEGMENT: u64 = 8 * (ONE + BETA) / 3 / (ONE - BETA);
/// Upper bound of `per_segment` while `w_max` is unknown.
const MOST_UNKNOWN: u32 = 20;
/// Lower bound of `per_segment`.
const LEAST: u32 = 2;
/// While the curve is not above cwnd, `per_segment` is this multiple of cwnd (in segments).
const SLOW: u32 = 100;
/// While cwnd is unchanged, the curve is evaluated at this interval, in ms (HZ / 32).
const REFRESH_MS: u64 = 31;
/// RTT samples are ignored in the first second of a congestion avoidance stage.
const DEAF_MS: u64 = 1000;

/// The kernel's `struct bictcp`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct CubicLinux {
    /// Window before the last reduction, in segments, lowered by fast convergence where that applied; 0 if unknown.
    w_max: u32,
    /// Window at the plateau of the curve, in segments.
    origin: u32,
    /// Time from the start of the stage to the plateau (K), in 2^-10 s.
    k: u64,
    /// Start of the congestion avoidance stage; MAX if it has not begun.
    epoch_start: Time,
    /// When the curve was last evaluated, in ms, and cwnd at that time.
    looked_ms: u64,
    looked_cwnd: u32,
    /// Segments to be acknowledged per segment of growth, and segments acknowledged since the last increase.
    per_segment: u32,
    credit: u32,
    /// Window that Reno would have (RFC 9438: `W_est`), and segments acknowledged since its last increase.
    reno_cwnd: u32,
    reno_acked: u64,
    /// Minimum round trip in us; 0 if unknown.
    min_rtt_us: u64,
    /// `None` if HyStart is off, or once it has ended slow start.
    hystart: Option<HystartLinux>,
    clock: Clock,
}

impl CubicLinux {
    pub fn new(cfg: &TcpConfig) -> Self {
        CubicLinux {
            epoch_start: Time::MAX,
            hystart: (cfg.slow_start == SlowStartKind::Hystart).then(|| HystartLinux::new(cfg.pacing)),
            clock: cfg.clock(),
            ..CubicLinux::default()
        }
    }

    /// Takes a round-trip sample, before its ACK opens the window of `cwnd` bytes. Returns whether slow start ends.
    pub fn on_rtt(&mut self, ack: &PlainAck, rtt: Time, cwnd: u32, slow_start: bool) -> bool {
        let is_young = ack.now.saturating_sub(self.epoch_start) < Time::from_millis(DEAF_MS);
        if is_young
            && !self.epoch_start.is_never()
            && self.ms(ack.now).saturating_sub(self.ms(self.epoch_start)) < DEAF_MS
        {
            return false;
        }
        let us = (rtt.as_nanos() / 1000).max(1);
        self.min_rtt_us = if self.min_rtt_us == 0 { us } else { self.min_rtt_us.min(us) };
        let Some(hystart) = self.hystart.as_mut() else { return false };
        if !slow_start {
            hystart.note_rtt(rtt);
            return false;
        }
        let ends = hystart.on_ack(ack.now, ack.snd_una, ack.snd_nxt, Some(rtt), (cwnd, ack.mss));
        if ends {
            self.hystart = None;
        }
        ends
    }

    /// Takes acknowledged bytes in congestion avoidance, with a window of `cwnd` bytes. Returns the new window.
    pub fn open(&mut self, now: Time, cwnd: u32, acked: u64, mss: u32) -> u32 {
        let grown = self.grow_segments(now, (cwnd / mss).max(1), acked.div_ceil(u64::from(mss)) as u32);
        cwnd.saturating_add(grown.saturating_mul(mss))
    }

    /// Takes `acked` segments in congestion avoidance. Returns by how many segments the window opens.
    pub fn grow_segments(&mut self, now: Time, cwnd: u32, acked: u32) -> u32 {
        self.look(now, cwnd, acked);
        spend_credit(&mut self.credit, acked, self.per_segment)
    }

    /// Sets `per_segment` from the curve, or from Reno's window if that makes cwnd grow faster than the curve.
    fn look(&mut self, now: Time, cwnd: u32, acked: u32) {
        self.reno_acked += u64::from(acked);
        let now_ms = self.ms(now);
        if self.looked_cwnd == cwnd && now_ms <= self.looked_ms + REFRESH_MS {
            return;
        }
        let begins = self.epoch_start.is_never();
        if begins || now_ms != self.looked_ms {
            (self.looked_cwnd, self.looked_ms) = (cwnd, now_ms);
            if begins {
                self.begin(now, cwnd, acked);
            }
            self.per_segment = self.by_curve(now_ms, cwnd);
        }
        let window = (u64::from(cwnd) * WINDOWS_PER_SEGMENT) >> 3;
        while self.reno_acked > window {
            self.reno_acked -= window;
            self.reno_cwnd += 1;
        }
        if self.reno_cwnd > cwnd {
            self.per_segment = self.per_segment.min(cwnd / (self.reno_cwnd - cwnd));
        }
        self.per_segment = self.per_segment.max(LEAST);
    }

    /// Begins a stage of congestion avoidance (RFC 9438, section 4.2, equation 2).
    fn begin(&mut self, now: Time, cwnd: u32, acked: u32) {
        self.epoch_start = now;
        self.reno_acked = u64::from(acked);
        self.reno_cwnd = cwnd;
        let below = self.w_max.saturating_sub(cwnd);
        self.origin = cwnd + below;
        self.k = if below == 0 { 0 } else { cube_root(CUBE_PER_SEGMENT * u64::from(below)) };
    }

    /// Milliseconds on the kernel's clock (jiffies at HZ = 1000).
    fn ms(&self, at: Time) -> u64 {
        self.clock.micros(at) / 1000
    }

    /// Segments to be acknowledged per segment of growth, by the curve one round trip ahead (RFC 9438, section 4.2,
    /// equation 1, and section 4.4).
    fn by_curve(&self, now_ms: u64, cwnd: u32) -> u32 {
        let ms = now_ms.saturating_sub(self.ms(self.epoch_start)) + self.min_rtt_us.div_ceil(1000);
        let t = (ms << TIME_BITS) / 1000;
        let distance = u128::from(t.abs_diff(self.k).min(1 << 24));
        let delta = ((u128::from(C) * distance * distance * distance) >> (10 + 3 * TIME_BITS)).min(1 << 30) as u32;
        let target = if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) };
        let per_segment = if target > cwnd { cwnd / (target - cwnd) } else { SLOW.saturating_mul(cwnd) };
        if self.w_max == 0 {
            per_segment.min(MOST_UNKNOWN)
        } else {
            per_segment
        }
    }

    /// Responds to congestion (RFC 9438, sections 4.6 and 4.7). Returns the new ssthresh in segments.
    pub fn on_congestion(&mut self, cfg: &TcpConfig, cwnd: u32) -> u32 {
        self.epoch_start = Time::MAX;
        self.credit = 0;
        let faster = cfg.window_law.converges_fast() && cwnd < self.w_max;
        self.w_max = if faster { (u64::from(cwnd) * (ONE + BETA) / (2 * ONE)) as u32 } else { cwnd };
        ((u64::from(cwnd) * BETA / ONE) as u32).max(2)
    }
}

impl LossLaw for CubicLinux {
    const NEEDS: Needs = Needs { plain_feedback: true, ..Needs::PLAIN };

    fn on_feedback(&mut self, ack: &Acked<'_>, windows: &mut Windows) {
        let Some(rtt) = ack.plain.rtt else { return };
        if self.on_rtt(&ack.plain, rtt, windows.cwnd, windows.in_slow_start()) {
            windows.ssthresh = windows.cwnd;
        }
    }

    fn avoid(&mut self, growth: &Growth, cwnd: u32) -> u32 {
        self.open(growth.now, cwnd, growth.bytes, growth.mss)
    }

    fn reduce(&mut self, cut: &Cut<'_>, cwnd: u32) -> u32 {
        self.on_congestion(cut.cfg, cwnd / cut.mss).saturating_mul(cut.mss)
    }

    /// Resets the state, so that HyStart may also end the slow start after the timeout.
    fn on_timeout(&mut self, cfg: &TcpConfig) {
        *self = CubicLinux::new(cfg);
    }

    /// Moves the start of the stage forward by the idle time, so that the curve does not advance during that time.
    fn on_pause(&mut self, pause: Pause) {
        if let Pause::Resume { now, idle } = pause {
            if !self.epoch_start.is_never() {
                self.epoch_start = (self.epoch_start + idle).min(now);
            }
        }
    }
}

/// Approximate cube roots of 0 to 63, in 64ths and less 10 (the values of `cubic_root`, some of which were adjusted by
/// hand there).
#[rustfmt::skip]
const ROOTS: [u8; 64] = [
      0,  54,  54,  54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156,
    157, 161, 164, 168, 170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199,
    200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229,
    231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// The kernel's integer cube root of a value of at least 64 (`cubic_root`): a root from the table, and one step of
/// Newton's method, which leaves an error of 0.2 % on average. The plateau is early or late by as much.
fn cube_root(value: u64) -> u64 {
    let bits = value.ilog2() + 1;
    let thirds = ((bits * 84) >> 8) - 1; // a third of the bits, less one: what remains of the value fits the table
    let first = ((u64::from(ROOTS[(value >> (3 * thirds)) as usize]) + 10) << thirds) >> 6;
    let next = 2 * first + value / (first * (first - 1));
    (next * 341) >> 10
}

#[cfg(test)]
mod tests;
