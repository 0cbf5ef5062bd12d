//! Probes for losses at the tail of a flight (RFC 8985, section 7).

use cwndlab_units::Time;

use super::{Phase, Rack};
use crate::congestion::{AckReport, Changes, CongestionEvent, WindowChange};
use crate::flight::SACKED;
use crate::recovery::{Expiry, View};
use crate::send_state::Piece;
use crate::timers::retransmit::Reason;

impl Rack {
    /// Processes an expiry of the retransmission timer, which may be set for the timeout, the reordering timer or the
    /// probe.
    pub fn expire(&mut self, v: &mut View<'_>, now: Time) -> Expiry {
        self.deadlines.probed_at = Time::MAX;
        let reason = v.s.timer.reason();
        if v.s.una == v.s.max || matches!(reason, Reason::Rto | Reason::Persist) {
            return Expiry::Timeout;
        }
        let mut changes = Changes::NONE;
        if reason == Reason::Reordering {
            self.counts.reordering_timeouts += 1;
            let began = self.detect(v, now) && self.phase != Phase::Recovery;
            if began {
                // A timer delivers nothing; Linux counts one segment as delivered (`tcp_rack_reo_timeout`).
                let delivered = if v.cfg.delivers_by_timer() { u64::from(v.s.mss) } else { 0 };
                self.begin(v, delivered, false, &mut changes);
            }
            self.reset_timeout(v, now);
            return Expiry::Other { began, changes };
        }
        // RFC 8985, section 7.3: one probe at a time, and one per measured round trip.
        self.probe_due = self.probe_end.is_none() && (self.measured || v.cfg.recovery.has_linux_timers());
        if self.after_probe(v, now) {
            self.counts.loss_probes += u32::from(self.probe_due);
            Expiry::Other { began: false, changes }
        } else {
            Expiry::Timeout
        }
    }

    /// Returns the probe: new data if there is any and the peer's window permits it, otherwise the last segment
    /// (`TLP_send_probe`; RFC 8985, section 7.3).
    pub(super) fn probe(&mut self, v: &View<'_>) -> Option<Piece> {
        let s = &v.s;
        let fresh = s.end.min(s.edge).saturating_sub(s.max).min(u64::from(s.mss));
        self.probe_repeats = fresh == 0;
        if fresh > 0 {
            return Some(Piece { start: s.max, len: fresh as u32 });
        }
        let Some(last) = v.flight.last().filter(|last| last.flags & SACKED == 0) else {
            self.probe_due = false;
            return None;
        };
        Some(Piece { start: last.start, len: (last.end.min(s.end) - last.start) as u32 })
    }

    /// Whether a DSACK reports the probe: a segment that ends where the probe does (Linux: `FLAG_DSACK_TLP`).
    pub(super) fn is_probe(&self, dsack: Option<(u64, u64)>, mss: u32) -> bool {
        dsack.is_some_and(|(start, end)| self.probe_end == Some(end) && end - start <= u64::from(mss))
    }

    /// `TLP_process_ack` (RFC 8985, section 7.4.2). `of_probe`: a DSACK reports the probe.
    pub(super) fn end_probe(
        &mut self,
        v: &View<'_>,
        ack: &AckReport,
        delivered: u64,
        of_probe: bool,
        changes: &mut Changes,
    ) {
        let s = &v.s;
        let Some(probe_end) = self.probe_end.filter(|&end| s.una >= end) else { return };
        let beyond = s.una > probe_end;
        // The original and the probe have both arrived, according to a DSACK or an ACK that carries and delivers nothing.
        let dsack = if v.cfg.matches_dsack_of_probe() { of_probe } else { ack.dsack.is_some() };
        let both = dsack || (ack.is_bare && delivered == 0);
        if !self.probe_repeats || both {
            self.probe_end = None;
        } else if beyond {
            // The probe has repaired a loss, to which congestion control must respond.
            self.probe_end = None;
            if self.phase == Phase::Open {
                let flight_bytes = (ack.prior_flight_bytes as u32).max(s.mss);
                changes.push(WindowChange::Cut { event: CongestionEvent::Loss, flight_bytes, recover_fs: 0 });
                self.evidence.clear();
            }
        }
    }
}
