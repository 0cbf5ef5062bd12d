//! A one-way link: a queue, a transmitter with a rate, and a propagation delay.
//!
//! **One event per hop.** A queue that decides at arrival (drop-tail, RED) fixes a packet's departure when the packet
//! is offered, so the packet's arrival at the far end is the only event. The queue length is computed when needed, from
//! the departures up to now. Queues that decide at departure (`CoDel`, FQ-CoDel, CBQ) need a second event for each
//! packet. A CBQ with a single bounded class decides at arrival, and rarely needs the second event.
//!
//! Call order: [`Link::offer`]; then [`Link::arrive`] at the time that [`Link::next_arrival`] returns, and
//! [`Link::serve`] at the time that [`Link::next_service`] returns. A driver keeps one pending event for the next
//! arrival and one for the next service. A packet that departs at the time at which another one is offered has already
//! left the queue.

mod accept;
mod counters;
mod departure;
mod early;
mod plain;

pub use counters::LinkCounters;

use cwndlab_units::{Rate, Ring, Serializer, Time};
use rand::RngCore as _;

use counters::Sums;

use crate::capacity::{Capacity, CapacityConfig};
use crate::impair::{Fate, Impairments};
use crate::queue::{Admit, ArrivalQueue, Backlog, BoundedClass, DepartureQueue, Dropped, Queue, QueueConfig, Regions};
use crate::{DropCause, Packet, Rng};

/// The link's decision on an offered packet. A queue that decides at departure always returns `Queued` or `Marked`; the
/// packets that it drops are returned by [`Link::pop_dropped`].
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Offered {
    /// The packet is in the queue or in service.
    Queued,
    /// The packet is queued and was marked CE.
    Marked,
    /// The packet was dropped.
    Dropped(DropCause),
}

#[derive(Clone, Copy, Debug, Default)]
struct InFlight<P> {
    packet: P,
    arrival: Time,
}

#[derive(Debug)]
enum Discipline<P> {
    AtArrival(ArrivalQueue),
    /// A CBQ with a single bounded class. It also decides at arrival, but its packets may have to wait although the
    /// link is free, because the class is over its limit.
    Bounded(Box<BoundedClass>),
    /// Boxed, so that links with the common kind of queue stay small.
    AtDeparture(Box<Served<P>>),
}

#[derive(Debug)]
struct Served<P> {
    queue: DepartureQueue<P>,
    /// The value of [`DepartureQueue::packets`], which can be read here without dispatching on the kind of queue.
    waiting: u32,
    /// The time at which [`Link::serve`] is due: the end of the current transmission, or the time at which a class
    /// comes within its limit again. [`Time::MAX`] if no packet waits.
    due: Time,
    /// Equals `due` while all classes with waiting packets are over their limits, so that none may be sent. Else zero.
    held_until: Time,
    /// The time up to which [`LinkCounters::sojourn`] includes the waiting packets.
    counted_until: Time,
    dropped: Vec<Dropped<P>>,
    marked: Option<P>,
}

/// The link's losses, delays, reordering and duplication, with the packets that they have delayed or copied.
#[derive(Debug)]
struct Impaired<P> {
    rules: Impairments,
    /// Copies made by duplication that have not been offered yet.
    copies: Vec<P>,
    /// Packets that have crossed the link and wait for the end of their extra delays, each with the time at which its
    /// delay ends. Sorted by this time and, at equal times, by arrival.
    held: Vec<(Time, P)>,
    /// The time at which each packet in the ring leaves the transmitter. `None` unless extra delays are drawn when
    /// packets enter the link (see `early.rs`).
    departures: Option<Ring<Time>>,
}

/// A one-way link. The module documentation describes the order of calls.
#[derive(Debug)]
pub struct Link<P> {
    serializer: Serializer,
    /// Size and transmission time of the last packet. Most packets of a link have the same size.
    last_bytes: u32,
    last_service: Time,
    delay: Time,
    header_bytes: u32,
    /// The time at which the transmitter will have sent all packets accepted so far.
    free_at: Time,
    /// Packets from their acceptance (or dequeue, if the queue decides at departure) until they reach the far end.
    ring: Ring<InFlight<P>>,
    // Kept apart from the counter of bytes: next to it, the compiler would use more instructions, for vectors.
    backlog_bytes: u64,
    /// Position in the ring of the first packet that may not have departed yet. Updated when the queue length is read.
    undeparted: u64,
    /// If the packets in the link, including the arriving one, have at most this many bytes, the queue accepts the
    /// arriving one and need not be asked. 0 if the queue's limit is not in bytes.
    room_bytes: u32,
    /// [`LinkCounters::max_packets`].
    max_packets: u32,
    /// If fewer packets than this are in the link, the queue need not be asked: it accepts any packet, and
    /// `max_packets` is not exceeded.
    calm_below: u32,
    discipline: Discipline<P>,
    counters: Sums,
    rng: Rng,
    impaired: Option<Box<Impaired<P>>>,
    /// Replaces the serializer if the link's rate changes over time.
    capacity: Option<Box<Capacity>>,
    /// Whether the link has a constant rate, no impairments and a queue that decides at arrival.
    plain: bool,
}

