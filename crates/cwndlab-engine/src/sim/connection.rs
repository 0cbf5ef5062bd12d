//! Connections of the run: opening, delivering packets, polling, notifying applications, closing.

use cwndlab_net::network::Network as _;
use cwndlab_tcp::{Connection, LawError, State, WindowLawKind};
use cwndlab_traffic::{Losses, Side};
use cwndlab_units::Time;
use rand::RngCore as _;

use super::conn::{Conn, Notified, Signals, TCP};
use super::exit::exit_of;
use super::{Simulation, Window};
use crate::budget::RunError;
use crate::laws::Flow;
use crate::packet::Packet;
use crate::probe::{Opened, Probe, SegmentEvent, Way, WindowSample};
use crate::stacks::Answer;

/// An event at one end of a connection, of which the application is to be notified.
pub(super) enum Notice {
    Established,
    PeerClosed,
    Delivered(u64),
    Answered(Answer),
    Arrived(u32),
    Finished { failed: bool },
}

impl<P: Probe> Simulation<P> {
    /// Opens a connection for an application, and queues its ends for polling. Returns `None` if there is no room for
    /// the connection, which ends the run.
    pub(super) fn connect(&mut self, app: u32, number: u32, configs: [u16; 2]) -> Option<u32> {
        if self.outside.has(app) {
            return self.connect_stack(app, number, configs);
        }
        let slot = self.open(app, number, configs, None)?;
        if P::ENABLED && self.probes.traces_senders() {
            self.traces.begin(slot, self.conns[slot as usize].serial, self.now);
        }
        self.attach_laws(slot);
        self.dirty.push_back(slot << 1);
        // An end that waits for a SYN has nothing to send and nothing to report.
        let waits = self.conns[slot as usize].ends[1].state() == State::Listen;
        if !waits || P::ENABLED && self.samples_senders {
            self.dirty.push_back(slot << 1 | 1);
        }
        Some(slot)
    }

    /// Opens a connection or datagram flow; `datagrams` is the value of [`Conn::datagrams`], and `None` stands for TCP.
    /// Returns its slot; `None` if there is no room for it.
    pub(super) fn open(&mut self, app: u32, number: u32, configs: [u16; 2], datagrams: Option<u32>) -> Option<u32> {
        if self.free_conns.is_empty() && !self.has_room() {
            return None;
        }
        let [client, server] = configs.map(|index| &self.configs[usize::from(index)]);
        let mut ends = [Connection::client(client, 0, self.now), Connection::server(server, 0, self.now)];
        for (end, (config, side)) in ends.iter_mut().zip([(client, "client"), (server, "server")]) {
            if config.window_law.needs().draws {
                end.set_random(self.streams.connection(&self.traffic_names[app as usize], number, side));
            }
        }
        let conn = Conn {
            ends,
            armed: [Time::MAX; 2],
            routes: self.choose_paths(app, number),
            configs,
            notify_at: [u64::MAX; 2],
            notified: [Notified::default(); 2],
            in_network: 0,
            live: true,
            datagrams: datagrams.unwrap_or(TCP),
            serial: self.summary.connections as u32,
            app,
            number,
            start: self.now,
            established: Time::MAX,
        };
        if P::ENABLED {
            let [tcp_client, tcp_server] = configs;
            let datagrams = datagrams.is_some();
            self.probe.opened(&Opened { connection: conn.serial, traffic: app, tcp_client, tcp_server, datagrams });
        }
        self.summary.connections += 1;
        let slot = if let Some(slot) = self.free_conns.pop() {
            self.conns[slot as usize] = conn;
            self.signals[slot as usize] = Signals::default();
            slot
        } else {
            self.conns.push(conn);
            self.signals.push(Signals::default());
            self.conns.len() as u32 - 1
        };
        Some(slot)
    }

    /// The positions, in [`Simulation::hops`], of a connection's routes: there and back.
    fn choose_paths(&self, app: u32, number: u32) -> [u32; 2] {
        let paths = self.apps[app as usize].paths;
        if !paths.iter().any(|paths| paths.are_several()) {
            return paths.map(|paths| paths.start);
        }
        let mut hashes = self.streams.stream(&format!("paths:{app}:{number}"));
        paths.map(|paths| paths.choose(hashes.next_u64()))
    }

