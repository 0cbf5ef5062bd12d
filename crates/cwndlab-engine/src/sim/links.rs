//! What links do to packets: arrivals, services, queues and drops.

use cwndlab_net::{DropCause, Offered, Packet as _};
use cwndlab_units::Time;

use super::exit::exit_of;
use super::Simulation;
use crate::packet::Packet;
use crate::probe::{Probe, SegmentEvent, Way};
use crate::topology::DELIVER;

impl<P: Probe> Simulation<P> {
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    pub(super) fn on_arrival(&mut self, index: u32) {
        let wire = &self.wires[index as usize];
        if !wire.passes {
            return self.on_special_arrival(index);
        }
        // Only links that hold packets back have stale entries.
        debug_assert_eq!(wire.arrival_armed, self.now);
        let hop = self.hops[wire.link.first().route as usize];
        // At the end of the route, `hop` is `DELIVER`, which is not the index of a link, so `get_disjoint_mut` fails.
        let Ok([from, to]) = self.wires.get_disjoint_mut([index as usize, hop as usize]) else {
            return self.on_last_arrival(index);
        };
        let (packet, next) = from.link.arrive_plain();
        from.arrival_armed = next.unwrap_or(Time::MAX);
        if let Some(next) = next {
            self.events.push_own(next, index);
        }
        let onward = |place: &mut Packet| packet.write_onward(place);
        if !to.ordinary || !to.take(&mut self.events, self.now, hop, packet.wire_bytes(), onward) {
            let packet = packet.onward();
            self.offer_any(hop, &packet);
        }
    }

