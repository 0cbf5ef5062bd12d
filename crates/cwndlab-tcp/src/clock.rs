//! The clock of an endpoint, which counts from the boot of its host.

use cwndlab_units::Time;

use crate::config::RtoConfig;

/// A clock that is ahead of the run's ([`RtoConfig::tick_phase_ns`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Clock(Time);

impl Clock {
    pub fn of(rto: &RtoConfig) -> Self {
        Clock(rto.tick_phase_ns)
    }

    /// Returns the time by this clock.
    #[inline]
    pub fn at(self, at: Time) -> Time {
        at.plus(self.0)
    }

    /// Returns the time by this clock, in microseconds (Linux: `tcp_mstamp`).
    #[inline]
    pub fn micros(self, at: Time) -> u64 {
        self.at(at).as_nanos() / 1000
    }

    /// Returns the time by this clock in whole microseconds, of which Linux's measurements are differences.
    #[inline]
    pub fn whole(self, at: Time) -> Time {
        Time::from_micros(self.micros(at))
    }

    /// Returns the age of a timestamp in microseconds. It wraps after 71.6 minutes.
    #[inline]
    pub fn age(self, now: Time, stamp: u32) -> u64 {
        u64::from((self.micros(now) as u32).wrapping_sub(stamp))
    }

    /// Returns the time of a timestamp in milliseconds, which Linux's timestamps count.
    #[inline]
    pub fn stamped_ms(self, now: Time, stamp: u32) -> u64 {
        self.micros(now).saturating_sub(self.age(now, stamp)) / 1000
    }
}
