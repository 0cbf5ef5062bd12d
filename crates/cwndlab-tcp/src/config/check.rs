//! Checks whether an endpoint can run with the values of its knobs, regardless of whether the values make sense.

use std::fmt;

use super::{
    AckPolicy, AdaptiveAcks, Estimator, FackConfig, FinConfig, HandshakeConfig, InitialWindow, MaxWindow,
    ReceiveTuning, RecoveryConfig, RecoveryEnd, RecoveryRules, RenoConfig, RetransmitGuard, RttSamples, SendTuning,
    TcpConfig, TimerStart,
};
use cwndlab_units::Time;
use thiserror::Error;

/// The largest window that the window scale option can offer (RFC 7323, section 2.3).
pub(super) const LARGEST_WINDOW: u64 = 1 << 30;
/// Linux's `SOCK_MIN_RCVBUF`: the memory that one packet of 1500 bytes takes.
const LEAST_BUFFER: u64 = 2304;
/// Shorter timers could expire so often that the run's clock hardly advances.
const SHORTEST_TIMER: Time = Time::from_micros(1);
/// The longest time that a knob may have. Sums and products of such times stay far below the clock's 584 years.
const LONGEST_TIME: Time = Time::from_secs(24 * 3600);
/// The ranges of timers and of other times, as errors state them.
pub(crate) const TIMER_RANGE: &str = "in 1us..=24h";
pub(crate) const TIME_RANGE: &str = "at most 24h";
/// The largest number of segments that a knob may have.
pub(super) const MOST_SEGMENTS: u32 = 1 << 20;

/// A knob whose value keeps an endpoint from running. Names are those of the table of knobs, such as `rto.min_ns`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// The value is outside the range that `right` states.
    #[error("{value} does not fit; it must be {right}")]
    OutOfRange {
        /// The knob.
        knob: &'static str,
        /// The knob's value.
        value: String,
        /// The values that it may have.
        right: &'static str,
    },
    /// The value conflicts with that of another knob.
    #[error("{value} does not fit; with {other} it must be {right}")]
    Conflict {
        /// The knob.
        knob: &'static str,
        /// The knob's value.
        value: String,
        /// The other knob and its value.
        other: &'static str,
        /// The values that the knob may have with `other`.
        right: &'static str,
    },
}

impl ConfigError {
    /// The knob whose value is wrong.
    pub fn knob(&self) -> &'static str {
        match self {
            ConfigError::OutOfRange { knob, .. } | ConfigError::Conflict { knob, .. } => knob,
        }
    }
}

/// A value as a study file writes it.
struct Shown<T>(T);

impl fmt::Display for Shown<Time> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos();
        match ns {
            u64::MAX => f.write_str("never"),
            _ if ns % 1_000_000 == 0 => write!(f, "{}ms", ns / 1_000_000),
            _ => write!(f, "{ns}ns"),
        }
    }
}

/// Collects the errors of a configuration.
#[derive(Default)]
pub(crate) struct Errors(Vec<ConfigError>);

impl Errors {
    /// The collected errors.
    #[cfg(test)]
    pub(crate) fn into_list(self) -> Vec<ConfigError> {
        self.0
    }

    pub(crate) fn range(&mut self, holds: bool, knob: &'static str, value: impl fmt::Display, right: &'static str) {
        if !holds {
            self.0.push(ConfigError::OutOfRange { knob, value: value.to_string(), right });
        }
    }

    fn conflict(
        &mut self,
        holds: bool,
        knob: &'static str,
        value: impl fmt::Display,
        other: &'static str,
        right: &'static str,
    ) {
        if !holds {
            self.0.push(ConfigError::Conflict { knob, value: value.to_string(), other, right });
        }
    }

    pub(crate) fn timer(&mut self, knob: &'static str, time: Time) {
        self.range((SHORTEST_TIMER..=LONGEST_TIME).contains(&time), knob, Shown(time), TIMER_RANGE);
    }

    /// Checks a time that may be 0.
    pub(crate) fn time(&mut self, knob: &'static str, time: Time) {
        self.range(time <= LONGEST_TIME, knob, Shown(time), TIME_RANGE);
    }
}

