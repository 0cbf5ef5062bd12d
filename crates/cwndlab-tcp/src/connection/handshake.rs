//! The three-way handshake (RFC 9293, sections 3.5 and 3.10.7), including simultaneous open, and its options.

use cwndlab_units::Time;

use super::{stamp_unit, Connection, Control, MAX_SYN_RETRIES};
use crate::config::{ReceiveTuning, RttSamples, TcpConfig};
use crate::congestion::{AfterAck, CongestionEvent, WindowChange};
use crate::segment::{Flags, Segment};
use crate::sequence::from_wire;
use crate::state::{CloseReason, State};
use crate::tuned_buffer::TunedBuffer;

/// The MSS of a peer that sends no MSS option (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u32 = 536;
/// The maximum of the window scale option (RFC 7323, section 2.3).
const MAX_SHIFT: u8 = 14;

/// The smallest window scale with which the whole receive buffer can be advertised.
pub(super) fn wanted_shift(cfg: &TcpConfig) -> u8 {
    if let ReceiveTuning::Linux { most_bytes, .. } = cfg.tuning() {
        return TunedBuffer::shift(most_bytes);
    }
    (0..MAX_SHIFT).find(|&shift| cfg.receive_buffer_bytes >> shift <= 0xffff).unwrap_or(MAX_SHIFT)
}

impl Connection {
    /// Processes a segment in LISTEN, where a SYN begins a connection.
    pub(super) fn on_listen(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) {
        if seg.flags.has(Flags::RST) {
            return;
        }
        if seg.flags.has(Flags::ACK) {
            self.control = Control::Reset(seg.ack);
            return;
        }
        if !seg.flags.has(Flags::SYN) {
            return;
        }
        self.take_syn(cfg, now, seg);
        self.state = State::SynReceived;
        self.control = Control::SynAck;
        self.time_syn(cfg, now);
    }

    /// Processes a segment in SYN-SENT, where a SYN-ACK establishes the connection.
    pub(super) fn on_syn_sent(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) {
        let acks_syn = seg.flags.has(Flags::ACK) && from_wire(self.iss, seg.ack, 1) == 1;
        if seg.flags.has(Flags::ACK) && !acks_syn {
            if !seg.flags.has(Flags::RST) {
                self.control = Control::Reset(seg.ack);
            }
            return;
        }
        if seg.flags.has(Flags::RST) {
            if acks_syn {
                self.fail(CloseReason::Refused);
            }
            return;
        }
        if !seg.flags.has(Flags::SYN) {
            return;
        }
        self.take_syn(cfg, now, seg);
        if acks_syn && self.refuses_marked_syn_ack(cfg, seg) {
            self.control = Control::EchoSynAck;
            self.time_syn(cfg, now);
        } else if acks_syn {
            self.control = Control::rest(cfg);
            self.establish(cfg, now, seg);
            self.receiver.ack_now = true;
        } else {
            // Simultaneous open: send a SYN-ACK, and wait for the peer's.
            self.state = State::SynReceived;
            self.control = Control::SynAck;
        }
    }

    /// Takes the peer's initial sequence number and options from a SYN or SYN-ACK.
    fn take_syn(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) {
        self.irs = seg.seq;
        self.receiver.nxt = 1;
        self.receiver.ts_recent = seg.ts_val;
        self.stamped_at = stamp_unit(now);
        self.agreed.sack = cfg.sack && seg.sack_permitted;
        self.agreed.timestamps = cfg.timestamps && seg.has_timestamps;
        let scales = cfg.window_scale && seg.window_scale_plus_1 > 0;
        self.receiver.shift_plus_1 = if scales { wanted_shift(cfg) + 1 } else { 0 };
        if cfg.ecn.is_accurate() {
            self.agree_accurate(cfg, seg);
        } else {
            self.sender.snd.ecn.set_codepoint(cfg.ecn, cfg.ecn.agree(seg));
        }
        self.sender.snd.edge = 1 + u64::from(seg.window);
        let peer = if seg.mss == 0 { DEFAULT_MSS } else { u32::from(seg.mss) };
        self.set_mss(cfg, cfg.mss.min(peer));
        let mss = if seg.flags.has(Flags::ACK) { cfg.mss } else { self.offered_mss(cfg) };
        self.receiver.open_window(cfg, mss);
    }

