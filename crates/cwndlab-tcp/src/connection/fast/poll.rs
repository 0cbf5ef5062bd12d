//! Short paths for most segments that are sent: full segments of new data and pure ACKs, without SACK blocks.
//!
//! Only the header of such a segment and AccECN's option, if it has one, are returned. The simulator writes the header
//! directly into the packet.

use cwndlab_units::Time;

use crate::accecn::AccEcn;
use crate::config::TcpConfig;
use crate::connection::{Connection, Control};
use crate::recovery::Transmission;
use crate::segment::{AccEcnOption, Flags, Header, Segment};
use crate::send_state::Piece;
use crate::sequence::to_wire;

/// The result of [`Connection::poll_any`], predicted from a few fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::connection) enum Outlook {
    Nothing,
    /// An acknowledgment; there is no data to send.
    PureAck,
    /// A full segment of new data.
    FullSegment,
    /// Nothing, because the congestion window is full; [`Connection::follow`] records this.
    FullWindow,
    /// As `FullSegment`, on a connection that paces: the next segment has to ask the pacer again.
    PacedSegment,
    /// As `PacedSegment`, while data is missing or a loss is repaired.
    InDisorder,
    /// No data, because the pacer does not permit it.
    Held,
    /// As `Held`, but no data can go before the next ACK anyway: see [`Connection::awaits_ack`].
    HeldByWindow,
    /// Unknown: [`Connection::poll_any`] decides.
    #[default]
    Open,
}

/// The state that [`Connection::poll_quick`] keeps from one segment to the next. Pass the default value for the first
/// segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Polled(Outlook);

/// The result of [`Connection::poll_quick`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quick {
    /// Nothing is to be sent.
    Nothing,
    /// A segment with neither SACK blocks nor an AccECN option, so that the header that was passed describes it
    /// completely.
    Segment {
        /// Whether no other segment can follow now, so that the caller need not poll again.
        last: bool,
    },
    /// There may be a segment; call [`Connection::poll_asked`].
    Ask,
    /// There is a segment with AccECN's option and no SACK blocks; call [`Connection::poll_accurate`].
    Accurate,
}

impl Connection {
    /// Writes the next segment to send to `header`, if that describes it completely. The caller must repeat the call
    /// until nothing is left to send, and may call only [`Connection::poll_asked`] and [`Connection::poll_accurate`] in
    /// between, because conditions that the last segment cannot have changed are not tested again.
    #[inline(always)]
    pub fn poll_quick(&mut self, cfg: &TcpConfig, now: Time, last: &mut Polled, header: &mut Header) -> Quick {
        let s = &self.sender;
        let mut outlook = match last.0 {
            Outlook::FullSegment if s.snd.nxt + u64::from(s.snd.mss) <= s.snd.end => self.window_outlook(cfg),
            _ => self.outlook(cfg),
        };
        debug_assert_eq!(outlook, self.outlook(cfg));
        if outlook == Outlook::Open && self.control == Control::AskPacer {
            if !self.is_idle() {
                return self.poll_paced(cfg, now, last, header);
            }
            outlook = self.idle_outlook(now);
        }
        *last = Polled(outlook);
        self.quick(cfg, now, outlook, header)
    }

    /// The next segment of a connection that paces and has unacknowledged or unsent data.
    #[inline(never)]
    fn poll_paced(&mut self, cfg: &TcpConfig, now: Time, last: &mut Polled, header: &mut Header) -> Quick {
        let outlook = self.busy_outlook(cfg, now);
        *last = Polled(if outlook == Outlook::FullSegment { Outlook::PacedSegment } else { outlook });
        let piece = if outlook == Outlook::InDisorder { Outlook::FullSegment } else { outlook };
        match self.quick(cfg, now, piece, header) {
            Quick::Segment { .. } if header.len > 0 && self.is_held_next(cfg, now, outlook) => {
                Quick::Segment { last: true }
            }
            quick => quick,
        }
    }

    /// After a full segment, which `outlook` predicted: whether the pacer permits no other one now. If so, does what the
    /// next call would.
    #[inline]
    fn is_held_next(&mut self, cfg: &TcpConfig, now: Time, outlook: Outlook) -> bool {
        let held = self.sender.pacer().is_some_and(|pacer| pacer.admits(now) == Some(false));
        if held {
            let in_order = outlook != Outlook::InDisorder;
            self.hold(cfg, now, in_order && self.awaits_ack_next(cfg));
        }
        held
    }

