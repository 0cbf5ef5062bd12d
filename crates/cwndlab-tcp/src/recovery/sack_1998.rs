//! SACK as the one-way agents of 1998 have it (Fall and Floyd 1996, section 3; ns-2's Sack1): a counter of segments in the
//! pipe in place of RFC 6675's `SetPipe`. It goes down with every ACK of an episode, twice with a partial one, and up
//! with every segment sent.

use cwndlab_units::Time;

use super::{
    begins, cumulative_room, cut, next_cumulative, Algorithm, Next, Outcome, Transmission, View, GROW, HOLD, NOTHING,
};
use crate::config::{RecoveryRules::Ns2_1998, TcpConfig};
use crate::congestion::{AckReport, Episode};
use crate::flight::Flight;
use crate::send_state::SendState;
use crate::sender::{Room, SendWindow};

#[derive(Clone, Debug, Default)]
pub(crate) struct Sack1998 {
    active: bool,
    /// No ACK of new data since the last timeout: duplicates mean nothing.
    timed_out: bool,
    /// The ACK that begins an episode releases the first segment and nothing else.
    hold: bool,
    /// Segments in the pipe; may go below zero.
    pipe: i32,
    /// Highest position sent when the episode began or the timer expired; 0 = none since the last episode ended.
    recover: u64,
    /// One past the highest position sent again in this episode.
    high_rxt: u64,
}

impl Algorithm for Sack1998 {
    fn on_dup_ack(&mut self, v: &mut View<'_>, _: &AckReport, reported: u64) -> Outcome {
        self.hold = false;
        if self.active {
            self.pipe -= 1;
            return NOTHING;
        }
        if self.timed_out || reported == 0 {
            v.s.dup_acks -= 1; // only what reports something new counts
            return NOTHING;
        }
        if !begins(v, self.recover) {
            return NOTHING;
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

    #[inline]
    fn on_new_ack(&mut self, v: &mut View<'_>, _: &AckReport) -> Outcome {
        self.hold = false;
        if !self.active {
            v.s.dup_acks = 0;
            self.timed_out = false;
            return GROW;
        }
        if v.s.una > self.recover {
            self.active = false;
            self.recover = 0;
            v.s.dup_acks = 0;
            v.flight.forget_reports();
            return HOLD;
        }
        self.pipe -= 2; // so as never to do worse than slow start
        Outcome { clears_backoff: true, ..HOLD }
    }

    fn on_timeout(&mut self, v: &mut View<'_>, _: Time) -> Option<Episode> {
        *self = Sack1998 { recover: v.s.max - 1, timed_out: true, ..Sack1998::default() };
        v.flight.forget_reports();
        None
    }

    #[inline]
    fn next(&mut self, v: &mut View<'_>, _: bool) -> Next {
        if !self.active {
            return next_cumulative(v, Ns2_1998);
        }
        if v.s.resend_first {
            return Next::Piece(v.s.first(v.flight));
        }
        match self.room(v.cfg, v.s, v.flight, v.window) {
            Some(room) => {
                v.s.hole_piece(v.flight, self.high_rxt.max(v.s.una)).map_or(Next::in_order(room), Next::Piece)
            }
            None => Next::Nothing,
        }
    }

    #[inline]
    fn on_sent(&mut self, _: &mut View<'_>, sent: &Transmission) {
        if !self.active {
            return;
        }
        if sent.again {
            self.high_rxt = self.high_rxt.max(sent.piece.start + u64::from(sent.piece.len));
        }
        self.pipe += i32::from(!self.hold);
    }

    fn room(&self, cfg: &TcpConfig, s: &SendState, _: &Flight, window: SendWindow) -> Option<Room> {
        if self.active {
            let fits = i64::from(self.pipe) < (window.cwnd / u64::from(s.mss)) as i64;
            (!self.hold && fits).then(|| Room { window: window.most, in_flight: s.flight() })
        } else {
            cumulative_room(cfg, s, window, Ns2_1998)
        }
    }

    #[inline]
    fn in_recovery(&self) -> bool {
        self.active
    }

    fn counts_bare_acks(&self, _: &TcpConfig) -> bool {
        true
    }

    #[inline]
    fn only_grows(&self) -> bool {
        !self.active && !self.hold && !self.timed_out
    }

    fn waiting_bytes(&self, s: &SendState, flight: &Flight) -> Option<u64> {
        let highest = flight.highest_reported().unwrap_or(s.una);
        let hole = flight.hole(self.high_rxt.max(s.una)).0;
        (self.active && hole < highest).then_some(u64::from(s.mss))
    }
}