impl TcpConfig {
    /// Checks that an endpoint can run with these values.
    ///
    /// # Errors
    /// Returns one error for each value that is out of its range or conflicts with another knob's value.
    pub fn check(&self) -> Result<(), Vec<ConfigError>> {
        let mut errors = Errors::default();
        self.check_ranges(&mut errors);
        self.check_windows(&mut errors);
        self.check_recovery(&mut errors);
        self.check_rto(&mut errors);
        if errors.0.is_empty() {
            Ok(())
        } else {
            Err(errors.0)
        }
    }

    fn check_windows(&self, errors: &mut Errors) {
        if self.timestamps || self.sack {
            let right = "over 40 bytes, which options may take";
            errors.conflict(self.mss == 0 || self.mss > 40, "mss", self.mss, "timestamps or sack", right);
        }
        match self.max_window {
            MaxWindow::Segments(segments) => {
                let holds = segments >= 1 && u64::from(segments) * u64::from(self.mss) <= LARGEST_WINDOW;
                errors.range(holds, "max_window", segments, "at least 1 segment and at most 2^30 bytes");
            }
            MaxWindow::Bytes(bytes) => {
                errors.range((1..=LARGEST_WINDOW).contains(&bytes), "max_window", bytes, "in 1..=2^30 bytes");
            }
        }
    }

    fn check_recovery(&self, errors: &mut Errors) {
        self.check_rules(errors);
        // RACK keeps its own record of segments, which does not support `each-segment`, `first-segment` and
        // `drains_after_timeout`.
        if matches!(self.recovery, RecoveryConfig::Rack(_)) {
            let rack = "recovery = rack";
            let no_record = self.rto.samples != RttSamples::EachSegment;
            errors.conflict(no_record, "rto.samples", "each-segment", rack, "round-trip or one-way-delay");
            let last_ack = self.rto.start == TimerStart::LastAck;
            errors.conflict(last_ack, "rto.start", "first-segment", rack, "last-ack");
            errors.conflict(!self.drains_after_timeout, "drains_after_timeout", true, rack, "false");
        }
    }

    /// Checks the knobs that ns-2's rules restrict: ns-2's agents have none of Linux 2.0's rules, and ns-2's FACK needs
    /// a timestamp echo on every ACK.
    fn check_rules(&self, errors: &mut Errors) {
        if let RecoveryConfig::Reno(reno @ RenoConfig { rules: RecoveryRules::Ns2_1998, .. }) = &self.recovery {
            let rules = "recovery.reno.rules = ns2-1998";
            let least = reno.dup_ack_window_segments;
            errors.conflict(least == 0, "recovery.reno.dup_ack_window_segments", least, rules, "0");
            let guard = reno.retransmit_guard == RetransmitGuard::Recovery;
            errors.conflict(guard, "recovery.reno.retransmit_guard", "timeout", rules, "recovery");
            errors.conflict(reno.extra_segments == 0, "recovery.reno.extra_segments", reno.extra_segments, rules, "0");
            errors.conflict(!reno.outlives_timeout, "recovery.reno.outlives_timeout", true, rules, "false");
            let end = reno.ends_with == RecoveryEnd::Ssthresh;
            errors.conflict(end, "recovery.reno.ends_with", "outstanding-plus-two", rules, "ssthresh");
        }
        if let RecoveryConfig::Fack(FackConfig { rules: RecoveryRules::Ns2_1998, .. }) = &self.recovery {
            let (echoes, rules) = (self.packet_stamps || self.timestamps, "recovery.fack.rules = ns2-1998");
            errors.conflict(echoes, "packet_stamps", false, rules, "true, or timestamps = true");
        }
        let new_reno = self.recovery.new_reno();
        if new_reno.rules == RecoveryRules::Ns2_1998 {
            let (extra, rules) = (new_reno.extra_segments, "recovery.new-reno.rules = ns2-1998");
            errors.conflict(extra == 0, "recovery.new-reno.extra_segments", extra, rules, "0");
        }
    }

