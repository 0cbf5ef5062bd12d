//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-01): a window for background traffic that keeps the queueing delay near
//! a target. The queueing delay is the minimum of the last round-trip times less their minimum over the last minutes.
//! Where the draft leaves a choice, the code follows Qian Li's `tcp_ledbatpp.c`; docs/models/ledbat.md lists the
//! sources and the differences.

use cwndlab_units::Time;

use super::delays::Delays;
use super::law::{Acked, Cut, LossLaw, Windows, MAX_WINDOW_BYTES, NO_THRESHOLD};
use super::reno::{new_bytes, slow_start_increase};
use super::AckReport;
use crate::config::{LedbatPlusPlusConfig, TcpConfig};

/// Minimum window in segments, also during a slowdown (section 4.4; `MIN_CWND`).
const LEAST_SEGMENTS: u32 = 2;
/// Section 4.2: growth is at least a sixteenth of Reno's.
const MOST_DIVISOR: f64 = 16.0;
/// Section 4.4: after a slowdown, nine times its duration passes before the next one begins.
const PAUSE_FACTOR: u64 = 9;

/// The state of one sender.
#[derive(Clone, Debug)]
pub(super) struct LedbatPlusPlus {
    target: Time,
    /// The last round-trip times, and the minimum of each of the last minutes.
    delays: Delays,
    /// Growth or decrease of less than a segment that has not been applied yet.
    fraction: f64,
    /// When the slowdown in progress began.
    slowdown: Option<Time>,
    /// When the next slowdown begins; `None` before the end of the first slow start, and during a slowdown.
    next_slowdown: Option<Time>,
}

impl LedbatPlusPlus {
    pub fn new(knobs: LedbatPlusPlusConfig) -> LedbatPlusPlus {
        LedbatPlusPlus {
            target: knobs.target_ns,
            delays: Delays::new(),
            fraction: 0.0,
            slowdown: None,
            next_slowdown: None,
        }
    }

    /// GAIN = 1 / min(16, ceil(2 TARGET / base)) (section 4.2).
    fn gain(&self) -> f64 {
        let divisor = (2.0 * self.target.as_secs_f64() / self.delays.base().as_secs_f64()).ceil();
        1.0 / divisor.clamp(1.0, MOST_DIVISOR)
    }

    /// Takes an ACK that may change the window. Returns the new windows. `doubling` is the number of bytes that count
    /// in slow start, `acked` the number that counts in congestion avoidance.
    pub fn on_ack(&mut self, ack: &AckReport, doubling: u64, acked: u64, mut windows: Windows) -> Windows {
        if self.delays.base() == Time::MAX {
            return windows;
        }
        if self.is_slowed(ack, &mut windows) {
            return windows;
        }
        if windows.in_slow_start() {
            // Section 4.1: the first slow start ends when the delay exceeds 3/4 of the target.
            let first = windows.ssthresh == NO_THRESHOLD;
            if !first || self.delays.queueing().as_nanos() * 4 <= self.target.as_nanos() * 3 {
                // Section 4.1: the gain applies to slow start, too.
                let grown = self.whole_segments(doubling as f64 * self.gain() / f64::from(ack.mss));
                windows.cwnd = moved(windows.cwnd, grown, ack.mss).min(windows.ssthresh);
                self.end_slow_start(ack, windows);
                return windows;
            }
            windows.ssthresh = windows.cwnd;
        }
        self.end_slow_start(ack, windows);
        let change = self.change(acked as f64 / f64::from(ack.mss), f64::from(windows.cwnd) / f64::from(ack.mss));
        let change = self.whole_segments(change);
        windows.cwnd = moved(windows.cwnd, change, ack.mss);
        if change < 0 {
            windows.ssthresh = windows.ssthresh.min(windows.cwnd); // otherwise slow start would grow the window again
        }
        windows
    }

    /// Starts a slowdown when it is due (section 4.4). Returns whether a slowdown keeps the window at two segments now.
    fn is_slowed(&mut self, ack: &AckReport, windows: &mut Windows) -> bool {
        let two_rounds = ack.srtt + ack.srtt;
        if let Some(began) = self.slowdown {
            return ack.now.saturating_sub(began) <= two_rounds;
        }
        let begins = self.next_slowdown.is_some_and(|at| ack.now >= at) && !windows.in_slow_start();
        if begins {
            windows.ssthresh = windows.cwnd;
            windows.cwnd = windows.cwnd.min(LEAST_SEGMENTS * ack.mss);
            (self.slowdown, self.next_slowdown, self.fraction) = (Some(ack.now), None, 0.0);
        }
        begins
    }

    /// Schedules the next slowdown when slow start is over (section 4.4). The first slowdown begins two round trips
    /// after the first slow start.
    fn end_slow_start(&mut self, ack: &AckReport, windows: Windows) {
        if windows.in_slow_start() {
            return;
        }
        if let Some(began) = self.slowdown.take() {
            let lasted = ack.now.saturating_sub(began).as_nanos();
            self.next_slowdown = Some(ack.now + Time::from_nanos(lasted * PAUSE_FACTOR));
        } else if self.next_slowdown.is_none() {
            self.next_slowdown = Some(ack.now + ack.srtt + ack.srtt);
        }
    }

    /// Returns by how many segments a window of `window` segments changes when `acked` segments are acknowledged. Per
    /// round trip, the change is GAIN while the delay is at most the target, and otherwise max(GAIN - W (delay / target
    /// - 1), -W / 2) (section 4.3, with its constant 1).
    fn change(&self, acked: f64, window: f64) -> f64 {
        let gain = self.gain();
        let excess = self.delays.queueing().as_secs_f64() / self.target.as_secs_f64() - 1.0;
        let each_round = if excess <= 0.0 { gain } else { (gain - window * excess).max(-window / 2.0) };
        each_round * acked / window
    }

    /// Adds a change and returns the whole segments that have accumulated.
    fn whole_segments(&mut self, change: f64) -> i64 {
        self.fraction += change;
        let whole = self.fraction.trunc();
        self.fraction -= whole;
        whole as i64
    }
}

/// `cwnd` plus this many segments, but at least two segments.
fn moved(cwnd: u32, segments: i64, mss: u32) -> u32 {
    let least = i64::from(LEAST_SEGMENTS * mss);
    let most = i64::from(MAX_WINDOW_BYTES);
    (i64::from(cwnd) + segments * i64::from(mss)).clamp(least, most) as u32
}

impl LossLaw for LedbatPlusPlus {
    fn on_feedback(&mut self, ack: &Acked<'_>, _: &mut Windows) {
        // RFC 6817, section 2.4.2, with round trips instead of one-way delays.
        if let Some(rtt) = ack.plain.rtt {
            self.delays.note(ack.plain.now, rtt);
        }
    }

    fn grow(&mut self, cfg: &TcpConfig, ack: &Acked<'_>, limited: bool, windows: &mut Windows) -> bool {
        if let Some(ack) = ack.report.filter(|_| !limited) {
            *windows = self.on_ack(ack, slow_start_increase(cfg, ack), new_bytes(cfg, ack), *windows);
        }
        true
    }

    /// Halves the window as Reno does (`tcp_ledbatpp_ssthresh`).
    fn reduce(&mut self, cut: &Cut<'_>, _: u32) -> u32 {
        self.fraction = 0.0;
        cut.half
    }
}

#[cfg(test)]
mod tests;
