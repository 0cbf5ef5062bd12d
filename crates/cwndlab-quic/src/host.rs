//! One end of a connection: a stack, and the application that writes and reads its streams.
//!
//! Each end sends one unidirectional stream, opened when it first has something to send. Requests have streams of their own
//! ([`Exchanges`]). Once both unidirectional streams have ended and all data has been acknowledged, the client closes the
//! connection.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use cwndlab_engine::{Answer, Content, Endpoint, Message, Progress, StackCounters, StackWindow};
use cwndlab_units::Time;

use crate::exchanges::{Exchanges, Sizes};
use crate::messages::{stamp_of, stamped};
use crate::packets::Reader;
use crate::sender::Shared;
use crate::stack::{Direction, Event, Stack};
use crate::timeouts;

/// The addresses of the two ends. Each end has its own network, so one pair serves all connections.
pub(crate) const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4433);
pub(crate) const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4433);
/// Largest number of bytes given to a stack in one call.
pub(crate) const CHUNK: usize = 1 << 16;
/// The content of all streams.
pub(crate) static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// The stream that this end sends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream<Id> {
    Unopened,
    Open(Id),
    Finished(Id),
    Acked,
}

/// A stack with its application.
pub(crate) struct Host<S: Stack> {
    stack: S,
    is_client: bool,
    origin: Instant,
    now: Instant,
    stream: Stream<S::Id>,
    receiving: Option<S::Id>,
    exchanges: Exchanges<S::Id>,
    /// Bytes that the application has written and the stack has not yet accepted.
    unsent: u64,
    /// Whether the application has ended its stream.
    ends: bool,
    /// Whether this end sends data, or will.
    has_data: bool,
    writable: bool,
    progress: Progress,
    sender: Shared,
    timeouts: u32,
    /// Probe timeouts that have not been returned by [`Endpoint::poll_probe`].
    probes: VecDeque<u32>,
    /// Number of messages given to the stack.
    messages: u32,
    arrived: VecDeque<Message>,
    reader: Reader,
}

impl<S: Stack> Host<S> {
    pub(crate) fn new(stack: S, is_client: bool, origin: Instant, sender: Shared, sizes: Sizes) -> Host<S> {
        Host {
            stack,
            is_client,
            origin,
            now: origin,
            stream: Stream::Unopened,
            receiving: None,
            exchanges: Exchanges::new(is_client, sizes),
            unsent: 0,
            ends: false,
            has_data: false,
            writable: true,
            progress: Progress::default(),
            sender,
            timeouts: 0,
            probes: VecDeque::new(),
            messages: 0,
            arrived: VecDeque::new(),
            reader: Reader::default(),
        }
    }

    /// Begins the connection of a client at `now`.
    pub(crate) fn start(&mut self, now: Time) {
        self.at(now);
        self.work();
    }

    fn at(&mut self, now: Time) -> Instant {
        self.now = instant(self.origin, now);
        self.now
    }

    /// Handles what the stack reports, and gives it what there is to send.
    fn work(&mut self) {
        while let Some(event) = self.stack.poll() {
            match event {
                Event::Established => self.progress.established = true,
                Event::Opened(Direction::One) => {
                    self.receiving = self.receiving.or_else(|| self.stack.accept(Direction::One));
                    if let Some(id) = self.receiving {
                        self.read(id);
                    }
                }
                Event::Opened(Direction::Both) => {
                    self.has_data = true; // this end will answer
                    self.progress.received += self.exchanges.accept(&mut self.stack);
                }
                Event::Readable(id) => self.read(id),
                Event::Writable => self.writable = true,
                Event::AllAcked(id) => {
                    if self.stream == Stream::Finished(id) {
                        self.stream = Stream::Acked;
                    }
                }
                Event::Messages => self.receive_messages(),
                Event::Closed(failure) => {
                    self.progress.closed = true;
                    self.progress.failure = self.progress.failure.or(failure);
                }
                Event::Other => {}
            }
        }
        if self.progress.established && !self.progress.closed {
            self.send();
            if self.is_client && self.stream == Stream::Acked && self.progress.peer_closed {
                self.stack.close(self.now);
                self.progress.closed = true;
            }
        }
        self.progress.drained = self.stack.is_drained();
    }

