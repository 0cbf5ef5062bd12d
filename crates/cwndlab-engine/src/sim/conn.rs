//! A connection of the run: two endpoints, the routes between them and their timers.

use cwndlab_tcp::{Connection, State, TcpConfig};
use cwndlab_traffic::Side;
use cwndlab_units::Time;

use crate::packet::{Packet, SackTable};

/// One connection. Its ends are identified by `slot << 1 | side`, where the side is 0 for the client and 1 for the
/// server.
pub(super) struct Conn {
    pub(super) ends: [Connection; 2],
    /// Time of each end's live timer event; an entry of the event queue with another time is stale.
    pub(super) armed: [Time; 2],
    /// Position, in [`super::Simulation::hops`], of the route that begins at each end.
    pub(super) routes: [u32; 2],
    pub(super) configs: [u16; 2],
    /// Number of in-order bytes at each end at which the application is to be notified.
    pub(super) notify_at: [u64; 2],
    /// Events of each end that have been reported to the application.
    pub(super) notified: [Notified; 2],
    /// Packets inside links, both directions. The slot is not reused before they are gone.
    pub(super) in_network: u32,
    pub(super) live: bool,
    /// The datagram flow in this slot, [`TCP`] or [`STACK`]. Only TCP uses the endpoints.
    pub(super) datagrams: u32,
    pub(super) serial: u32,
    pub(super) app: u32,
    /// The ID by which the application refers to this connection.
    pub(super) number: u32,
    pub(super) start: Time,
    pub(super) established: Time,
}

/// The value of [`Conn::datagrams`] in a slot that holds a TCP connection.
pub(super) const TCP: u32 = u32::MAX;
/// The value of [`Conn::datagrams`] in a slot that holds a connection of a stack from outside the engine.
pub(super) const STACK: u32 = u32::MAX - 1;

// A live connection takes at most 1 kB, including its memory on the heap but not its links.
const _: () = assert!(size_of::<Conn>() <= 920);

#[derive(Clone, Copy, Default)]
pub(super) struct Notified {
    pub(super) state: Option<State>,
    pub(super) established: bool,
    pub(super) peer_closed: bool,
}

impl Conn {
    /// Whether the slot holds a TCP connection.
    #[inline]
    pub(super) fn is_tcp(&self) -> bool {
        self.datagrams == TCP
    }

    /// Whether the slot holds a connection of a stack from outside the engine.
    #[inline]
    pub(super) fn is_stack(&self) -> bool {
        self.datagrams == STACK
    }

    /// Passes a packet to its end. Returns the end's configuration, and what [`Connection::handle_segment`] returned.
    #[allow(clippy::inline_always)] // once per delivered packet
    #[inline(always)]
    pub(super) fn take<'a>(
        &mut self,
        configs: &'a [TcpConfig],
        now: Time,
        packet: &Packet,
        sacks: &mut SackTable,
    ) -> (&'a TcpConfig, bool) {
        let side = (packet.to & 1) as usize;
        self.in_network -= 1;
        let config = &configs[usize::from(self.configs[side])];
        let only_data = if let Some(header) = packet.bare() {
            self.ends[side].handle_bare(config, now, header)
        } else {
            let only_data = self.ends[side].handle_segment(config, now, sacks.segment(packet));
            sacks.release(packet);
            only_data
        };
        (config, only_data)
    }

    /// As [`Self::has_news`], after the end has processed a segment. `only_data`: what [`Connection::handle_segment`]
    /// returned; if true, only data in order can be new.
    #[inline]
    pub(super) fn has_news_after(&self, end: u32, only_data: bool) -> bool {
        if !only_data {
            return self.has_news(end);
        }
        let side = (end & 1) as usize;
        let news = self.ends[side].received_without_fin() >= self.notify_at[side];
        debug_assert_eq!(news, self.has_news(end));
        news
    }

    /// Whether the application may have to be notified of something at this end, or the connection is over.
    #[inline]
    pub(super) fn has_news(&self, end: u32) -> bool {
        let side = (end & 1) as usize;
        let (tcp, notified) = (&self.ends[side], &self.notified[side]);
        !self.live || notified.state != Some(tcp.state()) || tcp.received() >= self.notify_at[side] || tcp.peer_closed()
    }

    /// The time at which an end's timer is due, if it is earlier than the end's pending event.
    #[inline]
    pub(super) fn earlier_deadline(&self, end: u32) -> Option<Time> {
        let side = (end & 1) as usize;
        self.ends[side].timeout_before(self.armed[side])
    }
}

/// The other end of the connection.
pub(super) const fn peer(end: u32) -> u32 {
    end ^ 1
}

pub(super) const fn side_of(end: u32) -> Side {
    if end & 1 == 0 {
        Side::Client
    } else {
        Side::Server
    }
}

/// Congestion signals from links, in both directions; stored outside [`Conn`] because few packets meet congestion.
#[derive(Clone, Copy, Default)]
pub(super) struct Signals {
    pub(super) drops: u32,
    pub(super) marks: u32,
}
