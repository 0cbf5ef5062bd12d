//! Processing of ACKs for controllers that request the delivery rate ([`crate::Needs::min_rtt_window`]).

use cwndlab_units::Time;

use super::Connection;
use crate::congestion::{AckReport, AfterAck};
use crate::pacing::Pacer;

impl Connection {
    /// Estimated bytes in the network; 0 unless the controller requests the delivery rate.
    pub(super) fn in_flight_measured(&self) -> u64 {
        if self.sender.outstanding.measures_rate() {
            self.recovery.in_flight(&self.sender.snd, &self.sender.outstanding)
        } else {
            0
        }
    }

    /// Returns an [`AfterAck`] whose fields for controllers that request the delivery rate are filled in; the caller
    /// fills in the others.
    pub(super) fn measured(&mut self) -> AfterAck {
        let in_flight_bytes = self.in_flight_measured();
        let s = &mut self.sender;
        let next_departure = s.pacer().map_or(Time::ZERO, Pacer::next);
        let (total_delivered_packets, delivered_at) = s.outstanding.rate().map(|rate| rate.total()).unwrap_or_default();
        AfterAck {
            after_timeout: self.recovery.shown().in_loss,
            in_flight_bytes,
            total_delivered_packets,
            delivered_at,
            next_departure,
            ..AfterAck::default()
        }
    }

    /// Passes an ACK to a controller that requests the delivery rate. Returns whether this call replaces
    /// [`crate::Controller::on_ack`] for this ACK.
    pub(super) fn conclude_measured(&mut self, report: &AckReport, after: &AfterAck) -> bool {
        let Some(rate) = self.sender.outstanding.rate() else { return false };
        rate.note_ce(report.ce_bytes);
        if self.sender.outstanding.has_lost() {
            self.report_lost(report.now);
        }
        let s = &mut self.sender;
        let taken = s.cc.on_measured_ack(report, after);
        if s.cc.limits_itself() {
            if let Some(rate) = s.outstanding.rate() {
                rate.on_app_limited(after.in_flight_bytes.div_ceil(u64::from(s.snd.mss)));
            }
        }
        taken
    }

    /// Reports each segment newly deemed lost to the controller, if the delivery rate is measured.
    pub(super) fn report_lost(&mut self, now: Time) {
        let s = &mut self.sender;
        if let Some((delivered, lost)) = s.outstanding.take_lost() {
            lost.for_each(|lost| s.cc.on_lost(&lost, delivered, now));
        }
    }
}