    fn receive_messages(&mut self) {
        while let Some(content) = self.stack.receive_message() {
            self.progress.received += content.len() as u64;
            self.arrived.extend(stamp_of(&content));
        }
    }

    fn read(&mut self, id: S::Id) {
        if self.receiving != Some(id) {
            self.progress.received += self.exchanges.read(&mut self.stack, id);
            return;
        }
        let (bytes, ended) = self.stack.read(id);
        self.progress.received += bytes;
        self.progress.peer_closed |= ended;
    }

    fn send(&mut self) {
        if !self.exchanges.all_sent() {
            self.exchanges.send(&mut self.stack);
        }
        if self.stream == Stream::Unopened && (self.unsent > 0 || self.ends) {
            if let Some(id) = self.stack.open(Direction::One) {
                self.stream = Stream::Open(id);
            }
        }
        let Stream::Open(id) = self.stream else { return };
        while self.writable && self.unsent > 0 {
            let accepted = self.stack.send(id, self.unsent);
            self.writable = accepted > 0;
            self.unsent -= accepted;
        }
        if self.unsent == 0 && self.ends {
            self.stack.finish(id);
            self.stream = Stream::Finished(id);
        }
    }
}

/// A point in simulated time on the stack's clock.
pub(crate) fn instant(origin: Instant, now: Time) -> Instant {
    origin + Duration::from_nanos(now.as_nanos())
}

impl<S: Stack> Endpoint for Host<S> {
    fn handle_datagram(&mut self, now: Time, ecn: u8, payload: &[u8]) {
        let now = self.at(now);
        self.stack.receive(now, ecn, payload);
        self.work();
    }
    fn handle_timeout(&mut self, now: Time) {
        let now = self.at(now);
        let Host { stack, timeouts, .. } = self;
        let heard = timeouts::heard(|| stack.expire(now));
        *timeouts += heard.len() as u32;
        self.probes.extend(heard);
        self.work();
    }
    fn poll_datagram(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<u8> {
        let now = self.at(now);
        self.stack.transmit(now, payload)
    }
    fn poll_timeout(&mut self) -> Time {
        let due = |at: Instant| Time::from_nanos(at.saturating_duration_since(self.origin).as_nanos() as u64);
        self.stack.timeout().map_or(Time::MAX, due)
    }
    fn write(&mut self, bytes: u64) {
        self.unsent = self.unsent.saturating_add(bytes);
        self.has_data |= bytes > 0;
        self.work();
    }
    fn close(&mut self) {
        self.ends = true;
        self.work();
    }
    fn ask(&mut self, request: u64, response: u64) {
        self.has_data = true;
        self.exchanges.ask(request, response);
        self.work();
    }
    fn poll_answer(&mut self) -> Option<Answer> {
        self.exchanges.poll_answer()
    }
    fn send_message(&mut self, now: Time, bytes: u32) {
        self.has_data = true;
        self.stack.send_message(stamped(self.messages, now, bytes));
        self.messages += 1;
    }
    fn poll_message(&mut self) -> Option<Message> {
        self.arrived.pop_front()
    }
    fn describe(&mut self, payload: &[u8]) -> Content {
        self.reader.read(payload)
    }
    fn poll_probe(&mut self) -> Option<u32> {
        self.probes.pop_front()
    }
    fn progress(&self) -> Progress {
        self.progress
    }
    fn counters(&self) -> StackCounters {
        StackCounters {
            lost: self.stack.lost(&self.sender),
            ecn_reductions: self.sender.lock().ecn_reductions,
            timeouts: self.timeouts,
        }
    }
    fn window(&self) -> Option<StackWindow> {
        self.has_data.then(|| self.sender.lock().sample(self.stack.rtt()))
    }
}
