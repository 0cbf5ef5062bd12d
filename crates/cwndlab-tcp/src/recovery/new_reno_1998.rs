//! NewReno as the one-way agents of 1998 have it (Fall and Floyd 1996, section 2.3; ns-2's Agent/TCP/Newreno). It differs from
//! RFC 6582's in these rules: the first two duplicate ACKs release nothing, each ACK of an episode releases at most two
//! segments, deflation is by whole segments, without deflation a partial ACK ends the inflation, and the ACK that ends an episode
//! opens the window like any other.

use super::{deflate, inflate, reno_1998, Decision, GROW, HOLD};
use crate::config::TcpConfig;
use crate::congestion::{AckReport, Episode};
use crate::sender::{Piece, Room, Sender};

/// Pieces that an ACK of an episode releases, without the first segment (RFC 6582, section 5 leaves the burst to the
/// implementation).
const BURST: u8 = 2;

#[derive(Clone, Debug, Default)]
pub(crate) struct NewReno1998 {
    pub active: bool,
    /// Highest position sent when the episode began, or at the last timeout.
    recover: u64,
    /// Whether the episode has had a partial ACK: only the first restarts an impatient timer.
    partial_seen: bool,
    /// Pieces that may still go before the next ACK of an episode.
    burst_left: u8,
}

impl NewReno1998 {
    pub fn on_dup_ack(&mut self, cfg: &TcpConfig, s: &mut Sender) -> bool {
        let begins = inflate(cfg, s, self.active, self.recover, 0);
        if begins {
            *self = NewReno1998 { active: true, recover: s.max - 1, ..NewReno1998::default() };
        }
        self.burst_left = BURST;
        begins
    }

    #[inline]
    pub fn on_new_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, ack: &AckReport) -> Decision {
        if !self.active {
            s.dup_acks = 0;
            return GROW;
        }
        self.in_recovery(cfg, s, ack)
    }

    #[inline(never)]
    fn in_recovery(&mut self, cfg: &TcpConfig, s: &mut Sender, ack: &AckReport) -> Decision {
        if s.una > self.recover {
            self.active = false;
            s.dup_acks = 0;
            s.inflation = 0;
            return GROW;
        }
        s.resend_first = true;
        let knobs = cfg.recovery.new_reno();
        if knobs.partial_window_deflation {
            // cwnd keeps its fraction of a segment
            let mss = s.mss;
            deflate(s, ack.acked_bytes, |bytes| Episode::DeflatedBySegments { segments: bytes.div_ceil(mss) });
        } else {
            s.inflation = 0;
        }
        self.burst_left = BURST;
        let first = !std::mem::replace(&mut self.partial_seen, true);
        Decision { restart_timer: first || !knobs.impatient, ..HOLD }
    }

    pub fn on_timeout(&mut self, s: &mut Sender) {
        self.active = false;
        self.recover = s.max - 1;
        s.inflation = 0;
    }

    /// See [`super::Recovery::room`].
    pub fn room(&self, cfg: &TcpConfig, s: &Sender) -> Option<Room> {
        if self.active && self.burst_left == 0 {
            return None;
        }
        reno_1998::room(cfg, s)
    }

    #[inline]
    pub fn next(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        if !self.active || s.resend_first {
            return reno_1998::next(cfg, s);
        }
        let left = self.burst_left.checked_sub(1)?;
        let piece = reno_1998::next(cfg, s)?;
        self.burst_left = left;
        Some(piece)
    }
}
