//! A segment arrives (RFC 9293, 3.10.7).

use cwndlab_units::Time;

use super::timed::dsack;
use super::{schedule_ack, timestamp, Agreed, Connection, Control};
use crate::config::TcpConfig;
use crate::congestion::{AckKind, AckReport, CongestionEvent};
use crate::receiver::Arriving;
use crate::recovery::{reduce, Decision, Growth, Recovery};
use crate::segment::{Flags, Segment};
use crate::sequence::{from_wire, to_wire};
use crate::state::{CloseReason, State};
use crate::timers::Timer;

impl Connection {
    /// A segment arrives.
    #[inline]
    pub fn handle_segment(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) {
        self.stats.segments_received += 1;
        if self.is_expected(seg) && self.take_expected(cfg, now, seg) {
            return;
        }
        self.take_any(cfg, now, seg);
    }

    /// Whether a segment is what a connection in the open mostly gets, by its header ("header prediction", Jacobson 1990):
    /// in order, without blocks and without flags but ACK and PSH, and nothing seldom is under way.
    #[inline]
    pub(super) fn is_expected(&self, seg: &Segment) -> bool {
        self.state == State::Established
            && seg.flags.0 & !Flags::PSH.0 == Flags::ACK.0
            && seg.sack.len == 0
            && seg.seq == to_wire(self.irs, self.receiver.nxt)
            && self.receiver.fin_at == 0
            && self.sender.extra.is_none()
    }

    /// A plain ACK of new data, or data in order that acknowledges nothing new; false, and nothing done, if it is neither.
    /// Does what [`Self::take_any`] does of these, without asking what they are not.
    #[inline]
    fn take_expected(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) -> bool {
        let s = &self.sender;
        let acked = u64::from(seg.ack.wrapping_sub(to_wire(self.iss, s.una)));
        let data = seg.len > 0;
        let plain = if data {
            acked == 0 && !s.ecn.minds(seg) && !matches!(self.recovery, Recovery::Rack(_))
        } else {
            acked > 0 && acked <= s.max - s.una
        };
        if !plain {
            return false;
        }
        let start = self.receiver.nxt;
        if self.agreed.timestamps && seg.has_timestamps || data && cfg.one_way_agents {
            self.receiver.note_timestamp(start as i64, seg.ts_val);
        }
        let ack = s.una + acked;
        self.note_window(ack, seg);
        if data {
            self.note_window_update();
            self.on_payload(cfg, now, seg, start, start + u64::from(seg.len));
        } else {
            let report = self.account_new(cfg, now, seg, ack);
            self.on_new_ack(cfg, ack, report);
            self.arm_rack(cfg);
        }
        true
    }

    /// Any segment, in any state.
    #[inline(never)]
    pub(super) fn take_any(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) {
        match self.state {
            // without FIN the peer is not told that we are over: what it still sends is acknowledged
            State::Closed if !self.ends_by_fin && self.error.is_none() => self.on_synchronized(cfg, now, seg),
            State::Closed => self.on_closed(seg),
            State::Listen => self.on_listen(cfg, now, seg),
            State::SynSent => self.on_syn_sent(cfg, now, seg),
            _ => self.on_synchronized(cfg, now, seg),
        }
    }

    /// CLOSED (RFC 9293, 3.10.7.1): a RST answers everything but a RST. Without FIN the peer is not told.
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

