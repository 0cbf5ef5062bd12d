//! The cycle of `ProbeBW`: DOWN, CRUISE, REFILL, UP (draft-ietf-ccwg-bbr-06, section 5.3.3).

use cwndlab_units::Time;
use rand::Rng as _;

use super::sample::Sample;
use super::{whole, Bbr3, Repair, State, LEAST_SEGMENTS, NONE};

/// The wait before the next probe is 2 to 3 s, or as many rounds as the target volume has segments, but at most 62 or
/// 63 rounds, whichever ends first (`PickProbeWait`, section 5.3.3.8.3).
const WAIT: Time = Time::from_secs(2);
const RANDOM_WAIT_NS: u64 = 1_000_000_000;
const MOST_ROUNDS: u64 = 63;
/// Upper bound of `bw_probe_up_rounds`.
const MOST_UP_ROUNDS: u32 = 30;

/// `BBR.ack_phase`: the phase of the probe to which the current ACKs belong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// State of the probe for bandwidth (section 2.14).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    pub phase: AckPhase,
    /// `is_bw_probe_sample`
    pub samples: bool,
    /// `bw_probe_up_acked`, `probe_up_acked_per_inc` (0 = infinite) and `bw_probe_up_rounds`
    pub up_acked: u64,
    pub acked_per_segment: u64,
    pub up_rounds: u32,
    /// `rounds_since_probe_up`
    pub rounds: u32,
    /// `bw_probe_wait` and `cycle_stamp`
    pub wait: Time,
    pub began: Time,
    /// `prev_probe_too_high` and `prev_probe_precautionary`
    pub too_high: bool,
    pub precautionary: bool,
}

impl Bbr3 {
    /// `StartRound`
    pub(super) fn start_round(&mut self) {
        self.rounds.ends_at = self.delivered_packets;
    }