    /// Attaches window laws from outside the engine to the ends whose configuration requests one.
    fn attach_laws(&mut self, slot: u32) {
        for (side, name) in [(0, Side::Client), (1, Side::Server)] {
            let conn = &mut self.conns[slot as usize];
            let config = &self.configs[usize::from(conn.configs[side])];
            let WindowLawKind::External { code, .. } = config.window_law else { continue };
            let traffic = self.laws.as_ref().map_or("", |book| &book.traffic[conn.app as usize]);
            let end = if side == 0 { "client" } else { "server" };
            let seed = self.streams.connection(traffic, conn.number, end).next_u64();
            let flow = Flow { traffic: traffic.to_owned(), connection: conn.serial, side: name, seed };
            let missing = || LawError(format!("window law {code} is not in this process"));
            let made = self.laws.as_mut().ok_or_else(missing).and_then(|book| {
                let law = book.laws.make(code, &flow)?;
                conn.ends[side].attach_law(config, self.now, law, flow.to_string(), book.failures.clone());
                Ok(())
            });
            if let Err(why) = made {
                self.break_off(RunError::Law { flow: flow.to_string(), at: self.now, why: why.to_string() });
            }
        }
    }

    /// Delivers a packet that has reached its endpoint.
    #[inline(never)]
    pub(super) fn deliver(&mut self, packet: &Packet) {
        if P::ENABLED && self.probes.delays {
            self.report_delay(packet);
        }
        let conn = &mut self.conns[(packet.to >> 1) as usize];
        if !conn.is_tcp() {
            return self.deliver_datagram(packet);
        }
        self.summary.delivered += 1;
        conn.take(&self.configs, self.now, packet, &mut self.sacks);
        self.after_delivery(packet.to);
    }

    /// Completes a delivery after the end has processed the packet: notifies the application, sends what may be sent,
    /// polls other ends to which the application has given commands, and frees the slot if the connection is over.
    #[inline(never)]
    pub(super) fn after_delivery(&mut self, end: u32) {
        self.pump(end, false);
        self.poll_dirty();
        self.retire(end >> 1);
    }

    pub(super) fn on_end_timer(&mut self, end: u32) {
        let (slot, side) = ((end >> 1) as usize, (end & 1) as usize);
        let conn = &mut self.conns[slot];
        if conn.armed[side] != self.now {
            return;
        }
        conn.armed[side] = Time::MAX;
        if !conn.is_tcp() {
            return self.on_stack_timer(end);
        }
        let deadline = conn.ends[side].poll_timeout();
        if deadline > self.now {
            // The deadline has been postponed since this event was scheduled, so it needs another event.
            if !deadline.is_never() {
                self.arm(end, deadline);
            }
            return;
        }
        let config = &self.configs[usize::from(conn.configs[side])];
        let before = conn.ends[side].stats().timeouts;
        conn.ends[side].handle_timeout(config, self.now);
        let expired = conn.ends[side].stats().timeouts != before;
        if expired || !conn.live || conn.has_news(end) {
            self.pump(end, expired);
        } else if let Some(mut packet) = self.send(end) {
            self.transmit_rest(end, &mut packet);
        } else {
            self.after_transmission(end);
        }
        self.poll_dirty();
        self.retire(slot as u32);
    }

    /// Schedules an end's timer, unless an entry at least as early is pending.
    pub(super) fn arm_end(&mut self, end: u32) {
        if let Some(deadline) = self.conns[(end >> 1) as usize].earlier_deadline(end) {
            self.arm(end, deadline);
        }
    }

    #[inline]
    pub(super) fn arm(&mut self, end: u32, deadline: Time) {
        self.conns[(end >> 1) as usize].armed[(end & 1) as usize] = deadline;
        let source = self.end_source(end);
        self.events.push(deadline, source);
    }

    /// Polls the ends to which applications have given commands.
    #[inline]
    pub(super) fn poll_dirty(&mut self) {
        if !self.dirty.is_empty() {
            self.poll_all_dirty();
        }
    }

    #[inline(never)]
    fn poll_all_dirty(&mut self) {
        while let Some(end) = self.dirty.pop_front() {
            self.pump(end, false);
        }
    }

    /// Called after anything has happened at an end: notifies the application, sends what may be sent, and schedules
    /// the timer. `expired` says that the end's retransmission timer has just expired; the next retransmission is then
    /// reported to the probe as due to a timeout.
    #[inline(never)]
    fn pump(&mut self, end: u32, mut expired: bool) {
        let (slot, side) = ((end >> 1) as usize, (end & 1) as usize);
        let conn = &self.conns[slot];
        if !conn.live {
            return;
        }
        if !conn.is_tcp() {
            return self.pump_stack(end);
        }
        if conn.has_news(end) {
            if self.configs[usize::from(conn.configs[side])].acks_before_answers && !self.transmit(end, &mut expired) {
                return;
            }
            self.notify_application(end);
        }
        if self.transmit(end, &mut expired) {
            self.after_transmission(end);
        }
    }

