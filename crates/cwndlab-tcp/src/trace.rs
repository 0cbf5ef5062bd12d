//! The history of a sender's states, observed from outside. Endpoints that are not traced do no work for it.

use cwndlab_units::Time;

use crate::config::TcpConfig;
use crate::connection::{CongestionState, Connection, Limit, RecoveryCounts};
use crate::stats::Stats;

/// Why the sender entered a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The connection began.
    Start,
    /// An ACK ended a window reduction or loss recovery, or left no data reported missing.
    Ack,
    /// Duplicate ACKs or SACK blocks that do not yet indicate a loss.
    Reports,
    /// Duplicate ACKs, SACK blocks or transmission times indicated a loss.
    Loss,
    /// RACK's reordering timer indicated a loss (RFC 8985, section 6.3).
    ReorderingTimer,
    /// The retransmission timer expired (RFC 6298, section 5).
    Timeout,
    /// An ECN echo (RFC 3168, section 6.1.2).
    Ecn,
    /// The last window reduction was found to be spurious and was undone (RFC 5682, RFC 3708, RFC 3522).
    Undo,
}

/// The timer that expired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expired {
    /// The retransmission timer, including that of SYNs.
    Retransmission,
    /// The timer of the tail loss probe.
    Probe,
    /// RACK's reordering timer.
    Reordering,
    /// The persist timer of a closed window.
    Persist,
}

/// A report of a [`Trace`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traced {
    /// An interval in which the same limit applied. Intervals are contiguous.
    Limited {
        /// start of the interval
        from: Time,
        /// end of the interval; later than `from`
        to: Time,
        /// the limit
        by: Limit,
    },
    /// An interval in which the sender was in one congestion state. Intervals are contiguous. A retransmission timeout
    /// or an undo begins a new one, possibly in the same state.
    Was {
        /// start of the interval
        from: Time,
        /// end of the interval
        to: Time,
        /// the congestion state
        state: CongestionState,
        /// why the sender entered the state
        entered_by: Cause,
        /// why the sender left the state; `None` if the connection or the run ended
        left_by: Option<Cause>,
    },
    /// A timer expired and the sender acted.
    Expired {
        /// when
        at: Time,
        /// which
        timer: Expired,
        /// when the timer was set to expire at `at`
        set_at: Time,
        /// expiries of the retransmission or persist timer since the last progress, including this one if `timer` is
        /// one of the two
        backoffs: u32,
        /// payload bytes acknowledged so far
        acked: u64,
    },
}

/// Counters of an endpoint. The counter that has grown since the last [`Trace::look`] shows which event occurred.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Counts {
    stats: Stats,
    recovery: RecoveryCounts,
}

impl Counts {
    fn of(end: &Connection) -> Self {
        Counts { stats: *end.stats(), recovery: end.recovery_counts() }
    }

    /// Returns the timer that has expired since `before`, if any.
    fn expired_since(&self, before: &Counts) -> Option<Expired> {
        if self.stats.timeouts != before.stats.timeouts {
            Some(Expired::Retransmission)
        } else if self.recovery.loss_probes != before.recovery.loss_probes {
            Some(Expired::Probe)
        } else if self.recovery.reordering_timeouts != before.recovery.reordering_timeouts {
            Some(Expired::Reordering)
        } else if self.stats.window_probes != before.stats.window_probes {
            Some(Expired::Persist)
        } else {
            None
        }
    }
}

/// Follows the sending half of one [`Connection`]. Call `look` whenever the connection has been polled until it
/// returned nothing, and `finish` when the connection or the run is over.
///
/// Whether a sender is waiting for its retransmission timer is known only when the timer expires. The time between the
/// last segment that arrived or was sent and the expiry is then reclassified as waiting for the timer, as RFC 4898
/// requires (`tcpEStatsPerfTable`: "retroactively reclassify the previous stop").
#[derive(Clone, Debug)]
pub struct Trace {
    /// Limits not yet reported, each with the time at which it began, in order of time; never empty.
    limits: Vec<(Limit, Time)>,
    /// When a segment last arrived or was sent, or a timer last expired.
    quiet_since: Time,
    state: CongestionState,
    entered: (Time, Cause),
    counts: Counts,
    /// When the retransmission timer expires, and when it was set to that time.
    deadline: (Time, Time),
}