    #[inline]
    fn on_synchronized(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) {
        let start = from_wire(self.irs, seg.seq, self.receiver.nxt);
        let plain = seg.flags.0 & (Flags::SYN | Flags::RST | Flags::FIN).0 == 0;
        if !plain && !self.on_control(cfg, now, start, seg) {
            return;
        }
        if !seg.flags.has(Flags::ACK) {
            return;
        }
        if start > self.receiver.edge as i64 {
            // beyond the window: step 1; an empty one is not answered, or two ends could answer each other for ever
            self.receiver.ack_now |= seg.len > 0 || !plain;
            return;
        }
        if self.state == State::SynReceived && !self.on_handshake_ack(cfg, now, seg) {
            return;
        }
        if from_wire(self.iss, seg.ack, self.sender.una) > self.sender.max as i64 {
            self.receiver.ack_now = true; // acknowledges what was not sent: answered and dropped, stamp and all
            return;
        }
        // the packets of the agents of 1998 always carry a stamp, and the sink echoes it
        if self.agreed.timestamps && seg.has_timestamps || seg.len > 0 && cfg.one_way_agents {
            self.receiver.note_timestamp(start, seg.ts_val);
        }
        if plain && seg.len == 0 && start + 1 == self.receiver.nxt as i64 {
            self.receiver.ack_now = true; // a probe of our window
        }
        self.on_ack(cfg, now, seg, start);
        if self.state == State::Closed && self.ends_by_fin {
            return;
        }
        // what of the payload is not before the first byte of the stream
        let end = start + i64::from(seg.len);
        if self.sender.extra.is_some() && seg.len > 0 && end > self.receiver.nxt as i64 && self.refuses_data(seg) {
            return;
        }
        if seg.len > 0 && end > 0 {
            if self.sender.ecn.minds(seg) {
                self.note_mark(cfg, seg);
            }
            self.on_payload(cfg, now, seg, start.max(1) as u64, end as u64);
        }
        // a FIN behind payload that the window cut off is cut off with it
        if seg.flags.has(Flags::FIN) && end > 0 && end <= self.receiver.edge.max(self.receiver.nxt) as i64 {
            if !self.receiver.fin_received() {
                self.receiver.fin_at = end as u64;
            }
            if self.receiver.nxt > end as u64 {
                self.receiver.ack_now = true; // the FIN again
                if self.state == State::TimeWait {
                    self.enter_time_wait(cfg, now);
                }
            } else if self.receiver.nxt < end as u64 {
                self.receiver.ack_now = true; // out of order, empty or not (RFC 5681, section 4.2)
            }
        }
        if self.receiver.fin_at != 0 && self.receiver.nxt == self.receiver.fin_at {
            self.on_peer_fin(cfg, now);
        }
    }

    #[inline]
    fn on_payload(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment, start: u64, end: u64) {
        if self.ends_by_fin && !self.state.may_receive() && end > self.receiver.nxt {
            return;
        }
        let Agreed { sack, timestamps } = self.agreed;
        let new = Arriving { start, end, seg, sack, timestamps, mss: self.offered_mss(cfg) };
        let due = self.receiver.take(cfg, now, &self.sender, &new);
        schedule_ack(&mut self.timers, &mut self.receiver, due);
    }

    /// What is echoed may change. If DCTCP.CE does (RFC 8257, section 3.2), an ACK that was delayed goes before, and this
    /// segment's at once.
    #[cold]
    fn note_mark(&mut self, cfg: &TcpConfig, seg: &Segment) {
        if !self.sender.ecn.is_agreed() {
            return;
        }
        if self.sender.ecn.state_ends(seg) {
            let free = matches!(self.control, Control::None | Control::Paced);
            if self.timers.is_running(Timer::DelayedAck) && free {
                self.control = Control::AckBefore(to_wire(self.irs, self.receiver.nxt));
            }
            self.receiver.ack_now = true;
        }
        self.receiver.note_mark(cfg, seg, self.sender.ecn);
        self.sender.ecn.on_data_in(seg);
    }

