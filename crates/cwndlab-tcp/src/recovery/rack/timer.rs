//! Three timers share the retransmission timer (RFC 8985, section 8): the probe's, the reordering timer and the
//! retransmission timeout.
//!
//! In the RFC the earliest of the three is armed. Linux ([`RackTimers::Linux`](crate::RackTimers)) keeps only the one
//! set last: setting the probe's or the reordering timer replaces the timeout. If the timeout is set again afterwards,
//! it counts from the last transmission of the first outstanding segment.

use cwndlab_units::Time;

use super::{Arrivals, Phase, Rack};
use crate::config::{RttSamples, TcpConfig};
use crate::recovery::{Transmission, View};
use crate::rto::RttEstimator;
use crate::send_state::SendState;
use crate::timers::retransmit::Reason;

/// `TLP.max_ack_delay` (RFC 8985, section 7.2): the longest expected delay of an ACK.
const MAX_ACK_DELAY: Time = Time::from_millis(200);
/// The probe timeout (PTO) before the first RTT measurement (RFC 8985, section 7.2).
const FIRST_PTO: Time = Time::from_secs(1);
/// Time that Linux adds (`TCP_TIMEOUT_MIN_US`) to the waits of a probe and of the reordering timer, so that a tick more
/// or less does not matter.
const TICK_ALLOWANCE: Time = Time::from_millis(2);

/// When each of the three timers is due. With Linux's timers, `timeout` and `probe` are not used.
#[derive(Clone, Debug)]
pub(super) struct Deadlines {
    pub timeout: Time,
    pub reordering: Time,
    pub probe: Time,
    /// When the probe's timer was last set to the time that new data sent at once would also set it to; [`Time::MAX`]
    /// if an ACK or an expiry has followed.
    pub probed_at: Time,
    /// When the pacer allowed the next segment, as of `probed_at`; equal to it if the pacer allowed one at once.
    pub probed_until: Time,
    /// When the pacer next allows a segment; zero if nothing is paced.
    pub paced_until: Time,
    /// When the last retransmission timeout expired.
    pub timed_out_at: Time,
}

impl Default for Deadlines {
    fn default() -> Self {
        let never = Time::MAX;
        Deadlines {
            timeout: never,
            reordering: never,
            probe: never,
            probed_at: never,
            probed_until: Time::ZERO,
            paced_until: Time::ZERO,
            timed_out_at: never,
        }
    }
}

fn allowance(cfg: &TcpConfig) -> Time {
    if cfg.rto.timer_hz == 0 {
        Time::ZERO
    } else {
        TICK_ALLOWANCE
    }
}

/// Returns the time left until the retransmission timeout is due, counted from the last transmission of the first
/// outstanding segment; zero if it has passed.
fn left_of_timeout(v: &View<'_>, now: Time) -> Time {
    v.flight.first().map_or(Time::MAX, |first| v.s.rtt.rto(&v.cfg.rto).saturating_sub(v.cfg.elapsed(first.at, now)))
}

/// Returns the probe timeout (`TLP_calc_PTO`; RFC 8985, section 7.2). [`Rack::probe_wait`] says if a probe may be
/// scheduled.
#[inline]
fn probe_timeout(v: &View<'_>) -> Time {
    let srtt = v.s.rtt.srtt(&v.cfg.rto);
    if srtt == Time::ZERO {
        return FIRST_PTO;
    }
    srtt.plus(srtt).plus(if v.flight.len() == 1 { MAX_ACK_DELAY } else { allowance(v.cfg) })
}

/// Whether a probe that waits for `wait` comes no later than the retransmission timeout.
#[inline]
fn is_before_timeout(v: &View<'_>, now: Time, wait: Time) -> bool {
    let Some(first) = v.flight.first() else { return true };
    // Times are rounded ([`TcpConfig::elapsed`]), which matters only if the difference is less than a microsecond.
    let reach = wait.plus(now.saturating_sub(first.at)).plus(Time::from_micros(1));
    is_within_timeout(v, reach) || wait <= left_of_timeout(v, now)
}

