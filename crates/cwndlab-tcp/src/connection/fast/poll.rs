//! Short paths for most segments that are sent: full segments of new data and pure ACKs, without SACK blocks. They
//! return a header, which the simulator writes directly into the packet, and AccECN's option if the segment has one.

use cwndlab_units::Time;

use crate::accecn::AccEcn;
use crate::config::TcpConfig;
use crate::connection::gate::Go;
use crate::connection::{Connection, Control};
use crate::recovery::Transmission;
use crate::segment::{AccEcnOption, Flags, Header, Segment};
use crate::send_state::Piece;
use crate::sequence::to_wire;

/// The last decision of the gate, which [`Connection::poll_quick`] keeps from one segment to the next. Pass the default
/// value for the first segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Polled(Go);

/// The result of [`Connection::poll_quick`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quick {
    /// Nothing is to be sent.
    Nothing,
    /// The `header` that was passed now describes a segment to send. The segment has neither SACK blocks nor AccECN's
    /// option, so the header is complete.
    Segment {
        /// True only if no other segment can follow now, so that the caller need not poll again.
        last: bool,
    },
    /// There may be a segment; call [`Connection::poll_asked`].
    Ask,
    /// There is a segment with AccECN's option and no SACK blocks; call [`Connection::poll_accurate`].
    Accurate,
}

impl Connection {
    /// Writes the next segment to send to `header`, if a header describes it completely. The caller must repeat the
    /// call until nothing is left to send, and may call only [`Connection::poll_asked`] and
    /// [`Connection::poll_accurate`] in between, because conditions that the last segment cannot have changed are not
    /// tested again.
    #[inline(always)]
    pub fn poll_quick(&mut self, cfg: &TcpConfig, now: Time, last: &mut Polled, header: &mut Header) -> Quick {
        let s = &self.sender;
        let mut go = match last.0 {
            Go::Full if s.snd.nxt + u64::from(s.snd.mss) <= s.snd.end => self.gate_of_windows(cfg),
            _ if self.control == Control::None => self.gate(cfg),
            _ => Go::Undecided,
        };
        if go == Go::Undecided && self.control == Control::AskPacer {
            if !self.is_idle() {
                return self.poll_paced(cfg, now, last, header);
            }
            go = self.idle_gate(now);
        }
        *last = Polled(go);
        self.quick(cfg, now, go, header)
    }

    /// The part of [`Self::poll_quick`] for a connection that paces and has unacknowledged or unsent data.
    #[inline(never)]
    fn poll_paced(&mut self, cfg: &TcpConfig, now: Time, last: &mut Polled, header: &mut Header) -> Quick {
        *last = Polled(self.paced_gate(cfg, now));
        match self.quick(cfg, now, last.0, header) {
            Quick::Segment { .. } if header.len > 0 => {
                *last = Polled::default(); // the pacer has to be asked again
                Quick::Segment { last: self.is_held_next(cfg, now) }
            }
            quick => quick,
        }
    }

    /// After a full segment: whether the pacer forbids another one now. If so, sets the pacer's timer ([`Self::hold`]).
    #[inline]
    fn is_held_next(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        let held = self.sender.pacer().is_some_and(|pacer| pacer.admits(now) == Some(false));
        if held {
            self.hold(cfg, now);
        }
        held
    }

    /// Sends what the gate permits (`go`), if it needs no options. Otherwise returns which function to call.
    #[inline(always)]
    fn quick(&mut self, cfg: &TcpConfig, now: Time, go: Go, header: &mut Header) -> Quick {
        match go {
            Go::Nothing => Quick::Nothing,
            Go::Ack if self.needs_no_options() => {
                *header = self.bare_ack(cfg, now);
                Quick::Segment { last: !self.receiver.ack_now }
            }
            Go::Full if self.needs_no_options() && self.is_simple() => {
                *header = self.full_segment(cfg, now);
                Quick::Segment { last: false }
            }
            Go::Ack if self.has_option_alone(cfg) => Quick::Accurate,
            Go::Full if self.has_option_alone(cfg) && self.is_simple() => Quick::Accurate,
            _ => Quick::Ask,
        }
    }

    /// Whether the segments sent now carry neither SACK blocks nor the AccECN option.
    fn needs_no_options(&self) -> bool {
        self.receiver.beyond.is_none() && !self.sender.snd.ecn.is_accurate()
    }

    /// Whether the segments sent now carry AccECN's option with all counters, and no SACK blocks.
    fn has_option_alone(&self, cfg: &TcpConfig) -> bool {
        self.sender.snd.ecn.is_accurate()
            && cfg.ecn.has_option()
            && self.receiver.beyond.is_none()
            && self.accecn_ref().is_some_and(AccEcn::counts_bytes)
    }

