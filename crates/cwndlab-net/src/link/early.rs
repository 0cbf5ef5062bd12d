//! Extra delays that are drawn as packets enter the link, so that each packet still needs only one event per hop.
//!
//! By default, an extra delay is drawn when the packet would otherwise reach the far end. If delays keep the order of
//! packets and nothing else draws from the link's random stream, drawing them earlier gives the same values. The
//! arrival times in the ring then include the delays, and the queue length is computed from a second ring, of departure
//! times.

use cwndlab_units::{Ring, Time};

use super::{Discipline, Impaired, Link};
use crate::queue::ArrivalQueue;
use crate::Packet;

/// The departure times of a link's packets, if their extra delays are drawn as they enter the link.
fn departures<P>(impaired: Option<&Impaired<P>>) -> Option<&Ring<Time>> {
    impaired?.departures.as_ref()
}

impl<P: Packet> Link<P> {
    /// Whether the queue draws no random numbers and fixes a packet's departure when the packet arrives.
    pub(super) fn draws_only_for_delays(&self) -> bool {
        matches!(self.discipline, Discipline::AtArrival(ArrivalQueue::Infinite | ArrivalQueue::DropTail(_)))
    }

    /// Whether packets may be held back at the far end, because their extra delays are drawn only there.
    #[inline]
    pub fn holds_back(&self) -> bool {
        self.impaired.as_ref().is_some_and(|impaired| impaired.departures.is_none())
    }

    /// Whether extra delays are drawn as packets enter the link, the rate is constant, and the queue, while it is short,
    /// accepts any packet.
    pub fn is_early(&self) -> bool {
        departures(self.impaired.as_deref()).is_some() && self.capacity.is_none() && self.has_room()
    }

    /// Like [`Link::offer_plain`], for a link whose extra delays are drawn as packets enter ([`Link::is_early`]).
    #[inline]
    pub fn offer_early(&mut self, now: Time, wire_bytes: u32, write: impl FnOnce(&mut P)) -> Option<Time> {
        debug_assert!(self.is_early());
        self.accept_unasked::<false>(now, wire_bytes + self.header_bytes, write)
    }

    /// The time of arrival of a packet that leaves the transmitter at `free_at`, including its extra delay if delays
    /// are drawn as packets enter.
    #[inline]
    pub(super) fn enter_delays<const STEADY: bool>(&mut self) -> Time {
        let arrival = if STEADY { self.free_at.plus(self.delay) } else { self.free_at + self.delay };
        let Some(impaired) = &mut self.impaired else { return arrival };
        let Some(departures) = &mut impaired.departures else { return arrival };
        departures.drop_below(self.ring.head());
        departures.push_with(|place| *place = self.free_at);
        impaired.rules.late_arrival(self.free_at, arrival, &mut self.rng)
    }

    /// Advances `undeparted` past the packets whose last bit has left by `now`, so that they no longer count as queued.
    #[inline]
    pub(super) fn forget_departed(&mut self, now: Time) {
        if now >= self.free_at {
            self.forget_all();
        } else if self.impaired.is_none() {
            self.forget_departed_plain(now);
        } else {
            self.forget_departed_early(now);
        }
    }

    /// The part of [`Link::forget_departed`] for an impaired link with packets in service or waiting.
    #[inline(never)]
    pub(super) fn forget_departed_early(&mut self, now: Time) {
        let Some(departures) = departures(self.impaired.as_deref()) else {
            return self.forget_departed_plain(now);
        };
        let mut left = self.undeparted;
        while *departures.at(left) <= now {
            self.backlog_bytes -= u64::from(self.wire_bytes(left));
            left += 1;
        }
        self.undeparted = left;
    }

    /// The time at which the packet at a position in the ring leaves the transmitter.
    pub(super) fn departure(&self, position: u64) -> Time {
        match departures(self.impaired.as_deref()) {
            Some(departures) => *departures.at(position),
            None => self.ring.at(position).arrival - self.delay,
        }
    }
}
