//! RACK-TLP (RFC 8985): loss detection by transmission times, and tail loss probes. PRR (RFC 9937) sets cwnd.

mod duplicates;
mod least;
mod output;
mod short;
mod tail;
mod timer;
mod undo;
mod usage;
mod widening;

use cwndlab_units::Time;

use super::{echo_cut, Growth, Outcome, RecoveryCounts, Shown, View, ViewRef};
use crate::config::TcpConfig;
use crate::congestion::{AckKind, AckReport, Changes, CongestionEvent, WindowChange};
use crate::flight::{sent_after, Arrived, Flight, RoundTrips, REPEATED};
use crate::send_state::{Room, SendState};
use least::LeastRtt;
use timer::Deadlines;
use undo::Evidence;
pub(crate) use usage::Stop;
use usage::Usage;
use widening::Widening;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Phase {
    #[default]
    Open,
    /// The window is being reduced for an ECN echo (Linux: CWR).
    Reduced,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// What one ACK reveals about the recorded segments.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    now: Time,
    /// Whether the ACK acknowledges new data.
    advanced: bool,
    /// Bytes that have newly left the network: those of segments newly known to have arrived, and of a range that
    /// arrived twice according to DSACK.
    delivered: u64,
    /// Whether SACK newly reports a segment.
    reported: bool,
    /// Whether a segment that was sent only once, before the phase began ([`Rack::recover`]), has arrived.
    original: bool,
    /// Round trip of the first segment that SACK newly reports.
    reported_rtt: Option<Time>,
    /// The latest transmission time of a segment that this ACK newly shows to have arrived; `None` if it shows none.
    newest_sent: Option<Time>,
}

/// Bytes of the range that arrived twice, according to DSACK; at most `FlightSize` before the ACK.
fn twice(ack: &AckReport) -> u64 {
    ack.dsack.map_or(0, |(start, end)| (end - start).min(ack.prior_flight_bytes))
}

/// Returns [`Arrivals::delivered`] for an ACK.
fn delivered(ack: &AckReport, flight: &Flight) -> u64 {
    twice(ack) + flight.arrived().iter().map(|arrived| arrived.sent.end - arrived.sent.start).sum::<u64>()
}

/// Returns `bytes` as PRR counts them: in Linux, rounded up to whole packets.
fn counted(v: &View<'_>, bytes: u64) -> u32 {
    let unit = if v.cfg.reduces_by_packets() { u64::from(v.s.mss) } else { 1 };
    bytes.next_multiple_of(unit) as u32
}

/// Returns the change that reduces cwnd for a loss. The ACK that reveals the loss newly delivers `delivered` bytes.
fn cut_for_loss(v: &View<'_>, delivered: u64) -> WindowChange {
    let (event, flight_bytes) = (CongestionEvent::Loss, v.s.flight_size() as u32);
    WindowChange::Cut { event, flight_bytes, recover_fs: recover_fs(v, delivered) }
}

/// Converts the distance by which data was reordered from bytes to segments; at most 300 (Linux: `tcp_max_reordering`).
fn segments_apart(bytes: u64, mss: u32) -> u32 {
    bytes.div_ceil(u64::from(mss)).min(300) as u32
}

/// Returns a quarter of the minimum round trip, the unit of the reordering window.
fn quarter(cfg: &TcpConfig, s: &SendState) -> Time {
    counted_time(cfg, Time::from_nanos(s.rtt.min_rtt().as_nanos() / 4))
}

/// Returns `time`, a wait, as it is counted: in Linux in whole microseconds, like the times that it is compared with.
fn counted_time(cfg: &TcpConfig, time: Time) -> Time {
    Time::from_nanos(if cfg.counts_microseconds() { time.as_nanos() / 1000 * 1000 } else { time.as_nanos() })
}

/// Returns `RecoverFS` (RFC 9937, section 6.1): `FlightSize` less the bytes that SACK had reported before the ACK that
/// begins the episode. This ACK newly delivers `delivered` bytes.
fn recover_fs(v: &View<'_>, delivered: u64) -> u32 {
    (v.s.flight_size() - v.flight.reported.total() + delivered).max(1) as u32
}

