//! Datagram flows. No endpoint answers, so the state of a flow is how much has been sent and how much has arrived.

use cwndlab_net::network::Network as _;
use cwndlab_tcp::{Header, Segment};
use cwndlab_traffic::EcnField;

use super::conn::peer;
use super::Simulation;
use crate::packet::Packet;
use crate::probe::Probe;

/// Counters of a flow.
#[derive(Clone, Copy, Default)]
pub(super) struct DatagramFlow {
    /// Datagrams sent, both ends.
    pub(super) sent: u64,
    /// Payload bytes sent by each end.
    offset: [u64; 2],
    /// Payload bytes that arrived at each end, including copies made by duplication.
    pub(super) received: [u64; 2],
}

impl<P: Probe> Simulation<P> {
    /// Opens a flow for an application. Returns `None` if there is no room for the flow, which ends the run.
    pub(super) fn open_datagrams(&mut self, app: u32, number: u32) -> Option<u32> {
        self.datagrams.push(DatagramFlow::default());
        self.open(app, number, [0; 2], Some(self.datagrams.len() as u32 - 1))
    }

    pub(super) fn send_datagram(&mut self, end: u32, bytes: u32, payload: u32, ecn: EcnField) {
        let conn = &mut self.conns[(end >> 1) as usize];
        let (side, route) = ((end & 1) as usize, conn.routes[(end & 1) as usize]);
        let flow = &mut self.datagrams[conn.datagrams as usize];
        conn.in_network += 1;
        // Sequence numbers are as in TCP: the first byte has number 1.
        let seq = (flow.offset[side] as u32).wrapping_add(1);
        flow.offset[side] += u64::from(payload);
        flow.sent += 1;
        let header = Header { seq, len: payload, wire_bytes: bytes, ecn: ecn as u8, ..Header::default() };
        let segment = Segment::from(header);
        let mut packet = Packet::new(&segment, peer(end), route, &mut self.sacks);
        self.summary.injected += 1;
        if self.labels_packets {
            self.label(end, &mut packet, &mut false);
        }
        self.forward(&packet);
        if self.summary.injected >= self.watch.look_at_packet {
            self.look_inside();
        }
    }

    /// Counts a datagram that has reached its destination, or delivers it if its connection belongs to a stack.
    #[inline(never)]
    pub(super) fn deliver_datagram(&mut self, packet: &Packet) {
        let conn = &mut self.conns[(packet.to >> 1) as usize];
        if conn.is_stack() {
            return self.deliver_payload(packet);
        }
        conn.in_network -= 1;
        let payload = packet.segment(&self.sacks).len;
        self.datagrams[conn.datagrams as usize].received[(packet.to & 1) as usize] += u64::from(payload);
        self.summary.delivered += 1;
    }
}
