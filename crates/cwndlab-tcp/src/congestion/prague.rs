//! TCP Prague (draft-briscoe-iccrg-prague-congestion-control-04) as in `L4STeam`'s `net/ipv4/tcp_prague.c` with a
//! fractional window (`prague_cwnd_mode` 0). Without AccECN, Reno replaces Prague
//! ([`super::Controller::do_without_accecn`]).

use cwndlab_units::Time;

use super::law::{PathLaw, Windows, NO_THRESHOLD};
use super::needs::Needs;
use super::{product_over, AckReport, AfterAck, CongestionEvent, Grant, PlainAck, Quantum, Start};
use crate::config::PragueConfig;
use crate::Rng;

/// g = 1/16 (`PRAGUE_SHIFT_G`).
const GAIN: f64 = 1.0 / 16.0;
/// Growth is not corrected for round trips longer than this (`MAX_SCALED_RTT`).
const MAX_SCALED_RTT: Time = Time::from_millis(100);
/// Minimum window in segments (`MIN_CWND_RTT`), and minimum rate in bytes per second (`MINIMUM_RATE`).
const LEAST_SEGMENTS: u64 = 2;
const LEAST_RATE: u64 = 12_500;
/// A burst takes up to 2^-12 s (`prague_burst_shift`).
const BURSTS_PER_SECOND: u64 = 1 << 12;

/// The state of one sender.
#[derive(Clone, Debug)]
pub(super) struct Prague {
    knobs: PragueConfig,
    /// Size of a packet. The rate counts packets and paces their payloads, so it exceeds a window per round trip.
    mtu: u32,
    /// The window in segments. cwnd is this value rounded up or, before version 0.7, up to a segment apart from it
    /// (`cwnd_cnt`).
    window: f64,
    /// Average share of marked packets.
    alpha: f64,
    /// Pacing rate in bytes per second, and bytes sent at once.
    rate: Option<u64>,
    burst_bytes: u64,
    /// What the two were computed from: the smoothed round trip, the window in segments, and whether the rate is doubled.
    paced_by: (Time, u64, bool),
    /// Rounds since slow start, and the position whose acknowledgment ends the current round.
    round: u32,
    round_end: u64,
    /// Packets delivered and marked in this round.
    delivered: u64,
    marked: u64,
    /// Whether any mark has ever been reported.
    saw_ce: bool,
    /// Whether the window was reduced for a loss that is still being repaired. Meanwhile the window does not grow.
    in_loss: bool,
    /// When the window was last reduced for marks, and when alpha was last updated.
    reduced_at: Option<Time>,
    alpha_at: Time,
    /// The fractional window and cwnd, in segments, before the last loss.
    before_loss: (f64, u64),
}

/// cwnd and ssthresh in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Segments {
    pub cwnd: u64,
    pub ssthresh: u64,
}

impl Segments {
    fn in_slow_start(self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Sets the windows in bytes.
    fn set(self, windows: &mut Windows, mss: u32) {
        if self.ssthresh != u64::MAX {
            windows.set_ssthresh(self.ssthresh * u64::from(mss));
        }
        windows.set_cwnd(self.cwnd * u64::from(mss));
    }
}

impl Prague {
    pub fn new(cwnd: u64, knobs: PragueConfig) -> Prague {
        Prague {
            knobs,
            mtu: 0,
            window: cwnd as f64,
            alpha: if knobs.version.has_carry() { 1.0 } else { 0.0 },
            rate: None,
            burst_bytes: 0,
            paced_by: (Time::ZERO, 0, false),
            round: 0,
            round_end: 0,
            delivered: 0,
            marked: 0,
            saw_ce: false,
            in_loss: false,
            reduced_at: None,
            alpha_at: Time::ZERO,
            before_loss: (0.0, 0),
        }
    }

    /// `prague_is_rtt_indep`. A target of 0 changes nothing: every round trip is longer.
    fn is_rtt_independent(&self, windows: Segments) -> bool {
        !windows.in_slow_start() && self.round >= self.knobs.rtt_transition
    }

    /// Growth in segments per window delivered (`prague_ai_ack_increase`).
    fn increase(&self, srtt: Time) -> f64 {
        let target = self.knobs.rtt_target_ns;
        if self.round < self.knobs.rtt_transition || srtt >= target || srtt > MAX_SCALED_RTT {
            return 1.0;
        }
        let ratio = srtt.as_secs_f64() / target.as_secs_f64();
        ratio * ratio
    }

