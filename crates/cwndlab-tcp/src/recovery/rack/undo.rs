//! Spurious reductions: detected by F-RTO (RFC 5682, section 3.1), DSACK (RFC 3708) or timestamps (Eifel, RFC 3522),
//! and undone as in Linux (RFC 4015 allows it).

use cwndlab_units::Time;

use super::{segments_apart, Arrivals, Phase, Rack};
use crate::config::TcpConfig;
use crate::congestion::{AckKind, AckReport, Changes, WindowChange};
use crate::recovery::View;
use crate::send_state::SendState;

/// Evidence that the last reduction was spurious.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    /// First unacknowledged position when the window was reduced; 0 if nothing can be undone.
    since: u64,
    /// Retransmitted segments that no DSACK has reported; `None` before the first retransmission.
    unexplained: Option<u32>,
    /// Time of the first retransmission.
    first_again: Option<Time>,
    /// Whether F-RTO is in progress (RFC 5682, section 3.1, steps 2 and 3).
    pub frto: bool,
}

impl Evidence {
    /// Begins to collect evidence after a reduction of the window, with `again` retransmitted segments in flight.
    pub fn start(&mut self, s: &SendState, again: u32) {
        let first_again = self.first_again.filter(|_| again > 0);
        *self = Evidence { since: s.una, unexplained: (again > 0).then_some(again), first_again, frto: self.frto };
    }

    /// Discards the evidence: the last reduction can no longer be undone.
    pub fn clear(&mut self) {
        *self = Evidence::default();
    }

    pub fn on_again(&mut self, now: Time, segments: u32) {
        self.unexplained = Some(self.unexplained.unwrap_or(0) + segments);
        self.first_again.get_or_insert(now);
    }

    /// Counts retransmissions that arrived as duplicates, according to DSACK, as unnecessary (RFC 3708, section 2).
    pub fn on_dsack(&mut self, (start, end): (u64, u64), una: u64, mss: u32) {
        if self.since != 0 && end > self.since && end <= una {
            let segments = (end - start).div_ceil(u64::from(mss)) as u32;
            self.unexplained = self.unexplained.map(|left| left.saturating_sub(segments));
        }
    }

    /// Whether a reduction may still be undone.
    pub fn is_open(&self) -> bool {
        self.since != 0
    }

    /// Whether DSACKs have reported every retransmission as unnecessary.
    pub fn explained(&self) -> bool {
        self.since != 0 && self.unexplained == Some(0)
    }

    /// Whether an echo had reduced the window, so that nothing can be undone, and the repair of the loss that followed
    /// was not needed.
    pub fn is_of_echo_alone(&self, cfg: &TcpConfig, echo: Option<u32>) -> bool {
        self.since == 0 && self.precedes_repair(cfg, echo)
    }

    /// Whether the reduction may be undone, and an ACK of new data was caused by an original.
    fn answers_original(&self, cfg: &TcpConfig, echo: Option<u32>) -> bool {
        self.since != 0 && self.precedes_repair(cfg, echo)
    }

    /// Whether nothing was retransmitted, or the ACK echoes a timestamp older than that of the first retransmission
    /// (RFC 3522, section 3.2, step 5; `tcp_packet_delayed`).
    fn precedes_repair(&self, cfg: &TcpConfig, echo: Option<u32>) -> bool {
        self.first_again.is_none_or(|at| echo.is_some_and(|echo| cfg.precedes(echo, at)))
    }
}

impl Rack {
    /// Undoes the last reduction. If `lost` is set, also removes all loss marks.
    pub(super) fn undo(&mut self, v: &mut View<'_>, changes: &mut Changes, lost: bool) {
        if lost {
            v.flight.forgive();
        }
        changes.push(WindowChange::Undo);
        self.advanced = true; // `tcp_undo_cwnd_reduction`
        self.counts.undos += 1;
        self.evidence.clear();
    }

    /// Records that data from `una` on, sent once, has arrived after data that SACK reports above it
    /// (`tcp_try_undo_partial`, `tcp_check_sack_reordering`).
    fn note_reordering(&mut self, v: &View<'_>, una: u64) {
        let inferred = self.by_duplicates && v.s.dup_acks > 0;
        let highest = if inferred { v.s.max } else { v.flight.reported.highest().unwrap_or(v.s.una) };
        if v.cfg.remembers_undone_reordering() && una < highest {
            self.reorderings += 1;
            self.reordering = self.reordering.max(segments_apart(highest - una, v.s.mss));
        }
    }

