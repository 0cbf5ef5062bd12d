//! Segments to be sent (RFC 9293, section 3.10).

use cwndlab_units::Time;

use super::gate::Go;
use super::handshake::wanted_shift;
use super::{Connection, Control};
use crate::config::TcpConfig;
use crate::recovery::rack::Stop;
use crate::recovery::Transmission;
use crate::segment::{AccEcnOption, Flags, Header, SackBlocks, Segment, TIMESTAMPS_BYTES};
use crate::send_state::Piece;
use crate::sequence::to_wire;
use crate::state::State;
use crate::timers::Timer;

/// Bytes of the SACK option without blocks: two NOPs, kind and length (RFC 2018, section 3).
const SACK_HEAD_BYTES: u32 = 4;
const SACK_BLOCK_BYTES: u32 = 8;
/// Maximum number of SACK blocks in a segment with timestamps, and in one without.
const BLOCKS_WITH_TIMESTAMPS: usize = 3;
const BLOCKS: usize = 4;

impl Connection {
    /// The next segment to send. Call it until it returns `None`.
    #[inline]
    pub fn poll_transmit(&mut self, cfg: &TcpConfig, now: Time) -> Option<Segment> {
        let go = match self.control {
            Control::None => self.gate(cfg),
            Control::AskPacer => self.paced_gate(cfg, now),
            _ => Go::Undecided,
        };
        self.follow(cfg, now, go)
    }

    /// Returns the next segment to send. This is the full path, which handles every state.
    #[inline(never)]
    pub(super) fn poll_any(&mut self, cfg: &TcpConfig, now: Time) -> Option<Segment> {
        if !self.control.is_rest() {
            return Some(self.control_segment(cfg, now));
        }
        match self.gate_any(cfg, now) {
            Ok(piece) => Some(self.data_segment(cfg, now, piece)),
            Err(Go::Ack) => Some(self.pure_ack(cfg, now)),
            Err(_) => None,
        }
    }

    /// Records how much of cwnd is in use; called when nothing more can be sent now. If the loss recovery validates
    /// cwnd, a cwnd that is not used shrinks.
    #[inline(never)]
    pub(super) fn note_usage(&mut self, cfg: &TcpConfig, now: Time) {
        let s = &mut self.sender;
        s.note_usage(now);
        if cfg.recovery.validates_window() && !s.cc.owns_recovery() {
            let stopped_by = match (s.uses_cwnd(), s.lacks_room()) {
                (true, _) => Stop::Cwnd,
                (false, true) => Stop::SendBuffer,
                (false, false) => Stop::Application,
            };
            let rack = self.recovery.rack();
            if let Some(used) = rack.and_then(|rack| rack.unused_window(&s.view(cfg), now, stopped_by)) {
                s.cc.on_unused(cfg, s.snd.mss, used);
            }
        }
    }

    /// Applies the restart window before sending new data after an idle period longer than an RTO (RFC 5681, section
    /// 4.1).
    pub(super) fn restart_after_idle(&mut self, cfg: &TcpConfig, now: Time) {
        let s = &self.sender;
        if cfg.restart_after_idle
            && s.snd.una == s.snd.max
            && s.snd.nxt < s.snd.end.min(s.snd.edge) // the peer's window does not prevent sending
            && s.snd.una > 1 // not before the first data
            && now.saturating_sub(s.last_sent) > s.snd.rtt.rto(&cfg.rto)
            && !s.cc.owns_recovery()
        // As in Linux, laws that own recovery (`cong_control`) do not restart.
        {
            self.keep_train_rate(cfg);
            let s = &mut self.sender;
            let (idle, rto, mss) = (now.saturating_sub(s.last_sent), s.snd.rtt.rto(&cfg.rto), s.snd.mss);
            s.cc.on_idle_restart(cfg, mss, (idle.as_nanos() - 1) / rto.as_nanos().max(1));
            s.cc.on_resume(now, idle);
            s.last_sent = now;
            if let Some(rack) = self.recovery.rack() {
                rack.on_idle_restart(now);
            }
            let exceeds_window = self.sender.snd.end - self.sender.snd.nxt > self.sender.cc.cwnd();
            if exceeds_window && self.sender.calls_again() && self.sender.trains().is_none() {
                self.write_on(); // the restart window holds data of the first call back, so the next call follows
            }
        }
    }

    /// Starts the persist timer if nothing is in flight, and data waits for the peer's window to open or for the
    /// application to write more.
    pub(super) fn arm_persist(&mut self, cfg: &TcpConfig, now: Time) {
        let s = &self.sender;
        let waits = s.snd.edge < s.snd.end || s.holds();
        if s.snd.una == s.snd.max && s.snd.nxt < s.snd.end && !s.snd.timer.is_running() && waits {
            self.sender.snd.start_persist(cfg, now, 0);
        }
    }

