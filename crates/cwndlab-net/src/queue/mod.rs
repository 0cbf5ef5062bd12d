//! Queues of a link, in two families, chosen by [`QueueConfig`] and dispatched by enums.
//!
//! - [`ArrivalQueue`] (drop-tail, infinite, RED, Linux's RED) decides when a packet arrives and stores nothing: the
//!   link's ring holds the packets. The departure time is known at once, and a hop costs one event.
//!
//! - [`DepartureQueue`] (drop-on-full, `CoDel`, PIE, FQ-CoDel, `DualPI2`, CBQ) decides when packets leave. It stores
//!   them with their arrival times, and the link asks it for the next packet whenever the link is free.
//!
//! A CBQ with a single bounded class is a third kind, [`BoundedClass`]: its results are those of the second family, at
//! nearly the cost of the first.

mod cbq;
mod codel;
mod config;
mod drop_on_full;
mod drop_tail;
mod dualpi2;
mod error;
mod fifo;
mod fq_codel;
mod linux_red;
mod pie;
mod red;

pub use cbq::{BoundedClass, Cbq, CbqClassConfig, CbqConfig, Sharing};
pub use codel::{Codel, CodelConfig};
pub use config::{QueueConfig, Unit};
pub use drop_on_full::{DropOnFull, DropOnFullConfig, Victim};
pub use drop_tail::{DropTail, DropTailConfig};
pub use dualpi2::{DualPi2, DualPi2Config, DualPi2Form};
pub use error::{ClassError, QueueError};
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use linux_red::{LinuxRed, LinuxRedConfig, LinuxRedVersion};
pub use pie::{DelayEstimate, Pie, PieConfig};
pub use red::{weight_for_burst, Red, RedConfig, RedRules, Regions};

use cwndlab_units::Time;

use crate::{DropCause, Ecn, Packet, Rng};

/// The content of a link when a packet arrives, without that packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Packets, including the one in service.
    pub packets: u32,
    /// Bytes, including the whole packet in service.
    pub bytes: u64,
    /// Wire bytes of the packet in service; 0 if the link is idle.
    pub in_service_bytes: u32,
    /// The time at which the link will have sent all these packets. If `packets` is 0, the time since which the link
    /// has been idle ([`Time::ZERO`] if it has never sent a packet).
    pub free_at: Time,
}

impl Backlog {
    /// Start of the link's idle time, if it is idle.
    #[inline]
    pub fn idle_since(&self) -> Option<Time> {
        (self.packets == 0).then_some(self.free_at)
    }
    /// Waiting packets, without the one in service.
    #[inline]
    pub fn waiting_packets(&self) -> u32 {
        self.packets - u32::from(self.in_service_bytes > 0)
    }
    /// Waiting bytes, without the packet in service.
    #[inline]
    pub fn waiting_bytes(&self) -> u64 {
        self.bytes - u64::from(self.in_service_bytes)
    }
}

/// A queue's decision on an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admit {
    /// Accept the packet unchanged.
    Enqueue,
    /// Set CE ([`Packet::mark_ce`]) and accept the packet. Returned only for ECN-capable packets.
    Mark,
    /// Drop the packet.
    Drop(DropCause),
}

/// A queue of either family, as built from its [`QueueConfig`].
#[derive(Clone, Debug)]
pub enum Queue<P> {
    /// Decides at arrival; the link stores the packets.
    Arrival(ArrivalQueue),
    /// Decides at departure; stores the packets itself.
    Departure(DepartureQueue<P>),
}

/// Queues that decide at arrival.
#[derive(Clone, Debug)]
pub enum ArrivalQueue {
    /// Accepts every packet.
    Infinite,
    /// Drops an arriving packet that does not fit.
    DropTail(DropTail),
    /// Random early detection.
    Red(Box<Red>),
    /// RED of Linux 2.2 and 2.3.
    LinuxRed(Box<LinuxRed>),
}

impl ArrivalQueue {
    /// Decides on a packet of `wire_bytes` that arrives at `now` and finds `backlog`.
    #[inline]
    pub fn on_arrival(&mut self, now: Time, backlog: Backlog, wire_bytes: u32, ecn: Ecn, rng: &mut Rng) -> Admit {
        match self {
            ArrivalQueue::DropTail(queue) => queue.on_arrival(backlog, wire_bytes),
            ArrivalQueue::Infinite => Admit::Enqueue,
            ArrivalQueue::Red(queue) => queue.on_arrival(now, backlog, wire_bytes, ecn, rng),
            ArrivalQueue::LinuxRed(queue) => queue.on_arrival(now, backlog, ecn, rng),
        }
    }

