//! RACK-TLP (RFC 8985): loss by the times at which segments were sent, tail loss probes, and PRR (RFC 9937) for the window.

mod output;
mod shown;
mod tail;
mod timer;
mod undo;
mod usage;

use cwndlab_units::Time;

use super::prr::Reduction;
use super::{flight_lost, reduce, Decision, Growth, GROW, HOLD};
use crate::config::TcpConfig;
use crate::congestion::{AckKind, AckReport, CongestionEvent, Episode};
use crate::connection::timestamp;
use crate::flight::{sent_after, Sent, REPEATED, SACKED};
use crate::sender::Sender;
pub(crate) use tail::Expiry;
use timer::Deadlines;
use undo::Evidence;
use usage::Usage;

/// Recoveries without DSACK after which the reordering window shrinks again (RFC 8985, section 6.2, step 4).
const PERSIST: u8 = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Open,
    /// The window shrinks for an ECN echo (Linux: CWR).
    Reduced,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// What the record holds about the segments that one ACK reported; complete before [`Rack::on_ack`].
#[derive(Clone, Debug, Default)]
struct Arrivals {
    now: Time,
    /// Bytes of segments newly known to have arrived.
    delivered: u64,
    /// The echoed stamp for the test of RFC 8985, section 6.2, step 2; Linux (`tcp_rack_advance`) tests by the round trip
    /// alone.
    tested_echo: Option<u32>,
    /// It reported something new, and a segment of this flight that was sent only once.
    reported: bool,
    original: bool,
    /// `RACK.fack` before it: its own segments count in ascending order, so they do not reorder each other.
    fack: u64,
    /// It revealed reordering, by acknowledgment and by SACK.
    reordered: [bool; 2],
    /// It acknowledged a segment that had been sent again.
    repeated: bool,
    /// Round trips of the first and of the last segment that it acknowledged, and that it reported.
    first_rtt: Option<Time>,
    last_rtt: Option<Time>,
    sack_rtts: Option<(Time, Time)>,
    /// Some segment that it reported counts for `RACK_update`.
    moved: bool,
}

/// The state of one sender; on the heap.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    phase: Phase,
    /// Highest position sent when the phase began.
    recover: u64,
    window: Reduction,
    evidence: Evidence,
    usage: Usage,
    /// Only new data goes until the next ACK (RFC 5682, section 3.1, step 2 b).
    new_only: bool,
    arrivals: Arrivals,
    /// `RACK.xmit_ts` and `RACK.end_seq`: the most recently sent segment that has arrived; `RACK.rtt`.
    newest: (Time, u64),
    rtt: Time,
    /// `RACK.fack`: highest position that has arrived.
    fack: u64,
    reorderings: u32,
    /// Longest reordering seen, segments (at least the duplicate ACK threshold).
    reordering: u32,
    /// `RACK.reo_wnd_mult`, `reo_wnd_persist`, `dsack_round` (0 = none).
    multiplier: u32,
    persist: u8,
    dsack_round: u64,
    /// `TLP.end_seq` (0 = no probe is outstanding), `TLP.is_retrans`.
    probe_end: u64,
    probe_repeats: bool,
    /// A probe is to be sent now.
    probe_due: bool,
    /// A round trip has been measured since the last probe.
    measured: bool,
    deadlines: Deadlines,
    /// Reductions taken back, probes due, expiries of the reordering timer.
    undos: u32,
    loss_probes: u32,
    reordering_timeouts: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            phase: Phase::Open,
            recover: 0,
            window: Reduction::default(),
            evidence: Evidence::default(),
            usage: Usage::default(),
            new_only: false,
            arrivals: Arrivals::default(),
            newest: (Time::ZERO, 0),
            rtt: Time::ZERO,
            fack: 0,
            reorderings: 0,
            reordering: 0,
            multiplier: 1,
            persist: PERSIST,
            dsack_round: 0,
            probe_end: 0,
            probe_repeats: false,
            probe_due: false,
            measured: true,
            deadlines: Deadlines::default(),
            undos: 0,
            loss_probes: 0,
            reordering_timeouts: 0,
        }
    }
}

