//! The tail of a flight (RFC 8985, section 7).

use cwndlab_units::Time;

use super::timer::Pending;
use super::{Phase, Rack};
use crate::config::TcpConfig;
use crate::congestion::{AckKind, AckReport, CongestionEvent};
use crate::flight::SACKED;
use crate::recovery::reduce;
use crate::sender::{Piece, Sender};

/// What the expiry of the timer's place was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expiry {
    /// The retransmission timeout.
    Timeout,
    /// The reordering timer, by which an episode of fast recovery has begun.
    Began,
    /// The reordering or the probe timer, and no more.
    Other,
}

impl Rack {
    /// The retransmission timer's place has expired.
    pub fn on_expiry(&mut self, cfg: &TcpConfig, s: &mut Sender, now: Time) -> Expiry {
        if s.una == s.max || self.deadlines.pending == Pending::Timeout {
            return Expiry::Timeout;
        }
        if self.deadlines.pending == Pending::Reordering {
            self.reordering_timeouts += 1;
            let begins = self.detect(cfg, s, now) && self.phase != Phase::Recovery;
            if begins {
                self.begin(cfg, s, u64::from(s.mss), false); // Linux counts one segment here
            }
            self.reset_timeout(cfg, s, now);
            return if begins { Expiry::Began } else { Expiry::Other };
        }
        // RFC 8985, section 7.3: one probe at a time, and one a measured round trip
        self.probe_due = self.probe_end == 0 && (self.measured || cfg.recovery.has_linux_timers());
        if self.after_probe(cfg, s, now) {
            self.loss_probes += u32::from(self.probe_due);
            Expiry::Other
        } else {
            Expiry::Timeout
        }
    }

    /// `TLP_send_probe` (RFC 8985, section 7.3): new data if there is and the peer admits it, else the last segment again.
    pub(super) fn probe(&mut self, s: &mut Sender) -> Option<Piece> {
        let fresh = s.end.min(s.edge).saturating_sub(s.max).min(u64::from(s.mss));
        self.probe_repeats = fresh == 0;
        if fresh > 0 {
            return Some(Piece { start: s.max, len: s.within_record(s.max, fresh) as u32 });
        }
        let Some(last) = s.outstanding.last().filter(|last| last.flags & SACKED == 0) else {
            self.probe_due = false;
            return None;
        };
        Some(Piece { start: last.start, len: (last.end.min(s.end) - last.start) as u32 })
    }

    /// `TLP_process_ack` (RFC 8985, section 7.4.2).
    pub(super) fn end_probe(&mut self, cfg: &TcpConfig, s: &mut Sender, ack: &AckReport) {
        if self.probe_end == 0 || s.una < self.probe_end {
            return;
        }
        let beyond = s.una > self.probe_end;
        // the original and the probe have both arrived, as shown by a D-SACK or a plain duplicate ACK
        let both = ack.has_dsack || (ack.kind != AckKind::New && self.arrivals.delivered == 0);
        if !self.probe_repeats || both {
            self.probe_end = 0;
        } else if beyond {
            // the probe has repaired a loss, which congestion control is to know of
            self.probe_end = 0;
            if self.phase == Phase::Open {
                let flight = ack.prior_flight_bytes.min(s.cc.cwnd()).max(u64::from(s.mss));
                reduce(cfg, s, CongestionEvent::Loss, flight);
                self.evidence.clear();
            }
        }
    }
}
