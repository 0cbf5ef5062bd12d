//! The short path of most segments that are sent: full segments of new data, and ACKs, both without options that few carry.
//!
//! It gives the header alone, so that the simulator writes it straight into the packet. A property test compares this path with
//! [`Connection::poll_any`].

use cwndlab_units::Time;

use super::output::{Outlook, Polled};
use super::Connection;
use crate::config::TcpConfig;
use crate::segment::{Flags, Header, Segment};
use crate::sender::Piece;
use crate::sequence::to_wire;
use crate::timers::Timer;

/// What [`Connection::poll_quick`] finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quick {
    /// Nothing is to be sent.
    Nothing,
    /// A segment that is its header; if it is the last one, nothing follows.
    Segment {
        /// The segment.
        header: Header,
        /// Whether nothing can follow.
        last: bool,
    },
    /// Perhaps something: [`Connection::poll_asked`] gives it.
    Ask,
}

impl Connection {
    /// As [`Connection::poll_transmit`], called until nothing is to be sent, with nothing done to the connection in between: what the
    /// last segment leaves as it was is not asked again.
    #[allow(clippy::inline_always)] // once per packet, and once more to find that nothing goes
    #[inline(always)]
    pub fn poll_quick(&mut self, cfg: &TcpConfig, now: Time, last: &mut Polled) -> Quick {
        let s = &self.sender;
        let outlook = match last.0 {
            Outlook::FullSegment if s.snd.nxt + u64::from(s.snd.mss) <= s.snd.end => self.window_outlook(cfg),
            _ => self.outlook(cfg),
        };
        debug_assert_eq!(outlook, self.outlook(cfg));
        *last = Polled(outlook);
        match outlook {
            Outlook::Nothing => Quick::Nothing,
            Outlook::PureAck if self.needs_no_options() => {
                let position = self.sender.snd.nxt.max(self.sender.snd.max);
                Quick::Segment { header: self.bare(cfg, now, position, 0, cfg.ack_bytes), last: true }
            }
            Outlook::FullSegment if self.needs_no_options() && self.is_simple() => {
                Quick::Segment { header: self.full_segment(cfg, now), last: false }
            }
            _ => Quick::Ask,
        }
    }

    /// What [`Connection::poll_quick`] left to be asked.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub fn poll_asked(&mut self, cfg: &TcpConfig, now: Time, last: &Polled) -> Option<Segment> {
        self.follow(cfg, now, last.0)
    }

    /// Whether a segment carries neither SACK blocks nor the AccECN option.
    #[inline]
    fn needs_no_options(&self) -> bool {
        self.receiver.beyond.is_none() && self.sender.extra.is_none()
    }

    /// Whether a full segment of new data is just that: data follows it, the timer runs, and nothing is noted of it but that it
    /// has gone.
    #[inline]
    fn is_simple(&self) -> bool {
        let s = &self.sender;
        s.snd.nxt + u64::from(s.snd.mss) < s.snd.end && self.timers.is_running(Timer::Retransmit)
    }

    /// The next full segment of new data, where [`Self::is_simple`]: as [`Self::data_segment`].
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn full_segment(&mut self, cfg: &TcpConfig, now: Time) -> Header {
        let s = &mut self.sender;
        let piece = Piece { start: s.snd.nxt, len: s.snd.mss };
        let end = piece.start + u64::from(piece.len);
        if s.timed_end == 0 {
            (s.timed_end, s.timed_at) = (end, now);
        }
        (s.snd.nxt, s.snd.max, s.last_sent) = (end, end, now);
        if self.sender.outstanding.keeps_segments() {
            self.record_next(cfg, now, piece, end);
        }
        self.stats.bytes_sent += u64::from(piece.len);
        self.bare(cfg, now, piece.start, piece.len, cfg.header_bytes)
    }

    /// A segment of `len` bytes of payload without further options or flags.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn bare(&mut self, cfg: &TcpConfig, now: Time, position: u64, len: u32, base_bytes: u32) -> Header {
        let header = Header {
            seq: to_wire(self.iss, position),
            window: self.receiver.offer(cfg),
            len,
            wire_bytes: base_bytes + len + self.option_bytes(cfg, 0),
            flags: Flags::ACK,
            ..Header::default()
        };
        self.complete(cfg, now, header)
    }
}