/// Whether a time is no longer than the retransmission timeout.
#[inline]
fn is_within_timeout(v: &View<'_>, time: Time) -> bool {
    time <= RttEstimator::least_rto(&v.cfg.rto) || time <= v.s.rtt.rto(&v.cfg.rto)
}

impl Rack {
    /// Sets the retransmission timer after an ACK if it has to change; without Linux's timers, the deadline of the
    /// probe. `informed`: RACK's state has changed, and losses have been looked for since.
    pub(super) fn set_timer(&mut self, v: &mut View<'_>, arrivals: &Arrivals, informed: bool) {
        let Arrivals { now, advanced, .. } = *arrivals;
        if !v.cfg.recovery.has_linux_timers() {
            if advanced {
                self.deadlines.probe = self.probe_wait(v).map_or(Time::MAX, |wait| v.cfg.expiry(now, wait));
            }
        } else if v.s.una == v.s.max {
            // Nothing is outstanding: `Connection::restart_timer` has stopped the timer already.
        } else if informed && !self.deadlines.reordering.is_never() {
            let wait = self.deadlines.reordering.saturating_sub(now) + allowance(v.cfg);
            self.set(v, now, Reason::Reordering, wait.min(v.s.rtt.rto(&v.cfg.rto)));
        } else if advanced || reports_earlier_data(v, arrivals) {
            self.probe_after_ack(v, now);
        }
    }

    /// With Linux's timers: sets the timer for a probe after an ACK, or for the timeout if no probe may be scheduled.
    #[inline]
    fn probe_after_ack(&mut self, v: &mut View<'_>, now: Time) {
        let Some(wait) = self.schedule_probe(v, now, v.s.rtt.rto(&v.cfg.rto)) else {
            return self.reset_timeout(v, now);
        };
        // Data sent now would set the timer to the same time, unless the round trip is measured later.
        let is_measured = v.cfg.rto.samples == RttSamples::RoundTrip;
        if is_measured && is_before_timeout(v, now, wait) {
            self.note_probe(v, now);
        }
    }

    /// Sets the timer for a probe after an ACK that [`Rack::take_calm`] processed. Returns false, with no effect, if
    /// [`Rack::set_any_calm_timer`] has to decide.
    #[inline]
    pub fn set_calm_timer(&mut self, v: &mut View<'_>, now: Time) -> bool {
        if !v.cfg.recovery.has_linux_timers() || v.s.una == v.s.max || self.by_duplicates {
            return false;
        }
        let wait = probe_timeout(v);
        let bounded = if is_within_timeout(v, wait) { wait } else { v.s.rtt.rto(&v.cfg.rto) };
        self.set(v, now, Reason::Probe, bounded + self.pacing_delay(v.cfg, now));
        if is_before_timeout(v, now, wait) {
            self.note_probe(v, now);
        }
        true
    }

    /// Sets the timer after an ACK that [`Rack::take_calm`] processed, in any case.
    pub fn set_any_calm_timer(&mut self, v: &mut View<'_>, now: Time) {
        let nothing = Arrivals { now, advanced: true, ..Arrivals::default() };
        self.set_timer(v, &nothing, false);
    }

    /// Sets the timer after a piece was sent.
    pub(super) fn set_timer_for(&mut self, v: &mut View<'_>, sent: &Transmission) {
        let Transmission { now, piece, again, was_quiet, .. } = *sent;
        if !again {
            return self.time_new_data(v, now, was_quiet);
        }
        if !v.cfg.recovery.has_linux_timers() {
            return;
        }
        if self.probe_due {
            self.set(v, now, Reason::Rto, v.s.rtt.rto(&v.cfg.rto));
        } else if piece.start == v.s.una && v.s.timer.reason() != Reason::Reordering {
            // A segment that the timeout itself retransmits does not wait (`tcp_retransmit_timer`).
            let expired = self.deadlines.timed_out_at == now;
            let held = if expired { Time::ZERO } else { self.pacing_delay(v.cfg, now) };
            self.set(v, now, Reason::Rto, v.s.rtt.rto(&v.cfg.rto) + held);
        }
    }