    /// Establishes the connection; called when our SYN is acknowledged.
    pub(super) fn establish(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) {
        self.state = State::Established;
        self.was_established = true;
        self.sender.snd.edge = self.sender.snd.una + u64::from(seg.window);
        self.sender.snd.timer.stop();
        self.receiver.on_established(cfg, now, self.offered_mss(cfg));
        let echoed = self.echoed_stamp(seg);
        let s = &mut self.sender;
        let is_timed = self.retries == 0 && s.timed_end == 1 && cfg.shaking().timed;
        if let Some(echoed) = echoed.filter(|_| !is_timed && cfg.times_repeated_handshake()) {
            // `tcp_ack_update_rtt`: the timestamp tells which SYN or SYN-ACK was answered.
            s.snd.rtt.on_sample(&cfg.rto, now, cfg.stamped_rtt(now, echoed), (s.snd.una, s.snd.max));
            s.snd.rtt.clear_backoff();
        }
        if self.retries > 0 {
            s.snd.rtt.after_lost_syn(); // RFC 6298, 5.7
                                        // In Linux a SYN-ACK sent because the SYN arrived again counts, too (`num_retrans`).
            let timeouts = u32::from(self.retries);
            let retransmissions = if cfg.counts_repeated_syn_acks() { self.stats.retransmits } else { timeouts };
            let first = echoed == Some(cfg.timestamp(s.timed_at)) && cfg.keeps_window_after_spurious_syn();
            if retransmissions > u32::from(cfg.shaking().free_retransmissions) && !first {
                // RFC 5681, section 3.1: after a lost SYN the window is one segment.
                s.cc.change(cfg, now, WindowChange::Restart, s.snd.mss);
            }
        } else if is_timed {
            let rtt = if cfg.rto.samples == RttSamples::OneWayDelay {
                Time::from_micros(cfg.clock().age(now, seg.ts_val))
            } else {
                cfg.elapsed(s.timed_at, now)
            };
            s.snd.rtt.on_sample(&cfg.rto, now, rtt, (s.snd.una, s.snd.max));
        }
        if s.snd.ecn.syn_ack_was_marked() {
            s.cc.change(cfg, now, WindowChange::Restart, s.snd.mss); // RFC 5562, section 3.2: one segment
        }
        s.timed_end = 0;
        let mtu = self.mtu(cfg);
        self.sender.start(cfg, now, mtu);
        let s = &mut self.sender;
        self.retries = 0;
        if cfg.shaking().ack_opens_window {
            let mss = u64::from(s.snd.mss);
            s.stopped_by_cwnd = true;
            s.note_usage(now);
            let opened = s.snd.report(cfg, now, (0, 0), mss, None);
            let after = AfterAck { may_grow: true, cwnd_limited: s.uses_cwnd(), ..AfterAck::default() };
            s.cc.on_ack(cfg, &opened, &after);
        }
    }

    pub(super) fn time_syn(&mut self, cfg: &TcpConfig, now: Time) {
        self.sender.timed_end = 1;
        self.sender.timed_at = now;
        self.sender.snd.start_timeout(cfg, now);
    }

    /// Retransmits the SYN or SYN-ACK (RFC 6298, 5.5).
    pub(super) fn on_syn_timeout(&mut self, cfg: &TcpConfig, now: Time) {
        self.retries += 1;
        self.stats.timeouts += 1;
        let linear = if self.state == State::SynSent { cfg.shaking().linear_timeouts } else { 0 };
        if self.retries > MAX_SYN_RETRIES + linear {
            return self.fail(CloseReason::ConnectTimeout);
        }
        self.sender.timed_end = 0; // Karn
        if cfg.shaking().timeout_cuts {
            let s = &mut self.sender;
            s.cc.on_congestion(cfg, now, CongestionEvent::Rto, u64::from(s.snd.mss), s.snd.mss);
        }
        if self.retries > linear {
            self.sender.snd.rtt.backoff(&cfg.rto);
        }
        self.control = if self.state == State::SynSent { Control::Syn } else { Control::SynAck };
        self.sender.snd.start_timeout(cfg, now);
    }
}
