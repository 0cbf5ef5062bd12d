//! What a published stack does for this crate.

use std::time::{Duration, Instant};

use bytes::Bytes;
use cwndlab_engine::Reason;

use crate::sender::Shared;

/// The directions in which a stream carries data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// From the end that opened it.
    One,
    Both,
}

/// What a stack reports to its application.
pub(crate) enum Event<Id> {
    Established,
    /// The peer has opened streams.
    Opened(Direction),
    /// A stream of the peer has data, or its end.
    Readable(Id),
    /// A stream may accept data again, or the peer allows more streams.
    Writable,
    /// All data of a stream has been acknowledged, and so has its end.
    AllAcked(Id),
    /// Messages have arrived.
    Messages,
    /// The connection was closed: by the peer, or by this error.
    Closed(Option<Reason>),
    /// Something of no interest here.
    Other,
}

/// A stack at one end of a connection.
pub(crate) trait Stack {
    /// Identifies a stream.
    type Id: Copy + PartialEq;

    /// Position of a stream among those of its direction that the same end opened.
    fn number(id: Self::Id) -> usize;
    fn receive(&mut self, now: Instant, ecn: u8, payload: &[u8]);
    fn expire(&mut self, now: Instant);
    /// Appends a datagram's payload, and returns its ECN bits.
    fn transmit(&mut self, now: Instant, payload: &mut Vec<u8>) -> Option<u8>;
    fn timeout(&mut self) -> Option<Instant>;
    fn poll(&mut self) -> Option<Event<Self::Id>>;
    /// Opens a stream. Returns `None` if the peer does not allow it yet.
    fn open(&mut self, direction: Direction) -> Option<Self::Id>;
    /// The next stream that the peer has opened.
    fn accept(&mut self, direction: Direction) -> Option<Self::Id>;
    /// Appends at most `bytes` bytes, and at most [`CHUNK`](crate::host::CHUNK), to a stream. Returns how many the stack accepted.
    fn send(&mut self, stream: Self::Id, bytes: u64) -> u64;
    fn finish(&mut self, stream: Self::Id);
    /// Reads all that has arrived in order on a stream. Returns its length, and whether the stream has ended.
    fn read(&mut self, stream: Self::Id) -> (u64, bool);
    /// Queues a message, in place of the oldest ones if the send buffer is full. One that is too large is discarded.
    fn send_message(&mut self, content: Bytes);
    /// The next message that has arrived.
    fn receive_message(&mut self) -> Option<Bytes>;
    fn close(&mut self, now: Instant);
    fn is_drained(&self) -> bool;
    /// The smoothed round-trip time, or what the stack assumes before it has measured one.
    fn rtt(&self) -> Duration;
    /// Packets declared lost; `sender` has what the congestion control reports.
    fn lost(&self, sender: &Shared) -> u32;
}
