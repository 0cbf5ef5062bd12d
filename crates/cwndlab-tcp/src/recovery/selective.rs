//! Recovery algorithms that use SACK by RFC 6675, with two rules for which data is lost. With `sack` and `fack`, cwnd
//! limits what is sent in an episode; with `prr`, proportional rate reduction does (RFC 9937).

use super::{cut, in_flight_outside, Algorithm, Outcome, Transmission, View, ViewRef};
use crate::congestion::prr::PrrAck;
use crate::congestion::{AckReport, Changes, CongestionEvent, WindowChange};
use crate::flight::Flight;
use crate::in_order::{InOrder, Wait};
use crate::send_state::{Piece, Room, SendState};

/// The rule that decides which data is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LossRule {
    /// Unreported data is lost if enough data above it is reported (RFC 6675, section 4, `IsLost`).
    #[default]
    Rfc6675,
    /// Unreported data below the forward-most report is lost (Mathis & Mahdavi 1996), without rampdown and overdamping.
    /// Deviation: the agents of 1998 begin an episode with slow start from one segment; here cwnd is halved, as in the
    /// paper's section 4.
    Forward,
}

impl LossRule {
    /// Returns the position below which unreported data is lost.
    fn lost_below(self, v: &View<'_>) -> u64 {
        match self {
            LossRule::Rfc6675 => v.flight.reported.lost_below(v.cfg.dup_thresh, v.s.mss),
            LossRule::Forward => v.read().forward_most(),
        }
    }

    /// Whether the first segment is lost according to the reports above it.
    fn finds_loss(self, v: &View<'_>, lost_below: u64) -> bool {
        match self {
            LossRule::Rfc6675 => lost_below > v.s.una, // RFC 6675, section 5, step 2
            // Mathis and Mahdavi 1996, section 3.2: the highest SACKed byte is more than three segments beyond the
            // first hole.
            LossRule::Forward => lost_below - v.s.una > u64::from(v.cfg.dup_thresh) * u64::from(v.s.mss),
        }
    }
}

/// The state of one connection's recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selective {
    rule: LossRule,
    /// Whether proportional rate reduction controls the window of an episode.
    proportional: bool,
    active: bool,
    /// `RecoveryPoint`: highest position sent when the episode began, or at the last timeout.
    recover: u64,
    /// `HighRxt`: one past the highest position retransmitted in this episode.
    high_rxt: u64,
    /// Unreported data below this position is lost.
    lost_below: u64,
    /// Pipe: estimated bytes in the network at the last ACK, plus the bytes sent since.
    pipe: u64,
    /// Whether the one rescue retransmission of the episode was sent (RFC 6675, section 4, `NextSeg`, rule 4).
    rescued: bool,
    /// Whether the last chosen piece is the rescue retransmission.
    rescuing: bool,
    /// Bytes newly deemed lost because of the current ACK.
    newly_lost: u32,
}

impl Selective {
    pub fn new(rule: LossRule, proportional: bool) -> Self {
        Selective { rule, proportional, ..Selective::default() }
    }

    /// Returns the change by which proportional rate reduction processes an ACK of an episode (RFC 9937, section 6.2);
    /// `None` except with `prr`.
    fn pipe(&self, delivered: u64, safe: bool) -> Option<WindowChange> {
        let ack = PrrAck { pipe: self.pipe as u32, delivered: delivered as u32, safe };
        self.proportional.then_some(WindowChange::Pipe(ack))
    }

    /// Returns the state at the beginning of an episode, or after a timeout: the initial one, except that `recover` is
    /// the highest position sent.
    fn restarted(&mut self, v: &View<'_>, active: bool) -> Self {
        let fresh = Selective::new(self.rule, self.proportional);
        Selective { active, recover: v.s.max - 1, high_rxt: v.s.una, ..fresh }
    }

    /// Computes `pipe` (`SetPipe` of RFC 6675, section 4) from ranges: data that is neither reported nor lost, plus
    /// retransmissions. Also counts the bytes newly deemed lost.
    fn set_pipe(&mut self, v: &mut View<'_>, lost_below: u64) {
        let una = v.s.una;
        // Lost data below this position has been counted before, or was retransmitted.
        let before = self.lost_end(v).max(self.high_rxt);
        self.lost_below = lost_below.max(una);
        let end = self.lost_end(v);
        if end > before {
            let reported = v.flight.reported.sacked_from(before) - v.flight.reported.sacked_from(end);
            self.newly_lost = (end - before - reported) as u32;
        }
        self.high_rxt = self.high_rxt.max(una);
        let not_lost = v.s.max.saturating_sub(self.lost_below) - v.flight.reported.sacked_from(self.lost_below);
        let sent_again = self.high_rxt - una - v.flight.reported.sacked_below(self.high_rxt);
        self.pipe = not_lost + sent_again;
    }

