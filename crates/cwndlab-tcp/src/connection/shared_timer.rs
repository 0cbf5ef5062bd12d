//! Timers of loss recovery that share the retransmission timer, and Linux 2's retransmission timer, which counts from
//! the sending of the first outstanding segment.

use cwndlab_units::Time;

use super::Connection;
use crate::config::TcpConfig;
use crate::recovery::{Expiry, Transmission};
use crate::timers::Timer;

impl Connection {
    /// Records a piece that was sent; only for connections that keep a record of each segment.
    pub(super) fn record_sent(&mut self, cfg: &TcpConfig, sent: &Transmission) {
        self.sender.outstanding.on_sent(sent.piece.start, sent.end, sent.now, sent.was_quiet);
        self.recovery.on_sent(&mut self.sender.view(cfg), sent);
        self.share_timer(cfg);
        self.time_first(cfg, sent.now);
    }

    /// Handles an expiry of the retransmission timer if it ran as RACK's reordering timer or as the timer of the tail
    /// loss probe. Returns whether it did.
    pub(super) fn recovery_expiry(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        if !self.was_established {
            return false;
        }
        let Expiry::Other { began, steps, next } = self.recovery.on_expiry(&mut self.sender.view(cfg), now) else {
            return false;
        };
        self.sender.take_steps(cfg, &steps, &mut self.recovery);
        self.timers.set(Timer::Retransmit, next);
        self.share_timer(cfg);
        self.report_lost(now);
        if began {
            self.note_beginning(cfg, now);
            self.share_timer(cfg);
        }
        true
    }

    /// Lets loss recovery set the shared timer after an event.
    #[inline]
    pub(super) fn share_timer(&mut self, cfg: &TcpConfig) {
        self.recovery.share_timer(cfg, &self.sender.snd, &mut self.timers);
    }
}
