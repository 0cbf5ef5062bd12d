//! The tail of a flight, and the timers (RFC 8985, sections 7 and 8).

use cwndlab_units::Time;

use super::record::SACKED;
use super::{Ack, Pending, Phase, Rack};
use crate::config::TcpConfig;
use crate::congestion::CongestionEvent;
use crate::recovery::{flight_lost, reduce};
use crate::sender::{Piece, Sender};
use crate::timers::{Timer, Timers};

/// `TLP.max_ack_delay` (RFC 8985, section 7.2): the longest delay of an ACK to reckon with.
const MAX_ACK_DELAY: Time = Time::from_millis(200);
/// PTO before the first measurement (RFC 8985, section 7.2).
const FIRST_PTO: Time = Time::from_secs(1);

impl Rack {
    /// The reordering or the probe timer may have expired; false if it was the retransmission timeout.
    pub fn on_expiry(&mut self, cfg: &TcpConfig, s: &mut Sender, now: Time) -> bool {
        self.ack = Ack { now, ..Ack::default() };
        if s.una == s.max || self.pending == Pending::Timeout {
            return false;
        }
        if self.pending == Pending::Reordering {
            if self.detect(cfg, s, now) && self.phase != Phase::Recovery {
                self.begin(cfg, s, u64::from(s.mss), false); // Linux counts one segment here
            }
            return true;
        }
        // RFC 8985, section 7.3: one probe at a time, and one a measured round trip
        self.probe_at = Time::MAX;
        self.timeout_at = now + s.rtt.rto(&cfg.rto);
        self.probe_due = self.probe_end == 0 && (self.measured || cfg.rto.from_first);
        if cfg.rto.from_first && !self.probe_due {
            self.timeout_at = self.first_timeout(cfg, s);
            return self.timeout_at > now;
        }
        true
    }

    /// The timeout counted from when the first segment was last sent.
    fn first_timeout(&self, cfg: &TcpConfig, s: &Sender) -> Time {
        self.sent.first().map_or(Time::MAX, |first| first.at + s.rtt.rto(&cfg.rto))
    }

    /// Whether an episode has begun since this was last asked.
    pub fn take_began(&mut self) -> bool {
        std::mem::take(&mut self.began)
    }

    /// `TLP_send_probe` (RFC 8985, section 7.3): new data if there is and the peer admits it, else the last segment again.
    pub(super) fn probe(&mut self, s: &mut Sender) -> Option<Piece> {
        let fresh = s.end.min(s.edge).saturating_sub(s.max).min(u64::from(s.mss));
        self.probe_repeats = fresh == 0;
        if fresh > 0 {
            return Some(Piece { start: s.max, len: fresh as u32 });
        }
        let Some(last) = self.sent.last().filter(|last| last.flags & SACKED == 0) else {
            self.probe_due = false;
            return None;
        };
        Some(Piece { start: last.start, len: (last.end.min(s.end) - last.start) as u32 })
    }

    /// `TLP_calc_PTO` (RFC 8985, section 7.2), where a probe may be scheduled: by an ACK that `advanced`, or new data.
    pub(super) fn schedule_probe(&mut self, cfg: &TcpConfig, s: &Sender, now: Time, advanced: bool) {
        self.probe_at = Time::MAX;
        let calm = match self.phase {
            Phase::Open => self.sent.sacked == 0,
            Phase::Reduced => true,
            Phase::Recovery | Phase::Loss => false,
        };
        let alone = cfg.rto.from_first || (self.probe_end == 0 && self.measured);
        if !calm || !alone || s.una == s.max {
            return;
        }
        let srtt = s.rtt.srtt(&cfg.rto);
        let mut pto = if srtt > Time::ZERO { srtt * 2 } else { FIRST_PTO };
        if self.sent.len() == 1 {
            pto += MAX_ACK_DELAY;
        }
        self.probe_at = now + pto;
        if cfg.rto.from_first && !advanced {
            self.probe_at = self.probe_at.min(self.first_timeout(cfg, s).max(now));
        }
    }

    /// `TLP_process_ack` (RFC 8985, section 7.4.2).
    pub(super) fn end_probe(&mut self, cfg: &TcpConfig, s: &mut Sender, advanced: bool) {
        if self.probe_end == 0 || s.una < self.probe_end {
            return;
        }
        let beyond = s.una > self.probe_end;
        // the original and the probe have both arrived: DSACK says so, or a plain duplicate ACK
        let both = self.ack.dsack || (!advanced && self.ack.delivered == 0);
        if !self.probe_repeats || both {
            self.probe_end = 0;
        } else if beyond {
            // the probe has repaired a loss, which congestion control is to know of
            self.probe_end = 0;
            if self.phase == Phase::Open {
                reduce(cfg, s, CongestionEvent::Loss, flight_lost(s).max(u64::from(s.mss)));
                self.doubt.settle();
            }
        }
    }

    /// Puts the earliest of the three timers into the retransmission timer's place; a place that was changed in between
    /// holds a new retransmission timeout.
    pub fn arm(&mut self, s: &Sender, timers: &mut Timers) {
        let place = timers.at(Timer::Retransmit);
        if place != self.armed {
            self.timeout_at = place;
        }
        self.armed = place;
        self.pending = Pending::Timeout;
        if s.una == s.max || place.is_never() {
            return; // nothing is out, or the persist timer's
        }
        self.armed = self.timeout_at;
        if self.reordering_at < self.timeout_at {
            (self.pending, self.armed) = (Pending::Reordering, self.reordering_at);
        } else if !self.probe_at.is_never() {
            // a timeout that is due before the probe becomes the probe (section 7.2)
            (self.pending, self.armed) = (Pending::Probe, self.probe_at.min(self.timeout_at));
        }
        timers.set(Timer::Retransmit, self.armed);
    }

    /// As [`Rack::arm`], after the place's expiry was no timeout.
    pub fn rearm(&mut self, s: &Sender, timers: &mut Timers) {
        timers.set(Timer::Retransmit, self.armed);
        self.arm(s, timers);
    }
}
