//! What RACK sends: first retransmissions, then new data, as far as the window or PRR's allowance permits.

use cwndlab_units::Time;

use super::{counted, Phase, Rack};
use crate::congestion::prr::PrrAck;
use crate::congestion::WindowChange;
use crate::flight::Flight;
use crate::in_order::{InOrder, Wait};
use crate::recovery::{Transmission, View, ViewRef};
use crate::send_state::{Piece, Room, SendState};

impl Rack {
    /// Returns the estimated bytes in the network. Without SACK, each duplicate ACK is a segment that has left it.
    #[inline]
    pub fn in_flight(&self, s: &SendState, flight: &Flight) -> u64 {
        let arrived = if self.by_duplicates { u64::from(s.dup_acks) * u64::from(s.mss) } else { 0 };
        flight.tally().pipe.saturating_sub(arrived)
    }

    /// Returns the change by which proportional rate reduction processes an ACK.
    pub(super) fn pipe(&self, v: &View<'_>, delivered: u64, safe: bool) -> WindowChange {
        let [pipe, delivered] = [self.in_flight(v.s, v.flight), delivered].map(|bytes| counted(v, bytes));
        WindowChange::Pipe(PrrAck { pipe, delivered, safe })
    }

    /// Returns the room for retransmissions, and the number of bytes by which the room for new data is smaller: if
    /// Limited Transmit is off and no episode is in progress, the bytes that SACK or duplicate ACKs have reported; otherwise 0.
    pub(super) fn account(&self, v: &ViewRef<'_>) -> (Room, u64) {
        let in_flight = self.in_flight(v.s, v.flight);
        // In Linux, cwnd also limits what may be sent when the reordering timer finds a loss between two ACKs.
        let shaped = matches!(self.phase, Phase::Recovery | Phase::Reduced) && !v.cfg.repairs_within_cwnd();
        let allowance = v.cc.allowance().filter(|_| shaped);
        let window = allowance.map_or_else(|| v.window(), |allowance| in_flight + u64::from(allowance));
        let all = v.cfg.limited_transmit || self.phase != Phase::Open;
        let uncounted = if all { 0 } else { v.flight.tally().pipe - in_flight + v.flight.reported.total() };
        (Room { window, in_flight }, uncounted)
    }

    pub fn next_piece(&mut self, v: &mut View<'_>, new: &InOrder<'_>) -> Result<Piece, Wait> {
        v.s.nxt = v.s.max;
        if self.probe_due {
            if let Some(piece) = self.probe(v) {
                return Ok(piece);
            }
        }
        let (room, uncounted) = self.account(&v.read());
        if self.new_only {
            let in_order = new.next(v.s, v.flight, room);
            if in_order.is_ok() || v.s.max > self.recover + 1 {
                return in_order;
            }
            self.new_only = false; // no new data may be sent: retransmit, and end F-RTO
            self.evidence.frto = false;
        }
        if let Some(sent) = v.flight.next_to_resend() {
            let piece = Piece { start: sent.start, len: (sent.end.min(v.s.end) - sent.start) as u32 };
            let fits = room.in_flight + u64::from(piece.len) <= room.window;
            return if fits { Ok(piece) } else { Err(Wait::Cwnd) };
        }
        new.next(v.s, v.flight, room.less(uncounted))
    }

    /// Does what [`Rack::note_sent`] would after a full segment of new data was sent, if the
    /// retransmission timer is running and only the window limits what is sent. Call it only if neither
    /// [`Rack::is_timed`] nor [`Rack::postpone_probe`] makes it unnecessary.
    #[inline(always)]
    pub fn on_next_sent(&mut self, v: &mut View<'_>, now: Time) {
        self.count_in_episode(v, u64::from(v.s.mss));
        if v.cfg.recovery.has_linux_timers() && self.probe_new_data(v, now) {
            return;
        }
        self.time_new_data(v, now, false);
        if !v.cfg.recovery.has_linux_timers() {
            self.arm_earliest(v.s);
        }
    }

    /// Returns the room for new data if that is next to be sent; `None` if a probe, a retransmission or F-RTO comes first.
    pub fn room_for_new(&self, v: &ViewRef<'_>) -> Option<Room> {
        if self.probe_due || self.new_only || v.flight.tally().waiting > 0 {
            return None;
        }
        let (room, uncounted) = self.account(v);
        Some(room.less(uncounted))
    }

    /// Counts sent bytes for proportional rate reduction, if an episode is in progress.
    #[inline]
    fn count_in_episode(&self, v: &mut View<'_>, bytes: u64) {
        if matches!(self.phase, Phase::Recovery | Phase::Reduced) {
            v.cc.count_sent(counted(v, bytes));
        }
    }

    pub fn note_sent(&mut self, v: &mut View<'_>, sent: &Transmission) {
        self.count_in_episode(v, u64::from(sent.piece.len));
        if sent.again && !self.probe_due {
            self.evidence.on_again(sent.now, (sent.end - sent.piece.start).div_ceil(u64::from(v.s.mss)) as u32);
        }
        self.set_timer_for(v, sent);
        if self.probe_due {
            self.probe_due = false;
            self.measured = false;
            self.probe_end = Some(v.s.max);
        }
    }
}
