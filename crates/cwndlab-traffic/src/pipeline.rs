//! Requests on one persistent connection, several of them under way at once, like those of netperf's `TCP_RR` with a
//! burst, or of a client that pipelines (RFC 9112, section 9.3.2).

use std::collections::VecDeque;

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::dist::{Dist, Rng, Sampler};
use crate::error::{AppError, MAX_INLINE_OBJECTS};
use crate::event::{Command, Event, Losses, ObjectKind, ObjectRecord, Side};
use crate::spec::{zero, Application, Setup, Spec};

/// Requests on one persistent connection, several of them under way at once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PipelineSpec {
    /// Bytes of a request.
    pub request_bytes: Dist,
    /// Bytes of a response.
    pub response_bytes: Dist,
    /// Requests under way at once: the next one is sent when a response has arrived.
    pub depth: u32,
    /// Time from the application's start to the opening of the connection.
    #[serde(default = "zero")]
    pub first_s: Dist,
    /// Stop after this number of transactions.
    #[serde(default)]
    pub transactions: Option<u32>,
}

/// A client that keeps `depth` requests under way. The server answers them in turn. A transaction lasts from its request
/// to the last byte of its response. If the connection breaks, its transactions are unfinished, and it is opened again.
#[derive(Clone)]
pub struct Pipeline {
    tcp_client: u16,
    tcp_server: u16,
    depth: usize,
    limit: Option<u32>,
    request: (Sampler, Rng),
    response: (Sampler, Rng),
    first: (Sampler, Rng),
    next: u32,
    /// The transactions under way, the oldest first, and how many of them the server has answered.
    under_way: VecDeque<Transaction>,
    answered: usize,
    /// Bytes of all requests (`up`) and of all responses (`down`) on this connection.
    up: u64,
    down: u64,
    /// What the connection has lost, as of the last response.
    losses: Losses,
}

/// One transaction.
#[derive(Clone, Copy)]
struct Transaction {
    index: u32,
    start: Time,
    response: u64,
    /// Bytes on the connection up to the end of its request, and of its response.
    up: u64,
    down: u64,
    /// What the connection had lost at its start.
    losses: Losses,
}

impl Spec for PipelineSpec {
    type App = Pipeline;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        vec![
            ("request_bytes", &self.request_bytes),
            ("response_bytes", &self.response_bytes),
            ("first_s", &self.first_s),
        ]
    }

    fn check(&self) -> Result<(), AppError> {
        if (1..=MAX_INLINE_OBJECTS).contains(&self.depth) {
            Ok(())
        } else {
            Err(AppError::Depth(self.depth))
        }
    }

    fn build(&self, setup: &mut Setup<'_>) -> Result<Pipeline, AppError> {
        let mut draw = |field, dist: &Dist, stream| {
            dist.of_field(field, setup.shared).map(|sampler| (sampler, (setup.stream)(stream)))
        };
        Ok(Pipeline {
            request: draw("request_bytes", &self.request_bytes, "requests")?,
            response: draw("response_bytes", &self.response_bytes, "sizes")?,
            first: draw("first_s", &self.first_s, "pauses")?,
            tcp_client: setup.tcp_client,
            tcp_server: setup.tcp_server,
            depth: self.depth as usize,
            limit: self.transactions,
            next: 0,
            under_way: VecDeque::new(),
            answered: 0,
            up: 0,
            down: 0,
            losses: Losses::default(),
        })
    }
}

impl Application for Pipeline {
    fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Start => match self.first.0.draw_time(&mut self.first.1) {
                Time::ZERO => self.connect(out),
                wait => out.push(Command::Timer { at: now + wait }),
            },
            Event::Timer => self.connect(out),
            Event::Established { side: Side::Client, .. } => self.ask(now, out),
            Event::Delivered { side: Side::Server, total, .. } => self.answer(total, out),
            Event::Delivered { side: Side::Client, total, losses, .. } => {
                self.losses = losses;
                while let Some(&oldest) = self.under_way.front().filter(|oldest| oldest.down <= total) {
                    self.under_way.pop_front();
                    self.answered -= 1;
                    self.record(oldest, now, out);
                }
                self.ask(now, out);
            }
            Event::PeerClosed { conn, side: Side::Server } => {
                out.push(Command::Close { conn, side: Side::Server });
            }
            Event::Finished { losses, .. } => {
                self.losses = losses;
                self.abandon(out);
                (self.up, self.down, self.losses) = (0, 0, Losses::default());
                if !self.is_over() {
                    out.push(Command::Timer { at: now });
                }
            }
            Event::End => self.abandon(out),
            Event::Established { .. } | Event::Answered { .. } | Event::Arrived { .. } | Event::PeerClosed { .. } => {}
        }
    }

    fn memory_bytes(&self) -> u64 {
        (size_of::<Transaction>() * self.depth) as u64
    }
}

/// The only connection's slot.
const CONN: u32 = 0;

impl Pipeline {
    fn connect(&self, out: &mut Vec<Command>) {
        out.push(Command::Connect { conn: CONN, tcp_client: self.tcp_client, tcp_server: self.tcp_server });
    }

    /// Whether no further request will be sent.
    fn is_over(&self) -> bool {
        self.limit.is_some_and(|limit| self.next >= limit)
    }

    /// Sends requests until `depth` are under way. Closes the client's end after the last response.
    fn ask(&mut self, now: Time, out: &mut Vec<Command>) {
        while self.under_way.len() < self.depth && !self.is_over() {
            let request = self.request.0.draw_bytes(&mut self.request.1);
            let response = self.response.0.draw_bytes(&mut self.response.1);
            (self.up, self.down) = (self.up + request, self.down + response);
            let (index, up, down, losses) = (self.next, self.up, self.down, self.losses);
            if self.answered == self.under_way.len() {
                out.push(Command::NotifyAt { conn: CONN, side: Side::Server, total: up });
            }
            self.under_way.push_back(Transaction { index, start: now, response, up, down, losses });
            self.next += 1;
            out.push(Command::Write { conn: CONN, side: Side::Client, bytes: request });
        }
        match self.under_way.front() {
            Some(oldest) => out.push(Command::NotifyAt { conn: CONN, side: Side::Client, total: oldest.down }),
            None => out.push(Command::Close { conn: CONN, side: Side::Client }),
        }
    }

    /// Answers the requests that have arrived whole at the server.
    fn answer(&mut self, total: u64, out: &mut Vec<Command>) {
        while let Some(next) = self.under_way.get(self.answered) {
            if next.up > total {
                out.push(Command::NotifyAt { conn: CONN, side: Side::Server, total: next.up });
                return;
            }
            self.answered += 1;
            out.push(Command::Write { conn: CONN, side: Side::Server, bytes: next.response });
        }
    }

    /// Records the transactions under way as unfinished.
    fn abandon(&mut self, out: &mut Vec<Command>) {
        self.answered = 0;
        while let Some(lost) = self.under_way.pop_front() {
            self.record(lost, Time::MAX, out);
        }
    }

    fn record(&self, done: Transaction, end: Time, out: &mut Vec<Command>) {
        let (kind, losses) = (ObjectKind::Transaction, self.losses.since(done.losses));
        let record = ObjectRecord::of_one_connection(kind, done.index, done.start, end, done.response, losses);
        out.push(Command::Record(record));
    }
}

#[cfg(test)]
mod tests;
