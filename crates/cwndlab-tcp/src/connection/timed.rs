//! The retransmission timer's place: timers of loss recovery that share it, and Linux 2's, which count from the first segment.

use cwndlab_units::Time;

use super::Connection;
use crate::config::TcpConfig;
use crate::recovery::{Expiry, Transmission};
use crate::sender::Piece;
use crate::timers::Timer;

impl Connection {
    /// A piece has gone, on a connection that records single segments.
    #[inline(never)]
    pub(super) fn record_sent(&mut self, cfg: &TcpConfig, sent: &Transmission) {
        self.sender.outstanding.on_sent(sent.piece.start, sent.end, sent.now, sent.was_quiet);
        self.recovery.on_sent(&mut self.sender.view(cfg), sent);
        self.share_timer(cfg);
        self.time_first(cfg, sent.now);
    }

    /// The same of a full segment of new data, where the timer runs and the window alone decides what goes.
    #[inline(never)]
    pub(super) fn record_next(&mut self, cfg: &TcpConfig, now: Time, piece: Piece, end: u64) {
        let sent = Transmission { now, piece, end, again: false, was_quiet: false };
        if let Some(rack) = self.recovery.rack() {
            if self.sender.outstanding.on_next_sent(piece.start, end, now) {
                return rack.on_next_sent(&mut self.sender.view(cfg), &sent, &mut self.timers);
            }
        } else if self.keeps_timer(cfg, now) && self.sender.outstanding.on_next_sent(piece.start, end, now) {
            return;
        }
        self.record_sent(cfg, &sent);
    }

    /// Whether [`Self::time_first`] would not change the timer: the first outstanding segment stays the same, and its time is not
    /// over, after which the timer would count from now.
    #[inline]
    fn keeps_timer(&self, cfg: &TcpConfig, now: Time) -> bool {
        let keeps =
            self.sender.outstanding.first().is_some() && self.timers.at(Timer::Retransmit) > now + cfg.rto.tick_ns * 2;
        debug_assert!(!keeps || self.first_expiry(cfg, now).is_none_or(|at| at == self.timers.at(Timer::Retransmit)));
        keeps
    }

    /// The retransmission timer's place has expired: whether that was another timer of loss recovery.
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
        if self.sender.extra.is_some() {
            self.report_lost(now);
        }
        if began {
            self.stats.fast_retransmits += 1;
            self.timers.set(Timer::Retransmit, cfg.expiry(now, self.sender.snd.rtt.rto(&cfg.rto)));
            self.share_timer(cfg);
        }
        true
    }

    /// Something has happened after which loss recovery may want its timers in the place of the retransmission timer.
    #[inline]
    pub(super) fn share_timer(&mut self, cfg: &TcpConfig) {
        self.recovery.share_timer(cfg, &self.sender.snd, &mut self.timers);
    }
}
