//! The timers of an endpoint: an enum and a small table, without callbacks. The retransmission timer is apart
//! ([`retransmit`]).

pub(crate) mod retransmit;

use cwndlab_units::Time;

use crate::clock::Clock;
use crate::config::TcpConfig;

/// A timer of an endpoint, other than the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// Delayed acknowledgment (RFC 1122, 4.2.3.2).
    DelayedAck,
    /// Until the pacer allows the next train of segments.
    Pacer,
}

/// When each timer expires; [`Time::MAX`] if it is not running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timers([Time; 2]);

impl Timers {
    pub const fn new() -> Self {
        Timers([Time::MAX; 2])
    }
    pub fn set(&mut self, timer: Timer, at: Time) {
        self.0[timer as usize] = at;
    }
    pub fn at(&self, timer: Timer) -> Time {
        self.0[timer as usize]
    }
    pub fn stop(&mut self, timer: Timer) {
        self.0[timer as usize] = Time::MAX;
    }
    pub fn is_running(&self, timer: Timer) -> bool {
        !self.0[timer as usize].is_never()
    }
    /// Whether the timer has expired at `now`. If so, it is stopped.
    pub fn take_expired(&mut self, timer: Timer, now: Time) -> bool {
        let expired = self.0[timer as usize] <= now;
        if expired {
            self.stop(timer);
        }
        expired
    }
    /// The earliest expiry.
    #[inline]
    pub fn next(&self) -> Time {
        self.0[0].min(self.0[1])
    }
}

/// Bits by which each level of the wheel is coarser than the one below.
const LEVEL_BITS: u32 = 3;
/// Slots that each level covers.
const LEVEL_SLOTS: u64 = 63;
/// Levels of the wheel.
const LEVELS: u32 = 9;
/// Within a tick, timers go off before this, for their order; and two expiries are of one slot if they differ by less
/// than half of it.
const LATEST_NS: u64 = 1000;

impl TcpConfig {
    /// Returns the timestamp clock in microseconds, like Linux with `tcp_usec_ts`. RFC 7323, section 5.4, recommends 1 ms
    /// to 1 s per tick.
    pub(crate) fn timestamp(&self, now: Time) -> u32 {
        self.clock().micros(now) as u32
    }

    /// Whether an echoed timestamp is from before `at`: in Linux, whose timestamps count milliseconds, from a
    /// millisecond before (`tcp_tsopt_ecr_before`).
    pub(crate) fn precedes(&self, echo: u32, at: Time) -> bool {
        let (at, unit) = (self.clock().micros(at), if self.echoes_milliseconds() { 1000 } else { 1 });
        let ahead = i64::from(echo.wrapping_sub(at as u32) as i32);
        at.saturating_add_signed(ahead) / unit < at / unit
    }

    /// Returns the round trip from an echoed timestamp. In Linux, timestamps count milliseconds, and the shortest round
    /// trip is one (`tcp_rtt_tsopt_us`).
    pub(crate) fn stamped_rtt(&self, now: Time, echoed: u32) -> Time {
        let clock = self.clock();
        if !self.echoes_milliseconds() {
            return Time::from_micros(clock.age(now, echoed));
        }
        Time::from_millis((clock.micros(now) / 1000).saturating_sub(clock.stamped_ms(now, echoed)).max(1))
    }

    /// Returns the time from `at` to `now`. Linux measures round trips and waiting times as differences of whole
    /// microseconds of its clock.
    #[inline]
    pub(crate) fn elapsed(&self, at: Time, now: Time) -> Time {
        if !self.counts_microseconds() {
            return now.saturating_sub(at);
        }
        let clock = self.clock();
        Time::from_micros(clock.micros(now).saturating_sub(clock.micros(at)))
    }

    /// The clock that counts the ticks of timers, and of which timestamps are.
    #[inline]
    pub(crate) fn clock(&self) -> Clock {
        Clock::of(&self.rto)
    }

    /// Whether timers go off at ticks of a clock.
    #[inline]
    pub(crate) fn goes_by_ticks(&self) -> bool {
        self.rto.timer_hz != 0 || self.rto.estimator.is_linux_2()
    }

    /// Returns the time at which a timer set at `now` for `wait` expires.
    #[inline]
    pub(crate) fn expiry(&self, now: Time, wait: Time) -> Time {
        if self.goes_by_ticks() && !wait.is_never() {
            self.expiry_by_clock(now, wait)
        } else {
            now + wait
        }
    }

