//! A link in the run loop: its events, and the short path for packets about which nothing is recorded.

use cwndlab_net::{Link, Packet as _};
use cwndlab_units::Time;

use crate::events::EventQueue;
use crate::packet::Packet;

/// A link and the run loop's data about it.
pub(super) struct Wire {
    pub(super) link: Link<Packet>,
    /// Time of this link's live arrival event; an entry of the event queue with another time is stale.
    pub(super) arrival_armed: Time,
    /// Time of this link's live service event; an entry of the event queue with another time is stale.
    pub(super) service_armed: Time,
    /// Node at the far end of the link.
    pub(super) to: u32,
    /// Whether the link's queue is recorded at each arrival.
    pub(super) watched: bool,
    /// Whether [`Link::offer_plain`] may be called and nothing about the packet is recorded.
    pub(super) ordinary: bool,
    /// Whether [`Link::arrive_plain`] may be called and nothing about the arrival is recorded.
    pub(super) passes: bool,
    /// Whether [`Link::offer_early`] may be called and nothing about the packet is recorded.
    pub(super) early: bool,
}

// The size is a power of two, so that indexing needs only a shift.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Wire>() == 256);

impl Wire {
    /// Offers a packet of `wire_bytes` bytes to the link by [`Link::offer_plain`], and schedules the link's next
    /// arrival if necessary. Returns whether the link accepted the packet. Call it only if the link is
    /// [`Wire::ordinary`].
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        events: &mut EventQueue,
        now: Time,
        index: u32,
        wire_bytes: u32,
        write: impl FnOnce(&mut Packet),
    ) -> bool {
        let Some(arrival) = self.link.offer_plain(now, wire_bytes, write) else { return false };
        self.arm_first(events, arrival, index);
        true
    }

    /// As [`Wire::take`], for a link that draws extra delays as packets enter. Call it only if the link is
    /// [`Wire::early`].
    #[inline(never)]
    pub(super) fn take_early(&mut self, events: &mut EventQueue, now: Time, index: u32, packet: &Packet) -> bool {
        let write = |place: &mut Packet| packet.write_onward(place);
        let Some(arrival) = self.link.offer_early(now, packet.wire_bytes(), write) else { return false };
        self.arm_first(events, arrival, index);
        true
    }

    /// Schedules the arrival of a packet just accepted, unless another packet is ahead of it, whose arrival is already
    /// scheduled.
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    fn arm_first(&mut self, events: &mut EventQueue, arrival: Time, index: u32) {
        if self.arrival_armed.is_never() {
            self.arrival_armed = arrival;
            events.push_own(arrival, index);
        }
    }

    /// After an offered packet was queued: whether nothing else has happened, so that no event is to be scheduled, and
    /// nothing is to be recorded. False if that is not obvious.
    #[inline]
    pub(super) fn only_queued(&self) -> bool {
        !self.arrival_armed.is_never() && !self.watched && self.link.only_queued(self.service_armed)
    }

    /// Schedules this link's next arrival, unless an entry at least as early is pending.
    #[inline]
    pub(super) fn arm_arrival(&mut self, events: &mut EventQueue, index: u32) {
        let next = self.link.next_arrival();
        if next < self.arrival_armed {
            // Only a link that holds packets back may have another, stale entry.
            debug_assert!(self.arrival_armed.is_never() || self.link.holds_back());
            self.arrival_armed = next;
            if self.link.holds_back() {
                events.push(next, index);
            } else {
                events.push_own(next, index);
            }
        }
    }
}
