//! `CoDel`, controlled delay (RFC 8289). While every packet of the last interval waited for longer than the target, the
//! queue drops packets at departure, at intervals that shrink with the square root of the number of drops.

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use super::config::positive;
use super::fifo::Fifo;
use super::{Dequeued, Dropped, QueueError};
use crate::{DropCause, Ecn, Packet};

/// Parameters of [`Codel`]. The defaults are those of RFC 8289, sections 4.4 and 5.2, and Linux's where the RFC has
/// none.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CodelConfig {
    /// Acceptable standing delay. The default is 5 ms.
    pub target_ns: Time,
    /// Time within which the delay must fall below the target at least once: about a round trip. The
    /// default is 100 ms.
    pub interval_ns: Time,
    /// Maximum number of waiting packets; a packet that exceeds it is dropped at arrival. The default is 1000, as in
    /// Linux.
    pub limit: u32,
    /// No drop while at most this many bytes are left in the queue (MAXPACKET of section 5.5).
    pub mtu: u32,
    /// Marks ECN-capable packets where others are dropped.
    pub ecn: bool,
    /// Marks all ECN-capable packets that waited for longer than this, even if `ecn` is off (Linux: `ce_threshold`).
    /// Off if left out.
    pub ce_threshold_ns: Option<Time>,
}

impl Default for CodelConfig {
    fn default() -> Self {
        CodelConfig {
            target_ns: Time::from_millis(5),
            interval_ns: Time::from_millis(100),
            limit: 1000,
            mtu: 1500,
            ecn: false,
            ce_threshold_ns: None,
        }
    }
}

impl CodelConfig {
    pub(super) fn check(&self) -> Result<(), QueueError> {
        positive("limit", u64::from(self.limit))?;
        positive("target_ns", self.target_ns.as_nanos())?;
        if self.interval_ns <= self.target_ns {
            return Err(QueueError::IntervalTooShort(self.interval_ns));
        }
        Ok(())
    }
}

/// A FIFO controlled by `CoDel`.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    config: CodelConfig,
    fifo: Fifo<P>,
    law: ControlLaw,
}

impl<P: Packet> Codel<P> {
    /// Accepts a packet that arrives at `now`, or drops it if the queue is full. Returns false, because the packet is
    /// never marked at arrival.
    pub fn enqueue(&mut self, now: Time, packet: P, dropped: &mut Vec<Dropped<P>>) -> bool {
        if self.fifo.len() >= self.config.limit {
            dropped.push((DropCause::Full, packet));
        } else {
            self.fifo.push(now, &packet);
        }
        false
    }

    /// The next packet to send.
    pub fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        let marked = self.law.dequeue(&self.config, &mut self.fifo, now, dropped)?;
        Some(Dequeued { packet: *self.fifo.taken(), marked })
    }
}

impl<P> Codel<P> {
    /// An empty queue, from a checked configuration.
    pub fn new(config: CodelConfig) -> Codel<P> {
        Codel { config, fifo: Fifo::default(), law: ControlLaw::default() }
    }
    /// Packets waiting.
    pub fn packets(&self) -> u32 {
        self.fifo.len()
    }
    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        self.fifo.bytes
    }
}

/// `CoDel`'s state for one FIFO (RFC 8289, section 5.3). FQ-CoDel has one for each flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ControlLaw {
    /// The time at which the delay will have been above the target for an interval; `None` while the delay is below the
    /// target.
    first_above: Option<Time>,
    drop_next: Time,
    /// Drops since the dropping state was entered.
    count: u32,
    /// `count` when the dropping state was last entered.
    last_count: u32,
    dropping: bool,
    /// The waiting time of the last packet that left the queue.
    sojourn: Time,
}

impl ControlLaw {
    /// Takes the next packet to send (section 5.6), which [`Fifo::taken`] then returns. If `ecn` is set, ECN-capable
    /// packets are marked instead of dropped. Returns whether the packet was marked.
    #[inline]
    pub(super) fn dequeue<P: Packet>(
        &mut self,
        config: &CodelConfig,
        fifo: &mut Fifo<P>,
        now: Time,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<bool> {
        let Some(mut ok_to_drop) = self.take(config, fifo, now) else {
            self.dropping = false;
            return None;
        };
        let mut marked = false;
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false; // delay below target: leave the dropping state
            }
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if let Some(new) = instead_of_drop(config, fifo.taken()) {
                    marked = new;
                    self.drop_next = control_law(config, self.drop_next, self.count);
                    break;
                }
                dropped.push((DropCause::Aqm, *fifo.taken()));
                let Some(next) = self.take(config, fifo, now) else {
                    self.dropping = false;
                    return None;
                };
                ok_to_drop = next;
                if ok_to_drop {
                    self.drop_next = control_law(config, self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            // Enter the dropping state, at nearly the last drop rate if CoDel left this state only recently.
            let delta = self.count.wrapping_sub(self.last_count);
            self.dropping = true;
            let recently = now.saturating_sub(self.drop_next) < config.interval_ns * 16;
            self.count = if delta > 1 && recently { delta } else { 1 };
            self.drop_next = control_law(config, now, self.count);
            self.last_count = self.count;
            if let Some(new) = instead_of_drop(config, fifo.taken()) {
                marked = new;
            } else {
                dropped.push((DropCause::Aqm, *fifo.taken()));
                self.take(config, fifo, now)?;
            }
        }
        if config.ce_threshold_ns.is_some_and(|threshold| self.sojourn > threshold) {
            marked |= mark(fifo.taken()).unwrap_or(false);
        }
        Some(marked)
    }

    /// Takes the packet at the head. Returns whether its delay allows a drop (`dodequeue` of section 5.5).
    #[inline]
    fn take<P: Packet>(&mut self, config: &CodelConfig, fifo: &mut Fifo<P>, now: Time) -> Option<bool> {
        let Some(arrived) = fifo.take() else {
            self.first_above = None;
            return None;
        };
        self.sojourn = now - arrived;
        if self.sojourn < config.target_ns || fifo.bytes <= u64::from(config.mtu) {
            self.first_above = None;
            return Some(false);
        }
        let first_above = *self.first_above.get_or_insert(now + config.interval_ns);
        Some(now >= first_above)
    }
}

/// The time of the next drop after a drop at `from` (section 5.7).
#[cold] // inlined, its constants would be loaded for each packet
#[inline(never)]
fn control_law(config: &CodelConfig, from: Time, count: u32) -> Time {
    from + config.interval_ns.mul_f64(1.0 / f64::from(count).sqrt())
}

/// Marks the packet if marking is on and the packet is ECN-capable. Returns whether the mark is new, or `None` if the
/// packet has to be dropped instead.
fn instead_of_drop<P: Packet>(config: &CodelConfig, packet: &mut P) -> Option<bool> {
    if config.ecn {
        mark(packet)
    } else {
        None
    }
}

/// Marks an ECN-capable packet. Returns whether the mark is new (a packet that already carries CE needs no other
/// signal), or `None` if the packet is not ECN-capable.
fn mark<P: Packet>(packet: &mut P) -> Option<bool> {
    if packet.ecn() == Ecn::NotEct {
        return None;
    }
    let new = packet.ecn() != Ecn::Ce;
    if new {
        packet.mark_ce();
    }
    Some(new)
}

#[cfg(test)]
mod tests;