impl Rack {
    pub fn in_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    /// Whether the window alone decides what goes, where nothing was reported.
    #[inline]
    pub fn is_calm(&self, s: &Sender) -> bool {
        self.phase == Phase::Open && !self.probe_due && !self.new_only && s.outstanding.tally().waiting == 0
    }

    /// An ACK acknowledges and reports nothing, and nothing is outstanding: does what [`Rack::begin_ack`] and
    /// [`Rack::on_ack`] do of it. False, and nothing done, where these may do more.
    #[inline]
    pub fn take_idle(&mut self) -> bool {
        if self.phase != Phase::Open || self.probe_end != 0 || self.dsack_round != 0 || self.evidence.is_open() {
            return false;
        }
        self.new_only = false;
        self.deadlines.reordering = Time::MAX;
        true
    }

    /// An ACK of new data up to `ack`, without blocks, where nothing was reported: does what [`Rack::begin_ack`],
    /// [`Rack::acknowledge`], [`Rack::acknowledged_rtts`] and [`Rack::on_ack`] do of it, but for the timer. The round trips of the
    /// first and of the last segment; none, and nothing done, where these may do more.
    #[inline]
    pub fn take_calm(&mut self, s: &mut Sender, now: Time, ack: u64) -> Option<(Time, Time)> {
        let tally = s.outstanding.tally();
        let calm = self.phase == Phase::Open
            && self.probe_end == 0
            && tally.sacked == 0
            && tally.lost == 0
            && self.fack <= s.una
            && !self.evidence.explained();
        if !calm {
            return None;
        }
        let (first, last) = s.outstanding.on_plain_ack(ack)?;
        self.new_only = false;
        self.measured = true;
        self.fack = last.end;
        self.rtt = now.saturating_sub(last.at);
        if sent_after((last.at, last.end), self.newest) {
            self.newest = (last.at, last.end);
        }
        if ack >= self.dsack_round {
            self.dsack_round = 0;
        }
        self.deadlines.reordering = Time::MAX;
        s.dup_acks = 0;
        Some((now.saturating_sub(first.at), self.rtt))
    }

    /// Opens the account of an ACK: what its DSACK says arrived twice, the stamp that it echoes.
    pub fn begin_ack(&mut self, cfg: &TcpConfig, s: &Sender, now: Time, dsack: Option<(u64, u64)>, echo: Option<u32>) {
        let tested_echo = echo.filter(|_| !cfg.departs_as_linux());
        self.arrivals = Arrivals { now, tested_echo, fack: self.fack, ..Arrivals::default() };
        self.new_only = false;
        if let Some(twice) = dsack {
            self.arrivals.delivered = (twice.1 - twice.0).min(s.max - s.una); // what arrived twice has left the network, too
            self.evidence.on_dsack(twice, s.una, s.mss);
        }
    }

    /// An ECN echo has reduced the window, of which `before` bytes were in use; `processed` if its ACK has been.
    pub fn on_echo(&mut self, cfg: &TcpConfig, s: &mut Sender, before: u64, processed: bool) {
        self.evidence.clear(); // congestion it was
        if self.phase == Phase::Open {
            self.phase = Phase::Reduced;
            self.recover = s.max - 1;
            self.window = Reduction::new(cfg, s, before, self.arrivals.delivered);
            if processed {
                let pipe = s.outstanding.tally().pipe;
                self.window.on_ack(cfg, s, pipe, self.arrivals.delivered, true);
            }
        }
    }

    /// A SACK block; how many bytes of it are news.
    pub fn on_block(&mut self, s: &mut Sender, left: u64, right: u64) -> u64 {
        let (mss, min_rtt) = (s.mss, s.rtt.min_rtt());
        s.outstanding.on_block(left, right, |segment| self.arrived(segment, mss, min_rtt, true))
    }

