//! Arriving segments (RFC 9293, section 3.10.7).

use std::num::NonZeroU64;

use cwndlab_units::Time;

use super::fast::Rest;
use super::{schedule_ack, stamp_unit, Agreed, Connection, Control, OUTDATED};
use crate::ack_policy::Arriving;
use crate::config::{AckPolicy, TcpConfig};
use crate::segment::{Flags, Header, Segment};
use crate::sequence::{from_wire, to_wire};
use crate::state::{CloseReason, State};
use crate::timers::Timer;

impl Connection {
    /// Handles an arriving segment. Returns true only if the connection was established and still is, and has received
    /// no FIN. May return false although that is so.
    #[inline(never)]
    pub fn handle_segment(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) -> bool {
        if seg.sack.len == 0 && seg.accecn.is_none() {
            return self.handle_bare(cfg, now, &seg.header);
        }
        if self.rest != Rest::Busy && self.take_at_rest(cfg, now, &seg.header, Some(seg)) {
            return true;
        }
        self.stats.segments_received += 1;
        if self.is_expected_accurate(seg) && self.take_expected(cfg, now, &seg.header, Some(seg)) {
            return self.state == State::Established;
        }
        self.take_any(cfg, now, seg);
        false
    }

    /// Handles a segment without SACK blocks and AccECN option ([`Connection::handle_segment`]).
    #[inline(always)]
    pub fn handle_bare(&mut self, cfg: &TcpConfig, now: Time, seg: &Header) -> bool {
        if self.rest != Rest::Busy && self.take_at_rest(cfg, now, seg, None) {
            return true;
        }
        self.stats.segments_received += 1;
        if self.is_expected(seg) && self.take_expected(cfg, now, seg, None) {
            return self.state == State::Established; // without FIN, the last ACK closes the connection
        }
        self.take_any_bare(cfg, now, seg);
        false
    }

    #[inline(never)]
    fn take_any_bare(&mut self, cfg: &TcpConfig, now: Time, seg: &Header) {
        self.take_any(cfg, now, &Segment::from(*seg));
    }

    /// Updates TS.Recent from a segment's timestamp (RFC 7323, section 4.3).
    pub(super) fn note_timestamp(&mut self, now: Time, start: i64, ts_val: u32) {
        let unit = stamp_unit(now);
        let outdated = unit.wrapping_sub(self.stamped_at) >= OUTDATED;
        if self.receiver.note_timestamp(start, ts_val, outdated) {
            self.stamped_at = unit;
        }
    }

    /// Whether a segment's timestamp is older than TS.Recent, so that the segment is an old duplicate (PAWS; RFC 7323,
    /// section 5.3, R1). Linux allows for one tick of its timestamps (`TCP_PAWS_WINDOW`), and takes duplicate ACKs that
    /// are late by little more than the timeout (`tcp_disordered_ack`).
    fn is_outdated(&self, cfg: &TcpConfig, now: Time, start: i64, seg: &Header) -> bool {
        let recent = self.receiver.ts_recent;
        let is_older = self.agreed.timestamps && seg.has_timestamps && seg.is_older_than(recent);
        if !is_older || recent == 0 || stamp_unit(now).wrapping_sub(self.stamped_at) >= OUTDATED {
            return false;
        }
        if !cfg.accepts_late_timestamps() {
            return true;
        }
        let s = &self.sender.snd;
        let [late_ms, rto_ms] = [
            cfg.clock().stamped_ms(now, recent).saturating_sub(cfg.clock().stamped_ms(now, seg.ts_val)),
            s.rtt.rto(&cfg.rto).as_nanos() / 1_000_000,
        ];
        let is_duplicate = seg.len == 0 && start == self.receiver.nxt as i64 && seg.ack == self.wire(s.una);
        let opens = s.una + u64::from(seg.window) > s.edge || seg.window == 0;
        late_ms > 1 && !(is_duplicate && !opens && late_ms <= rto_ms * 6 / 5)
    }

    /// Whether a segment that ends at `end` lies before the window, so that it is answered and dropped (RFC 9293, section
    /// 3.10.7.4, first check), and neither its timestamp nor its acknowledgment counts. In Linux, what an ACK still to be
    /// sent will acknowledge lies in the window (`tcp_sequence`, `rcv_wup`).
    fn is_before_window(&self, cfg: &TcpConfig, end: i64, seg: &Header) -> bool {
        let end = (end as u32).wrapping_add(u32::from(seg.flags.has(Flags::FIN)));
        cfg.drops_old_segments()
            && self.state != State::TimeWait
            && (end.wrapping_sub(self.receiver.last_ack) as i32) < 0
    }

    /// Handles a segment by the full path, in any state.
    pub(super) fn take_any(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) {
        self.rest = Rest::Busy;
        match self.state {
            // If the connection ends without FIN, the peer does not learn that this end has finished, so the peer's
            // data is still acknowledged.
            State::Closed if !self.ends_by_fin && self.error.is_none() => self.on_synchronized(cfg, now, seg),
            State::Closed => self.on_closed(seg),
            State::Listen => self.on_listen(cfg, now, seg),
            State::SynSent => self.on_syn_sent(cfg, now, seg),
            _ => self.on_synchronized(cfg, now, seg),
        }
    }