    /// With fewer packets than this in the link, [`ArrivalQueue::on_arrival`] always returns [`Admit::Enqueue`].
    pub fn takes_any_below(&self) -> u32 {
        match self {
            ArrivalQueue::Infinite => u32::MAX,
            ArrivalQueue::DropTail(queue) => queue.takes_any_below(),
            ArrivalQueue::Red(_) | ArrivalQueue::LinuxRed(_) => 0,
        }
    }

    /// See [`DropTail::takes_any_up_to_bytes`].
    pub fn takes_any_up_to_bytes(&self) -> u64 {
        match self {
            ArrivalQueue::DropTail(queue) => queue.takes_any_up_to_bytes(),
            ArrivalQueue::Infinite | ArrivalQueue::Red(_) | ArrivalQueue::LinuxRed(_) => 0,
        }
    }

    /// RED's average queue length, in the unit of the queue's limit; `None` for other queues.
    pub fn average(&self) -> Option<f64> {
        match self {
            ArrivalQueue::Red(queue) => Some(queue.average()),
            ArrivalQueue::LinuxRed(queue) => Some(queue.average()),
            ArrivalQueue::Infinite | ArrivalQueue::DropTail(_) => None,
        }
    }

    /// How long RED's average was below, between and above its thresholds, up to `now`.
    pub fn regions(&self, now: Time, idle_since: Option<Time>) -> Option<Regions> {
        match self {
            ArrivalQueue::Red(queue) => Some(queue.regions(now, idle_since)),
            ArrivalQueue::LinuxRed(queue) => Some(queue.regions(now)),
            ArrivalQueue::Infinite | ArrivalQueue::DropTail(_) => None,
        }
    }
}

/// A packet that leaves a queue to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dequeued<P> {
    /// The packet, with CE already set if `marked`.
    pub packet: P,
    /// Whether the queue marked the packet when it left.
    pub marked: bool,
}

/// A packet that a queue dropped, with the cause.
pub type Dropped<P> = (DropCause, P);

/// Queues that decide at departure.
#[derive(Clone, Debug)]
pub enum DepartureQueue<P> {
    /// Drops from the front or at random when it is full.
    DropOnFull(Box<DropOnFull<P>>),
    /// `CoDel`, RFC 8289.
    Codel(Box<Codel<P>>),
    /// PIE, RFC 8033.
    Pie(Box<Pie<P>>),
    /// FQ-CoDel, RFC 8290.
    FqCodel(Box<FqCodel<P>>),
    /// `DualPI2`, RFC 9332.
    DualPi2(Box<DualPi2<P>>),
    /// Class-based queueing.
    Cbq(Box<Cbq<P>>),
}

impl<P: Packet> DepartureQueue<P> {
    /// Offers a packet that arrives at `now`. Packets that the queue drops, this one or others, are appended to
    /// `dropped`. Returns whether the packet was marked CE.
    #[inline]
    pub fn enqueue(&mut self, now: Time, packet: &P, rng: &mut Rng, dropped: &mut Vec<Dropped<P>>) -> bool {
        match self {
            DepartureQueue::FqCodel(queue) => queue.enqueue(now, packet, dropped),
            _ => self.enqueue_other(now, *packet, rng, dropped),
        }
    }

    /// Adds a packet to a kind of queue that is less frequent. Inlined, these kinds would take registers.
    #[inline(never)]
    fn enqueue_other(&mut self, now: Time, packet: P, rng: &mut Rng, dropped: &mut Vec<Dropped<P>>) -> bool {
        match self {
            DepartureQueue::DropOnFull(queue) => queue.enqueue(now, packet, rng, dropped),
            DepartureQueue::Codel(queue) => queue.enqueue(now, packet, dropped),
            DepartureQueue::Pie(queue) => queue.enqueue(now, packet, rng, dropped),
            DepartureQueue::FqCodel(_) => unreachable!("it is asked directly"),
            DepartureQueue::DualPi2(queue) => queue.enqueue(now, packet, dropped),
            DepartureQueue::Cbq(queue) => queue.enqueue(now, packet, rng, dropped),
        }
    }

