//! Reno: fast retransmit and fast recovery (RFC 5681, section 3.2).
//!
//! By the rules of the one-way agents of 1998 (Fall and Floyd 1996, section 2.2; ns-2's Agent/TCP/Reno), nothing is
//! sent in response to the first two duplicate ACKs, one fast retransmit responds to all losses of a window, and the
//! ACK that ends a recovery opens the window like any other.

use super::{cumulative_room, inflate, next_cumulative, Algorithm, Outcome, View, ViewRef};
use crate::config::{RecoveryEnd, RecoveryRules, RetransmitGuard};
use crate::congestion::{AckReport, Changes, WindowChange};
use crate::in_order::{InOrder, Wait};
use crate::send_state::{Piece, Room};

#[derive(Clone, Debug)]
pub(crate) struct Reno {
    rules: RecoveryRules,
    active: bool,
    /// A timeout occurred in recovery, and the next ACK of new data opens cwnd to ssthresh
    /// ([`RenoConfig::outlives_timeout`](crate::RenoConfig)).
    resumes: bool,
    /// Highest position sent when the window was last reduced. RFC 5681 has no such guard; RFC 6582, section 3.2, added
    /// it.
    recover: u64,
}

impl Reno {
    pub fn new(rules: RecoveryRules) -> Self {
        Reno { rules, active: false, resumes: false, recover: 0 }
    }

    pub fn is_ns2(&self) -> bool {
        self.rules == RecoveryRules::Ns2_1998
    }
}

impl Algorithm for Reno {
    fn on_dup_ack(&mut self, v: &mut View<'_>, _: &AckReport, _: u64) -> Outcome {
        let knobs = v.cfg.recovery.reno();
        if !self.active && v.cc.cwnd() < u64::from(knobs.dup_ack_window_segments) * u64::from(v.s.mss) {
            v.s.dup_acks = v.s.dup_acks.saturating_sub(1); // Linux 2.0 does not count this duplicate
            return Outcome::NOTHING;
        }
        let outcome = inflate(v, self.active, self.recover, knobs.extra_segments);
        self.active |= outcome.began;
        if outcome.began && knobs.retransmit_guard == RetransmitGuard::Recovery {
            self.recover = v.s.max - 1;
        }
        outcome
    }

    fn on_new_ack(&mut self, v: &mut View<'_>, _: &AckReport) -> Outcome {
        v.s.dup_acks = 0;
        if std::mem::take(&mut self.resumes) {
            return Outcome { changes: Changes::one(WindowChange::End), ..Outcome::HOLD };
        }
        if !self.active {
            return Outcome::GROW;
        }
        self.active = false;
        v.s.inflation = 0; // step 6: cwnd is ssthresh again
        if v.cfg.recovery.reno().ends_with == RecoveryEnd::OutstandingPlusTwo {
            let mss = u64::from(v.s.mss);
            let window = (v.s.flight_size().div_ceil(mss) + 2) * mss;
            return Outcome { changes: Changes::one(WindowChange::Window(window as u32)), ..Outcome::GROW };
        }
        if self.is_ns2() {
            Outcome::GROW
        } else {
            Outcome::HOLD
        }
    }

    fn on_timeout(&mut self, v: &mut View<'_>) {
        self.resumes |= self.active && v.cfg.recovery.reno().outlives_timeout;
        self.active = false;
        self.recover = v.s.max - 1;
        v.s.inflation = 0;
    }

    fn next(&mut self, v: &mut View<'_>, new: &InOrder<'_>) -> Result<Piece, Wait> {
        next_cumulative(v, new, self.rules)
    }

    fn room(&self, v: &ViewRef<'_>) -> Option<Room> {
        cumulative_room(v, self.rules)
    }

    fn in_recovery(&self) -> bool {
        self.active
    }

    fn is_calm(&self) -> bool {
        !self.active && !self.resumes
    }
}