/// RACK's state for one sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    phase: Phase,
    /// Highest position sent when the phase began.
    recover: u64,
    evidence: Evidence,
    /// Whether arrivals are inferred from duplicate ACKs, because SACK was not agreed on.
    by_duplicates: bool,
    usage: Usage,
    /// Whether only new data is sent until the next ACK (RFC 5682, section 3.1, step 2 b).
    new_only: bool,
    /// `RACK.xmit_ts` and `RACK.end_seq` of the most recently sent segment that has arrived.
    newest: (Time, u64),
    /// `RACK.rtt`.
    rtt: Time,
    least: LeastRtt,
    /// Whether [`Rack::newest`] or [`Rack::rtt`] was updated since the last check for losses (Linux: `rack.advanced`).
    advanced: bool,
    /// `RACK.fack`: highest position that has arrived.
    fack: u64,
    reorderings: u32,
    /// Largest reordering observed, in segments; 0 if there was none.
    reordering: u32,
    /// The reordering window, in quarters of the minimum round trip.
    widening: Widening,
    /// Segments that arrived twice, according to DSACK.
    twice: u32,
    /// `TLP.end_seq`; `None` if no probe is outstanding.
    probe_end: Option<u64>,
    /// `TLP.is_retrans`.
    probe_repeats: bool,
    /// Whether a probe is to be sent now.
    probe_due: bool,
    /// Whether a round trip has been measured since the last probe.
    measured: bool,
    deadlines: Deadlines,
    counts: RecoveryCounts,
}

impl Rack {
    pub fn new() -> Self {
        Rack { measured: true, ..Rack::default() }
    }

    /// RACK for a connection without SACK, as in Linux: duplicate ACKs take the place of SACK blocks.
    pub fn by_duplicates(cfg: &TcpConfig) -> Self {
        Rack { by_duplicates: true, reordering: cfg.dup_thresh, ..Rack::new() }
    }

    /// Counts the segments that a DSACK reports. Returns whether to use it. `again`: segments retransmitted so far. If
    /// DSACKs report more, the network duplicates packets, so Linux ignores them (`tcp_dsack_seen`).
    pub fn believes_dsack(&mut self, cfg: &TcpConfig, segments: u32, again: u32) -> bool {
        self.twice += segments;
        self.twice <= again || !cfg.doubts_dsacks()
    }

    /// Applies `RACK_update` (RFC 8985, section 6.2, steps 2 and 3) to each segment newly known to have arrived, as the
    /// segment was before the ACK.
    fn take_arrivals(&mut self, v: &View<'_>, ack: &AckReport) -> Arrivals {
        let (mut reported, mut original) = (false, false);
        let (mut rtts, mut bytes) = (RoundTrips::default(), twice(ack));
        // For step 3, the highest position is that from before this ACK: the segments that one ACK reports do not count
        // as reordered among themselves.
        let (fack, mut revealed) = (self.fack, [false; 2]);
        for arrived in v.flight.arrived() {
            let Arrived { sent, sacked } = *arrived;
            let repeated = sent.flags & REPEATED != 0;
            reported |= sacked;
            original |= !repeated && sent.end <= self.recover + 1;
            let rtt = v.cfg.elapsed(sent.at, ack.now);
            rtts.add(rtt, arrived);
            bytes += sent.end - sent.start;
            // Step 3: reordering.
            self.fack = self.fack.max(sent.end);
            if sent.end < fack && !repeated {
                let seen = std::mem::replace(&mut revealed[usize::from(sacked)], true);
                self.reorderings += u32::from(!seen);
                self.reordering = self.reordering.max(segments_apart(fack - sent.start, v.s.mss));
            }
            // Step 2: if the echoed timestamp precedes the retransmission, or the round trip is below the minimum, an
            // earlier copy has arrived. Linux tests only the latter if SACK reports the segment (`tcp_rack_advance`).
            let echo = ack.echoed_stamp.filter(|_| !(v.cfg.ignores_echo_of_sacked() && sacked));
            let older = echo.is_some_and(|echo| v.cfg.precedes(echo, sent.at));
            if repeated && (older || rtt < ack.prior_min_rtt) {
                continue;
            }
            self.rtt = rtt;
            self.advanced = true;
            if sent_after((sent.at, sent.end), self.newest) {
                self.newest = (sent.at, sent.end);
            }
        }
        let measured = if ack.kind == AckKind::New { rtts.acknowledged() } else { rtts.reported };
        self.measured |= measured.is_some();
        let reported_rtt = rtts.reported.map(|rtts| rtts.0);
        let advanced = ack.kind == AckKind::New;
        let newest_sent = v.flight.arrived().iter().map(|arrived| arrived.sent.at).max();
        Arrivals { now: ack.now, advanced, delivered: bytes, reported, original, reported_rtt, newest_sent }
    }