    /// Whether an ACK has to open cwnd after a full segment. What lets such a segment go does not change with it, apart
    /// from the windows.
    #[inline]
    fn awaits_ack_next(&self, cfg: &TcpConfig) -> bool {
        let s = &self.sender;
        let mss = u64::from(s.snd.mss);
        let awaits = s.snd.flight() + mss > s.cc.cwnd()
            && s.cc.owns_recovery()
            && s.snd.nxt + mss <= s.snd.end
            && !self.receiver.ack_now
            && self.window_outlook(cfg) == Outlook::FullWindow;
        debug_assert_eq!(awaits, self.awaits_ack(cfg));
        awaits
    }

    /// Does what `outlook` predicts, if the segment to send has no SACK blocks.
    #[inline(always)]
    fn quick(&mut self, cfg: &TcpConfig, now: Time, outlook: Outlook, header: &mut Header) -> Quick {
        match outlook {
            Outlook::Nothing => Quick::Nothing,
            Outlook::PureAck if self.needs_no_options() => {
                let position = self.sender.snd.nxt.max(self.sender.snd.max);
                *header = self.bare(cfg, now, position, 0, cfg.ack_bytes);
                Quick::Segment { last: !self.receiver.ack_now }
            }
            Outlook::FullSegment if self.needs_no_options() && self.is_simple() => {
                *header = self.full_segment(cfg, now);
                Quick::Segment { last: false }
            }
            Outlook::Held | Outlook::HeldByWindow if !self.receiver.ack_now => {
                self.hold(cfg, now, outlook == Outlook::HeldByWindow);
                Quick::Nothing
            }
            Outlook::PureAck if self.has_option_alone(cfg) => Quick::Accurate,
            Outlook::FullSegment if self.has_option_alone(cfg) && self.is_simple() => Quick::Accurate,
            _ => Quick::Ask,
        }
    }

    /// Predicts what a connection that paces sends. Asks the pacer.
    #[inline(always)]
    pub(in crate::connection) fn paced_outlook(&mut self, cfg: &TcpConfig, now: Time) -> Outlook {
        if self.is_idle() {
            self.idle_outlook(now)
        } else {
            self.busy_outlook(cfg, now)
        }
    }

    /// Predicts what a connection that paces sends if there is unacknowledged or unsent data.
    #[inline(always)]
    fn busy_outlook(&mut self, cfg: &TcpConfig, now: Time) -> Outlook {
        if self.receiver.ack_now {
            return self.outlook_with_ack(cfg, now);
        }
        let begins = match self.is_admitted(now) {
            Some(false) => return self.held_outlook(cfg),
            Some(true) => false,
            None => true,
        };
        let outlook = match self.data_outlook(cfg) {
            Outlook::Open => self.outlook_in_disorder(cfg),
            outlook => outlook,
        };
        if begins && outlook != Outlook::Open {
            self.begin_train(cfg, now);
        }
        outlook
    }

    /// Predicts what a connection that paces sends if an ACK is due.
    #[inline(never)]
    fn outlook_with_ack(&mut self, cfg: &TcpConfig, now: Time) -> Outlook {
        let outlook = self.data_outlook(cfg);
        if outlook == Outlook::Open || self.pacer_admits(cfg, now) {
            return outlook;
        }
        self.held_outlook(cfg)
    }

    /// Predicts what a connection that paces sends if everything written has been acknowledged.
    #[inline]
    fn idle_outlook(&mut self, now: Time) -> Outlook {
        if !self.receiver.ack_now {
            return Outlook::Nothing;
        }
        self.note_pure_ack(now);
        Outlook::PureAck
    }

    /// What the pacer, which permits no data now, holds back.
    #[inline]
    fn held_outlook(&self, cfg: &TcpConfig) -> Outlook {
        if self.awaits_ack(cfg) {
            Outlook::HeldByWindow
        } else {
            Outlook::Held
        }
    }

    /// Does what `outlook` predicts. Returns the segment to send, if any.
    #[inline(always)]
    pub(in crate::connection) fn follow(&mut self, cfg: &TcpConfig, now: Time, outlook: Outlook) -> Option<Segment> {
        match outlook {
            Outlook::Nothing => None,
            Outlook::PureAck => Some(self.pure_ack(cfg, now)),
            Outlook::FullSegment | Outlook::PacedSegment | Outlook::InDisorder if self.is_simple() => {
                Some(self.full_segment_with_options(cfg, now))
            }
            Outlook::FullSegment | Outlook::PacedSegment | Outlook::InDisorder => {
                let (start, len) = (self.sender.snd.nxt, self.sender.snd.mss);
                Some(self.data_segment(cfg, now, Piece { start, len }))
            }
            Outlook::FullWindow => {
                self.sender.stopped_by_cwnd = true;
                self.note_usage(cfg, now);
                None
            }
            Outlook::Held => self.held_segment(cfg, now, false),
            Outlook::HeldByWindow => self.held_segment(cfg, now, true),
            Outlook::Open => self.poll_any(cfg, now),
        }
    }