impl<P: Packet> Link<P> {
    /// Creates a link. `queue` must have passed [`QueueConfig::check`]. The random stream of `rng` must be for this
    /// link only.
    ///
    /// # Panics
    /// If the rate is below 2 bit/s.
    pub fn new(rate: Rate, delay: Time, header_bytes: u32, queue: &QueueConfig, mut rng: Rng) -> Link<P> {
        let bounded = match queue {
            // A bounded class does not count link headers, so it is used only for links without them.
            QueueConfig::Cbq(config) if header_bytes == 0 => BoundedClass::new(config, rate),
            _ => None,
        };
        let seed = rng.next_u64();
        let discipline = match (bounded, queue.build(rate, seed)) {
            (Some(class), _) => Discipline::Bounded(Box::new(class)),
            (None, Queue::Arrival(queue)) => Discipline::AtArrival(queue),
            (None, Queue::Departure(queue)) => Discipline::AtDeparture(Box::new(Served {
                queue,
                waiting: 0,
                due: Time::MAX,
                held_until: Time::ZERO,
                counted_until: Time::ZERO,
                dropped: Vec::new(),
                marked: None,
            })),
        };
        Link {
            serializer: Serializer::new(rate),
            last_bytes: 0,
            last_service: Time::ZERO,
            delay,
            header_bytes,
            free_at: Time::ZERO,
            ring: Ring::new(),
            undeparted: 0,
            backlog_bytes: 0,
            room_bytes: match &discipline {
                Discipline::AtArrival(queue) => queue.takes_any_up_to_bytes().min(u64::from(u32::MAX)) as u32,
                Discipline::Bounded(_) | Discipline::AtDeparture(_) => 0,
            },
            max_packets: 0,
            calm_below: 0,
            plain: !matches!(discipline, Discipline::AtDeparture(_)),
            discipline,
            counters: Sums::default(),
            rng,
            impaired: None,
            capacity: None,
        }
    }

    /// Replaces the link's constant rate by `capacity`, which must have passed [`CapacityConfig::check`]. The queue
    /// still assumes the rate with which the link was created.
    #[must_use]
    pub fn varying(mut self, capacity: &CapacityConfig) -> Link<P> {
        self.plain = false;
        self.capacity = Some(Box::new(capacity.build()));
        self
    }

    /// Adds losses, extra delays, reordering or duplication to the link.
    #[must_use]
    pub fn impaired(mut self, rules: Impairments) -> Link<P> {
        self.plain = false;
        let early = self.draws_only_for_delays() && rules.entry_is_clear() && !rules.may_reorder();
        let departures = early.then(Ring::new);
        self.impaired = Some(Box::new(Impaired { rules, copies: Vec::new(), held: Vec::new(), departures }));
        self
    }

