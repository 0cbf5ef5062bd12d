//! What RACK sends, and when: repairs first, as far as the window or PRR's allowance admits them.

use cwndlab_units::Time;

use super::timer::left_of_timeout;
use super::{Phase, Rack};
use crate::config::TcpConfig;
use crate::sender::{Piece, Room, Sender};
use crate::timers::{Timer, Timers};

impl Rack {
    /// The room for repairs, and what of it new data may not use.
    #[inline]
    fn account(&self, cfg: &TcpConfig, s: &Sender) -> (Room, u64) {
        let in_flight = s.outstanding.tally().pipe;
        let window = match self.phase {
            Phase::Recovery | Phase::Reduced if !s.cc.grant().owns_recovery => {
                in_flight + u64::from(self.window.send_count)
            }
            _ => s.window(cfg),
        };
        let uncounted =
            if cfg.limited_transmit || self.phase != Phase::Open { 0 } else { s.outstanding.reported_bytes() };
        (Room { window, in_flight }, uncounted)
    }

    /// See [`crate::recovery::Recovery::waiting_bytes`].
    pub fn waiting_bytes(&self, s: &Sender) -> Option<u64> {
        let waiting = s.outstanding.waiting().filter(|_| !self.new_only)?;
        Some(waiting.end.min(s.end) - waiting.start)
    }

    /// See [`crate::recovery::Recovery::room`].
    pub fn room(&self, cfg: &TcpConfig, s: &Sender) -> Room {
        let (room, uncounted) = self.account(cfg, s);
        let uncounted = if self.new_only || s.outstanding.waiting().is_some() { 0 } else { uncounted };
        room.less(uncounted)
    }

    #[inline(never)]
    pub fn next(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        s.nxt = s.max;
        if self.probe_due {
            if let Some(piece) = self.probe(s) {
                return Some(piece);
            }
        }
        let (room, uncounted) = self.account(cfg, s);
        if self.new_only {
            let piece = s.next_in_order(cfg, room);
            if piece.is_some() || s.max > self.recover + 1 {
                return piece;
            }
            self.new_only = false; // none may go: the conventional way
            self.evidence.frto = false;
        }
        if let Some(sent) = s.outstanding.next_waiting() {
            let piece = Piece { start: sent.start, len: (sent.end.min(s.end) - sent.start) as u32 };
            if room.in_flight + u64::from(piece.len) <= room.window {
                return Some(piece);
            }
            s.stopped_by_cwnd = true;
            return None;
        }
        s.next_in_order(cfg, room.less(uncounted))
    }

    /// A full segment of new data went, where the timer runs and the window alone decides what goes: does what
    /// [`Rack::on_sent`] and [`Rack::arm`] do of it.
    #[inline]
    pub fn on_next_sent(&mut self, cfg: &TcpConfig, s: &Sender, now: Time, piece: Piece, timers: &mut Timers) {
        if cfg.recovery.has_linux_timers() {
            let limit = left_of_timeout(cfg, s, now);
            if let Some(at) = self.schedule_probe(cfg, s, now, limit) {
                return timers.set(Timer::Retransmit, at);
            }
        }
        self.set_timer_for(cfg, s, now, piece, true, false);
        self.arm(cfg, s, timers);
    }

    /// `[piece.start, end)` went, data and FIN; it was `new` or sent before.
    pub fn on_sent(
        &mut self,
        cfg: &TcpConfig,
        s: &Sender,
        now: Time,
        piece: Piece,
        (end, new, was_quiet): (u64, bool, bool),
    ) {
        if matches!(self.phase, Phase::Recovery | Phase::Reduced) {
            self.window.on_sent(piece.len);
        }
        if !new && !self.probe_due {
            self.evidence.on_again(now, (end - piece.start).div_ceil(u64::from(s.mss)) as u32);
        }
        self.set_timer_for(cfg, s, now, piece, new, was_quiet);
        if self.probe_due {
            self.probe_due = false;
            self.measured = false;
            self.probe_end = s.max;
        }
    }
}