    /// Returns the time at which a timer that was set to `at` expires. In Linux it keeps its place in its slot if it
    /// stays in this slot (`__mod_timer`).
    #[inline]
    pub(crate) fn expiry_again(&self, at: Time, now: Time, wait: Time) -> Time {
        let again = self.expiry(now, wait);
        if self.rto.timer_hz == 0 || at.as_nanos().abs_diff(again.as_nanos()) >= LATEST_NS / 2 {
            return again;
        }
        at
    }

    #[inline(never)]
    fn expiry_by_clock(&self, now: Time, wait: Time) -> Time {
        if self.rto.estimator.is_linux_2() {
            self.on_tick(now, wait)
        } else {
            self.on_wheel(now, wait)
        }
    }

    /// Returns the expiry of a timer of Linux 2.0 and 2.2 (kernel/sched.c), which counts whole ticks of the clock. A
    /// timer due now expires at the next tick.
    fn on_tick(&self, now: Time, wait: Time) -> Time {
        let tick = self.rto.tick_ns.as_nanos().max(1);
        let clock = self.clock().at(now).as_nanos() / tick;
        let ticks = (wait.as_nanos() / tick).max(1);
        Time::from_nanos((clock + ticks) * tick).saturating_sub(self.rto.tick_phase_ns)
    }

    /// Returns the expiry of a timer of Linux's wheel (kernel/time/timer.c, `calc_wheel_index`): whole ticks, rounded
    /// up to the next slot. Slots are coarser for later times.
    ///
    /// Of the timers of one tick, those of coarser slots go off first, and in a slot the one that was set last
    /// (`expire_timers` takes the newest from each list). So that they do here, they are up to 1 us late: each level has
    /// its part of it, in which a timer that was set earlier comes later. Most of a part is for the usual waits at 1000
    /// ticks per second: 40 ms, 0.2 s, and 1 s.
    fn on_wheel(&self, now: Time, wait: Time) -> Time {
        let tick = self.rto.timer_tick();
        let ns = self.clock().at(now).as_nanos();
        let (clock, ticks) = (ns / tick, wait.as_nanos().div_ceil(tick));
        // What a timer of this tick sets counts from the next one (`__run_timers`).
        let left = ticks - u64::from(ticks > 0 && ns % tick < LATEST_NS);
        let level = (0..LEVELS - 1).find(|level| left < LEVEL_SLOTS << (LEVEL_BITS * level)).unwrap_or(LEVELS - 1);
        let slot = ((clock + ticks) >> (LEVEL_BITS * level)) + 1;
        let at = Time::from_nanos((slot << (LEVEL_BITS * level)) * tick).saturating_sub(self.rto.tick_phase_ns);
        let since = at.saturating_sub(now).as_nanos();
        let order = match level {
            0 => place(since, tick, [(0, 750), (38, 800), (44, 920), (64, 950)]),
            1 => place(since, tick, [(63, 150), (200, 400), (264, 650), (512, 750)]),
            _ => place((since + 24 * tick) % (512 * tick), tick, [(0, 0), (8, 10), (96, 120), (512, 150)]),
        };
        at + Time::from_nanos(order)
    }
}

