//! BBR version 1 as in Linux 6.12 (`net/ipv4/tcp_bbr.c`), in the kernel's integers: packets, microseconds, jiffies.
//!
//! BBR models the path by its maximum delivery rate (over 10 round trips) and its minimum RTT (over 10 s). The kernel's
//! functions are named next to the rules.

mod aggregation;
mod policer;
mod sample;

use cwndlab_units::Time;
use rand::Rng as _;

use super::law::{PathLaw, Windows};
use super::needs::Needs;
use super::rounds::Rounds;
use super::{AckKind, AckReport, AfterAck, CongestionEvent, Grant, Quantum, Start};
use crate::clock::Clock;
use crate::config::{RecoveryKind, TcpConfig};
use crate::flight::LostSegment;
use crate::pacing::MOST_BYTES;
use crate::windowed_max::WindowedMax;
use crate::Rng;
use aggregation::Aggregation;
use policer::{Interval, Policer};
pub(super) use sample::Repair;
use sample::Sample;

/// `BW_UNIT`: rates are packets per microsecond << 24.
const RATE_UNIT: u64 = 1 << 24;
/// `BBR_UNIT`: gains are in 1/256.
const UNIT: u64 = 1 << 8;
/// `bbr_high_gain`: 2/ln(2); `bbr_drain_gain`, its inverse.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// `bbr_pacing_gain`: one phase that probes, one that drains the queue of the probe, and six at the estimated rate.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// `bbr_cycle_rand`: the first phase of `PROBE_BW` is drawn from this many of the eight phases, all but the one that
/// drains.
const RANDOM_PHASES: usize = 7;
/// `bbr_bw_rtts`: round trips after which a bandwidth sample expires.
const BANDWIDTH_ROUNDS: u32 = 10;
/// `bbr_min_rtt_win_sec` and `bbr_probe_rtt_mode_ms`.
const MIN_RTT_SECONDS: u64 = 10;
const PROBE_RTT_MS: u64 = 200;
/// `bbr_cwnd_min_target`
const LEAST_PACKETS: u64 = 4;
/// `TCP_INIT_CWND`
const FIRST_PACKETS: u64 = 10;
/// The SYN counts as the first packet delivered.
const SYN: u64 = 1;
/// `bbr_full_bw_thresh` (in 1/256) and `bbr_full_bw_cnt`: the pipe is full after three round trips in which the rate
/// grew by less than a quarter.
const GROWTH: u64 = UNIT * 5 / 4;
const FULL_ROUNDS: u32 = 3;
/// `bbr_min_tso_rate` in bytes per second. At lower rates a train (the segments sent at once) has one segment.
const ONE_SEGMENT_RATE: u64 = 1_200_000 >> 3;
/// `sk_pacing_shift`, and the limit in `bbr_tso_segs_goal`.
const TRAINS_PER_SECOND: u64 = 1 << 10;
const MOST_TRAIN_PACKETS: u64 = 0x7f;

/// `bbr_rate_bytes_per_sec`: a rate times a gain, less 1 %, in bytes per second.
fn bytes_per_second(rate: u64, gain: u64, mss: u64) -> u64 {
    (((rate * mss * gain) >> 8) * (1_000_000 / 100 * 99)) >> 24
}

fn micros(at: Time) -> u64 {
    at.as_nanos() / 1000
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// BBR's state for one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Bbr {
    random: Option<Rng>,
    /// The kernel's clock, and its ticks per second.
    clock: Clock,
    hz: u64,
    /// Whether each loss is found by an ACK: recoveries other than RACK do not report segments (`on_lost`).
    acks_find_losses: bool,
    mss: u64,
    /// Bytes per second.
    pacing_rate: u64,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    bandwidth: WindowedMax,
    min_rtt_us: u64,
    /// In jiffies.
    min_rtt_stamp: u64,
    /// In jiffies; 0 until the time in `PROBE_RTT` starts.
    probe_rtt_until: u64,
    probe_rtt_round_done: bool,
    rounds: Rounds,
    cycle: usize,
    cycle_began_us: u64,
    full: bool,
    full_rate: u64,
    full_rounds: u32,
    has_rtt: bool,
    idle_restart: bool,
    prior_repair: Repair,
    conserves: bool,
    prior_cwnd: u64,
    aggregation: Aggregation,
    policer: Policer,
    /// Total packets delivered, and the time of the last delivery.
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    /// Target number of packets in the network, set when the pipe is full; `None` before. Reported as ssthresh.
    ssthresh: Option<u64>,
}

