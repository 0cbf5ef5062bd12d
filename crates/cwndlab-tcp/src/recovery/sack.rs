//! Conservative loss recovery based on SACK (RFC 6675).

use super::selective::SackEpisode;
use super::{cut, Decision, GROW, HOLD};
use crate::config::TcpConfig;
use crate::sender::{Piece, Sender};

#[derive(Clone, Debug, Default)]
pub(crate) struct Sack {
    pub episode: SackEpisode,
}

impl Sack {
    pub fn on_dup_ack(&mut self, cfg: &TcpConfig, s: &mut Sender) -> bool {
        let lost_below = s.outstanding.lost_below(cfg.dup_thresh, s.mss);
        if self.episode.active {
            self.episode.set_pipe(s, lost_below);
            return false;
        }
        // section 5, steps 1 and 2: DupThresh duplicates, or the first segment is lost by what lies above it
        let found = s.dup_acks >= cfg.dup_thresh || lost_below > s.una;
        if !found || s.una <= self.episode.recover {
            return false;
        }
        cut(cfg, s); // steps 4.1 to 4.3
        self.episode.begin(s);
        // the first hole is lost by definition once recovery begins
        self.episode.set_pipe(s, lost_below.max(s.una + 1)); // step 4.4
        true
    }

    #[inline]
    pub fn on_new_ack(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Decision {
        s.dup_acks = 0;
        if !self.episode.active {
            return GROW;
        }
        self.in_recovery(cfg, s)
    }

    #[inline(never)]
    fn in_recovery(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Decision {
        if s.una > self.episode.recover {
            self.episode.active = false; // step A
        } else {
            let lost_below = s.outstanding.lost_below(cfg.dup_thresh, s.mss);
            self.episode.set_pipe(s, lost_below); // step B
        }
        HOLD
    }

    pub fn on_timeout(&mut self, s: &mut Sender) {
        self.episode.on_timeout(s); // section 5.1
    }

    #[inline]
    pub fn next(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        self.episode.next(cfg, s)
    }
}
