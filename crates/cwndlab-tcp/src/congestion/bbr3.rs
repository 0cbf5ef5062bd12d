//! BBR version 3 by draft-ietf-ccwg-bbr-06 or, with [`crate::Bbr3Rules::GoogleV3`], by Google's BBR v3 branch (branch
//! v3 of google/bbr, `net/ipv4/tcp_bbr.c`).
//!
//! Volumes are in bytes, rates in bytes per second. The draft's functions are named next to the rules; section numbers
//! are the draft's.

mod aggregation;
mod control;
mod ecn;
mod loss;
mod probe_bw;
mod probe_rtt;
mod rules;
mod sample;

use cwndlab_units::Time;

use super::bbr::Repair;
use super::law::{PathLaw, Windows};
use super::needs::Needs;
use super::rounds::Rounds;
use super::{product_over, AckKind, AckReport, AfterAck, CongestionEvent, Grant, Start};
use crate::config::{Bbr3Config, TcpConfig};
use crate::flight::LostSegment;
use crate::Rng;
use aggregation::Aggregation;
use control::Derived;
use ecn::Ecn;
use loss::{Latest, Undo};
use probe_bw::Probe;
use probe_rtt::MinRtt;
use rules::Rules;
use sample::Sample;

/// No limit.
const NONE: u64 = u64::MAX;
/// `MinPipeCwnd` (section 2.8), in segments.
const LEAST_SEGMENTS: u64 = 4;
/// The pipe is full after three rounds in which the rate grew by less than a quarter (section 5.3.1.2).
const GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// In the draft, Drain ends after at most three round trips (section 5.3.2).
const DRAIN_ROUNDS: u32 = 3;
/// `BBRStartupFullLossCnt`; `bbr_full_loss_cnt`
const STARTUP_LOSSES: u32 = 6;

/// `BBR.state`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// `IsInAProbeBWState`
    fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// `IsProbingBW`
    fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// A volume or a rate times a gain.
fn scaled(value: u64, gain: f64) -> u64 {
    if value < 1 << 52 && gain < 1024.0 {
        return (value as i64 as f64 * gain) as i64 as u64; // the same, but signed numbers are converted with less work
    }
    (value as f64 * gain) as u64
}

/// Bytes sent in `time` at `rate`.
fn bytes_in(rate: u64, time: Time) -> u64 {
    product_over(rate, time.as_nanos(), 1_000_000_000)
}

/// The largest multiple of `unit` that is not above `bytes`.
fn whole(bytes: u64, unit: u64) -> u64 {
    if unit == 1 {
        return bytes; // no division by the draft's rules
    }
    bytes - bytes % unit
}

/// Detects that the pipe is full (section 5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    /// `full_bw_reached` and `full_bw_now`
    reached: bool,
    now: bool,
    /// `full_bw` and `full_bw_count`
    rate: u64,
    rounds: u32,
}

impl FullPipe {
    /// `ResetFullBW`; growth is then measured from `rate`.
    fn reset(&mut self, rate: u64) {
        (self.now, self.rate, self.rounds) = (false, rate, 0);
    }
}

/// BBR's state for one connection.
#[derive(Clone, Debug)]
pub(super) struct Bbr3 {
    is: &'static Rules,
    random: Option<Rng>,
    mss: u64,
    /// What volumes are rounded to: a packet in Google's BBR v3 branch, otherwise a byte.
    unit: u64,
    initial_cwnd: u64,
    cwnd: u64,
    /// Bytes per second.
    pacing_rate: u64,
    derived: Derived,
    state: State,
    rounds: Rounds,
    /// `drain_start_round`
    drain_round: u32,
    /// `max_bw_filter`: the maximum rates of the current and of the previous cycle.
    max_bw: [u64; 2],
    bw_shortterm: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
    latest: Latest,
    undo: Undo,
    full: FullPipe,
    probe: Probe,
    min_rtt: MinRtt,
    aggregation: Aggregation,
    ecn: Option<Ecn>,
    has_rtt: bool,
    idle_restart: bool,
    prior_cwnd: u64,
    prior_repair: Repair,
    /// Whether the window has limited the sender in this round and in the previous one (`C.is_cwnd_limited`).
    limited: [bool; 2],
    /// Totals: packets and bytes delivered, bytes lost and bytes marked.
    delivered_packets: u64,
    delivered: u64,
    lost: u64,
    ce: u64,
    /// Target volume in the network, set when the pipe is full; `None` before. Reported as ssthresh, as in Google's BBR
    /// v3 branch, and not used otherwise.
    ssthresh: Option<u64>,
}