impl Bbr {
    pub fn new(cfg: &TcpConfig) -> Self {
        Bbr {
            hz: if cfg.rto.timer_hz == 0 { 1000 } else { u64::from(cfg.rto.timer_hz) },
            clock: cfg.clock(),
            acks_find_losses: cfg.recovery.kind() != RecoveryKind::Rack,
            mss: 1,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            min_rtt_us: u64::MAX,
            rounds: Rounds { ends_at: SYN, ..Rounds::default() },
            delivered: SYN,
            ..Bbr::default()
        }
    }

    /// `bbr_main`: returns the new window, in packets, after an ACK.
    pub fn take_ack(&mut self, ack: &AckReport, after: &AfterAck, mut cwnd: u64) -> u64 {
        let sample = Sample::new(ack, after, self.mss, (self.delivered, self.clock));
        (self.delivered, self.delivered_at) = (after.total_delivered_packets, after.delivered_at);
        self.lost += if self.acks_find_losses { sample.losses } else { 0 };
        self.update_bandwidth(&sample);
        if sample.rate.is_some() {
            let bandwidth = self.bandwidth();
            self.aggregation.on_ack(sample.acked, micros(self.delivered_at), bandwidth, cwnd, self.rounds.started);
        }
        if self.mode == Mode::ProbeBandwidth && self.phase_is_over(&sample) {
            self.next_phase();
        }
        self.look_for_full_pipe(&sample);
        self.drain(&sample);
        cwnd = self.update_min_rtt(ack.now, &sample, cwnd);
        self.update_gains();
        self.set_pacing_rate(self.pacing_gain, ack.srtt, cwnd);
        self.next_cwnd(&sample, cwnd)
    }

    fn jiffies(&self, now: Time) -> u64 {
        self.clock.at(now).as_nanos() / (1_000_000_000 / self.hz)
    }

    /// `bbr_bw`
    fn bandwidth(&self) -> u32 {
        self.policer.bandwidth().unwrap_or_else(|| self.bandwidth.get())
    }

    fn interval(&self, losses: u64, app_limited: bool) -> Interval {
        Interval {
            losses,
            lost: self.lost,
            delivered: self.delivered,
            delivered_ms: micros(self.delivered_at) / 1000,
            app_limited,
            round_start: self.rounds.started,
            mss: self.mss,
        }
    }

    fn sample_policer(&mut self, losses: u64, app_limited: bool) {
        let interval = self.interval(losses, app_limited);
        if self.policer.on_ack(&interval, self.mode == Mode::ProbeBandwidth) {
            self.probe_bandwidth();
        }
    }