    /// Returns the end of the data deemed lost. If `lost_below` is `una` + 1, the first segment is deemed lost, as it
    /// is by definition when an episode begins.
    fn lost_end(&self, v: &View<'_>) -> u64 {
        if self.lost_below == v.s.una + 1 {
            v.s.una + u64::from(v.s.first(v.flight).len)
        } else {
            self.lost_below.max(v.s.una)
        }
    }

    /// Processes an ACK of new data in an episode.
    fn on_ack_in_recovery(&mut self, v: &mut View<'_>, ack: &AckReport) -> Outcome {
        let mut changes = Changes::NONE;
        if v.s.una > self.recover {
            self.active = false; // RFC 6675, section 5, step A
            if self.proportional {
                changes = Changes::one(WindowChange::End); // RFC 9937, section 6.4: recovery ends at ssthresh
            }
        } else {
            let lost_before = self.lost_below;
            let lost_below = self.rule.lost_below(v);
            // RFC 6675, section 5, step B
            self.set_pipe(v, lost_below);
            // RFC 9937, section 6: an ACK is safe if it advances SND.UNA and reveals no further loss.
            let safe = self.lost_below <= lost_before.max(v.s.una);
            changes = self.pipe(ack.delivered_bytes, safe).map_or(changes, Changes::one);
        }
        Outcome { changes, lost_bytes: self.take_lost(), ..Outcome::HOLD }
    }

    /// Returns the estimated bytes in the network.
    pub fn in_flight(&self, s: &SendState, flight: &Flight) -> u64 {
        if self.active {
            self.pipe
        } else {
            in_flight_outside(s, flight)
        }
    }

    /// Takes the bytes newly deemed lost (RFC 6675, section 4, `IsLost`).
    fn take_lost(&mut self) -> u64 {
        u64::from(std::mem::take(&mut self.newly_lost))
    }

    /// Returns the segment that `NextSeg` (RFC 6675, section 4) chooses. The caller has checked that a segment may be
    /// sent.
    fn next_segment(&mut self, v: &View<'_>, new: &InOrder<'_>, room: Room) -> Result<Piece, Wait> {
        let highest = v.read().forward_most();
        let (hole, hole_end) = v.flight.reported.hole(self.high_rxt);
        let mss = u64::from(v.s.mss);
        let piece = |start: u64, end: u64| Ok(Piece { start, len: (end - start).min(mss) as u32 });
        // Rule 1: the first lost hole that has not been retransmitted.
        if hole < highest && hole < self.lost_below {
            return piece(hole, hole_end);
        }
        // Rule 2: new data.
        let in_order = new.next(v.s, v.flight, room);
        if in_order.is_ok() {
            return in_order;
        }
        // Rule 3: a hole below a report that is not known to be lost.
        if hole < highest {
            return piece(hole, hole_end);
        }
        // Rule 4: once per episode, the last unreported segment (the rescue retransmission).
        let last = v.s.max.min(v.s.end);
        let unreported = highest.max(self.high_rxt);
        if self.active && !self.rescued && last > unreported && v.s.una <= self.recover {
            self.rescued = true;
            self.rescuing = true;
            return piece(unreported.max(last.saturating_sub(mss)), last);
        }
        in_order
    }

    /// Returns the next piece outside recovery, which is data at SND.NXT. After a timeout, reported data is skipped.
    /// Reported bytes do not count as in flight after a timeout or with Limited Transmit (RFC 6675, section 5 (3): a
    /// duplicate ACK permits new data, as in RFC 3042).
    fn next_outside(v: &mut View<'_>, new: &InOrder<'_>) -> Result<Piece, Wait> {
        if v.s.resend_first {
            return Ok(v.s.first(v.flight));
        }
        let window = v.read().window();
        if v.flight.reported.is_empty() {
            return new.next(v.s, v.flight, Room { window, in_flight: v.s.flight() });
        }
        let again = v.s.nxt < v.s.max;
        let mut below = u64::MAX;
        if again {
            let hole = v.flight.reported.hole(v.s.nxt);
            v.s.nxt = hole.0.min(v.s.max);
            below = hole.1;
        }
        let reported = if again || v.cfg.limited_transmit { v.flight.reported.sacked_below(v.s.nxt) } else { 0 };
        let piece = new.next(v.s, v.flight, Room { window, in_flight: v.s.flight() - reported })?;
        Ok(Piece { len: u64::from(piece.len).min(below - piece.start) as u32, ..piece })
    }
}

