//! A link in the run loop: its events, and what may be left out where nothing looks.

use cwndlab_net::Link;
use cwndlab_units::Time;

use crate::events::EventQueue;
use crate::packet::Packet;

/// A link and the run loop's data about it.
pub(super) struct Wire {
    pub(super) link: Link<Packet>,
    /// Time of this link's live arrival event; an entry of the queue at another time is stale.
    pub(super) arrival_armed: Time,
    /// The same for its service event.
    pub(super) service_armed: Time,
    /// Node at its far end.
    pub(super) to: u32,
    /// Whether its queue is recorded at every arrival.
    pub(super) watched: bool,
    /// Whether [`Link::offer_plain`] may be asked, and nothing is recorded of it.
    pub(super) ordinary: bool,
    /// Whether [`Link::arrive_plain`] may be asked, and nothing is recorded of what arrives.
    pub(super) passes: bool,
}

// A power of two: an index costs a shift.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Wire>() == 256);

impl Wire {
    /// Takes a packet of these bytes if the link is plain and its queue has room: whether it has. Only if it is
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
        // behind another packet it changes nothing
        if self.arrival_armed.is_never() {
            self.arrival_armed = arrival;
            events.push_own(arrival, index);
        }
        true
    }

    /// Schedules this link's next arrival, if none is scheduled that is as early.
    #[inline]
    pub(super) fn arm_arrival(&mut self, events: &mut EventQueue, index: u32) {
        let next = self.link.next_arrival();
        if next < self.arrival_armed {
            self.arrival_armed = next;
            events.push(next, index);
        }
    }
}
