//! Retransmission timeout: RFC 6298, the estimators of Linux (2.0, 2.2, and the current one), and the coarse-tick
//! integer estimator of BSD and ns-2.
//!
//! Internal units depend on the configuration: nanoseconds for RFC 6298, microseconds for Linux, and ticks with
//! [`RtoConfig::tick_ns`]. Ticks are in fixed point as in Jacobson's appendix of 1988: srtt with 3 bits right of the
//! binary point, rttvar with 2.

use crate::clock::Clock;
use crate::config::{Estimator, RtoConfig};
use cwndlab_units::Time;

/// The minimum RTO with which data transmission begins if the SYN was lost and nothing has been measured (RFC 6298,
/// 5.7).
const AFTER_LOST_SYN: Time = Time::from_secs(3);
/// Bits right of the binary point in the coarse srtt and rttvar.
const SRTT_BITS: u32 = 3;
const RTTVAR_BITS: u32 = 2;
/// Maximum backoff shift of BSD and ns-2.
const MAX_COARSE_SHIFT: u8 = 6;
/// Beyond this shift BSD (and ns-2) reset srtt, because the path has probably changed.
const FORGET_SHIFT: u8 = 3;
/// Larger shifts have no effect: the timeout reaches `max_ns` long before.
const MAX_SHIFT: u8 = 32;
/// Unit of Linux's estimator, ns.
const MICROSECOND: u64 = 1_000;

/// Round-trip estimator and retransmission timeout of one connection.
///
/// Call [`RttEstimator::on_sample`] with measurements that obey Karn's rule (RFC 6298, section 3: never from a
/// retransmitted segment, unless timestamps show which copy was acknowledged).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RttEstimator {
    /// The smoothed round trip in the estimator's own unit: ns, us << 3 or ticks << 3; 0 before the first measurement.
    /// Linux: the upper 32 bits hold the largest mean deviation in the current round trip. [`RttEstimator::srtt`]
    /// returns the smoothed round trip as a time.
    raw_srtt: u64,
    /// The variation of the round trip: ns, us << 2 or ticks << 2. Linux: the upper 32 bits hold the mean deviation, us
    /// << 2.
    raw_rttvar: u64,
    /// RTO before backoff and limits. It is stored because every ACK uses it, but only RTT samples change it.
    base: Time,
    min_rtt: Time,
    /// Linux: the current round trip ends once more than this is acknowledged (low 32 bits of the position). Linux 2.0
    /// and 2.2: cwnd in segments.
    round_end: u32,
    /// Binary exponential backoff: RTO * 2^shift.
    shift: u8,
}

impl RttEstimator {
    /// Returns the state before the first measurement (RFC 6298, 2.1).
    pub fn new(cfg: &RtoConfig) -> Self {
        RttEstimator { raw_srtt: 0, raw_rttvar: 0, base: cfg.initial_ns, min_rtt: Time::MAX, round_end: 0, shift: 0 }
    }

    /// Updates the estimate with a valid measurement `rtt` that ended at `now`. (The estimator with coarse ticks needs
    /// the time, because BSD counts ticks of a clock and does not round intervals.) Data up to `una` is acknowledged,
    /// and data up to `max` has been sent; Linux uses these positions to count round trips. Does not end a backoff: see
    /// [`RttEstimator::clear_backoff`].
    #[inline]
    pub fn on_sample(&mut self, cfg: &RtoConfig, now: Time, rtt: Time, (una, max): (u64, u64)) {
        self.min_rtt = self.min_rtt.min(rtt);
        if cfg.estimator == Estimator::Linux {
            let us = rtt.as_nanos() / MICROSECOND;
            self.sample_linux(cfg, us.clamp(1, 1 << 28) as u32, una as u32, max as u32);
        } else if cfg.estimator.is_linux_2() {
            self.sample_linux_2(cfg, ticks(cfg, now, rtt));
        } else if cfg.tick_ns == Time::ZERO {
            self.sample_rfc6298(cfg, rtt.as_nanos());
        } else {
            self.sample_coarse(cfg.tick_ns.as_nanos(), ticks(cfg, now, rtt));
        }
    }

    fn sample_rfc6298(&mut self, cfg: &RtoConfig, rtt: u64) {
        if self.raw_srtt == 0 {
            // RFC 6298, 2.2: SRTT <- R, RTTVAR <- R/2
            self.raw_srtt = rtt.max(1);
            self.raw_rttvar = rtt / 2;
        } else {
            // RFC 6298, 2.3 with alpha = 1/8, beta = 1/4; RTTVAR first, with the old SRTT.
            let deviation = self.raw_srtt.abs_diff(rtt);
            self.raw_rttvar = self.raw_rttvar - self.raw_rttvar / 4 + deviation / 4;
            self.raw_srtt = (self.raw_srtt - self.raw_srtt / 8 + rtt / 8).max(1);
        }
        // RTO <- SRTT + max(G, K*RTTVAR), K = 4
        self.base = Time::from_nanos(self.raw_srtt + (4 * self.raw_rttvar).max(cfg.variance_floor_ns.as_nanos()));
    }

