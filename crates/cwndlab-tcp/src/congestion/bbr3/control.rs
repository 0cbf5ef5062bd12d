//! Pacing rate, quantum and window (draft-ietf-ccwg-bbr-06, section 5.6).

use cwndlab_units::Time;

use super::sample::Sample;
use super::{bytes_in, scaled, whole, Bbr3, State, LEAST_SEGMENTS, NONE};
use crate::congestion::{Grant, Quantum};
use crate::pacing::MOST_BYTES;

/// 1 - `PacingMarginPercent`
pub(super) const MARGIN: f64 = 0.99;
/// `DefaultCwndGain`, the window gain in `ProbeBW_UP`, `ProbeRTTCwndGain`, and the pacing gain in `ProbeBW_UP` (section
/// 5.6.1)
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
const UP_GAIN: f64 = 1.25;
/// `SetSendQuantum`: a train (the segments sent at once) has the data of one millisecond at the pacing rate, at most 64
/// KB, and at least two segments.
const QUANTUM_TIME: Time = Time::from_millis(1);
const MOST_QUANTUM: u64 = 64 * 1024;
const LEAST_QUANTUM_SEGMENTS: u64 = 2;
/// Google's BBR v3 branch: `sk_pacing_shift` and `tso_rtt_shift`.
const TRAINS_PER_SECOND: u64 = 1 << 10;
const NEAR_SHIFT: u32 = 9;
/// The round trip assumed before the first measurement (`InitPacingRate`).
const NOMINAL_RTT: Time = Time::from_millis(1);

/// What follows from the model, computed again only when the model has changed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Derived {
    /// `bw`, `min_rtt` and the state from which the next three and the pacing rate were computed; `None` while the pipe
    /// has not been full, or if the pacing rate was set otherwise.
    of: Option<(u64, Time, State)>,
    /// `C.send_quantum`, and the least volume in flight that allows for trains.
    quantum: u64,
    least_budget: u64,
    /// The product of bandwidth and delay, times the window gain.
    window: u64,
    /// The `inflight_longterm` from which [`Bbr3::inflight_with_headroom`] was computed, and the result.
    pub long_term: u64,
    pub with_headroom: u64,
}

impl Bbr3 {
    pub(super) fn allowed(&self, cwnd_bytes: u64) -> Grant {
        let quantum = if self.is.linux_trains { Quantum::DEFAULT } else { Quantum::Bytes(self.derived.quantum) };
        Grant { cwnd_bytes, pacing_rate: Some(self.pacing_rate), quantum, owns_recovery: true }
    }

