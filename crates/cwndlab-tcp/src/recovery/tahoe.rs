//! Tahoe: fast retransmit, then slow start from one segment (Jacobson 1988; Fall & Floyd 1996, section 2.1).

use super::{begins, cumulative_room, next_cumulative, Algorithm, Outcome, View, ViewRef};
use crate::config::RecoveryRules;
use crate::congestion::{AckReport, Changes, WindowChange};
use crate::in_order::{InOrder, Wait};
use crate::send_state::{Piece, Room};

#[derive(Clone, Debug, Default)]
pub(crate) struct Tahoe {
    /// Highest position sent when the window was last reduced. It limits fast retransmits to one per window of data.
    recover: u64,
}

impl Algorithm for Tahoe {
    fn on_dup_ack(&mut self, v: &mut View<'_>, _: &AckReport, _: u64) -> Outcome {
        if !begins(v, self.recover) {
            return Outcome::NOTHING;
        }
        self.recover = v.s.max - 1;
        // Everything from the first hole on is retransmitted as the window opens.
        v.s.nxt = v.s.una;
        let mut changes = Changes::cut(v.s.flight_size());
        changes.push(WindowChange::LossWindow);
        Outcome { changes, ..Outcome::BEGAN }
    }

    fn on_new_ack(&mut self, v: &mut View<'_>, _: &AckReport) -> Outcome {
        v.s.dup_acks = 0;
        Outcome::GROW
    }

    fn on_timeout(&mut self, v: &mut View<'_>) {
        self.recover = v.s.max - 1;
    }

    fn next(&mut self, v: &mut View<'_>, new: &InOrder<'_>) -> Result<Piece, Wait> {
        next_cumulative(v, new, RecoveryRules::Standard)
    }

    fn room(&self, v: &ViewRef<'_>) -> Option<Room> {
        cumulative_room(v, RecoveryRules::Standard)
    }

    fn in_recovery(&self) -> bool {
        false
    }
}
