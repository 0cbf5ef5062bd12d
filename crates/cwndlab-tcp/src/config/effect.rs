//! Knobs that have no effect with the others' values: what the types of [`super`] do not rule out.

use super::{
    AckPolicy, Estimator, NagleRule, ReceiveTuning, RecoveryKind, ReductionBase, SlowStartKind, TcpConfig,
    WindowLawKind,
};
use crate::ecn::EcnKind;
use cwndlab_units::Time;

/// A knob whose value has no effect in this configuration, and what would give it one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WithoutEffect {
    /// Its name, as in the table of knobs.
    pub knob: &'static str,
    /// The values of other knobs with which it has an effect.
    pub needs: &'static str,
}

impl TcpConfig {
    /// The knobs that are on, or differ from what everything does without them, and change nothing here. Profiles have such
    /// values (`rfc5681` has `ecn_to_one_segment` for studies that switch ECN on); whether one is an error depends on
    /// who set it.
    #[must_use]
    pub fn without_effect(&self) -> Vec<WithoutEffect> {
        let packets = self.window_law == WindowLawKind::RenoPackets;
        let counts_packets = packets || self.window_law == WindowLawKind::RenoLinux2;
        let models = self.window_law.models_path();
        let ledbat = matches!(self.window_law, WindowLawKind::LedbatPlusPlus(_) | WindowLawKind::Ledbat(_));
        let cubic_linux = matches!(self.window_law, WindowLawKind::CubicLinux(_));
        let fine = self.rto.tick_ns == Time::ZERO;
        let rules = [
            (
                self.recovery.kind().is_selective() && !self.sack,
                "recovery",
                "sack = true; without SACK this recovery is new-reno",
            ),
            (
                self.recovery.validates_window() && !self.grow_only_if_cwnd_limited,
                "recovery.rack.window_validation",
                "grow_only_if_cwnd_limited = true",
            ),
            (
                self.slow_start != SlowStartKind::Standard && (counts_packets || models || ledbat),
                "slow_start",
                "a window_law in bytes: reno-packets and reno-linux2 have slow start of their own",
            ),
            (
                self.slow_start_limit_segments != 1 && (counts_packets || models),
                "slow_start_limit_segments",
                "a window_law in bytes: reno-packets and reno-linux2 count each ACK once",
            ),
            (
                self.slow_start == SlowStartKind::HystartPlusPlus && cubic_linux,
                "slow_start",
                "another window_law: cubic-linux has hystart or standard",
            ),
            (
                self.window_law.needs().delays && !self.timestamps,
                "window_law",
                "timestamps = true; without them this law measures no delay",
            ),
            (
                self.window_law == WindowLawKind::Dctcp && self.ecn == EcnKind::Off,
                "window_law",
                "ecn = dctcp or l4s; without ECN this law is reno",
            ),
            (self.nagle_rule != NagleRule::Rfc1122 && !self.nagle, "nagle_rule", "nagle = true"),
            (
                self.max_train_segments > 0 && !self.paces(),
                "max_train_segments",
                "pacing = true, or window_law = bbr1, bbr3 or prague",
            ),
            (
                matches!(self.window_law, WindowLawKind::Bbr3(bbr) if bbr.ecn) && !self.ecn.counts_marks(),
                "window_law.bbr3.ecn",
                "ecn = dctcp, l4s or accecn: it needs to know of each mark",
            ),
            (
                self.window_law == WindowLawKind::Prague && !self.ecn.is_accurate(),
                "window_law",
                "ecn = accecn-ect1; without AccECN this law is reno",
            ),
            (
                self.shaking().ecn_capable && !self.ecn.tries_syn_ack() && !self.ecn.marks_syns(),
                "handshake.ecn_capable",
                "ecn = rfc3168, rfc3168-ect1, accept, dctcp or l4s",
            ),
            (self.ecn_to_one_segment && self.ecn == EcnKind::Off, "ecn_to_one_segment", "an ecn other than off"),
            (self.ecn_holds_slow_start && self.ecn == EcnKind::Off, "ecn_holds_slow_start", "an ecn other than off"),
            (self.dsack && !self.sack, "dsack", "sack = true"),
            (
                self.packet_stamps && self.timestamps,
                "packet_stamps",
                "timestamps = false; the option has the same stamps, and ACKs echo them",
            ),
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
                    && (counts_packets || cubic_linux)
                    && !matches!(self.recovery.kind(), RecoveryKind::Prr | RecoveryKind::Rack),
                "reduce_from",
                "cwnd, or another window_law: reno-packets, reno-linux2 and cubic-linux start from cwnd",
            ),
        ];
        rules.into_iter().filter(|rule| rule.0).map(|(_, knob, needs)| WithoutEffect { knob, needs }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HandshakeConfig, Profile};

    fn idle(change: impl Fn(&mut TcpConfig)) -> Vec<&'static str> {
        let mut tcp = TcpConfig {
            ecn_to_one_segment: false,
            dsack: false,
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
        let changes: [(&str, Change); 21] = [
            ("slow_start", |tcp| {
                (tcp.window_law, tcp.slow_start) = (WindowLawKind::RenoPackets, SlowStartKind::Hystart);
            }),
            ("slow_start", |tcp| {
                (tcp.window_law, tcp.slow_start) =
                    (Profile::Linux6.config().window_law, SlowStartKind::HystartPlusPlus);
            }),
            ("slow_start_limit_segments", |tcp| {
                (tcp.window_law, tcp.slow_start_limit_segments) = (WindowLawKind::RenoPackets, 8);
            }),
            ("recovery", |tcp| tcp.recovery = RecoveryKind::Sack.standard()),
            ("recovery", |tcp| tcp.recovery = RecoveryKind::Rack.standard()),
            ("window_law", |tcp| tcp.window_law = WindowLawKind::Dctcp),
            ("ecn_to_one_segment", |tcp| tcp.ecn_to_one_segment = true),
            ("ecn_holds_slow_start", |tcp| tcp.ecn_holds_slow_start = true),
            ("dsack", |tcp| tcp.dsack = true),
            ("nagle_rule", |tcp| (tcp.nagle, tcp.nagle_rule) = (false, NagleRule::Minshall)),
            ("packet_stamps", |tcp| (tcp.packet_stamps, tcp.timestamps) = (true, true)),
            ("handshake.ecn_capable", |tcp| {
                tcp.handshake = Some(HandshakeConfig { ecn_capable: true, ..HandshakeConfig::STANDARD });
            }),
            ("recovery.rack.window_validation", |tcp| {
                (tcp.recovery, tcp.sack) = (Profile::Linux6.config().recovery, true);
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
                (tcp.window_law, tcp.reduce_from) = (Profile::Linux6.config().window_law, ReductionBase::FlightSize);
            }),
        ];
        assert!(idle(|_| {}).is_empty());
        for (knob, change) in changes {
            assert_eq!(idle(change), [knob]);
        }
    }

    #[test]
    fn what_has_an_effect_is_not_named() {
        let rack = |tcp: &mut TcpConfig| {
            (tcp.recovery, tcp.sack) = (Profile::Linux6.config().recovery, true);
            tcp.grow_only_if_cwnd_limited = true;
            (tcp.slow_start, tcp.slow_start_limit_segments) = (SlowStartKind::HystartPlusPlus, 8);
            (tcp.ecn, tcp.window_law, tcp.ecn_to_one_segment) = (EcnKind::Dctcp, WindowLawKind::Dctcp, true);
        };
        assert!(idle(rack).is_empty());
        assert!(Profile::Linux6.config().without_effect().is_empty());
    }
}
