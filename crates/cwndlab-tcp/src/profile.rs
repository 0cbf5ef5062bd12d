//! Profiles: each gives every knob the value of an era.

use crate::config::{
    AckPolicy, CubicConfig, Estimator, FinConfig, HandshakeConfig, InitialWindow, MaxWindow, NagleRule, NewRenoConfig,
    Profile, PrrConfig, RackConfig, RackTimers, ReceiveTuning, RecoveryConfig, RecoveryKind, RecoveryRules,
    ReductionBase, RenoConfig, RtoConfig, RttSamples, SelectiveConfig, SlowStartKind, TcpConfig, TimerStart,
    WindowLawKind,
};
use crate::ecn::EcnKind;
use cwndlab_units::Time;

mod json;
mod knobs;
mod linux_2;

pub use json::{choices_json, knobs_json};
pub use knobs::{Knob, KNOBS, RENAMED};

impl Profile {
    /// Every profile, in the order of their eras.
    pub const ALL: [Profile; 5] =
        [Profile::Ns2_1998, Profile::Rfc5681, Profile::Linux2_0, Profile::Linux2_2, Profile::Linux6];

    /// The profile's name in study files.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Ns2_1998 => "ns2-1998",
            Profile::Rfc5681 => "rfc5681",
            Profile::Linux2_0 => "linux-2.0",
            Profile::Linux2_2 => "linux-2.2",
            Profile::Linux6 => "linux-6",
        }
    }

    /// The profile of that name.
    pub fn from_name(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|p| p.name() == name)
    }

    /// The knobs of every alternative.
    pub(crate) const fn era(self) -> Era {
        match self {
            Profile::Ns2_1998 => NS2_1998_ERA,
            Profile::Rfc5681 => RFC5681_ERA,
            Profile::Linux2_0 => linux_2::LINUX_2_0_ERA,
            Profile::Linux2_2 => linux_2::LINUX_2_2_ERA,
            Profile::Linux6 => LINUX_6_ERA,
        }
    }

    /// The profile's value of every knob.
    pub const fn config(self) -> TcpConfig {
        match self {
            Profile::Ns2_1998 => NS2_1998,
            Profile::Rfc5681 => RFC5681,
            Profile::Linux2_0 => linux_2::LINUX_2_0,
            Profile::Linux2_2 => linux_2::LINUX_2_2,
            Profile::Linux6 => LINUX_6,
        }
    }
}

/// A profile's knobs of the alternatives, also of those that it does not use itself: what a study gets that asks for one of
/// them by its word alone.
pub(crate) struct Era {
    pub reno: RenoConfig,
    pub new_reno: NewRenoConfig,
    /// Whose rules SACK and FACK follow.
    pub selective: RecoveryRules,
    pub rack: RackConfig,
    pub cubic: CubicConfig,
    pub handshake: HandshakeConfig,
    pub fin: FinConfig,
}

impl Era {
    /// A recovery with the era's knobs.
    pub const fn recovery(&self, kind: RecoveryKind) -> RecoveryConfig {
        let without_sack = self.new_reno;
        let selective = SelectiveConfig { rules: self.selective, without_sack };
        match kind {
            RecoveryKind::Tahoe => RecoveryConfig::Tahoe,
            RecoveryKind::Reno => RecoveryConfig::Reno(self.reno),
            RecoveryKind::NewReno => RecoveryConfig::NewReno(self.new_reno),
            RecoveryKind::Sack => RecoveryConfig::Sack(selective),
            RecoveryKind::Fack => RecoveryConfig::Fack(selective),
            RecoveryKind::Prr => RecoveryConfig::Prr(PrrConfig { without_sack }),
            RecoveryKind::Rack => RecoveryConfig::Rack(RackConfig { without_sack, ..self.rack }),
        }
    }
}

const RFC5681_ERA: Era = Era {
    reno: RenoConfig::STANDARD,
    new_reno: NewRenoConfig::STANDARD,
    selective: RecoveryRules::Standard,
    rack: RackConfig::STANDARD,
    cubic: CubicConfig { fast_convergence: true },
    handshake: HandshakeConfig::STANDARD,
    fin: FinConfig { alone: false, time_wait_ns: Time::from_secs(240) },
};

const NS2_1998_ERA: Era = Era {
    reno: RenoConfig { rules: RecoveryRules::Ns2_1998, ..RenoConfig::STANDARD },
    new_reno: NewRenoConfig {
        rules: RecoveryRules::Ns2_1998,
        impatient: false,
        partial_window_deflation: false,
        extra_segments: 0,
    },
    selective: RecoveryRules::Ns2_1998,
    fin: FinConfig { alone: false, time_wait_ns: Time::ZERO },
    ..RFC5681_ERA
};

const LINUX_6_ERA: Era = Era {
    rack: RackConfig { timers: RackTimers::Linux, f_rto: true, window_validation: true, ..RackConfig::STANDARD },
    handshake: HandshakeConfig { linear_timeouts: 4, free_retransmissions: 1, ..HandshakeConfig::STANDARD },
    fin: FinConfig { alone: false, time_wait_ns: Time::from_secs(60) },
    ..RFC5681_ERA
};

