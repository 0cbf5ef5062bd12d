//! Finds the knobs that have no effect because of the values of other knobs. The types of [`super`] rule out some of
//! these combinations; this module covers the rest.

use super::{
    AckPolicy, Estimator, NagleRule, ReceiveTuning, RecoveryKind, ReductionBase, SlowStartKind, TcpConfig, TrainKind,
    WindowLawKind,
};
use crate::ecn::EcnKind;
use cwndlab_units::Time;

/// A knob whose value has no effect in a configuration, and the values of other knobs that would give it one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WithoutEffect {
    /// The knob's name, as in the table of knobs.
    pub knob: &'static str,
    /// The values of other knobs with which it would have an effect.
    pub needs: &'static str,
}

/// Returns the knobs without effect, by rules of the form `knob if condition => needs`: if the condition holds, the
/// knob has no effect; `needs` is [`WithoutEffect::needs`].
macro_rules! rules {
    ($($knob:literal if $idle:expr => $needs:literal;)+) => {
        [$(($idle, WithoutEffect { knob: $knob, needs: $needs })),+]
            .into_iter().filter_map(|(idle, found)| idle.then_some(found)).collect()
    };
}

impl TcpConfig {
    /// The knobs that are on, or differ from their neutral value, but have no effect in this configuration. Profiles
    /// contain such values (`rfc5681` has `ecn_to_one_segment` for studies that switch ECN on); whether such a value is
    /// an error depends on whether the profile or the study set it.
    pub fn without_effect(&self) -> Vec<WithoutEffect> {
        let packets = self.window_law == WindowLawKind::RenoPackets;
        let counts_packets = packets || self.window_law == WindowLawKind::RenoLinux2;
        let models = self.window_law.models_path();
        let ledbat = matches!(self.window_law, WindowLawKind::LedbatPlusPlus(_) | WindowLawKind::Ledbat(_));
        let cubic_linux = matches!(self.window_law, WindowLawKind::CubicLinux(_));
        let fine = self.rto.tick_ns == Time::ZERO;
        rules! {
            "recovery" if self.recovery.kind().is_selective() && !self.sack
                => "sack = true; without SACK this recovery is new-reno";
            "recovery.rack.window_validation" if self.recovery.validates_window() && !self.grow_only_if_cwnd_limited
                => "grow_only_if_cwnd_limited = true";
            "slow_start" if self.slow_start != SlowStartKind::Standard && (counts_packets || models || ledbat)
                => "a window_law in bytes: reno-packets and reno-linux2 have slow start of their own";
            "slow_start_limit_segments" if self.slow_start_limit_segments != 1 && (counts_packets || models)
                => "a window_law in bytes: reno-packets and reno-linux2 count each ACK once";
            "slow_start" if self.slow_start == SlowStartKind::HystartPlusPlus && cubic_linux
                => "another window_law: cubic-linux has hystart or standard";
            "window_law" if self.window_law.needs().delays && !self.timestamps
                => "timestamps = true; without them this law measures no delay";
            "window_law" if self.window_law == WindowLawKind::Dctcp && self.ecn == EcnKind::Off
                => "ecn = dctcp or l4s; without ECN this law is reno";
            "nagle_rule" if self.nagle_rule != NagleRule::Rfc1122 && !self.nagle
                => "nagle = true";
            "max_train_segments" if self.max_train_segments > 0 && !self.paces() && self.trains == TrainKind::Paced
                => "pacing = true, trains = linux, or window_law = bbr1, bbr3 or prague";
            "window_law.bbr3.ecn" if matches!(self.window_law, WindowLawKind::Bbr3(bbr) if bbr.ecn) && !self.ecn.counts_marks()
                => "ecn = dctcp, l4s or accecn: it needs to know of each mark";
            "window_law" if matches!(self.window_law, WindowLawKind::Prague(_)) && !self.ecn.is_accurate()
                => "ecn = accecn-ect1; without AccECN this law is reno";
            "handshake.ecn_capable" if self.shaking().ecn_capable && !self.ecn.tries_syn_ack() && !self.ecn.marks_syns()
                => "ecn = rfc3168, rfc3168-ect1, accept, dctcp or l4s";
            "ecn_to_one_segment" if self.ecn_to_one_segment && self.ecn == EcnKind::Off
                => "an ecn other than off";
            "ecn_holds_slow_start" if self.ecn_holds_slow_start && self.ecn == EcnKind::Off
                => "an ecn other than off";
            "dsack" if self.dsack && !self.sack
                => "sack = true";
            "packet_stamps" if self.packet_stamps && self.timestamps
                => "timestamps = false; the option has the same stamps, and ACKs echo them";
            "rto.variance_floor" if self.rto.variance_floor_ns != Time::ZERO && !fine && self.rto.estimator == Estimator::Rfc6298
                => "rto.tick = 0: a coarse clock has a floor of its own";
            "rto.tick_phase" if self.rto.tick_phase_ns != Time::ZERO && fine && self.rto.timer_hz == 0
                => "rto.tick or rto.timer_hz other than 0";
            "each_timeout_cuts" if !self.each_timeout_cuts && packets
                => "another window_law: with reno-packets each timeout cuts";
            "receive_tuning" if self.receive_tuning != ReceiveTuning::None && matches!(self.ack_policy, AckPolicy::Adaptive { .. })
                => "an ack_policy other than adaptive: kernels that had it did not tune their buffers";
            "reduce_from" if self.reduce_from == ReductionBase::FlightSize && (counts_packets || cubic_linux) && !matches!(self.recovery.kind(), RecoveryKind::Prr | RecoveryKind::Rack)
                => "cwnd, or another window_law: reno-packets, reno-linux2 and cubic-linux start from cwnd";
        }
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
        let changes: [(&str, Change); 22] = [
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
            ("max_train_segments", |tcp| tcp.max_train_segments = 1),
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
            (tcp.trains, tcp.max_train_segments) = (TrainKind::Linux, 1);
        };
        assert!(idle(rack).is_empty());
        assert!(Profile::Linux6.config().without_effect().is_empty());
    }
}