    /// `bbr_update_bw`
    fn update_bandwidth(&mut self, sample: &Sample) {
        self.rounds.on_ack(sample.rate.map(|(_, _, prior)| prior), self.delivered);
        let Some((delivered, us, _)) = sample.rate else { return };
        self.conserves &= !self.rounds.started;
        self.sample_policer(sample.losses, sample.app_limited);
        let rate = delivered * RATE_UNIT / us;
        if !sample.app_limited || rate >= u64::from(self.bandwidth.get()) {
            let rate = rate.min(u64::from(u32::MAX)) as u32; // saturates at 256 packets/us; the kernel's value wraps
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds.count, rate);
        }
    }

    /// `bbr_set_pacing_rate`: until the pipe is full, the rate only increases. `srtt` is zero before the first
    /// measurement.
    fn set_pacing_rate(&mut self, gain: u64, srtt: Time, cwnd: u64) {
        let rate = bytes_per_second(u64::from(self.bandwidth()), gain, self.mss);
        if !self.has_rtt && srtt > Time::ZERO {
            self.set_first_rate(srtt, cwnd);
        }
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_init_pacing_rate_from_rtt`: sets the pacing rate to [`HIGH_GAIN`] times one window per round trip, or per
    /// millisecond while the round trip is unknown.
    fn set_first_rate(&mut self, srtt: Time, cwnd: u64) {
        self.has_rtt |= srtt > Time::ZERO;
        let us = if srtt > Time::ZERO { micros(srtt).max(1) } else { 1000 };
        self.pacing_rate = bytes_per_second(cwnd * RATE_UNIT / us, HIGH_GAIN, self.mss);
    }

    /// `bbr_min_tso_segs`
    fn least_train(&self) -> u64 {
        1 + u64::from(self.pacing_rate >= ONE_SEGMENT_RATE)
    }

    /// `bbr_tso_segs_goal`
    fn train(&self) -> u64 {
        let bytes = (self.pacing_rate / TRAINS_PER_SECOND).min(MOST_BYTES);
        (bytes / self.mss).max(self.least_train()).min(MOST_TRAIN_PACKETS)
    }

    /// `bbr_bdp`
    fn product(&self, rate: u32, gain: u64) -> u64 {
        if self.min_rtt_us == u64::MAX {
            return FIRST_PACKETS;
        }
        ((u64::from(rate) * self.min_rtt_us * gain) >> 8).div_ceil(RATE_UNIT)
    }

    /// `bbr_quantization_budget`: adds room for three trains, which may be waiting in the two hosts, and rounds up to
    /// an even number of packets. Adds two more packets in the phase of `PROBE_BW` that probes.
    fn with_trains(&self, packets: u64) -> u64 {
        let even = (packets + 3 * self.train() + 1) & !1;
        even + if self.mode == Mode::ProbeBandwidth && self.cycle == 0 { 2 } else { 0 }
    }

    /// `bbr_inflight`
    fn target(&self, gain: u64) -> u64 {
        self.with_trains(self.product(self.bandwidth.get(), gain))
    }

    /// `bbr_packets_in_net_at_edt`: packets that will be in the network when the pacer sends the next train.
    fn in_network(&self, in_flight: u64, held_us: u64) -> u64 {
        let delivered = (u64::from(self.bandwidth()) * held_us) >> 24;
        let then = in_flight + if self.pacing_gain > UNIT { self.train() } else { 0 };
        then.saturating_sub(delivered)
    }

    /// `bbr_is_next_cycle_phase`
    fn phase_is_over(&self, sample: &Sample) -> bool {
        let long = micros(self.delivered_at).saturating_sub(self.cycle_began_us) > self.min_rtt_us;
        if self.pacing_gain == UNIT {
            return long;
        }
        let in_network = self.in_network(sample.prior_in_flight, sample.held_us);
        if self.pacing_gain > UNIT {
            return long && (sample.losses > 0 || in_network >= self.target(self.pacing_gain));
        }
        long || in_network <= self.target(UNIT)
    }

    /// `bbr_advance_cycle_phase`
    fn next_phase(&mut self) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_began_us = micros(self.delivered_at);
    }

    /// `bbr_reset_probe_bw_mode`: starts `PROBE_BW` in a random phase other than the one that drains.
    fn probe_bandwidth(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        let drawn = self.random.as_mut().map_or(0, |random| random.random_range(0..RANDOM_PHASES));
        self.cycle = CYCLE.len() - 1 - drawn;
        self.next_phase();
    }

    /// `bbr_check_full_bw_reached`
    fn look_for_full_pipe(&mut self, sample: &Sample) {
        if self.full || !self.rounds.started || sample.app_limited {
            return;
        }
        let rate = u64::from(self.bandwidth.get());
        if rate >= (self.full_rate * GROWTH) >> 8 {
            (self.full_rate, self.full_rounds) = (rate, 0);
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`
    fn drain(&mut self, sample: &Sample) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.ssthresh = Some(self.target(UNIT));
        }
        if self.mode == Mode::Drain && self.in_network(sample.in_flight, sample.held_us) <= self.target(UNIT) {
            self.probe_bandwidth();
        }
    }

    /// `bbr_update_min_rtt`
    fn update_min_rtt(&mut self, now: Time, sample: &Sample, mut cwnd: u64) -> u64 {
        let jiffies = self.jiffies(now);
        let expired = jiffies > self.min_rtt_stamp + MIN_RTT_SECONDS * self.hz;
        if let Some(rtt) = sample.rtt_us.filter(|&rtt| rtt < self.min_rtt_us || (expired && !sample.delayed)) {
            (self.min_rtt_us, self.min_rtt_stamp) = (rtt, jiffies);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd(cwnd);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_until = 0;
        }
        if self.mode == Mode::ProbeRtt {
            if self.probe_rtt_until == 0 && sample.in_flight <= LEAST_PACKETS {
                self.probe_rtt_until = jiffies + (PROBE_RTT_MS * self.hz).div_ceil(1000);
                self.probe_rtt_round_done = false;
                self.rounds.ends_at = self.delivered;
            } else if self.probe_rtt_until != 0 {
                self.probe_rtt_round_done |= self.rounds.started;
                if self.probe_rtt_round_done {
                    cwnd = self.end_probe_rtt(now, cwnd);
                }
            }
        }
        if sample.acked > 0 {
            self.idle_restart = false;
        }
        cwnd
    }

    /// `bbr_check_probe_rtt_done`
    fn end_probe_rtt(&mut self, now: Time, cwnd: u64) -> u64 {
        let jiffies = self.jiffies(now);
        if self.probe_rtt_until == 0 || jiffies <= self.probe_rtt_until {
            return cwnd;
        }
        self.min_rtt_stamp = jiffies;
        if self.full {
            self.probe_bandwidth();
        } else {
            self.mode = Mode::Startup;
        }
        cwnd.max(self.prior_cwnd)
    }

    /// `bbr_update_gains`
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.policer.bandwidth().is_some() => (UNIT, 2 * UNIT),
            Mode::ProbeBandwidth => (CYCLE[self.cycle], 2 * UNIT),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// `bbr_save_cwnd`
    fn save_cwnd(&mut self, cwnd: u64) {
        let cut = self.prior_repair != Repair::None || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if cut { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    /// `bbr_set_cwnd`
    fn next_cwnd(&mut self, sample: &Sample, mut cwnd: u64) -> u64 {
        if sample.acked > 0 {
            cwnd = self.repaired(sample, cwnd);
            if !self.conserves {
                let mut target = self.product(self.bandwidth(), self.cwnd_gain);
                if self.full {
                    target += self.aggregation.allowance(self.bandwidth());
                }
                target = self.with_trains(target);
                if self.full {
                    cwnd = (cwnd + sample.acked).min(target);
                } else if cwnd < target || self.delivered < FIRST_PACKETS {
                    cwnd += sample.acked;
                }
                cwnd = cwnd.max(LEAST_PACKETS);
            }
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(LEAST_PACKETS);
        }
        cwnd
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: returns the window reduced by the losses of this ACK, or the saved window
    /// at the end of recovery. In the first round of recovery, one packet is sent for each packet that has left the
    /// network.
    fn repaired(&mut self, sample: &Sample, mut cwnd: u64) -> u64 {
        let before = std::mem::replace(&mut self.prior_repair, sample.repair);
        if sample.losses > 0 {
            cwnd = cwnd.saturating_sub(sample.losses).max(1);
        }
        if sample.repair == Repair::Recovery && before != Repair::Recovery {
            self.conserves = true;
            self.rounds.ends_at = self.delivered;
            cwnd = sample.in_flight + sample.acked;
        } else if before != Repair::None && sample.repair == Repair::None {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        if self.conserves {
            cwnd = cwnd.max(sample.in_flight + sample.acked);
        }
        cwnd
    }
}

impl PathLaw for Bbr {
    const NEEDS: Needs = Needs { draws: true, ..Needs::RATE };

    /// `bbr_init`
    fn on_start(&mut self, start: &Start, random: Option<Rng>, windows: &mut Windows) {
        self.random = random;
        self.mss = u64::from(start.mss);
        self.min_rtt_us = if start.min_rtt.is_never() { u64::MAX } else { micros(start.min_rtt) };
        self.min_rtt_stamp = self.jiffies(start.now);
        self.set_first_rate(start.srtt, u64::from(windows.cwnd / start.mss));
        self.aggregation.restart(self.clock.micros(start.now));
    }

    fn on_lost(&mut self, _: &LostSegment, _: u64, _: Time, _: Windows) {
        self.lost += 1;
    }

    fn on_ack(&mut self, ack: &AckReport, after: &AfterAck, windows: &mut Windows) {
        if ack.kind == AckKind::Old || ack.prior_flight_bytes == 0 {
            return; // the kernel does not call congestion control for such ACKs
        }
        let mss = u64::from(ack.mss);
        let cwnd = self.take_ack(ack, after, u64::from(windows.cwnd / ack.mss));
        // bbr_check_drain sets snd_ssthresh.
        if let Some(packets) = self.ssthresh {
            windows.set_ssthresh(packets * mss);
        }
        windows.set_cwnd(cwnd * mss);
    }

    /// Saves the window, but does not reduce it (`bbr_ssthresh`). A timeout counts as the end of a round
    /// (`bbr_set_state`).
    fn on_congestion(&mut self, event: CongestionEvent, _: Time, mss: u32, windows: &mut Windows) {
        if event != CongestionEvent::RtoRepeat {
            self.save_cwnd(u64::from(windows.cwnd / mss));
        }
        if matches!(event, CongestionEvent::Rto | CongestionEvent::RtoRepeat) {
            self.prior_repair = Repair::Loss;
            self.full_rate = 0;
            self.rounds.started = true;
            self.sample_policer(1, false);
        }
    }

    /// `bbr_undo_cwnd`
    fn on_undo(&mut self, _: u32, _: &mut Windows) {
        (self.full_rate, self.full_rounds) = (0, 0);
        self.policer.reset(&self.interval(0, false));
    }

    /// `bbr_cwnd_event`, `CA_EVENT_TX_START`
    fn on_app_restart(&mut self, now: Time, mss: u32, windows: &mut Windows) {
        let cwnd = u64::from(windows.cwnd / mss);
        self.idle_restart = true;
        self.aggregation.restart(self.clock.micros(now));
        let after = match self.mode {
            Mode::ProbeBandwidth => {
                self.set_pacing_rate(UNIT, Time::ZERO, cwnd);
                cwnd
            }
            Mode::ProbeRtt => self.end_probe_rtt(now, cwnd),
            Mode::Startup | Mode::Drain => cwnd,
        };
        windows.set_cwnd(after * u64::from(mss));
    }

    /// True in `PROBE_RTT`, where `bbr_update_min_rtt` marks the connection as limited by the application
    /// (`app_limited`).
    fn limits_itself(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn grant(&self, cwnd_bytes: u64) -> Grant {
        let quantum = Quantum::OfRate(self.least_train() as u32);
        Grant { cwnd_bytes, pacing_rate: Some(self.pacing_rate), quantum, owns_recovery: true }
    }
}

#[cfg(test)]
mod tests;