    /// The kernel's `tcp_rtt_estimator`. A round trip that is shorter than expected increases the mean deviation by a
    /// 32nd of the excess, instead of a quarter. The timeout follows the maximum deviation within a round trip: upwards
    /// at once, downwards by a quarter of the difference per round trip.
    fn sample_linux(&mut self, cfg: &RtoConfig, rtt: u32, una: u32, max: u32) {
        let least = (cfg.variance_floor_ns.as_nanos() / MICROSECOND).min(u64::from(u32::MAX)) as u32;
        let ([mut srtt, mut mdev_max], [mut rttvar, mut mdev]) = (halves(self.raw_srtt), halves(self.raw_rttvar));
        if srtt == 0 {
            (srtt, mdev) = (rtt << SRTT_BITS, rtt << 1);
            rttvar = mdev.max(least);
            (mdev_max, self.round_end) = (rttvar, max);
        } else {
            let error = i64::from(rtt) - i64::from(srtt >> SRTT_BITS);
            srtt = (i64::from(srtt) + error).max(1) as u32;
            let mut excess = error.abs() - i64::from(mdev >> RTTVAR_BITS);
            if error < 0 && excess > 0 {
                excess >>= 3;
            }
            mdev = (i64::from(mdev) + excess) as u32;
            if mdev > mdev_max {
                mdev_max = mdev;
                rttvar = rttvar.max(mdev_max);
            }
            if una.wrapping_sub(self.round_end) as i32 > 0 {
                rttvar -= rttvar.saturating_sub(mdev_max) >> 2;
                (mdev_max, self.round_end) = (least, max);
            }
        }
        self.raw_srtt = u64::from(srtt) | u64::from(mdev_max) << 32;
        self.raw_rttvar = u64::from(rttvar) | u64::from(mdev) << 32;
        let us = u64::from(srtt >> SRTT_BITS) + u64::from(rttvar);
        let us = match cfg.timer_hz {
            0 => us,
            hz => us.next_multiple_of((1_000_000 / u64::from(hz)).max(1)),
        };
        self.base = Time::from_nanos(us * MICROSECOND);
    }

    /// Linux 2.0.32, `tcp_rtt_estimator` (`tcp_input.c` 111 to 155), and 2.2.5, `tcp_rtt_estimator` and `tcp_set_rto`
    /// (`tcp_input.c` 154 to 191): the timeout is increased by a quarter for bursts, and at small windows by a further
    /// term for one late packet.
    fn sample_linux_2(&mut self, cfg: &RtoConfig, rtt: i64) {
        if self.raw_srtt == 0 {
            self.raw_srtt = (rtt << SRTT_BITS) as u64;
            let deviation_bits = if cfg.estimator == Estimator::Linux2_0 { 1 } else { 2 };
            self.raw_rttvar = (rtt << deviation_bits) as u64;
        } else {
            let error = rtt - (self.raw_srtt >> SRTT_BITS) as i64;
            self.raw_srtt = (self.raw_srtt as i64 + error).max(1) as u64;
            let excess = error.abs() - (self.raw_rttvar >> RTTVAR_BITS) as i64;
            self.raw_rttvar = (self.raw_rttvar as i64 + excess).max(0) as u64;
        }
        let sum = (self.raw_srtt >> SRTT_BITS) + self.raw_rttvar;
        // The kernel shifts by cwnd - 1; an x86 processor takes the shift count modulo 32.
        let ticks = sum + (sum >> 2) + (sum >> (self.round_end.saturating_sub(1) & 31));
        self.base = cfg.tick_ns * ticks;
    }

    /// Sets cwnd in segments, which affects the timeout of Linux 2.0 and 2.2 from the next measurement on.
    #[inline]
    pub fn note_window(&mut self, cfg: &RtoConfig, segments: u64) {
        if cfg.estimator.is_linux_2() {
            self.round_end = segments.min(u64::from(u32::MAX)) as u32;
        }
    }

    fn sample_coarse(&mut self, tick: u64, rtt: i64) {
        // Jacobson 1988, appendix A: the integers may not reach zero, which would mean that there is no estimate.
        if self.raw_srtt == 0 {
            self.raw_srtt = (rtt << SRTT_BITS) as u64;
            self.raw_rttvar = (rtt << (RTTVAR_BITS - 1)) as u64;
        } else {
            let deviation = rtt - (self.raw_srtt >> SRTT_BITS) as i64;
            self.raw_srtt = (self.raw_srtt as i64 + deviation).max(1) as u64;
            let excess = deviation.abs() - (self.raw_rttvar >> RTTVAR_BITS) as i64;
            self.raw_rttvar = (self.raw_rttvar as i64 + excess).max(1) as u64;
        }
        // srtt + 4*rttvar, whole ticks: (8*srtt + 2*4*(4*rttvar)) >> 3
        let ticks = (self.raw_srtt + (self.raw_rttvar << (2 + SRTT_BITS - RTTVAR_BITS))) >> SRTT_BITS;
        self.base = Time::from_nanos(ticks * tick);
    }