    /// All below `una` is acknowledged; how many bytes of it SACK had reported.
    pub fn acknowledge(&mut self, s: &mut Sender) -> u64 {
        let (mss, min_rtt) = (s.mss, s.rtt.min_rtt());
        s.outstanding.on_ack(s.una, |segment| self.arrived(segment, mss, min_rtt, false))
    }

    /// The RTT samples of this ACK for the estimator and the window law: as in Linux, those of the first and of the last
    /// segment, if none of them was ever sent again.
    pub fn acknowledged_rtts(&mut self) -> Option<(Time, Time)> {
        let ack = &self.arrivals;
        let first = ack.first_rtt.filter(|_| !ack.repeated).or(ack.sack_rtts.map(|rtts| rtts.0))?;
        let last = ack.sack_rtts.map(|rtts| rtts.1).or(ack.last_rtt).unwrap_or(first);
        self.measured = true;
        Some((first, last))
    }

    /// The same of an ACK that acknowledges nothing new, by the segments that it reports.
    pub fn reported_rtts(&mut self) -> Option<(Time, Time)> {
        self.measured |= self.arrivals.sack_rtts.is_some();
        self.arrivals.sack_rtts
    }

    /// `RACK_update` (RFC 8985, section 6.2, steps 2 and 3) for a segment newly known to have arrived, as it was before.
    fn arrived(&mut self, segment: &Sent, mss: u32, min_rtt: Time, sacked: bool) {
        let repeated = segment.flags & REPEATED != 0;
        if segment.flags & SACKED != 0 {
            return; // known
        }
        self.arrivals.reported |= sacked;
        self.arrivals.original |= !repeated && segment.end <= self.recover + 1;
        self.arrivals.delivered += segment.end - segment.start;
        let rtt = self.arrivals.now.saturating_sub(segment.at);
        // step 3: reordering
        self.fack = self.fack.max(segment.end);
        if segment.end < self.arrivals.fack && !repeated {
            let seen = std::mem::replace(&mut self.arrivals.reordered[usize::from(sacked)], true);
            self.reorderings += u32::from(!seen);
            let distance = (self.arrivals.fack - segment.start).div_ceil(u64::from(mss)).min(300) as u32; // Linux's most
            self.reordering = self.reordering.max(distance);
        }
        if !repeated {
            let ack = &mut self.arrivals;
            if sacked {
                ack.sack_rtts = Some((ack.sack_rtts.map_or(rtt, |rtts| rtts.0), rtt));
            } else {
                ack.first_rtt.get_or_insert(rtt);
                ack.last_rtt = Some(rtt);
            }
        } else if !sacked {
            self.arrivals.repeated = true;
        }
        // step 2: an older stamp echoed (Linux has no such test), or faster than ever, means
        // that an earlier copy was acknowledged
        let older = |echo: u32| (echo.wrapping_sub(timestamp(segment.at)) as i32) < 0;
        if repeated && (self.arrivals.tested_echo.is_some_and(older) || rtt < min_rtt) {
            return;
        }
        self.rtt = rtt;
        self.arrivals.moved = true;
        if sent_after((segment.at, segment.end), self.newest) {
            self.newest = (segment.at, segment.end);
        }
    }