    /// Pacing gain by state (section 5.6.1).
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.is.startup_gain,
            State::Drain => self.is.drain_gain,
            State::Down => self.is.down_gain,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => UP_GAIN,
        }
    }

    /// Window gain by state (section 5.6.1).
    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => UP_CWND_GAIN,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }

    /// `SetPacingRate`; also computes what follows from the new model.
    pub(super) fn set_pacing_rate(&mut self, srtt: Time) {
        if !self.has_rtt && srtt > Time::ZERO {
            self.set_first_rate(srtt);
        }
        let of = Some((self.bw(), self.min_rtt.get(), self.state));
        if self.derived.of != of || !self.full.reached {
            self.set_pacing_rate_with(self.pacing_gain());
            self.derived.of = of.filter(|_| self.full.reached);
            self.derived.window = self.scaled_product(self.bw(), self.cwnd_gain());
        }
    }

    /// `SetPacingRateWithGain`: until the pipe has been full, the rate only increases.
    pub(super) fn set_pacing_rate_with(&mut self, gain: f64) {
        let rate = scaled(self.bw(), gain * MARGIN).max(1);
        self.use_rate(if self.full.reached { rate } else { rate.max(self.pacing_rate) });
    }

    /// Sets the pacing rate, and computes what follows from it and the minimum round trip.
    pub(super) fn use_rate(&mut self, rate: u64) {
        self.pacing_rate = rate;
        self.derived.of = None;
        self.derived.quantum = self.quantum();
        self.derived.least_budget = (3 * self.derived.quantum).max(LEAST_SEGMENTS * self.mss);
    }

    /// `InitPacingRate`. Google's BBR v3 branch subtracts its margin here, too.
    pub(super) fn set_first_rate(&mut self, srtt: Time) {
        self.has_rtt |= srtt > Time::ZERO;
        let rtt = if srtt > Time::ZERO { srtt } else { NOMINAL_RTT };
        let rate = (u128::from(self.cwnd) * 1_000_000_000 / u128::from(rtt.as_nanos())) as u64;
        self.use_rate(scaled(rate, self.is.startup_gain * self.is.first_rate_share).max(1));
    }

    /// `SetSendQuantum`. In Google's BBR v3 branch, trains are larger on paths with a short round trip
    /// (`bbr_tso_segs_generic`).
    fn quantum(&self) -> u64 {
        let least = LEAST_QUANTUM_SEGMENTS * self.mss;
        if self.is.linux_trains {
            let halvings = (self.min_rtt.get().as_nanos() / 1000) >> NEAR_SHIFT;
            let near = if halvings < 32 { (1 << 16) >> halvings } else { 0 };
            let bytes = (self.pacing_rate / TRAINS_PER_SECOND + near).min(MOST_BYTES);
            return (bytes / self.mss * self.mss).max(least);
        }
        bytes_in(self.pacing_rate, QUANTUM_TIME).min(MOST_QUANTUM).max(least)
    }

    /// `BDPMultiple` with a gain of 1.
    pub(super) fn product(&self, bandwidth: u64) -> u64 {
        if self.min_rtt.get().is_never() {
            return self.initial_cwnd;
        }
        self.up_to_packets(bytes_in(bandwidth, self.min_rtt.get()))
    }

    /// `BDPMultiple`
    pub(super) fn scaled_product(&self, bandwidth: u64, gain: f64) -> u64 {
        if self.min_rtt.get().is_never() {
            return self.initial_cwnd;
        }
        self.up_to_packets(scaled(bytes_in(bandwidth, self.min_rtt.get()), gain))
    }

    /// A product of bandwidth and delay, which Google's BBR v3 branch rounds up to whole packets (`bbr_bdp`).
    fn up_to_packets(&self, bytes: u64) -> u64 {
        if self.is.counts_packets {
            whole(bytes, self.mss) + self.mss // never whole before, as rates are rounded up
        } else {
            bytes
        }
    }

    /// A volume times a gain, rounded down to whole packets where the rules count those.
    pub(super) fn share(&self, volume: u64, gain: f64) -> u64 {
        whole(scaled(volume, gain), self.unit)
    }

    /// `QuantizationBudget`
    pub(super) fn with_trains(&self, bytes: u64) -> u64 {
        let budget = bytes.max(self.derived.least_budget);
        budget + if self.state == State::Up { 2 * self.mss } else { 0 }
    }

    /// `Inflight`
    pub(super) fn inflight(&self, bandwidth: u64) -> u64 {
        self.with_trains(self.product(bandwidth))
    }

    /// Google's BBR v3 branch, `bbr_packets_in_net_at_edt`: bytes that will be in the network when the pacer sends the
    /// next train.
    pub(super) fn in_network(&self, in_flight: u64, held: Time) -> u64 {
        let then = in_flight + if self.pacing_gain() > 1.0 { self.derived.quantum } else { 0 };
        then.saturating_sub(whole(bytes_in(self.bw(), held), self.unit))
    }

    /// `ProbeRTTCwnd`
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.scaled_product(self.bw(), PROBE_RTT_CWND_GAIN).max(LEAST_SEGMENTS * self.mss)
    }

    /// `SetCwnd`
    pub(super) fn set_cwnd(&mut self, sample: &Sample) {
        let most = self.with_trains(self.derived.window + self.aggregation.allowance(self.bw()));
        let unsure = if self.is.grows_to_twice_initial {
            self.cwnd < 2 * self.initial_cwnd
        } else {
            self.delivered < self.initial_cwnd
        };
        if self.full.reached {
            self.cwnd = (self.cwnd + sample.acked).min(most);
        } else if self.cwnd < most || unsure {
            self.cwnd += sample.acked;
        }
        self.cwnd = self.cwnd.max(LEAST_SEGMENTS * self.mss);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd();
    }

    /// `BoundCwndForModel`
    fn bound_cwnd(&mut self) {
        let long_term = match self.state {
            State::Startup | State::Drain => NONE,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Down | State::Refill | State::Up => self.inflight_longterm,
        };
        let most = long_term.min(self.inflight_shortterm).max(LEAST_SEGMENTS * self.mss);
        self.cwnd = self.cwnd.min(most);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bbr3, MinRtt};
    use super::Time;
    use crate::config::{Bbr3Config, Bbr3Rules};
    use crate::Profile;

    /// `bbr_tso_segs_generic`: 64 KiB are halved for each 512 us of the round trip, and whole segments fit.
    #[test]
    fn by_the_branch_trains_are_larger_on_short_paths() {
        let branch = Bbr3Config { rules: Bbr3Rules::GoogleV3, ecn: false };
        let mut law = Bbr3::new(&Profile::Linux6.config(), branch);
        law.mss = 1500;
        for (rtt_us, rate, bytes) in [
            (1, 1_024_000, 64_500),
            (511, 1_024_000, 64_500),
            (512, 1_024_000, 33_000),
            (2048, 1_024_000, 4500),
            (2048, 1_946_000, 4500),
            (2048, 1_950_000, 6000),
            (40_000, 1_024_000, 3000),
            (40_000, 10_240_000, 9000),
            (40_000, 102_400_000, 64_500),
        ] {
            law.min_rtt = MinRtt::new(Time::ZERO, Time::from_micros(rtt_us));
            law.use_rate(rate);
            assert_eq!(law.derived.quantum, bytes, "{rtt_us} us, {rate} B/s");
            assert_eq!(law.derived.least_budget, 3 * bytes);
        }
    }
}
