//! One end of a connection: a stack, and the application that writes and reads its streams.
//!
//! Each end sends one unidirectional stream, opened when it first has something to send. A connection carries at most one
//! stream in each direction. Once both have ended and all data has been acknowledged, the client closes the connection.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use cwndlab_engine::{Endpoint, Progress, StackCounters, StackWindow};
use cwndlab_units::Time;

use crate::sender::Shared;
use crate::timeouts;

/// The addresses of the two ends. Each end has its own network, so one pair serves all connections.
pub(crate) const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4433);
pub(crate) const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4433);
/// Largest number of bytes given to a stack in one call.
pub(crate) const CHUNK: usize = 1 << 16;
/// The content of all streams.
pub(crate) static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// What a stack reports to its application.
pub(crate) enum Event {
    Established,
    /// The peer's stream has data, or its end.
    Readable,
    /// This end's stream may accept data again.
    Writable,
    /// All data of this end's stream has been acknowledged, and so has its end.
    AllAcked,
    /// The connection was closed, by the peer or by an error.
    Closed {
        failed: bool,
    },
    /// Something of no interest here.
    Other,
}

/// A stack at one end of a connection.
pub(crate) trait Stack {
    fn receive(&mut self, now: Instant, ecn: u8, payload: &[u8]);
    fn expire(&mut self, now: Instant);
    /// Appends a datagram's payload, and returns its ECN bits.
    fn transmit(&mut self, now: Instant, payload: &mut Vec<u8>) -> Option<u8>;
    fn timeout(&mut self) -> Option<Instant>;
    fn poll(&mut self) -> Option<Event>;
    /// Opens this end's stream. Returns false if the peer does not allow it yet.
    fn open_stream(&mut self) -> bool;
    /// Appends at most `bytes` bytes, and at most [`CHUNK`], to the stream. Returns how many the stack accepted.
    fn send(&mut self, bytes: u64) -> u64;
    fn finish(&mut self);
    /// Reads all that has arrived in order on the peer's stream. Returns its length, and whether the stream has ended.
    fn read(&mut self) -> (u64, bool);
    fn close(&mut self, now: Instant);
    fn is_drained(&self) -> bool;
    /// Packets declared lost; `sender` has what the congestion control reports.
    fn lost(&self, sender: &Shared) -> u32;
}

/// The stream that this end sends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Unopened,
    Open,
    Finished,
    Acked,
}

/// A stack with its application.
pub(crate) struct Host<S> {
    stack: S,
    is_client: bool,
    origin: Instant,
    now: Instant,
    stream: Stream,
    /// Bytes that the application has written and the stack has not yet accepted.
    unsent: u64,
    /// Whether the application has ended its stream.
    ends: bool,
    /// Whether the application has written anything.
    has_data: bool,
    writable: bool,
    progress: Progress,
    sender: Shared,
    timeouts: u32,
}

impl<S: Stack> Host<S> {
    pub(crate) fn new(stack: S, is_client: bool, origin: Instant, sender: Shared) -> Host<S> {
        Host {
            stack,
            is_client,
            origin,
            now: origin,
            stream: Stream::Unopened,
            unsent: 0,
            ends: false,
            has_data: false,
            writable: true,
            progress: Progress::default(),
            sender,
            timeouts: 0,
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
                Event::Readable => {
                    let (bytes, ended) = self.stack.read();
                    self.progress.received += bytes;
                    self.progress.peer_closed |= ended;
                }
                Event::Writable => self.writable = true,
                Event::AllAcked => self.stream = Stream::Acked,
                Event::Closed { failed } => {
                    self.progress.closed = true;
                    self.progress.failed |= failed;
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

    fn send(&mut self) {
        if self.stream == Stream::Unopened && (self.unsent > 0 || self.ends) && self.stack.open_stream() {
            self.stream = Stream::Open;
        }
        if self.stream != Stream::Open {
            return;
        }
        while self.writable && self.unsent > 0 {
            let accepted = self.stack.send(self.unsent);
            self.writable = accepted > 0;
            self.unsent -= accepted;
        }
        if self.unsent == 0 && self.ends {
            self.stack.finish();
            self.stream = Stream::Finished;
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
        *timeouts += timeouts::counted(|| stack.expire(now));
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
        self.has_data.then(|| self.sender.lock().sample())
    }
}