    /// Whether this link has a constant rate, no impairments and a queue that, while it is short, accepts any packet.
    /// Most packets can then be offered with [`Link::offer_plain`].
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.plain && self.has_room()
    }

    /// Whether several packets can arrive at the same instant. At a constant rate they cannot, unless the transmission
    /// time of the smallest packet, an IP header, rounds to 0 ns.
    pub fn bunches(&self) -> bool {
        self.impaired.is_some() || self.capacity.is_some() || self.serializer.time(20) == Time::ZERO
    }

    /// Whether the link's queue has a single class, which is bounded.
    pub fn has_bounded_class(&self) -> bool {
        matches!(self.discipline, Discipline::Bounded(_))
    }

    /// Offers a packet at `now`.
    #[allow(clippy::inline_always)] // called for each packet on each link
    #[inline(always)]
    pub fn offer(&mut self, now: Time, packet: &P) -> Offered {
        if self.plain {
            return self.admit::<true>(now, packet);
        }
        match self.discipline {
            Discipline::AtDeparture(_) if self.impaired.is_none() => self.enqueue(now, packet),
            _ => self.offer_special(now, packet),
        }
    }

    /// Returns a copy that the last [`Link::offer`] made of its packet, if any. Pass it to [`Link::offer_copy`].
    #[inline]
    pub fn pop_copy(&mut self) -> Option<P> {
        self.impaired.as_mut()?.copies.pop()
    }

    /// Offers a copy from [`Link::pop_copy`]. Losses and duplication are not applied again.
    pub fn offer_copy(&mut self, now: Time, packet: &P) -> Offered {
        self.enter_queue(now, packet)
    }

    /// Offers a packet to a link that may have impairments, a variable rate, or a queue that decides at departure.
    #[inline(never)]
    fn offer_special(&mut self, now: Time, packet: &P) -> Offered {
        if let Some(impaired) = &mut self.impaired {
            match impaired.rules.on_entry(now, packet, &mut self.rng) {
                Fate::Pass => {}
                Fate::Drop => {
                    self.counters.drops[DropCause::Loss as usize] += 1;
                    return Offered::Dropped(DropCause::Loss);
                }
                Fate::Duplicate => impaired.copies.push(*packet),
            }
        }
        self.enter_queue(now, packet)
    }

    fn enter_queue(&mut self, now: Time, packet: &P) -> Offered {
        match self.discipline {
            Discipline::AtArrival(_) | Discipline::Bounded(_) => self.admit::<false>(now, packet),
            Discipline::AtDeparture(_) => self.enqueue(now, packet),
        }
    }

    /// Offers a packet to a queue that decides at arrival. `PLAIN`: the link has a constant rate and no impairments.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn admit<const PLAIN: bool>(&mut self, now: Time, packet: &P) -> Offered {
        self.forget_departed(now);
        let bytes = packet.wire_bytes() + self.header_bytes;
        if !self.takes(bytes) {
            return self.admit_asking(now, bytes, packet);
        }
        self.accept::<PLAIN, PLAIN>(now, now, bytes, |place| *place = *packet);
        Offered::Queued
    }

    /// The part of [`Link::admit`] for a packet that the queue may drop or mark.
    #[inline(never)]
    fn admit_asking(&mut self, now: Time, bytes: u32, packet: &P) -> Offered {
        let backlog = self.backlog_at_arrival();
        let answer = match &mut self.discipline {
            Discipline::AtArrival(queue) => queue.on_arrival(now, backlog, bytes, packet.ecn(), &mut self.rng),
            Discipline::Bounded(class) => class.on_arrival(now, bytes, packet.ecn(), &mut self.rng),
            Discipline::AtDeparture(_) => Admit::Enqueue, // not reached: `enqueue` handles these queues
        };
        let marked = match answer {
            Admit::Enqueue => false,
            Admit::Mark => true,
            Admit::Drop(cause) => {
                self.counters.drops[cause as usize] += 1;
                return Offered::Dropped(cause);
            }
        };
        let ready = match &mut self.discipline {
            Discipline::Bounded(class) => class.begin(now, self.free_at, bytes),
            _ => now,
        };
        self.note_packets(backlog.packets);
        self.accept::<false, false>(now, ready, bytes, |place| {
            *place = *packet;
            if marked {
                place.mark_ce();
            }
        });
        if marked {
            self.counters.marks += 1;
            return Offered::Marked;
        }
        Offered::Queued
    }

    /// [`Link::forget_departed`] for links whose arrival times contain no extra delay.
    #[inline]
    fn forget_departed_plain(&mut self, now: Time) {
        if now >= self.free_at {
            return self.forget_all();
        }
        // A packet is in service and will arrive later than `reached`, so the loop ends before the tail.
        let reached = now.plus(self.delay);
        while self.ring.at(self.undeparted).arrival <= reached {
            self.backlog_bytes -= u64::from(self.wire_bytes(self.undeparted));
            self.undeparted += 1;
        }
    }

    /// [`Link::forget_departed`] if nothing is in service: all packets have departed.
    #[inline]
    fn forget_all(&mut self) {
        self.undeparted = self.ring.tail();
        self.backlog_bytes = 0;
    }

    #[inline]
    fn backlog_at_arrival(&self) -> Backlog {
        let packets = (self.ring.tail() - self.undeparted) as u32;
        let in_service_bytes = if packets == 0 { 0 } else { self.wire_bytes(self.undeparted) };
        Backlog { packets, bytes: self.backlog_bytes, in_service_bytes, free_at: self.free_at }
    }

    /// Size of the packet at a position in the ring, including the link's header.
    #[inline]
    fn wire_bytes(&self, position: u64) -> u32 {
        self.ring.at(position).packet.wire_bytes() + self.header_bytes
    }

    /// The time at which to call [`Link::arrive`]: when the next packet reaches the far end, or when an extra delay
    /// ends there. [`Time::MAX`] if no packet is under way.
    #[inline]
    pub fn next_arrival(&self) -> Time {
        let ring = self.ring.front().map_or(Time::MAX, |head| head.arrival);
        match &self.impaired {
            None => ring,
            Some(impaired) => impaired.held.first().map_or(ring, |&(release, _)| release.min(ring)),
        }
    }

    /// Returns a packet that arrives at the far end at `now`. Call this at the time of [`Link::next_arrival`]. `None`
    /// if no packet arrives: one that has reached the far end may first have to wait for its extra delay.
    #[inline]
    pub fn arrive(&mut self, now: Time) -> Option<P> {
        if self.holds_back() {
            return self.arrive_held_back(now);
        }
        self.pop_ring(now)
    }

    #[inline]
    fn pop_ring(&mut self, now: Time) -> Option<P> {
        let head = *self.ring.front().filter(|head| head.arrival <= now)?;
        if self.undeparted == self.ring.head() {
            // The head packet has departed, but `undeparted` has not been advanced past it yet.
            self.undeparted += 1;
            self.backlog_bytes -= u64::from(head.packet.wire_bytes() + self.header_bytes);
        }
        self.ring.pop();
        Some(head.packet)
    }

    #[cold]
    fn arrive_held_back(&mut self, now: Time) -> Option<P> {
        while let Some(packet) = self.pop_ring(now) {
            let impaired = self.impaired.as_mut()?;
            let extra = impaired.rules.extra_delay(now - self.delay, now, &mut self.rng);
            let release = now + extra;
            if impaired.held.last().is_none_or(|&(last, _)| last <= release) {
                impaired.held.push((release, packet)); // most packets keep their order
            } else {
                let place = impaired.held.partition_point(|&(t, _)| t <= release);
                impaired.held.insert(place, (release, packet));
            }
        }
        let held = &mut self.impaired.as_mut()?.held;
        (held.first()?.0 <= now).then(|| held.remove(0).1)
    }

    /// The packets and bytes that are in the queue or in service at `now`.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        self.forget_departed(now);
        let mut backlog = self.backlog_at_arrival();
        if let Discipline::AtDeparture(served) = &self.discipline {
            backlog.packets += served.queue.packets();
            backlog.bytes += served.queue.bytes();
        }
        backlog
    }

    /// RED's average queue length, in the unit of the queue's limit; `None` for other queues.
    pub fn average(&self) -> Option<f64> {
        match &self.discipline {
            Discipline::AtArrival(queue) => queue.average(),
            Discipline::Bounded(class) => class.average(),
            Discipline::AtDeparture(served) => served.queue.average(),
        }
    }

    /// How long RED's average was below, between and above its thresholds, up to `now`; `None` for other queues.
    pub fn regions(&mut self, now: Time) -> Option<Regions> {
        self.forget_departed(now);
        let idle_since = self.backlog_at_arrival().idle_since();
        match &mut self.discipline {
            Discipline::AtArrival(queue) => queue.regions(now, idle_since),
            Discipline::Bounded(class) => class.regions(now),
            Discipline::AtDeparture(served) => served.queue.regions(now),
        }
    }

    /// Number of packets that have crossed the link.
    pub fn crossed(&self) -> u64 {
        self.ring.head() - self.impaired.as_ref().map_or(0, |impaired| impaired.held.len() as u64)
    }

    /// Packets in the link: queued, in service, propagating or waiting for an extra delay; and copies not yet offered.
    pub fn packets_inside(&self) -> u64 {
        let held = self.impaired.as_ref().map_or(0, |impaired| impaired.held.len() + impaired.copies.len());
        let waiting = match &self.discipline {
            Discipline::AtArrival(_) | Discipline::Bounded(_) => 0,
            Discipline::AtDeparture(served) => served.queue.packets(),
        };
        self.ring.tail() - self.ring.head() + held as u64 + u64::from(waiting)
    }
}

#[cfg(test)]
mod tests;
