//! Profiles: each a value for every knob, of an era.

use crate::config::{
    AckPolicy, Estimator, InitialWindow, MaxWindow, Profile, ReceiveTuning, RecoveryKind, ReductionBase,
    RetransmitGuard, RtoConfig, SlowStartKind, TcpConfig, TimerStart, WindowLawKind,
};
use crate::ecn::EcnKind;
use cwndlab_units::Time;

mod knobs;
mod linux_2;

pub use knobs::{knobs_json, Knob, KNOBS};

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

const NS2_1998: TcpConfig = TcpConfig {
    mss: 1000,
    header_bytes: 0,
    ack_bytes: 40,
    handshake: false,
    fin: false,
    fin_alone: false,
    sack: false,
    timestamps: false,
    window_scale: false,
    recovery: RecoveryKind::Tahoe,
    ecn: EcnKind::Off,
    ecn_to_one_segment: true,
    dup_thresh: 3,
    dup_ack_window_segments: 0,
    retransmit_guard: RetransmitGuard::Recovery,
    recovery_extra_segments: 0,
    partial_window_deflation: false,
    drains_after_timeout: false,
    limited_transmit: false,
    new_reno_impatient: false,
    f_rto: false,
    one_way_agents: true,
    window_law: WindowLawKind::RenoPackets,
    slow_start: SlowStartKind::Standard,
    slow_start_limit_segments: 1,
    cubic_fast_convergence: true,
    grow_only_if_cwnd_limited: false,
    reduce_from: ReductionBase::CwndWholeSegments,
    timeout_ssthresh_segments: 2,
    each_timeout_cuts: false,
    timeout_keeps_recovery: false,
    syn_timeout_cuts: false,
    initial_window: InitialWindow::Segments(1),
    handshake_ack_opens_window: false,
    restart_after_idle: false,
    window_validation: false,
    initial_ssthresh_segments: 0,
    max_window: MaxWindow::Segments(20),
    receive_buffer_bytes: 1 << 30,
    receive_tuning: ReceiveTuning::None,
    ack_policy: AckPolicy::Every,
    nagle: false,
    pacing: false,
    rto: RtoConfig {
        estimator: Estimator::Rfc6298,
        tick_ns: Time::from_millis(100),
        tick_phase_ns: Time::ZERO,
        initial_ns: Time::from_secs(6),
        min_ns: Time::ZERO,
        max_ns: Time::from_secs(64),
        variance_floor_ns: Time::ZERO,
        one_way: false,
        times_handshake: true,
        per_segment: false,
        start: TimerStart::LastAck,
        syn_linear: 0,
        free_syns: 0,
        from_first: false,
        timer_hz: 0,
    },
    time_wait_ns: Time::ZERO,
};

const RFC5681: TcpConfig = TcpConfig {
    mss: 1460,
    header_bytes: 40,
    ack_bytes: 40,
    handshake: true,
    fin: true,
    fin_alone: false,
    sack: false,
    timestamps: false,
    window_scale: true,
    recovery: RecoveryKind::NewReno,
    ecn: EcnKind::Off,
    ecn_to_one_segment: true,
    dup_thresh: 3,
    dup_ack_window_segments: 0,
    retransmit_guard: RetransmitGuard::Recovery,
    recovery_extra_segments: 0,
    partial_window_deflation: true,
    drains_after_timeout: false,
    limited_transmit: true,
    new_reno_impatient: true,
    f_rto: false,
    one_way_agents: false,
    window_law: WindowLawKind::Reno,
    slow_start: SlowStartKind::Standard,
    slow_start_limit_segments: 1,
    cubic_fast_convergence: true,
    grow_only_if_cwnd_limited: false,
    reduce_from: ReductionBase::FlightSize,
    timeout_ssthresh_segments: 2,
    each_timeout_cuts: false,
    timeout_keeps_recovery: false,
    syn_timeout_cuts: false,
    initial_window: InitialWindow::Rfc3390,
    handshake_ack_opens_window: false,
    restart_after_idle: true,
    window_validation: false,
    initial_ssthresh_segments: 0,
    max_window: MaxWindow::Bytes(1 << 30),
    receive_buffer_bytes: 4 << 20,
    receive_tuning: ReceiveTuning::None,
    ack_policy: AckPolicy::Delayed { timeout_ns: Time::from_millis(200) },
    nagle: true,
    pacing: false,
    rto: RtoConfig {
        estimator: Estimator::Rfc6298,
        tick_ns: Time::ZERO,
        tick_phase_ns: Time::ZERO,
        initial_ns: Time::from_secs(1),
        min_ns: Time::from_secs(1),
        max_ns: Time::from_secs(60),
        variance_floor_ns: Time::ZERO,
        one_way: false,
        times_handshake: true,
        per_segment: false,
        start: TimerStart::LastAck,
        syn_linear: 0,
        free_syns: 0,
        from_first: false,
        timer_hz: 0,
    },
    time_wait_ns: Time::from_secs(240),
};

const LINUX_6: TcpConfig = TcpConfig {
    mss: 1460,
    header_bytes: 40,
    ack_bytes: 40,
    handshake: true,
    fin: true,
    fin_alone: false,
    sack: true,
    timestamps: true,
    window_scale: true,
    recovery: RecoveryKind::Rack,
    ecn: EcnKind::Accept,
    ecn_to_one_segment: false,
    dup_thresh: 3,
    dup_ack_window_segments: 0,
    retransmit_guard: RetransmitGuard::Recovery,
    recovery_extra_segments: 0,
    partial_window_deflation: true,
    drains_after_timeout: false,
    limited_transmit: true,
    new_reno_impatient: true,
    f_rto: true,
    one_way_agents: false,
    window_law: WindowLawKind::CubicLinux,
    slow_start: SlowStartKind::Hystart,
    slow_start_limit_segments: 0,
    cubic_fast_convergence: true,
    grow_only_if_cwnd_limited: true,
    reduce_from: ReductionBase::CwndWholeSegments,
    timeout_ssthresh_segments: 2,
    each_timeout_cuts: false,
    timeout_keeps_recovery: false,
    syn_timeout_cuts: false,
    initial_window: InitialWindow::Segments(10),
    handshake_ack_opens_window: false,
    restart_after_idle: true,
    window_validation: true,
    initial_ssthresh_segments: 0,
    max_window: MaxWindow::Bytes(1 << 30),
    receive_buffer_bytes: 1 << 30,
    receive_tuning: ReceiveTuning::Linux { initial_bytes: 131_072, most_bytes: 6 << 20 },
    ack_policy: AckPolicy::Linux,
    nagle: true,
    pacing: false,
    rto: RtoConfig {
        estimator: Estimator::Linux,
        tick_ns: Time::ZERO,
        tick_phase_ns: Time::ZERO,
        initial_ns: Time::from_secs(1),
        min_ns: Time::from_millis(200),
        max_ns: Time::from_secs(120),
        variance_floor_ns: Time::from_millis(200),
        one_way: false,
        times_handshake: true,
        per_segment: false,
        start: TimerStart::LastAck,
        syn_linear: 4,
        free_syns: 1,
        from_first: true,
        timer_hz: 0,
    },
    time_wait_ns: Time::from_secs(60),
};

#[cfg(test)]
mod tests;
