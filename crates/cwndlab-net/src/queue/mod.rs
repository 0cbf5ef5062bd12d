//! Queues of a link, in two families, chosen by [`QueueConfig`] and dispatched by enums.
//!
//! - [`ArrivalQueue`] (drop-tail, infinite, RED, Linux's RED) decides when a packet arrives and stores nothing: the
//!   link's ring holds the packets. The departure time is known at once, and a hop costs one event.
//!
//! - [`DepartureQueue`] (drop-on-full, `CoDel`, PIE, FQ-CoDel, FQ-PIE, CAKE, `DualPI2`, TBF, CBQ) decides when packets leave. It stores
//!   them with their arrival times, and the link asks it for the next packet whenever the link is free.
//!
//! A CBQ with a single bounded class is a third kind, [`BoundedClass`]: its results are those of the second family, at
//! nearly the cost of the first.

mod cake;
mod codel;
mod config;
mod drop_on_full;
mod drop_tail;
mod dualpi2;
mod error;
mod fifo;
mod flow_hash;
mod fq_codel;
mod fq_pie;
mod historical;
mod kernel;
mod kinds;
mod pie;
mod red;
mod tbf;

pub use cake::{AckFilter, Cake, CakeConfig, Codepoint, Framing, Isolation, RouteHosts, Tins};
pub use codel::{Codel, CodelConfig};
pub use config::Unit;
pub use drop_on_full::{DropOnFull, DropOnFullConfig, Victim};
pub use drop_tail::{DropTail, DropTailConfig};
pub use dualpi2::{DualPi2, DualPi2Config, DualPi2Form};
pub use error::{ClassError, QueueError};
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use fq_pie::{FqPie, FqPieConfig};
pub use historical::{
    BoundedClass, Cbq, CbqClassConfig, CbqConfig, LinuxRed, LinuxRedConfig, LinuxRedVersion, Sharing,
};
pub use kernel::{KernelQueue, KernelQueueConfig};
pub use pie::{DelayEstimate, Pie, PieConfig};
pub use red::{weight_for_burst, Red, RedConfig, RedRules, Regions};
pub use tbf::{Tbf, TbfConfig};

use cwndlab_units::{Rate, Time};
use serde::{Deserialize, Serialize};

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

kinds::queues! {
    arrival(config, rate; queue, now, backlog, wire_bytes, ecn, rng) {
        /// Drops an arriving packet that does not fit.
        DropTail(DropTailConfig) as DropTail:
            DropTail::new(config) => queue.on_arrival(backlog, wire_bytes);
        /// Random early detection, Floyd and Jacobson 1993.
        Red(RedConfig) as Box<Red>:
            Box::new(Red::new(config.clone(), rate)) => queue.on_arrival(now, backlog, wire_bytes, ecn, rng);
        /// RED of Linux 2.2 and 2.3.
        LinuxRed(LinuxRedConfig) as Box<LinuxRed>:
            Box::new(LinuxRed::new(config.clone())) => queue.on_arrival(now, backlog, ecn, rng);
        /// A queueing discipline of the kernel on which a study runs. The simulator has none.
        Kernel(KernelQueueConfig) as KernelQueue:
            KernelQueue::from(config) => (*queue).into();
    }
    departure(seed; packet, dropped, place) {
        inlined {
            /// Fair queueing with `CoDel` for each flow, RFC 8290.
            FqCodel(FqCodelConfig): FqCodel::new(config.clone(), seed)
                => queue.enqueue(now, packet, dropped) => queue.dequeue(now, dropped, place);
        }
        others {
            /// Drops from the front or at random when it is full.
            DropOnFull(DropOnFullConfig): DropOnFull::new(config.clone())
                => queue.enqueue(now, packet, rng, dropped) => queue.dequeue();
            /// Controlled delay, RFC 8289.
            Codel(CodelConfig): Codel::new(config.clone())
                => queue.enqueue(now, packet, dropped) => queue.dequeue(now, dropped);
            /// Proportional integral controller enhanced, RFC 8033.
            Pie(PieConfig): Pie::new(config.clone())
                => queue.enqueue(now, packet, rng, dropped) => queue.dequeue(now);
            /// Dual-queue coupled PI, RFC 9332.
            #[serde(rename = "dualpi2")]
            DualPi2(DualPi2Config): DualPi2::new(config.clone(), rate, seed)
                => queue.enqueue(now, packet, dropped) => queue.dequeue(now, dropped);
            /// Fair queueing with PIE for each flow, as in Linux.
            FqPie(FqPieConfig): FqPie::new(config.clone(), seed)
                => queue.enqueue(now, &packet, rng, dropped) => queue.dequeue(now);
            /// Shaper, tins, fair queueing, AQM and ACK filter in one, as in Linux.
            Cake(CakeConfig): Cake::new(config.clone(), seed)
                => queue.enqueue(now, &packet, dropped) => queue.dequeue(now, dropped);
            /// Token bucket filter: a shaper, as in Linux.
            Tbf(TbfConfig): Tbf::new(config, seed)
                => queue.enqueue(now, &packet, rng, dropped) => queue.dequeue(now, dropped);
            /// Class-based queueing, Floyd and Jacobson 1995.
            Cbq(CbqConfig): Cbq::new(config, rate)
                => queue.enqueue(now, packet, rng, dropped) => queue.dequeue(now);
        }
    }
}

