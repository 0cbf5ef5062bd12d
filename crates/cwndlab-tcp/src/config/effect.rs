//! Knobs that are set and do nothing beside the others.

use super::{
    AckPolicy, Estimator, ReceiveTuning, RecoveryKind, ReductionBase, SlowStartKind, TcpConfig, WindowLawKind,
};
use crate::ecn::EcnKind;
use cwndlab_units::Time;

/// A knob whose value has no effect in this configuration, and what would give it one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WithoutEffect {
    /// Its name, as in the table of knobs.
    pub knob: &'static str,
    /// The values beside which it has an effect.
    pub needs: &'static str,
}

impl TcpConfig {
    /// The knobs that are on, or differ from what everything does without them, and change nothing here. Profiles have such
    /// values (`linux-6` has `f_rto` for its RACK, whatever a study puts in its place); whether one is an error depends on
    /// who set it.
    #[must_use]
    pub fn without_effect(&self) -> Vec<WithoutEffect> {
        let rack = self.recovery == RecoveryKind::Rack;
        let packets = self.window_law == WindowLawKind::RenoPackets;
        let counts_packets = packets || self.window_law == WindowLawKind::RenoLinux2;
        let selective =
            matches!(self.recovery, RecoveryKind::Sack | RecoveryKind::Fack | RecoveryKind::Prr | RecoveryKind::Rack);
        let new_reno = self.recovery == RecoveryKind::NewReno || selective; // without SACK they become it
        let cubic = matches!(self.window_law, WindowLawKind::Cubic | WindowLawKind::CubicLinux);
        let fine = self.rto.tick_ns == Time::ZERO;
        let rules = [
            (selective && !self.sack, "recovery", "sack = true; without SACK this recovery is new-reno"),
            (self.f_rto && !rack, "f_rto", "recovery = rack"),
            (self.rto.from_first && !rack, "rto.from_first", "recovery = rack"),
            (
                self.window_validation && !(rack && self.grow_only_if_cwnd_limited),
                "window_validation",
                "recovery = rack and grow_only_if_cwnd_limited = true",
            ),
            (
                self.slow_start != SlowStartKind::Standard && counts_packets,
                "slow_start",
                "a window_law in bytes: reno-packets and reno-linux2 have slow start of their own",
            ),
            (
                self.slow_start_limit_segments != 1 && counts_packets,
                "slow_start_limit_segments",
                "a window_law in bytes: reno-packets and reno-linux2 count each ACK once",
            ),
            (
                self.slow_start == SlowStartKind::HystartPlusPlus && self.window_law == WindowLawKind::CubicLinux,
                "slow_start",
                "another window_law: cubic-linux has hystart or standard",
            ),
            (self.cubic_fast_convergence && !cubic, "cubic_fast_convergence", "window_law = cubic or cubic-linux"),
            (
                self.window_law == WindowLawKind::Dctcp && self.ecn == EcnKind::Off,
                "window_law",
                "ecn = dctcp or l4s; without ECN this law is reno",
            ),
            (self.ecn_to_one_segment && self.ecn == EcnKind::Off, "ecn_to_one_segment", "an ecn other than off"),
            (!self.partial_window_deflation && !new_reno, "partial_window_deflation", "recovery = new-reno"),
            (!self.new_reno_impatient && !new_reno, "new_reno_impatient", "recovery = new-reno"),
            (
                self.rto.variance_floor_ns != Time::ZERO && !fine && self.rto.estimator == Estimator::Rfc6298,
                "rto.variance_floor",
                "rto.tick = 0: a coarse clock has a floor of its own",
            ),
            (
                self.rto.tick_phase_ns != Time::ZERO && fine && self.rto.timer_hz == 0,
                "rto.tick_phase",
                "rto.tick or rto.timer_hz other than 0",
            ),
            (
                !self.each_timeout_cuts && packets,
                "each_timeout_cuts",
                "another window_law: with reno-packets each timeout cuts",
            ),
            (
                self.receive_tuning != ReceiveTuning::None && matches!(self.ack_policy, AckPolicy::Adaptive { .. }),
                "receive_tuning",
                "an ack_policy other than adaptive: kernels that had it did not tune their buffers",
            ),
            (
                self.reduce_from == ReductionBase::FlightSize
                    && (counts_packets || self.window_law == WindowLawKind::CubicLinux)
                    && !matches!(self.recovery, RecoveryKind::Prr | RecoveryKind::Rack),
                "reduce_from",
                "cwnd, or another window_law: reno-packets, reno-linux2 and cubic-linux start from cwnd",
            ),
            (self.fin_alone && !self.fin, "fin_alone", "fin = true"),
            (self.time_wait_ns != Time::ZERO && !self.fin, "time_wait", "fin = true"),
        ];
        let no_syn = [
            (self.handshake_ack_opens_window, "handshake_ack_opens_window"),
            (self.syn_timeout_cuts, "syn_timeout_cuts"),
            (self.rto.syn_linear > 0, "rto.syn_linear"),
            (self.rto.free_syns > 0, "rto.free_syns"),
            (self.rto.times_handshake, "rto.times_handshake"),
        ]
        .map(|(on, knob)| (on && !self.handshake, knob, "handshake = true"));
        rules
            .iter()
            .chain(&no_syn)
            .filter(|rule| rule.0)
            .map(|&(_, knob, needs)| WithoutEffect { knob, needs })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    fn idle(change: impl Fn(&mut TcpConfig)) -> Vec<&'static str> {
        let mut tcp = TcpConfig {
            ecn_to_one_segment: false,
            cubic_fast_convergence: false,
            each_timeout_cuts: true,
            reduce_from: ReductionBase::Cwnd,
            ..Profile::Rfc5681.config()
        };
        change(&mut tcp);
        tcp.without_effect().iter().map(|found| found.knob).collect()
    }

