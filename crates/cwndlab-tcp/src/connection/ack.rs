//! Processing of ACKs. An ACK becomes an [`AckReport`], which loss recovery and the congestion controller process.
//!
//! Most ACKs take the short path of `fast/ack.rs`, into which the shared functions are inlined. The other ACKs of new
//! data take the full path, [`Connection::take_new_ack`].

use cwndlab_units::Time;

use super::accecn::Feedback;
use super::Connection;
use crate::config::{RttSamples, TcpConfig};
use crate::congestion::{AckKind, AckReport, AfterAck};
use crate::flight::Flight;
use crate::recovery::{Growth, Outcome};
use crate::segment::{Header, Segment};
use crate::sequence::from_wire;
use crate::timers::retransmit::Reason;

impl Connection {
    /// Processes the acknowledgment, the window and the options of a segment that begins at position `start`.
    pub(super) fn on_ack(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment, start: i64) {
        let ack = from_wire(self.iss, seg.ack, self.sender.snd.una);
        if ack < self.sender.snd.una as i64 {
            // For RACK: the SACK blocks of an old ACK may report arrivals that are not known yet.
            if self.recovery.detects_by_time() {
                let report = self.account(cfg, now, seg, Some(seg), false);
                self.on_reporting_ack(cfg, &report);
                self.share_timer(cfg);
            }
            return;
        }
        let ack = ack as u64;
        let window_changed = ack + u64::from(seg.window) != self.sender.snd.edge;
        if start >= self.receiver.nxt as i64 || ack + u64::from(seg.window) > self.sender.snd.edge {
            self.note_window(ack, seg);
        }
        self.sender.note_largest_window(seg.window);
        if ack > self.sender.snd.una {
            self.take_new_ack(cfg, now, seg, Some(seg));
        } else {
            if ack > 1 {
                self.note_echo(now, seg); // `ack` is 1 if nothing but the SYN is acknowledged
            }
            self.on_other_ack(cfg, now, seg, window_changed);
            self.make_room();
        }
        self.note_ack(self.retries == 0 && self.sender.snd.edge > self.sender.snd.nxt);
        self.share_timer(cfg);
    }

    /// Sets the right edge of the peer's window from `seg`, which acknowledges the position `ack`. The caller must have
    /// excluded older segments, whose window no longer counts (RFC 9293, section 3.10.7.4).
    #[inline(always)]
    pub(super) fn note_window(&mut self, ack: u64, seg: &Header) {
        self.sender.snd.edge = ack + u64::from(seg.window);
        self.sender.note_largest_window(seg.window);
        if self.sender.is_buffered {
            self.sender.note_offer(seg.window);
        }
    }

    /// Ends the probing of a closed window, if nothing is outstanding and both windows now have room.
    pub(super) fn note_window_update(&mut self) {
        let s = &mut self.sender;
        if s.snd.una == s.snd.max && s.snd.edge > s.snd.nxt && s.cc.cwnd() > 0 {
            if s.snd.timer.reason() == Reason::Persist {
                s.snd.timer.stop();
            }
            self.retries = 0;
        }
    }

    /// Processes an ACK that acknowledges nothing new.
    fn on_other_ack(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment, window_changed: bool) {
        let idle = self.sender.snd.una == self.sender.snd.max;
        let bare = seg.sack.len == 0 && self.sender.has_no_extra() && !self.sender.snd.ecn.is_accurate();
        let by_time = self.recovery.detects_by_time();
        if idle && (!by_time || bare && self.is_unreported(cfg, now)) {
            return self.note_window_update(); // loss recovery and the controller need no report
        }
        let report = self.account(cfg, now, seg, Some(seg), window_changed);
        if report.kind == AckKind::Duplicate {
            return self.on_duplicate_ack(cfg, seg, &report);
        }
        self.note_window_update();
        if by_time {
            self.on_reporting_ack(cfg, &report);
        }
    }

