//! Transport stacks from outside the engine, such as implementations of QUIC.

use cwndlab_tcp::CongestionState;
use cwndlab_units::Time;
use serde_json::Value;
use thiserror::Error;

use crate::reason::Reason;

/// Opens the connections of the traffic entries that request a stack by [`TrafficSpec::stack`](crate::TrafficSpec).
pub trait Stacks {
    /// Opens a connection: creates the client's and the server's endpoint.
    ///
    /// # Errors
    ///
    /// If an endpoint cannot be created. The error ends the run.
    fn open(&mut self, stack: &Value, opening: &Opening) -> Result<[Box<dyn Endpoint>; 2], StackError>;
}

/// The connection for which endpoints are created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opening {
    /// The time at which the client begins its handshake.
    pub now: Time,
    /// Seeds for the random numbers of the client and of the server. They depend on the seed of the study, the replicate and
    /// the flow.
    pub seeds: [u64; 2],
}

/// The reason why a stack failed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct StackError(pub String);

/// One end of a connection. Each end sends one stream of bytes, the client may send requests on further streams, and each end
/// may send messages, which are not repeated if they are lost. The content of streams and messages does not matter.
///
/// After [`Endpoint::handle_datagram`], [`Endpoint::handle_timeout`], [`Endpoint::write`], [`Endpoint::ask`],
/// [`Endpoint::send_message`] or [`Endpoint::close`], the simulator calls [`Endpoint::progress`], then [`Endpoint::poll_datagram`]
/// until it returns `None`, then [`Endpoint::poll_timeout`].
///
/// Methods with a default are for what not every stack has: requests, messages, and statistics. `examples/stack.rs` is a stack
/// with a stream and two of the statistics.
pub trait Endpoint {
    /// Processes the payload of a datagram that arrived with these ECN bits.
    fn handle_datagram(&mut self, now: Time, ecn: u8, payload: &[u8]);
    /// Processes a timer that is due.
    fn handle_timeout(&mut self, now: Time);
    /// Appends the payload of the next datagram to the empty buffer `payload`, and returns its ECN bits. Returns `None` if
    /// there is nothing to send now.
    fn poll_datagram(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<u8>;
    /// The time at which [`Endpoint::handle_timeout`] is due; [`Time::MAX`] if no timer is set.
    fn poll_timeout(&mut self) -> Time;
    /// Appends bytes to the stream that this end sends.
    fn write(&mut self, bytes: u64);
    /// Ends the stream that this end sends.
    fn close(&mut self);
    /// The state of the connection at this end, including what it has read.
    fn progress(&self) -> Progress;

    /// Sends a request of `request` bytes on a new stream, at the client. When all of it has arrived, the server answers
    /// with `response` bytes on the same stream.
    ///
    /// # Errors
    ///
    /// If the stack has no requests. The error ends the run.
    fn ask(&mut self, request: u64, response: u64) -> Result<(), StackError> {
        let _ = (request, response);
        Err(StackError("this stack sends no requests".into()))
    }
    /// The next news of a response, at the client.
    fn poll_answer(&mut self) -> Option<Answer> {
        None
    }
    /// Sends a message of `bytes` bytes in a datagram, as soon as the stack permits. The stack may discard it.
    ///
    /// # Errors
    ///
    /// If the stack has no messages. The error ends the run.
    fn send_message(&mut self, now: Time, bytes: u32) -> Result<(), StackError> {
        let _ = (now, bytes);
        Err(StackError("this stack sends no datagrams of an application".into()))
    }
    /// The next message that has arrived at this end.
    fn poll_message(&mut self) -> Option<Message> {
        None
    }

    /// The counters of this end.
    fn counters(&self) -> StackCounters {
        StackCounters::default()
    }
    /// The state of the sender; `None` if this end has sent no data.
    fn window(&self) -> Option<StackWindow> {
        None
    }
    /// What is recorded of the content of the datagram that this end has just returned from [`Endpoint::poll_datagram`].
    fn describe(&mut self, payload: &[u8]) -> Content {
        let _ = payload;
        Content::default()
    }
    /// The next probe timeout that has not been returned yet: the number of them since the last progress, including this one.
    fn poll_probe(&mut self) -> Option<u32> {
        None
    }
}

/// The state of a connection as one end sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Whether the handshake is complete.
    pub established: bool,
    /// Bytes received: in order on all streams, and in messages.
    pub received: u64,
    /// Whether the peer's stream has ended and has been received completely.
    pub peer_closed: bool,
    /// Whether the connection is closed: by this end, by the peer or by an error.
    pub closed: bool,
    /// Whether this end keeps no state of the connection any more.
    pub drained: bool,
    /// The error that closed the connection.
    pub failure: Option<Reason>,
}

/// Data of a response has arrived: its first, or its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Number of the request on its connection, from 0.
    pub number: u32,
    /// Whether the whole response has arrived.
    pub complete: bool,
}

/// A message that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Number among the messages of its sender, from 0.
    pub number: u32,
    /// When its sender called [`Endpoint::send_message`].
    pub sent: Time,
    /// Bytes.
    pub bytes: u32,
}

/// What is recorded of the content of a datagram.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Content {
    /// Number of its packet; `None` if it belongs to the handshake, whose packets are numbered separately.
    pub number: Option<u64>,
    /// The packet numbers that it acknowledges, as ranges `[start, end)`, highest first; none if it belongs to the handshake.
    pub acked: Vec<(u64, u64)>,
    /// Whether it asks for an acknowledgment.
    pub elicits_ack: bool,
    /// Whether it carries data of the application.
    pub has_data: bool,
}

/// Counters of one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackCounters {
    /// Packets that the sender declared lost.
    pub lost: u32,
    /// Congestion events that ECN caused.
    pub ecn_reductions: u32,
    /// Probe timeouts.
    pub timeouts: u32,
}

/// The state of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackWindow {
    /// Congestion window in bytes.
    pub cwnd_bytes: u64,
    /// Slow-start threshold in bytes; [`u64::MAX`] if there is none.
    pub ssthresh_bytes: u64,
    /// Smoothed round-trip time; zero before the first measurement.
    pub srtt: Time,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// The congestion state.
    pub state: CongestionState,
}
