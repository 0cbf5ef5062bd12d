//! NewReno: fast recovery that lasts until all data outstanding at its start is acknowledged (RFC 6582).
//!
//! By the rules of the one-way agents of 1998 (Fall and Floyd 1996, section 2.3; ns-2's Agent/TCP/Newreno), NewReno
//! differs from the RFC as follows:
//! - Nothing is sent in response to the first two duplicate ACKs.
//! - At most two segments are sent in response to each ACK of an episode.
//! - A partial ACK deflates the window by whole segments. If deflation is off, it ends the inflation instead.
//! - The ACK that ends an episode opens the window like any other.

use super::{cumulative_room, inflate, next_cumulative, Algorithm, Outcome, Transmission, View, ViewRef};
use crate::config::RecoveryRules;
use crate::congestion::{AckReport, Changes, WindowChange};
use crate::in_order::{InOrder, Wait};
use crate::send_state::{Piece, Room, SendState};

/// Maximum number of segments sent in response to an ACK of an episode by the rules of 1998, in addition to the first
/// segment (RFC 6582, section 5, leaves the size of the burst to the implementation).
const BURST: u8 = 2;

#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    rules: RecoveryRules,
    active: bool,
    /// Whether the episode has had a partial ACK: in the impatient variant, only the first one restarts the timer (RFC
    /// 6582, section 4).
    partial_seen: bool,
    /// Pieces that may still be sent before the next ACK of an episode, by the rules of 1998.
    burst_left: u8,
    /// RFC 6582, section 3.2: highest position sent when recovery began, or at the last timeout.
    recover: u64,
}

impl NewReno {
    pub fn new(rules: RecoveryRules) -> Self {
        NewReno { rules, active: false, partial_seen: false, burst_left: 0, recover: 0 }
    }

    pub fn is_ns2(&self) -> bool {
        self.rules == RecoveryRules::Ns2_1998
    }

    /// Whether ns-2's rules of 1998 permit no more segments before the next ACK of the episode.
    fn burst_is_over(&self) -> bool {
        self.is_ns2() && self.active && self.burst_left == 0
    }

    fn on_ack_in_recovery(&mut self, v: &mut View<'_>, ack: &AckReport) -> Outcome {
        if v.s.una > self.recover {
            // Step 3, full acknowledgment: cwnd becomes ssthresh.
            self.active = false;
            v.s.dup_acks = 0;
            v.s.inflation = 0;
            return if self.is_ns2() {
                Outcome::GROW
            } else {
                Outcome { changes: Changes::one(WindowChange::End), ..Outcome::HOLD }
            };
        }
        // Step 3, partial acknowledgment: retransmit the next hole, and deflate the window by the acknowledged bytes
        // less one segment.
        v.s.resend_first = true;
        self.burst_left = BURST;
        let knobs = v.cfg.recovery.new_reno();
        let mut changes = Changes::NONE;
        if knobs.partial_window_deflation {
            changes = self.deflate(v.s, ack.acked_bytes);
        } else if self.is_ns2() {
            v.s.inflation = 0;
        }
        let first = !std::mem::replace(&mut self.partial_seen, true);
        Outcome { restart_timer: first || !knobs.impatient, changes, ..Outcome::HOLD }
    }

    /// Deflates the window by the bytes that a partial ACK acknowledges (`acked`): first the inflation, then cwnd. Adds
    /// one segment back if these are at least one segment (RFC 6582, section 3.2, step 3). Returns the step that
    /// reduces cwnd.
    fn deflate(&self, s: &mut SendState, acked: u64) -> Changes {
        let (acked, mss) = (acked.min(u64::from(u32::MAX)) as u32, s.mss);
        let rest = acked.saturating_sub(s.inflation);
        s.inflation = s.inflation.saturating_sub(acked) + if acked >= mss { mss } else { 0 };
        match rest {
            0 => Changes::NONE,
            // ns-2 counts cwnd in packets, as a real number, and subtracts whole packets.
            rest if self.is_ns2() => Changes::one(WindowChange::DeflateBySegments(rest.div_ceil(mss))),
            bytes => Changes::one(WindowChange::Deflate(bytes)),
        }
    }
}

impl Algorithm for NewReno {
    fn on_dup_ack(&mut self, v: &mut View<'_>, _: &AckReport, _: u64) -> Outcome {
        let outcome = inflate(v, self.active, self.recover, v.cfg.recovery.new_reno().extra_segments);
        if outcome.began {
            *self = NewReno { active: true, recover: v.s.max - 1, ..NewReno::new(self.rules) };
        }
        self.burst_left = BURST;
        outcome
    }

    fn on_new_ack(&mut self, v: &mut View<'_>, ack: &AckReport) -> Outcome {
        if !self.active {
            v.s.dup_acks = 0;
            return Outcome::GROW;
        }
        self.on_ack_in_recovery(v, ack)
    }

    fn on_timeout(&mut self, v: &mut View<'_>) {
        // RFC 6582, section 3.2, step 4.
        self.active = false;
        self.recover = v.s.max - 1;
        v.s.inflation = 0;
    }

    fn next(&mut self, v: &mut View<'_>, new: &InOrder<'_>) -> Result<Piece, Wait> {
        if self.burst_is_over() && !v.s.resend_first {
            return Err(Wait::Recovery);
        }
        next_cumulative(v, new, self.rules)
    }

    fn on_sent(&mut self, v: &mut View<'_>, sent: &Transmission) {
        if self.active && (!sent.again || sent.piece.start > v.s.una) {
            self.burst_left = self.burst_left.saturating_sub(1);
        }
    }

    fn room(&self, v: &ViewRef<'_>) -> Option<Room> {
        if self.burst_is_over() {
            return None;
        }
        cumulative_room(v, self.rules)
    }

    fn in_recovery(&self) -> bool {
        self.active
    }
}