    /// Takes an ACK (`prague_cong_control`). Returns the new windows.
    pub fn take_ack(&mut self, ack: &AckReport, after: &AfterAck, mut windows: Segments) -> Segments {
        let delivered = ack.delivered_bytes.div_ceil(u64::from(ack.mss));
        self.delivered += delivered;
        self.marked += u64::from(ack.ce_packets);
        self.in_loss &= after.in_recovery || after.after_timeout;
        let grown = self.open(ack, after, delivered, &mut windows);
        if !grown {
            self.adjust(&mut windows);
        }
        self.update_alpha(ack.now, (ack.snd_una, ack.snd_nxt), windows);
        self.pace(ack.srtt, ack.mss, after.in_flight_bytes / u64::from(ack.mss), windows);
        windows
    }

    /// `prague_update_cwnd` up to its label `adjust`. Returns whether slow start used the whole ACK.
    fn open(&mut self, ack: &AckReport, after: &AfterAck, delivered: u64, windows: &mut Segments) -> bool {
        if ack.ce_packets > 0 {
            if !self.saw_ce && !self.knobs.version.has_carry() {
                self.window /= 2.0;
            }
            self.saw_ce = true;
        }
        let mut unmarked = delivered.saturating_sub(u64::from(ack.ce_packets));
        if unmarked == 0 || self.in_loss || !after.cwnd_limited {
            return false;
        }
        if windows.in_slow_start() {
            let room = windows.ssthresh - windows.cwnd;
            let grown = unmarked.min(room);
            windows.cwnd += grown;
            self.window = if self.knobs.version.has_carry() { self.window + grown as f64 } else { windows.cwnd as f64 };
            unmarked = unmarked.saturating_sub(room);
            if unmarked == 0 {
                return true;
            }
        }
        let divisor = if self.knobs.version.has_carry() { windows.cwnd as f64 } else { self.window.max(1.0) };
        self.window += unmarked as f64 * self.increase(ack.srtt) / divisor;
        false
    }

    /// Moves cwnd towards the fractional window by one segment per ACK.
    fn adjust(&self, windows: &mut Segments) {
        let whole = self.window as u64;
        let ceiling = whole + u64::from(self.window > whole as f64); // `ceil` would be a call
        let target =
            if self.knobs.version.has_carry() && whole <= windows.cwnd { ceiling.min(windows.cwnd) } else { ceiling };
        let target = target.max(LEAST_SEGMENTS);
        if windows.cwnd > target {
            windows.cwnd -= 1;
            windows.ssthresh = windows.cwnd;
        } else if windows.cwnd < target {
            windows.cwnd += 1;
        }
    }

    /// Updates alpha once per round or, if growth is independent of the round trip, at most once per target round trip
    /// (`prague_update_alpha`).
    fn update_alpha(&mut self, now: Time, (una, nxt): (u64, u64), windows: Segments) {
        let waits = self.is_rtt_independent(windows) && now.saturating_sub(self.alpha_at) < self.knobs.rtt_target_ns;
        if una < self.round_end || waits {
            return;
        }
        if self.saw_ce {
            let share = self.marked as f64 / self.delivered.max(1) as f64;
            self.alpha = (self.alpha + GAIN * (share - self.alpha)).min(1.0);
            self.alpha_at = now;
        }
        (self.delivered, self.marked, self.round_end) = (0, 0, nxt);
        if !windows.in_slow_start() {
            self.round = self.round.saturating_add(1);
        }
    }

    /// `prague_update_pacing_rate`
    fn pace(&mut self, srtt: Time, mss: u32, in_flight: u64, windows: Segments) {
        if srtt == Time::ZERO {
            return;
        }
        let window = if self.knobs.version.has_carry() { windows.cwnd } else { self.window as u64 };
        let paced_by = (srtt, window.max(in_flight), windows.cwnd < windows.ssthresh / 2);
        if std::mem::replace(&mut self.paced_by, paced_by) == paced_by {
            return; // nothing has changed, as at an end that only receives
        }
        let (_, segments, doubles) = paced_by;
        let mtu = u64::from(self.mtu);
        let mut rate = product_over(segments * mtu, 1_000_000_000, srtt.as_nanos()).clamp(LEAST_RATE, u64::MAX / 2);
        if doubles {
            rate *= 2;
        }
        self.rate = Some(rate);
        self.burst_bytes = (rate / mtu / BURSTS_PER_SECOND).max(self.knobs.version.least_train()) * u64::from(mss);
    }