    /// Returns for how many bytes an ACK of nothing new may open cwnd. On a path known to reorder, data that SACK
    /// reports counts like data acknowledged in order (Linux: `tcp_may_raise_cwnd`).
    fn opens_by_report(&self, cfg: &TcpConfig, ack: &AckReport, arrivals: &Arrivals) -> Growth {
        let may_open = matches!(self.phase, Phase::Open | Phase::Loss);
        if may_open && ack.kind != AckKind::Old && arrivals.reported && self.reordering > cfg.dup_thresh {
            Growth::Reported(arrivals.delivered)
        } else {
            Growth::None
        }
    }

    /// Processes an ACK. Returns whether a loss recovery episode has begun, and the changes of cwnd.
    fn process(&mut self, v: &mut View<'_>, ack: &AckReport, arrivals: &Arrivals) -> (bool, Changes) {
        let (advanced, delivered) = (ack.kind == AckKind::New, arrivals.delivered);
        let mut changes = Changes::NONE;
        let of_probe = self.is_probe(ack.dsack, v.s.mss);
        // Linux ignores the DSACK of a tail loss probe, and any DSACK before reordering was seen (`tcp_dsack_seen`).
        let counts = !v.cfg.doubts_dsacks() || (self.reorderings > 0 && !of_probe);
        let dsack = ack.dsack.is_some() && counts;
        if v.cfg.widens_by_send_times() {
            self.widening.note_sent(ack.now, dsack, arrivals.newest_sent);
        } else {
            self.widening.note(dsack, v.s.una, v.s.max);
        }
        self.end_probe(v, ack, delivered, of_probe, &mut changes);
        if advanced || (self.phase == Phase::Recovery && v.cfg.ends_episode_of_echo()) {
            self.end_episode(v, ack.echoed_stamp, &mut changes);
        }
        let looks = match self.phase {
            _ if self.waits_for_later_data(v.s) => self.undo_while_waiting(v, ack, &mut changes),
            Phase::Recovery => self.undo_in_recovery(v, ack, &mut changes),
            Phase::Loss => {
                self.after_timeout(v, ack, arrivals, &mut changes);
                true
            }
            Phase::Open if self.evidence.explained() => {
                self.undo(v, &mut changes, false); // the last reduction was spurious
                true
            }
            Phase::Open | Phase::Reduced => true,
        };
        let again = v.flight.tally().again;
        // Linux looks for losses only if RACK's state has changed since the last time (`tcp_rack_mark_lost`).
        let informed = looks && std::mem::take(&mut self.advanced);
        let found = if self.by_duplicates {
            looks && self.detect_by_duplicates(v, advanced)
        } else {
            looks && (informed || !v.cfg.detects_on_news()) && self.detect(v, ack.now)
        };
        // PRR's `safeACK` (RFC 9937, section 6.2): the ACK advances SND.UNA and reveals no further loss.
        let safe = advanced && !found;
        // After a timeout, an episode begins only if a retransmission is lost (Linux).
        let begins = match self.phase {
            Phase::Open | Phase::Reduced => v.flight.tally().lost > 0,
            Phase::Loss => v.flight.tally().again < again,
            Phase::Recovery => false,
        };
        if begins {
            self.begin(v, delivered, safe, &mut changes);
        } else if delivered > 0 && matches!(self.phase, Phase::Recovery | Phase::Reduced) && !v.cc.owns_recovery() {
            // PRR, unless the congestion control, such as BBR, uses its own window in recovery, too.
            changes.push(self.pipe(v, delivered, safe));
        }
        self.set_timer(v, arrivals, informed);
        (begins, changes)
    }

    /// Ends fast recovery once all data that was outstanding when it began is acknowledged. Ends the reduction for an
    /// ECN echo once later data is acknowledged, so that the peer has received CWR.
    fn end_episode(&mut self, v: &mut View<'_>, echo: Option<u32>, changes: &mut Changes) {
        let over = match self.phase {
            Phase::Recovery => v.s.una > self.recover && !self.waits_for_later_data(v.s),
            Phase::Reduced => v.s.una > self.recover + 1,
            Phase::Loss | Phase::Open => false, // `after_timeout` ends the phase `Loss`
        };
        if !over {
            return;
        }
        let repaired = self.phase == Phase::Recovery;
        let undone = repaired && self.undo_at_end(v, echo, changes);
        let unrepaired = repaired && v.cfg.ends_episode_of_echo() && self.evidence.is_of_echo_alone(v.cfg, echo);
        if !undone && !unrepaired {
            // At the end of an episode, cwnd becomes ssthresh (RFC 9937, section 6.2).
            changes.push(WindowChange::End);
        }
        self.phase = Phase::Open;
        if repaired {
            self.count_repair(v.cfg, undone);
        }
    }

