//! Implements [`Network`] for the simulation. [`Simulation::on_arrival`] is a short path for most arrivals.

use cwndlab_net::network::{Network, Schedule, Wire};
use cwndlab_net::{DropCause, Packet as _};
use cwndlab_units::Time;

use super::exit::exit_of;
use super::traces::samples_end;
use super::Simulation;
use crate::events::EventQueue;
use crate::packet::Packet;
use crate::probe::{Probe, SegmentEvent, Way};
use cwndlab_scenario::DELIVER;

impl<P: Probe> Simulation<P> {
    #[allow(clippy::inline_always)] // called for each packet on each link
    #[inline(always)]
    pub(super) fn on_arrival(&mut self, index: u32) {
        let wire = &self.wires[index as usize];
        if !wire.passes {
            return self.arrive(index);
        }
        // An arrival event can be stale only on links that hold packets back, for which `passes` is false.
        debug_assert_eq!(wire.arrival_due, self.now);
        let hop = self.hops[wire.link.first().route as usize];
        // At the end of the route, `hop` is `DELIVER`, which is not the index of a link, so `get_disjoint_mut` fails.
        let Ok([from, to]) = self.wires.get_disjoint_mut([index as usize, hop as usize]) else {
            return self.on_last_arrival(index);
        };
        let packet = from.arrive(&mut self.events, index);
        let onward = |place: &mut Packet| packet.write_onward(place);
        if !to.ordinary || !to.take(&mut self.events, self.now, hop, packet.wire_bytes(), onward) {
            let packet = packet.onward();
            self.offer(hop, &packet);
        }
    }

    /// Delivers the packet that arrives over link `index`, which is the last of the packet's route.
    #[inline]
    pub(super) fn on_last_arrival(&mut self, index: u32) {
        let packet = self.wires[index as usize].arrive(&mut self.events, index);
        let (end, conn) = (packet.to, &mut self.conns[(packet.to >> 1) as usize]);
        if !conn.is_tcp() || P::ENABLED && self.probes.delays {
            let packet = *packet;
            return self.deliver(&packet);
        }
        self.summary.delivered += 1;
        let (config, only_data) = conn.take(&self.configs, self.now, packet, &mut self.sacks);
        if conn.has_news_after(end, only_data) {
            return self.after_delivery(end);
        }
        let tcp = &conn.ends[(end & 1) as usize];
        let is_sampled = P::ENABLED && self.samples_senders && samples_end(&self.probes, tcp);
        if tcp.sends_nothing() && !is_sampled {
            if let Some(deadline) = conn.earlier_deadline(end) {
                self.arm(end, deadline);
            }
            return;
        }
        // `send` stops at the first packet that it cannot pass to its link itself, and returns it.
        if let Some(mut packet) = exit_of!(self).send(conn, end, config) {
            return self.transmit_rest(end, &mut packet);
        }
        if P::ENABLED && self.samples_senders && samples_end(&self.probes, &conn.ends[(end & 1) as usize]) {
            self.sample_sender(end);
            return self.arm_end(end);
        }
        if let Some(deadline) = conn.earlier_deadline(end) {
            self.arm(end, deadline);
        }
    }
}

impl<P: Probe> Network for Simulation<P> {
    type Packet = Packet;
    type Schedule = EventQueue;

    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn wire(&mut self, link: u32) -> (&mut Wire<Packet>, &mut EventQueue) {
        (&mut self.wires[link as usize], &mut self.events)
    }

    #[inline]
    fn next_link(&self, packet: &Packet) -> Option<u32> {
        Some(self.hops[packet.route as usize]).filter(|&hop| hop != DELIVER)
    }

    #[inline]
    fn onward(packet: &Packet) -> Packet {
        packet.onward()
    }

    fn on_copied(&mut self, _: u32, copy: &mut Packet) {
        copy.own_sacks(&mut self.sacks);
        self.summary.injected += 1;
        let conn = &mut self.conns[(copy.to >> 1) as usize];
        conn.in_network += 1;
        if conn.is_stack() {
            copy.set_payload_slot(self.outside.payloads.copy(copy.payload_slot()));
        }
    }

    #[cold]
    fn on_marked(&mut self, link: u32, packet: &Packet) {
        self.signals[(packet.to >> 1) as usize].marks += 1;
        if P::ENABLED {
            self.see(SegmentEvent::Marked { link }, packet);
        }
    }

    #[cold]
    fn on_dropped(&mut self, link: u32, cause: DropCause, packet: &Packet) {
        if P::ENABLED {
            self.see(SegmentEvent::Dropped { link, cause }, packet);
        }
        self.summary.dropped += 1;
        self.sacks.release(packet);
        let slot = packet.to >> 1;
        let conn = &mut self.conns[slot as usize];
        conn.in_network -= 1;
        if conn.is_stack() {
            self.outside.payloads.release(packet.payload_slot());
        }
        self.signals[slot as usize].drops += 1;
        self.retire(slot);
    }

    fn on_arrived(&mut self, _: u32, packet: &Packet) {
        self.see(SegmentEvent::Received, packet);
    }

    fn on_delivered(&mut self, packet: &Packet, more: bool) {
        if more || !self.held_reads.is_empty() {
            return self.deliver_in_batch(packet, more);
        }
        self.deliver(packet);
    }

    fn on_queue_changed(&mut self, link: u32) {
        self.sample_queue(link);
    }
}

impl Schedule for EventQueue {
    #[allow(clippy::inline_always)] // called for each packet on each link
    #[inline(always)]
    fn arrival(&mut self, at: Time, link: u32, sole: bool) {
        if sole {
            self.push_own(at, link);
        } else {
            self.push(at, link);
        }
    }

    #[inline]
    fn service(&mut self, at: Time, link: u32) {
        self.push(at, self.owners() + link);
    }
}

impl<P: Probe> Simulation<P> {
    /// Reports a segment to the probe, if there is an observed node.
    #[inline(never)]
    pub(super) fn see(&mut self, event: SegmentEvent, packet: &Packet) {
        if self.observed == u32::MAX {
            return;
        }
        let conn = &self.conns[(packet.to >> 1) as usize];
        let way = Way { connection: conn.serial, from_client: packet.to & 1 == 1 };
        let segment = packet.segment(&self.sacks);
        match self.outside.payloads.content(packet.payload_slot()) {
            Some(content) if conn.is_stack() => {
                self.probe.datagram(self.now, event, way, packet.ip_id, &segment, content);
            }
            _ => self.probe.segment(self.now, event, way, packet.ip_id, &segment),
        }
    }
}