    /// `StartProbeBW_DOWN`
    pub(super) fn start_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.probe.acked_per_segment = 0;
        let random = self
            .random
            .as_mut()
            .map_or((0, 0), |random| (random.random_range(0..=1), random.random_range(0..RANDOM_WAIT_NS)));
        (self.probe.rounds, self.probe.wait) = (random.0, WAIT + Time::from_nanos(random.1));
        self.probe.began = now;
        self.probe.phase = AckPhase::Stopping;
        self.start_round();
        self.state = State::Down;
    }

    /// `StartProbeBW_CRUISE`. Google's BBR v3 branch also reduces `inflight_shortterm` to at most `inflight_longterm`.
    pub(super) fn start_cruise(&mut self) {
        if self.is.cruise_bounds_short_term && self.inflight_shortterm != NONE {
            self.inflight_shortterm = self.inflight_shortterm.min(self.inflight_longterm);
        }
        self.state = State::Cruise;
    }

    /// `StartProbeBW_REFILL`. The growth of the probe that follows starts as fast as after `up_rounds` rounds of UP.
    pub(super) fn start_refill(&mut self, up_rounds: u32) {
        self.reset_short_term();
        (self.probe.up_rounds, self.probe.up_acked) = (up_rounds, 0);
        self.probe.precautionary = false;
        self.probe.phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`
    fn start_up(&mut self, sample: &Sample) {
        self.probe.phase = AckPhase::Starting;
        self.start_round();
        self.full.reset(sample.rate);
        if self.is.up_restarts_clock {
            self.probe.began = sample.now;
        }
        self.state = State::Up;
        self.raise_slope();
    }

    /// `UpdateProbeBWCyclePhase`. Uses the volume in flight before the ACK, as Google's BBR v3 branch does, because the
    /// volume after the ACK would never fill the window.
    pub(super) fn update_cycle(&mut self, sample: &Sample) {
        if !self.full.reached || self.adapt_long_term(sample) || !self.state.is_probe_bw() {
            return;
        }
        let in_flight = if self.is.excludes_arrivals {
            self.in_network(sample.prior_in_flight, sample.held)
        } else {
            sample.prior_in_flight
        };
        match self.state {
            State::Down | State::Cruise => {
                let probes = self.probe_if_due(sample);
                if !probes && self.state == State::Down && self.may_cruise(in_flight) {
                    self.start_cruise();
                }
            }
            State::Refill if self.rounds.started => {
                self.probe.samples = true;
                self.start_up(sample);
            }
            State::Up => {
                let done = self.goes_down(in_flight, sample);
                if done {
                    self.probe.too_high = false;
                    self.start_down(sample.now);
                }
            }
            _ => {}
        }
    }

    /// `IsTimeToCruise`
    fn may_cruise(&mut self, in_flight: u64) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bw())
    }

    /// `IsTimeToProbeBW`. With the knob `ecn`, probes as soon as marks cease, as Google's BBR v3 branch does. Returns
    /// whether a probe begins.
    fn probe_if_due(&mut self, sample: &Sample) -> bool {
        let without_loss = !self.latest.loss_in_cycle && sample.repair == Repair::None;
        if without_loss && self.ecn.is_some_and(|ecn| ecn.reprobes()) {
            let half = (self.inflight_longterm / self.mss / 2).max(1);
            self.start_refill(half.ilog2().min(MOST_UP_ROUNDS));
            return true;
        }
        // IsRenoCoexistenceProbeTime
        let rounds = (self.target_inflight() / self.mss).min(MOST_ROUNDS);
        let due = sample.now > self.probe.began + self.probe.wait || u64::from(self.probe.rounds) >= rounds;
        if due {
            self.start_refill(0);
        }
        due
    }

    /// `IsTimeToGoDown`
    fn goes_down(&mut self, in_flight: u64, sample: &Sample) -> bool {
        if self.probe.too_high && in_flight >= self.inflight_longterm {
            self.probe.precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.full.reset(sample.rate);
            return false;
        }
        self.full.now
    }

    /// `TargetInflight`
    pub(super) fn target_inflight(&self) -> u64 {
        let product = self.product(self.bw());
        let target = if self.is.target_includes_trains { self.with_trains(product) } else { product };
        target.min(self.cwnd)
    }

    /// `InflightWithHeadroom`
    pub(super) fn inflight_with_headroom(&mut self) -> u64 {
        let long_term = self.inflight_longterm;
        if long_term == NONE {
            return NONE;
        }
        if self.derived.long_term != long_term {
            let headroom = self.share(long_term, self.is.headroom).max(self.mss);
            self.derived.long_term = long_term;
            self.derived.with_headroom = long_term.saturating_sub(headroom).max(LEAST_SEGMENTS * self.mss);
        }
        self.derived.with_headroom
    }

    /// `RaiseInflightLongtermSlope`
    fn raise_slope(&mut self) {
        let growth = 1_u64 << self.probe.up_rounds;
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(MOST_UP_ROUNDS);
        self.probe.acked_per_segment = whole(self.cwnd / growth, self.unit).max(self.mss);
    }

    /// `ProbeInflightLongtermUpward`
    fn raise_long_term(&mut self, sample: &Sample) {
        if !self.is_cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.probe.up_acked += sample.acked;
        if let Some(segments) = self.probe.up_acked.checked_div(self.probe.acked_per_segment) {
            self.probe.up_acked -= segments * self.probe.acked_per_segment;
            self.inflight_longterm += segments * self.mss;
        }
        if self.rounds.started {
            self.raise_slope();
        }
    }

    /// `AdaptLongTermModel`. Returns whether the state has changed to REFILL.
    fn adapt_long_term(&mut self, sample: &Sample) -> bool {
        if self.probe.phase == AckPhase::Starting && self.rounds.started {
            self.probe.phase = AckPhase::Feedback;
        }
        if self.probe.phase == AckPhase::Stopping && self.rounds.started {
            self.probe.samples = false;
            self.probe.phase = AckPhase::Init;
            if self.state.is_probe_bw() && !sample.app_limited && self.max_bw[0] > 0 {
                self.max_bw = [0, self.max_bw[0]]; // AdvanceMaxBwFilter
            }
            if self.state.is_probe_bw() && self.probe.precautionary && !self.probe.too_high {
                self.start_refill(0);
                return true;
            }
        }
        if self.is_inflight_too_high(sample) {
            // The draft reacts to losses when a segment is deemed lost (`handle_lost`), so here it reacts only to marks
            // (`lost` is then 0). Google's BBR v3 branch also reacts to the losses that an ACK reports.
            if self.probe.samples && (self.is.acks_end_probe || sample.lost == 0) {
                self.handle_inflight_too_high(sample);
            }
        } else if self.inflight_longterm != NONE {
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
            if self.state == State::Up {
                self.raise_long_term(sample);
            }
        }
        false
    }
}
