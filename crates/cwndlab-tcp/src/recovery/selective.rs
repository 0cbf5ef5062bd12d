//! What the recoveries with SACK share: an episode and its walk over the holes (RFC 6675, sections 3 to 5).

use crate::config::TcpConfig;
use crate::sender::{Piece, Room, Sender};

/// One episode.
#[derive(Clone, Debug, Default)]
pub(crate) struct SackEpisode {
    pub active: bool,
    /// `RecoveryPoint`: highest position sent when it began, or at the last timeout.
    pub recover: u64,
    /// `HighRxt`: one past the highest position sent again in this episode.
    pub high_rxt: u64,
    /// Everything unreported below this is lost.
    pub lost_below: u64,
    /// Pipe: bytes thought to be in the network, as of the last ACK, plus what was sent since.
    pub pipe: u64,
    /// Whether the one rescue retransmission of the episode has gone (RFC 6675, section 4, `NextSeg`, rule 4).
    rescued: bool,
    /// The piece chosen last is that one.
    rescuing: bool,
    /// Bytes that the present ACK shows to be lost.
    newly_lost: u32,
}

impl SackEpisode {
    pub fn begin(&mut self, s: &Sender) {
        *self = SackEpisode { active: true, recover: s.max - 1, high_rxt: s.una, ..SackEpisode::default() };
    }

    /// RFC 6675, section 5.1: what was reported may be used on, given a test for reneging. The first segment being reported
    /// and yet not acknowledged is one (Linux: `tcp_check_sack_reneging`): then all is forgotten (RFC 2018, section 8).
    pub fn on_timeout(&mut self, s: &mut Sender) {
        if s.outstanding.hole(s.una).0 != s.una {
            s.outstanding.forget_reports();
        }
        *self = SackEpisode { recover: s.max - 1, high_rxt: s.una, ..SackEpisode::default() };
    }

    /// `SetPipe` (RFC 6675, section 4) by intervals: what is neither reported nor lost, plus what was sent again.
    pub fn set_pipe(&mut self, s: &mut Sender, lost_below: u64) {
        // what has gone again has been counted
        let before = self.lost_end(s).max(self.high_rxt);
        self.lost_below = lost_below.max(s.una);
        let end = self.lost_end(s);
        if end > before {
            let reported = s.outstanding.reported_from(before) - s.outstanding.reported_from(end);
            self.newly_lost = (end - before - reported) as u32;
        }
        self.high_rxt = self.high_rxt.max(s.una);
        let not_lost = s.max.saturating_sub(self.lost_below) - s.outstanding.reported_from(self.lost_below);
        let sent_again = self.high_rxt - s.una - s.outstanding.reported_below(self.high_rxt);
        self.pipe = not_lost + sent_again;
    }

    /// One past what is lost: of the first hole, lost by definition when an episode begins, its first segment.
    fn lost_end(&self, s: &Sender) -> u64 {
        if self.lost_below == s.una + 1 {
            s.una + u64::from(s.first().len)
        } else {
            self.lost_below.max(s.una)
        }
    }

    /// Bytes that the present ACK shows to be lost; once.
    pub fn take_newly_lost(&mut self) -> u64 {
        u64::from(std::mem::take(&mut self.newly_lost))
    }

    /// A piece went; `again` if it had been sent before.
    #[inline]
    pub fn on_sent(&mut self, piece: Piece, again: bool) {
        let end = piece.start + u64::from(piece.len);
        self.pipe += u64::from(piece.len);
        // rule 4: "HighRxt MUST NOT be updated" by the rescue, or the holes below it would wait for the timer
        let rescue = std::mem::take(&mut self.rescuing);
        if self.active && again && !rescue {
            self.high_rxt = self.high_rxt.max(end);
        }
    }

    /// The next piece where cwnd limits pipe (RFC 6675, section 5, step C): while cwnd - pipe is at least a segment.
    #[inline]
    pub fn next(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        if !self.active || s.resend_first {
            return SackEpisode::next_outside(cfg, s);
        }
        let room = self.room(cfg, s)?;
        self.next_segment(cfg, s, room)
    }

    /// See [`super::Recovery::room`].
    pub fn room(&self, cfg: &TcpConfig, s: &Sender) -> Option<Room> {
        let window = s.window(cfg);
        if self.active {
            return (self.pipe + u64::from(s.mss) <= window).then_some(Room { window, in_flight: self.pipe });
        }
        Some(Room { window, in_flight: s.flight() - SackEpisode::uncounted_outside(cfg, s) })
    }

    /// Reported bytes that do not count as in flight outside recovery.
    fn uncounted_outside(cfg: &TcpConfig, s: &Sender) -> u64 {
        if s.nxt < s.max || cfg.limited_transmit {
            s.outstanding.reported_bytes() - s.outstanding.reported_from(s.nxt)
        } else {
            0
        }
    }

    /// `NextSeg` (RFC 6675, section 4), given that a segment may go.
    pub fn next_segment(&mut self, cfg: &TcpConfig, s: &mut Sender, room: Room) -> Option<Piece> {
        let highest = s.outstanding.highest_reported().unwrap_or(s.una);
        let (hole, hole_end) = s.outstanding.hole(self.high_rxt);
        let piece = |start: u64, end: u64, s: &Sender| Piece {
            start,
            len: end.min(s.end).saturating_sub(start).min(u64::from(s.mss)) as u32,
        };
        // rule 1: the first lost hole not yet sent again
        if hole < highest && hole < self.lost_below {
            return Some(piece(hole, hole_end, s));
        }
        // rule 2: new data
        if let Some(new) = s.next_in_order(cfg, room) {
            return Some(new);
        }
        // rule 3: a hole below a report, though not known to be lost
        if hole < highest {
            return Some(piece(hole, hole_end, s));
        }
        // rule 4: once, the last unreported segment, to find out its fate
        let last = s.max.min(s.end);
        if self.active && !self.rescued && last > highest.max(self.high_rxt) && s.una <= self.recover {
            self.rescued = true;
            self.rescuing = true;
            let start = highest.max(self.high_rxt).max(last.saturating_sub(u64::from(s.mss)));
            return Some(piece(start, last, s));
        }
        None
    }

    /// Outside recovery: in order, over what is reported (after a timeout), with pipe as what is in flight
    /// (RFC 6675, section 5 (3): so a duplicate ACK lets new data go, as RFC 3042 does).
    #[inline]
    pub fn next_outside(cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        if s.resend_first {
            return Some(s.first());
        }
        let window = s.window(cfg);
        if s.outstanding.nothing_reported() {
            return s.next_in_order(cfg, Room { window, in_flight: s.flight() });
        }
        let again = s.nxt < s.max;
        let mut hole_end = u64::MAX;
        if again {
            let hole = s.outstanding.hole(s.nxt);
            s.nxt = hole.0.min(s.max);
            hole_end = hole.1;
        }
        let reported = if again || cfg.limited_transmit { s.outstanding.reported_below(s.nxt) } else { 0 };
        let piece = s.next_in_order(cfg, Room { window, in_flight: s.flight() - reported })?;
        let len = u64::from(piece.len).min(hole_end - piece.start) as u32;
        Some(Piece { len, ..piece })
    }
}
