//! Accepts packets: whether the queue need not be asked, and the transmission of a packet that is accepted.

use cwndlab_units::Time;

use super::{Discipline, Link};
use crate::Packet;

impl<P: Packet> Link<P> {
    /// Whether the queue, while it is short, accepts any packet.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.room_for() > 0 || self.room_bytes > 0
    }

    /// If fewer packets than this are in the link, the queue accepts any packet.
    fn room_for(&self) -> u32 {
        match &self.discipline {
            Discipline::AtArrival(queue) => queue.takes_any_below(),
            Discipline::Bounded(_) | Discipline::AtDeparture(_) => 0,
        }
    }

    /// Whether the queue is limited in bytes and accepts a packet of `bytes`.
    #[inline]
    fn fits_in_bytes(&self, bytes: u32) -> bool {
        self.backlog_bytes + u64::from(bytes) <= u64::from(self.room_bytes)
    }

    /// Whether the number of packets or bytes ahead is so small that the queue accepts a packet of `bytes`. Updates
    /// `max_packets` if so.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn takes(&mut self, bytes: u32) -> bool {
        let packets = (self.ring.tail() - self.undeparted) as u32;
        packets < self.calm_below
            || self.fits_in_bytes(bytes) && packets < self.max_packets
            || self.takes_more(packets, bytes)
    }

    /// Whether the queue accepts a packet with `packets` ahead of it. Updates `max_packets` if so.
    #[inline(never)]
    fn takes_more(&mut self, packets: u32, bytes: u32) -> bool {
        if !self.fits_in_bytes(bytes) && packets >= self.room_for() {
            return false;
        }
        self.note_packets(packets);
        true
    }

    /// Updates `max_packets` for a packet with `packets` ahead of it.
    #[inline]
    pub(super) fn note_packets(&mut self, packets: u32) {
        if packets >= self.max_packets {
            self.max_packets = packets + 1;
            self.calm_below = self.room_for().min(self.max_packets);
        }
    }

    /// Accepts a packet of `bytes` on a link of constant rate if the queue need not be asked. Returns the time of its
    /// arrival at the far end. With `CLEAR`, the link must have no impairments.
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    pub(super) fn accept_unasked<const CLEAR: bool>(
        &mut self,
        now: Time,
        bytes: u32,
        write: impl FnOnce(&mut P),
    ) -> Option<Time> {
        let idle = now >= self.free_at;
        let begin = if idle {
            self.undeparted = self.ring.tail();
            if self.calm_below == 0 {
                self.backlog_bytes = 0;
                if !self.takes(bytes) {
                    return None;
                }
            }
            self.backlog_bytes = u64::from(bytes);
            now
        } else {
            if CLEAR {
                self.forget_departed_plain(now);
            } else {
                self.forget_departed_early(now);
            }
            if !self.takes(bytes) {
                return None;
            }
            self.backlog_bytes += u64::from(bytes);
            self.counters.add_wait(now, self.free_at);
            self.free_at
        };
        Some(self.send::<true, CLEAR>(begin, !idle, bytes, write))
    }

    /// Adds a packet, to be sent at `ready` or later. Returns the time of its arrival at the far end. With `STEADY`, the
    /// link must have a constant rate; with `CLEAR`, no impairments either.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn accept<const STEADY: bool, const CLEAR: bool>(
        &mut self,
        now: Time,
        ready: Time,
        bytes: u32,
        write: impl FnOnce(&mut P),
    ) -> Time {
        let begin = self.free_at.max(ready);
        self.counters.add_wait(now, begin);
        self.transmit::<STEADY, CLEAR>(begin, begin > now, bytes, write)
    }

    /// Begins to transmit a packet at `begin`, which must not be before `free_at`. Returns the time of its arrival at
    /// the far end. `waited` is whether the packet had to wait in the queue. `STEADY` and `CLEAR` are explained at
    /// [`Link::accept`].
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn transmit<const STEADY: bool, const CLEAR: bool>(
        &mut self,
        begin: Time,
        waited: bool,
        bytes: u32,
        write: impl FnOnce(&mut P),
    ) -> Time {
        self.backlog_bytes += u64::from(bytes);
        self.send::<STEADY, CLEAR>(begin, waited, bytes, write)
    }

    /// Begins to transmit a packet that `backlog_bytes` includes. Returns the time of its arrival at the far end.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn send<const STEADY: bool, const CLEAR: bool>(
        &mut self,
        begin: Time,
        waited: bool,
        bytes: u32,
        write: impl FnOnce(&mut P),
    ) -> Time {
        let service = match &mut self.capacity {
            Some(capacity) if !STEADY => capacity.finish(begin, waited, bytes) - begin,
            _ if bytes == self.last_bytes => self.last_service,
            _ => self.service_of(bytes),
        };
        self.free_at = if STEADY { begin.plus(service) } else { begin + service };
        self.counters.bytes += u64::from(bytes);
        self.counters.busy_ns = self.counters.busy_ns.wrapping_add(service.as_nanos());
        let arrival = if CLEAR {
            self.free_at.plus(self.delay)
        } else if self.impaired.is_none() {
            self.free_at + self.delay
        } else {
            self.enter_delays::<STEADY>()
        };
        self.ring.push_with(|place| {
            place.arrival = arrival;
            write(&mut place.packet);
        });
        arrival
    }

    /// Computes the transmission time of a packet of `bytes`, and stores both as those of the last packet.
    #[cold] // so that the compiler moves the call out of the hot code
    fn service_of(&mut self, bytes: u32) -> Time {
        (self.last_bytes, self.last_service) = (bytes, self.serializer.time(bytes));
        self.last_service
    }
}