    /// Sends what an end may send, and schedules its timer, but does not notify the application.
    pub(super) fn poll_without_application(&mut self, end: u32) {
        if self.transmit(end, &mut false) {
            self.after_transmission(end);
        }
    }

    fn after_transmission(&mut self, end: u32) {
        if P::ENABLED && self.samples_senders {
            self.sample_sender(end);
        }
        self.arm_end(end);
    }

    /// Sends what an end may send. Returns false if the run ends.
    #[inline]
    fn transmit(&mut self, end: u32, expired: &mut bool) -> bool {
        while let Some(mut packet) = self.send(end) {
            if !self.transmit_one(end, &mut packet, expired) {
                return false;
            }
        }
        true
    }

    /// Sends a packet that [`super::exit::Exit::send`] returned. Returns false if the run ends.
    #[inline]
    fn transmit_one(&mut self, end: u32, packet: &mut Packet, expired: &mut bool) -> bool {
        if self.labels_packets {
            self.label(end, packet, expired);
        }
        self.forward(packet);
        self.summary.injected < self.watch.look_at_packet || self.look_inside()
    }

    /// Does what remains of [`Self::pump`] after [`super::exit::Exit::send`] returned this packet.
    #[inline(never)]
    pub(super) fn transmit_rest(&mut self, end: u32, packet: &mut Packet) {
        let mut expired = false;
        if self.transmit_one(end, packet, &mut expired) && self.transmit(end, &mut expired) {
            self.after_transmission(end);
        }
    }

    /// See [`super::exit::Exit::send`].
    #[inline]
    fn send(&mut self, end: u32) -> Option<Packet> {
        let conn = &mut self.conns[(end >> 1) as usize];
        let config = &self.configs[usize::from(conn.configs[(end & 1) as usize])];
        exit_of!(self).send(conn, end, config)
    }

    /// Adds the labels that class-based queues, delay records and the observed node require to a packet that is being
    /// sent. If the observed node sends it, also reports it to the probe.
    #[inline(never)]
    pub(super) fn label(&mut self, end: u32, packet: &mut Packet, expired: &mut bool) {
        let conn = &self.conns[(end >> 1) as usize];
        let node = self.apps[conn.app as usize].nodes[(end & 1) as usize];
        if !self.traffic_numbers.is_empty() {
            packet.traffic = self.traffic_numbers[conn.app as usize];
        }
        if P::ENABLED && self.probes.delays {
            packet.stamp(self.now, self.ticks);
        }
        if P::ENABLED && self.observed != u32::MAX {
            packet.ip_id = self.next_ip_id(node);
            if node == self.observed {
                let timeout = packet.is_retransmission() && std::mem::take(expired);
                self.see(SegmentEvent::Sent { timeout }, packet);
            }
        }
    }

    #[inline(never)]
    fn report_delay(&mut self, packet: &Packet) {
        let conn = &self.conns[(packet.to >> 1) as usize];
        if conn.is_stack() && self.outside.has_messages(conn.app) {
            return; // the delays of its messages are recorded instead
        }
        let way = Way { connection: conn.serial, from_client: packet.to & 1 == 1 };
        let content = self.outside.payloads.content(packet.payload_slot());
        let is_empty = conn.is_stack() && content.is_some_and(|content| !content.has_data);
        let payload = if is_empty { 0 } else { packet.segment(&self.sacks).len };
        self.probe.delay(self.now, way, packet.age(self.now, self.ticks), payload);
    }

    /// The IP identification of a host's next packet, from one counter per host.
    fn next_ip_id(&mut self, node: u32) -> u16 {
        let id = &mut self.ip_ids[node as usize];
        *id = id.wrapping_add(1);
        *id
    }

    /// Notifies the application of everything that is new at an end, including the consequences of the application's
    /// own commands.
    #[inline(never)]
    fn notify_application(&mut self, end: u32) {
        self.notify_all(end, Self::next_notice);
    }

