//! Where RACK-TLP (RFC 8985) hooks in: it needs the times of events, and shares the retransmission timer.

use cwndlab_units::Time;

use super::Connection;
use crate::config::TcpConfig;
use crate::recovery::Recovery;
use crate::segment::Segment;
use crate::sender::Piece;
use crate::sequence::from_wire;
use crate::timers::Timer;

impl Connection {
    /// Before an ACK and its blocks are learnt.
    #[inline]
    pub(super) fn begin_rack(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) {
        if let Recovery::Rack(rack) = &mut self.recovery {
            let dsack = if seg.sack.len > 0 { dsack(seg, self.iss, self.sender.una) } else { None };
            let echo = (self.agreed.timestamps && seg.has_timestamps && seg.ts_ecr != 0).then_some(seg.ts_ecr);
            rack.begin_ack(cfg, &self.sender, now, dsack, echo);
        }
    }

    /// After an ACK; `old` if it lies below SND.UNA.
    #[inline]
    pub(super) fn end_rack(&mut self, cfg: &TcpConfig, now: Time, old: bool) {
        if matches!(self.recovery, Recovery::Rack(_)) {
            self.finish_rack(cfg, now, old);
        }
    }

    #[inline(never)]
    fn finish_rack(&mut self, cfg: &TcpConfig, now: Time, old: bool) {
        let Recovery::Rack(rack) = &mut self.recovery else { return };
        if rack.end_ack(cfg, &mut self.sender) {
            self.stats.fast_retransmits += 1;
            self.timers.set(Timer::Retransmit, cfg.expiry(now, self.sender.rtt.rto(&cfg.rto)));
        }
        rack.arm(cfg, &self.sender, &mut self.timers);
        if let Some(delivered) = rack.opens_by_report(cfg).filter(|_| !old) {
            self.sender.grow(cfg, now, (delivered, delivered), None);
        }
    }

    /// `piece` went, up to `end` with its FIN.
    #[inline]
    pub(super) fn note_sent(&mut self, cfg: &TcpConfig, now: Time, piece: Piece, end: u64, again: bool) {
        if let Recovery::Rack(rack) = &mut self.recovery {
            rack.on_sent(cfg, &self.sender, now, piece, (end, !again));
            rack.arm(cfg, &self.sender, &mut self.timers);
        }
    }

    /// The retransmission timer's place has expired: whether that was RACK's or a probe's.
    pub(super) fn rack_expiry(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        let Recovery::Rack(rack) = &mut self.recovery else { return false };
        if !self.was_established || !rack.on_expiry(cfg, &mut self.sender, now) {
            return false;
        }
        rack.rearm(cfg, &self.sender, &mut self.timers);
        if rack.take_began() {
            self.stats.fast_retransmits += 1;
            self.timers.set(Timer::Retransmit, cfg.expiry(now, self.sender.rtt.rto(&cfg.rto)));
            rack.arm(cfg, &self.sender, &mut self.timers);
        }
        true
    }

    /// A retransmission timeout: whether RACK has reduced the window for this flight already.
    pub(super) fn doubt_timeout(&mut self, cfg: &TcpConfig) -> bool {
        let Recovery::Rack(rack) = &mut self.recovery else { return false };
        rack.doubt_timeout(cfg, &self.sender, self.retries)
    }

    /// A retransmission timeout has been set.
    pub(super) fn arm_rack(&mut self, cfg: &TcpConfig, now: Time) {
        if let Recovery::Rack(rack) = &mut self.recovery {
            rack.timed_out(cfg, &self.sender, now);
            rack.arm(cfg, &self.sender, &mut self.timers);
        }
    }
}

/// What arrived twice. RFC 2883, section 4: the first block, if it lies below the ACK or within the second.
fn dsack(seg: &Segment, iss: u32, una: u64) -> Option<(u64, u64)> {
    let at = |wire: u32| from_wire(iss, wire, una);
    let first = seg.sack.as_slice().first()?;
    let within =
        seg.sack.as_slice().get(1).is_some_and(|second| at(first.0) >= at(second.0) && at(first.1) <= at(second.1));
    let known = within || at(first.1) <= at(seg.ack);
    (known && at(first.0) > 0 && at(first.0) < at(first.1)).then(|| (at(first.0) as u64, at(first.1) as u64))
}
