//! Events delivered to an application, and the commands it returns.

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::ecn::EcnField;

/// An end of a connection: the client opens it, the server accepts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The end that opens actively.
    Client,
    /// The end that opens passively.
    Server,
}

impl Side {
    /// The other end.
    #[must_use]
    pub const fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// The losses of one connection so far, at both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses {
    /// Retransmitted segments.
    pub retransmits: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
}

impl Losses {
    /// The sum of these losses and `other`.
    #[must_use]
    pub fn plus(self, other: Losses) -> Losses {
        Losses {
            retransmits: self.retransmits.saturating_add(other.retransmits),
            timeouts: self.timeouts.saturating_add(other.timeouts),
        }
    }
    /// The losses since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Losses) -> Losses {
        Losses {
            retransmits: self.retransmits.saturating_sub(earlier.retransmits),
            timeouts: self.timeouts.saturating_sub(earlier.timeouts),
        }
    }
}

/// An event delivered to an application. `conn` is the application's slot of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The application's start time; delivered once.
    Start,
    /// The application's timer has expired.
    Timer,
    /// One end is established. If the client writes data in response, the driver must send this data with the third
    /// packet of the handshake (RFC 9293, section 3.5, permits this).
    Established {
        /// connection slot
        conn: u32,
        /// which end
        side: Side,
    },
    /// The number of in-order bytes received at `side` has reached the total that [`Command::NotifyAt`] requested.
    Delivered {
        /// connection slot
        conn: u32,
        /// the receiving end
        side: Side,
        /// in-order payload bytes delivered at `side` so far (at least the requested total)
        total: u64,
        /// losses of the connection so far
        losses: Losses,
    },
    /// Data of the response to a [`Command::Ask`] has arrived at the client: its first, or its last.
    Answered {
        /// connection slot
        conn: u32,
        /// number of the request on this connection, from 0
        number: u32,
        /// whether the whole response has arrived
        complete: bool,
        /// losses of the connection so far
        losses: Losses,
    },
    /// A datagram of a QUIC connection has arrived at the other end.
    Arrived {
        /// connection slot
        conn: u32,
        /// number of the datagram among those that its sender has sent on this connection, from 0
        number: u32,
    },
    /// The other end's FIN has been received in order at `side`.
    PeerClosed {
        /// connection slot
        conn: u32,
        /// the end that received the FIN
        side: Side,
    },
    /// The connection is over, and its slot may be reused.
    Finished {
        /// connection slot
        conn: u32,
        /// whether the connection was aborted (given up, reset) rather than closed
        failed: bool,
        /// losses of the connection
        losses: Losses,
    },
    /// The end of the run; delivered once. The application then records objects in progress as unfinished.
    End,
}

/// A command of an application. Commands are to be executed in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Open a connection in slot `conn`, which must be free.
    Connect {
        /// connection slot
        conn: u32,
        /// index of the client's TCP group
        tcp_client: u16,
        /// index of the server's TCP group
        tcp_server: u16,
    },
    /// Open a flow of UDP datagrams in slot `conn`, which must be free. A flow has no handshake and delivers no events.
    Open {
        /// flow's slot
        conn: u32,
    },
    /// Send a datagram: at once over UDP, and as soon as the stack permits over QUIC.
    Send {
        /// slot of the flow or connection
        conn: u32,
        /// the sending end
        side: Side,
        /// bytes of the IP packet over UDP
        bytes: u32,
        /// payload bytes
        payload: u32,
        /// ECN codepoint in the IP header; QUIC stacks set their own
        ecn: EcnField,
    },
    /// Append bytes to the send stream of one end; [`Command::UNLIMITED`] makes the stream endless.
    Write {
        /// connection slot
        conn: u32,
        /// the sending end
        side: Side,
        /// payload bytes
        bytes: u64,
    },
    /// Close this end, which must not write afterwards. Its FIN is sent with the last data segment, or alone if that
    /// segment has already been sent.
    Close {
        /// connection slot
        conn: u32,
        /// the closing end
        side: Side,
    },
    /// Request one [`Event::Delivered`], to be delivered when the in-order bytes received at `side` reach `total` (at
    /// once if they already have). Each end has at most one request; a new one replaces the old.
    NotifyAt {
        /// connection slot
        conn: u32,
        /// the receiving end
        side: Side,
        /// in-order payload bytes since the start of the connection
        total: u64,
    },
    /// Send a request on a stream of its own, which the server answers on the same stream. Only connections of QUIC stacks
    /// have streams.
    Ask {
        /// connection slot
        conn: u32,
        /// payload bytes that the client sends
        request: u64,
        /// payload bytes that the server sends when the whole request has arrived
        response: u64,
    },
    /// Keep the bytes received at `side` in the receive buffer until [`Command::Read`]. The command must precede the
    /// arrival of the first byte.
    Hold {
        /// connection slot
        conn: u32,
        /// the receiving end
        side: Side,
    },
    /// Read bytes from the receive buffer of `side`, which must contain at least `bytes`.
    Read {
        /// connection slot
        conn: u32,
        /// the receiving end
        side: Side,
        /// payload bytes
        bytes: u64,
    },
    /// Request one [`Event::Timer`] at this time. Each application has at most one timer; a new one replaces the old.
    Timer {
        /// when
        at: Time,
    },
    /// Record an object that has finished, or one that will not finish because its connection failed or the run ends.
    Record(ObjectRecord),
}

impl Command {
    /// Bytes of an unlimited [`Command::Write`].
    pub const UNLIMITED: u64 = u64::MAX / 2;
}

/// The kind of an [`ObjectRecord`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ObjectKind {
    /// A web page: primary object and in-line objects.
    Page,
    /// The data of one transfer: a file, a bulk transfer or a short flow.
    File,
    /// A connect-request-response transaction.
    Transaction,
    /// One object of a web page, or one datagram over QUIC.
    Object,
}

impl ObjectKind {
    /// The name of this kind in the records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ObjectKind::Page => "page",
            ObjectKind::File => "file",
            ObjectKind::Transaction => "transaction",
            ObjectKind::Object => "object",
        }
    }
}

/// One page, file, transaction or object, as measured at the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectRecord {
    /// its kind
    pub kind: ObjectKind,
    /// number within the application, from 0 (objects: page number times objects per page, plus the index in the page)
    pub index: u32,
    /// start of the measured time: the request or, depending on the application, the opening of the connection
    pub start: Time,
    /// arrival of the last byte in order; [`Time::MAX`] if the object is unfinished
    pub end: Time,
    /// payload bytes, whether or not they have arrived
    pub bytes: u64,
    /// connections it used
    pub connections: u16,
    /// retransmitted segments while it was in progress, both directions
    pub retransmits: u32,
    /// retransmission timeouts while it was in progress, both directions
    pub timeouts: u32,
}

impl ObjectRecord {
    /// The record of an object that used one connection. Its bytes are recorded as 0 if `end` is [`Time::MAX`].
    pub(crate) fn of_one_connection(
        kind: ObjectKind,
        index: u32,
        start: Time,
        end: Time,
        bytes: u64,
        losses: Losses,
    ) -> Self {
        ObjectRecord {
            kind,
            index,
            start,
            end,
            bytes,
            connections: 1,
            retransmits: losses.retransmits,
            timeouts: losses.timeouts,
        }
    }
}
