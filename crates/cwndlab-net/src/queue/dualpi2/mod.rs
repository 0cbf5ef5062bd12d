//! `DualPI2`, a dual-queue coupled AQM for L4S (RFC 9332, appendix A): a low-latency queue for packets with ECT(1) or
//! CE, a classic queue for all others, and one PI controller. The controller's output determines how often packets of
//! the low-latency queue are marked; its square, how often those of the classic queue are dropped (or marked). There
//! are two forms: the RFC's pseudocode and Linux's `sch_dualpi2`.

mod linux;

use cwndlab_units::{Rate, Time};
use rand::SeedableRng as _;
use serde::{Deserialize, Serialize};

use super::config::{interval, positive, within};
use super::fifo::Fifo;
use super::{Dequeued, Dropped, QueueError};
use crate::{DropCause, Ecn, Packet, Rng};

/// The form of [`DualPi2`]'s signals and scheduler. Both forms have the same controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DualPi2Form {
    /// RFC 9332, appendix A: evenly spaced signals, and a ramp in the low-latency queue.
    #[default]
    Rfc9332,
    /// `net/sched/sch_dualpi2.c` of Linux 6.17 and later: random signals, and a step in the low-latency queue.
    Linux,
}

/// Parameters of [`DualPi2`]; the defaults are those of RFC 9332, appendix A.1.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct DualPi2Config {
    /// The form of signals and scheduler.
    pub form: DualPi2Form,
    /// Maximum number of packets waiting in both queues together. The default is 10,000, as in Linux.
    pub limit: u32,
    /// Target delay. The default is 15 ms.
    pub target_ns: Time,
    /// Interval of the controller's updates. The default is 16 ms.
    pub update_ns: Time,
    /// Integral gain, in Hz. The default is 0.16.
    pub alpha: f64,
    /// Proportional gain, in Hz. The default is 3.2.
    pub beta: f64,
    /// Coupling factor k: the marking probability of the low-latency queue is k times the square root of the drop
    /// probability of the classic queue.
    pub coupling: f64,
    /// Delay below which the low-latency queue marks nothing by itself. The default is 800 µs. If a
    /// packet of 1500 bytes takes longer to send, its transmission time is used instead. Only in the RFC's form.
    pub min_th_ns: Time,
    /// Width of the ramp from `min_th_ns` to the delay at which all packets are marked. The default is
    /// 400 µs. Only in the RFC's form.
    pub range_ns: Time,
    /// Delay above which the low-latency queue marks all packets. The default is 1 ms. Only in Linux's
    /// form.
    pub step_ns: Time,
    /// Share of the link guaranteed to the classic queue. The default is 0.1.
    pub classic_share: f64,
    /// Marks classic packets with ECT(0) instead of dropping them, except under overload.
    pub ecn: bool,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        DualPi2Config {
            form: DualPi2Form::Rfc9332,
            limit: 10_000,
            target_ns: Time::from_millis(15),
            update_ns: Time::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            min_th_ns: Time::from_micros(800),
            range_ns: Time::from_micros(400),
            step_ns: Time::from_millis(1),
            classic_share: 0.1,
            ecn: true,
        }
    }
}

impl DualPi2Config {
    pub(super) fn check(&self) -> Result<(), QueueError> {
        positive("limit", u64::from(self.limit))?;
        positive("target_ns", self.target_ns.as_nanos())?;
        interval("update_ns", self.update_ns)?;
        within("alpha", self.alpha, 0.0..=f64::MAX)?;
        within("beta", self.beta, 0.0..=f64::MAX)?;
        within("coupling", self.coupling, 1.0..=100.0)?;
        within("classic_share", self.classic_share, 0.0..=1.0)?;
        let default = DualPi2Config::default();
        let (name, form) = match self.form {
            DualPi2Form::Linux if self.min_th_ns != default.min_th_ns => ("min_th_ns", "rfc9332"),
            DualPi2Form::Linux if self.range_ns != default.range_ns => ("range_ns", "rfc9332"),
            DualPi2Form::Rfc9332 if self.step_ns != default.step_ns => ("step_ns", "linux"),
            _ => return Ok(()),
        };
        Err(QueueError::OtherForm { name, form })
    }
}

/// The low-latency queue and the classic queue, with their controller and scheduler.
#[derive(Clone, Debug)]
pub struct DualPi2<P> {
    config: DualPi2Config,
    low: Lane<P>,
    classic: Lane<P>,
    /// The controller's output p'.
    base: f64,
    delay_old_s: f64,
    /// The next update of the controller. Updates that are due are carried out when a packet next arrives or leaves,
    /// before the packet itself is handled.
    next_update: Time,
    /// Weighted bytes by which the classic queue is behind its share (if positive) or ahead of it (if negative).
    owed: f64,
    /// Random numbers for Linux's signals.
    rng: Rng,
}

#[derive(Clone, Debug)]
struct Lane<P> {
    fifo: Fifo<P>,
    /// Sum of the probabilities since the last signal (`recur` of appendix A.1), which spaces signals evenly.
    accumulated: f64,
}

impl<P> Lane<P> {
    fn new() -> Lane<P> {
        Lane { fifo: Fifo::default(), accumulated: 0.0 }
    }
    fn recur(&mut self, probability: f64) -> bool {
        self.accumulated += probability;
        let hit = self.accumulated > 1.0;
        if hit {
            self.accumulated -= 1.0;
        }
        hit
    }
    fn delay_s(&self, now: Time) -> f64 {
        self.fifo.head_arrival().map_or(0.0, |arrived| now.saturating_sub(arrived).as_secs_f64())
    }
}

