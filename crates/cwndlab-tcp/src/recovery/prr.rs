//! Proportional rate reduction (RFC 9937) over the loss detection of RFC 6675.

use super::selective::SackEpisode;
use super::{cut, Decision, GROW, HOLD};
use crate::config::{ReductionBase, TcpConfig};
use crate::congestion::{AckReport, Episode};
use crate::sender::{Piece, Room, Sender};

/// The window of an episode.
#[derive(Clone, Debug, Default)]
pub(super) struct Reduction {
    /// Bytes delivered during recovery.
    delivered_bytes: u32,
    /// Bytes sent during recovery.
    out_bytes: u32,
    /// `RecoverFS`.
    recover_fs: u32,
    /// Bytes that may be sent before the next ACK (`SndCnt`).
    pub send_count: u32,
}

impl Reduction {
    /// `RecoverFS` (RFC 9937, section 6.1): the flight less what SACK had reported before the ACK that begins the episode,
    /// which reports `delivered` bytes; or the window itself, `before` bytes, as in Linux.
    pub fn new(cfg: &TcpConfig, s: &Sender, before: u64, delivered: u64) -> Self {
        let base = match cfg.reduce_from {
            ReductionBase::FlightSize => (s.flight_size() - s.outstanding.reported_bytes()) + delivered,
            ReductionBase::Cwnd => before,
            ReductionBase::CwndWholeSegments => before / u64::from(s.mss) * u64::from(s.mss),
        };
        Reduction { recover_fs: base.max(1) as u32, ..Reduction::default() } // windows are at most 2^30
    }

    /// RFC 9937, section 6.2, on every ACK of the episode; `pipe` bytes are thought to be in the network. Where windows are
    /// counted in whole segments, a part of one is rounded up.
    pub fn on_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, pipe: u64, delivered: u64, safe: bool) {
        if delivered == 0 && self.out_bytes > 0 {
            return;
        }
        let (mss, ssthresh) = (u64::from(s.mss), s.cc.ssthresh());
        self.delivered_bytes += delivered as u32;
        let (total, out) = (u64::from(self.delivered_bytes), u64::from(self.out_bytes));
        let mut count = if pipe > ssthresh {
            // proportional rate reduction
            let share = (total * ssthresh).div_ceil(u64::from(self.recover_fs.max(1)));
            let unit = if cfg.counts_whole_segments() { mss } else { 1 };
            share.next_multiple_of(unit).saturating_sub(out)
        } else {
            // conservation bound; with a safe ACK, slow start up to ssthresh
            let mut bound = total.saturating_sub(out).max(delivered);
            if safe {
                bound += mss;
            }
            bound.min(ssthresh - pipe)
        };
        if self.out_bytes == 0 {
            count = count.max(mss); // the fast retransmit goes in any case
        }
        self.send_count = count as u32;
        s.cc.on_episode(Episode::Proportional { pipe, allowance: count }, s.mss);
    }

    pub fn on_sent(&mut self, bytes: u32) {
        self.out_bytes += bytes;
        self.send_count = self.send_count.saturating_sub(bytes);
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Prr {
    pub episode: SackEpisode,
    window: Reduction,
}

impl Prr {
    pub fn on_dup_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, delivered: u64) -> bool {
        let lost_below = s.outstanding.lost_below(cfg.dup_thresh, s.mss);
        if self.episode.active {
            self.episode.set_pipe(s, lost_below);
            self.window.on_ack(cfg, s, self.episode.pipe, delivered, false);
            return false;
        }
        let found = s.dup_acks >= cfg.dup_thresh || lost_below > s.una;
        if !found || s.una <= self.episode.recover {
            return false;
        }
        let before = s.cc.cwnd();
        cut(cfg, s);
        *self = Prr { window: Reduction::new(cfg, s, before, delivered), ..Prr::default() };
        self.episode.begin(s);
        self.episode.set_pipe(s, lost_below.max(s.una + 1));
        // RFC 9937, section 6.2: what was delivered before the trigger does not count; the fast retransmit is always sent
        self.window.on_ack(cfg, s, self.episode.pipe, delivered, false);
        true
    }

    pub fn on_sent(&mut self, piece: Piece, again: bool) {
        self.episode.on_sent(piece, again);
        if self.episode.active {
            self.window.on_sent(piece.len);
        }
    }

    #[inline]
    pub fn on_new_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, ack: &AckReport) -> Decision {
        s.dup_acks = 0;
        if !self.episode.active {
            return GROW;
        }
        self.in_recovery(cfg, s, ack)
    }

    #[inline(never)]
    fn in_recovery(&mut self, cfg: &TcpConfig, s: &mut Sender, ack: &AckReport) -> Decision {
        if s.una > self.episode.recover {
            // RFC 9937, section 6.4: recovery ends at ssthresh
            self.episode.active = false;
            s.cc.on_episode(Episode::Ended, s.mss);
        } else {
            let lost_before = self.episode.lost_below;
            let lost_below = s.outstanding.lost_below(cfg.dup_thresh, s.mss);
            self.episode.set_pipe(s, lost_below);
            // RFC 9937, section 6: an ACK is safe that advances SND.UNA and finds no further loss
            let safe = self.episode.lost_below <= lost_before.max(s.una);
            self.window.on_ack(cfg, s, self.episode.pipe, ack.delivered_bytes, safe);
        }
        HOLD
    }

    pub fn on_timeout(&mut self, s: &mut Sender) {
        self.episode.on_timeout(s);
    }

    /// See [`super::Recovery::room`].
    pub fn room(&self, cfg: &TcpConfig, s: &Sender) -> Option<Room> {
        if !self.episode.active || s.cc.grant().owns_recovery {
            return self.episode.room(cfg, s);
        }
        let (in_flight, allowance) = (self.episode.pipe, self.window.send_count);
        (allowance >= s.mss).then(|| Room { window: in_flight + u64::from(allowance), in_flight })
    }

    #[inline]
    pub fn next(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        if !self.episode.active || s.resend_first {
            return SackEpisode::next_outside(cfg, s);
        }
        let room = self.room(cfg, s)?;
        self.episode.next_segment(cfg, s, room)
    }
}