    /// Whether an ACK of nothing new is a duplicate (RFC 5681, section 2). `reported`: the bytes that its SACK blocks
    /// report for the first time; `None` if it has no blocks. With SACK, blocks that report nothing new are no
    /// duplicate (RFC 6675, section 2), unless the recovery counts all bare ACKs.
    fn is_duplicate(&self, seg: &Header, window_changed: bool, reported: Option<u64>) -> bool {
        let outstanding = self.sender.snd.max > self.sender.snd.una;
        let bare = seg.is_empty() && !window_changed;
        if self.agreed.sack && !self.recovery.counts_bare_acks() {
            return outstanding && reported.map_or(bare, |bytes| bytes > 0);
        }
        outstanding && bare
    }

    /// Records the SACK blocks of an ACK. Returns the number of bytes that they report for the first time. Blocks below
    /// the ACK report duplicates (RFC 2883) and are skipped. Linux records the lowest block first
    /// (`tcp_sacktag_write_queue`); the round trip that RACK measures depends on this order.
    fn learn_sack(&mut self, cfg: &TcpConfig, seg: &Segment) -> u64 {
        let una = from_wire(self.iss, seg.ack, self.sender.snd.una).max(self.sender.snd.una as i64);
        let at = |wire: u32| from_wire(self.iss, wire, una as u64);
        let mut blocks = seg.sack;
        if cfg.sorts_blocks() && blocks.len > 1 {
            blocks.as_mut_slice().sort_unstable_by_key(|block| at(block.0));
        }
        let max = self.sender.snd.max as i64;
        let valid = blocks.as_slice().iter().filter_map(|&(left, right)| {
            let (left, right) = (at(left), at(right));
            (left >= una && left < right && right <= max).then_some((left as u64, right as u64))
        });
        if blocks.len > 0 && self.sender.extra.is_some() {
            self.sender.note_blocks(valid.clone());
        }
        valid.map(|(left, right)| self.sender.outstanding.on_block(left, right)).sum()
    }

    /// Processes an ACK of new data by the full path. `options`: `seg` with its options, or `None` if it has neither
    /// SACK blocks nor AccECN's option.
    #[inline(never)]
    pub(super) fn take_new_ack(&mut self, cfg: &TcpConfig, now: Time, seg: &Header, options: Option<&Segment>) {
        let report = self.account(cfg, now, seg, options, false);
        let outcome = self.decide(cfg, &report);
        self.stats.fast_retransmits += u32::from(outcome.began);
        self.note_echo(now, seg);
        let s = &self.sender;
        if s.snd.una == s.snd.max && s.cc.cwnd() == 0 {
            // An ECN echo has set cwnd to 0. The timer runs on: only its expiry opens cwnd (RFC 3168, 6.1.2).
        } else if s.snd.una == s.snd.max || outcome.restart_timer {
            self.restart_timer(cfg, now);
        }
        let held = report.ece && self.on_echo(cfg, &report);
        self.conclude(cfg, &report, &outcome, !held);
        self.after_new_ack(cfg, now);
    }

    /// Passes a report to the congestion controller, which may measure the path by it, and then to loss recovery.
    /// Changes cwnd as recovery requests. The caller then calls [`Connection::conclude`].
    fn decide(&mut self, cfg: &TcpConfig, report: &AckReport) -> Outcome {
        self.sender.cc.on_feedback(report);
        if report.kind == AckKind::Duplicate && report.ece && !cfg.detects_before_echo() {
            self.on_echo(cfg, report);
        }
        let outcome = self.recovery.on_ack(&mut self.sender.view(cfg), report);
        if !outcome.changes.is_empty() {
            self.sender.apply(cfg, report.now, &outcome.changes);
        }
        if outcome.clears_backoff {
            self.sender.snd.rtt.clear_backoff();
        }
        outcome
    }