    /// In CLOSED (RFC 9293, section 3.10.7.1): queues a RST in response to any segment except a RST; if the connection
    /// ends without FIN, queues nothing.
    fn on_closed(&mut self, seg: &Segment) {
        if seg.flags.has(Flags::RST) || !self.ends_by_fin {
            return;
        }
        self.control = if seg.flags.has(Flags::ACK) {
            Control::Reset(seg.ack)
        } else {
            let numbers = u32::from(seg.flags.has(Flags::SYN)) + u32::from(seg.flags.has(Flags::FIN));
            Control::Refuse(seg.seq.wrapping_add(seg.len + numbers))
        };
    }

    fn on_synchronized(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) {
        let start = from_wire(self.irs, seg.seq, self.receiver.nxt);
        let is_data_or_ack = seg.flags.0 & (Flags::SYN | Flags::RST | Flags::FIN).0 == 0;
        if !is_data_or_ack && !self.on_control(cfg, now, start, seg) {
            return;
        }
        if !seg.flags.has(Flags::ACK) {
            return;
        }
        let end = start + i64::from(seg.len);
        if self.is_outdated(cfg, now, start, seg) || self.is_before_window(cfg, end, seg) {
            // An empty segment is not answered (see below), unless it probes our window.
            if seg.len > 0 && end > 0 && end <= self.receiver.nxt as i64 {
                let scheduled = self.receiver.policy.linux().map(|linux| linux.is_scheduled());
                self.on_payload(cfg, now, seg, start.max(1) as u64, end as u64); // DSACK reports it
                if let (Some(linux), Some(scheduled)) = (self.receiver.policy.linux(), scheduled) {
                    linux.answers_dropped(scheduled);
                }
            } else {
                self.receiver.ack_now |= seg.len > 0 || !is_data_or_ack || start + 1 == self.receiver.nxt as i64;
            }
            return;
        }
        if start > self.receiver.edge as i64 {
            // The segment lies beyond the window (RFC 9293, section 3.10.7.4, first check). An empty one is not
            // answered, because otherwise two ends could answer each other endlessly.
            self.receiver.ack_now |= seg.len > 0 || !is_data_or_ack;
            return;
        }
        if self.state == State::SynReceived && !self.on_handshake_ack(cfg, now, seg) {
            return;
        }
        if from_wire(self.iss, seg.ack, self.sender.snd.una) > self.sender.snd.max as i64 {
            // The segment acknowledges data that was never sent: it is answered and dropped, and its timestamp ignored.
            self.receiver.ack_now = true;
            return;
        }
        if self.agreed.timestamps && seg.has_timestamps || seg.len > 0 && cfg.packet_stamps {
            self.note_timestamp(now, start, seg.ts_val);
        }
        if is_data_or_ack && seg.len == 0 && start + 1 == self.receiver.nxt as i64 {
            self.receiver.ack_now = true; // a probe of our window
        }
        if self.sender.snd.ecn.is_accurate() {
            self.count_arrival(seg);
        }
        self.on_ack(cfg, now, seg, start);
        if self.state == State::Closed && self.ends_by_fin {
            return;
        }
        self.on_text(cfg, now, seg, start);
    }

    /// Processes the payload and the FIN of a segment (RFC 9293, section 3.10.7.4, seventh and eighth).
    fn on_text(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment, start: i64) {
        // The stream's first byte has position 1; payload before it does not count.
        let end = start + i64::from(seg.len);
        if seg.len > 0 && end > self.receiver.nxt as i64 && self.refuses_data(seg) {
            return;
        }
        if seg.len > 0 && end > 0 {
            if self.may_change_echo(cfg, seg) {
                self.note_mark(cfg, seg, start == self.receiver.nxt as i64);
            }
            self.on_payload(cfg, now, seg, start.max(1) as u64, end as u64);
        }
        // A FIN that follows payload beyond the window is cut off with this payload.
        if seg.flags.has(Flags::FIN) && end > 0 && end <= self.receiver.edge.max(self.receiver.nxt) as i64 {
            if !self.receiver.fin_received() {
                self.receiver.fin_at = NonZeroU64::new(end as u64);
            }
            if self.receiver.nxt > end as u64 {
                self.receiver.ack_now = true; // the FIN arrived again
                if self.state == State::TimeWait {
                    self.enter_time_wait(cfg, now);
                }
            } else if self.receiver.nxt < end as u64 {
                // The FIN is out of order (RFC 5681, section 4.2). Linux may withhold its ACK, as that of data.
                let is_decided = seg.len > 0 && cfg.ack_policy == AckPolicy::Linux;
                self.receiver.ack_now |= !is_decided;
            }
        }
        if self.receiver.fin_at == NonZeroU64::new(self.receiver.nxt) {
            self.on_peer_fin(cfg, now, !seg.flags.has(Flags::FIN));
        }
    }

