//! Without SACK: each duplicate ACK shows that a segment has arrived, but not which one. Linux counts them
//! (`sacked_out` where `tcp_is_reno`), and otherwise recovers as with SACK. [`SendState::dup_acks`] is that count. An
//! ACK of new data lowers it by the segments that the ACK acknowledges beyond the first.

use super::{segments_apart, Arrivals, Phase, Rack};
use crate::congestion::{AckKind, AckReport, Changes};
use crate::flight::REPEATED;
use crate::recovery::View;
use crate::send_state::SendState;

impl Rack {
    /// Counts the arrivals of an ACK.
    pub(super) fn infer_arrivals(&mut self, v: &mut View<'_>, ack: &AckReport) -> Arrivals {
        let advanced = ack.kind == AckKind::New;
        let acked = v.flight.arrived().len() as u32;
        let before = v.s.dup_acks;
        let segments = if acked > 0 {
            // `tcp_remove_reno_sacks`: one segment fills the hole, the others were counted.
            v.s.dup_acks = before.saturating_sub(acked - 1);
            self.bound_duplicates(v, acked);
            acked.saturating_sub(before).max(1)
        } else if ack.kind == AckKind::Duplicate && self.counts_duplicates(v.s) {
            v.s.dup_acks += 1;
            self.bound_duplicates(v, 0);
            let reported = v.s.dup_acks.saturating_sub(before);
            if let Some(rate) = v.flight.rate().filter(|_| reported > 0) {
                rate.arrive_unrecorded(ack.now, u64::from(reported * v.s.mss), u64::from(reported));
            }
            reported
        } else {
            0
        };
        if v.s.una > self.recover && self.phase == Phase::Recovery || advanced && self.phase != Phase::Recovery {
            v.s.dup_acks = 0; // `tcp_reset_reno_sack`
        }
        let once = v.flight.arrived().iter().all(|one| one.sent.flags & REPEATED == 0);
        let original = once && v.flight.arrived().iter().any(|one| one.sent.end <= self.recover + 1);
        let delivered = u64::from(segments) * u64::from(v.s.mss);
        Arrivals { now: ack.now, advanced, delivered, original, ..Arrivals::default() }
    }

    /// Whether a duplicate ACK counts: after a timeout only if new data was sent since (`tcp_process_loss`), and not
    /// after all data of the episode has been acknowledged.
    fn counts_duplicates(&self, s: &SendState) -> bool {
        match self.phase {
            Phase::Open | Phase::Reduced => true,
            Phase::Recovery => s.una <= self.recover,
            Phase::Loss => s.una <= self.recover && s.max > self.recover + 1,
        }
    }

    /// Bounds the count of duplicates: of the outstanding segments, the lost ones, or at least one, have not arrived.
    /// More duplicates than the others show reordering (`tcp_check_reno_reordering`).
    fn bound_duplicates(&mut self, v: &mut View<'_>, acked: u32) {
        let out = v.flight.len() as u32;
        let most = out - v.flight.tally().lost.max(1).min(out);
        if v.s.dup_acks > most {
            v.s.dup_acks = most;
            self.reordering = segments_apart(u64::from(out + acked), 1);
            self.reorderings += 1;
        }
    }

    /// Marks the first segment as lost if there are enough duplicate ACKs, or in recovery if the ACK is a partial one
    /// (`tcp_newreno_mark_lost`). Returns whether it does.
    pub(super) fn detect_by_duplicates(&mut self, v: &mut View<'_>, advanced: bool) -> bool {
        let is_lost = match self.phase {
            Phase::Open | Phase::Reduced => v.s.dup_acks >= self.reordering,
            Phase::Recovery => advanced,
            Phase::Loss => false,
        };
        is_lost && v.flight.lose_first()
    }

    /// Whether all data of the episode has been acknowledged, but nothing sent later: without SACK, the duplicate ACKs of
    /// repairs that were not needed must not begin another episode (RFC 6582, section 1;
    /// `tcp_is_non_sack_preventing_reopen`).
    pub(super) fn waits_for_later_data(&self, s: &SendState) -> bool {
        let repairs = matches!(self.phase, Phase::Recovery | Phase::Loss);
        self.by_duplicates && repairs && s.una == self.recover + 1
    }

    /// While the episode [waits](Rack::waits_for_later_data): undoes a reduction that was spurious. Returns false: no loss
    /// is looked for.
    pub(super) fn undo_while_waiting(&mut self, v: &mut View<'_>, ack: &AckReport, changes: &mut Changes) -> bool {
        if ack.kind == AckKind::New && self.undo_at_end(v, ack.echoed_stamp, changes) {
            self.phase = Phase::Open;
        }
        self.evidence.clear();
        false
    }
}