impl Bbr3 {
    pub fn new(tcp: &TcpConfig, cfg: Bbr3Config) -> Self {
        Bbr3 {
            is: cfg.rules.rules(),
            random: None,
            mss: 1,
            unit: 1,
            initial_cwnd: 0,
            cwnd: 0,
            pacing_rate: 0,
            derived: Derived::default(),
            state: State::Startup,
            rounds: Rounds::default(),
            drain_round: 0,
            max_bw: [0; 2],
            bw_shortterm: NONE,
            inflight_shortterm: NONE,
            inflight_longterm: NONE,
            latest: Latest::default(),
            undo: Undo::default(),
            full: FullPipe::default(),
            probe: Probe::default(),
            min_rtt: MinRtt::new(Time::ZERO, Time::MAX),
            aggregation: Aggregation::new(cfg.rules),
            ecn: (cfg.ecn && tcp.ecn.counts_marks()).then(Ecn::new),
            has_rtt: false,
            idle_restart: false,
            prior_cwnd: 0,
            prior_repair: Repair::None,
            limited: [false; 2],
            delivered_packets: 0,
            delivered: 0,
            lost: 0,
            ce: 0,
            ssthresh: None,
        }
    }

    fn note_timeout(&mut self) {
        self.prior_repair = Repair::Loss;
        if self.is.timeout_resets_model {
            self.full.reset(0);
            if !self.state.accelerates() && self.inflight_shortterm == NONE {
                self.inflight_shortterm = self.cwnd.max(self.prior_cwnd);
            }
        }
    }

    /// `UpdateOnACK` (section 5.2.3): returns the new window after an ACK. [`PathLaw::on_lost`] has already been called for
    /// the losses that the ACK reveals.
    pub fn take_ack(&mut self, ack: &AckReport, after: &AfterAck, cwnd: u64) -> u64 {
        if ack.kind == AckKind::Old || ack.prior_flight_bytes == 0 {
            return cwnd;
        }
        self.cwnd = cwnd;
        (self.delivered_packets, self.ce) = (after.total_delivered_packets, self.ce + ack.ce_bytes);
        self.delivered += ack.delivered_bytes;
        let mut sample = Sample::new(ack, after, self.lost, self.ce);
        if self.is.counts_packets {
            sample.count_packets(self.mss, ack);
        }
        self.rounds.on_ack(sample.prior_delivered, self.delivered_packets);
        self.end_recovery(sample.repair);
        self.note_usage(&sample);
        self.update_model(&sample);
        self.set_pacing_rate(ack.srtt);
        self.set_cwnd(&sample);
        self.cwnd
    }

    /// Records whether the window was full just before the ACK, so that it limited the sender.
    fn note_usage(&mut self, sample: &Sample) {
        if self.rounds.started {
            self.limited = [false, self.limited[0]];
        }
        self.limited[0] |= sample.prior_in_flight + self.mss > self.cwnd;
    }

    /// `C.is_cwnd_limited`
    fn is_cwnd_limited(&self) -> bool {
        self.limited[0] || self.limited[1]
    }

    /// `UpdateModelAndState`
    fn update_model(&mut self, sample: &Sample) {
        if self.rounds.started {
            self.probe.rounds = self.probe.rounds.saturating_add(1);
        }
        if let Some(ecn) = &mut self.ecn {
            let min_rtt = self.min_rtt.get();
            if self.rounds.started && ecn.on_round(min_rtt, self.delivered, self.ce) && !self.full.reached {
                self.leave_startup_by_congestion();
            }
        }
        if let Some(ecn) = &mut self.ecn {
            ecn.on_ack(sample.marked);
        }
        self.update_latest(sample);
        self.update_congestion_signals(sample);
        let (bw, cwnd) = (self.bw(), self.cwnd);
        self.aggregation.on_ack(sample, bw, cwnd, &self.rounds, self.full.reached);
        self.look_for_full_pipe(sample);
        self.leave_startup(sample);
        self.leave_drain(sample);
        self.update_cycle(sample);
        self.update_min_rtt(sample);
        self.advance_latest(sample);
    }

    /// `max_bw`
    fn max_bw(&self) -> u64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// `BoundBWForModel`
    fn bw(&self) -> u64 {
        self.max_bw().min(self.bw_shortterm)
    }

    /// `CheckFullBWReached`. The draft checks the rate once per round; Google's BBR v3 branch checks at every ACK
    /// whether the rate has grown, and counts the rounds without growth.
    fn look_for_full_pipe(&mut self, sample: &Sample) {
        let looks = self.rounds.started || self.is.growth_with_every_ack;
        if self.full.now || sample.app_limited || sample.prior_delivered.is_none() || !looks {
            return;
        }
        if sample.rate >= scaled(self.full.rate, GROWTH) {
            self.full.reset(sample.rate);
        } else if self.rounds.started {
            self.full.rounds += 1;
            self.full.now = self.full.rounds >= FULL_ROUNDS;
            self.full.reached |= self.full.now;
        }
    }

