//! RACK-TLP (RFC 8985): loss by the times at which segments were sent, tail loss probes, and PRR (RFC 9937) for the window.

mod record;

use cwndlab_units::Time;

use super::prr::Reduction;
use super::{reduce, NewAck, Reaction, GROW, HOLD};
use crate::config::TcpConfig;
use crate::sender::{Piece, Sender};
use crate::timers::{Timer, Timers};
use record::{sent_after, Record, Sent, REPEATED, SACKED};

/// `TLP.max_ack_delay` (RFC 8985, section 7.2): the longest delay of an ACK to reckon with.
const MAX_ACK_DELAY: Time = Time::from_millis(200);
/// PTO before the first measurement (RFC 8985, section 7.2).
const FIRST_PTO: Time = Time::from_secs(1);
/// Recoveries without DSACK after which the reordering window shrinks again (RFC 8985, section 6.2, step 4).
const PERSIST: u8 = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// What the retransmission timer's place holds (RFC 8985, section 8: the three are multiplexed).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pending {
    Timeout,
    Reordering,
    Probe,
}

/// What one ACK told, while it is processed.
#[derive(Clone, Debug, Default)]
struct Ack {
    now: Time,
    /// Bytes of segments newly known to have arrived.
    delivered: u64,
    dsack: bool,
    /// `RACK.fack` before it: its own segments count in ascending order, so they do not reorder each other.
    fack: u64,
    /// It has been processed.
    done: bool,
    /// It acknowledged a segment that had been sent again.
    repeated: bool,
    /// Round trips of the first and of the last segment that it acknowledged, and of the last that it reported.
    first_rtt: Option<Time>,
    last_rtt: Option<Time>,
    sack_rtt: Option<Time>,
}

/// The state of one sender; on the heap.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    sent: Record,
    phase: Phase,
    /// Highest position sent when the phase began.
    recover: u64,
    window: Reduction,
    ack: Ack,
    /// Whether an episode began since it was last asked.
    began: bool,
    /// `RACK.xmit_ts` and `RACK.end_seq`: the most recently sent segment that has arrived; `RACK.rtt`.
    newest: (Time, u64),
    rtt: Time,
    /// `RACK.fack`: highest position that has arrived.
    fack: u64,
    reordering_seen: bool,
    /// Longest reordering seen, segments (at least the duplicate ACK threshold).
    reordering: u32,
    /// `RACK.reo_wnd_mult`, `reo_wnd_persist`, `dsack_round` (0 = none).
    multiplier: u32,
    persist: u8,
    dsack_round: u64,
    /// `TLP.end_seq` (0 = no probe is out), `TLP.is_retrans`.
    probe_end: u64,
    probe_repeats: bool,
    /// A probe is to be sent now.
    probe_due: bool,
    /// A round trip has been measured since the last probe.
    measured: bool,
    timeout_at: Time,
    reordering_at: Time,
    probe_at: Time,
    /// What the timer was set to, and for what.
    armed: Time,
    pending: Pending,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            sent: Record::default(),
            phase: Phase::Open,
            recover: 0,
            window: Reduction::default(),
            ack: Ack::default(),
            began: false,
            newest: (Time::ZERO, 0),
            rtt: Time::ZERO,
            fack: 0,
            reordering_seen: false,
            reordering: 0,
            multiplier: 1,
            persist: PERSIST,
            dsack_round: 0,
            probe_end: 0,
            probe_repeats: false,
            probe_due: false,
            measured: true,
            timeout_at: Time::MAX,
            reordering_at: Time::MAX,
            probe_at: Time::MAX,
            armed: Time::MAX,
            pending: Pending::Timeout,
        }
    }
}

impl Rack {
    pub fn in_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    pub fn in_loss(&self) -> bool {
        self.phase == Phase::Loss
    }

    /// Segments reported by SACK, and deemed lost.
    pub fn counts(&self) -> (u64, u64) {
        (u64::from(self.sent.sacked), u64::from(self.sent.lost))
    }

    /// Segments of which a copy sent again is thought to be in the network.
    pub fn repeated(&self) -> u64 {
        u64::from(self.sent.again)
    }

    /// Longest reordering seen, in segments, and at least the duplicate ACK threshold.
    pub fn reordering(&self, cfg: &TcpConfig) -> u32 {
        self.reordering.max(cfg.dup_thresh)
    }

    /// An ACK begins to be processed.
    pub fn begin_ack(&mut self, now: Time, dsack: bool) {
        self.ack = Ack { now, dsack, fack: self.fack, ..Ack::default() };
    }