    #[inline(never)]
    pub(super) fn data_segment(&mut self, cfg: &TcpConfig, now: Time, piece: Piece) -> Segment {
        let s = &mut self.sender;
        let mut end = piece.start + u64::from(piece.len);
        let fin = s.fin && end == s.snd.end && (piece.len == 0 || !cfg.sends_fin_alone());
        end += u64::from(fin);
        let (again, was_quiet) = (piece.start < s.snd.max, s.snd.max == s.snd.una);
        if s.snd.resend_first && piece.start == s.snd.una {
            s.snd.resend_first = false;
        }
        if piece.start == s.snd.nxt {
            s.snd.nxt = end;
        }
        if again {
            self.stats.retransmits += 1;
            // Karn: a measurement that covers a retransmitted segment is void.
            if s.timed_end > piece.start {
                s.timed_end = 0;
            }
        } else {
            if piece.len < s.snd.mss {
                s.small_end = end as u32;
            }
            if s.timed_end == 0 {
                (s.timed_end, s.timed_at) = (end, now);
            }
        }
        s.snd.max = s.snd.max.max(end);
        s.snd.nxt = s.snd.nxt.max(s.snd.una);
        let idle_since = std::mem::replace(&mut s.last_sent, now);
        if !s.snd.timer.is_running() {
            s.cc.on_resume(now, now.saturating_sub(idle_since));
            s.snd.start_timeout(cfg, now);
        }
        let sent = Transmission { now, piece, end, again, was_quiet };
        self.count_sent(piece.len);
        if self.sender.outstanding.keeps_segments() {
            self.record_sent(cfg, &sent);
        } else {
            self.recovery.on_sent(&mut self.sender.view(cfg), &sent);
        }
        let s = &mut self.sender;
        let last = match s.buffer_mut() {
            None => end >= s.snd.end,
            // The last data before a FIN is written with MSG_MORE, so that both share a segment, which is not pushed.
            Some(buffer) => !fin && buffer.is_pushed(end),
        } || s.trains().is_some_and(|trains| trains.is_pushed(now, end - u64::from(fin)));
        let flags =
            Flags(Flags::ACK.0 | (u8::from(fin) * Flags::FIN.0) | (u8::from(last && piece.len > 0) * Flags::PSH.0));
        if fin {
            self.on_fin_sent();
        }
        let wire_bytes = piece.len + if piece.len > 0 { cfg.header_bytes } else { cfg.ack_bytes };
        let header = Header { flags, len: piece.len, wire_bytes, retransmission: again, ..Header::default() };
        self.segment(cfg, now, piece.start, header)
    }

    #[inline(never)]
    pub(super) fn pure_ack(&mut self, cfg: &TcpConfig, now: Time) -> Segment {
        self.empty_segment(cfg, now, self.sender.snd.nxt.max(self.sender.snd.max))
    }

    fn empty_segment(&mut self, cfg: &TcpConfig, now: Time, position: u64) -> Segment {
        let header = Header { flags: Flags::ACK, wire_bytes: cfg.ack_bytes, ..Header::default() };
        self.segment(cfg, now, position, header)
    }

    /// Returns a segment of an established connection. `header` has the flags, the payload length, and the wire bytes
    /// without options.
    pub(super) fn segment(&mut self, cfg: &TcpConfig, now: Time, position: u64, header: Header) -> Segment {
        let window = self.receiver.offer(cfg);
        let mut sack = if self.receiver.beyond.is_some() && self.agreed.sack {
            self.blocks(cfg, header.len)
        } else {
            SackBlocks::default()
        };
        let accecn = self.accurate_option(cfg, &mut sack);
        self.receiver.tidy();
        let options = self.option_bytes(cfg, sack.len) + accecn.map_or(0, |option| option.padded_bytes());
        let (seq, wire_bytes) = (to_wire(self.iss, position), header.wire_bytes + options);
        let header = Header { seq, window, wire_bytes, ..header };
        Segment { header: self.complete(cfg, now, header), sack, accecn }
    }

    /// Completes the header of a segment of an established connection: acknowledgment, timestamps, ECN.
    #[inline(always)]
    pub(super) fn complete(&mut self, cfg: &TcpConfig, now: Time, header: Header) -> Header {
        let Header { len, flags, retransmission, .. } = header;
        self.receiver.last_ack = self.receiver.nxt as u32;
        let (stamped, again) = self.receiver.policy.on_sent(cfg, now, self.receiver.nxt, len > 0);
        self.receiver.ack_now = again;
        self.timers.stop(Timer::DelayedAck);
        self.stats.segments_sent += 1;
        let (signals, ecn) =
            if self.sender.snd.ecn.is_in_use() { self.ecn_out(cfg, len, flags, retransmission) } else { (Flags(0), 0) };
        Header {
            ack: to_wire(self.irs, self.receiver.nxt),
            ts_val: cfg.timestamp(stamped),
            ts_ecr: if self.agreed.timestamps || cfg.packet_stamps { self.receiver.ts_recent } else { 0 },
            flags: flags | signals,
            has_timestamps: self.agreed.timestamps,
            ecn,
            ..header
        }
    }

