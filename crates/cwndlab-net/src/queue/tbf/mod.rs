//! Token bucket filter: Linux's shaper `sch_tbf` (6.12). It holds packets back until their tokens have accrued. Tokens
//! are counted in nanoseconds of the rate, and transmission times are rounded as in Linux.

mod rate;

use cwndlab_units::{Rate, Time};
use serde::{Deserialize, Serialize};

use super::config::positive;
use super::fifo::Fifo;
use super::{DepartureQueue, Dequeued, Dropped, Queue, QueueConfig, QueueError};
use crate::{DropCause, Packet, Rng};

use rate::LinuxRate;

/// Parameters of [`Tbf`], as `tc` has them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TbfConfig {
    /// Rate of the tokens, in bit/s. The link's own header does not use tokens. A burst leaves at the link's rate.
    pub rate_bps: Rate,
    /// Size of the bucket in bytes. Larger packets are dropped.
    pub burst_bytes: u32,
    /// Capacity in bytes, if packets wait in a FIFO; required without `queue`. In a study, a packet is 1500 bytes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Rate of a second bucket, above the first rate, in bit/s. It limits the speed of bursts. Off if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rate_bps: Option<Rate>,
    /// Size of the second bucket in bytes (`mtu` of `tc`). Larger packets are dropped.
    #[serde(default = "one_packet")]
    pub peak_burst_bytes: u32,
    /// The queue in which packets wait, in place of a FIFO: drop-on-full, codel, fq-codel, pie, fq-pie or
    /// dualpi2, with its own
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Box<QueueConfig>>,
}

fn one_packet() -> u32 {
    1500
}

impl TbfConfig {
    pub(super) fn check(&self) -> Result<(), QueueError> {
        positive("burst_bytes", u64::from(self.burst_bytes))?;
        positive("peak_burst_bytes", u64::from(self.peak_burst_bytes))?;
        LinuxRate::check("rate_bps", self.rate_bps)?;
        if let Some(peak) = self.peak_rate_bps {
            if peak <= self.rate_bps {
                return Err(QueueError::PeakRate { peak_bps: peak.as_bps(), rate_bps: self.rate_bps.as_bps() });
            }
        }
        match (&self.queue, self.limit) {
            (None, Some(limit)) => positive("limit", u64::from(limit)),
            (None, None) | (Some(_), Some(_)) => Err(QueueError::ShapedLimit),
            (Some(queue), None) => match **queue {
                QueueConfig::DropOnFull(_)
                | QueueConfig::Codel(_)
                | QueueConfig::FqCodel(_)
                | QueueConfig::Pie(_)
                | QueueConfig::FqPie(_)
                | QueueConfig::DualPi2(_) => queue.check(),
                _ => Err(QueueError::ShapedKind),
            },
        }
    }
}

/// A token bucket filter.
#[derive(Clone, Debug)]
pub struct Tbf<P> {
    rate: Bucket,
    peak: Option<Bucket>,
    /// `max_size`: larger packets are dropped.
    max_bytes: u32,
    /// Time up to which both buckets have been filled (`t_c`).
    filled_at: Time,
    waiting: Waiting<P>,
    /// Time before which the next packet has too few tokens, as far as it is known.
    ready_at: Time,
}

/// The packets that wait for tokens.
#[derive(Clone, Debug)]
enum Waiting<P> {
    /// In a FIFO of so many bytes.
    Fifo(Fifo<P>, u32),
    /// In another queue, which has given its next packet already (`qdisc_peek_dequeued`).
    Queue(DepartureQueue<P>, Option<Dequeued<P>>),
}

/// One of the buckets, in nanoseconds of its rate.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: LinuxRate,
    size_ns: i64,
    tokens_ns: i64,
}

impl Bucket {
    fn full(rate: Rate, bytes: u32) -> Bucket {
        let rate = LinuxRate::new(rate);
        let size_ns = rate.time_ns(bytes);
        Bucket { rate, size_ns, tokens_ns: size_ns }
    }

    /// The tokens that a packet of `bytes` would leave after `elapsed_ns`; negative if there are too few.
    fn left_ns(&self, elapsed_ns: i64, bytes: u32) -> i64 {
        self.tokens_ns.saturating_add(elapsed_ns).min(self.size_ns) - self.rate.time_ns(bytes)
    }
}