    /// Builds the report of an ACK: records its SACK blocks, moves SND.UNA if it acknowledges new data, and measures
    /// the round trip. `options`: as for [`Connection::take_new_ack`]. `window_changed`: the right edge of the peer's
    /// window differs from the one that the peer advertised before.
    fn account(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        seg: &Header,
        options: Option<&Segment>,
        window_changed: bool,
    ) -> AckReport {
        let una = self.sender.snd.una;
        let ack = from_wire(self.iss, seg.ack, una);
        let is_new = ack > una as i64;
        let blocks = options.filter(|seg| seg.sack.len > 0);
        let prior = (self.sender.snd.flight_size(), self.in_flight_measured());
        let (dsack, echoed_stamp, prior_min_rtt) = self.begin_account(cfg, seg, blocks);
        let twice = dsack.filter(|_| cfg.counts_dsacked() && ack >= una as i64).map_or(0, |(start, end)| end - start);
        if let Some(rate) = self.sender.outstanding.rate().filter(|_| twice > 0) {
            rate.arrive_unrecorded(now, twice, twice.div_ceil(u64::from(self.sender.snd.mss)));
        }
        let blocks = blocks.filter(|_| self.agreed.sack);
        let sacked_bytes = blocks.map_or(0, |seg| self.learn_sack(cfg, seg));
        let (acked_bytes, known) = if is_new { self.acknowledge(ack as u64) } else { (0, 0) };
        if is_new && !self.agreed.sack && self.recovery.detects_by_time() {
            self.sender.count_reported_once(acked_bytes);
        }
        let measured = if is_new {
            self.measure_record(cfg, now, seg, ack as u64, blocks.is_some())
        } else {
            self.measure_reported(cfg, now)
        };
        let delivered_bytes = acked_bytes + sacked_bytes - known;
        let s = &self.sender;
        let feedback = match options.filter(|_| !s.has_no_extra() || s.snd.ecn.is_accurate()) {
            Some(seg) => self.feedback(cfg, seg, acked_bytes, delivered_bytes),
            None => Feedback::of_echo(seg, delivered_bytes),
        };
        let s = &mut self.sender;
        let (sampled, rate) = s.outstanding.sample(now, measured);
        let mut report = s.snd.report(cfg, now, prior, acked_bytes, if is_new { sampled } else { measured });
        if is_new && !self.agreed.sack {
            // Each duplicate ACK has reported one segment. Those bytes are not fresh, but at least one segment is.
            let by_duplicates = u64::from(s.snd.dup_acks) * u64::from(s.snd.mss);
            report.fresh_bytes -= by_duplicates.min(acked_bytes - acked_bytes.min(u64::from(s.snd.mss)));
        } else if is_new {
            report.fresh_bytes = delivered_bytes + twice;
        }
        (report.sacked_bytes, report.delivered_bytes, report.rate) = (sacked_bytes, delivered_bytes, rate);
        (report.ece, report.ce_bytes, report.ce_packets) = (feedback.ece, feedback.ce_bytes, feedback.ce_packets);
        (report.has_blocks, report.dsack) = (blocks.is_some(), dsack);
        (report.echoed_stamp, report.prior_min_rtt) = (echoed_stamp, prior_min_rtt);
        report.one_way_delay = options.filter(|_| !s.has_no_extra()).and_then(|seg| self.one_way_delay(seg));
        report.is_bare = !is_new && seg.is_empty() && !window_changed;
        if ack < una as i64 {
            report.kind = AckKind::Old;
        } else if !is_new {
            let duplicate = self.is_duplicate(seg, window_changed, blocks.map(|_| sacked_bytes));
            report.kind = if duplicate { AckKind::Duplicate } else { AckKind::Other };
        }
        report
    }

    /// Moves SND.UNA to `ack`. Returns the newly acknowledged payload bytes, and how many of them SACK had reported.
    fn acknowledge(&mut self, ack: u64) -> (u64, u64) {
        let acked_bytes = self.advance(ack);
        (acked_bytes, self.sender.outstanding.on_ack(ack))
    }

    /// With RACK, prepares the record of segments for an ACK. Returns the fields `dsack` (`None` if RACK does not
    /// believe it), `echoed_stamp` and `prior_min_rtt` of the ACK's report. Without RACK, these fields are not used.
    fn begin_account(
        &mut self,
        cfg: &TcpConfig,
        seg: &Header,
        blocks: Option<&Segment>,
    ) -> (Option<(u64, u64)>, Option<u32>, Time) {
        let Some(rack) = self.recovery.rack() else { return (None, None, Time::MAX) };
        self.sender.outstanding.begin_ack();
        let dsack = blocks.and_then(|seg| seg.received_twice(self.iss, self.sender.snd.una)).filter(|(start, end)| {
            let segments = (end - start).div_ceil(u64::from(self.sender.snd.mss)) as u32;
            rack.believes_dsack(cfg, segments, self.stats.retransmits)
        });
        (dsack, self.echoed_stamp(seg), self.sender.snd.rtt.min_rtt())
    }