    /// A SACK block; called before the scoreboard learns it, which knows what of it is news.
    pub fn on_block(&mut self, s: &Sender, left: u64, right: u64) {
        let mut from = left;
        loop {
            let (start, end) = s.scoreboard.hole(from);
            if start >= right {
                return;
            }
            let (to, mss, min_rtt) = (end.min(right), s.mss, s.rtt.min_rtt());
            let mut sent = std::mem::take(&mut self.sent);
            sent.sack((left, right), start, to, |segment| self.arrived(segment, mss, min_rtt, true));
            self.sent = sent;
            from = to;
        }
    }

    /// All below `una` is acknowledged; the round trips that this tells, for the estimator and for the window law: as in
    /// Linux, of the first and of the last segment, if none of them was ever sent again.
    pub fn acknowledge(&mut self, s: &Sender) -> Option<(Time, Time)> {
        let (mss, min_rtt) = (s.mss, s.rtt.min_rtt());
        let mut sent = std::mem::take(&mut self.sent);
        sent.acknowledge(s.una, |segment| self.arrived(segment, mss, min_rtt, false));
        self.sent = sent;
        let ack = &self.ack;
        let first = ack.first_rtt.filter(|_| !ack.repeated).or(ack.sack_rtt)?;
        let last = ack.sack_rtt.or(ack.last_rtt).unwrap_or(first);
        self.measured = true;
        Some((first, last))
    }

    /// `RACK_update` (RFC 8985, section 6.2, steps 2 and 3) for a segment newly known to have arrived, as it was before.
    fn arrived(&mut self, segment: &Sent, mss: u32, min_rtt: Time, sacked: bool) {
        let repeated = segment.flags & REPEATED != 0;
        if segment.flags & SACKED != 0 {
            return; // known
        }
        self.ack.delivered += segment.end - segment.start;
        let rtt = self.ack.now.saturating_sub(segment.at);
        // step 3: reordering
        self.fack = self.fack.max(segment.end);
        if segment.end < self.ack.fack && !repeated {
            self.reordering_seen = true;
            let distance = (self.ack.fack - segment.start).div_ceil(u64::from(mss)).min(300) as u32; // Linux's most
            self.reordering = self.reordering.max(distance);
        }
        if !repeated {
            let ack = &mut self.ack;
            if sacked {
                ack.sack_rtt = Some(rtt);
            } else {
                ack.first_rtt.get_or_insert(rtt);
                ack.last_rtt = Some(rtt);
            }
        } else if !sacked {
            self.ack.repeated = true;
        }
        // step 2: faster than ever means that an earlier copy was acknowledged
        if repeated && rtt < min_rtt {
            return;
        }
        self.rtt = rtt;
        if sent_after((segment.at, segment.end), self.newest) {
            self.newest = (segment.at, segment.end);
        }
    }

    /// Duplicate ACKs mean nothing by themselves: [`Rack::end_ack`] does what their blocks ask for.
    #[allow(clippy::unused_self)] // one signature for all
    pub fn on_dup_ack(&mut self, _: &TcpConfig, _: &mut Sender, _: u64) -> bool {
        false
    }