    /// Returns the current timeout, with limits and backoff.
    #[inline]
    pub fn rto(&self, cfg: &RtoConfig) -> Time {
        let floor = if cfg.tick_ns == Time::ZERO {
            cfg.min_ns // RFC 6298, 2.4
        } else {
            cfg.min_ns.max(cfg.tick_ns * 2) // an interval of one tick may be arbitrarily short
        };
        // The minimum is applied before the backoff (RFC 6298, 2.4 then 5.5), the maximum after it (2.5).
        (self.base.max(floor) * (1_u64 << self.shift)).min(cfg.max_ns)
    }

    /// A bound below which [`Self::rto`] never is. It takes fewer steps.
    #[inline]
    pub fn least_rto(cfg: &RtoConfig) -> Time {
        cfg.min_ns.min(cfg.max_ns)
    }

    /// Doubles the timeout, because the timer has expired (RFC 6298, 5.5).
    pub fn backoff(&mut self, cfg: &RtoConfig) {
        if cfg.tick_ns == Time::ZERO || cfg.estimator.is_linux_2() {
            self.shift = (self.shift + 1).min(MAX_SHIFT);
            return;
        }
        self.shift = (self.shift + 1).min(MAX_COARSE_SHIFT);
        if self.shift > FORGET_SHIFT {
            self.raw_rttvar += self.raw_srtt >> SRTT_BITS;
            self.raw_srtt = 0;
        }
    }

    /// Ends the backoff. The caller does this at the next valid sample, as RFC 6298, section 5, requires (Karn), or at
    /// every ACK of new data, as in Linux.
    #[inline]
    pub fn clear_backoff(&mut self) {
        self.shift = 0;
    }

    /// Number of times that the timeout has been doubled.
    pub fn backoffs(&self) -> u32 {
        u32::from(self.shift)
    }

    /// Sets the timeout after a handshake whose SYN or SYN-ACK had to be retransmitted (RFC 6298, 5.7), and ends the
    /// backoff.
    pub fn after_lost_syn(&mut self) {
        if self.raw_srtt == 0 {
            self.base = self.base.max(AFTER_LOST_SYN);
        }
        self.shift = 0;
    }

    /// Smoothed round-trip time, or zero before the first measurement.
    #[inline]
    pub fn srtt(&self, cfg: &RtoConfig) -> Time {
        scaled(cfg, self.raw_srtt, SRTT_BITS)
    }

    /// Round-trip time variation (RFC 6298's RTTVAR), or zero before the first measurement.
    #[inline]
    pub fn rttvar(&self, cfg: &RtoConfig) -> Time {
        scaled(cfg, self.raw_rttvar, RTTVAR_BITS)
    }

    /// Records an RTT sample for the minimum RTT only.
    #[inline]
    pub fn note_least(&mut self, rtt: Time) {
        self.min_rtt = self.min_rtt.min(rtt);
    }

    /// Replaces the minimum RTT.
    pub fn set_min_rtt(&mut self, rtt: Time) {
        self.min_rtt = rtt;
    }

    /// Smallest measurement so far, or the one set last; [`Time::MAX`] before the first.
    #[inline]
    pub fn min_rtt(&self) -> Time {
        self.min_rtt
    }
}

/// Returns the number of ticks of the clock in a round trip that ended at `now`, at least one.
fn ticks(cfg: &RtoConfig, now: Time, rtt: Time) -> i64 {
    let clock = |at: Time| Clock::of(cfg).at(at).as_nanos() / cfg.tick_ns.as_nanos();
    (clock(now) - clock(now.saturating_sub(rtt))).max(1) as i64
}

/// The lower and the upper 32 bits.
fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

fn scaled(cfg: &RtoConfig, value: u64, bits: u32) -> Time {
    match cfg.estimator {
        Estimator::Linux => Time::from_nanos((u64::from(halves(value)[0]) * MICROSECOND) >> bits),
        Estimator::Rfc6298 if cfg.tick_ns == Time::ZERO => Time::from_nanos(value),
        Estimator::Rfc6298 | Estimator::Linux2_0 | Estimator::Linux2_2 => cfg.tick_ns * (value >> bits),
    }
}

#[cfg(test)]
mod models;
#[cfg(test)]
mod tests;
