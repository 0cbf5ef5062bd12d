//! Forward acknowledgment (Mathis & Mahdavi 1996): everything unreported below the forward-most report is lost.
//! Without rampdown and overdamping. Deviation: the agents of 1998 go to slow start from one segment at the start of an
//! episode; here cwnd is halved, as in the paper's section 4.

use super::selective::SackEpisode;
use super::{cut, Decision, GROW, HOLD};
use crate::config::TcpConfig;
use crate::sender::{Piece, Sender};

#[derive(Clone, Debug, Default)]
pub(crate) struct Fack {
    pub episode: SackEpisode,
}

impl Fack {
    /// snd.fack of the paper.
    fn forward(s: &Sender) -> u64 {
        s.outstanding.highest_reported().unwrap_or(s.una)
    }

    pub fn on_dup_ack(&mut self, cfg: &TcpConfig, s: &mut Sender) -> bool {
        let forward = Fack::forward(s);
        if self.episode.active {
            self.episode.set_pipe(s, forward); // awnd = snd.nxt - snd.fack + retran_data
            return false;
        }
        // section 3.2: more than three segments beyond the first hole, or three duplicates
        let gap = forward - s.una;
        let found = gap > u64::from(cfg.dup_thresh) * u64::from(s.mss) || s.dup_acks >= cfg.dup_thresh;
        if !found || s.una <= self.episode.recover {
            return false;
        }
        cut(cfg, s);
        self.episode.begin(s);
        self.episode.set_pipe(s, forward.max(s.una + 1));
        true
    }

    #[inline]
    pub fn on_new_ack(&mut self, s: &mut Sender) -> Decision {
        s.dup_acks = 0;
        if !self.episode.active {
            return GROW;
        }
        if s.una > self.episode.recover {
            self.episode.active = false;
        } else {
            let forward = Fack::forward(s);
            self.episode.set_pipe(s, forward);
        }
        HOLD
    }

    pub fn on_timeout(&mut self, s: &mut Sender) {
        self.episode.on_timeout(s);
    }

    #[inline]
    pub fn next(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        self.episode.next(cfg, s)
    }
}
