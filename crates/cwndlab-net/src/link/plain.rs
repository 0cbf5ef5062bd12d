//! The path of most packets: links without impairments, whose queue has room.

use cwndlab_units::Time;

use super::{InFlight, Link};
use crate::Packet;

impl<P: Packet + Copy> Link<P> {
    /// As [`Link::offer`] to a plain link whose queue takes any packet now: when the packet will arrive at the far end.
    /// `None`, and nothing done, if the queue must be asked. Call only if [`Link::is_plain`].
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    pub fn offer_plain(&mut self, now: Time, packet: &P) -> Option<Time> {
        debug_assert!(self.plain);
        self.forget_departed(now);
        let packets = (self.ring.tail() - self.undeparted) as u32;
        if packets >= self.room_for {
            return None;
        }
        Some(self.accept::<true>(now, packets, packet.wire_bytes() + self.header_bytes, packet))
    }

    /// As [`Link::arrive`] at exactly [`Link::next_arrival`], which must not be [`Time::MAX`]: the packet, and when the
    /// one after it arrives. Call only if the link is not impaired.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub fn arrive_plain(&mut self) -> (P, Time) {
        debug_assert!(!self.is_impaired() && !self.ring.is_empty());
        let head = self.ring.head();
        let InFlight { packet, .. } = *self.ring.at(head);
        if self.undeparted == head {
            // it departed before it arrived; only nobody has looked since
            self.undeparted += 1;
            self.backlog_bytes -= u64::from(packet.wire_bytes() + self.header_bytes);
        }
        self.ring.drop_first();
        let next = self.ring.front().map_or(Time::MAX, |next| next.arrival);
        (packet, next)
    }
}