    #[test]
    fn every_combination_without_effect_is_named() {
        type Change = fn(&mut TcpConfig);
        let changes: [(&str, Change); 27] = [
            ("f_rto", |tcp| tcp.f_rto = true),
            ("rto.from_first", |tcp| tcp.rto.from_first = true),
            ("window_validation", |tcp| tcp.window_validation = true),
            ("slow_start", |tcp| {
                (tcp.window_law, tcp.slow_start) = (WindowLawKind::RenoPackets, SlowStartKind::Hystart);
            }),
            ("slow_start", |tcp| {
                (tcp.window_law, tcp.slow_start) = (WindowLawKind::CubicLinux, SlowStartKind::HystartPlusPlus);
            }),
            ("slow_start_limit_segments", |tcp| {
                (tcp.window_law, tcp.slow_start_limit_segments) = (WindowLawKind::RenoPackets, 8);
            }),
            ("recovery", |tcp| tcp.recovery = RecoveryKind::Sack),
            ("recovery", |tcp| tcp.recovery = RecoveryKind::Rack),
            ("cubic_fast_convergence", |tcp| tcp.cubic_fast_convergence = true),
            ("window_law", |tcp| tcp.window_law = WindowLawKind::Dctcp),
            ("ecn_to_one_segment", |tcp| tcp.ecn_to_one_segment = true),
            ("partial_window_deflation", |tcp| {
                (tcp.recovery, tcp.partial_window_deflation) = (RecoveryKind::Reno, false);
            }),
            ("rto.variance_floor", |tcp| {
                (tcp.rto.tick_ns, tcp.rto.variance_floor_ns) = (Time::from_millis(100), Time::from_millis(1));
            }),
            ("rto.tick_phase", |tcp| tcp.rto.tick_phase_ns = Time::from_millis(1)),
            ("slow_start", |tcp| {
                (tcp.window_law, tcp.slow_start) = (WindowLawKind::RenoLinux2, SlowStartKind::HystartPlusPlus);
            }),
            ("slow_start_limit_segments", |tcp| {
                (tcp.window_law, tcp.slow_start_limit_segments) = (WindowLawKind::RenoLinux2, 0);
            }),
            ("each_timeout_cuts", |tcp| {
                (tcp.window_law, tcp.each_timeout_cuts) = (WindowLawKind::RenoPackets, false);
            }),
            ("receive_tuning", |tcp| {
                tcp.ack_policy = Profile::Linux2_0.config().ack_policy;
                tcp.receive_tuning = Profile::Linux6.config().receive_tuning;
            }),
            ("reduce_from", |tcp| {
                (tcp.window_law, tcp.reduce_from) = (WindowLawKind::RenoPackets, ReductionBase::FlightSize);
            }),
            ("reduce_from", |tcp| {
                (tcp.window_law, tcp.reduce_from) = (WindowLawKind::CubicLinux, ReductionBase::FlightSize);
            }),
            ("fin_alone", |tcp| (tcp.fin, tcp.fin_alone, tcp.time_wait_ns) = (false, true, Time::ZERO)),
            ("time_wait", |tcp| (tcp.fin, tcp.time_wait_ns) = (false, Time::from_secs(1))),
            ("handshake_ack_opens_window", |tcp| (tcp.handshake, tcp.handshake_ack_opens_window) = (false, true)),
            ("syn_timeout_cuts", |tcp| (tcp.handshake, tcp.syn_timeout_cuts) = (false, true)),
            ("rto.syn_linear", |tcp| (tcp.handshake, tcp.rto.syn_linear) = (false, 1)),
            ("rto.free_syns", |tcp| (tcp.handshake, tcp.rto.free_syns) = (false, 1)),
            ("rto.times_handshake", |tcp| (tcp.handshake, tcp.rto.times_handshake) = (false, true)),
        ];
        assert!(idle(|_| {}).is_empty());
        for (knob, change) in changes {
            // what the profile's handshake has
            let quiet = |tcp: &mut TcpConfig| {
                tcp.rto.times_handshake = false;
                change(tcp);
            };
            assert_eq!(idle(quiet), [knob]);
        }
    }

    #[test]
    fn what_has_an_effect_is_not_named() {
        let rack = |tcp: &mut TcpConfig| {
            (tcp.recovery, tcp.sack, tcp.f_rto, tcp.rto.from_first) = (RecoveryKind::Rack, true, true, true);
            (tcp.window_validation, tcp.grow_only_if_cwnd_limited) = (true, true);
            (tcp.slow_start, tcp.slow_start_limit_segments) = (SlowStartKind::HystartPlusPlus, 8);
            (tcp.ecn, tcp.window_law, tcp.ecn_to_one_segment) = (EcnKind::Dctcp, WindowLawKind::Dctcp, true);
        };
        assert!(idle(rack).is_empty());
        assert!(Profile::Linux6.config().without_effect().is_empty());
    }
}
