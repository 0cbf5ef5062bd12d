//! The application of one end: what it writes to streams, and reads from them.
//!
//! Each end sends one unidirectional stream, opened when it first has something to send. Requests have streams of their own
//! ([`Exchanges`]). Once both unidirectional streams have ended and all data has been acknowledged, the client closes the
//! connection.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use cwndlab_engine::{Message, Progress, Reason};

use super::exchanges::{finish, read, send, Exchanges, Sizes};
use super::proto::{Connection, ConnectionError, Dir, Event, StreamEvent, StreamId, VarInt};
use crate::messages::stamp_of;

/// The stream that this end sends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Unopened,
    Open(StreamId),
    Finished(StreamId),
    Acked,
}

/// The streams of one end.
pub(super) struct Streams {
    is_client: bool,
    stream: Stream,
    receiving: Option<StreamId>,
    pub(super) exchanges: Exchanges,
    /// Bytes that the application has written and the stack has not yet accepted.
    unsent: u64,
    /// Whether the application has ended its stream.
    ends: bool,
    /// Whether this end sends data, or will.
    pub(super) has_data: bool,
    writable: bool,
    pub(super) progress: Progress,
    /// Messages that have arrived.
    pub(super) arrived: VecDeque<Message>,
}

impl Streams {
    pub(super) fn new(is_client: bool, sizes: Sizes) -> Streams {
        Streams {
            is_client,
            stream: Stream::Unopened,
            receiving: None,
            exchanges: Exchanges::new(is_client, sizes),
            unsent: 0,
            ends: false,
            has_data: false,
            writable: true,
            progress: Progress::default(),
            arrived: VecDeque::new(),
        }
    }

    pub(super) fn write(&mut self, bytes: u64) {
        self.unsent = self.unsent.saturating_add(bytes);
        self.has_data |= bytes > 0;
    }

    pub(super) fn close(&mut self) {
        self.ends = true;
    }

    pub(super) fn ask(&mut self, request: u64, response: u64) {
        self.has_data = true;
        self.exchanges.ask(request, response);
    }

    /// Handles what the stack reports, and gives it what there is to send.
    pub(super) fn work(&mut self, now: Instant, connection: &mut Connection) {
        while let Some(event) = connection.poll() {
            self.handle(event, connection);
        }
        if self.progress.established && !self.progress.closed {
            self.send(connection);
            if self.is_client && self.stream == Stream::Acked && self.progress.peer_closed {
                connection.close(now, VarInt::from_u32(0), Bytes::new());
                self.progress.closed = true;
            }
        }
        self.progress.drained = connection.is_drained();
    }

    fn handle(&mut self, event: Event, connection: &mut Connection) {
        match event {
            Event::Connected => self.progress.established = true,
            Event::ConnectionLost { reason } => {
                self.progress.closed = true;
                if !matches!(reason, ConnectionError::ApplicationClosed(_)) {
                    let reason = || Reason::new(&reason.to_string());
                    self.progress.failure = Some(self.progress.failure.unwrap_or_else(reason));
                }
            }
            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                self.receiving = self.receiving.or_else(|| connection.streams().accept(Dir::Uni));
                if let Some(id) = self.receiving {
                    self.read(id, connection);
                }
            }
            Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                self.has_data = true; // this end will answer
                self.progress.received += self.exchanges.accept(connection);
            }
            Event::Stream(StreamEvent::Readable { id }) => self.read(id, connection),
            Event::Stream(StreamEvent::Writable { .. } | StreamEvent::Available { .. }) => self.writable = true,
            Event::Stream(StreamEvent::Finished { id }) if self.stream == Stream::Finished(id) => {
                self.stream = Stream::Acked;
            }
            Event::DatagramReceived => {
                while let Some(content) = connection.datagrams().recv() {
                    self.progress.received += content.len() as u64;
                    self.arrived.extend(stamp_of(&content));
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, id: StreamId, connection: &mut Connection) {
        if self.receiving != Some(id) {
            self.progress.received += self.exchanges.read(connection, id);
            return;
        }
        let (bytes, ended) = read(connection, id);
        self.progress.received += bytes;
        self.progress.peer_closed |= ended;
    }

    fn send(&mut self, connection: &mut Connection) {
        if !self.exchanges.all_sent() {
            self.exchanges.send(connection);
        }
        if self.stream == Stream::Unopened && (self.unsent > 0 || self.ends) {
            if let Some(id) = connection.streams().open(Dir::Uni) {
                self.stream = Stream::Open(id);
            }
        }
        let Stream::Open(id) = self.stream else { return };
        while self.writable && self.unsent > 0 {
            let accepted = send(connection, id, self.unsent);
            self.writable = accepted > 0;
            self.unsent -= accepted;
        }
        if self.unsent == 0 && self.ends {
            finish(connection, id);
            self.stream = Stream::Finished(id);
        }
    }
}