    pub fn on_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, ack: &AckReport) -> Decision {
        match ack.kind {
            AckKind::New => s.dup_acks = 0,
            AckKind::Duplicate => s.dup_acks += 1,
            AckKind::Old | AckKind::Other => {}
        }
        let shrinks = |phase: Phase| matches!(phase, Phase::Recovery | Phase::Reduced);
        let (before, lost_before) = (self.phase, s.outstanding.tally().lost_bytes);
        let began = self.process(cfg, s, ack);
        let lost_bytes = s.outstanding.tally().lost_bytes - lost_before;
        if ack.kind != AckKind::New {
            let growth = self.opens_by_report(cfg, ack);
            return Decision { growth, restart_timer: began, began, lost_bytes };
        }
        // Linux lets the ACK that ends an episode open the window; RFC 6582, section 3.2 leaves it at ssthresh
        let holds = shrinks(self.phase) || (shrinks(before) && !cfg.departs_as_linux());
        Decision { began, lost_bytes, ..if holds { HOLD } else { GROW } }
    }

    /// What an ACK that is not one of new data opens the window by: where the path is known to reorder, what is reported
    /// counts as what is acknowledged in order (Linux: `tcp_may_raise_cwnd`).
    fn opens_by_report(&self, cfg: &TcpConfig, ack: &AckReport) -> Growth {
        let calm = matches!(self.phase, Phase::Open | Phase::Loss);
        if calm && ack.kind != AckKind::Old && self.arrivals.reported && self.reordering > cfg.dup_thresh {
            Growth::Reported(self.arrivals.delivered)
        } else {
            Growth::None
        }
    }

    /// Whether an episode has begun.
    fn process(&mut self, cfg: &TcpConfig, s: &mut Sender, ack: &AckReport) -> bool {
        let advanced = ack.kind == AckKind::New;
        let (now, delivered) = (ack.now, self.arrivals.delivered);
        self.end_probe(cfg, s, ack);
        let ended = advanced && self.end_episode(s, ack.echoed_stamp);
        self.adapt(s, ended, ack.has_dsack);
        let looks = match self.phase {
            Phase::Recovery => self.undo_in_recovery(s, ack),
            Phase::Loss => {
                self.after_timeout(s, ack);
                true
            }
            Phase::Open => {
                self.undo_after_recovery(s);
                true
            }
            Phase::Reduced => true,
        };
        let again = s.outstanding.tally().again;
        let found = looks && self.detect(cfg, s, now);
        // RFC 9937, section 6.2: an ACK is safe that advances SND.UNA and finds no further loss
        let safe = advanced && !found;
        // after a timeout only the loss of what was sent again begins an episode (Linux)
        let begins = match self.phase {
            Phase::Open | Phase::Reduced => s.outstanding.tally().lost > 0,
            Phase::Loss => s.outstanding.tally().again < again,
            Phase::Recovery => false,
        };
        if begins {
            self.begin(cfg, s, delivered, safe);
        } else if delivered > 0 && matches!(self.phase, Phase::Recovery | Phase::Reduced) {
            let pipe = s.outstanding.tally().pipe;
            self.window.on_ack(cfg, s, pipe, delivered, safe);
        }
        self.set_timer(cfg, s, now, advanced);
        begins
    }

    /// Ends fast recovery once all that was out at its beginning is acknowledged, and the reduction for an echo once
    /// something later is, so that CWR has arrived. Whether an episode of losses has ended.
    fn end_episode(&mut self, s: &mut Sender, echo: Option<u32>) -> bool {
        let over = match self.phase {
            Phase::Recovery => s.una > self.recover,
            Phase::Reduced => s.una > self.recover + 1,
            Phase::Loss => return s.una > self.recover, // and see `after_timeout`
            Phase::Open => false,
        };
        if !over {
            return false;
        }
        let repaired = self.phase == Phase::Recovery;
        if !(repaired && self.undo_at_end(s, echo)) {
            // RFC 9937, section 6.2: it ends at ssthresh
            s.cc.on_episode(Episode::Ended, s.mss);
        }
        self.phase = Phase::Open;
        repaired
    }

    /// Widens the reordering window per round with DSACK, until as many recoveries have passed without one (RFC 8985,
    /// section 6.2, step 4).
    fn adapt(&mut self, s: &Sender, ended: bool, dsack: bool) {
        if self.dsack_round != 0 && s.una >= self.dsack_round {
            self.dsack_round = 0;
        }
        if self.dsack_round == 0 && dsack {
            self.dsack_round = s.max;
            self.multiplier += 1;
            self.persist = PERSIST;
        } else if ended {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.multiplier = 1;
            }
        }
    }

    /// `RACK_update_reo_wnd` (RFC 8985, section 6.2, step 4).
    fn reordering_window(&self, cfg: &TcpConfig, s: &Sender) -> Time {
        let repairs = matches!(self.phase, Phase::Recovery | Phase::Loss);
        if self.reorderings == 0 && (repairs || s.outstanding.tally().sacked >= cfg.dup_thresh) {
            return Time::ZERO;
        }
        let quarter = Time::from_nanos(s.rtt.min_rtt().as_nanos() / 4);
        (quarter * u64::from(self.multiplier)).min(s.rtt.srtt(&cfg.rto))
    }

    /// `RACK_detect_loss` (RFC 8985, section 6.2, step 5); whether anything was found.
    fn detect(&mut self, cfg: &TcpConfig, s: &mut Sender, now: Time) -> bool {
        self.deadlines.reordering = Time::MAX;
        let wait = self.rtt + self.reordering_window(cfg, s);
        let (found, at) = s.outstanding.detect(self.newest, wait, now);
        // Linux's timer counts from then, below
        let on_tick = !cfg.recovery.has_linux_timers() && !at.is_never();
        self.deadlines.reordering = if on_tick { cfg.expiry(now, at.saturating_sub(now)) } else { at };
        found
    }

    /// Begins an episode: cuts the window, unless an echo is doing so (RFC 3168, section 6.1.2).
    fn begin(&mut self, cfg: &TcpConfig, s: &mut Sender, delivered: u64, safe: bool) {
        if self.phase == Phase::Reduced {
            self.window.send_count = 0;
        } else {
            let before = s.cc.cwnd();
            let reduced = reduce(cfg, s, CongestionEvent::Loss, flight_lost(s));
            self.window = Reduction::new(cfg, s, before, delivered);
            self.recover = s.max - 1;
            self.evidence.frto = false;
            if reduced {
                // copies of an earlier episode may still be on their way: Linux keeps `retrans_stamp` while they are
                self.evidence
                    .start(s, s.outstanding.tally().again + u32::from(self.probe_end != 0 && self.probe_repeats));
            } else {
                self.evidence.clear();
            }
        }
        self.phase = Phase::Recovery;
        self.probe_end = 0;
        self.deadlines.probe = Time::MAX;
        let pipe = s.outstanding.tally().pipe;
        self.window.on_ack(cfg, s, pipe, delivered, safe);
    }

    /// The retransmission timer has expired, `retries` times without progress; whether the window has been reduced for
    /// this flight already, and is not to be again.
    pub fn prepare_timeout(&mut self, cfg: &TcpConfig, s: &Sender, retries: u8) -> bool {
        let again = s.outstanding.tally().again;
        let reduced = match self.phase {
            Phase::Open => false,
            Phase::Reduced | Phase::Recovery => s.una <= self.recover,
            Phase::Loss => retries > 1 && s.una <= self.recover,
        };
        // RFC 5682, section 3.1, step 1, and section 3.2: not if it interrupts a recovery
        self.evidence.frto =
            cfg.recovery.has_f_rto() && (retries > 1 || matches!(self.phase, Phase::Open | Phase::Reduced));
        if !reduced {
            self.evidence.start(s, again);
        }
        reduced
    }

    /// RFC 8985, section 6.3.
    pub fn on_timeout(&mut self, s: &mut Sender, now: Time) {
        let quarter = Time::from_nanos(s.rtt.min_rtt().as_nanos() / 4);
        let window = if self.reorderings > 0 { quarter * u64::from(self.multiplier) } else { Time::ZERO };
        s.outstanding.lose_overdue(self.rtt + window, now);
        s.nxt = s.max; // what is lost is in the record
        self.phase = Phase::Loss;
        self.recover = s.max - 1;
        self.new_only = false;
        self.probe_end = 0;
        self.probe_due = false;
        self.deadlines.probe = Time::MAX;
        self.deadlines.reordering = Time::MAX;
        // one segment in addition to what is assumed to be in flight (Linux: tcp_enter_loss)
        s.cc.on_episode(Episode::StillInNetwork { pipe: s.outstanding.tally().pipe }, s.mss);
    }
}

#[cfg(test)]
mod tests;
