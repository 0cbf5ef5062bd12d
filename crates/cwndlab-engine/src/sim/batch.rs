//! Packets that arrive at the same instant, as in bursts over Wi-Fi: a Linux host processes all of them before an
//! application runs.

use super::Simulation;
use crate::packet::Packet;
use crate::probe::Probe;

impl<P: Probe> Simulation<P> {
    /// Delivers one of several packets that arrive at one instant. `more`: others follow. Applications read after the
    /// last one.
    #[cold]
    pub(super) fn deliver_in_batch(&mut self, packet: &Packet, more: bool) {
        if !self.take_held(packet) {
            self.deliver(packet);
        }
        if !more {
            let mut held = std::mem::take(&mut self.held_reads);
            held.drain(..).for_each(|end| self.let_read(end));
            self.held_reads = held;
        }
    }

    /// Processes the packet without notifying its application, if the application may read later. Returns whether it
    /// has.
    fn take_held(&mut self, packet: &Packet) -> bool {
        let (end, slot, side) = (packet.to, (packet.to >> 1) as usize, (packet.to & 1) as usize);
        let conn = &mut self.conns[slot];
        if !conn.live || !conn.is_tcp() || P::ENABLED && self.probes.delays {
            return false;
        }
        if !self.held_reads.contains(&end) {
            if !conn.ends[side].hold_reads(&self.configs[usize::from(conn.configs[side])]) {
                return false;
            }
            self.held_reads.push(end);
        }
        self.summary.delivered += 1;
        conn.take(&self.configs, self.now, packet, &mut self.sacks);
        self.poll_without_application(end);
        true
    }

    /// Lets the application of an end read what has arrived, and react.
    fn let_read(&mut self, end: u32) {
        let (slot, side) = ((end >> 1) as usize, (end & 1) as usize);
        let conn = &mut self.conns[slot];
        conn.ends[side].release_reads(&self.configs[usize::from(conn.configs[side])], self.now);
        self.after_delivery(end);
    }
}
