//! The applications of cwndlab-traffic, for a driver in Python. The driver reports events and carries out the commands
//! that an application returns.

use cwndlab_traffic::{App, Event, Losses, Side};
use cwndlab_units::Time;
use pyo3::prelude::*;

/// A command of an application; see `cwndlab_traffic::Command`.
#[pyclass(frozen, module = "cwndlab._core")]
pub enum Command {
    /// Open a connection.
    Connect { conn: u32 },
    /// Open a datagram flow.
    Open { conn: u32 },
    /// Send a datagram at once. `bytes` is the size of its IP packet, `payload` the size of its payload, `ecn` its ECN
    /// codepoint.
    Send { conn: u32, client: bool, bytes: u32, payload: u32, ecn: u8 },
    /// Append this many bytes to the send stream of one end.
    Write { conn: u32, client: bool, bytes: u64 },
    /// Close this end: it writes no more.
    Close { conn: u32, client: bool },
    /// Call `delivered` as soon as this end has received `total` bytes in order.
    NotifyAt { conn: u32, client: bool, total: u64 },
    /// Keep the bytes received at this end in its buffer until they are read.
    Hold { conn: u32, client: bool },
    /// Read this many of the bytes that have arrived at this end.
    Read { conn: u32, client: bool, bytes: u64 },
    /// Call `timer` at this time, replacing the previous timer.
    Timer { at_ns: u64 },
    /// Record a web page, file, transaction or object. `end_ns` is None if the object is unfinished.
    Record { kind: String, index: u32, start_ns: u64, end_ns: Option<u64>, bytes: u64, connections: u16 },
}

impl From<cwndlab_traffic::Command> for Command {
    fn from(command: cwndlab_traffic::Command) -> Command {
        use cwndlab_traffic::Command as C;
        let is_client = |side| side == Side::Client;
        match command {
            C::Connect { conn, .. } => Command::Connect { conn },
            C::Open { conn } => Command::Open { conn },
            C::Send { conn, side, bytes, payload, ecn } => {
                Command::Send { conn, client: is_client(side), bytes, payload, ecn: ecn as u8 }
            }
            C::Write { conn, side, bytes } => Command::Write { conn, client: is_client(side), bytes },
            C::Close { conn, side } => Command::Close { conn, client: is_client(side) },
            C::NotifyAt { conn, side, total } => Command::NotifyAt { conn, client: is_client(side), total },
            C::Ask { .. } => unreachable!("a scenario with QUIC stacks does not run on a kernel"),
            C::Hold { conn, side } => Command::Hold { conn, client: is_client(side) },
            C::Read { conn, side, bytes } => Command::Read { conn, client: is_client(side), bytes },
            C::Timer { at } => Command::Timer { at_ns: at.as_nanos() },
            C::Record(record) => Command::Record {
                kind: record.kind.name().to_owned(),
                index: record.index,
                start_ns: record.start.as_nanos(),
                end_ns: (!record.end.is_never()).then_some(record.end.as_nanos()),
                bytes: record.bytes,
                connections: record.connections,
            },
        }
    }
}

/// An application of a scenario. Each method reports an event and returns commands, to be carried out in order.
#[pyclass(module = "cwndlab._core")]
pub struct Application(App);

impl Application {
    pub fn new(app: App) -> Application {
        Application(app)
    }

    fn handle(&mut self, now_ns: u64, event: Event) -> Vec<Command> {
        let mut commands = Vec::new();
        self.0.handle(Time::from_nanos(now_ns), event, &mut commands);
        commands.into_iter().map(Command::from).collect()
    }
}

fn side(client: bool) -> Side {
    if client {
        Side::Client
    } else {
        Side::Server
    }
}

#[pymethods]
impl Application {
    /// Reports that the application's start time has come.
    fn start(&mut self, now_ns: u64) -> Vec<Command> {
        self.handle(now_ns, Event::Start)
    }

    /// Reports that the application's timer has expired.
    fn timer(&mut self, now_ns: u64) -> Vec<Command> {
        self.handle(now_ns, Event::Timer)
    }

    /// Reports that one end of a connection is established.
    fn established(&mut self, now_ns: u64, conn: u32, client: bool) -> Vec<Command> {
        self.handle(now_ns, Event::Established { conn, side: side(client) })
    }

    /// Reports that one end has received in order as many bytes, `total`, as its `NotifyAt` command asked for.
    fn delivered(&mut self, now_ns: u64, conn: u32, client: bool, total: u64) -> Vec<Command> {
        self.handle(now_ns, Event::Delivered { conn, side: side(client), total, losses: Losses::default() })
    }

    /// Reports that one end has received the other's FIN.
    fn peer_closed(&mut self, now_ns: u64, conn: u32, client: bool) -> Vec<Command> {
        self.handle(now_ns, Event::PeerClosed { conn, side: side(client) })
    }

    /// Reports that both ends of a connection have closed, or that the connection has failed.
    fn finished(&mut self, now_ns: u64, conn: u32, failed: bool) -> Vec<Command> {
        self.handle(now_ns, Event::Finished { conn, failed, losses: Losses::default() })
    }

    /// Reports the end of the run. The returned commands record objects in progress as unfinished.
    fn end(&mut self, now_ns: u64) -> Vec<Command> {
        self.handle(now_ns, Event::End)
    }
}
