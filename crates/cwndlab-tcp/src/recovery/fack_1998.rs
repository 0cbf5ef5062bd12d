//! Forward acknowledgment as the one-way agents of 1998 have it (Mathis and Mahdavi 1996, without rampdown and
//! overdamping; ns-2's Fack): an episode begins when the furthest report is `dup_thresh` segments beyond the first hole;
//! the window falls to one segment and every ACK opens it; each ACK restarts the timer and is timed by the stamp it echoes.

use cwndlab_units::Time;

use super::{cut, reno_1998, Decision, GROW, HOLD, NOTHING};
use crate::config::TcpConfig;
use crate::congestion::{AckReport, AfterAck};
use crate::sender::{Piece, Room, Sender};

/// A segment sent again and not known to have arrived.
#[derive(Clone, Copy, Debug)]
struct Resent {
    start: u64,
    /// The next new position at that time: once data from there on is reported, this copy is lost too.
    next_then: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Fack1998 {
    pub active: bool,
    /// A segment sent again was lost again: nothing goes until the timer expires.
    stuck: bool,
    /// The ACK just taken releases nothing (but the first segment, if it began an episode).
    hold: bool,
    /// Segments sent again, less those known to have arrived (`retran_data`).
    retransmitted: u32,
    /// One past the highest position sent again in this episode.
    pub high_rxt: u64,
    /// The episode ends with an ACK of this that reports nothing.
    recover: u64,
    /// On the heap only in an episode.
    resent: Vec<Resent>,
}

impl Fack1998 {
    pub fn on_dup_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, now: Time) -> bool {
        self.hold = false;
        if self.active {
            self.on_any_ack(cfg, s, now);
            return false;
        }
        self.look(cfg, s)
    }

    #[inline]
    pub fn on_new_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, ack: &AckReport) -> Decision {
        self.hold = false;
        s.dup_acks = 0;
        if !self.active {
            if !ack.has_blocks {
                if !s.outstanding.nothing_reported() {
                    self.forget(s);
                }
                return GROW;
            }
            let begun = self.look(cfg, s);
            return Decision { restart_timer: begun, ..HOLD };
        }
        self.on_any_ack(cfg, s, ack.now);
        if !ack.has_blocks && s.una >= self.recover {
            self.active = false;
            self.forget(s);
        }
        NOTHING
    }

    pub fn on_timeout(&mut self, s: &mut Sender) {
        self.hold = false;
        self.forget(s); // the agent neither leaves the episode nor moves its end
    }

    /// Whether the agent takes an ACK as it takes a duplicate.
    pub fn times_echo(&self, new: bool, blocks: bool) -> bool {
        self.active || blocks || !new
    }

    fn forget(&mut self, s: &mut Sender) {
        self.stuck = false;
        self.retransmitted = 0;
        self.high_rxt = 0;
        self.resent = Vec::new();
        s.outstanding.forget_reports();
    }

    /// Position of snd.fack, given what has arrived; nothing below it is sent as new.
    fn forward(s: &mut Sender) -> u64 {
        let forward = Fack1998::highest(s);
        s.nxt = s.nxt.max(forward);
        forward
    }

    fn highest(s: &Sender) -> u64 {
        s.outstanding.highest_reported().unwrap_or(s.una).max(s.una)
    }

    fn note_arrivals(&mut self, s: &Sender) {
        let before = self.resent.len();
        self.resent.retain(|r| r.start >= s.una && s.outstanding.hole(r.start).0 == r.start);
        self.retransmitted -= (before - self.resent.len()) as u32;
    }

    /// In an episode, duplicates included.
    fn on_any_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, now: Time) {
        let forward = Fack1998::forward(s);
        self.note_arrivals(s);
        let listed = self.resent.len();
        self.resent.retain(|r| r.next_then >= forward);
        self.stuck |= self.resent.len() < listed;
        let bytes = u64::from(s.mss);
        let ack = AckReport { acked_bytes: bytes, fresh_bytes: bytes, ..s.report(cfg, now) };
        s.cc.on_ack(cfg, &ack, &AfterAck { cwnd_limited: true, may_grow: true, ..AfterAck::default() });
    }

    /// Outside an episode, on a duplicate or an ACK with blocks.
    fn look(&mut self, cfg: &TcpConfig, s: &mut Sender) -> bool {
        let forward = Fack1998::forward(s);
        self.note_arrivals(s);
        let mss = u64::from(s.mss);
        self.hold = forward != s.una + mss;
        s.dup_acks = ((forward - s.una) / mss).saturating_sub(1) as u32;
        if s.dup_acks < cfg.dup_thresh {
            return false;
        }
        self.active = true;
        self.recover = s.nxt + mss;
        self.high_rxt = s.una;
        cut(cfg, s);
        s.cc.to_loss_window(cfg, s.mss);
        true
    }

    fn note_resent(&mut self, piece: Piece, next: u64) {
        self.resent.push(Resent { start: piece.start, next_then: next });
        self.retransmitted += 1;
        self.high_rxt = piece.start + u64::from(piece.len);
    }

    /// Nothing goes; with nothing outstanding no ACK would come to end that.
    fn waits(&self, s: &Sender) -> bool {
        (self.stuck || self.hold) && s.una < s.max
    }

    /// Whether the window has room for a segment, in an episode.
    fn has_room(&self, cfg: &TcpConfig, s: &Sender) -> bool {
        let mss = u64::from(s.mss);
        let window = s.window(cfg) / mss * mss;
        s.nxt + mss * u64::from(1 + self.retransmitted) <= Fack1998::highest(s) + window
    }

    /// See [`super::Recovery::room`].
    pub fn room(&self, cfg: &TcpConfig, s: &Sender) -> Option<Room> {
        if self.waits(s) || (self.active && !self.has_room(cfg, s)) {
            None
        } else if self.active {
            Some(Room { window: s.most(cfg), in_flight: s.flight() })
        } else {
            reno_1998::room(cfg, s)
        }
    }

    #[inline]
    pub fn next(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        if s.resend_first {
            let first = s.first();
            self.note_resent(first, s.nxt);
            return Some(first);
        }
        if self.waits(s) {
            return None;
        }
        if !self.active {
            return reno_1998::next(cfg, s);
        }
        Fack1998::forward(s);
        if !self.has_room(cfg, s) {
            return None;
        }
        if let Some(hole) = s.hole_piece(self.high_rxt.max(s.una)) {
            self.note_resent(hole, s.nxt);
            return Some(hole);
        }
        s.next_in_order(cfg, Room { window: s.most(cfg), in_flight: s.flight() })
    }
}
