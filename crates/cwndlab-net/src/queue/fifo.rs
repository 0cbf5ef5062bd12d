//! The FIFO in which queues that decide at departure store their packets.

use std::collections::VecDeque;

use cwndlab_units::Time;

use crate::Packet;

/// Packets in order of arrival, each with its arrival time.
#[derive(Clone, Debug)]
pub(super) struct Fifo<P> {
    packets: VecDeque<(Time, P)>,
    pub(super) bytes: u64,
}

impl<P> Default for Fifo<P> {
    fn default() -> Self {
        Fifo { packets: VecDeque::new(), bytes: 0 }
    }
}

impl<P> Fifo<P> {
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.packets.len() as u32
    }
    /// The arrival time of the packet at the head.
    #[inline]
    pub(super) fn head_arrival(&self) -> Option<Time> {
        self.packets.front().map(|&(arrived, _)| arrived)
    }
}

impl<P: Packet> Fifo<P> {
    #[inline]
    pub(super) fn push(&mut self, now: Time, packet: P) {
        self.bytes += u64::from(packet.wire_bytes());
        self.packets.push_back((now, packet));
    }
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Time, P)> {
        let (arrived, packet) = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.wire_bytes());
        Some((arrived, packet))
    }
    /// Removes the packet at position `place`, counted from the head.
    pub(super) fn remove(&mut self, place: u32) -> Option<P> {
        let (_, packet) = self.packets.remove(place as usize)?;
        self.bytes -= u64::from(packet.wire_bytes());
        Some(packet)
    }
}
