//! The rules for sending data in order, at SND.NXT: the peer's window, silly window avoidance and Nagle's algorithm.

use crate::config::{NagleRule, TcpConfig};
use crate::flight::Flight;
use crate::send_state::{Piece, Room, SendState};
use crate::socket_options::SocketOptions;

/// Why no data can be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Loss recovery permits nothing before the next ACK.
    Recovery,
    /// cwnd is full.
    Cwnd,
    /// cwnd has no room for a FIN without data. This does not count as a full cwnd.
    CwndForFin,
    /// The peer's window is full.
    PeerWindow,
    /// The application has written nothing more, or too little for a segment.
    Application,
}

/// What of the sender, apart from positions, decides about data in order.
#[derive(Clone, Copy)]
pub(crate) struct InOrder<'a> {
    pub cfg: &'a TcpConfig,
    /// Whether a FIN follows the data.
    pub fin: bool,
    /// Number of binary digits of the largest window that the peer has advertised.
    pub window_bits: u8,
    /// End of the last segment of new data that was shorter than the MSS (low 32 bits of the position).
    pub small_end: u32,
    pub socket: Option<&'a SocketOptions>,
}

impl InOrder<'_> {
    /// Returns the next piece at SND.NXT (new data, or a retransmission after a timeout) that fits into `room` and that
    /// neither silly window avoidance (RFC 1122, section 4.2.3.4) nor Nagle's algorithm holds back.
    pub fn next(&self, s: &SendState, flight: &Flight, room: Room) -> Result<Piece, Wait> {
        let is_new = s.nxt >= s.max;
        if is_new && self.cfg.drains_after_timeout && flight.drains(s.una) {
            return Err(Wait::Recovery); // data outstanding at a timeout must be acknowledged first
        }
        let queued = s.end.saturating_sub(s.nxt);
        if queued == 0 {
            return self.only_fin(s, room);
        }
        let full = u64::from(s.mss);
        let len = self.within_record(s.nxt, queued.min(full));
        if room.in_flight + len > room.window {
            return Err(Wait::Cwnd);
        }
        let offered = s.edge.saturating_sub(s.nxt);
        if offered < len {
            return self.small_window(s, offered);
        }
        // Nagle (RFC 9293, section 3.7.4): a small segment waits while anything is unacknowledged, unless it carries
        // the FIN.
        let holds = || self.socket.is_some_and(SocketOptions::holds);
        if len < full && len == queued && !self.fin && is_new && (holds() || self.waits_for_ack(s)) {
            return Err(Wait::Application);
        }
        Ok(Piece { start: s.nxt, len: len as u32 })
    }

    /// Whether Nagle's algorithm makes a small segment wait.
    pub fn waits_for_ack(&self, s: &SendState) -> bool {
        let beyond = |position: u64| self.small_end.wrapping_sub(position as u32) as i32 > 0;
        let waits = match self.cfg.nagle_rule {
            NagleRule::Rfc1122 => true,
            NagleRule::Minshall => beyond(s.una) && !beyond(s.max),
        };
        self.cfg.nagle && s.una != s.max && waits
    }

    /// Returns how many of the `len` bytes that begin at `start` belong to the same record (`MSG_EOR`) as `start`.
    fn within_record(&self, start: u64, len: u64) -> u64 {
        self.socket.map_or(len, |socket| len.min(socket.record_left(start)))
    }

    fn only_fin(&self, s: &SendState, Room { window, in_flight }: Room) -> Result<Piece, Wait> {
        if !self.fin || s.nxt != s.end {
            return Err(Wait::Application);
        }
        let full = u64::from(s.mss);
        if self.cfg.sends_fin_alone() && in_flight > 0 && in_flight.div_ceil(full) >= window / full {
            return Err(Wait::CwndForFin);
        }
        Ok(Piece { start: s.end, len: 0 })
    }

    /// Returns the piece to send if the peer's window has room for only `offered` bytes, fewer than the next piece has.
    /// Data that was already sent may be retransmitted regardless. New data that fits is sent if it is about half of
    /// the largest window ever advertised (RFC 9293, section 3.8.6.2.1 (3)); otherwise the persist timer will send it.
    fn small_window(&self, s: &SendState, offered: u64) -> Result<Piece, Wait> {
        let len = if s.nxt < s.max {
            (s.max.min(s.end) - s.nxt).min(u64::from(s.mss))
        } else if offered >= (1 << self.window_bits) / 2 {
            offered
        } else {
            0
        };
        if len == 0 {
            return Err(Wait::PeerWindow);
        }
        Ok(Piece { start: s.nxt, len: self.within_record(s.nxt, len) as u32 })
    }

    /// Shortens a piece so that it fits into one segment and does not reach beyond the end of its record or of the
    /// stream.
    pub fn trim(&self, s: &SendState, piece: Piece) -> Piece {
        let len = u64::from(piece.len).min(s.end.saturating_sub(piece.start)).min(u64::from(s.mss));
        Piece { len: self.within_record(piece.start, len) as u32, ..piece }
    }
}