    /// Processes payload.
    #[inline(always)]
    pub(super) fn on_payload(&mut self, cfg: &TcpConfig, now: Time, seg: &Header, start: u64, end: u64) {
        if self.ends_by_fin && !self.state.may_receive() && end > self.receiver.nxt {
            return;
        }
        let Agreed { sack, timestamps } = self.agreed;
        let mss = if self.receiver.is_linux() { self.offered_mss(cfg) } else { 0 };
        let new = Arriving { start, end, seg, sack, timestamps, mss };
        let due = self.receiver.take(cfg, now, &self.sender, new);
        schedule_ack(&mut self.timers, &mut self.receiver, due);
    }

    /// Whether data in this segment may change the ECN echo, or, for Linux's receiver, carries CWR after a loss.
    fn may_change_echo(&self, cfg: &TcpConfig, seg: &Header) -> bool {
        let ecn = self.sender.snd.ecn;
        ecn.affects_echo(seg) || seg.flags.has(Flags::CWR) && !ecn.is_accurate() && cfg.acknowledges_cwr()
    }

    /// Updates the ECN echo for a data segment that may change it. If the segment changes DCTCP.CE (RFC 8257, section
    /// 3.2), a delayed ACK that is pending is sent first, and the segment is acknowledged at once.
    fn note_mark(&mut self, cfg: &TcpConfig, seg: &Segment, in_order: bool) {
        if !self.sender.snd.ecn.is_agreed() {
            return;
        }
        if self.sender.snd.ecn.state_ends(seg) {
            let free = self.control.is_rest();
            // Linux tests `ICSK_ACK_TIMER`, which is not set while ACKs are withheld.
            let withholds = self.receiver.policy.linux().is_some_and(|it| it.withholds());
            if self.timers.is_running(Timer::DelayedAck) && free && !withholds {
                self.control = Control::AckBefore(to_wire(self.irs, self.receiver.nxt));
                if let Some(linux) = self.receiver.policy.linux() {
                    linux.note_ack_before();
                }
            }
            self.receiver.ack_now = true;
        }
        self.receiver.note_mark(cfg, seg, self.sender.snd.ecn, in_order);
        self.sender.snd.ecn.on_data_in(seg);
    }

    /// Processes the RST, SYN and FIN flags on a synchronized connection. Returns whether to process the segment
    /// further.
    fn on_control(&mut self, cfg: &TcpConfig, now: Time, start: i64, seg: &Segment) -> bool {
        if seg.flags.has(Flags::RST) {
            // RFC 5961, section 3.2: a RST is accepted only at exactly RCV.NXT. Elsewhere in the window it triggers a
            // challenge ACK.
            if start == self.receiver.nxt as i64 {
                match self.state {
                    // Both sides have closed, so this is no error (RFC 9293, section 3.10.7.4).
                    State::TimeWait | State::LastAck | State::Closing => self.end_quietly(),
                    // By the same section, a passive open returns to LISTEN without an error, and an active open fails
                    // as refused.
                    State::SynReceived if self.receiver.listens && !self.closing => self.listen_again(cfg, self.iss),
                    State::SynReceived if !self.receiver.listens => self.fail(CloseReason::Refused),
                    _ => self.fail(CloseReason::Reset),
                }
            } else if start > self.receiver.nxt as i64 && start < self.receiver.edge as i64 {
                self.receiver.ack_now = true;
            }
            return false;
        }
        if seg.flags.has(Flags::SYN) {
            if self.state == State::SynReceived && start == 0 {
                if seg.flags.has(Flags::ACK) {
                    return true; // the other half of a simultaneous open
                }
                self.control = Control::SynAck; // our SYN-ACK was lost
                self.sender.timed_end = 0; // Karn: an ACK would not show which SYN-ACK it answers
                if cfg.restarts_syn_ack_timer() {
                    self.sender.snd.start_timeout(cfg, now); // again (`tcp_check_req`)
                }
                return false;
            }
            if self.state == State::TimeWait && self.may_reopen(start, seg) {
                self.reopen(cfg, now, seg);
                return false;
            }
            // RFC 5961, section 4.2: a challenge ACK. It also answers a SYN-ACK that arrived again.
            self.receiver.ack_now = true;
            if seg.flags.has(Flags::ACK) && self.sender.snd.ecn.is_accurate() {
                self.reflect_again();
            }
            return false;
        }
        true
    }

    /// Processes an ACK in SYN-RECEIVED, where the ACK of our SYN establishes the connection. Returns whether to
    /// process the segment further.
    fn on_handshake_ack(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) -> bool {
        let ack = from_wire(self.iss, seg.ack, self.sender.snd.nxt);
        if ack < 1 || ack > self.sender.snd.max as i64 {
            self.control = Control::Reset(seg.ack);
            return false;
        }
        if self.takes_syn_ack_back(cfg, now, seg) {
            return false;
        }
        self.control = Control::rest(cfg);
        if self.sender.snd.ecn.is_accurate() {
            self.third_accurate(cfg, seg);
        }
        self.establish(cfg, now, seg);
        true
    }
}