    /// `CheckStartupDone` and `EnterDrain`
    fn leave_startup(&mut self, sample: &Sample) {
        self.leave_startup_by_loss(sample);
        if self.state == State::Startup && self.full.reached {
            (self.state, self.drain_round) = (State::Drain, self.rounds.count);
            self.ssthresh = Some(self.inflight(self.max_bw()));
            if self.is.drain_resets_signals {
                self.reset_congestion_signals();
            }
        }
    }

    /// `CheckDrainDone`. Google's BBR v3 branch has no time limit, uses `max_bw` instead of `bw`, and subtracts the
    /// data that will have arrived when the pacer sends next.
    fn leave_drain(&mut self, sample: &Sample) {
        if self.state != State::Drain {
            return;
        }
        let done = if self.is.drain_by_max_bw {
            self.in_network(sample.in_flight, sample.held) <= self.inflight(self.max_bw())
        } else {
            sample.in_flight <= self.inflight(self.bw()) || self.rounds.count > self.drain_round + DRAIN_ROUNDS
        };
        if done {
            self.start_down(sample.now);
        }
    }
}

impl PathLaw for Bbr3 {
    const NEEDS: Needs = Needs { draws: true, ..Needs::RATE };

    /// `OnInit` (section 5.2.1).
    fn on_start(&mut self, start: &Start, random: Option<Rng>, windows: &mut Windows) {
        self.random = random;
        self.mss = u64::from(start.mss);
        if self.is.counts_packets {
            self.unit = self.mss;
        }
        (self.cwnd, self.initial_cwnd) = (u64::from(windows.cwnd), u64::from(windows.cwnd));
        self.min_rtt = MinRtt::new(start.now, start.min_rtt);
        self.set_first_rate(start.srtt);
        self.aggregation.start(start.now, self.unit);
    }

    fn on_ack(&mut self, ack: &AckReport, after: &AfterAck, windows: &mut Windows) {
        windows.set_cwnd(self.take_ack(ack, after, u64::from(windows.cwnd)));
        // Google's BBR v3 branch: bbr_check_drain sets snd_ssthresh.
        if let Some(bytes) = self.ssthresh {
            windows.set_ssthresh(bytes);
        }
    }

    /// `HandleLostPacket`. `delivered` is the number of packets delivered so far.
    fn on_lost(&mut self, segment: &LostSegment, delivered: u64, now: Time, windows: Windows) {
        (self.delivered_packets, self.cwnd) = (delivered, u64::from(windows.cwnd));
        self.lost += segment.bytes;
        self.handle_lost(segment, now);
    }

    /// Saves the state when a loss, a timeout or an ECN echo begins a recovery (`OnEnterFastRecovery`, `OnEnterRTO`),
    /// and does not reduce the window. After a timeout, the caller sets the window to one segment more than is in
    /// flight (section 5.6.4.4).
    fn on_congestion(&mut self, event: CongestionEvent, _: Time, _: u32, windows: &mut Windows) {
        if event != CongestionEvent::RtoRepeat {
            self.cwnd = u64::from(windows.cwnd);
            self.save_state();
        }
        if matches!(event, CongestionEvent::Rto | CongestionEvent::RtoRepeat) {
            self.note_timeout();
        }
    }

    /// `HandleSpuriousLossDetection`
    fn on_undo(&mut self, _: u32, windows: &mut Windows) {
        self.cwnd = u64::from(windows.cwnd);
        self.handle_spurious();
        windows.set_cwnd(self.cwnd);
    }

    /// `HandleRestartFromIdle` (section 5.4.1). The draft keeps `BBR.extra_acked_delivered`, which then grows without
    /// bound while the application limits the flow; Linux's `bbr_cwnd_event` clears it.
    fn on_app_restart(&mut self, now: Time, _: u32, windows: &mut Windows) {
        self.cwnd = u64::from(windows.cwnd);
        self.idle_restart = true;
        self.aggregation.restart(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with(1.0);
        } else if self.state == State::ProbeRtt {
            self.end_probe_rtt(now);
        }
        windows.set_cwnd(self.cwnd);
    }

    /// True in `ProbeRTT`, where `HandleProbeRTT` marks the connection as limited by the application.
    fn limits_itself(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn grant(&self, cwnd_bytes: u64) -> Grant {
        self.allowed(cwnd_bytes)
    }
}

#[cfg(test)]
mod tests;