    /// Bytes of the timestamps and of `blocks` SACK blocks in a segment after the handshake. In profiles whose
    /// `header_bytes` is 0, the packet sizes include all options except SACK blocks, which ns-2's sink adds to the ACK.
    pub(super) fn option_bytes(&self, cfg: &TcpConfig, blocks: u8) -> u32 {
        if cfg.header_bytes == 0 {
            return SACK_BLOCK_BYTES * u32::from(blocks);
        }
        let sack = if blocks > 0 { SACK_HEAD_BYTES + SACK_BLOCK_BYTES * u32::from(blocks) } else { 0 };
        sack + if self.agreed.timestamps { TIMESTAMPS_BYTES } else { 0 }
    }

    /// The SACK blocks of a segment with `len` bytes of payload, as many as keep it within the MSS (RFC 6691).
    #[inline(never)]
    fn blocks(&mut self, cfg: &TcpConfig, len: u32) -> SackBlocks {
        let fit = if self.agreed.timestamps { BLOCKS_WITH_TIMESTAMPS } else { BLOCKS };
        let most = fit.min(usize::from(cfg.sack_blocks));
        let room = self.sender.snd.mss.saturating_sub(len + SACK_HEAD_BYTES) / SACK_BLOCK_BYTES;
        let most = if len == 0 { most } else { most.min(room as usize) };
        let (irs, fin_at) = (self.irs, self.receiver.fin_at);
        let Some(beyond) = self.receiver.beyond.as_mut() else { return SackBlocks::default() };
        let duplicates = usize::from(beyond.has_duplicate() && most > 0);
        let mut blocks = beyond.sack_blocks(irs, most);
        if let Some(fin) = fin_at.map(|fin_at| to_wire(irs, fin_at.get())) {
            // A FIN has a sequence number, so a block that ends at the FIN includes this number. A block that reports
            // duplicate data (DSACK, always first) does not.
            let held = &mut blocks.as_mut_slice()[duplicates..];
            held.iter_mut().filter(|block| block.1 == fin).for_each(|block| block.1 = fin.wrapping_add(1));
        }
        blocks
    }

    /// Returns a window probe: the data that the peer's window permits, up to a segment, or, if it permits none, an
    /// empty segment at SND.UNA - 1, which triggers an ACK.
    fn window_probe(&mut self, cfg: &TcpConfig, now: Time) -> Segment {
        let s = &self.sender;
        let len = s.snd.edge.saturating_sub(s.snd.nxt).min(s.snd.end - s.snd.nxt).min(u64::from(s.snd.mss)) as u32;
        let piece = Piece { start: s.snd.nxt, len };
        if len > 0 {
            // RFC 3168, section 6.1.6: a window probe carries neither ECT nor CWR.
            let ecn = std::mem::take(&mut self.sender.snd.ecn);
            let probe = self.data_segment(cfg, now, piece);
            self.sender.snd.ecn = ecn;
            return Segment { header: Header { flags: probe.flags | ecn.flags(), ..probe.header }, ..probe };
        }
        self.empty_segment(cfg, now, self.sender.snd.una - 1)
    }

    /// Returns an ACK of the data that arrived before DCTCP.CE changed. The data that changed it needs another ACK.
    fn ack_before(&mut self, cfg: &TcpConfig, now: Time, ack: u32) -> Segment {
        let due = self.receiver.ack_now;
        // Several segments may have arrived since the change; the next ACK reports duplicates among them.
        let (before, next) = (ack.wrapping_sub(self.irs), self.receiver.nxt as u32);
        let later = self.receiver.beyond.as_mut().and_then(|beyond| beyond.take_duplicate_of(before, next));
        let segment = self.pure_ack(cfg, now);
        self.receiver.ack_now = due;
        if let Some((start, end)) = later {
            self.receiver.beyond.get_or_insert_default().note_duplicate(start, end);
        }
        let flags = Flags(segment.flags.0 ^ Flags::ECE.0);
        let header = Header { ack, flags, ..segment.header };
        Segment { header, ..segment }
    }

