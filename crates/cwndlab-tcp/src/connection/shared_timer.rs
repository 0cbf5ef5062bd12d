//! Timers of loss recovery that share the retransmission timer, and Linux 2's retransmission timer, which counts from
//! the sending of the first outstanding segment.

use cwndlab_units::Time;

use super::Connection;
use crate::config::TcpConfig;
use crate::recovery::{Expiry, Transmission};

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
        let Expiry::Other { began, changes } = self.recovery.on_expiry(&mut self.sender.view(cfg), now) else {
            return false;
        };
        self.sender.apply(cfg, now, &changes);
        self.share_timer(cfg);
        self.report_lost(now);
        if began {
            self.note_beginning(cfg, now);
            self.share_timer(cfg);
        }
        true
    }

    /// With the timers of RFC 8985, sets the shared timer to the earliest one after an event.
    #[inline]
    pub(super) fn share_timer(&mut self, cfg: &TcpConfig) {
        if let Some(rack) = self.recovery.rack().filter(|_| !cfg.recovery.has_linux_timers()) {
            rack.arm_earliest(&mut self.sender.snd);
        }
    }
}