    /// Sets the timer after new data was sent. `was_quiet`: nothing was outstanding before.
    pub(super) fn time_new_data(&mut self, v: &mut View<'_>, now: Time, was_quiet: bool) {
        if !v.cfg.recovery.has_linux_timers() {
            if !self.probe_due {
                self.deadlines.probe = self.probe_wait(v).map_or(Time::MAX, |wait| v.cfg.expiry(now, wait));
            }
        } else if self.probe_due {
            self.set(v, now, Reason::Rto, v.s.rtt.rto(&v.cfg.rto));
        } else {
            let replaces = was_quiet || v.s.timer.reason() == Reason::Probe;
            if !self.probe_new_data(v, now) && replaces {
                self.reset_timeout(v, now);
            }
        }
    }

    /// With Linux's timers: sets the timer for a probe of data sent now. Returns false, with no effect, if no probe may be
    /// scheduled.
    #[inline]
    pub(super) fn probe_new_data(&mut self, v: &mut View<'_>, now: Time) -> bool {
        let Some(wait) = self.probe_wait(v) else { return false };
        let limit = if is_before_timeout(v, now, wait) {
            Time::MAX
        } else {
            match left_of_timeout(v, now) {
                Time::ZERO => Time::MAX,
                left => left,
            }
        };
        self.set(v, now, Reason::Probe, wait.min(limit) + self.pacing_delay(v.cfg, now));
        self.note_probe(v, now);
        true
    }

    /// Notes that new data sent now would set the probe's timer to the same time. Not if a single segment is
    /// outstanding: its probe timeout includes the allowance for a delayed ACK, which ends with a second segment.
    #[inline]
    fn note_probe(&mut self, v: &View<'_>, now: Time) {
        if self.phase == Phase::Open && v.flight.len() > 1 {
            (self.deadlines.probed_at, self.deadlines.probed_until) = (now, self.deadlines.paced_until.max(now));
        }
    }

    /// Whether the timer is set already for new data sent now.
    #[inline]
    pub fn is_timed(&self, now: Time) -> bool {
        self.deadlines.probed_at == now && self.deadlines.paced_until <= self.deadlines.probed_until
    }

    /// If the timer was set for a probe now: postpones it for as long as the pacer has since postponed the next segment.
    /// Returns false, with no effect, if it has to be computed again.
    #[inline]
    pub fn postpone_probe(&mut self, v: &mut View<'_>, now: Time) -> bool {
        let times = &mut self.deadlines;
        if times.probed_at != now || !v.cfg.waits_for_pacer() || v.cfg.goes_by_ticks() {
            return false;
        }
        v.s.timer.postpone(times.paced_until.saturating_sub(times.probed_until));
        times.probed_until = times.probed_until.max(times.paced_until);
        true
    }

    /// With Linux's timers: sets the timer for a probe after its timeout or `limit`, whichever is shorter, plus the
    /// pacer's delay. Returns the timeout, not shortened by `limit`; `None`, with no effect, if no probe may be
    /// scheduled.
    #[inline]
    pub(super) fn schedule_probe(&mut self, v: &mut View<'_>, now: Time, limit: Time) -> Option<Time> {
        let wait = self.probe_wait(v)?;
        self.set(v, now, Reason::Probe, wait.min(limit) + self.pacing_delay(v.cfg, now));
        Some(wait)
    }

    /// Sets the retransmission timeout after the probe's timer has expired. Returns false if the timeout has expired,
    /// too.
    pub(super) fn after_probe(&mut self, v: &mut View<'_>, now: Time) -> bool {
        if !v.cfg.recovery.has_linux_timers() {
            self.deadlines.probe = Time::MAX;
            self.deadlines.timeout = v.cfg.expiry(now, v.s.rtt.rto(&v.cfg.rto));
            return true;
        }
        if self.probe_due {
            self.set(v, now, Reason::Rto, v.s.rtt.rto(&v.cfg.rto));
        } else {
            self.reset_timeout(v, now);
        }
        v.s.timer.at() > now
    }