    /// A RST. Like every segment it has timestamps if they were agreed on (RFC 7323, section 3.2).
    fn reset(&mut self, cfg: &TcpConfig, now: Time, numbers: Header) -> Segment {
        self.stats.segments_sent += 1;
        let stamped = self.agreed.timestamps;
        Segment::from(Header {
            flags: numbers.flags | Flags::RST,
            ecn: if self.sender.snd.ecn.is_agreed() { Self::syn_codepoint(cfg) } else { 0 },
            has_timestamps: stamped,
            ts_val: if stamped { cfg.timestamp(now) } else { 0 },
            ts_ecr: if stamped { self.receiver.ts_recent } else { 0 },
            wire_bytes: cfg.ack_bytes + self.option_bytes(cfg, 0),
            ..numbers
        })
    }

    /// The segment that `control` requests.
    fn control_segment(&mut self, cfg: &TcpConfig, now: Time) -> Segment {
        let control = std::mem::replace(&mut self.control, Control::rest(cfg));
        match control {
            Control::None | Control::AskPacer | Control::AskTrain => unreachable!("none requests a segment"),
            Control::Probe => self.window_probe(cfg, now),
            Control::AckBefore(ack) => self.ack_before(cfg, now, ack),
            Control::EchoSynAck => self.mark_echo(cfg, now),
            Control::Abort => {
                let (seq, ack) = (self.wire(self.sender.snd.nxt), to_wire(self.irs, self.receiver.nxt));
                self.reset(cfg, now, Header { seq, ack, flags: Flags::ACK, ..Header::default() })
            }
            Control::Reset(seq) => self.reset(cfg, now, Header { seq, ..Header::default() }),
            Control::Refuse(ack) => self.reset(cfg, now, Header { ack, flags: Flags::ACK, ..Header::default() }),
            Control::Syn | Control::SynAck => self.handshake_segment(cfg, now, control),
        }
    }

    /// A SYN or SYN-ACK. A SYN offers every option, a SYN-ACK those that the peer offered (RFC 7323, sections 2.2 and 3.2;
    /// RFC 2018, section 2).
    fn handshake_segment(&mut self, cfg: &TcpConfig, now: Time, control: Control) -> Segment {
        let again = self.retries > 0;
        let mut accecn = None;
        let header = if control == Control::Syn {
            // A network may drop SYNs with these flags, so Linux requests AccECN only twice, and ECN only once
            // (`tcp_ecn_clear_syn`; RFC 3168, section 6.1.1.1).
            let requests = match cfg.ecn.is_accurate() {
                true => 2,
                false if cfg.requests_ecn_once() => 1,
                false => u8::MAX,
            };
            let ecn = if self.retries < requests { cfg.ecn.syn_flags() } else { Flags(0) };
            Header { flags: Flags::SYN | ecn, ecn: Self::syn_codepoint(cfg), ..Header::default() }
        } else {
            let mut ecn = if self.sender.snd.ecn.is_agreed() { Flags::ECE } else { Flags(0) };
            if self.sender.snd.ecn.is_accurate() {
                (ecn, accecn) = self.accurate_syn_ack(cfg, self.retries);
            }
            Header {
                flags: Flags::SYN | Flags::ACK | ecn,
                ack: to_wire(self.irs, 1),
                ecn: self.syn_ack_codepoint(cfg),
                ..Header::default()
            }
        };
        self.stats.segments_sent += 1;
        self.stats.retransmits += u32::from(again);
        let answer = control == Control::SynAck && self.state == State::SynReceived;
        let (sack, timestamps, scale) = if answer {
            (self.agreed.sack, self.agreed.timestamps, self.receiver.shift_plus_1 > 0)
        } else {
            (cfg.sack, cfg.timestamps, cfg.window_scale)
        };
        let option_bytes = 4 // MSS
            + if timestamps { TIMESTAMPS_BYTES } else { 0 }
            + if sack && !timestamps { 4 } else { 0 } // SACK-permitted; replaces the padding of timestamps
            + if scale { 4 } else { 0 }
            + accecn.map_or(0, |option: AccEcnOption| option.padded_bytes());
        let option_bytes = if cfg.header_bytes == 0 { 0 } else { option_bytes }; // as in the method `option_bytes`
        self.receiver.ack_now = false;
        let header = Header {
            seq: self.iss,
            window: self.receiver.first_window(cfg, if answer { self.offered_mss(cfg) } else { cfg.mss }),
            ts_val: cfg.timestamp(now),
            ts_ecr: if control == Control::SynAck { self.receiver.ts_recent } else { 0 },
            has_timestamps: timestamps,
            sack_permitted: sack,
            mss: cfg.mss.min(0xffff) as u16,
            window_scale_plus_1: if scale { wanted_shift(cfg) + 1 } else { 0 },
            wire_bytes: cfg.ack_bytes + option_bytes,
            retransmission: again,
            ..header
        };
        Segment { accecn, ..Segment::from(header) }
    }
}