    /// Undoes the reduction if an ACK during fast recovery shows that it was spurious. Returns whether to look for
    /// losses.
    pub(super) fn undo_in_recovery(&mut self, v: &mut View<'_>, ack: &AckReport, changes: &mut Changes) -> bool {
        let (advanced, echo) = (ack.kind == AckKind::New, ack.echoed_stamp);
        if advanced && self.evidence.answers_original(v.cfg, echo) {
            self.note_reordering(v, v.s.max - ack.prior_flight_bytes);
            // While retransmissions are in flight, neither undo the reduction nor look for losses nor repair any. The
            // original segment arrived late, so DSACKs will report these retransmissions as unnecessary; the reduction
            // is undone then.
            if v.flight.tally().again > 0 {
                self.new_only = true;
                return false;
            }
            self.undo(v, changes, true);
            self.phase = Phase::Open;
        } else if self.evidence.explained() {
            self.undo(v, changes, false);
            self.phase = Phase::Open;
        }
        true
    }

    /// Undoes the reduction if it was spurious, once all data outstanding at the start of the episode is acknowledged.
    /// Returns whether it was spurious.
    pub(super) fn undo_at_end(&mut self, v: &mut View<'_>, echo: Option<u32>, changes: &mut Changes) -> bool {
        // Without SACK, the time of the first retransmission may have been forgotten (`tcp_packet_delayed`).
        let timed = !self.by_duplicates || self.evidence.first_again.is_some();
        let spurious = self.evidence.explained() || timed && self.evidence.answers_original(v.cfg, echo);
        if spurious {
            self.undo(v, changes, false);
        }
        spurious
    }

    /// Processes an ACK after a timeout: undoes the reduction if the timeout was spurious (F-RTO, DSACK or timestamps),
    /// and leaves the phase `Loss` once all data outstanding at the timeout is acknowledged.
    pub(super) fn after_timeout(
        &mut self,
        v: &mut View<'_>,
        ack: &AckReport,
        arrivals: &Arrivals,
        changes: &mut Changes,
    ) {
        let (advanced, echo) = (ack.kind == AckKind::New, ack.echoed_stamp);
        if advanced && (self.evidence.explained() || self.evidence.answers_original(v.cfg, echo)) {
            self.undo(v, changes, true);
            if !self.by_duplicates {
                self.phase = Phase::Open; // otherwise only F-RTO ends the phase (`tcp_try_undo_loss`)
            }
            return;
        }
        let recovered = v.s.una > self.recover;
        if self.evidence.frto {
            if arrivals.original {
                // RFC 5682, section 3.1, step 3 b: data that was not retransmitted has arrived, so the timeout was
                // spurious.
                self.undo(v, changes, true);
                self.phase = Phase::Open;
                return;
            }
            if v.s.max > self.recover + 1 {
                self.evidence.frto = advanced && !arrivals.reported; // step 3 a
            } else if advanced && !recovered {
                // Step 2 b: send new data, if there is any, instead of data deemed lost.
                self.recover = v.s.max - 1;
                self.new_only = v.s.end > v.s.max && v.s.edge > v.s.max;
                self.evidence.frto = self.new_only;
                return;
            }
        }
        if recovered {
            let undone = self.undo_at_end(v, echo, changes);
            self.phase = Phase::Open;
            self.count_repair(v.cfg, undone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only data that was sent since the reduction and is acknowledged can have been retransmitted for it.
    #[test]
    fn a_duplicate_explains_retransmissions_since_the_reduction() {
        let left = |since, report| {
            let mut evidence = Evidence { since, unexplained: Some(3), ..Evidence::default() };
            evidence.on_dsack(report, 5000, 1000);
            evidence.unexplained
        };
        assert_eq!(left(1000, (1000, 2000)), Some(2));
        assert_eq!(left(1000, (1000, 2001)), Some(1)); // a part is a segment
        assert_eq!(left(1000, (4000, 5000)), Some(2));
        assert_eq!(left(1000, (1001, 5000)), Some(0));
        assert_eq!(left(1000, (4000, 5001)), Some(3)); // not acknowledged
        assert_eq!(left(1000, (0, 1000)), Some(3)); // sent before
        assert_eq!(left(0, (1000, 2000)), Some(3)); // nothing was reduced
    }

    /// `tcp_packet_delayed`
    #[test]
    fn new_data_is_acknowledged_by_originals_where_nothing_was_retransmitted_since_the_reduction() {
        let cfg = crate::Profile::Linux6.config();
        let reduced = Evidence { since: 1, ..Evidence::default() };
        let repaired = Evidence { first_again: Some(Time::from_secs(1)), ..reduced.clone() };
        assert!(reduced.answers_original(&cfg, None));
        assert!(!repaired.answers_original(&cfg, None));
        assert!(!Evidence::default().answers_original(&cfg, None), "nothing can be undone");
    }
}
