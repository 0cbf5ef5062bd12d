//! The timers of an endpoint: an enum and a small table, no callbacks.

use cwndlab_units::Time;

/// Which timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// Retransmission (RFC 6298), of SYN and FIN too; while the window is zero, the persist timer (RFC 9293, 3.8.6.1).
    Retransmit = 0,
    /// Delayed acknowledgment (RFC 1122, 4.2.3.2).
    DelayedAck = 1,
    /// 2*MSL in TIME-WAIT (RFC 9293, 3.6.1); before, until the next train of a paced connection.
    Pause = 2,
}

/// When each timer expires; [`Time::MAX`] = not running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timers([Time; 3]);

impl Timers {
    pub const fn new() -> Self {
        Timers([Time::MAX; 3])
    }
    #[inline]
    pub fn set(&mut self, timer: Timer, at: Time) {
        self.0[timer as usize] = at;
    }
    #[inline]
    pub fn at(&self, timer: Timer) -> Time {
        self.0[timer as usize]
    }
    #[inline]
    pub fn stop(&mut self, timer: Timer) {
        self.0[timer as usize] = Time::MAX;
    }
    #[inline]
    pub fn is_running(&self, timer: Timer) -> bool {
        !self.0[timer as usize].is_never()
    }
    /// Whether the timer has expired at `now`; if so it is stopped.
    #[inline]
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
        self.0[0].min(self.0[1]).min(self.0[2])
    }
}