    /// Predicts the result of [`Connection::poll_any`] from a few fields; [`Outlook::Open`] if these do not decide it,
    /// for example in loss recovery, and for connections that pace.
    #[inline(always)]
    pub(in crate::connection) fn outlook(&self, cfg: &TcpConfig) -> Outlook {
        if self.control == Control::None {
            self.data_outlook(cfg)
        } else {
            Outlook::Open
        }
    }

    /// Predicts what is sent if nothing but the windows limits it.
    #[inline(always)]
    pub(in crate::connection) fn data_outlook(&self, cfg: &TcpConfig) -> Outlook {
        let s = &self.sender;
        let no_data = if self.receiver.ack_now { Outlook::PureAck } else { Outlook::Nothing };
        if s.snd.nxt >= s.limit() && s.snd.una >= s.snd.max {
            return no_data;
        }
        let plain = s.snd.una < s.snd.max
            && s.snd.nxt == s.snd.max
            && s.snd.dup_acks == 0
            && s.snd.inflation == 0
            && !s.snd.resend_first
            && s.socket().is_none()
            && s.outstanding.reported.is_empty()
            && self.recovery.is_calm(&s.outstanding);
        if !plain {
            return Outlook::Open;
        }
        if s.snd.nxt + u64::from(s.snd.mss) <= s.snd.end {
            return if self.receiver.ack_now { Outlook::Open } else { self.window_outlook(cfg) };
        }
        // Everything has been sent. If `grow_only_if_cwnd_limited` is set, the full path has to record how much of cwnd
        // is in use.
        if s.snd.nxt == s.limit() && !cfg.grow_only_if_cwnd_limited {
            return no_data;
        }
        Outlook::Open
    }

    /// While data is missing or a loss is repaired, with RACK: predicts only whether new data is sent.
    #[inline(never)]
    fn outlook_in_disorder(&mut self, cfg: &TcpConfig) -> Outlook {
        let s = &self.sender;
        let next = s.snd.nxt + u64::from(s.snd.mss);
        let is_new = s.snd.una < s.snd.max
            && s.snd.nxt == s.snd.max
            && next <= s.snd.end
            && !s.snd.resend_first
            && s.socket().is_none()
            && !self.receiver.ack_now
            && self.state.may_send()
            && !s.drains(cfg);
        if !is_new {
            return Outlook::Open;
        }
        let room = self.recovery.rack().and_then(|rack| rack.room_for_new(&s.read(cfg)));
        let Some(room) = room else { return Outlook::Open };
        if room.in_flight + u64::from(s.snd.mss) > room.window {
            return if cfg.grow_only_if_cwnd_limited { Outlook::FullWindow } else { Outlook::Open };
        }
        if next <= s.snd.edge {
            Outlook::InDisorder
        } else {
            Outlook::Open
        }
    }

    /// Predicts what is sent if only the windows can prevent a full segment of new data.
    #[inline(always)]
    fn window_outlook(&self, cfg: &TcpConfig) -> Outlook {
        let s = &self.sender;
        let mss = u64::from(s.snd.mss);
        let in_flight = s.snd.nxt - s.snd.una + mss;
        if in_flight > s.cc.cwnd() {
            // If `grow_only_if_cwnd_limited` is set, `FullWindow` lets the caller record that cwnd is full.
            return if !cfg.grow_only_if_cwnd_limited {
                Outlook::Nothing
            } else if self.state.may_send() && !s.drains(cfg) {
                Outlook::FullWindow
            } else {
                Outlook::Open
            };
        }
        let admitted =
            self.state.may_send() && in_flight <= s.most(cfg) && s.snd.nxt + mss <= s.snd.edge && !s.drains(cfg);
        if admitted {
            Outlook::FullSegment
        } else {
            Outlook::Open
        }
    }

    /// Returns the segment to send, if any, after [`Quick::Ask`].
    #[inline(always)]
    pub fn poll_asked(&mut self, cfg: &TcpConfig, now: Time, last: &Polled) -> Option<Segment> {
        self.follow(cfg, now, last.0)
    }

