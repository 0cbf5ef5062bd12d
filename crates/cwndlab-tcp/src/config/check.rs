//! Which values of the knobs make an endpoint that can run: not whether they are wise.

use super::{
    AckPolicy, Estimator, InitialWindow, MaxWindow, ReceiveTuning, RecoveryKind, RetransmitGuard, TcpConfig, TimerStart,
};
use cwndlab_units::Time;

/// The largest window that the window scale option can offer (RFC 7323, section 2.3).
const LARGEST_WINDOW: u64 = 1 << 30;
/// Linux's `SOCK_MIN_RCVBUF`: one packet of 1500 bytes.
const LEAST_BUFFER: u64 = 2304;
/// A timer that fires more often than this would stop the run's clock for want of progress.
const SHORTEST_TIMER: Time = Time::from_micros(1);

fn demand(holds: bool, knob: &str, right: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("{knob} must be {right}"))
    }
}

impl TcpConfig {
    /// Whether an endpoint can run with these values; else the knob and what would be right.
    ///
    /// # Errors
    /// The first knob that is out of its range.
    pub fn check(&self) -> Result<(), String> {
        demand((1..=65_535).contains(&self.mss), "mss", "in 1..=65535 bytes")?;
        let options = self.timestamps || self.sack;
        demand(!options || self.mss > 40, "mss", "over 40 bytes, which options may take, if timestamps or sack is on")?;
        demand(self.header_bytes <= 1000, "header_bytes", "at most 1000")?;
        demand((1..=1000).contains(&self.ack_bytes), "ack_bytes", "in 1..=1000")?;
        demand(self.rto.syn_linear <= 100, "rto.syn_linear", "at most 100")?;
        demand(self.dup_thresh >= 1, "dup_thresh", "at least 1")?;
        if let InitialWindow::Segments(segments) = self.initial_window {
            demand((1..=65_535).contains(&segments), "initial_window", "in 1..=65535 segments")?;
        }
        match self.max_window {
            MaxWindow::Segments(segments) => {
                let fits = u64::from(segments) * u64::from(self.mss) <= LARGEST_WINDOW;
                demand(segments >= 1 && fits, "max_window", "at least 1 segment and at most 2^30 bytes")?;
            }
            MaxWindow::Bytes(bytes) => {
                demand((1..=LARGEST_WINDOW).contains(&bytes), "max_window", "in 1..=2^30 bytes")?;
            }
        }
        let buffer = self.receive_buffer_bytes;
        demand((1..=LARGEST_WINDOW).contains(&buffer), "receive_buffer_bytes", "in 1..=2^30")?;
        if let ReceiveTuning::Linux { initial_bytes, most_bytes } = self.receive_tuning {
            let initial = (LEAST_BUFFER..=most_bytes).contains(&initial_bytes);
            demand(initial, "receive_tuning.linux.initial_bytes", "at least 2304 and at most most_bytes")?;
            demand(most_bytes <= LARGEST_WINDOW, "receive_tuning.linux.most_bytes", "at most 2^30")?;
        }
        self.check_timers()
    }

    /// Knobs of Linux 2.0 and 2.2 that only some recoveries have.
    fn check_combinations(&self) -> Result<(), String> {
        let reno = self.recovery == RecoveryKind::Reno;
        let cumulative = reno || self.recovery == RecoveryKind::NewReno;
        let rack = self.recovery == RecoveryKind::Rack;
        demand(reno || self.dup_ack_window_segments == 0, "dup_ack_window_segments", "0 unless recovery is reno")?;
        let guard = reno || self.retransmit_guard == RetransmitGuard::Recovery;
        demand(guard, "retransmit_guard", "recovery unless recovery is reno")?;
        demand(reno || !self.timeout_keeps_recovery, "timeout_keeps_recovery", "false unless recovery is reno")?;
        let extra = self.recovery_extra_segments == 0 || (cumulative && self.recovery_extra_segments <= 1000);
        demand(extra, "recovery_extra_segments", "0 unless recovery is reno or new-reno, and at most 1000")?;
        demand(!rack || !self.rto.per_segment, "rto.per_segment", "false if recovery is rack")?;
        demand(!rack || self.rto.start == TimerStart::LastAck, "rto.start", "last-ack if recovery is rack")?;
        demand(!rack || !self.drains_after_timeout, "drains_after_timeout", "false if recovery is rack")
    }

