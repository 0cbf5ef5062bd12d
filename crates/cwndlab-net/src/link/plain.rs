//! The fast path for most packets: links without impairments whose queue accepts any packet.

use cwndlab_units::Time;

use super::Link;
use crate::Packet;

impl<P: Packet> Link<P> {
    /// Does what [`Link::offer`] does on a plain link whose queue accepts any packet now. Returns the time of the
    /// packet's arrival at the far end. If the queue has to decide, returns `None` and has no effect. Call it only if
    /// [`Link::is_plain`].
    ///
    /// `write` writes the packet, whose size is `wire_bytes`, into its slot of the ring.
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    pub fn offer_plain(&mut self, now: Time, wire_bytes: u32, write: impl FnOnce(&mut P)) -> Option<Time> {
        debug_assert!(self.plain);
        self.accept_unasked::<true>(now, wire_bytes + self.header_bytes, write)
    }

    /// The next packet to arrive. The link must have a packet under way, and must not hold packets back
    /// ([`Link::holds_back`]).
    #[inline]
    pub fn first(&self) -> &P {
        &self.ring.at(self.ring.head()).packet
    }

    /// Does what [`Link::arrive`] does at exactly the time of [`Link::next_arrival`], which must not be [`Time::MAX`].
    /// Returns the packet and the arrival time of the next one, if any. Call it only if the link does not hold packets back
    /// ([`Link::holds_back`]).
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub fn arrive_plain(&mut self) -> (&P, Option<Time>) {
        debug_assert!(!self.holds_back() && !self.ring.is_empty());
        let head = self.ring.head();
        if self.undeparted == head {
            // The head packet has departed, but `undeparted` has not been advanced past it yet.
            self.undeparted += 1;
            self.backlog_bytes -= u64::from(self.wire_bytes(head));
        }
        self.ring.drop_first();
        let next = self.ring.front().map(|next| next.arrival);
        // The slot is not overwritten until another packet enters.
        (&self.ring.at(head).packet, next)
    }
}