    pub fn on_new_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, _: &NewAck) -> Reaction {
        s.dup_acks = 0;
        let before = self.phase;
        self.process(cfg, s, true);
        if before == Phase::Recovery || self.phase == Phase::Recovery {
            HOLD
        } else {
            GROW
        }
    }

    /// An ACK that may not have been one of new data is done with; whether an episode has begun.
    pub fn end_ack(&mut self, cfg: &TcpConfig, s: &mut Sender) -> bool {
        if !self.ack.done {
            self.process(cfg, s, false);
        }
        std::mem::take(&mut self.began)
    }

    fn process(&mut self, cfg: &TcpConfig, s: &mut Sender, advanced: bool) {
        self.ack.done = true;
        let (now, delivered) = (self.ack.now, self.ack.delivered);
        if !advanced {
            if let Some(rtt) = self.ack.sack_rtt {
                s.rtt.on_sample(&cfg.rto, now, rtt);
                self.measured = true;
            }
        }
        self.end_probe(cfg, s, advanced);
        let ended = advanced && self.phase != Phase::Open && s.una > self.recover;
        if ended {
            if self.phase == Phase::Recovery {
                // RFC 9937, section 6.2: recovery ends at ssthresh
                let (ssthresh, mss) = (s.law.ssthresh(), s.mss);
                s.law.set_cwnd(ssthresh, mss);
            }
            self.phase = Phase::Open;
        }
        self.adapt(s, ended);
        let found = self.detect(cfg, s, now);
        if self.phase == Phase::Recovery {
            if delivered > 0 {
                // RFC 9937, section 6.2: an ACK is safe that advances SND.UNA and finds no further loss
                self.window.on_ack(s, self.sent.pipe, delivered, advanced && !found);
            }
        } else if self.phase == Phase::Open && found {
            self.begin(cfg, s, delivered);
        }
        if advanced {
            self.schedule_probe(cfg, s, now);
        }
    }

    /// Widens the reordering window per round with DSACK, until as many recoveries have passed without one (RFC 8985,
    /// section 6.2, step 4).
    fn adapt(&mut self, s: &Sender, ended: bool) {
        if self.dsack_round != 0 && s.una >= self.dsack_round {
            self.dsack_round = 0;
        }
        if self.dsack_round == 0 && self.ack.dsack {
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
        if !self.reordering_seen && (self.phase != Phase::Open || self.sent.sacked >= cfg.dup_thresh) {
            return Time::ZERO;
        }
        let quarter = Time::from_nanos(s.rtt.min_rtt().as_nanos() / 4);
        (quarter * u64::from(self.multiplier)).min(s.rtt.srtt(&cfg.rto))
    }

    /// `RACK_detect_loss` (RFC 8985, section 6.2, step 5); whether anything was found.
    fn detect(&mut self, cfg: &TcpConfig, s: &Sender, now: Time) -> bool {
        self.reordering_at = Time::MAX;
        if self.sent.sacked == 0 && self.phase == Phase::Open {
            return false; // in order: nothing was sent before what has arrived
        }
        let wait = self.rtt + self.reordering_window(cfg, s);
        let (found, at) = self.sent.detect(self.newest, wait, now);
        self.reordering_at = at;
        found
    }

    /// Cuts the window for an episode (RFC 5681, equation 4).
    fn begin(&mut self, cfg: &TcpConfig, s: &mut Sender, delivered: u64) {
        let flight = s.flight().min(s.law.cwnd().max(u64::from(s.mss)));
        self.window = Reduction::new((s.max - s.una) as u32);
        reduce(cfg, s, flight);
        self.phase = Phase::Recovery;
        self.recover = s.max - 1;
        self.began = true;
        self.probe_end = 0;
        self.probe_at = Time::MAX;
        self.window.on_ack(s, self.sent.pipe, delivered, false);
    }

    /// The reordering or the probe timer may have expired; false if it was the retransmission timeout.
    pub fn on_expiry(&mut self, cfg: &TcpConfig, s: &mut Sender, now: Time) -> bool {
        self.ack = Ack { now, ..Ack::default() };
        if s.una == s.max || self.pending == Pending::Timeout {
            return false;
        }
        if self.pending == Pending::Reordering {
            if self.detect(cfg, s, now) && self.phase == Phase::Open {
                self.begin(cfg, s, 0);
            }
            return true;
        }
        // RFC 8985, section 7.3: one probe at a time, and one a measured round trip
        self.probe_at = Time::MAX;
        self.probe_due = self.probe_end == 0 && self.measured;
        self.timeout_at = now + s.rtt.rto(&cfg.rto);
        true
    }

    /// Whether an episode has begun since this was last asked.
    pub fn take_began(&mut self) -> bool {
        std::mem::take(&mut self.began)
    }

    /// RFC 8985, section 6.3.
    pub fn on_timeout(&mut self, s: &mut Sender) {
        let quarter = Time::from_nanos(s.rtt.min_rtt().as_nanos() / 4);
        let window = if self.reordering_seen { quarter * u64::from(self.multiplier) } else { Time::ZERO };
        if self.sent.time_out(self.rtt + window, self.ack.now) {
            s.scoreboard.clear();
        }
        s.nxt = s.max; // what is lost is in the record
        self.phase = Phase::Loss;
        self.recover = s.max - 1;
        self.probe_end = 0;
        self.probe_due = false;
        self.probe_at = Time::MAX;
        self.reordering_at = Time::MAX;
        // one segment beside what is thought to be on its way still (Linux: tcp_enter_loss)
        let mss = s.mss;
        s.law.set_cwnd(self.sent.pipe + u64::from(mss), mss);
    }

    #[inline]
    pub fn next(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        s.nxt = s.max;
        if self.probe_due {
            if let Some(piece) = self.probe(s) {
                return Some(piece);
            }
        }
        let pipe = self.sent.pipe;
        let window = match self.phase {
            Phase::Recovery => pipe + u64::from(self.window.send_count),
            _ => s.window(cfg),
        };
        if let Some(sent) = self.sent.next_waiting() {
            let piece = Piece { start: sent.start, len: (sent.end.min(s.end) - sent.start) as u32 };
            if pipe + u64::from(piece.len) <= window {
                return Some(piece);
            }
            s.stopped_by_cwnd = true;
            return None;
        }
        let uncounted = if cfg.limited_transmit || self.phase != Phase::Open { 0 } else { s.scoreboard.total() };
        s.next_in_order(cfg, window, pipe + uncounted)
    }

    /// `TLP_send_probe` (RFC 8985, section 7.3): new data if there is and the peer admits it, else the last segment again.
    fn probe(&mut self, s: &mut Sender) -> Option<Piece> {
        let fresh = s.end.min(s.edge).saturating_sub(s.max).min(u64::from(s.mss));
        self.probe_repeats = fresh == 0;
        if fresh > 0 {
            return Some(Piece { start: s.max, len: fresh as u32 });
        }
        let Some(last) = self.sent.last().filter(|last| last.flags & SACKED == 0) else {
            self.probe_due = false;
            return None;
        };
        Some(Piece { start: last.start, len: (last.end.min(s.end) - last.start) as u32 })
    }

    /// `[piece.start, end)` went, data and FIN; it was `new` or sent before.
    pub fn on_sent(&mut self, cfg: &TcpConfig, s: &Sender, now: Time, piece: Piece, (end, new): (u64, bool)) {
        self.sent.send(piece.start, end, now);
        if self.phase == Phase::Recovery {
            self.window.on_sent(piece.len);
        }
        if self.probe_due {
            self.probe_due = false;
            self.measured = false;
            self.probe_end = s.max;
        } else if new {
            self.schedule_probe(cfg, s, now);
        }
    }

    /// `TLP_calc_PTO` (RFC 8985, section 7.2), where a probe may be scheduled.
    fn schedule_probe(&mut self, cfg: &TcpConfig, s: &Sender, now: Time) {
        self.probe_at = Time::MAX;
        if self.phase != Phase::Open || self.sent.sacked > 0 || self.probe_end != 0 || !self.measured || s.una == s.max
        {
            return;
        }
        let srtt = s.rtt.srtt(&cfg.rto);
        let mut pto = if srtt > Time::ZERO { srtt * 2 } else { FIRST_PTO };
        if self.sent.len() == 1 {
            pto += MAX_ACK_DELAY;
        }
        self.probe_at = now + pto;
    }

    /// `TLP_process_ack` (RFC 8985, section 7.4.2).
    fn end_probe(&mut self, cfg: &TcpConfig, s: &mut Sender, advanced: bool) {
        if self.probe_end == 0 || s.una < self.probe_end {
            return;
        }
        let beyond = s.una > self.probe_end;
        // the original and the probe have both arrived: DSACK says so, or a plain duplicate ACK
        let both = self.ack.dsack || (!advanced && self.ack.delivered == 0);
        if !self.probe_repeats || both {
            self.probe_end = 0;
        } else if beyond {
            // the probe has repaired a loss, which congestion control is to know of
            self.probe_end = 0;
            if self.phase == Phase::Open {
                let flight = s.flight().max(u64::from(s.mss)).min(s.law.cwnd());
                reduce(cfg, s, flight);
            }
        }
    }

    /// Puts the earliest of the three timers into the retransmission timer's place; a place that was changed in between
    /// holds a new retransmission timeout.
    pub fn arm(&mut self, s: &Sender, timers: &mut Timers) {
        let place = timers.at(Timer::Retransmit);
        if place != self.armed {
            self.timeout_at = place;
        }
        self.armed = place;
        self.pending = Pending::Timeout;
        if s.una == s.max || place.is_never() {
            return; // nothing is out, or the persist timer's
        }
        self.armed = self.timeout_at;
        if self.reordering_at < self.timeout_at {
            (self.pending, self.armed) = (Pending::Reordering, self.reordering_at);
        } else if !self.probe_at.is_never() {
            // a timeout that is due before the probe becomes the probe (section 7.2)
            (self.pending, self.armed) = (Pending::Probe, self.probe_at.min(self.timeout_at));
        }
        timers.set(Timer::Retransmit, self.armed);
    }

    /// As [`Rack::arm`], after the place's expiry was no timeout.
    pub fn rearm(&mut self, s: &Sender, timers: &mut Timers) {
        timers.set(Timer::Retransmit, self.armed);
        self.arm(s, timers);
    }
}
