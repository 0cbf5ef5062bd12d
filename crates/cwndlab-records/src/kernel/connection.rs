//! One connection of a trace: its halves, its counters, and what each segment changes.

use std::net::SocketAddr;

use cwndlab_engine::{ConnectionRecord, Reason, Way};
use cwndlab_tcp::{CloseReason, Flags};
use cwndlab_units::Time;

use crate::lifetime::Lifetime;
use crate::sequence::{self, Numbers};

/// One direction of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Half {
    pub iss: Option<u32>,
    /// `high` is updated for every segment that this end sent, even if no host is observed. `ack` and `window` are from
    /// the acknowledgments that passed the observed host.
    pub seen: sequence::Half,
    /// Highest acknowledgment that this end has sent. The end has received all data before this position.
    pub got: u64,
    /// The shift of the window scale option in this end's SYN.
    pub scale: Option<u8>,
    /// When a packet last arrived at this end.
    pub heard: Option<u64>,
    pub fin: Option<u64>,
    pub fin_acked: bool,
    /// Whether an ECN echo has arrived at this end since the end last sent CWR. `reduced_from` is the position of the
    /// data segment that carried the last CWR.
    pub echoed: bool,
    pub reduced_from: u64,
    /// The highest position sent when the last recovery or timeout began (`recover` of RFC 6582, section 3.2).
    pub recover: u64,
}

impl Half {
    /// Payload bytes sent by this end that the other end has received in order. The SYN and the FIN take one sequence
    /// number each.
    pub fn bytes_at(&self, other: &Half) -> u64 {
        let fin = self.fin.is_some_and(|fin| other.got >= fin);
        other.got.saturating_sub(1 + u64::from(fin))
    }
}

/// A connection in the trace. Times are on the router's clock.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    /// The client's address and port.
    pub client_end: SocketAddr,
    /// Times of retransmissions.
    pub retransmits: Vec<u64>,
    /// Times of the retransmissions that a timeout caused.
    pub timeouts: Vec<u64>,
    pub start: u64,
    pub established: Option<u64>,
    pub end: Option<u64>,
    pub failure: Option<Reason>,
    pub lifetime: Lifetime,
    /// The connection's counters. [`Self::record`] adds the times, once time 0 of the tables is known.
    pub counts: ConnectionRecord,
    /// The smallest MSS option in a SYN.
    pub mss: Option<u16>,
    pub timestamps: bool,
    /// The halves of the client and of the server, in this order.
    pub halves: [Half; 2],
    /// For a datagram flow, the payload bytes that the client and the server sent and received.
    pub datagrams: Option<[Datagrams; 2]>,
}

/// Payload bytes that one end of a datagram flow sent and received.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Datagrams {
    pub sent: u64,
    pub received: u64,
}

/// A packet that has reached its destination.
pub(super) struct Delivery {
    pub at: u64,
    pub way: Way,
    pub delay: u64,
    pub payload: u32,
}

impl Connection {
    /// Payload bytes of a full segment.
    pub fn payload(&self) -> u32 {
        let options = if self.timestamps { 12 } else { 0 };
        u32::from(self.mss.unwrap_or(536)).saturating_sub(options).max(1)
    }

    /// The connection's counters at present. [`Self::record`] adds the times.
    pub fn counts(&self) -> ConnectionRecord {
        let [client, server] = &self.halves;
        let bytes = match &self.datagrams {
            Some([client, server]) => [server.received, client.received],
            None => [client.bytes_at(server), server.bytes_at(client)],
        };
        ConnectionRecord {
            bytes_up: bytes[0],
            bytes_down: bytes[1],
            retransmits: self.retransmits.len() as u32,
            timeouts: self.timeouts.len() as u32,
            ..self.counts
        }
    }

