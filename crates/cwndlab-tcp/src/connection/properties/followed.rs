//! Checks the trace of a sender: its intervals cover the sender's life without gaps, and the limit that it reports is
//! the one that keeps the sender from sending.

use std::fmt::Write as _;

use super::Connection;
use crate::*;
use cwndlab_units::Time;

/// A window or buffer that is never a limit here.
const PLENTY: u64 = 1 << 40;

pub(super) struct Followed {
    trace: Trace,
    reported: Reported,
}

/// The time up to which intervals of each kind have been reported.
#[derive(Default)]
struct Reported {
    limited: Time,
    was: Time,
    last_limit: Option<Limit>,
    /// All reports as text.
    text: String,
}

impl Reported {
    fn take(&mut self, traced: Traced) {
        writeln!(self.text, "{traced:?}").expect("memory");
        match traced {
            Traced::Limited { from, to, by } => {
                assert_eq!(from, self.limited, "a gap or an overlap before {traced:?}");
                assert!(from < to, "empty: {traced:?}");
                assert_ne!(self.last_limit.replace(by), Some(by), "not merged: {traced:?}");
                self.limited = to;
            }
            Traced::Was { from, to, left_by, .. } => {
                assert_eq!(from, self.was, "a gap or an overlap before {traced:?}");
                assert!(from <= to && left_by != Some(Cause::Start), "{traced:?}");
                self.was = to;
            }
            Traced::Expired { at, set_at, .. } => assert!(set_at <= at, "{traced:?}"),
        }
    }
}

impl Followed {
    pub fn new() -> Followed {
        Followed { trace: Trace::new(Time::ZERO), reported: Reported::default() }
    }

    /// Traces and checks an end that has been polled until it returned nothing.
    pub fn look(&mut self, cfg: &TcpConfig, now: Time, end: &Connection) {
        self.trace.look(cfg, now, end, |traced| self.reported.take(traced));
        check_limit(cfg, now, end);
    }

    /// Returns what was reported.
    pub fn finish(mut self, now: Time) -> String {
        self.trace.finish(now, |traced| self.reported.take(traced));
        assert_eq!(
            (self.reported.limited, self.reported.was),
            (now, now),
            "the intervals do not add up to the connection's life"
        );
        self.reported.text
    }
}

/// Checks that, without the reported limit, the sender sends or reports another limit.
fn check_limit(cfg: &TcpConfig, now: Time, end: &Connection) {
    let limit = end.limit(cfg);
    let (mut free, mut cfg, mut now) = (end.clone(), *cfg, now);
    let s = &mut free.sender;
    match limit {
        Limit::Handshake => return assert!(!end.state.may_send(), "{end:?}"),
        Limit::Closed => return assert!(s.snd.una == s.limit() || !end.state.may_send(), "{end:?}"),
        Limit::Timeout | Limit::Probe | Limit::Reordering => panic!("an endpoint does not know {limit:?}"),
        // The test cannot bring about the condition for which the algorithm waits.
        Limit::Recovery => {
            let waits = cfg.drains_after_timeout || end.recovery.room(&s.read(&cfg)).is_none();
            return assert!(end.in_recovery() || waits, "{end:?}");
        }
        Limit::Idle | Limit::Application if end.closing => {
            return assert!(s.snd.nxt == s.limit() || !end.ends_by_fin, "{limit:?} with a FIN to send: {end:?}")
        }
        Limit::SendBuffer => {
            let waits = s.snd.nxt == s.snd.end || s.trains().is_some_and(|trains| trains.deferred().is_some());
            return assert!(s.is_blocked() && waits, "{end:?}");
        }
        // `tcp_tso_should_defer` waits until what is written fills the window.
        Limit::Idle | Limit::Application => free.write(PLENTY),
        Limit::ReceiveWindow => s.snd.edge += PLENTY,
        Limit::Cwnd => {
            let shrinks = end.recovery.shown().is_reduced;
            if s.cc.owns_recovery() || shrinks {
                return; // setting cwnd does not open the window
            }
            s.cc.change(&cfg, Time::ZERO, crate::congestion::WindowChange::Inflate(1 << 28), s.snd.mss);
        }
        Limit::MaxWindow => cfg.max_window = MaxWindow::Bytes(PLENTY),
        Limit::SmallSegment => cfg.nagle = false,
        Limit::Pacing => now = end.timers.at(crate::timers::Timer::Pacer),
    }
    assert!(!now.is_never(), "{limit:?}, but no pacer: {end:?}");
    // By the full path: a short path may rely on what a window that was opened like this does not have.
    let sends = free.poll_any(&cfg, now).is_some_and(|segment| segment.len > 0 || segment.flags.has(Flags::FIN));
    assert!(
        sends || free.limit(&cfg) != limit,
        "not {limit:?}: without it, {:?} {:?} and {:?} of {}\n{free:?}\n{end:?}",
        free.limit(&cfg),
        free.recovery.room(&free.sender.read(&cfg)),
        free.recovery,
        free.sender.snd.flight()
    );
}