    /// RST, SYN and FIN of a synchronized connection; whether the segment is to be looked at further.
    #[inline(never)]
    fn on_control(&mut self, cfg: &TcpConfig, now: Time, start: i64, seg: &Segment) -> bool {
        if seg.flags.has(Flags::RST) {
            // RFC 5961, section 3.2: only at exactly RCV.NXT; elsewhere in the window a challenge
            if start == self.receiver.nxt as i64 {
                match self.state {
                    // both sides had closed: RFC 9293, 3.10.7.4 signals nothing
                    State::TimeWait | State::LastAck | State::Closing => self.end_quietly(),
                    // the same section: a passive open listens again, and is told nothing; an active one was refused
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
                self.sender.timed_end = 0; // Karn: which of the two will be acknowledged?
                return false;
            }
            if self.state == State::TimeWait && self.may_reopen(start, seg) {
                self.reopen(cfg, now, seg);
                return false;
            }
            self.receiver.ack_now = true; // RFC 5961, section 4.2: challenge; also the answer to a SYN-ACK that came again
            return false;
        }
        true
    }

    /// SYN-RECEIVED: the ACK of our SYN establishes.
    fn on_handshake_ack(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) -> bool {
        let ack = from_wire(self.iss, seg.ack, self.sender.nxt);
        if ack < 1 || ack > self.sender.max as i64 {
            self.control = Control::Reset(seg.ack);
            return false;
        }
        self.control = Control::rest(cfg);
        self.establish(cfg, now, seg);
        true
    }

    /// An ACK: its account, then loss detection and the episode, the controller, and the timer.
    #[inline]
    fn on_ack(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment, start: i64) {
        let ack = from_wire(self.iss, seg.ack, self.sender.una);
        if ack < self.sender.una as i64 {
            // an old ACK may tell of what arrived later
            if matches!(self.recovery, Recovery::Rack(_)) {
                let report = self.account_report(cfg, now, seg, AckKind::Old);
                self.on_reporting_ack(cfg, &report);
                self.arm_rack(cfg);
            }
            return;
        }
        let ack = ack as u64;
        let window_changed = ack + u64::from(seg.window) != self.sender.edge;
        if start >= self.receiver.nxt as i64 || ack + u64::from(seg.window) > self.sender.edge {
            self.note_window(ack, seg);
        }
        self.sender.note_largest_window(seg.window);
        if ack > self.sender.una {
            let report = self.account_new(cfg, now, seg, ack);
            self.on_new_ack(cfg, ack, report);
        } else {
            self.on_other_ack(cfg, now, seg, window_changed);
        }
        if self.sender.extra.is_some() {
            self.note_ack(self.retries == 0 && self.sender.edge > self.sender.nxt);
        }
        self.arm_rack(cfg);
    }

    /// The window that a segment offers with its ACK. RFC 9293, 3.10.7.4: that of the newest segment counts; older ones are
    /// told by their position.
    #[inline]
    fn note_window(&mut self, ack: u64, seg: &Segment) {
        self.sender.edge = ack + u64::from(seg.window);
        self.sender.note_largest_window(seg.window);
    }

    /// Nothing new is acknowledged: a window that opens ends probing.
    #[inline]
    fn note_window_update(&mut self) {
        let s = &self.sender;
        if s.una == s.max && s.edge > s.nxt && s.cc.cwnd() > 0 {
            self.timers.stop(Timer::Retransmit);
            self.retries = 0;
        }
    }

    /// An ACK that acknowledges nothing new.
    #[inline]
    fn on_other_ack(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment, window_changed: bool) {
        let tells = self.agreed.sack && (seg.sack.len > 0 || matches!(self.recovery, Recovery::Rack(_)));
        let account = tells.then(|| self.account_report(cfg, now, seg, AckKind::Other));
        if self.is_duplicate(cfg, seg, window_changed, account.map_or(0, |account| account.sacked_bytes)) {
            let account = account.unwrap_or_else(|| AckReport {
                prior_flight_bytes: self.sender.flight_size(),
                ece: seg.flags.has(Flags::ECE),
                has_blocks: seg.sack.len > 0,
                ..self.sender.report(cfg, now)
            });
            return self.on_duplicate_ack(cfg, seg, &AckReport { kind: AckKind::Duplicate, ..account });
        }
        self.note_window_update();
        if let Some(account) = account.filter(|_| matches!(self.recovery, Recovery::Rack(_))) {
            self.on_reporting_ack(cfg, &account);
        }
    }

    /// RFC 5681, section 2; with SACK, RFC 6675, section 2: an ACK that reports something new (the agents of 1998 see
    /// to that themselves).
    fn is_duplicate(&self, cfg: &TcpConfig, seg: &Segment, window_changed: bool, reported: u64) -> bool {
        let outstanding = self.sender.max > self.sender.una;
        let bare = seg.len == 0 && !seg.flags.has(Flags::FIN) && !seg.flags.has(Flags::SYN);
        if self.agreed.sack && !cfg.one_way_agents {
            return outstanding && (reported > 0 || (bare && !window_changed && seg.sack.len == 0));
        }
        outstanding && bare && !window_changed
    }

    /// Bytes that the blocks newly report. A block at or below the ACK is a duplicate's (RFC 2883).
    fn learn_sack(&mut self, seg: &Segment) -> u64 {
        let una = from_wire(self.iss, seg.ack, self.sender.una).max(self.sender.una as i64);
        let mut reported = 0;
        for &(left, right) in seg.sack.as_slice() {
            let (left, right) = (from_wire(self.iss, left, una as u64), from_wire(self.iss, right, una as u64));
            if left >= una && left < right && right <= self.sender.max as i64 {
                if let Recovery::Rack(rack) = &mut self.recovery {
                    rack.on_block(&self.sender, left as u64, right as u64);
                }
                reported += self.sender.scoreboard.insert(left as u64, right as u64);
            }
        }
        reported
    }

    /// The account of an ACK of new data: moves SND.UNA and takes the round trip.
    #[inline]
    fn account_new(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment, ack: u64) -> AckReport {
        let has_blocks = seg.sack.len > 0 && self.agreed.sack;
        let prior_flight_bytes = self.sender.flight_size();
        let keeps_times = matches!(self.recovery, Recovery::Rack(_));
        let (dsack, echoed_stamp) = if keeps_times { self.begin_account(cfg, now, seg) } else { (None, None) };
        let sacked_bytes = if has_blocks { self.learn_sack(seg) } else { 0 };
        let s = &mut self.sender;
        let acked = ack - s.una;
        // without SACK each duplicate ACK told of a segment that had arrived
        let told = u64::from(s.dup_acks) * u64::from(s.mss);
        s.una = ack;
        s.nxt = s.nxt.max(ack);
        s.resend_first = false;
        let known = s.scoreboard.advance(ack);
        self.retries = 0;
        if self.recovery.times_echo(true, has_blocks) {
            self.time_echo(cfg, now, seg, ack);
        }
        let rtt = if keeps_times { self.measure_record(cfg, now, seg, ack) } else { self.measure(cfg, now, seg, ack) };
        let s = &mut self.sender;
        let rtt = s.times().and_then(|times| times.on_ack(ack, now)).or(rtt);
        let acked_bytes = acked - u64::from(s.fin && ack > s.end);
        let delivered_bytes = acked_bytes + sacked_bytes - known;
        AckReport {
            kind: AckKind::New,
            acked_bytes,
            sacked_bytes,
            delivered_bytes,
            fresh_bytes: if self.agreed.sack {
                delivered_bytes
            } else {
                acked_bytes - told.min(acked_bytes - acked_bytes.min(u64::from(s.mss)))
            },
            prior_flight_bytes,
            rtt,
            has_blocks,
            dsack,
            echoed_stamp,
            ece: seg.flags.has(Flags::ECE),
            ..s.report(cfg, now)
        }
    }

    /// The account of an ACK that acknowledges nothing new: what its blocks report.
    #[inline(never)]
    fn account_report(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment, kind: AckKind) -> AckReport {
        let prior_flight_bytes = self.sender.flight_size();
        let (dsack, echoed_stamp) = self.begin_account(cfg, now, seg);
        let sacked_bytes = self.learn_sack(seg);
        let mut rtt = None;
        if let Recovery::Rack(rack) = &mut self.recovery {
            if let Some((first, last)) = rack.reported_rtts() {
                let s = &mut self.sender;
                s.rtt.on_sample(&cfg.rto, now, first, (s.una, s.max));
                s.rtt.note_least(last);
                rtt = Some(last);
            }
        }
        AckReport {
            kind,
            sacked_bytes,
            delivered_bytes: sacked_bytes,
            prior_flight_bytes,
            rtt,
            has_blocks: seg.sack.len > 0,
            dsack,
            echoed_stamp,
            ece: seg.flags.has(Flags::ECE),
            ..self.sender.report(cfg, now)
        }
    }

    /// Where the record of segments is kept, it begins the account of an ACK; what arrived twice, and the stamp echoed.
    fn begin_account(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) -> (Option<(u64, u64)>, Option<u32>) {
        let dsack = if seg.sack.len > 0 { dsack(seg, self.iss, self.sender.una) } else { None };
        let echo = (self.agreed.timestamps && seg.has_timestamps && seg.ts_ecr != 0).then_some(seg.ts_ecr);
        if let Recovery::Rack(rack) = &mut self.recovery {
            rack.begin_ack(cfg, &self.sender, now, dsack, echo);
        }
        (dsack, echo)
    }

    #[inline]
    fn on_new_ack(&mut self, cfg: &TcpConfig, ack: u64, report: AckReport) {
        let now = report.now;
        let s = &mut self.sender;
        s.cc.on_feedback(&report);
        let decision = self.recovery.on_ack(cfg, s, &report);
        self.stats.fast_retransmits += u32::from(decision.began);
        if s.una == s.max && s.cc.cwnd() == 0 {
            // closed by an echo: only the timer opens the window (RFC 3168, section 6.1.2)
        } else if s.una == s.max {
            self.timers.stop(Timer::Retransmit); // RFC 6298, 5.2
        } else if decision.restart_timer {
            self.timers.set(Timer::Retransmit, cfg.expiry(now, s.rtt.rto(&cfg.rto)));
            // 5.3
        }
        let held = report.ece && self.on_echo(cfg, now, report.prior_flight_bytes, true);
        self.conclude(cfg, report, decision, !held);
        if self.sender.extra.is_some() {
            self.measure_segments(cfg, now);
        }
        let s = &self.sender;
        if s.fin && ack > s.end {
            self.on_fin_acked(cfg, now);
        }
        if !self.ends_by_fin {
            self.finish_without_fin();
        }
    }

    /// Losses have been looked for: the controller takes the ACK.
    #[inline]
    fn conclude(&mut self, cfg: &TcpConfig, mut report: AckReport, decision: Decision, may_grow: bool) {
        let s = &mut self.sender;
        if let Growth::Reported(bytes) = decision.growth {
            (report.acked_bytes, report.fresh_bytes, report.rtt) = (bytes, bytes, None);
        }
        report.lost_bytes = decision.lost_bytes;
        report.in_recovery = self.recovery.in_recovery();
        report.cwnd_limited = s.uses_cwnd();
        report.may_grow = may_grow && decision.growth != Growth::None;
        s.cc.on_ack(cfg, &report);
    }

    /// An ACK that is neither one of new data nor a duplicate, of which the record may have learnt.
    #[inline(never)]
    fn on_reporting_ack(&mut self, cfg: &TcpConfig, report: &AckReport) {
        let s = &mut self.sender;
        s.cc.on_feedback(report);
        let decision = self.recovery.on_ack(cfg, s, report);
        self.note_beginning(cfg, report.now, decision);
        self.conclude(cfg, *report, decision, true);
    }

    /// An episode may have begun: its timer runs from now.
    fn note_beginning(&mut self, cfg: &TcpConfig, now: Time, decision: Decision) {
        if decision.began {
            self.stats.fast_retransmits += 1;
            self.timers.set(Timer::Retransmit, cfg.expiry(now, self.sender.rtt.rto(&cfg.rto)));
        }
    }

    /// Takes a round-trip time if this ACK gives one: Karn's rule, or RFC 7323's timestamps.
    #[inline]
    fn measure(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment, ack: u64) -> Option<Time> {
        let s = &mut self.sender;
        if cfg.rto.per_segment {
            return None; // taken once the window has grown: `measure_segments`
        }
        if cfg.rto.estimator.is_linux_2() {
            s.rtt.note_window(&cfg.rto, s.cc.cwnd() / u64::from(s.mss));
        }
        let timed = s.timed_end != 0 && ack >= s.timed_end;
        let rtt = if cfg.rto.one_way {
            // the authors' TCP of RFC 2415: one-way delays, on the timed segment's ACK
            timed.then(|| Time::from_micros(u64::from(timestamp(now).wrapping_sub(seg.ts_val))))
        } else if self.agreed.timestamps && seg.ts_ecr != 0 {
            Some(Time::from_micros(u64::from(timestamp(now).wrapping_sub(seg.ts_ecr))))
        } else {
            timed.then(|| now - s.timed_at)
        };
        if timed {
            s.timed_end = 0;
        }
        let rtt = rtt?;
        s.rtt.on_sample(&cfg.rto, now, rtt, (s.una, s.max));
        s.rtt.clear_backoff();
        Some(rtt)
    }

    /// Each segment acknowledged gives a measurement (Linux 2.0.32, `tcp_ack`, `tcp_input.c` 1421 to 1489), but for those that a
    /// timeout found outstanding; the window has grown before. Then the timer counts from the next segment.
    #[inline(never)]
    fn measure_segments(&mut self, cfg: &TcpConfig, now: Time) {
        let s = &mut self.sender;
        let Some(packets) = s.extra.as_mut().and_then(|extra| extra.packets.as_mut()) else { return };
        let (rtt, una, max, window) = (&mut s.rtt, s.una, s.max, s.cc.cwnd() / u64::from(s.mss));
        rtt.note_window(&cfg.rto, window);
        packets.on_ack(una, |when| {
            if cfg.rto.per_segment {
                rtt.on_sample(&cfg.rto, now, now - when, (una, max));
                rtt.clear_backoff();
            }
        });
        self.time_first(cfg, now);
    }

    /// Takes the round trips of RACK's record, else of the stamp; the one for the window law.
    #[inline(never)]
    fn measure_record(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment, ack: u64) -> Option<Time> {
        let s = &mut self.sender;
        let Recovery::Rack(rack) = &mut self.recovery else { return None };
        let Some((first, last)) = rack.acknowledge(s).filter(|_| !cfg.rto.one_way) else {
            // the segment timed was sent again, or everything would be in the record
            return self.measure(cfg, now, seg, ack);
        };
        s.timed_end = 0;
        s.rtt.on_sample(&cfg.rto, now, first, (s.una, s.max));
        s.rtt.clear_backoff();
        Some(last)
    }

    /// An ACK with ECE (RFC 3168, section 6.1.2): the window shrinks as for a loss, at most once a window of data. Whether the
    /// ACK does not open it.
    ///
    /// "SHOULD NOT increase the congestion window in response to the receipt of an ECN-Echo ACK packet" is followed above
    /// ssthresh only. Below it, after a timeout, the echo of a reduction already made lasts until new data can carry CWR, and by
    /// the letter a go-back would fill one hole a round trip. Linux up to 3.x has this very rule (`tcp_may_raise_cwnd`); later
    /// kernels and FreeBSD hold back no ACK for its ECE; ns-2 has the letter, but its retransmissions carry CWR (as `rfc2481`).
    #[cold]
    fn on_echo(&mut self, cfg: &TcpConfig, now: Time, flight: u64, processed: bool) -> bool {
        let s = &mut self.sender;
        if s.ecn.may_reduce(s.una) {
            let before = s.cc.cwnd();
            reduce(cfg, s, CongestionEvent::Ecn, flight.min(before));
            self.stats.ecn_reductions += 1;
            if let Recovery::Rack(rack) = &mut self.recovery {
                rack.on_echo(cfg, s, before, processed);
            }
            if s.cc.cwnd() == 0 {
                // "MUST reset the retransmit timer on receiving the ECN-Echo packet when the congestion window is one"
                self.timers.set(Timer::Retransmit, cfg.expiry(now, s.rtt.rto(&cfg.rto)));
            }
            return true;
        }
        s.ecn.is_agreed() && (cfg.one_way_agents || !s.cc.in_slow_start())
    }

    /// The timer first, with what was known before; then the round trip of the segment that drew the ACK.
    #[inline(never)]
    fn time_echo(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment, ack: u64) {
        let s = &mut self.sender;
        if s.max > ack {
            self.timers.set(Timer::Retransmit, cfg.expiry(now, s.rtt.rto(&cfg.rto)));
        }
        if s.timed_end != 0 && ack >= s.timed_end {
            s.timed_end = 0;
            s.rtt.clear_backoff();
        }
        let echoed = u64::from(timestamp(now).wrapping_sub(seg.ts_ecr));
        s.rtt.on_sample(&cfg.rto, now, Time::from_micros(echoed), (s.una, s.max));
    }

    #[inline(never)]
    fn on_duplicate_ack(&mut self, cfg: &TcpConfig, seg: &Segment, report: &AckReport) {
        let now = report.now;
        self.stats.dup_acks += 1;
        self.sender.cc.on_feedback(report);
        if report.ece {
            self.on_echo(cfg, now, report.prior_flight_bytes, false);
        }
        if self.recovery.times_echo(false, report.has_blocks) {
            self.time_echo(cfg, now, seg, self.sender.una);
        }
        let decision = self.recovery.on_ack(cfg, &mut self.sender, report);
        self.note_beginning(cfg, now, decision);
        self.conclude(cfg, *report, decision, true);
        self.time_first(cfg, now);
    }
}