    /// Counts the end of fast recovery: after 16 without a DSACK, the reordering window is narrow again. Linux does not
    /// count it if the reduction was undone (`tcp_try_undo_recovery`).
    fn count_repair(&mut self, cfg: &TcpConfig, undone: bool) {
        if !(cfg.skips_undone_repairs() && undone) {
            self.widening.count_repair();
        }
    }

    /// `RACK_update_reo_wnd` (RFC 8985, section 6.2, step 4).
    fn reordering_window(&self, cfg: &TcpConfig, s: &SendState, flight: &Flight) -> Time {
        let repairs = matches!(self.phase, Phase::Recovery | Phase::Loss);
        if self.reorderings == 0 && (repairs || flight.tally().sacked >= cfg.dup_thresh) {
            return Time::ZERO;
        }
        (quarter(cfg, s) * self.widening.multiplier()).min(counted_time(cfg, s.rtt.srtt(&cfg.rto)))
    }

    /// `RACK_detect_loss` (RFC 8985, section 6.2, step 5). Returns whether a loss was detected.
    fn detect(&mut self, v: &mut View<'_>, now: Time) -> bool {
        let wait = self.rtt + self.reordering_window(v.cfg, v.s, v.flight);
        let (found, at) = v.flight.detect(v.cfg, self.newest, wait, now);
        // With the RFC's timers, the reordering timer is set here, to the tick of the timers' clock at which it
        // expires. With Linux's timers, `set_timer` sets it later.
        let on_tick = !v.cfg.recovery.has_linux_timers() && !at.is_never();
        self.deadlines.reordering = if on_tick { v.cfg.expiry(now, at.saturating_sub(now)) } else { at };
        found
    }

    /// Begins fast recovery: reduces cwnd, unless an ECN echo is already reducing it (RFC 3168, section 6.1.2).
    fn begin(&mut self, v: &mut View<'_>, delivered: u64, safe: bool, changes: &mut Changes) {
        if self.phase == Phase::Reduced {
            changes.push(WindowChange::LossAfterEcho);
        } else {
            changes.push(cut_for_loss(v, delivered));
            self.recover = v.s.max - 1;
            self.evidence.frto = false;
            if v.s.ecn.covers_loss(v.s.una) {
                self.evidence.clear(); // the reduction was for an ECN echo: nothing can be undone
            } else {
                // Also count the retransmissions of an earlier episode that may still be in the network: Linux keeps
                // `retrans_stamp` while there are any.
                let probes = u32::from(self.probe_end.is_some() && self.probe_repeats);
                self.evidence.start(v.s, v.flight.tally().again + probes);
            }
        }
        self.phase = Phase::Recovery;
        self.probe_end = None;
        self.deadlines.probe = Time::MAX;
        changes.push(self.pipe(v, delivered, safe));
    }
}

/// The functions that [`Recovery`](super::Recovery) calls.
impl Rack {
    pub fn on_ack(&mut self, v: &mut View<'_>, ack: &AckReport) -> Outcome {
        if !self.by_duplicates {
            match ack.kind {
                AckKind::New => v.s.dup_acks = 0,
                AckKind::Duplicate => v.s.dup_acks += 1,
                AckKind::Old | AckKind::Other => {}
            }
        }
        self.new_only = false;
        self.deadlines.probed_at = Time::MAX;
        if let Some(twice) = ack.dsack {
            let una_before = v.s.max - ack.prior_flight_bytes;
            self.evidence.on_dsack(twice, una_before, v.s.mss);
        }
        let arrivals = if self.by_duplicates { self.infer_arrivals(v, ack) } else { self.take_arrivals(v, ack) };
        if let Some(rtt) = ack.rtt {
            let only = match v.flight.arrived() {
                [only] if !only.sacked => Some(only.sent),
                _ => None,
            };
            self.least.note(v.cfg, v.s, ack.now, rtt, only.map(|sent| sent.end - sent.start));
        }
        let shrinks = |phase: Phase| matches!(phase, Phase::Recovery | Phase::Reduced);
        let (before, lost_before) = (self.phase, v.flight.tally().lost_bytes);
        let (began, changes) = self.process(v, ack, &arrivals);
        let lost_bytes = v.flight.tally().lost_bytes - lost_before;
        if before != self.phase {
            self.usage.on_change(ack.now);
        }
        if ack.kind != AckKind::New {
            let growth = self.opens_by_report(v.cfg, ack, &arrivals);
            if growth != Growth::None {
                self.usage.on_change(ack.now);
            }
            return Outcome { growth, restart_timer: began, began, lost_bytes, changes, ..Outcome::HOLD };
        }
        // In Linux, the ACK that ends an episode may open cwnd; by RFC 6582, section 3.2, cwnd stays at ssthresh.
        let holds = shrinks(self.phase) || (shrinks(before) && !v.cfg.grows_at_end_of_repair());
        if !holds {
            self.usage.on_change(ack.now);
        }
        Outcome { began, lost_bytes, changes, ..if holds { Outcome::HOLD } else { Outcome::GROW } }
    }

