//! SACK as in the one-way agents of 1998 (Fall and Floyd 1996, section 3; ns-2's Sack1): a counter of segments in the
//! pipe instead of RFC 6675's `SetPipe`. In an episode, each duplicate ACK decreases the counter by one, each partial
//! ACK by two, and each segment sent increases it by one.

use crate::config::RecoveryRules::Ns2_1998;
use crate::congestion::AckReport;
use crate::in_order::{InOrder, Wait};
use crate::recovery::{begins, cumulative_room, cut, next_cumulative, Algorithm, Outcome, Transmission, View, ViewRef};
use crate::send_state::{Piece, Room};

#[derive(Clone, Debug, Default)]
pub(crate) struct Sack1998 {
    active: bool,
    /// Whether no new data has been acknowledged since the last timeout; if so, duplicate ACKs do not count.
    timed_out: bool,
    /// Whether the last ACK began an episode. If so, only the first segment is sent in response to it.
    hold: bool,
    /// Segments in the pipe; may be negative.
    pipe: i32,
    /// Highest position sent when the episode began or the timer expired; 0 if the last episode has ended since.
    recover: u64,
    /// One past the highest position retransmitted in this episode.
    high_rxt: u64,
}

impl Algorithm for Sack1998 {
    fn on_dup_ack(&mut self, v: &mut View<'_>, _: &AckReport, reported: u64) -> Outcome {
        self.hold = false;
        if self.active {
            self.pipe -= 1;
            return Outcome::NOTHING;
        }
        if self.timed_out || reported == 0 {
            v.s.dup_acks -= 1; // only duplicates that report something new count
            return Outcome::NOTHING;
        }
        if !begins(v, self.recover) {
            return Outcome::NOTHING;
        }
        let out = v.s.flight_size().div_ceil(u64::from(v.s.mss)) as i32;
        *self = Sack1998 {
            active: true,
            timed_out: false,
            hold: true,
            pipe: out.saturating_sub(v.cfg.dup_thresh as i32),
            recover: v.s.max - 1,
            high_rxt: v.s.una,
        };
        cut(v)
    }

    fn on_new_ack(&mut self, v: &mut View<'_>, _: &AckReport) -> Outcome {
        self.hold = false;
        if !self.active {
            v.s.dup_acks = 0;
            self.timed_out = false;
            return Outcome::GROW;
        }
        if v.s.una > self.recover {
            self.active = false;
            self.recover = 0;
            v.s.dup_acks = 0;
            v.flight.reported.clear();
            return Outcome::HOLD;
        }
        self.pipe -= 2; // permits two segments, so that recovery is never slower than slow start
        Outcome { clears_backoff: true, ..Outcome::HOLD }
    }

    fn on_timeout(&mut self, v: &mut View<'_>) {
        *self = Sack1998 { recover: v.s.max - 1, timed_out: true, ..Sack1998::default() };
        v.flight.reported.clear();
    }

    fn next(&mut self, v: &mut View<'_>, new: &InOrder<'_>) -> Result<Piece, Wait> {
        if !self.active {
            return next_cumulative(v, new, Ns2_1998);
        }
        if v.s.resend_first {
            return Ok(v.s.first(v.flight));
        }
        let room = self.room(&v.read()).ok_or(Wait::Recovery)?;
        let hole = v.s.hole_piece(v.flight, self.high_rxt.max(v.s.una));
        hole.map_or_else(|| new.next(v.s, v.flight, room), Ok)
    }

    fn on_sent(&mut self, _: &mut View<'_>, sent: &Transmission) {
        if !self.active {
            return;
        }
        if sent.again {
            self.high_rxt = self.high_rxt.max(sent.piece.start + u64::from(sent.piece.len));
        }
        self.pipe += i32::from(!self.hold);
    }

    fn room(&self, v: &ViewRef<'_>) -> Option<Room> {
        if self.active {
            let fits = i64::from(self.pipe) < (v.cc.cwnd() / u64::from(v.s.mss)) as i64;
            (!self.hold && fits).then(|| Room { window: v.cfg.max_window.bytes(v.s.mss), in_flight: v.s.flight() })
        } else {
            cumulative_room(v, Ns2_1998)
        }
    }

    fn in_recovery(&self) -> bool {
        self.active
    }

    fn is_calm(&self) -> bool {
        !self.active && !self.hold && !self.timed_out
    }

    fn waiting_bytes(&self, v: &ViewRef<'_>) -> Option<u64> {
        v.next_repair(self.high_rxt, u64::MAX).filter(|_| self.active)
    }
}
