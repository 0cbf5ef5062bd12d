//! A connection of the run: two endpoints, the routes between them and their timers.

use cwndlab_tcp::{Connection, State, TcpConfig};
use cwndlab_traffic::Side;
use cwndlab_units::Time;

use crate::packet::{Packet, SackTable};

/// One connection. `slot << 1 | side` identifies an end of it, where the side is 0 for the client and 1 for the server.
pub(super) struct Conn {
    pub(super) ends: [Connection; 2],
    /// Time of each end's pending timer event. A timer event of this end at any other time is stale.
    pub(super) armed: [Time; 2],
    /// Position, in [`super::Simulation::hops`], of the route that begins at each end.
    pub(super) routes: [u32; 2],
    pub(super) configs: [u16; 2],
    /// For each end: the application is to be notified once this many bytes have been received in order.
    pub(super) notify_at: [u64; 2],
    /// What the application has been notified of, for each end.
    pub(super) notified: [Notified; 2],
    /// Number of packets on links, in both directions. The slot is not reused before this is 0.
    pub(super) in_network: u32,
    pub(super) live: bool,
    /// Index of the slot's datagram flow; [`TCP`] or [`STACK`] if the slot has none. `ends` is used only with [`TCP`].
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

// `size_of` excludes memory on the heap, with which a connection, not counting links, is to take at most 1 kB.
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

    /// Passes a packet to the end that receives it. Returns this end's configuration, and the result of
    /// [`Connection::handle_segment`], which [`Self::has_news_after`] takes as `only_data`.
    #[allow(clippy::inline_always)] // called for each delivered packet
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

    /// Returns the value of [`Self::has_news`] after an end has processed a segment. If `only_data` is true, only data
    /// that arrived in order can require a notification, so that the other conditions need not be checked.
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

    /// Whether the application may have to be notified of an event at this end, or the connection is over (not `live`).
    #[inline]
    pub(super) fn has_news(&self, end: u32) -> bool {
        let side = (end & 1) as usize;
        let (tcp, notified) = (&self.ends[side], &self.notified[side]);
        !self.live || notified.state != Some(tcp.state()) || tcp.received() >= self.notify_at[side] || tcp.peer_closed()
    }

    /// The time at which an end's timer is due, if that is before the end's pending timer event (`armed`).
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

/// Packets of a connection that links dropped and marked, both ways. Not in [`Conn`], because they are rarely counted.
#[derive(Clone, Copy, Default)]
pub(super) struct Signals {
    pub(super) drops: u32,
    pub(super) marks: u32,
}
