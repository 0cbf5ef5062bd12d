//! Forward acknowledgment (FACK) as in the one-way agents of 1998 (Mathis and Mahdavi 1996, without rampdown and
//! overdamping; ns-2's Fack). An episode begins when the highest report is `dup_thresh` segments beyond the first hole.
//! The window then falls to one segment, and every ACK of the episode opens it. Every ACK in an episode, every
//! duplicate ACK, and every ACK with SACK blocks restarts the timer and gives an RTT sample from the timestamp that it
//! echoes.

use crate::config::RecoveryRules::Ns2_1998;
use crate::congestion::{AckKind, AckReport, Changes, WindowChange};
use crate::flight::Flight;
use crate::in_order::{InOrder, Wait};
use crate::recovery::{cumulative_room, next_cumulative, Algorithm, Growth, Outcome, Transmission, View, ViewRef};
use crate::send_state::{Piece, Room, SendState};

/// A retransmission that is not known to have arrived.
#[derive(Clone, Copy, Debug)]
struct Resent {
    start: u64,
    /// SND.NXT when the segment was retransmitted. Once data beyond this position is reported, the retransmission is
    /// deemed lost, too.
    next_then: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Fack1998 {
    active: bool,
    /// Whether a retransmission was lost. If so, nothing is sent until the timer expires.
    stuck: bool,
    /// Whether nothing may be sent in response to the last ACK, except the first segment if this ACK began an episode.
    hold: bool,
    /// Whether the piece that `next` chose last is a retransmission.
    repairs: bool,
    /// Retransmitted segments, less those known to have arrived (`retran_data`).
    retransmitted: u32,
    /// One past the highest position retransmitted in this episode.
    high_rxt: u64,
    /// The episode ends with an ACK of at least this position that has no SACK blocks.
    recover: u64,
    /// Retransmissions of the episode that are neither known to have arrived nor deemed lost.
    resent: Vec<Resent>,
}

impl Fack1998 {
    fn forget(&mut self, flight: &mut Flight) {
        self.stuck = false;
        self.retransmitted = 0;
        self.high_rxt = 0;
        self.resent = Vec::new();
        flight.reported.clear();
    }

    /// Returns the position snd.fack according to the reports, and advances `nxt` to it: no data below it is sent as
    /// new.
    fn forward(v: &mut View<'_>) -> u64 {
        let forward = v.read().forward_most();
        v.s.nxt = v.s.nxt.max(forward);
        forward
    }

    fn note_arrivals(&mut self, v: &View<'_>) {
        let before = self.resent.len();
        self.resent.retain(|r| r.start >= v.s.una && v.flight.reported.hole(r.start).0 == r.start);
        self.retransmitted -= (before - self.resent.len()) as u32;
    }

    /// Processes any ACK in an episode, including duplicates: opens the window by a segment, and checks whether
    /// retransmissions were lost.
    fn on_any_ack(&mut self, v: &mut View<'_>) -> Outcome {
        let forward = Fack1998::forward(v);
        self.note_arrivals(v);
        let listed = self.resent.len();
        self.resent.retain(|r| r.next_then >= forward);
        self.stuck |= self.resent.len() < listed;
        Outcome { growth: Growth::Reported(u64::from(v.s.mss)), ..Outcome::NOTHING }
    }

    /// Called outside an episode, for a duplicate ACK or an ACK with SACK blocks. If the blocks indicate a loss, begins
    /// an episode and returns its first changes; otherwise returns `None`.
    fn look(&mut self, v: &mut View<'_>) -> Option<Changes> {
        let forward = Fack1998::forward(v);
        self.note_arrivals(v);
        let mss = u64::from(v.s.mss);
        self.hold = forward != v.s.una + mss;
        v.s.dup_acks = ((forward - v.s.una) / mss).saturating_sub(1) as u32;
        if v.s.dup_acks < v.cfg.dup_thresh {
            return None;
        }
        self.active = true;
        self.recover = v.s.nxt + mss;
        self.high_rxt = v.s.una;
        v.s.resend_first = true;
        let mut changes = Changes::cut(v.s.flight_size());
        changes.push(WindowChange::LossWindow);
        Some(changes)
    }

    /// Whether nothing may be sent. Never true with nothing outstanding, because no ACK would arrive to end the wait.
    fn waits(&self, s: &SendState) -> bool {
        (self.stuck || self.hold) && s.una < s.max
    }

    /// Whether an ACK restarts the timer and gives an RTT sample.
    pub fn times_echo(&self, kind: AckKind, has_blocks: bool) -> bool {
        self.active || has_blocks || kind != AckKind::New
    }

