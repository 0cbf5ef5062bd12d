//! Counters of a link, in total and up to an instant.

use cwndlab_units::Time;

use super::{Discipline, Link};
use crate::queue::Dropped;
use crate::{DropCause, Packet};

/// Counters of a link. The number of departures is `arrivals` minus `drops`, minus the packets still queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets offered.
    pub arrivals: u64,
    /// Packets sent or in service. A queue that decides at arrival counts its waiting packets, too.
    pub accepted: u64,
    /// Bytes of the accepted packets, including the link's headers.
    pub bytes: u64,
    /// Packets dropped, by [`DropCause`].
    pub drops: [u64; DropCause::COUNT],
    /// Packets marked CE.
    pub marks: u64,
    /// Total transmission time of the accepted packets, including the part still ahead of those in service or waiting.
    /// Time in which a transmission pauses because the link's rate is 0 counts, too.
    pub busy: Time,
    /// Sum over packets of the time from arrival to departure. Divided by the length of the run, it is the mean number
    /// of packets in the system (Little 1961).
    pub sojourn: Time,
    /// Largest number of packets in the system.
    pub max_packets: u32,
}

/// The stored part of [`LinkCounters`]. `arrivals` and `accepted` are derived from other fields; `max_packets` is
/// stored in the link, where it needs no padding.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) bytes: u64,
    pub(super) drops: [u64; DropCause::COUNT],
    pub(super) marks: u64,
    /// In nanoseconds, modulo 2^64. Includes transmission time still ahead, which [`Link::counters_at`] subtracts.
    pub(super) busy_ns: u64,
    /// Total time from arrival to the begin of transmission, modulo 2^64. Includes time still ahead.
    pub(super) waited_ns: u64,
}

impl Sums {
    pub(super) fn count_drops<P>(&mut self, dropped: &[Dropped<P>]) {
        for (cause, _) in dropped {
            self.drops[*cause as usize] += 1;
        }
    }

    /// Counts a packet that waits from `from` to `to`.
    #[inline]
    pub(super) fn add_wait(&mut self, from: Time, to: Time) {
        self.waited_ns = self.waited_ns.wrapping_add(to.as_nanos().wrapping_sub(from.as_nanos()));
    }

    /// The time that packets spend waiting or in service.
    fn sojourn(&self) -> Time {
        Time::from_nanos(self.waited_ns.wrapping_add(self.busy_ns))
    }
}

impl<P: Packet> Link<P> {
    /// The counters. `busy` and `sojourn` already include the time that accepted packets will still wait or be in
    /// service.
    pub fn counters(&self) -> LinkCounters {
        self.reported(self.counters, self.counters.sojourn())
    }

    fn reported(&self, sums: Sums, sojourn: Time) -> LinkCounters {
        let waiting = match &self.discipline {
            Discipline::AtArrival(_) | Discipline::Bounded(_) => 0,
            Discipline::AtDeparture(served) => u64::from(served.queue.packets()),
        };
        // Every accepted packet has had a place in the ring.
        let accepted = self.ring.tail();
        let Sums { bytes, drops, marks, busy_ns, .. } = sums;
        let busy = Time::from_nanos(busy_ns);
        let arrivals = accepted + waiting + drops.iter().sum::<u64>();
        LinkCounters { arrivals, accepted, bytes, drops, marks, busy, sojourn, max_packets: self.max_packets }
    }

    /// Counters up to `now`: `busy` and `sojourn` contain no time after `now`.
    pub fn counters_at(&mut self, now: Time) -> LinkCounters {
        self.forget_departed(now);
        let mut sums = self.counters;
        // Used only for a bounded class: the arrival times of its packets contain no extra delay.
        let departure = |position| self.ring.at(position).arrival - self.delay;
        // The transmission time still ahead. It has no gaps, except where a bounded class makes packets wait.
        let mut ahead = self.free_at.saturating_sub(now);
        let mut waiting = 0;
        match &mut self.discipline {
            Discipline::AtArrival(_) => {}
            Discipline::AtDeparture(served) => {
                let waited = now.saturating_sub(served.counted_until) * u64::from(served.queue.packets());
                sums.add_wait(Time::ZERO, waited);
            }
            Discipline::Bounded(class) => {
                let (bytes, begins) = class.waiting(now);
                waiting = begins.len() as u64;
                let first = self.ring.tail() - waiting;
                ahead = if self.undeparted < first { departure(self.undeparted) - now } else { Time::ZERO };
                (first..).zip(begins).for_each(|(position, begin)| ahead += departure(position) - begin);
                sums.bytes -= bytes;
            }
        }
        for position in self.undeparted..self.ring.tail() {
            sums.add_wait(self.departure(position), now);
        }
        let sojourn = sums.sojourn();
        sums.busy_ns = sums.busy_ns.wrapping_sub(ahead.as_nanos());
        let counters = self.reported(sums, sojourn);
        // As in the other queues with classes, a packet counts as accepted only once its transmission has begun.
        LinkCounters { accepted: counters.accepted - waiting, ..counters }
    }
}