    fn check_rto(&self, errors: &mut Errors) {
        let rto = &self.rto;
        errors.range(rto.min_ns <= rto.max_ns, "rto.min_ns", Shown(rto.min_ns), "at most rto.max");
        let tick = rto.tick_ns;
        errors.range(tick <= rto.max_ns, "rto.tick_ns", Shown(tick), "at most rto.max");
        let fine = tick == Time::ZERO || rto.estimator != Estimator::Linux;
        errors.conflict(fine, "rto.tick_ns", Shown(tick), "rto.estimator = linux", "0");
        if let AckPolicy::Adaptive { .. } = self.ack_policy {
            let right = "at least 1us";
            errors.conflict(tick >= SHORTEST_TIMER, "rto.tick_ns", Shown(tick), "ack_policy = adaptive", right);
        }
        let clocked = tick >= SHORTEST_TIMER || !rto.estimator.is_linux_2();
        let linux_2 = "rto.estimator = linux-2.0 or linux-2.2";
        errors.conflict(clocked, "rto.tick_ns", Shown(tick), linux_2, "at least 1us");
        let hz = rto.timer_hz;
        let divides = hz == 0 || (hz <= 10_000 && 1_000_000 % hz == 0);
        errors.range(divides, "rto.timer_hz", hz, "0, or at most 10000 and a divisor of 1000000");
        // With neither a minimum nor a tick, a round trip of zero would give a timeout of zero.
        let floor = rto.min_ns.max(tick) >= SHORTEST_TIMER;
        errors.conflict(floor, "rto.min_ns", Shown(rto.min_ns), "rto.tick = 0", "at least 1us");
    }
}

/// Range checks for knobs whose types `knobs!` does not define.
pub(super) trait CheckRanges {
    fn check_ranges(&self, errors: &mut Errors);
}

impl CheckRanges for Option<HandshakeConfig> {
    fn check_ranges(&self, errors: &mut Errors) {
        let Some(handshake) = self else { return };
        handshake.check_ranges(errors);
    }
}

impl CheckRanges for Option<FinConfig> {
    fn check_ranges(&self, errors: &mut Errors) {
        let Some(fin) = self else { return };
        fin.check_ranges(errors);
    }
}

impl CheckRanges for InitialWindow {
    fn check_ranges(&self, errors: &mut Errors) {
        if let InitialWindow::Segments(segments) = self {
            errors.range((1..=65_535).contains(segments), "initial_window", segments, "in 1..=65535 segments");
        }
    }
}

impl CheckRanges for ReceiveTuning {
    fn check_ranges(&self, errors: &mut Errors) {
        if let ReceiveTuning::Linux { initial_bytes, most_bytes } = self {
            let holds = (LEAST_BUFFER..=*most_bytes).contains(initial_bytes);
            let knob = "receive_tuning.linux.initial_bytes";
            errors.range(holds, knob, initial_bytes, "at least 2304 and at most most_bytes");
            let holds = *most_bytes <= LARGEST_WINDOW;
            errors.range(holds, "receive_tuning.linux.most_bytes", most_bytes, "at most 2^30");
        }
    }
}

impl CheckRanges for SendTuning {
    fn check_ranges(&self, errors: &mut Errors) {
        if let SendTuning::Linux { most_bytes } = self {
            let holds = (LEAST_BUFFER..=LARGEST_WINDOW).contains(most_bytes);
            errors.range(holds, "send_tuning.linux.most_bytes", most_bytes, "in 2304..=2^30");
        }
    }
}

impl CheckRanges for AckPolicy {
    fn check_ranges(&self, errors: &mut Errors) {
        match *self {
            AckPolicy::Every | AckPolicy::Linux => {}
            AckPolicy::Delayed { timeout_ns } => errors.timer("ack_policy.delayed.timeout_ns", timeout_ns),
            AckPolicy::QuickThenDelayed { timeout_ns, .. } => {
                errors.timer("ack_policy.quick-then-delayed.timeout_ns", timeout_ns);
            }
            AckPolicy::Adaptive(AdaptiveAcks { first_ns, max_ns, push_ns, .. }) => {
                errors.timer("ack_policy.adaptive.max_ns", max_ns);
                errors.timer("ack_policy.adaptive.push_ns", push_ns);
                errors.time("ack_policy.adaptive.first_ns", first_ns);
            }
            AckPolicy::Heartbeat { grid_ns } => errors.timer("ack_policy.heartbeat.grid_ns", grid_ns),
            AckPolicy::QuickThenHeartbeat { grid_ns, every, .. } => {
                errors.timer("ack_policy.quick-then-heartbeat.grid_ns", grid_ns);
                errors.range(every >= 1, "ack_policy.quick-then-heartbeat.every", every, "at least 1 segment");
            }
        }
    }
}

#[cfg(test)]
mod tests;
