//! The retransmission timer. This module alone sets and stops it. It runs for one [`Reason`] at a time.

use cwndlab_units::Time;

use crate::config::TcpConfig;

/// What the retransmission timer runs for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// The retransmission timeout (RFC 6298), including that of SYN and FIN.
    Rto,
    /// The window probe (RFC 9293, section 3.8.6.1).
    Persist,
    /// RACK's reordering timer (RFC 8985, section 6.2).
    Reordering,
    /// The tail loss probe (RFC 8985, section 7.2).
    Probe,
    /// The end of TIME-WAIT (RFC 9293, section 3.6.1), in which nothing is retransmitted.
    TimeWait,
}

/// When the timer expires, and why it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RetransmissionTimer {
    at: Time,
    reason: Reason,
}

impl RetransmissionTimer {
    pub const STOPPED: RetransmissionTimer = RetransmissionTimer { at: Time::MAX, reason: Reason::Rto };

    /// When it expires; [`Time::MAX`] if it is not running.
    #[inline]
    pub fn at(self) -> Time {
        self.at
    }

    #[inline]
    pub fn reason(self) -> Reason {
        self.reason
    }

    #[inline]
    pub fn is_running(self) -> bool {
        !self.at.is_never()
    }

    #[inline]
    pub fn stop(&mut self) {
        *self = Self::STOPPED;
    }

    /// Lets the timer expire at a time that was computed before.
    #[inline]
    pub fn expire_at(&mut self, reason: Reason, at: Time) {
        *self = RetransmissionTimer { at, reason };
    }

    /// Sets the timer to `wait` from now.
    #[inline]
    pub fn set(&mut self, cfg: &TcpConfig, now: Time, reason: Reason, wait: Time) {
        self.expire_at(reason, cfg.expiry(now, wait));
    }

    /// Postpones the timer, which keeps its reason.
    #[inline]
    pub fn postpone(&mut self, by: Time) {
        self.at += by;
    }

    /// Sets the timer of a Linux sender again (`inet_csk_reset_xmit_timer`), which keeps its place among the timers of
    /// the wheel if it can.
    #[inline]
    pub fn reset(&mut self, cfg: &TcpConfig, now: Time, reason: Reason, wait: Time) {
        self.expire_at(reason, cfg.expiry_again(self.at, now, wait));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_postponed_timer_expires_later_for_its_reason() {
        let mut timer = RetransmissionTimer::STOPPED;
        timer.expire_at(Reason::Probe, Time::from_millis(30));
        timer.postpone(Time::from_millis(12));
        assert_eq!((timer.at(), timer.reason()), (Time::from_millis(42), Reason::Probe));
    }
}
