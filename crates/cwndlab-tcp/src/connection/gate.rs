//! The gate decides whether a segment may be sent now, and of which kind. Data in order also passes the rules of
//! [`crate::in_order`].
//!
//! [`Connection::gate`] reads only a few fields, which suffice while only the windows limit the sender. Two functions
//! extend it: [`Connection::paced_gate`] also asks the pacer, and [`Connection::gate_in_disorder`] is for RACK while
//! data is missing. If none of them can decide, [`Connection::gate_any`] does, which reads everything.

use cwndlab_units::Time;

use super::{Connection, Control};
use crate::config::TcpConfig;
use crate::pacing::Pacer;
use crate::send_state::Piece;
use crate::timers::Timer;

/// What may be sent now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::connection) enum Go {
    Nothing,
    /// Nothing, because cwnd is full, which [`Connection::follow`] records. Used only with `grow_only_if_cwnd_limited`.
    CwndFull,
    /// An acknowledgment, and no data.
    Ack,
    /// A full segment of new data.
    Full,
    /// The few fields that were read do not suffice: call [`Connection::gate_any`].
    #[default]
    Undecided,
}

impl Connection {
    /// What may be sent now, leaving the pacer aside, on a connection with no [`Control`] segment to send. `Undecided`
    /// if the few fields that it reads do not suffice.
    #[inline(always)]
    pub(super) fn gate(&self, cfg: &TcpConfig) -> Go {
        let s = &self.sender;
        if s.snd.nxt >= s.limit() && s.snd.una >= s.snd.max {
            return self.without_data();
        }
        if !self.is_steady() {
            return Go::Undecided;
        }
        if s.snd.nxt + u64::from(s.snd.mss) <= s.snd.end {
            return if self.receiver.ack_now { Go::Undecided } else { self.gate_of_windows(cfg) };
        }
        // Everything has been sent. `gate_any` has more to do only if it is to record the use of cwnd, or to let the
        // application write into the send buffer.
        if s.snd.nxt == s.limit() && !cfg.grow_only_if_cwnd_limited && !s.is_buffered {
            return self.without_data();
        }
        Go::Undecided
    }

    /// Returns [`Go::Full`] if cwnd and the peer's window have room for a full segment of new data, which nothing else
    /// may hold back; [`Go::Nothing`] or [`Go::CwndFull`] if cwnd is full.
    #[inline(always)]
    pub(super) fn gate_of_windows(&self, cfg: &TcpConfig) -> Go {
        let s = &self.sender;
        let mss = u64::from(s.snd.mss);
        let in_flight = s.snd.nxt - s.snd.una + mss;
        if in_flight > s.cc.cwnd() {
            return if !cfg.grow_only_if_cwnd_limited {
                Go::Nothing
            } else if self.state.may_send() && !s.drains(cfg) {
                Go::CwndFull
            } else {
                Go::Undecided
            };
        }
        let admitted =
            self.state.may_send() && in_flight <= s.most(cfg) && s.snd.nxt + mss <= s.snd.edge && !s.drains(cfg);
        if admitted {
            Go::Full
        } else {
            Go::Undecided
        }
    }

    /// Whether data is outstanding, no ACK indicates that any is missing, and only the windows limit what is sent.
    #[inline]
    fn is_steady(&self) -> bool {
        let s = &self.sender;
        s.snd.una < s.snd.max
            && s.snd.nxt == s.snd.max
            && s.snd.dup_acks == 0
            && s.snd.inflation == 0
            && !s.snd.resend_first
            && s.socket().is_none()
            && s.outstanding.reported.is_empty()
            && self.recovery.is_calm(&s.outstanding)
    }

    /// [`Self::gate`] for a connection that paces: also asks the pacer, and begins its next train or sets its timer.
    #[inline(always)]
    pub(super) fn paced_gate(&mut self, cfg: &TcpConfig, now: Time) -> Go {
        if self.is_idle() {
            return self.idle_gate(now);
        }
        if self.receiver.ack_now {
            return self.paced_gate_with_ack(cfg, now);
        }
        let begins = match self.is_admitted(now) {
            Some(false) => return self.hold(cfg, now),
            Some(true) => false,
            None => true,
        };
        let go = match self.gate(cfg) {
            Go::Undecided => self.gate_in_disorder(cfg).unwrap_or_default(),
            go => go,
        };
        if begins && go != Go::Undecided {
            self.begin_train(cfg, now);
        }
        go
    }

