//! The applications of a run: their events and their commands.

use cwndlab_scenario::Paths;
use cwndlab_traffic::{App, Command, Event, Side};
use cwndlab_units::Time;

use super::conn::side_of;
use super::connection::Notice;
use super::Simulation;
use crate::probe::Probe;
use crate::stacks::Answer;

/// One traffic entry.
pub(super) struct AppSlot {
    pub(super) app: App,
    /// Slot of the application's connection 0; `u32::MAX` if closed. Most applications have no other connection.
    first_conn: u32,
    /// Slots of its connections 1, 2, …; `u32::MAX` if closed.
    conns: Box<[u32]>,
    /// The paths from client to server and back.
    pub(super) paths: [Paths; 2],
    pub(super) nodes: [u32; 2],
    started: bool,
    /// Time of the live timer event; an entry of the event queue with another time is stale.
    armed: Time,
}

// A run may have 100,000 applications.
const _: () = assert!(size_of::<AppSlot>() <= 88);

impl AppSlot {
    pub(super) fn new(app: App, paths: [Paths; 2], nodes: [u32; 2], start: Time) -> AppSlot {
        AppSlot { app, first_conn: u32::MAX, conns: Box::default(), paths, nodes, started: false, armed: start }
    }

    /// The field that stores the slot of the application's connection `number`; `None` if there has been no such
    /// connection.
    fn conn(&mut self, number: u32) -> Option<&mut u32> {
        match number.checked_sub(1) {
            None => Some(&mut self.first_conn),
            Some(at) => self.conns.get_mut(at as usize),
        }
    }
}

impl<P: Probe> Simulation<P> {
    pub(super) fn on_app_timer(&mut self, app: u32) {
        let slot = &mut self.apps[app as usize];
        if slot.armed != self.now {
            return;
        }
        slot.armed = Time::MAX;
        let event = if std::mem::replace(&mut slot.started, true) { Event::Timer } else { Event::Start };
        self.handle(app, event);
        self.poll_dirty();
    }

    pub(super) fn notify(&mut self, end: u32, notice: &Notice) {
        let slot = end >> 1;
        let (app, conn) = {
            let conn = &self.conns[slot as usize];
            (conn.app, conn.number)
        };
        let side = side_of(end);
        let losses = self.losses(slot);
        let event = match *notice {
            Notice::Established => Event::Established { conn, side },
            Notice::Delivered(total) => Event::Delivered { conn, side, total, losses },
            Notice::Answered(Answer { number, complete }) => Event::Answered { conn, number, complete, losses },
            Notice::Arrived(number) => Event::Arrived { conn, number },
            Notice::PeerClosed => Event::PeerClosed { conn, side },
            Notice::Finished { failed } => {
                if let Some(place) = self.apps[app as usize].conn(conn) {
                    *place = u32::MAX;
                }
                Event::Finished { conn, failed, losses }
            }
        };
        self.handle(app, event);
    }

    /// Passes an event to an application and executes the commands that the application returns.
    fn handle(&mut self, app: u32, event: Event) {
        let mut commands = std::mem::take(&mut self.commands);
        self.apps[app as usize].app.handle(self.now, event, &mut commands);
        for command in commands.drain(..) {
            self.execute(app, command);
        }
        self.commands = commands;
    }

    fn execute(&mut self, app: u32, command: Command) {
        match command {
            Command::Write { conn, side, .. }
            | Command::Close { conn, side }
            | Command::NotifyAt { conn, side, .. }
            | Command::Hold { conn, side }
            | Command::Read { conn, side, .. }
            | Command::Send { conn, side, .. } => {
                if let Some(end) = self.end(app, conn, side) {
                    self.change_end(end, command);
                }
            }
            Command::Ask { conn, request, response } => {
                if let Some(end) = self.end(app, conn, Side::Client) {
                    self.ask_stack(end, request, response);
                }
            }
            Command::Connect { conn, tcp_client, tcp_server } => {
                if let Some(slot) = self.connect(app, conn, [tcp_client, tcp_server]) {
                    self.number(app, conn, slot);
                }
            }
            Command::Open { conn } => {
                if let Some(slot) = self.open_datagrams(app, conn) {
                    self.number(app, conn, slot);
                }
            }
            Command::Timer { at } => {
                let at = at.max(self.now);
                self.apps[app as usize].armed = at;
                let source = self.app_source(app);
                self.events.push(at, source);
            }
            Command::Record(record) => {
                if P::ENABLED {
                    self.probe.object(app, &record);
                }
            }
        }
    }

    /// Executes a command to one end of a connection. Queues the end for polling, unless the end is polled afterwards
    /// anyway (`notified`) or polling has no effect.
    #[inline]
    fn change_end(&mut self, end: u32, command: Command) {
        let (slot, side) = ((end >> 1) as usize, (end & 1) as usize);
        let conn = &mut self.conns[slot];
        if conn.is_stack() {
            return self.change_stack(end, command);
        }
        let tcp = &mut conn.ends[side];
        match command {
            Command::Write { bytes, .. } => tcp.write(bytes),
            Command::Close { .. } => tcp.close(),
            Command::NotifyAt { total, .. } => {
                conn.notify_at[side] = total;
                if total > 0 && !tcp.was_established() {
                    return; // no data has arrived, and none may be sent
                }
            }
            Command::Hold { .. } => return tcp.set_auto_read(false),
            Command::Read { bytes, .. } => self.read(end, bytes), // reading may open the receive window
            Command::Send { bytes, payload, ecn, .. } => return self.send_datagram(end, bytes, payload, ecn),
            _ => return,
        }
        if end != self.notified {
            self.dirty.push_back(end);
        }
    }

    /// Stores the slot of the application's connection `conn`.
    fn number(&mut self, app: u32, conn: u32, slot: u32) {
        let app = &mut self.apps[app as usize];
        if app.conns.len() < conn as usize {
            let mut conns = std::mem::take(&mut app.conns).into_vec();
            conns.resize((conn as usize).next_power_of_two(), u32::MAX);
            app.conns = conns.into_boxed_slice();
        }
        if let Some(place) = app.conn(conn) {
            debug_assert_eq!(*place, u32::MAX, "the application reused an open connection's number");
            *place = slot;
        }
    }

    /// The end on this side of the application's connection `conn`; `None` if the connection is already over.
    fn end(&mut self, app: u32, conn: u32, side: Side) -> Option<u32> {
        let slot = *self.apps[app as usize].conn(conn)?;
        (slot != u32::MAX).then_some(slot << 1 | u32::from(side == Side::Server))
    }

    /// Records unfinished objects as if the run ended now, using copies of the applications.
    pub(super) fn snapshot_apps(&mut self) {
        let mut commands = Vec::new();
        for app in 0..self.apps.len() {
            self.apps[app].app.clone().handle(self.now, Event::End, &mut commands);
            for command in commands.drain(..) {
                if let Command::Record(record) = command {
                    self.probe.snapshot_object(self.now, app as u32, &record);
                }
            }
        }
    }

    /// Records the objects in progress at the end of the run as unfinished.
    pub(super) fn end_apps(&mut self) {
        for app in 0..self.apps.len() as u32 {
            self.handle(app, Event::End);
        }
        self.dirty.clear();
    }
}
