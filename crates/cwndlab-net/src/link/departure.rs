//! Links whose queue decides at departure. Each packet needs a second event, which takes it from the queue.

use cwndlab_units::Time;

use super::{Discipline, Link, Offered, Served};
use crate::queue::Dropped;
use crate::Packet;

impl<P: Packet> Served<P> {
    /// The integral of the number of waiting packets over the time since the last call, in packet-nanoseconds.
    #[inline]
    fn waited(&mut self, now: Time) -> Time {
        let span = now - self.counted_until;
        self.counted_until = now;
        span * u64::from(self.waiting)
    }

    /// Whether [`Link::pop_dropped`] or [`Link::take_marked`] would return a packet.
    #[inline]
    fn has_signals(&self) -> bool {
        !self.dropped.is_empty() || self.marked.is_some()
    }
}

impl<P: Packet> Link<P> {
    #[inline(never)]
    pub(super) fn enqueue(&mut self, now: Time, packet: &P) -> Offered {
        let Discipline::AtDeparture(served) = &mut self.discipline else { unreachable!("asked only for such queues") };
        self.counters.add_wait(Time::ZERO, served.waited(now));
        let (before, waited) = (served.dropped.len(), served.waiting > 0);
        let held = (now < served.held_until).then(|| served.queue.waiting_classes());
        let marked = served.queue.enqueue(now, packet, &mut self.rng, &mut served.dropped);
        self.counters.count_drops(&served.dropped[before..]);
        served.waiting = served.waiting + 1 - (served.dropped.len() - before) as u32;
        debug_assert_eq!(served.waiting, served.queue.packets());
        self.max_packets = self.max_packets.max(served.waiting + u32::from(now < self.free_at));
        if held.is_some_and(|classes| classes == served.queue.waiting_classes()) {
            // Every class with waiting packets is still over its limit until `held_until`, so `due` stays as it is.
        } else if now >= self.free_at {
            self.serve_next(now, waited);
        } else {
            served.due = self.free_at;
            served.held_until = Time::ZERO;
        }
        if marked {
            self.counters.marks += 1;
            return Offered::Marked;
        }
        Offered::Queued
    }

    /// When [`Link::serve`] must be called next; [`Time::MAX`] if never, unless another packet is offered: if the queue
    /// decides at arrival (a CBQ with a single bounded class rarely needs the call), or if no packet waits.
    #[inline]
    pub fn next_service(&self) -> Time {
        match &self.discipline {
            Discipline::AtArrival(_) => Time::MAX,
            Discipline::Bounded(class) => class.due(),
            Discipline::AtDeparture(served) => served.due,
        }
    }

    /// After [`Link::offer`]: whether the caller, which has scheduled the next service for `armed`, has nothing left to
    /// do. The service is still due then or not needed any more, and no packet was dropped or marked.
    #[inline]
    pub fn is_settled(&self, armed: Time) -> bool {
        match &self.discipline {
            Discipline::AtArrival(_) => true,
            Discipline::Bounded(class) => class.due() == armed || class.due().is_never(),
            Discipline::AtDeparture(served) => served.due == armed && !served.has_signals(),
        }
    }

    /// After an offered packet was queued: whether the link has no impairments and is settled ([`Link::is_settled`]).
    #[inline]
    pub fn only_queued(&self, armed: Time) -> bool {
        self.impaired.is_none() && self.is_settled(armed)
    }

    /// Performs the service that is due at `now`: a queue that decides at departure sends its next packet, and in a
    /// bounded class of CBQ packets whose transmission has begun no longer wait. Then returns [`Link::next_service`],
    /// and [`Link::has_signals`]: whether to call [`Link::pop_dropped`] and [`Link::take_marked`].
    pub fn serve(&mut self, now: Time) -> (Time, bool) {
        match &mut self.discipline {
            Discipline::AtArrival(_) => (Time::MAX, false),
            Discipline::Bounded(class) => {
                class.serve(now);
                (class.due(), false)
            }
            Discipline::AtDeparture(_) => self.serve_next(now, true),
        }
    }

    /// Sends the packet that the queue chooses, if any may be sent. `waited`: whether any packet was in the queue
    /// before `now`. Returns what [`Link::serve`] returns.
    fn serve_next(&mut self, now: Time, waited: bool) -> (Time, bool) {
        self.forget_departed(now);
        let Discipline::AtDeparture(served) = &mut self.discipline else { unreachable!("asked only for such queues") };
        self.counters.add_wait(Time::ZERO, served.waited(now));
        let before = served.dropped.len();
        let place = &mut self.ring.next_slot().packet;
        let next = served.queue.dequeue(now, &mut served.dropped, place);
        self.counters.count_drops(&served.dropped[before..]);
        served.waiting -= (served.dropped.len() - before) as u32 + u32::from(next.is_some());
        debug_assert_eq!(served.waiting, served.queue.packets());
        let Some(marked) = next else {
            let ready = served.queue.next_ready(now).filter(|&ready| ready > now);
            served.held_until = ready.unwrap_or(Time::ZERO);
            served.due = ready.unwrap_or(Time::MAX);
            return (served.due, served.has_signals());
        };
        if marked {
            self.counters.marks += 1;
            served.marked = Some(*place);
        }
        let bytes = place.wire_bytes() + self.header_bytes;
        self.transmit::<false, false>(now, waited, bytes, |_| {}); // the packet is in its slot already
        let free_at = self.free_at;
        let Discipline::AtDeparture(served) = &mut self.discipline else { unreachable!("the discipline stays") };
        (served.due, served.held_until) = if served.waiting == 0 {
            (Time::MAX, Time::ZERO)
        } else {
            match served.queue.next_turn(free_at) {
                due if due == free_at => (due, Time::ZERO),
                due => (due, due),
            }
        };
        (served.due, served.has_signals())
    }

    /// Whether [`Link::pop_dropped`] or [`Link::take_marked`] would return a packet.
    #[inline]
    pub fn has_signals(&self) -> bool {
        match &self.discipline {
            Discipline::AtArrival(_) | Discipline::Bounded(_) => false,
            Discipline::AtDeparture(served) => served.has_signals(),
        }
    }

    /// Returns a packet that the queue has dropped, each packet once; `None` if there is none. It may be the packet
    /// just offered. Queues that decide at arrival report drops only by [`Offered::Dropped`].
    #[inline]
    pub fn pop_dropped(&mut self) -> Option<Dropped<P>> {
        match &mut self.discipline {
            Discipline::AtArrival(_) | Discipline::Bounded(_) => None,
            Discipline::AtDeparture(served) => served.dropped.pop(),
        }
    }

    /// Returns the packet that the queue marked at departure since the last call, if any. Queues that decide at arrival
    /// report marks only by [`Offered::Marked`].
    #[inline]
    pub fn take_marked(&mut self) -> Option<P> {
        match &mut self.discipline {
            Discipline::AtArrival(_) | Discipline::Bounded(_) => None,
            Discipline::AtDeparture(served) => served.marked.take(),
        }
    }
}