    /// Sends a segment after [`Quick::Accurate`]: writes its header to `header`. Returns AccECN's option, and true if
    /// no other segment can follow now.
    #[inline]
    pub fn poll_accurate(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        last: &mut Polled,
        header: &mut Header,
    ) -> (AccEcnOption, bool) {
        let is_ack = std::mem::take(last).0 == Go::Ack;
        *header = if is_ack { self.bare_ack(cfg, now) } else { self.full_segment(cfg, now) };
        let Some(accecn) = self.accecn() else { unreachable!("`has_option_alone` has asked it") };
        let option = accecn.option_alone();
        header.wire_bytes += option.padded_bytes();
        let ends = if is_ack { !self.receiver.ack_now } else { self.is_held_next(cfg, now) };
        (option, ends)
    }

    /// The header of a pure ACK.
    #[inline]
    fn bare_ack(&mut self, cfg: &TcpConfig, now: Time) -> Header {
        self.bare(cfg, now, self.sender.snd.nxt.max(self.sender.snd.max), 0, cfg.ack_bytes)
    }

    /// The header of the next full segment of new data. Call it only if [`Self::is_simple`] returns true.
    #[inline]
    fn full_segment(&mut self, cfg: &TcpConfig, now: Time) -> Header {
        let piece = self.send_full(cfg, now);
        self.bare(cfg, now, piece.start, piece.len, cfg.header_bytes)
    }

    /// Returns the segment to send, if any, after [`Quick::Ask`].
    #[inline]
    pub fn poll_asked(&mut self, cfg: &TcpConfig, now: Time, last: &mut Polled) -> Option<Segment> {
        self.follow(cfg, now, std::mem::take(last).0)
    }

    /// Sends what the gate permits (`go`). If the gate has not decided, decides by the full path.
    #[inline(always)]
    pub(in crate::connection) fn follow(&mut self, cfg: &TcpConfig, now: Time, go: Go) -> Option<Segment> {
        match go {
            Go::Nothing => None,
            Go::CwndFull => {
                self.sender.stopped_by_cwnd = true;
                self.note_usage(cfg, now);
                None
            }
            Go::Ack => Some(self.pure_ack(cfg, now)),
            Go::Full if self.is_simple() => Some(self.full_segment_with_options(cfg, now)),
            Go::Full => {
                let (start, len) = (self.sender.snd.nxt, self.sender.snd.mss);
                Some(self.data_segment(cfg, now, Piece { start, len }))
            }
            Go::Undecided => self.poll_any(cfg, now),
        }
    }

    /// Whether sending a full segment changes only positions: it needs no PSH flag, because more data follows and the
    /// send buffer is not limited, and the retransmission timer is running.
    fn is_simple(&self) -> bool {
        let s = &self.sender;
        s.snd.nxt + u64::from(s.snd.mss) < s.snd.end && !s.is_buffered && s.snd.timer.is_running()
    }

    /// The next full segment of new data, with options.
    #[inline(never)]
    fn full_segment_with_options(&mut self, cfg: &TcpConfig, now: Time) -> Segment {
        let Piece { start, len } = self.send_full(cfg, now);
        let header = Header { flags: Flags::ACK, len, wire_bytes: len + cfg.header_bytes, ..Header::default() };
        self.segment(cfg, now, start, header)
    }

    /// Moves SND.NXT beyond the next full segment of new data, and records the segment.
    #[inline]
    fn send_full(&mut self, cfg: &TcpConfig, now: Time) -> Piece {
        let s = &mut self.sender;
        let piece = Piece { start: s.snd.nxt, len: s.snd.mss };
        let end = piece.start + u64::from(piece.len);
        if s.timed_end == 0 {
            (s.timed_end, s.timed_at) = (end, now);
        }
        (s.snd.nxt, s.snd.max, s.last_sent) = (end, end, now);
        self.count_sent(piece.len);
        if self.sender.outstanding.keeps_segments() {
            self.record_next(cfg, now, piece, end);
        }
        piece
    }

    /// The header of a segment with `len` bytes of payload that has no options, except timestamps if these were agreed
    /// on. `base_bytes`: size of the packet without payload and options.
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

    /// Records a full segment of new data, with the effect of [`Self::record_sent`]. Call it only if the retransmission
    /// timer is running, so that other data is outstanding, and only the windows limit what is sent.
    #[inline(never)]
    fn record_next(&mut self, cfg: &TcpConfig, now: Time, piece: Piece, end: u64) {
        if let Some(rack) = self.recovery.rack() {
            self.sender.outstanding.on_next_sent(piece.start, end, now);
            if !rack.is_timed(now) {
                self.time_next_sent(cfg, now);
            }
        } else {
            self.record_sent(cfg, &Transmission { now, piece, end, again: false, was_quiet: false });
        }
    }

    /// With RACK: sets the timer after a full segment of new data has been recorded.
    #[inline(never)]
    fn time_next_sent(&mut self, cfg: &TcpConfig, now: Time) {
        let Some(rack) = self.recovery.rack() else { return };
        if !rack.postpone_probe(&mut self.sender.view(cfg), now) {
            rack.on_next_sent(&mut self.sender.view(cfg), now);
        }
    }
}