    /// With Linux's timers: sets the retransmission timeout again, because one of the other two timers has expired, or
    /// because no probe may be scheduled (Linux: `tcp_rearm_rto`).
    pub(super) fn reset_timeout(&mut self, v: &mut View<'_>, now: Time) {
        if v.cfg.recovery.has_linux_timers() {
            let left = match v.s.timer.reason() {
                Reason::Rto | Reason::Persist | Reason::TimeWait => v.s.rtt.rto(&v.cfg.rto),
                // At least a microsecond, which takes a tick (`tcp_rearm_rto`).
                Reason::Reordering | Reason::Probe => left_of_timeout(v, now).max(Time::from_micros(1)),
            };
            self.set(v, now, Reason::Rto, left + self.pacing_delay(v.cfg, now));
        }
    }

    /// Notes when the pacer next allows a segment.
    pub fn note_pacer(&mut self, next: Time) {
        self.deadlines.paced_until = next;
    }

    /// Returns the time for which Linux's probe and retransmission timeout wait longer, in whole ticks, because the
    /// pacer holds the next segment back (`tcp_pacing_delay`).
    #[inline]
    fn pacing_delay(&self, cfg: &TcpConfig, now: Time) -> Time {
        let held = self.deadlines.paced_until.saturating_sub(now).as_nanos();
        if held == 0 || !cfg.waits_for_pacer() {
            return Time::ZERO;
        }
        Time::from_nanos(if cfg.rto.timer_hz == 0 { held } else { held - held % cfg.rto.timer_tick() })
    }

    #[inline]
    fn set(&mut self, v: &mut View<'_>, now: Time, reason: Reason, wait: Time) {
        self.deadlines.probed_at = Time::MAX;
        v.s.timer.reset(v.cfg, now, reason, wait);
    }

    /// Returns [`probe_timeout`]; `None` if no probe may be scheduled.
    #[inline]
    fn probe_wait(&self, v: &View<'_>) -> Option<Time> {
        let in_order = match self.phase {
            _ if self.by_duplicates => false, // `tcp_schedule_loss_probe`
            Phase::Open => v.flight.tally().sacked == 0,
            Phase::Reduced => true,
            Phase::Recovery | Phase::Loss => false,
        };
        let alone = v.cfg.recovery.has_linux_timers() || (self.probe_end.is_none() && self.measured);
        if !in_order || !alone || v.s.una == v.s.max {
            return None;
        }
        Some(probe_timeout(v))
    }

    /// With Linux's timers: restarts the retransmission timeout after it has expired.
    pub(super) fn restart_timeout(&mut self, v: &mut View<'_>, now: Time) {
        if v.cfg.recovery.has_linux_timers() {
            self.set(v, now, Reason::Rto, v.s.rtt.rto(&v.cfg.rto));
        }
    }

    /// With the RFC's timers: sets the retransmission timer to the earliest of the three. If it was set for the timeout
    /// since the last call, that is the new timeout.
    pub fn arm_earliest(&mut self, s: &mut SendState) {
        if s.una == s.max || !s.timer.is_running() {
            return; // nothing is outstanding, or the persist timer runs
        }
        let Deadlines { timeout, reordering, probe, .. } = &mut self.deadlines;
        if matches!(s.timer.reason(), Reason::Rto | Reason::Persist) {
            *timeout = s.timer.at();
        }
        if reordering < timeout {
            s.timer.expire_at(Reason::Reordering, *reordering);
        } else if !probe.is_never() {
            // If the timeout is due before the probe, the probe is sent when the timeout is due (section 7.2).
            s.timer.expire_at(Reason::Probe, (*probe).min(*timeout));
        } else {
            s.timer.expire_at(Reason::Rto, *timeout);
        }
    }
}

/// Whether SACK newly reports data that was sent before the last transmission of the first outstanding segment. In
/// recovery, reports of data sent later must not postpone that segment's timeout.
fn reports_earlier_data(v: &View<'_>, arrivals: &Arrivals) -> bool {
    let Some(rtt) = arrivals.reported_rtt else { return false };
    v.flight.first().is_some_and(|first| arrivals.now.saturating_sub(rtt) < first.at)
}