    fn repair(&mut self, piece: Piece) -> Piece {
        self.repairs = true;
        piece
    }
}

impl Algorithm for Fack1998 {
    fn on_dup_ack(&mut self, v: &mut View<'_>, _: &AckReport, _: u64) -> Outcome {
        self.hold = false;
        if self.active {
            return self.on_any_ack(v);
        }
        let changes = self.look(v);
        let began = changes.is_some();
        Outcome { began, restart_timer: began, changes: changes.unwrap_or(Changes::NONE), ..Outcome::NOTHING }
    }

    fn on_new_ack(&mut self, v: &mut View<'_>, ack: &AckReport) -> Outcome {
        self.hold = false;
        v.s.dup_acks = 0;
        if self.active {
            let outcome = self.on_any_ack(v);
            if !ack.has_blocks && v.s.una >= self.recover {
                self.active = false;
                self.forget(v.flight);
            }
            return outcome;
        }
        if ack.has_blocks {
            let changes = self.look(v);
            return Outcome {
                restart_timer: changes.is_some(),
                changes: changes.unwrap_or(Changes::NONE),
                ..Outcome::HOLD
            };
        }
        if !v.flight.reported.is_empty() {
            self.forget(v.flight);
        }
        Outcome::GROW
    }

    fn on_timeout(&mut self, v: &mut View<'_>) {
        self.hold = false;
        self.forget(v.flight); // ns-2's agent stays in the episode and keeps its end
    }

    fn next(&mut self, v: &mut View<'_>, new: &InOrder<'_>) -> Result<Piece, Wait> {
        if v.s.resend_first {
            return Ok(self.repair(v.s.first(v.flight)));
        }
        if self.waits(v.s) {
            return Err(Wait::Recovery);
        }
        if !self.active {
            return next_cumulative(v, new, Ns2_1998);
        }
        Fack1998::forward(v);
        let room = self.room(&v.read()).ok_or(Wait::Recovery)?;
        match v.s.hole_piece(v.flight, self.high_rxt.max(v.s.una)) {
            Some(hole) => Ok(self.repair(hole)),
            None => new.next(v.s, v.flight, room),
        }
    }

    fn on_sent(&mut self, v: &mut View<'_>, sent: &Transmission) {
        if std::mem::take(&mut self.repairs) {
            self.resent.push(Resent { start: sent.piece.start, next_then: v.s.nxt });
            self.retransmitted += 1;
            self.high_rxt = sent.piece.start + u64::from(sent.piece.len);
        }
    }

    fn room(&self, v: &ViewRef<'_>) -> Option<Room> {
        if self.waits(v.s) {
            return None;
        }
        if !self.active {
            return cumulative_room(v, Ns2_1998);
        }
        let mss = u64::from(v.s.mss);
        let whole = v.window() / mss * mss;
        let fits = v.s.nxt + mss * u64::from(1 + self.retransmitted) <= v.forward_most() + whole;
        // With nothing outstanding, lost retransmissions that are still counted must not forbid everything.
        let is_alone = v.s.una == v.s.max && whole > 0;
        (fits || is_alone).then(|| Room { window: v.cfg.max_window.bytes(v.s.mss), in_flight: v.s.flight() })
    }

    fn in_recovery(&self) -> bool {
        self.active
    }

    fn is_calm(&self) -> bool {
        false // `waits` may be true outside recovery, too
    }

    fn waiting_bytes(&self, v: &ViewRef<'_>) -> Option<u64> {
        v.next_repair(self.high_rxt, u64::MAX).filter(|_| self.active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RecoveryKind;
    use crate::sender::Sender;
    use crate::Profile;

    /// Two retransmissions were lost, and an ACK with a block, which does not end the episode, acknowledges everything.
    #[test]
    fn with_nothing_outstanding_lost_retransmissions_do_not_forbid_everything() {
        let cfg = crate::TcpConfig {
            mss: 100,
            initial_window: crate::InitialWindow::Segments(1),
            recovery: RecoveryKind::Fack.standard(),
            ..Profile::Rfc5681.config()
        };
        let mut sender = Sender::new(&cfg, 100);
        (sender.snd.una, sender.snd.nxt, sender.snd.max, sender.snd.end) = (501, 501, 501, 901);
        let fack = Fack1998 { active: true, retransmitted: 2, recover: 401, ..Fack1998::default() };
        assert!(fack.room(&sender.read(&cfg)).is_some());
        sender.snd.max = 601;
        sender.snd.nxt = 601;
        assert!(fack.room(&sender.read(&cfg)).is_none(), "with a segment outstanding they count");
    }
}
