//! SACK as the one-way agents of 1998 have it (Fall and Floyd 1996, section 3; ns-2's Sack1): a counter of segments in the
//! pipe in place of RFC 6675's `SetPipe`. It goes down with every ACK of an episode, twice with a partial one, and up
//! with every segment sent.

use super::{begins, cut, reno_1998, Decision, GROW, HOLD};
use crate::config::TcpConfig;
use crate::sender::{Piece, Room, Sender};

#[derive(Clone, Debug, Default)]
pub(crate) struct Sack1998 {
    pub active: bool,
    /// Highest position sent when the episode began or the timer expired; 0 = none since the last episode ended.
    recover: u64,
    /// One past the highest position sent again in this episode.
    pub high_rxt: u64,
    /// Segments in the pipe; may go below zero.
    pipe: i32,
    /// No ACK of new data since the last timeout: duplicates mean nothing.
    pub timed_out: bool,
    /// The ACK that begins an episode releases the first segment and nothing else.
    pub hold: bool,
}

impl Sack1998 {
    pub fn on_dup_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, reported: u64) -> bool {
        self.hold = false;
        if self.active {
            self.pipe -= 1;
            return false;
        }
        if self.timed_out || reported == 0 {
            s.dup_acks -= 1; // only what reports something new counts
            return false;
        }
        if !begins(cfg, s, self.recover) {
            return false;
        }
        self.active = true;
        self.hold = true;
        self.recover = s.max - 1;
        self.high_rxt = s.una;
        self.pipe = ((s.max - s.una).div_ceil(u64::from(s.mss)) as i32).saturating_sub(cfg.dup_thresh as i32);
        cut(cfg, s);
        true
    }

    #[inline]
    pub fn on_new_ack(&mut self, s: &mut Sender) -> Decision {
        self.hold = false;
        if !self.active {
            s.dup_acks = 0;
            self.timed_out = false;
            return GROW;
        }
        if s.una > self.recover {
            self.active = false;
            self.recover = 0;
            s.dup_acks = 0;
            s.outstanding.forget_reports();
        } else {
            self.pipe -= 2; // so as never to do worse than slow start
            s.rtt.clear_backoff();
        }
        HOLD
    }

    pub fn on_timeout(&mut self, s: &mut Sender) {
        *self = Sack1998 { recover: s.max - 1, timed_out: true, ..Sack1998::default() };
        s.outstanding.forget_reports();
    }

    fn has_room(&self, s: &Sender) -> bool {
        !self.hold && i64::from(self.pipe) < (s.cc.cwnd() / u64::from(s.mss)) as i64
    }

    /// See [`super::Recovery::room`].
    pub fn room(&self, cfg: &TcpConfig, s: &Sender) -> Option<Room> {
        if self.active {
            self.has_room(s).then(|| Room { window: s.most(cfg), in_flight: s.flight() })
        } else {
            reno_1998::room(cfg, s)
        }
    }

    #[inline]
    pub fn next(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        if !self.active {
            return reno_1998::next(cfg, s);
        }
        if s.resend_first {
            let first = s.first();
            self.high_rxt = first.start + u64::from(first.len);
            return Some(first);
        }
        if !self.has_room(s) {
            return None;
        }
        let piece = s.hole_piece(self.high_rxt.max(s.una)).map_or_else(
            || s.next_in_order(cfg, Room { window: s.most(cfg), in_flight: s.flight() }),
            |hole| {
                self.high_rxt = hole.start + u64::from(hole.len);
                Some(hole)
            },
        )?;
        self.pipe += 1;
        Some(piece)
    }
}
