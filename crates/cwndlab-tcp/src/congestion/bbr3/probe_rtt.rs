//! The minimum round trip, and `ProbeRTT` (draft-ietf-ccwg-bbr-06, section 5.3.4).

use cwndlab_units::Time;

use super::probe_bw::AckPhase;
use super::sample::Sample;
use super::{Bbr3, State};

/// `MinRTTFilterLen`, `ProbeRTTInterval` and `ProbeRTTDuration`
const FILTER: Time = Time::from_secs(10);
const INTERVAL: Time = Time::from_secs(5);
const DURATION: Time = Time::from_millis(200);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    /// `min_rtt` ([`Time::MAX`] before the first sample) and `min_rtt_stamp`
    least: Time,
    at: Time,
    /// `probe_rtt_min_delay` and `probe_rtt_min_stamp`
    recent: Time,
    recent_at: Time,
    /// `probe_rtt_expired`
    expired: bool,
    /// `probe_rtt_done_stamp` and `probe_rtt_round_done`
    pub done_at: Option<Time>,
    round_done: bool,
}

impl MinRtt {
    /// The state at the time `at`. `least` is the minimum round trip; [`Time::MAX`] if none has been measured.
    pub fn new(at: Time, least: Time) -> Self {
        MinRtt { least, at, recent: least, recent_at: at, ..MinRtt::default() }
    }

    pub fn get(&self) -> Time {
        self.least
    }

    /// `UpdateMinRTT`
    fn update(&mut self, now: Time, rtt: Option<Time>) {
        self.expired = now > self.recent_at + INTERVAL;
        if let Some(rtt) = rtt.filter(|&rtt| rtt < self.recent || self.expired) {
            (self.recent, self.recent_at) = (rtt, now);
        }
        if self.recent < self.least || now > self.at + FILTER {
            (self.least, self.at) = (self.recent, self.recent_at);
        }
    }
}

impl Bbr3 {
    /// `UpdateMinRTT` and `CheckProbeRTT`
    pub(super) fn update_min_rtt(&mut self, sample: &Sample) {
        self.min_rtt.update(sample.now, sample.rtt);
        if self.state != State::ProbeRtt && self.min_rtt.expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.min_rtt.done_at = None;
            self.probe.phase = AckPhase::Stopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.stay_in_probe_rtt(sample);
        }
        if sample.acked > 0 {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT`
    fn stay_in_probe_rtt(&mut self, sample: &Sample) {
        if self.min_rtt.done_at.is_none() {
            if sample.in_flight <= self.probe_rtt_cwnd() {
                self.min_rtt.done_at = Some(sample.now + DURATION);
                self.min_rtt.round_done = false;
                self.start_round();
            }
            return;
        }
        self.min_rtt.round_done |= self.rounds.started;
        if self.min_rtt.round_done {
            self.end_probe_rtt(sample.now);
        }
    }

    /// `CheckProbeRTTDone` and `ExitProbeRTT`
    pub(super) fn end_probe_rtt(&mut self, now: Time) {
        if self.min_rtt.done_at.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.recent_at = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.reset_short_term();
        if self.full.reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }
}