    /// The connection's record at the end of the run, with times since `zero`.
    pub fn record(&self, zero: i64, end: i64) -> ConnectionRecord {
        let since = |at: u64| at as i64 - zero;
        let time = |at: Option<u64>| {
            let at = at.map(since).filter(|&at| at <= end);
            at.map_or(Time::MAX, |at| Time::from_nanos(at.max(0) as u64))
        };
        ConnectionRecord {
            start: Time::from_nanos(since(self.start).max(0) as u64),
            established: time(self.established),
            end: time(self.end),
            failure: self.failure.filter(|_| !time(self.end).is_never()),
            ..self.counts()
        }
    }
}

impl Connection {
    /// The half that sends a packet of this side, and the other one.
    pub fn halves_from(&mut self, from_client: bool) -> [&mut Half; 2] {
        let [client, server] = &mut self.halves;
        if from_client {
            [client, server]
        } else {
            [server, client]
        }
    }

    /// Takes a segment that enters the router.
    pub fn enters(&mut self, from_client: bool, at: u64, numbers: &Numbers, answer: Time) -> Again {
        self.counts.segments_sent += 1;
        let [mine, _] = self.halves_from(from_client);
        let again = mine.enters(at, numbers, answer);
        mine.got = mine.got.max(numbers.ack);
        if numbers.len > 0 && numbers.flags.has(Flags::CWR) && mine.echoed {
            (mine.echoed, mine.reduced_from) = (false, numbers.position);
            self.counts.ecn_reductions += 1;
        }
        if again != Again::No {
            self.retransmits.push(at);
        }
        match again {
            Again::Timeout => self.timeouts.push(at),
            Again::Recovery => self.counts.fast_retransmits += 1,
            Again::No | Again::Same => {}
        }
        again
    }

    /// Takes a segment that leaves the router.
    pub fn leaves(&mut self, from_client: bool, at: u64, numbers: &Numbers) {
        let [mine, other] = self.halves_from(from_client);
        let is_syn = numbers.flags.has(Flags::SYN);
        other.heard = Some(at);
        // An ACK that covers no data after the last CWR still echoes the congestion to which that CWR responded (RFC
        // 3168, section 6.1.2).
        if numbers.flags.has(Flags::ECE) && !is_syn && numbers.ack > other.reduced_from {
            other.echoed = true;
        }
        other.fin_acked |= other.fin.is_some_and(|fin| numbers.ack >= fin);
        let is_closed = other.fin_acked && mine.fin_acked;
        if is_syn && numbers.flags.has(Flags::ACK) {
            self.established.get_or_insert(at);
        }
        if numbers.flags.has(Flags::RST) && self.end.is_none() {
            let reason = if self.established.is_none() { CloseReason::Refused } else { CloseReason::Reset };
            self.failure = Some(Reason::new(&reason.to_string()));
            self.end = Some(at);
        }
        if is_closed {
            self.end.get_or_insert(at);
        }
    }
}

/// Whether a segment was sent before and, if so, why it was sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Again {
    No,
    /// The segment was sent again because of a timeout.
    Timeout,
    /// The segment was sent again because of duplicate ACKs, as the first retransmission of a recovery.
    Recovery,
    /// The segment was sent again, and its recovery or timeout had already retransmitted another one.
    Same,
}

impl Half {
    /// Classifies a segment that enters the router.
    fn enters(&mut self, at: u64, numbers: &Numbers, answer: Time) -> Again {
        let end = numbers.end();
        let mut again = Again::No;
        if end > numbers.position && end <= self.seen.high {
            let timeout = self.heard.is_none_or(|heard| at.saturating_sub(heard) > answer.as_nanos());
            let begins = numbers.position >= self.recover; // losses below `recover` belong to the recovery in progress
            again = match (timeout, begins && !numbers.flags.has(Flags::SYN)) {
                (true, _) => Again::Timeout,
                (false, true) => Again::Recovery,
                (false, false) => Again::Same,
            };
            if timeout || begins {
                self.recover = self.seen.high;
            }
        }
        if numbers.flags.has(Flags::FIN) {
            self.fin = Some(end);
        }
        again
    }
}