/// Returns the place, in ns, of a timer that was set `since` ns ago, by linear interpolation between points (in ticks).
fn place(since: u64, tick: u64, points: [(u64, u64); 4]) -> u64 {
    let next = points.iter().position(|point| since < point.0 * tick).unwrap_or(3).max(1);
    let (from, to) = (points[next - 1], points[next]);
    let share = since.clamp(from.0 * tick, to.0 * tick) - from.0 * tick;
    from.1 + (to.1 - from.1) * share / ((to.0 - from.0) * tick)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, RtoConfig};

    /// Computed by hand from the wheel's levels: slots of 1, 8, 64 and 512 ticks for waits below 63, 504, 4032 and
    /// 32,256 ticks.
    ///
    /// | hz | up ms | now ms | wait ms | tick it is due at | slot           | fires ms |
    /// |----|-------|--------|---------|-------------------|----------------|----------|
    /// | 1000 | 0 | 0 | 40 | 40 | 41 | 41 |
    /// | 1000 | 0 | 0.4 | 39.5 | 0 + 40 | 41 | 41 |
    /// | 1000 | 0 | 0 | 62 | 62 | 63 | 63 |
    /// | 1000 | 0 | 0 | 63 | 63 | (63 >> 3) + 1 = 8, of 8 ms | 64 |
    /// | 1000 | 0 | 10 | 200 | 210 | (210 >> 3) + 1 = 27 | 216 |
    /// | 1000 | 5 | 10 | 200 | 215 | (215 >> 3) + 1 = 27, less 5 | 211 |
    /// | 1000 | 0 | 0 | 1000 | 1000 | (1000 >> 6) + 1 = 16, of 64 ms | 1024 |
    /// | 1000 | 0 | 0 | 10000 | 10000 | (10000 >> 9) + 1 = 20, of 512 ms | 10240 |
    /// | 1000 | 40 | 0 | 504 | 544 | by a timer's handler: (544 >> 3) + 1 = 69, less 40 | 512 |
    /// | 1000 | 40 | 0.1 | 504 | 544 | (544 >> 6) + 1 = 9 of 64 ms, less 40 | 536 |
    /// | 250 | 0 | 0 | 200 | 50 | 51, of 4 ms | 204 |
    /// | 250 | 0 | 2 | 300 | 75 | (75 >> 3) + 1 = 10, of 32 ms | 320 |
    #[test]
    fn timers_fire_on_the_slots_of_the_wheel() {
        for (hz, up, now_us, wait_us, fires) in [
            (1000, 0, 0, 40_000, 41),
            (1000, 0, 400, 39_500, 41),
            (1000, 0, 0, 62_000, 63),
            (1000, 0, 0, 63_000, 64),
            (1000, 0, 10_000, 200_000, 216),
            (1000, 5, 10_000, 200_000, 211),
            (1000, 0, 0, 1_000_000, 1024),
            (1000, 0, 0, 10_000_000, 10_240),
            (1000, 40, 0, 504_000, 512),
            (1000, 40, 100, 504_000, 536),
            (250, 0, 0, 200_000, 204),
            (250, 0, 2_000, 300_000, 320),
        ] {
            let base = Profile::Linux6.config();
            let rto = RtoConfig { timer_hz: hz, tick_phase_ns: Time::from_millis(up), ..base.rto };
            let cfg = TcpConfig { rto, ..base };
            let at = cfg.expiry(Time::from_micros(now_us), Time::from_micros(wait_us));
            assert_eq!(at.as_nanos() / 1000, fires * 1000, "{hz} Hz, up {up} ms, at {now_us} us for {wait_us} us");
        }
    }

    #[test]
    fn an_echo_precedes_by_milliseconds_of_the_clock_in_linux_and_by_microseconds_otherwise() {
        let base = Profile::Linux6.config();
        let rto = RtoConfig { tick_phase_ns: Time::from_micros(400), ..base.rto };
        for (linux_details, same_ms, ms_before) in [(true, false, true), (false, true, true)] {
            let cfg = TcpConfig { linux_details, rto, ..base };
            let precedes =
                |sent_us, at_us| cfg.precedes(cfg.timestamp(Time::from_micros(sent_us)), Time::from_micros(at_us));
            assert_eq!((precedes(9_700, 10_500), precedes(9_500, 9_700)), (same_ms, ms_before));
            assert!(!precedes(9_700, 9_700));
        }
    }

    #[test]
    fn timers_of_a_tick_go_off_in_the_kernels_order() {
        let base = Profile::Linux6.config();
        let cfg = TcpConfig { rto: RtoConfig { timer_hz: 1000, ..base.rto }, ..base };
        let at = |now_us, wait_ms| cfg.expiry(Time::from_micros(now_us), Time::from_millis(wait_ms));
        // All of them in the tick at 1024 ms.
        let order =
            [at(20_000, 1000), at(16_000, 1000), at(800_000, 220), at(796_000, 220), at(983_900, 40), at(983_100, 40)];
        assert!(order.windows(2).all(|pair| pair[0] < pair[1]), "coarse slots first, the last set first: {order:?}");
        assert!(order.iter().all(|at| at.as_nanos() / 1000 == 1_024_000), "{order:?}");
    }

    #[test]
    fn without_a_clock_timers_fire_to_the_nanosecond() {
        let cfg =
            TcpConfig { rto: RtoConfig { timer_hz: 0, ..Profile::Linux6.config().rto }, ..Profile::Linux6.config() };
        assert_eq!(cfg.expiry(Time::from_nanos(3), Time::from_nanos(7)), Time::from_nanos(10));
        assert!(cfg.expiry(Time::ZERO, Time::MAX).is_never());
    }
}