impl Trace {
    /// Starts the trace of a connection that is opened at `start`.
    pub fn new(start: Time) -> Self {
        Trace {
            limits: vec![(Limit::Handshake, start)],
            quiet_since: start,
            state: CongestionState::Open,
            entered: (start, Cause::Start),
            counts: Counts::default(),
            deadline: (Time::MAX, start),
        }
    }

    /// Observes the endpoint, which has sent all that it can at `now`. Reports the intervals that have ended.
    pub fn look(&mut self, cfg: &TcpConfig, now: Time, end: &Connection, mut report: impl FnMut(Traced)) {
        let counts = Counts::of(end);
        let before = std::mem::replace(&mut self.counts, counts);
        let expired = counts.expired_since(&before);
        if let Some(timer) = expired {
            let backoffs = end.backoffs();
            report(Traced::Expired { at: now, timer, set_at: self.deadline.1, backoffs, acked: end.acked() });
        }
        match expired.filter(|_| end.was_established()) {
            Some(Expired::Retransmission) => self.enter(Limit::Timeout, self.quiet_since),
            Some(Expired::Probe) => self.enter(Limit::Probe, self.quiet_since),
            Some(Expired::Reordering) => self.enter(Limit::Reordering, self.quiet_since),
            Some(Expired::Persist) | None => {}
        }
        let moved =
            |counts: &Counts| (counts.stats.segments_received, counts.stats.bytes_sent, counts.stats.retransmits);
        if expired.is_some() || moved(&before) != moved(&counts) {
            self.report_ended(now, &mut report);
            self.quiet_since = now;
        }
        self.enter(end.limit(cfg), now);
        self.follow_state(now, &before, end.congestion_state(), &mut report);
        let deadline = end.retransmission_deadline();
        if deadline != self.deadline.0 {
            self.deadline = (deadline, now);
        }
    }

    /// Reports the remaining intervals, because the connection or the run is over.
    pub fn finish(mut self, now: Time, mut report: impl FnMut(Traced)) {
        self.report_ended(Time::MAX, &mut report);
        let (by, from) = self.limits[0];
        if from < now {
            report(Traced::Limited { from, to: now, by });
        }
        let (from, entered_by) = self.entered;
        report(Traced::Was { from, to: now, state: self.state, entered_by, left_by: None });
    }

    /// Records that `limit` limits the sender from `at` on. Limits recorded for later times are discarded.
    fn enter(&mut self, limit: Limit, at: Time) {
        while self.limits.last().is_some_and(|last| last.1 >= at) {
            self.limits.pop();
        }
        if self.limits.last().is_none_or(|last| last.0 != limit) {
            self.limits.push((limit, at));
        }
    }

    /// Reports the limits that ended before `now`. No later event can reclassify them.
    fn report_ended(&mut self, now: Time, report: &mut impl FnMut(Traced)) {
        let ended = self.limits.iter().skip(1).take_while(|next| next.1 < now).count();
        for pair in self.limits[..=ended].windows(2) {
            report(Traced::Limited { from: pair[0].1, to: pair[1].1, by: pair[0].0 });
        }
        self.limits.drain(..ended);
    }

    fn follow_state(&mut self, now: Time, before: &Counts, state: CongestionState, report: &mut impl FnMut(Traced)) {
        let timed_out = self.counts.stats.timeouts != before.stats.timeouts;
        let undone = self.counts.recovery.undos != before.recovery.undos;
        if state == self.state && !timed_out && !undone {
            return;
        }
        let cause = match state {
            _ if timed_out => Cause::Timeout,
            _ if undone => Cause::Undo,
            CongestionState::Recovery if self.counts.stats.segments_received == before.stats.segments_received => {
                Cause::ReorderingTimer
            }
            // `Loss` without a timeout occurs with Tahoe, which goes back to the first segment.
            CongestionState::Recovery | CongestionState::Loss => Cause::Loss,
            CongestionState::Cwr => Cause::Ecn,
            CongestionState::Disorder if self.state == CongestionState::Open => Cause::Reports,
            CongestionState::Disorder | CongestionState::Open => Cause::Ack,
        };
        let (from, entered_by) = std::mem::replace(&mut self.entered, (now, cause));
        let state = std::mem::replace(&mut self.state, state);
        report(Traced::Was { from, to: now, state, entered_by, left_by: Some(cause) });
    }
}