    /// Returns the time from the timestamp that `seg` echoes (this end's clock) to that of `seg` (the peer's clock).
    fn one_way_delay(&self, seg: &Header) -> Option<Time> {
        let echoed = self.echoed_stamp(seg)?;
        Some(Time::from_micros(u64::from(seg.ts_val.wrapping_sub(echoed))))
    }

    /// The timestamp that a segment echoes; `None` if it echoes none, or if timestamps were not agreed on.
    pub(super) fn echoed_stamp(&self, seg: &Header) -> Option<u32> {
        (self.agreed.timestamps && seg.has_timestamps && seg.ts_ecr != 0).then_some(seg.ts_ecr)
    }

    /// Linux (`tcp_rcv_established`, `rcv_rtt_last_tsecr`): if a pure ACK acknowledges everything outstanding, passes
    /// the timestamp that it echoes to the receive buffer, which then takes no RTT sample from data that echoes the
    /// same timestamp. Does nothing without RACK, because such an end does not model Linux.
    #[inline]
    pub(super) fn note_echo(&mut self, now: Time, seg: &Header) {
        if seg.len > 0 || self.sender.snd.una < self.sender.snd.max || !self.recovery.detects_by_time() {
            return;
        }
        let echo = self.echoed_stamp(seg);
        if let (Some(buffer), Some(echo)) = (self.receiver.policy.buffer_mut(), echo) {
            buffer.note_echo(now, echo);
        }
    }

    /// Called when new data is acknowledged: stops the retransmission timer if nothing is outstanding any more, and
    /// otherwise restarts it (RFC 6298, 5.2 and 5.3).
    #[inline(always)]
    pub(super) fn restart_timer(&mut self, cfg: &TcpConfig, now: Time) {
        let s = &mut self.sender.snd;
        if s.una == s.max {
            s.timer.stop();
        } else {
            s.restart_timeout(cfg, now);
        }
    }

    /// Completes an ACK of new data once the controller has processed it: takes RTT samples of segments if configured,
    /// makes room in the send buffer, and closes the connection if everything is acknowledged after a close.
    #[inline(always)]
    pub(super) fn after_new_ack(&mut self, cfg: &TcpConfig, now: Time) {
        if self.sender.outstanding.keeps_segments() && Flight::times_segments(cfg) {
            self.measure_segments(cfg, now);
        }
        self.make_room();
        let s = &self.sender;
        if s.fin && s.snd.una > s.snd.end {
            self.on_fin_acked(cfg, now);
        }
        if !self.ends_by_fin {
            self.finish_without_fin();
        }
    }

    /// If the send buffer is limited and lacks room: enlarges it, and wakes an application that waits for room.
    #[inline]
    pub(super) fn make_room(&mut self) {
        if self.sender.is_buffered {
            self.make_room_now();
        }
    }

    pub(super) fn refill(&mut self) {
        let in_flight = self.recovery.in_flight(&self.sender.snd, &self.sender.outstanding);
        self.sender.refill(in_flight);
        self.note_written();
    }

    /// Lets the application call `send` again, because the data of its last call has been sent.
    pub(super) fn write_on(&mut self) {
        let in_flight = self.recovery.in_flight(&self.sender.snd, &self.sender.outstanding);
        self.sender.fill(in_flight);
        self.note_written();
    }

    /// Updates `fin`: a FIN follows the data once the application has closed and everything is in the send buffer.
    pub(super) fn note_written(&mut self) {
        self.sender.fin = self.closing && self.ends_by_fin && !self.sender.is_blocked();
    }