    /// The part of [`Self::paced_gate`] while an ACK is due. If the pacer holds data back, the ACK goes alone.
    #[inline(never)]
    fn paced_gate_with_ack(&mut self, cfg: &TcpConfig, now: Time) -> Go {
        let go = self.gate(cfg);
        if go == Go::Undecided || self.ask_pacer(cfg, now) {
            return go;
        }
        self.hold(cfg, now)
    }

    /// What may be sent on a connection that paces once all data is acknowledged. If that is an ACK, informs the pacer.
    #[inline]
    pub(super) fn idle_gate(&mut self, now: Time) -> Go {
        if self.receiver.ack_now {
            self.note_pure_ack(now);
        }
        self.without_data()
    }

    /// With RACK, while data is missing or repaired: whether a full segment of new data may go ([`Go::Full`]) or cwnd
    /// is full ([`Go::CwndFull`]). `None` if neither is certain, so that [`Self::gate_any`] has to decide.
    #[inline(never)]
    fn gate_in_disorder(&mut self, cfg: &TcpConfig) -> Option<Go> {
        let s = &self.sender;
        let next = s.snd.nxt + u64::from(s.snd.mss);
        let is_new = s.snd.una < s.snd.max
            && s.snd.nxt == s.snd.max
            && next <= s.snd.end
            && !s.snd.resend_first
            && s.socket().is_none()
            && self.state.may_send()
            && !s.drains(cfg);
        if !is_new {
            return None;
        }
        let room = self.recovery.rack()?.room_for_new(&self.sender.read(cfg))?;
        if room.in_flight + u64::from(self.sender.snd.mss) <= room.window {
            return (next <= self.sender.snd.edge).then_some(Go::Full);
        }
        cfg.grow_only_if_cwnd_limited.then_some(Go::CwndFull)
    }

    /// Decides in any state, on a connection with no [`Control`] segment to send. Returns the data to send; if there is
    /// none, returns [`Go::Ack`] or [`Go::Nothing`] as the error.
    #[inline(never)]
    pub(super) fn gate_any(&mut self, cfg: &TcpConfig, now: Time) -> Result<Piece, Go> {
        if matches!(self.control, Control::AskPacer | Control::AskTrain) {
            if self.is_idle() {
                return Err(self.idle_gate(now));
            }
            self.end_complete_train(now);
            if !self.ask_pacer(cfg, now) {
                while self.writes_on() {}
                return Err(self.hold(cfg, now));
            }
        }
        let s = &self.sender;
        if self.state.may_send() && (s.snd.nxt < s.limit() || s.snd.una < s.snd.max) {
            if self.receiver.ack_now && self.receiver.beyond.is_some() {
                // RFC 5681, section 4.2: acknowledge out-of-order data at once. An ACK on a data segment would not
                // count as a duplicate (section 2).
                return Err(Go::Ack);
            }
            self.restart_after_idle(cfg, now);
            loop {
                if let Ok(piece) = self.next_piece(cfg, now) {
                    return Ok(piece);
                }
                if !self.writes_on() {
                    break;
                }
            }
            if cfg.grow_only_if_cwnd_limited {
                self.note_usage(cfg, now);
            }
            self.arm_persist(cfg, now);
        }
        Err(self.without_data())
    }

    /// What may be sent if no data may be: an ACK, if one is due.
    #[inline]
    fn without_data(&self) -> Go {
        if self.receiver.ack_now {
            Go::Ack
        } else {
            Go::Nothing
        }
    }

    /// Holds data back until the pacer or an ACK permits it: sets the timer of the pacer, unless it must wait for an
    /// ACK anyway, and records how much of cwnd is in use. Returns what may be sent without data.
    #[inline]
    pub(super) fn hold(&mut self, cfg: &TcpConfig, now: Time) -> Go {
        if let Some(at) = self.sender.pacer().filter(|_| !self.awaits_ack(cfg)).map(Pacer::next) {
            self.timers.set(Timer::Pacer, at);
        }
        self.note_usage(cfg, now);
        self.without_data()
    }

    /// Whether the pacer needs no timer, because cwnd is full and only an ACK can let data go. False if [`Self::gate`]
    /// does not know that cwnd is full, as while data is missing. Also false for congestion controls without
    /// `owns_recovery`: for these, each expiry of the timer records that cwnd is full.
    #[inline]
    fn awaits_ack(&self, cfg: &TcpConfig) -> bool {
        let s = &self.sender;
        s.snd.flight() + u64::from(s.snd.mss) > s.cc.cwnd() && s.cc.owns_recovery() && self.gate(cfg) == Go::CwndFull
    }
}