impl ArrivalQueue {
    /// With fewer packets than this in the link, [`ArrivalQueue::on_arrival`] always returns [`Admit::Enqueue`].
    pub fn takes_any_below(&self) -> u32 {
        match self {
            ArrivalQueue::Infinite | ArrivalQueue::Kernel(_) => u32::MAX,
            ArrivalQueue::DropTail(queue) => queue.takes_any_below(),
            _ => 0,
        }
    }

    /// See [`DropTail::takes_any_up_to_bytes`].
    pub fn takes_any_up_to_bytes(&self) -> u64 {
        match self {
            ArrivalQueue::DropTail(queue) => queue.takes_any_up_to_bytes(),
            _ => 0,
        }
    }

    /// RED's average queue length, in the unit of the queue's limit; `None` for other queues.
    pub fn average(&self) -> Option<f64> {
        match self {
            ArrivalQueue::Red(queue) => Some(queue.average()),
            ArrivalQueue::LinuxRed(queue) => Some(queue.average()),
            _ => None,
        }
    }

    /// How long RED's average was below, between and above its thresholds, up to `now`.
    pub fn regions(&self, now: Time, idle_since: Option<Time>) -> Option<Regions> {
        match self {
            ArrivalQueue::Red(queue) => Some(queue.regions(now, idle_since)),
            ArrivalQueue::LinuxRed(queue) => Some(queue.regions(now)),
            _ => None,
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

impl<P: Packet> DepartureQueue<P> {
    /// The time at which to call [`DepartureQueue::dequeue`] again after it returned nothing; `None` if the queue is
    /// empty. The time is later than `now` only with TBF or CAKE, or with CBQ if no class with waiting packets may send
    /// at `now`.
    #[inline(never)]
    pub fn next_ready(&self, now: Time) -> Option<Time> {
        match self {
            DepartureQueue::Cbq(queue) => queue.next_ready(now),
            DepartureQueue::Tbf(queue) => queue.next_ready(now),
            DepartureQueue::Cake(queue) => queue.next_ready(now),
            _ => (self.packets() > 0).then_some(now),
        }
    }

    /// The time at which to call [`DepartureQueue::dequeue`] after a packet whose service ends at `free_at`, if packets
    /// are waiting: `free_at`, or later if no waiting packet may be sent at `free_at`.
    #[inline]
    pub fn next_turn(&self, free_at: Time) -> Time {
        match self {
            DepartureQueue::FqCodel(_) => free_at,
            _ => self.next_turn_of_others(free_at),
        }
    }

    #[inline(never)] // inlined, the others would take registers of the frequent kind
    fn next_turn_of_others(&self, free_at: Time) -> Time {
        match self {
            DepartureQueue::Cbq(queue) => queue.next_turn(free_at),
            DepartureQueue::Tbf(queue) => queue.next_turn(free_at),
            DepartureQueue::Cake(queue) => queue.next_turn(free_at),
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
}

#[cfg(test)]
mod tests;