    pub fn on_echo(&mut self, v: &mut View<'_>, ack: &AckReport) -> Changes {
        self.evidence.clear(); // the echo shows that there was congestion
        if self.phase != Phase::Open {
            return Changes::one(echo_cut(ack, 0));
        }
        self.phase = Phase::Reduced;
        self.deadlines.probed_at = Time::MAX;
        self.recover = v.s.max - 1;
        let delivered = delivered(ack, v.flight);
        let mut changes = Changes::one(echo_cut(ack, recover_fs(v, delivered)));
        let is_new = ack.kind == AckKind::New;
        if (is_new || v.cfg.detects_before_echo()) && delivered > 0 {
            changes.push(self.pipe(v, delivered, is_new)); // this ACK's losses were detected before the echo
        }
        changes
    }

    /// Called before a timeout reduces cwnd. Returns whether cwnd was already reduced for the outstanding data: by fast
    /// recovery, for an ECN echo or for an earlier timeout in a row. Also starts F-RTO if configured, unless this is
    /// the first timeout in a row and losses are being repaired (RFC 5682, section 3.1, step 1, and section 3.2).
    pub fn has_reduced(&mut self, v: &mut View<'_>, retries: u8) -> bool {
        let reduced = match self.phase {
            Phase::Open => false,
            Phase::Reduced | Phase::Recovery => v.s.una <= self.recover,
            Phase::Loss => retries > 1 && v.s.una <= self.recover,
        };
        self.evidence.frto =
            v.cfg.recovery.has_f_rto() && (retries > 1 || matches!(self.phase, Phase::Open | Phase::Reduced));
        if !reduced {
            self.evidence.start(v.s, v.flight.tally().again);
        }
        reduced
    }

    /// Marks segments as lost after a timeout, so that they are retransmitted (RFC 8985, section 6.3).
    pub fn on_timeout(&mut self, v: &mut View<'_>, now: Time) -> WindowChange {
        // Linux allows no time for reordering here: all are lost (`tcp_timeout_mark_lost`).
        let waits = self.reorderings > 0 && !v.cfg.loses_all_at_timeout();
        let window = if waits { quarter(v.cfg, v.s) * self.widening.multiplier() } else { Time::ZERO };
        v.flight.lose_overdue(self.rtt + window, now);
        v.s.nxt = v.s.max; // the record, not `nxt`, shows which segments are lost
        self.phase = Phase::Loss;
        self.recover = v.s.max - 1;
        self.new_only = false;
        self.probe_end = None;
        self.probe_due = false;
        self.deadlines.probe = Time::MAX;
        self.deadlines.reordering = Time::MAX;
        self.deadlines.timed_out_at = now;
        self.usage.on_change(now);
        self.restart_timeout(v, now);
        // cwnd becomes one segment plus the data that is assumed to be still in flight (Linux: `tcp_enter_loss`).
        WindowChange::StillInNetwork(self.in_flight(v.s, v.flight) as u32)
    }

    pub fn room(&self, v: &ViewRef<'_>) -> Room {
        let (room, uncounted) = self.account(v);
        let uncounted = if v.flight.first_to_resend().is_some() { 0 } else { uncounted };
        room.less(uncounted)
    }

    pub fn waiting_bytes(&self, v: &ViewRef<'_>) -> Option<u64> {
        let waiting = v.flight.first_to_resend().filter(|_| !self.new_only)?;
        Some(waiting.end.min(v.s.end) - waiting.start)
    }

    pub fn in_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    pub fn is_calm(&self, flight: &Flight) -> bool {
        debug_assert!(!(self.new_only && self.phase == Phase::Open), "only repairs prefer new data");
        self.phase == Phase::Open && !self.probe_due && flight.tally().waiting == 0
    }

    pub fn shown(&self) -> Shown {
        Shown {
            in_loss: self.phase == Phase::Loss,
            is_reduced: self.phase == Phase::Reduced,
            reordering: self.reordering,
            reorderings: Some(self.reorderings),
            counts: self.counts,
        }
    }

    pub fn on_idle_restart(&mut self, now: Time) {
        self.usage = Usage::new(now);
    }
}

#[cfg(test)]
mod tests;