    /// Notifies the application of all that `next` returns of an end.
    #[inline]
    pub(super) fn notify_all(&mut self, end: u32, next: impl Fn(&mut Self, u32) -> Option<Notice>) {
        self.notified = end;
        while let Some(notice) = next(self, end) {
            self.notify(end, &notice);
            if let Notice::Finished { .. } = notice {
                break;
            }
        }
        self.notified = u32::MAX;
    }

    fn next_notice(&mut self, end: u32) -> Option<Notice> {
        let side = (end & 1) as usize;
        let conn = &mut self.conns[(end >> 1) as usize];
        if !conn.live {
            return None;
        }
        let (tcp, notified) = (&conn.ends[side], &mut conn.notified[side]);
        let state = tcp.state();
        notified.state = Some(state);
        if !notified.established && tcp.was_established() {
            notified.established = true;
            if side == 0 {
                conn.established = self.now;
            }
            return Some(Notice::Established);
        }
        if tcp.received() >= conn.notify_at[side] {
            conn.notify_at[side] = u64::MAX;
            return Some(Notice::Delivered(tcp.received()));
        }
        if tcp.peer_closed() && !notified.peer_closed {
            notified.peer_closed = true;
            return Some(Notice::PeerClosed);
        }
        let without_fin = |side: usize| self.configs[usize::from(conn.configs[side])].fin.is_none();
        let gone = |side: usize| {
            let tcp = &conn.ends[side];
            tcp.is_finished() || tcp.state() == State::Listen || (without_fin(side) && tcp.is_quiet())
        };
        if (gone(0) && gone(1)) && conn.ends.iter().any(Connection::is_finished) {
            conn.live = false;
            let failed = super::connection_records::failure(&conn.ends).is_some();
            let slot = end >> 1;
            self.record_connection(slot, self.now);
            self.end_traces(slot);
            return Some(Notice::Finished { failed });
        }
        None
    }

    /// Reads bytes from an end's receive buffer.
    pub(super) fn read(&mut self, end: u32, bytes: u64) {
        let conn = &mut self.conns[(end >> 1) as usize];
        let side = (end & 1) as usize;
        let config = &self.configs[usize::from(conn.configs[side])];
        let read = conn.ends[side].read(config, self.now, bytes);
        debug_assert_eq!(read, bytes, "the application read what had not arrived");
    }

    /// Frees a slot whose connection is over and whose packets have left the network.
    #[inline]
    pub(super) fn retire(&mut self, slot: u32) {
        let conn = &mut self.conns[slot as usize];
        if !conn.live && conn.in_network == 0 && conn.app != u32::MAX {
            conn.app = u32::MAX;
            self.free_conns.push(slot);
        }
    }

    /// Losses of a connection so far, at both ends.
    pub(super) fn losses(&self, slot: u32) -> Losses {
        let conn = &self.conns[slot as usize];
        if conn.is_stack() {
            return self.stack_losses(slot);
        }
        let [a, b] = &conn.ends;
        Losses {
            retransmits: a.stats().retransmits + b.stats().retransmits,
            timeouts: a.stats().timeouts + b.stats().timeouts,
        }
    }

    #[inline]
    pub(super) fn sample_window(&mut self, end: u32) {
        let side = (end & 1) as usize;
        let conn = &self.conns[(end >> 1) as usize];
        let tcp = &conn.ends[side];
        if tcp.stats().bytes_sent == 0 {
            return;
        }
        let state = tcp.congestion_state();
        let window = (conn.serial, tcp.cwnd_bytes(), tcp.ssthresh_bytes(), state);
        if !self.is_new_window(end, window) {
            return;
        }
        let conn = &self.conns[(end >> 1) as usize];
        let tcp = &conn.ends[side];
        let cfg = &self.configs[usize::from(conn.configs[side])];
        let sample = WindowSample {
            cwnd_bytes: window.1,
            ssthresh_bytes: window.2,
            srtt: tcp.srtt(cfg),
            in_flight_bytes: tcp.in_flight(),
            state,
        };
        self.probe.window(self.now, Way { connection: conn.serial, from_client: side == 0 }, &sample);
    }

    /// Whether this window differs from the last one that was recorded for this end, which it replaces.
    #[inline]
    pub(super) fn is_new_window(&mut self, end: u32, window: Window) -> bool {
        if self.last_windows.len() <= end as usize {
            self.last_windows.resize(end as usize + 1, (u32::MAX, 0, 0, window.3));
        }
        // The window is mostly the same; nothing is written then.
        let last = &mut self.last_windows[end as usize];
        let is_new = *last != window;
        if is_new {
            *last = window;
        }
        is_new
    }
}