    /// Handles an arrival at the end of a route: delivers the packet.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn on_last_arrival(&mut self, index: u32) {
        let wire = &mut self.wires[index as usize];
        let (packet, next) = wire.link.arrive_plain();
        wire.arrival_armed = next.unwrap_or(Time::MAX);
        if let Some(next) = next {
            self.events.push_own(next, index);
        }
        let (end, conn) = (packet.to, &mut self.conns[(packet.to >> 1) as usize]);
        if !conn.is_tcp() || P::ENABLED && self.probes.delays {
            let packet = *packet;
            return self.deliver(&packet);
        }
        self.summary.delivered += 1;
        let (config, calm) = conn.take(&self.configs, self.now, packet, &mut self.sacks);
        if conn.has_news_after(end, calm) {
            return self.after_delivery(end);
        }
        let tcp = &conn.ends[(end & 1) as usize];
        let is_sampled = P::ENABLED && self.samples_senders && self.probes.samples_end(tcp);
        if tcp.sends_nothing() && !is_sampled {
            if let Some(deadline) = conn.earlier_deadline(end) {
                self.arm(end, deadline);
            }
            return;
        }
        // For most packets, the application is not notified, the reply enters an ordinary link, and `send` returns
        // `None`.
        if let Some(mut packet) = exit_of!(self).send(conn, end, config) {
            return self.transmit_rest(end, &mut packet);
        }
        if P::ENABLED && self.samples_senders && self.probes.samples_end(&conn.ends[(end & 1) as usize]) {
            self.sample_sender(end);
            return self.arm_end(end);
        }
        if let Some(deadline) = conn.earlier_deadline(end) {
            self.arm(end, deadline);
        }
    }

    /// Handles an arrival from a link that holds packets back, or at a node where packets are observed.
    #[inline(never)]
    pub(super) fn on_special_arrival(&mut self, index: u32) {
        let wire = &mut self.wires[index as usize];
        if wire.arrival_armed != self.now {
            return; // a stale entry: an earlier arrival has since been scheduled
        }
        let packet = wire.link.arrive(self.now);
        wire.arrival_armed = Time::MAX;
        wire.arm_arrival(&mut self.events, index);
        let Some(packet) = packet else { return };
        if P::ENABLED && wire.to == self.observed {
            self.see(SegmentEvent::Received, &packet);
        }
        self.forward(&packet);
    }

    /// Passes a packet to the next link of its route, or to its endpoint.
    pub(super) fn forward(&mut self, packet: &Packet) {
        let hop = self.hops[packet.route as usize];
        if hop == DELIVER {
            self.deliver(packet);
        } else {
            self.offer_any(hop, &packet.onward());
        }
    }

    /// Offers a packet to any link, and handles every possible result: a copy, a mark, a drop, or new events of the
    /// link.
    #[inline(never)]
    pub(super) fn offer_any(&mut self, index: u32, packet: &Packet) {
        let wire = &mut self.wires[index as usize];
        let offered = wire.link.offer(self.now, packet);
        if offered == Offered::Queued && wire.only_queued() {
            return;
        }
        if let Some(copy) = wire.link.pop_copy() {
            self.offer_copy(index, copy);
        }
        if offered == Offered::Queued || self.is_inside(index, offered, packet) {
            self.arm_link(index);
        }
    }

    #[cold]
    pub(super) fn offer_copy(&mut self, index: u32, mut copy: Packet) {
        copy.own_sacks(&mut self.sacks);
        self.summary.injected += 1;
        let conn = &mut self.conns[(copy.to >> 1) as usize];
        conn.in_network += 1;
        if conn.is_stack() {
            copy.set_payload_slot(self.outside.payloads.copy(copy.payload_slot()));
        }
        let offered = self.wires[index as usize].link.offer_copy(self.now, &copy);
        if self.is_inside(index, offered, &copy) {
            self.arm_link(index);
        }
    }

    /// Reports a mark or a drop. Returns whether the packet has entered the link.
    #[inline(never)]
    pub(super) fn is_inside(&mut self, index: u32, offered: Offered, packet: &Packet) -> bool {
        match offered {
            Offered::Queued => {}
            Offered::Marked => {
                let mut marked = *packet;
                marked.mark_ce();
                self.mark(index, &marked);
            }
            Offered::Dropped(cause) => self.drop_offered(index, cause, packet),
        }
        !matches!(offered, Offered::Dropped(_))
    }

    #[cold]
    pub(super) fn drop_offered(&mut self, index: u32, cause: DropCause, packet: &Packet) {
        self.drop(index, cause, packet);
        let wire = &self.wires[index as usize];
        if P::ENABLED && wire.watched && wire.link.has_bounded_class() && cause != DropCause::Loss {
            self.sample_queue(index); // as for a queue that decides at departure, which is sampled at every arrival
        }
    }

    /// Schedules the new events of a link that a packet has entered.
    #[inline]
    pub(super) fn arm_link(&mut self, index: u32) {
        let wire = &mut self.wires[index as usize];
        // A packet behind another one does not change the link's next arrival, unless an impairment holds back the one
        // ahead.
        if wire.arrival_armed.is_never() || wire.link.holds_back() {
            wire.arm_arrival(&mut self.events, index);
        }
        let watched = wire.watched;
        if !wire.link.is_settled(wire.service_armed) {
            self.after_service(index);
        }
        if P::ENABLED && watched {
            self.sample_queue(index);
        }
    }

    #[inline(never)]
    pub(super) fn on_service(&mut self, index: u32) {
        let wire = &mut self.wires[index as usize];
        if wire.service_armed != self.now {
            return;
        }
        let (due, has_signals) = wire.link.serve(self.now);
        if wire.arrival_armed.is_never() || wire.link.holds_back() {
            wire.arm_arrival(&mut self.events, index);
        }
        wire.service_armed = due;
        if has_signals {
            self.take_signals(index);
        }
        if !due.is_never() {
            let source = self.service_source(index);
            self.events.push(due, source);
        }
    }

    /// Collects the drops and marks of a queue that decides at departure, and schedules its next service.
    #[inline(never)]
    pub(super) fn after_service(&mut self, index: u32) {
        if self.wires[index as usize].link.has_signals() {
            self.take_signals(index);
        }
        let source = self.service_source(index);
        let wire = &mut self.wires[index as usize];
        let due = wire.link.next_service();
        // If a packet arrives at the very instant at which a service ends, the arrival begins the next service and the
        // due time moves.
        if due != wire.service_armed && !due.is_never() {
            self.events.push(due, source);
        }
        wire.service_armed = due;
    }

    /// Handles the packets dropped and marked by a queue that decides at departure.
    #[cold]
    pub(super) fn take_signals(&mut self, index: u32) {
        while let Some((cause, packet)) = self.wires[index as usize].link.pop_dropped() {
            self.drop(index, cause, &packet);
        }
        if let Some(packet) = self.wires[index as usize].link.take_marked() {
            self.mark(index, &packet);
        }
    }

    #[cold]
    pub(super) fn mark(&mut self, link: u32, packet: &Packet) {
        self.signals[(packet.to >> 1) as usize].marks += 1;
        if P::ENABLED {
            self.see(SegmentEvent::Marked { link }, packet);
        }
    }

    #[cold]
    pub(super) fn drop(&mut self, link: u32, cause: DropCause, packet: &Packet) {
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

    /// Reports a segment to the probe, if segments are observed.
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
