//! Sends packets from an endpoint into the first link of their route. The connection is borrowed meanwhile, so [`Exit`]
//! borrows only those other fields of the simulation that are needed.

use cwndlab_net::network::Wire;
use cwndlab_net::Packet as _;
use cwndlab_tcp::{Header, Polled, Quick, TcpConfig};
use cwndlab_units::Time;

use super::conn::{peer, Conn};
use super::Summary;
use crate::events::EventQueue;
use crate::packet::{Packet, SackTable};

/// The fields of [`super::Simulation`] that are needed to send a packet.
pub(super) struct Exit<'a> {
    // Not slices: a slice's pointer and length would be kept on the stack while packets are sent.
    pub(super) wires: &'a mut Vec<Wire<Packet>>,
    pub(super) hops: &'a Vec<u32>,
    pub(super) events: &'a mut EventQueue,
    pub(super) sacks: &'a mut SackTable,
    pub(super) summary: &'a mut Summary,
    pub(super) now: Time,
    /// [`Exit::send`] passes packets to links only while `summary.injected` is below this.
    pub(super) plain_below: u64,
}

/// Borrows the fields of [`Exit`] from a simulation. A method would borrow the whole simulation, of which the caller
/// has borrowed a connection.
macro_rules! exit_of {
    ($simulation:expr) => {
        $crate::sim::exit::Exit {
            wires: &mut $simulation.wires,
            hops: &$simulation.hops,
            events: &mut $simulation.events,
            sacks: &mut $simulation.sacks,
            summary: &mut $simulation.summary,
            now: $simulation.now,
            plain_below: $simulation.watch.plain_below,
        }
    };
}
pub(super) use exit_of;

impl Exit<'_> {
    /// Sends the packets that an end may send. Stops at the first packet that [`Exit::enter`] does not accept, that
    /// needs a label, or at which the budget has to be checked. Returns this packet, which is already counted; the
    /// caller must send it.
    #[allow(clippy::inline_always)] // once per delivered packet
    #[inline(always)]
    pub(super) fn send(&mut self, conn: &mut Conn, end: u32, config: &TcpConfig) -> Option<Packet> {
        let side = (end & 1) as usize;
        let (tcp, route) = (&mut conn.ends[side], conn.routes[side]);
        let (mut polled, mut bare) = (Polled::default(), Packet::to_end(peer(end), route));
        loop {
            let asked;
            let (packet, last) = match tcp.poll_quick(config, self.now, &mut polled, bare.header_mut()) {
                Quick::Nothing => return None,
                Quick::Segment { last } => (&bare, last),
                Quick::Ask => {
                    let segment = tcp.poll_asked(config, self.now, &mut polled)?;
                    asked = Packet::new(&segment, peer(end), route, self.sacks);
                    (&asked, false)
                }
                Quick::Accurate => return self.reborrow().send_accurate(conn, end, config, polled),
            };
            conn.in_network += 1;
            self.summary.injected += 1;
            if self.summary.injected >= self.plain_below || !self.enter(route, packet) {
                return Some(*packet);
            }
            if last {
                return None;
            }
        }
    }

    /// The same borrows, for a function that is not inlined. It gets its own `Exit`, so that the fields that
    /// [`Self::send`] uses can stay in registers.
    #[inline]
    fn reborrow(&mut self) -> Exit<'_> {
        let Exit { wires, hops, events, sacks, summary, now, plain_below } = self;
        Exit { wires, hops, events, sacks, summary, now: *now, plain_below: *plain_below }
    }

    /// Does what remains of [`Self::send`] after [`Quick::Accurate`]. The first packet, mostly the only one, is sent outside
    /// the loop, so that what the loop needs is not loaded for it.
    #[inline(never)]
    fn send_accurate(&mut self, conn: &mut Conn, end: u32, cfg: &TcpConfig, mut polled: Polled) -> Option<Packet> {
        let side = (end & 1) as usize;
        let (tcp, route) = (&mut conn.ends[side], conn.routes[side]);
        // A header that is not yet part of a packet stays in registers.
        let mut header = Header::default();
        let (option, last) = tcp.poll_accurate(cfg, self.now, &mut polled, &mut header);
        let packet = Packet::with_option(header, &option, peer(end), route, self.sacks);
        conn.in_network += 1;
        self.summary.injected += 1;
        if self.summary.injected >= self.plain_below || !self.enter(route, &packet) {
            return Some(packet);
        }
        if last {
            return None;
        }
        self.send_others(conn, end, cfg, polled)
    }

    /// Sends the packets that follow a first one with AccECN's option.
    #[inline(never)]
    fn send_others(&mut self, conn: &mut Conn, end: u32, cfg: &TcpConfig, mut polled: Polled) -> Option<Packet> {
        let side = (end & 1) as usize;
        let (tcp, route) = (&mut conn.ends[side], conn.routes[side]);
        loop {
            let mut packet = Packet::to_end(peer(end), route);
            let last = match tcp.poll_quick(cfg, self.now, &mut polled, packet.header_mut()) {
                Quick::Nothing => return None,
                Quick::Segment { last } => last,
                Quick::Ask => {
                    let segment = tcp.poll_asked(cfg, self.now, &mut polled)?;
                    packet = Packet::new(&segment, peer(end), route, self.sacks);
                    false
                }
                Quick::Accurate => {
                    let mut header = Header::default();
                    let (option, last) = tcp.poll_accurate(cfg, self.now, &mut polled, &mut header);
                    packet = Packet::with_option(header, &option, peer(end), route, self.sacks);
                    last
                }
            };
            conn.in_network += 1;
            self.summary.injected += 1;
            if self.summary.injected >= self.plain_below || !self.enter(route, &packet) {
                return Some(packet);
            }
            if last {
                return None;
            }
        }
    }

    /// Passes a packet to the first link of its route by [`Wire::take`] or [`enter_early`]. Returns false, with no
    /// effect, if the link allows neither or its queue has to decide on the packet.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn enter(&mut self, route: u32, packet: &Packet) -> bool {
        let hop = self.hops[route as usize];
        let Some(wire) = self.wires.get_mut(hop as usize) else { return false };
        if !wire.ordinary {
            return wire.early && enter_early(wire, self.events, self.now, hop, packet);
        }
        wire.take(self.events, self.now, hop, packet.wire_bytes(), |place| packet.write_onward(place))
    }
}

/// Passes a packet to a link that is [`Wire::early`]. It does not take an [`Exit`], whose fields would leave their
/// registers.
#[inline(never)]
fn enter_early(wire: &mut Wire<Packet>, events: &mut EventQueue, now: Time, hop: u32, packet: &Packet) -> bool {
    wire.take_early(events, now, hop, packet.wire_bytes(), |place| packet.write_onward(place))
}