    /// Writes the packet to send at `now` on a free link to `place`. Returns whether the queue marked it. Packets dropped
    /// before it are appended to `dropped`. `None` if the queue is empty, or if it may not send a packet yet: see
    /// [`DepartureQueue::next_ready`].
    #[inline]
    pub fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped<P>>, place: &mut P) -> Option<bool> {
        match self {
            DepartureQueue::FqCodel(queue) => queue.dequeue(now, dropped, place),
            _ => self.dequeue_other(now, dropped, place),
        }
    }

    /// Takes the next packet from a kind of queue that is less frequent. Inlined, these kinds would take registers.
    #[inline(never)]
    fn dequeue_other(&mut self, now: Time, dropped: &mut Vec<Dropped<P>>, place: &mut P) -> Option<bool> {
        let next = match self {
            DepartureQueue::DropOnFull(queue) => queue.dequeue(),
            DepartureQueue::Codel(queue) => queue.dequeue(now, dropped),
            DepartureQueue::Pie(queue) => queue.dequeue(now),
            DepartureQueue::FqCodel(_) => unreachable!("it is asked directly"),
            DepartureQueue::DualPi2(queue) => queue.dequeue(now, dropped),
            DepartureQueue::Cbq(queue) => queue.dequeue(now),
        };
        let Dequeued { packet, marked } = next?;
        *place = packet;
        Some(marked)
    }

    /// The time at which to call [`DepartureQueue::dequeue`] again after it returned nothing; `None` if the queue is
    /// empty. The time is later than `now` only with CBQ, if no class with waiting packets may send at `now`.
    pub fn next_ready(&self, now: Time) -> Option<Time> {
        match self {
            DepartureQueue::Cbq(queue) => queue.next_ready(now),
            _ => (self.packets() > 0).then_some(now),
        }
    }

    /// The time at which to call [`DepartureQueue::dequeue`] after a packet whose service ends at `free_at`, if packets
    /// are waiting: `free_at`, or later if no waiting packet may be sent at `free_at`.
    #[inline]
    pub fn next_turn(&self, free_at: Time) -> Time {
        match self {
            DepartureQueue::Cbq(queue) => queue.next_turn(free_at),
            _ => free_at,
        }
    }

    /// Number of classes with waiting packets. Until a packet leaves, [`DepartureQueue::next_ready`] changes only when
    /// this number changes.
    pub fn waiting_classes(&self) -> u32 {
        match self {
            DepartureQueue::Cbq(queue) => queue.waiting_classes(),
            _ => u32::from(self.packets() > 0),
        }
    }

    /// Packets waiting (the one in service has left the queue).
    pub fn packets(&self) -> u32 {
        match self {
            DepartureQueue::DropOnFull(queue) => queue.packets(),
            DepartureQueue::Codel(queue) => queue.packets(),
            DepartureQueue::Pie(queue) => queue.packets(),
            DepartureQueue::FqCodel(queue) => queue.packets(),
            DepartureQueue::DualPi2(queue) => queue.packets(),
            DepartureQueue::Cbq(queue) => queue.packets(),
        }
    }

    /// The average queue length of a CBQ's first RED leaf, in the unit of the leaf's limit; `None` for other queues.
    pub fn average(&self) -> Option<f64> {
        match self {
            DepartureQueue::Cbq(queue) => queue.average(),
            _ => None,
        }
    }

    /// How long the average ([`DepartureQueue::average`]) was below, between and above its thresholds, up to `now`.
    pub fn regions(&self, now: Time) -> Option<Regions> {
        match self {
            DepartureQueue::Cbq(queue) => queue.regions(now),
            _ => None,
        }
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        match self {
            DepartureQueue::DropOnFull(queue) => queue.bytes(),
            DepartureQueue::Codel(queue) => queue.bytes(),
            DepartureQueue::Pie(queue) => queue.bytes(),
            DepartureQueue::FqCodel(queue) => queue.bytes(),
            DepartureQueue::DualPi2(queue) => queue.bytes(),
            DepartureQueue::Cbq(queue) => queue.bytes(),
        }
    }
}

#[cfg(test)]
mod tests;