impl<P> Tbf<P> {
    /// An empty queue with full buckets, from a checked configuration. `seed` is for the queue inside.
    pub fn new(config: &TbfConfig, seed: u64) -> Tbf<P> {
        let waiting = match config.queue.as_ref().map(|queue| queue.build(config.rate_bps, seed)) {
            None => Waiting::Fifo(Fifo::default(), config.limit.unwrap_or(0)),
            Some(Queue::Departure(queue)) => Waiting::Queue(queue, None),
            Some(Queue::Arrival(_)) => unreachable!("QueueConfig::check was called"),
        };
        let peak_bytes = config.peak_rate_bps.map_or(u32::MAX, |_| config.peak_burst_bytes);
        Tbf {
            rate: Bucket::full(config.rate_bps, config.burst_bytes),
            peak: config.peak_rate_bps.map(|rate| Bucket::full(rate, config.peak_burst_bytes)),
            max_bytes: config.burst_bytes.min(peak_bytes),
            filled_at: Time::ZERO,
            waiting,
            ready_at: Time::ZERO,
        }
    }
}

impl<P: Packet> Tbf<P> {
    /// Packets waiting.
    pub fn packets(&self) -> u32 {
        match &self.waiting {
            Waiting::Fifo(fifo, _) => fifo.len(),
            Waiting::Queue(queue, next) => queue.packets() + u32::from(next.is_some()),
        }
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        match &self.waiting {
            Waiting::Fifo(fifo, _) => fifo.bytes,
            Waiting::Queue(queue, next) => queue.bytes() + next.map_or(0, |next| u64::from(next.packet.wire_bytes())),
        }
    }

    /// Accepts a packet that arrives at `now` (`tbf_enqueue`). Returns whether the queue inside marked it.
    pub fn enqueue(&mut self, now: Time, packet: &P, rng: &mut Rng, dropped: &mut Vec<Dropped<P>>) -> bool {
        if packet.wire_bytes() > self.max_bytes {
            dropped.push((DropCause::Full, *packet));
            return false;
        }
        match &mut self.waiting {
            Waiting::Queue(queue, _) => return queue.enqueue(now, packet, rng, dropped),
            Waiting::Fifo(fifo, limit) if fifo.bytes + u64::from(packet.wire_bytes()) > u64::from(*limit) => {
                dropped.push((DropCause::Full, *packet)); // bfifo_enqueue
            }
            Waiting::Fifo(fifo, _) => fifo.push(now, packet),
        }
        false
    }

    /// The next packet to send, if it has enough tokens (`tbf_dequeue`).
    pub fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        let bytes = match &mut self.waiting {
            Waiting::Fifo(fifo, _) => fifo.head()?.wire_bytes(),
            Waiting::Queue(queue, next) => {
                if next.is_none() {
                    let mut packet = P::default();
                    let marked = queue.dequeue(now, dropped, &mut packet)?;
                    *next = Some(Dequeued { packet, marked });
                }
                next.as_ref()?.packet.wire_bytes()
            }
        };
        let elapsed_ns = (now - self.filled_at).as_nanos() as i64;
        let left_ns = self.rate.left_ns(elapsed_ns, bytes);
        let peak_left_ns = self.peak.map_or(0, |peak| peak.left_ns(elapsed_ns, bytes));
        let missing_ns = left_ns.min(peak_left_ns);
        if missing_ns < 0 {
            self.ready_at = now + Time::from_nanos(missing_ns.unsigned_abs());
            return None;
        }
        (self.filled_at, self.rate.tokens_ns) = (now, left_ns);
        if let Some(peak) = &mut self.peak {
            peak.tokens_ns = peak_left_ns;
        }
        match &mut self.waiting {
            Waiting::Fifo(fifo, _) => fifo.pop().map(|(_, packet)| Dequeued { packet, marked: false }),
            Waiting::Queue(_, next) => next.take(),
        }
    }

    /// See [`DepartureQueue::next_ready`].
    pub(super) fn next_ready(&self, now: Time) -> Option<Time> {
        (self.packets() > 0).then(|| now.max(self.ready_at))
    }

    /// See [`DepartureQueue::next_turn`]. A queue inside chooses the next packet only at `free_at`, as in Linux.
    pub(super) fn next_turn(&self, free_at: Time) -> Time {
        let Waiting::Fifo(fifo, _) = &self.waiting else { return free_at };
        let Some(bytes) = fifo.head().map(Packet::wire_bytes) else { return free_at };
        let left_ns = self.rate.left_ns(0, bytes).min(self.peak.map_or(0, |peak| peak.left_ns(0, bytes)));
        free_at.max(self.filled_at + Time::from_nanos(left_ns.min(0).unsigned_abs()))
    }
}

#[cfg(test)]
mod tests;