    /// Passes an ACK to the controller, once loss recovery has returned `outcome`. `may_grow` is false if an ECN echo
    /// forbids the ACK to open cwnd.
    pub(super) fn conclude(&mut self, cfg: &TcpConfig, report: &AckReport, outcome: &Outcome, may_grow: bool) {
        let measured = if self.sender.outstanding.measures_rate() { self.measured() } else { AfterAck::default() };
        let s = &mut self.sender;
        let after = AfterAck {
            lost_bytes: outcome.lost_bytes,
            may_grow: match outcome.growth {
                Growth::None => false,
                Growth::Acked => may_grow,
                Growth::Reported(_) => true,
            },
            cwnd_limited: !cfg.grow_only_if_cwnd_limited || s.uses_cwnd(),
            in_recovery: self.recovery.in_recovery(),
            ..measured
        };
        if s.outstanding.measures_rate() && self.conclude_measured(report, &after) {
            return;
        }
        let s = &mut self.sender;
        let counted;
        let report = if let Growth::Reported(bytes) = outcome.growth {
            counted = report.counting(bytes);
            &counted
        } else {
            report
        };
        s.cc.on_ack(cfg, report, &after);
    }

    /// Processes an ACK of nothing new that may reveal arrivals or losses: a duplicate or, with RACK, any such ACK.
    fn on_reporting_ack(&mut self, cfg: &TcpConfig, report: &AckReport) {
        let outcome = self.decide(cfg, report);
        if report.ece && report.kind != AckKind::Old && cfg.detects_before_echo() {
            self.on_echo(cfg, report); // after loss detection, as in Linux (`tcp_try_to_open`)
        }
        if outcome.began {
            self.note_beginning(cfg, report.now);
        }
        self.conclude(cfg, report, &outcome, true);
    }

    /// Counts a fast retransmit and restarts the retransmission timer, because an episode of loss recovery has begun.
    pub(super) fn note_beginning(&mut self, cfg: &TcpConfig, now: Time) {
        self.stats.fast_retransmits += 1;
        self.sender.snd.restart_timeout(cfg, now);
    }

    /// Takes and returns an RTT sample if this ACK provides one: the round trip of the timed segment (Karn's rule) or,
    /// with timestamps, the age of the timestamp that the ACK echoes (RFC 7323).
    #[inline(always)]
    pub(super) fn measure(&mut self, cfg: &TcpConfig, now: Time, seg: &Header, ack: u64) -> Option<Time> {
        let s = &mut self.sender;
        if cfg.rto.samples == RttSamples::EachSegment {
            return None; // `measure_segments` takes the samples, after cwnd has grown
        }
        if cfg.rto.estimator.is_linux_2() {
            s.snd.rtt.note_window(&cfg.rto, s.cc.cwnd() / u64::from(s.snd.mss));
        }
        let timed = s.timed_end != 0 && ack >= s.timed_end;
        let rtt = if cfg.rto.samples == RttSamples::OneWayDelay {
            // Instead of the round trip, RFC 2415's authors measured the one-way delay of the timed segment's ACK.
            timed.then(|| Time::from_micros(cfg.clock().age(now, seg.ts_val)))
        } else if self.agreed.timestamps && seg.ts_ecr != 0 {
            Some(cfg.stamped_rtt(now, seg.ts_ecr))
        } else {
            timed.then(|| cfg.elapsed(s.timed_at, now))
        };
        if timed {
            s.timed_end = 0;
        }
        let rtt = rtt?;
        s.snd.rtt.on_sample(&cfg.rto, now, rtt, (s.snd.una, s.snd.max));
        s.snd.rtt.clear_backoff();
        Some(rtt)
    }

    /// Takes an RTT sample from each acknowledged segment (Linux 2.0.32, `tcp_ack`, `tcp_input.c` 1421 to 1489), except
    /// segments that were outstanding at a timeout. Call it after cwnd has grown. Then lets the timer count from the
    /// transmission of the first outstanding segment, if this is configured.
    fn measure_segments(&mut self, cfg: &TcpConfig, now: Time) {
        let s = &mut self.sender;
        let (rtt, una, max, window) = (&mut s.snd.rtt, s.snd.una, s.snd.max, s.cc.cwnd() / u64::from(s.snd.mss));
        rtt.note_window(&cfg.rto, window);
        for at in s.outstanding.take_acknowledged() {
            rtt.on_sample(&cfg.rto, now, now - at, (una, max));
            rtt.clear_backoff();
        }
        self.time_first(cfg, now);
    }