impl Algorithm for Selective {
    const HAS_SCOREBOARD: bool = true;

    fn on_dup_ack(&mut self, v: &mut View<'_>, _: &AckReport, delivered: u64) -> Outcome {
        let lost_below = self.rule.lost_below(v);
        if self.active {
            self.set_pipe(v, lost_below);
            let changes = self.pipe(delivered, false).map_or(Changes::NONE, Changes::one);
            return Outcome { changes, lost_bytes: self.take_lost(), ..Outcome::NOTHING };
        }
        // RFC 6675, section 5, steps 1 and 2: DupThresh duplicates, or the first segment is lost according to the
        // reports above it.
        let found = v.s.dup_acks >= v.cfg.dup_thresh || self.rule.finds_loss(v, lost_below);
        if !found || v.s.una <= self.recover {
            return Outcome::NOTHING;
        }
        let mut outcome = cut(v); // steps 4.1 to 4.3
        *self = self.restarted(v, true);
        // The first segment is lost by definition once recovery begins.
        self.set_pipe(v, lost_below.max(v.s.una + 1)); // step 4.4
        if let Some(pipe) = self.pipe(delivered, false) {
            // `RecoverFS` excludes the data that was reported before the ACK that begins the episode.
            let (flight, reported) = (v.s.flight_size(), v.flight.reported.total());
            let recover_fs = (flight - reported + delivered).max(1) as u32;
            let (event, flight_bytes) = (CongestionEvent::Loss, flight as u32);
            outcome.changes = Changes::one(WindowChange::Cut { event, flight_bytes, recover_fs });
            outcome.changes.push(pipe);
        }
        Outcome { lost_bytes: self.take_lost(), ..outcome }
    }

    fn on_new_ack(&mut self, v: &mut View<'_>, ack: &AckReport) -> Outcome {
        v.s.dup_acks = 0;
        if !self.active {
            return Outcome::GROW;
        }
        self.on_ack_in_recovery(v, ack)
    }

    /// Leaves the episode, but keeps the reports: RFC 6675, section 5.1, permits this, given a test for reneging. The
    /// receiver has reneged if the first segment is reported but not acknowledged (Linux: `tcp_check_sack_reneging`).
    /// All reports are then discarded (RFC 2018, section 8).
    fn on_timeout(&mut self, v: &mut View<'_>) {
        if v.flight.reported.hole(v.s.una).0 != v.s.una {
            v.flight.reported.clear();
        }
        *self = self.restarted(v, false);
    }

    /// In an episode, a segment may be sent while cwnd - pipe is at least a segment (RFC 6675, section 5, step C).
    fn next(&mut self, v: &mut View<'_>, new: &InOrder<'_>) -> Result<Piece, Wait> {
        if !self.active || v.s.resend_first {
            return Selective::next_outside(v, new);
        }
        let room = self.room(&v.read()).ok_or(Wait::Recovery)?;
        self.next_segment(v, new, room)
    }

    fn room(&self, v: &ViewRef<'_>) -> Option<Room> {
        let (s, reported) = (v.s, &v.flight.reported);
        let (cwnd, mss, in_flight) = (v.window(), u64::from(s.mss), self.pipe);
        if !self.active {
            let skips = s.nxt < s.max || v.cfg.limited_transmit;
            let uncounted = if skips { reported.total() - reported.sacked_from(s.nxt) } else { 0 };
            return Some(Room { window: cwnd, in_flight: s.flight() - uncounted });
        }
        let allowance = v.cc.allowance().filter(|_| self.proportional);
        let most = allowance.map_or(cwnd, |allowance| in_flight + u64::from(allowance));
        (in_flight + mss <= most).then_some(Room { window: most, in_flight })
    }

    fn in_recovery(&self) -> bool {
        self.active
    }

    fn on_sent(&mut self, v: &mut View<'_>, sent: &Transmission) {
        if !self.active {
            return;
        }
        self.pipe += u64::from(sent.piece.len);
        if self.proportional {
            v.cc.count_sent(sent.piece.len);
        }
        // RFC 6675, section 4, `NextSeg`, rule 4: "HighRxt MUST NOT be updated" by the rescue retransmission. If it
        // were, the holes below the rescue would wait for the timer.
        let rescue = std::mem::take(&mut self.rescuing);
        if sent.again && !rescue {
            self.high_rxt = self.high_rxt.max(sent.piece.start + u64::from(sent.piece.len));
        }
    }

    fn waiting_bytes(&self, v: &ViewRef<'_>) -> Option<u64> {
        v.next_repair(self.high_rxt, self.lost_below).filter(|_| self.active)
    }
}
