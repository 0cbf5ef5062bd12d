//! The FIFO in which queues that decide at departure store their packets.

use cwndlab_units::{Ring, Time};

use crate::Packet;

/// Packets in order of arrival, each with its arrival time.
#[derive(Clone, Debug)]
pub(super) struct Fifo<P> {
    packets: Ring<(Time, P)>,
    pub(super) bytes: u64,
}

impl<P> Default for Fifo<P> {
    fn default() -> Self {
        Fifo { packets: Ring::new(), bytes: 0 }
    }
}

impl<P> Fifo<P> {
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.packets.len() as u32
    }
    /// The packet at the head.
    #[inline]
    pub(super) fn head(&self) -> Option<&P> {
        self.packets.front().map(|(_, packet)| packet)
    }
    /// The packet at position `place`, counted from the head.
    pub(super) fn get(&self, place: u32) -> Option<&P> {
        self.packets.get(self.packets.head() + u64::from(place)).map(|(_, packet)| packet)
    }
    /// The arrival time of the packet at the head.
    #[inline]
    pub(super) fn head_arrival(&self) -> Option<Time> {
        self.packets.front().map(|&(arrived, _)| arrived)
    }
}

impl<P: Packet> Fifo<P> {
    #[inline]
    pub(super) fn push(&mut self, now: Time, packet: &P) {
        self.bytes += u64::from(packet.wire_bytes());
        self.packets.push_with(|place| *place = (now, *packet));
    }
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Time, P)> {
        let arrived = self.take()?;
        Some((arrived, *self.taken()))
    }
    /// Removes the packet at the head, which [`Fifo::taken`] then returns. Returns its arrival time.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Time> {
        let &(arrived, ref packet) = self.packets.front()?;
        self.bytes -= u64::from(packet.wire_bytes());
        self.packets.drop_first();
        Some(arrived)
    }
    /// The packet that was taken last. The slot of the ring is not overwritten until another packet enters.
    #[inline]
    pub(super) fn taken(&mut self) -> &mut P {
        &mut self.packets.at_mut(self.packets.head() - 1).1
    }
    /// Removes the packet at position `place`, counted from the head.
    pub(super) fn remove(&mut self, place: u32) -> Option<P> {
        let head = self.packets.head();
        let (_, packet) = *self.packets.get(head + u64::from(place))?;
        for position in (head..head + u64::from(place)).rev() {
            *self.packets.at_mut(position + 1) = *self.packets.at(position);
        }
        self.packets.drop_first();
        self.bytes -= u64::from(packet.wire_bytes());
        Some(packet)
    }
}