    /// Reduces the fractional window by alpha / 2 of its size, at the first mark of a window (`prague_enter_cwr`).
    pub fn on_marks(&mut self, now: Time, windows: Segments) {
        let recent = self.reduced_at.is_some_and(|at| now.saturating_sub(at) < self.knobs.rtt_target_ns);
        if self.is_rtt_independent(windows) && recent {
            return;
        }
        self.reduced_at = Some(now);
        let reduced = if self.knobs.version.has_carry() { windows.cwnd as f64 } else { self.window };
        self.window -= self.alpha * reduced / 2.0;
    }

    /// Halves the fractional window after a loss or a timeout (`prague_enter_loss`).
    pub fn on_loss(&mut self, cwnd: u64) {
        self.before_loss = (self.window, cwnd);
        self.window /= 2.0;
        self.in_loss = true;
    }

    /// Converts windows in bytes to segments.
    fn segments(windows: Windows, mss: u32) -> Segments {
        let ssthresh = if windows.ssthresh == NO_THRESHOLD { u64::MAX } else { u64::from(windows.ssthresh / mss) };
        Segments { cwnd: u64::from(windows.cwnd / mss), ssthresh }
    }
}

impl PathLaw for Prague {
    // Prague does not use the delivery rate, but `AfterAck::in_flight_bytes` is known only if the rate is measured.
    const NEEDS: Needs = Needs { idle_acks: true, ..Needs::RATE };

    /// Initializes the state when the connection is established (`prague_init`).
    fn on_start(&mut self, start: &Start, _: Option<Rng>, windows: &mut Windows) {
        let cwnd = u64::from(windows.cwnd / start.mss);
        (self.alpha_at, self.window, self.mtu) = (start.now, cwnd as f64, start.mtu);
        self.pace(start.srtt, start.mss, 0, Segments { cwnd, ssthresh: u64::MAX });
    }

    fn on_ack(&mut self, ack: &AckReport, after: &AfterAck, windows: &mut Windows) {
        self.take_ack(ack, after, Prague::segments(*windows, ack.mss)).set(windows, ack.mss);
    }

    /// As `on_ack`, for an ACK that delivers nothing.
    fn on_idle_ack(&mut self, ack: &PlainAck, srtt: Time, windows: &mut Windows) -> bool {
        let before = Prague::segments(*windows, ack.mss);
        let mut segments = before;
        self.in_loss = false;
        self.adjust(&mut segments);
        // Rounds are counted after slow start, and alpha is updated after the first mark.
        let settled = segments == before && segments.in_slow_start() && !self.saw_ce;
        self.update_alpha(ack.now, (ack.snd_una, ack.snd_nxt), segments);
        self.pace(srtt, ack.mss, 0, segments);
        segments.set(windows, ack.mss);
        settled
    }

    /// Reduces the fractional window; cwnd follows with the next ACKs.
    fn on_congestion(&mut self, event: CongestionEvent, now: Time, mss: u32, windows: &mut Windows) {
        let segments = Prague::segments(*windows, mss);
        match event {
            CongestionEvent::Ecn => self.on_marks(now, segments),
            CongestionEvent::Loss | CongestionEvent::Rto => self.on_loss(segments.cwnd),
            CongestionEvent::RtoRepeat => {}
        }
    }

    fn on_undo(&mut self, mss: u32, windows: &mut Windows) {
        self.in_loss = false;
        self.window = self.window.max(self.before_loss.0);
        windows.set_cwnd(u64::from(windows.cwnd / mss).max(self.before_loss.1) * u64::from(mss));
    }

    fn grant(&self, cwnd_bytes: u64) -> Grant {
        let quantum = if self.rate.is_some() { Quantum::Bytes(self.burst_bytes) } else { Quantum::DEFAULT };
        Grant { cwnd_bytes, pacing_rate: self.rate, quantum, owns_recovery: true }
    }
}

#[cfg(test)]
mod tests;