impl<P> DualPi2<P> {
    /// An empty queue for a link of `rate`, from a checked configuration. `seed` starts the random numbers of Linux's
    /// form.
    pub fn new(mut config: DualPi2Config, rate: Rate, seed: u64) -> DualPi2<P> {
        config.min_th_ns = config.min_th_ns.max(rate.serialization_time(1500));
        DualPi2 {
            rng: Rng::seed_from_u64(seed),
            low: Lane::new(),
            classic: Lane::new(),
            base: 0.0,
            delay_old_s: 0.0,
            next_update: config.update_ns,
            owed: match config.form {
                DualPi2Form::Rfc9332 => 0.0,
                DualPi2Form::Linux => linux::first_credit(&config),
            },
            config,
        }
    }
    /// Packets waiting.
    pub fn packets(&self) -> u32 {
        self.low.fifo.len() + self.classic.fifo.len()
    }
    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        self.low.fifo.bytes + self.classic.fifo.bytes
    }

    /// Carries out the controller's updates up to `now` (A.1, `dualpi2_update`).
    fn update_until(&mut self, now: Time) {
        while self.next_update <= now {
            let at = self.next_update;
            let delay_s = self.low.delay_s(at).max(self.classic.delay_s(at));
            let target_s = self.config.target_ns.as_secs_f64();
            let step = self.config.alpha * (delay_s - target_s) + self.config.beta * (delay_s - self.delay_old_s);
            let before = self.base;
            self.base = (before + step).clamp(0.0, 1.0);
            if self.base.to_bits() == before.to_bits()
                && delay_s == 0.0
                && self.delay_old_s == 0.0
                && self.packets() == 0
            {
                // The controller is at rest (its output is 0, or alpha is 0), so the remaining updates until now have
                // no effect.
                let skipped = (now - at).as_nanos() / self.config.update_ns.as_nanos();
                self.next_update += self.config.update_ns * (skipped + 1);
                return;
            }
            self.delay_old_s = delay_s;
            self.next_update += self.config.update_ns;
        }
    }

    /// The marking probability that the low-latency queue's own ramp gives at this delay (A.1, `laqm`).
    fn native(&self, delay_s: f64) -> f64 {
        let over_s = delay_s - self.config.min_th_ns.as_secs_f64();
        if over_s < 0.0 {
            return 0.0;
        }
        (over_s / self.config.range_ns.as_secs_f64()).min(1.0)
    }

    /// Whether the low-latency queue is served next: always, except for the share guaranteed to the classic queue.
    fn low_is_next(&self) -> bool {
        self.low.fifo.len() > 0 && (self.classic.fifo.len() == 0 || self.owed <= 0.0)
    }
}

impl<P: Packet> DualPi2<P> {
    /// A.1, `dualpi2_enqueue`: accepts a packet that arrives at `now`, or drops it if the buffer is full.
    pub fn enqueue(&mut self, now: Time, packet: P, dropped: &mut Vec<Dropped<P>>) -> bool {
        self.update_until(now);
        if self.packets() >= self.config.limit {
            dropped.push((DropCause::Full, packet));
            return false;
        }
        if self.config.form == DualPi2Form::Linux {
            self.note_arrival_linux();
        }
        // RFC 9331, section 5.1: ECT(1) and CE identify L4S.
        let lane = if matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce) { &mut self.low } else { &mut self.classic };
        lane.fifo.push(now, &packet);
        false
    }

    /// A.1 and A.2, `dualpi2_dequeue`: the next packet to send.
    pub fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        self.update_until(now);
        if self.config.form == DualPi2Form::Linux {
            return self.dequeue_linux(now, dropped);
        }
        while self.packets() > 0 {
            let coupled = self.config.coupling * self.base; // p_CL
            let squared = self.base * self.base; // p_C
            let overload = coupled >= 1.0; // A.2: marks cannot become more frequent, so both queues drop
            if self.low_is_next() {
                let delay_s = self.low.delay_s(now);
                let (_, packet) = self.low.fifo.pop()?;
                if overload && self.low.recur(squared) {
                    dropped.push((DropCause::Aqm, packet));
                    continue;
                }
                let marks = self.native(delay_s).max(coupled);
                let signal = overload || self.low.recur(marks);
                return Some(self.send(self.config.classic_share, packet, signal));
            }
            let (_, packet) = self.classic.fifo.pop()?;
            let signal = self.classic.recur(squared);
            if signal && (overload || !self.config.ecn || packet.ecn() == Ecn::NotEct) {
                dropped.push((DropCause::Aqm, packet));
                continue;
            }
            return Some(self.send(-(1.0 - self.config.classic_share), packet, signal));
        }
        None
    }

    /// Charges the packet to the share of the other queue, which is negative for the low-latency one, and marks the packet
    /// if `signal` is set.
    fn send(&mut self, share: f64, mut packet: P, signal: bool) -> Dequeued<P> {
        self.owed += share * f64::from(packet.wire_bytes());
        if self.classic.fifo.len() == 0 || self.low.fifo.len() == 0 {
            self.owed = 0.0; // nothing is owed to a queue that has nothing to send
        }
        let marked = signal && packet.ecn() != Ecn::Ce;
        if marked {
            packet.mark_ce();
        }
        Dequeued { packet, marked }
    }
}

#[cfg(test)]
mod tests;
