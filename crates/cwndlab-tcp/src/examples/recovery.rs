use crate::config::RecoveryRules;
use crate::congestion::AckReport;
use crate::in_order::{InOrder, Wait};
use crate::recovery::{begins, cumulative_room, cut, next_cumulative};
use crate::recovery::{Algorithm, Outcome, View, ViewRef};
use crate::send_state::{Piece, Room};

/// Fast retransmit alone: the third duplicate ACK halves the window and retransmits the first segment.
#[derive(Clone, Debug, Default)]
struct FastRetransmit {
    /// Highest position sent when the window was last reduced.
    recover: u64,
}

impl Algorithm for FastRetransmit {
    fn on_dup_ack(&mut self, v: &mut View<'_>, _: &AckReport, _: u64) -> Outcome {
        if !begins(v, self.recover) {
            return Outcome::NOTHING;
        }
        self.recover = v.s.max - 1;
        cut(v)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::AckKind;
    use crate::recovery::TakeAck as _;
    use crate::sender::Sender;
    use crate::Profile;

    #[test]
    fn the_third_duplicate_cuts_the_window_and_sends_the_first_segment_again() {
        let cfg = crate::TcpConfig { mss: 100, ..Profile::Rfc5681.config() };
        let mut s = Sender::new(&cfg, 100);
        (s.snd.end, s.snd.nxt, s.snd.max) = (501, 501, 501);
        let mut recovery = FastRetransmit::default();
        let mut take = |s: &mut Sender| {
            let ack = AckReport {
                kind: AckKind::Duplicate,
                ..s.snd.report(&cfg, cwndlab_units::Time::ZERO, (0, 0), 0, None)
            };
            recovery.take_ack(&mut s.view(&cfg), &ack).began
        };
        assert_eq!([take(&mut s), take(&mut s), take(&mut s)], [false, false, true]);
        let new = InOrder { cfg: &cfg, fin: false, window_bits: 0, small_end: 0, socket: None };
        assert_eq!(recovery.next(&mut s.view(&cfg), &new), Ok(Piece { start: 1, len: 100 }));
    }
}