    /// Takes RTT samples from the segments that an ACK of nothing new reports by SACK: the first one's for the
    /// estimator, the last one's for the minimum RTT. Returns the latter for the congestion controller.
    fn measure_reported(&mut self, cfg: &TcpConfig, now: Time) -> Option<Time> {
        let (first, last) = self.sender.outstanding.round_trips(cfg, now).reported?;
        let s = &mut self.sender.snd;
        s.rtt.on_sample(&cfg.rto, now, first, (s.una, s.max));
        s.rtt.note_least(last);
        Some(last)
    }

    /// Takes the RTT samples of an ACK of new data: from the records of segments or, if these provide none, from
    /// [`Self::measure`]. Returns the sample for the congestion controller.
    fn measure_record(&mut self, cfg: &TcpConfig, now: Time, seg: &Header, ack: u64, has_blocks: bool) -> Option<Time> {
        if self.recovery.times_echo(AckKind::New, has_blocks) {
            self.time_echo(cfg, now, seg, ack);
        }
        let rtts = self.sender.outstanding.round_trips(cfg, now).acknowledged();
        let Some((first, last)) = rtts.filter(|_| cfg.rto.samples == RttSamples::RoundTrip) else {
            // The records have no sample (segments are not recorded, or a retransmission was acknowledged), or the
            // configuration requires another kind of sample.
            return self.measure(cfg, now, seg, ack);
        };
        let s = &mut self.sender;
        s.timed_end = 0;
        s.snd.rtt.on_sample(&cfg.rto, now, first, (s.snd.una, s.snd.max));
        s.snd.rtt.clear_backoff();
        Some(last)
    }

    /// Processes an ACK with ECE (RFC 3168, section 6.1.2): reduces cwnd as for a loss, at most once per window of
    /// data. Returns true if the ACK must not open cwnd.
    ///
    /// "SHOULD NOT increase the congestion window in response to the receipt of an ECN-Echo ACK packet" is followed
    /// only above ssthresh. Below it, after a timeout, the echo of a reduction already made continues until new data
    /// can carry CWR; taken literally, the rule would let go-back-N fill only one hole per round trip. Linux up to 3.x
    /// also follows the rule only above ssthresh (`tcp_may_raise_cwnd`); later kernels and FreeBSD do not follow it at
    /// all. ns-2 follows the rule below ssthresh, too (`ecn_holds_slow_start`), but its retransmissions carry CWR, as
    /// those of the ECN kind `rfc2481` do.
    fn on_echo(&mut self, cfg: &TcpConfig, report: &AckReport) -> bool {
        let s = &mut self.sender;
        if !s.snd.ecn.may_reduce(s.snd.una, cfg.responds_at_end_of_repair()) {
            return s.snd.ecn.is_agreed() && (cfg.ecn_holds_slow_start || !s.cc.in_slow_start());
        }
        let changes = self.recovery.on_echo(&mut s.view(cfg), report);
        s.apply(cfg, report.now, &changes);
        self.stats.ecn_reductions += 1;
        if s.cc.cwnd() == 0 {
            // cwnd was one segment. It is now 0, so that the next segment goes only when the timer expires. RFC 3168,
            // section 6.1.2, requires that the echo restarts the timer.
            s.snd.restart_timeout(cfg, report.now);
        }
        true
    }

    /// FACK of 1998: restarts the timer with the RTT estimate from before this ACK, then takes an RTT sample from the
    /// timestamp that the ACK echoes.
    fn time_echo(&mut self, cfg: &TcpConfig, now: Time, seg: &Header, ack: u64) {
        let s = &mut self.sender;
        if s.snd.max > ack {
            s.snd.restart_timeout(cfg, now);
        }
        if s.timed_end != 0 && ack >= s.timed_end {
            s.timed_end = 0;
            s.snd.rtt.clear_backoff();
        }
        let echoed = cfg.clock().age(now, seg.ts_ecr);
        s.snd.rtt.on_sample(&cfg.rto, now, Time::from_micros(echoed), (s.snd.una, s.snd.max));
    }

    fn on_duplicate_ack(&mut self, cfg: &TcpConfig, seg: &Segment, report: &AckReport) {
        let now = report.now;
        self.stats.dup_acks += 1;
        if self.recovery.times_echo(report.kind, report.has_blocks) {
            self.time_echo(cfg, now, seg, self.sender.snd.una);
        }
        self.on_reporting_ack(cfg, report);
        self.time_first(cfg, now);
    }
}