const NS2_1998: TcpConfig = TcpConfig {
    mss: 1000,
    header_bytes: 0,
    ack_bytes: 40,
    handshake: None,
    fin: None,
    sack: false,
    sack_blocks: 3,
    dsack: false,
    timestamps: false,
    packet_stamps: true,
    window_scale: false,
    recovery: RecoveryConfig::Tahoe,
    ecn: EcnKind::Off,
    ecn_to_one_segment: true,
    ecn_holds_slow_start: true,
    dup_thresh: 3,
    drains_after_timeout: false,
    limited_transmit: false,
    window_law: WindowLawKind::RenoPackets,
    slow_start: SlowStartKind::Standard,
    slow_start_limit_segments: 1,
    grow_only_if_cwnd_limited: false,
    reduce_from: ReductionBase::CwndWholeSegments,
    timeout_ssthresh_segments: 2,
    each_timeout_cuts: false,
    initial_window: InitialWindow::Segments(1),
    loss_window_segments: 1,
    restart_after_idle: false,
    initial_ssthresh_segments: 0,
    max_window: MaxWindow::Segments(20),
    receive_buffer_bytes: 1 << 30,
    receive_tuning: ReceiveTuning::None,
    ack_policy: AckPolicy::Every,
    acks_before_answers: false,
    nagle: false,
    nagle_rule: NagleRule::Rfc1122,
    pacing: false,
    max_train_segments: 0,
    rto: RtoConfig {
        estimator: Estimator::Rfc6298,
        tick_ns: Time::from_millis(100),
        tick_phase_ns: Time::ZERO,
        initial_ns: Time::from_secs(6),
        min_ns: Time::ZERO,
        max_ns: Time::from_secs(64),
        variance_floor_ns: Time::ZERO,
        samples: RttSamples::RoundTrip,
        start: TimerStart::LastAck,
        timer_hz: 0,
    },
};

const RFC5681: TcpConfig = TcpConfig {
    mss: 1460,
    header_bytes: 40,
    ack_bytes: 40,
    handshake: Some(RFC5681_ERA.handshake),
    fin: Some(RFC5681_ERA.fin),
    sack: false,
    sack_blocks: 4,
    dsack: true,
    timestamps: false,
    packet_stamps: false,
    window_scale: true,
    recovery: RFC5681_ERA.recovery(RecoveryKind::NewReno),
    ecn: EcnKind::Off,
    ecn_to_one_segment: true,
    ecn_holds_slow_start: false,
    dup_thresh: 3,
    drains_after_timeout: false,
    limited_transmit: true,
    window_law: WindowLawKind::Reno,
    slow_start: SlowStartKind::Standard,
    slow_start_limit_segments: 1,
    grow_only_if_cwnd_limited: false,
    reduce_from: ReductionBase::FlightSize,
    timeout_ssthresh_segments: 2,
    each_timeout_cuts: false,
    initial_window: InitialWindow::Rfc3390,
    loss_window_segments: 1,
    restart_after_idle: true,
    initial_ssthresh_segments: 0,
    max_window: MaxWindow::Bytes(1 << 30),
    receive_buffer_bytes: 4 << 20,
    receive_tuning: ReceiveTuning::None,
    ack_policy: AckPolicy::Delayed { timeout_ns: Time::from_millis(200) },
    acks_before_answers: false,
    nagle: true,
    nagle_rule: NagleRule::Rfc1122,
    pacing: false,
    max_train_segments: 0,
    rto: RtoConfig {
        estimator: Estimator::Rfc6298,
        tick_ns: Time::ZERO,
        tick_phase_ns: Time::ZERO,
        initial_ns: Time::from_secs(1),
        min_ns: Time::from_secs(1),
        max_ns: Time::from_secs(60),
        variance_floor_ns: Time::ZERO,
        samples: RttSamples::RoundTrip,
        start: TimerStart::LastAck,
        timer_hz: 0,
    },
};

const LINUX_6: TcpConfig = TcpConfig {
    mss: 1460,
    header_bytes: 40,
    ack_bytes: 40,
    handshake: Some(LINUX_6_ERA.handshake),
    fin: Some(LINUX_6_ERA.fin),
    sack: true,
    sack_blocks: 4,
    dsack: true,
    timestamps: true,
    packet_stamps: false,
    window_scale: true,
    recovery: LINUX_6_ERA.recovery(RecoveryKind::Rack),
    ecn: EcnKind::Accept,
    ecn_to_one_segment: false,
    ecn_holds_slow_start: false,
    dup_thresh: 3,
    drains_after_timeout: false,
    limited_transmit: true,
    window_law: WindowLawKind::CubicLinux(LINUX_6_ERA.cubic),
    slow_start: SlowStartKind::Hystart,
    slow_start_limit_segments: 0,
    grow_only_if_cwnd_limited: true,
    reduce_from: ReductionBase::CwndWholeSegments,
    timeout_ssthresh_segments: 2,
    each_timeout_cuts: false,
    initial_window: InitialWindow::Segments(10),
    loss_window_segments: 1,
    restart_after_idle: true,
    initial_ssthresh_segments: 0,
    max_window: MaxWindow::Bytes(1 << 30),
    receive_buffer_bytes: 1 << 30,
    receive_tuning: ReceiveTuning::Linux { initial_bytes: 131_072, most_bytes: 6 << 20 },
    ack_policy: AckPolicy::Linux,
    acks_before_answers: true,
    nagle: true,
    nagle_rule: NagleRule::Minshall,
    pacing: false,
    max_train_segments: 0,
    rto: RtoConfig {
        estimator: Estimator::Linux,
        tick_ns: Time::ZERO,
        tick_phase_ns: Time::ZERO,
        initial_ns: Time::from_secs(1),
        min_ns: Time::from_millis(200),
        max_ns: Time::from_secs(120),
        variance_floor_ns: Time::from_millis(200),
        samples: RttSamples::RoundTrip,
        start: TimerStart::LastAck,
        timer_hz: 0,
    },
};

#[cfg(test)]
mod tests;