    /// Whether the segments sent now carry AccECN's option with all counters, and no SACK blocks.
    fn has_option_alone(&self, cfg: &TcpConfig) -> bool {
        self.sender.snd.ecn.is_accurate()
            && cfg.ecn.has_option()
            && self.receiver.beyond.is_none()
            && self.accecn_ref().is_some_and(AccEcn::counts_bytes)
    }

    /// Sends a segment after [`Quick::Accurate`]: writes its header to `header`. Returns AccECN's option, and whether no
    /// other segment can follow now.
    #[inline(always)]
    pub fn poll_accurate(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        last: &Polled,
        header: &mut Header,
    ) -> (AccEcnOption, bool) {
        let is_ack = last.0 == Outlook::PureAck;
        *header = if is_ack {
            self.bare(cfg, now, self.sender.snd.nxt.max(self.sender.snd.max), 0, cfg.ack_bytes)
        } else {
            self.full_segment(cfg, now)
        };
        let Some(accecn) = self.accecn() else { unreachable!("`has_option_alone` has asked it") };
        let option = accecn.option_alone();
        header.wire_bytes += option.padded_bytes();
        let ends = if is_ack { !self.receiver.ack_now } else { self.is_held_next(cfg, now, last.0) };
        (option, ends)
    }

    /// Whether the segments sent now carry neither SACK blocks nor the AccECN option.
    fn needs_no_options(&self) -> bool {
        self.receiver.beyond.is_none() && !self.sender.snd.ecn.is_accurate()
    }

    /// Whether sending a full segment changes only the positions: more data follows, no full send buffer may push the
    /// segment, and the retransmission timer is running.
    fn is_simple(&self) -> bool {
        let s = &self.sender;
        s.snd.nxt + u64::from(s.snd.mss) < s.snd.end && !s.is_buffered && s.snd.timer.is_running()
    }

    /// The next full segment of new data, as [`Self::data_segment`] would make it. Call it only if [`Self::is_simple`]
    /// returns true.
    #[inline(always)]
    fn full_segment(&mut self, cfg: &TcpConfig, now: Time) -> Header {
        let piece = self.send_full(cfg, now);
        self.bare(cfg, now, piece.start, piece.len, cfg.header_bytes)
    }

    /// The next full segment of new data, with options.
    #[inline(never)]
    fn full_segment_with_options(&mut self, cfg: &TcpConfig, now: Time) -> Segment {
        let Piece { start, len } = self.send_full(cfg, now);
        let header = Header { flags: Flags::ACK, len, wire_bytes: len + cfg.header_bytes, ..Header::default() };
        self.segment(cfg, now, start, header)
    }

    /// Moves SND.NXT beyond the next full segment of new data, and records the segment.
    #[inline(always)]
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

    /// A segment with `len` bytes of payload and, apart from timestamps, no options. Without payload and options it
    /// takes `base_bytes`.
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

    /// Records a full segment of new data, with the same effect as [`Self::record_sent`]. Call it only if the
    /// retransmission timer is running and only the windows limit what is sent.
    #[inline(never)]
    fn record_next(&mut self, cfg: &TcpConfig, now: Time, piece: Piece, end: u64) {
        if let Some(rack) = self.recovery.rack() {
            self.sender.outstanding.on_next_sent(piece.start, end, now);
            if !rack.is_timed(now) {
                self.time_next_sent(cfg, now);
            }
        } else if self.keeps_timer(cfg, now) {
            self.sender.outstanding.on_next_sent(piece.start, end, now);
        } else {
            self.record_sent(cfg, &Transmission { now, piece, end, again: false, was_quiet: false });
        }
    }

    /// With RACK: sets the timer for a full segment of new data, which was recorded.
    #[inline(never)]
    fn time_next_sent(&mut self, cfg: &TcpConfig, now: Time) {
        let Some(rack) = self.recovery.rack() else { return };
        if !rack.postpone_probe(&mut self.sender.view(cfg), now) {
            rack.on_next_sent(&mut self.sender.view(cfg), now);
        }
    }

    /// Whether [`Self::time_first`] would leave the timer unchanged: the first outstanding segment stays the same, and
    /// its timeout has not passed (after which the timer would count from now).
    fn keeps_timer(&self, cfg: &TcpConfig, now: Time) -> bool {
        let due = self.sender.snd.timer.at();
        let keeps = self.sender.outstanding.first().is_some() && due > now + cfg.rto.tick_ns * 2;
        debug_assert!(!keeps || self.first_expiry(cfg, now).is_none_or(|at| at == due));
        keeps
    }
}