    fn check_timers(&self) -> Result<(), String> {
        let timer = |time: Time, knob: &str| demand(time >= SHORTEST_TIMER && !time.is_never(), knob, "at least 1us");
        match self.ack_policy {
            AckPolicy::Every | AckPolicy::Linux => {}
            AckPolicy::Delayed { timeout_ns } | AckPolicy::QuickThenDelayed { timeout_ns, .. } => {
                timer(timeout_ns, "ack_policy.timeout")?;
            }
            AckPolicy::Adaptive { first_ns, max_ns, push_ns, .. } => {
                timer(max_ns, "ack_policy.max")?;
                timer(push_ns, "ack_policy.push")?;
                demand(!first_ns.is_never(), "ack_policy.first", "a time, or 0")?;
                demand(self.rto.tick_ns >= SHORTEST_TIMER, "rto.tick", "at least 1us with ack_policy adaptive")?;
            }
            AckPolicy::Heartbeat { grid_ns } => timer(grid_ns, "ack_policy.grid")?,
            AckPolicy::QuickThenHeartbeat { grid_ns, every, .. } => {
                timer(grid_ns, "ack_policy.grid")?;
                demand(every >= 1, "ack_policy.every", "at least 1 segment")?;
            }
        }
        let rto = &self.rto;
        timer(rto.initial_ns, "rto.initial")?;
        timer(rto.max_ns, "rto.max")?;
        demand(rto.min_ns <= rto.max_ns, "rto.min", "at most rto.max")?;
        demand(rto.tick_ns <= rto.max_ns, "rto.tick", "at most rto.max")?;
        let fine = rto.tick_ns == Time::ZERO || rto.estimator != Estimator::Linux;
        demand(fine, "rto.tick", "0 if rto.estimator is linux")?;
        let clocked = rto.tick_ns >= SHORTEST_TIMER || !rto.estimator.is_linux_2();
        demand(clocked, "rto.tick", "at least 1us if rto.estimator is linux-2.0 or linux-2.2")?;
        self.check_combinations()?;
        let divides = rto.timer_hz == 0 || (rto.timer_hz <= 10_000 && 1_000_000 % rto.timer_hz == 0);
        demand(divides, "rto.timer_hz", "0, or at most 10000 and a divisor of 1000000")?;
        // without either, a round trip in no time would be timed out in no time
        let floor = rto.min_ns.max(rto.tick_ns);
        demand(floor >= SHORTEST_TIMER, "rto.min", "at least 1us if rto.tick is 0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn every_profile_can_run() {
        for profile in Profile::ALL {
            assert_eq!(profile.config().check(), Ok(()), "{}", profile.name());
        }
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_its_knob_and_what_would_be_right() {
        type Change = fn(&mut TcpConfig);
        let changes: [(&str, Change); 11] = [
            ("mss must be in 1..=65535 bytes", |tcp| tcp.mss = 0),
            ("mss must be over 40 bytes, which options may take, if timestamps or sack is on", |tcp| tcp.mss = 40),
            ("dup_thresh must be at least 1", |tcp| tcp.dup_thresh = 0),
            ("initial_window must be in 1..=65535 segments", |tcp| tcp.initial_window = InitialWindow::Segments(0)),
            ("max_window must be in 1..=2^30 bytes", |tcp| tcp.max_window = MaxWindow::Bytes(1 << 31)),
            ("receive_buffer_bytes must be in 1..=2^30", |tcp| tcp.receive_buffer_bytes = 0),
            ("ack_policy.grid must be at least 1us", |tcp| {
                tcp.ack_policy = AckPolicy::Heartbeat { grid_ns: Time::ZERO };
            }),
            ("rto.tick must be 0 if rto.estimator is linux", |tcp| tcp.rto.tick_ns = Time::from_millis(100)),
            ("rto.timer_hz must be 0, or at most 10000 and a divisor of 1000000", |tcp| tcp.rto.timer_hz = 300),
            ("rto.min must be at most rto.max", |tcp| tcp.rto.max_ns = Time::from_millis(1)),
            ("rto.min must be at least 1us if rto.tick is 0", |tcp| tcp.rto.min_ns = Time::ZERO),
        ];
        for (why, change) in changes {
            let mut tcp = Profile::Linux6.config();
            change(&mut tcp);
            assert_eq!(tcp.check().unwrap_err(), why);
        }
    }
}
