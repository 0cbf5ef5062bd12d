//! Where RACK-TLP (RFC 8985) hooks in: it needs the times of events, and shares the retransmission timer.

use cwndlab_units::Time;

use super::Connection;
use crate::config::TcpConfig;
use crate::recovery::{Expiry, Recovery};
use crate::segment::Segment;
use crate::sender::Piece;
use crate::sequence::from_wire;
use crate::timers::Timer;

impl Connection {
    /// `piece` went, up to `end` with its FIN, on a connection that records single segments.
    #[inline(never)]
    pub(super) fn record_sent(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        piece: Piece,
        end: u64,
        again: bool,
        was_quiet: bool,
    ) {
        self.sender.outstanding.on_sent(piece.start, end, now, was_quiet);
        if let Recovery::Rack(rack) = &mut self.recovery {
            rack.on_sent(cfg, &self.sender, now, piece, (end, !again, was_quiet));
            rack.arm(cfg, &self.sender, &mut self.timers);
        } else {
            self.time_first(cfg, now);
        }
    }

    /// The same of a full segment of new data, where the timer runs and the window alone decides what goes.
    #[inline(never)]
    pub(super) fn record_next(&mut self, cfg: &TcpConfig, now: Time, piece: Piece, end: u64) {
        let s = &mut self.sender;
        if let Recovery::Rack(rack) = &mut self.recovery {
            if s.outstanding.on_next_sent(piece.start, end, now) {
                return rack.on_next_sent(cfg, s, now, piece, &mut self.timers);
            }
        } else if self.keeps_timer(cfg, now) && self.sender.outstanding.on_next_sent(piece.start, end, now) {
            return;
        }
        self.record_sent(cfg, now, piece, end, false, false);
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

    /// The retransmission timer's place has expired: whether that was RACK's or a probe's.
    pub(super) fn rack_expiry(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        let Recovery::Rack(rack) = &mut self.recovery else { return false };
        let expiry = if self.was_established { rack.on_expiry(cfg, &mut self.sender, now) } else { Expiry::Timeout };
        if expiry == Expiry::Timeout {
            return false;
        }
        rack.rearm(cfg, &self.sender, &mut self.timers);
        if self.sender.extra.is_some() {
            self.report_lost(now);
        }
        let Recovery::Rack(rack) = &mut self.recovery else { return true };
        if expiry == Expiry::Began {
            self.stats.fast_retransmits += 1;
            self.timers.set(Timer::Retransmit, cfg.expiry(now, self.sender.rtt.rto(&cfg.rto)));
            rack.arm(cfg, &self.sender, &mut self.timers);
        }
        true
    }

    /// A retransmission timeout: whether RACK has reduced the window for this flight already.
    pub(super) fn prepare_timeout(&mut self, cfg: &TcpConfig) -> bool {
        let Recovery::Rack(rack) = &mut self.recovery else { return false };
        rack.prepare_timeout(cfg, &self.sender, self.retries)
    }

    /// A retransmission timeout has been set.
    pub(super) fn note_timeout(&mut self, cfg: &TcpConfig, now: Time) {
        if let Recovery::Rack(rack) = &mut self.recovery {
            rack.timed_out(cfg, &self.sender, now);
            rack.arm(cfg, &self.sender, &mut self.timers);
        }
        if self.sender.extra.is_some() {
            self.report_lost(now);
        }
    }

    /// An ACK has been processed: re-arms the timer.
    #[inline]
    pub(super) fn arm_rack(&mut self, cfg: &TcpConfig) {
        if let Recovery::Rack(rack) = &mut self.recovery {
            rack.arm(cfg, &self.sender, &mut self.timers);
        }
    }
}

/// What arrived twice. RFC 2883, section 4: the first block, if it lies below the ACK or within the second.
pub(super) fn dsack(seg: &Segment, iss: u32, una: u64) -> Option<(u64, u64)> {
    let at = |wire: u32| from_wire(iss, wire, una);
    let first = seg.sack.as_slice().first()?;
    let within =
        seg.sack.as_slice().get(1).is_some_and(|second| at(first.0) >= at(second.0) && at(first.1) <= at(second.1));
    let known = within || at(first.1) <= at(seg.ack);
    (known && at(first.0) > 0 && at(first.0) < at(first.1)).then(|| (at(first.0) as u64, at(first.1) as u64))
}
