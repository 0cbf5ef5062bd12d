//! Requests and responses in turn over one persistent connection, like those of netperf's `TCP_RR`.

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::dist::{Dist, Rng, Sampler};
use crate::error::AppError;
use crate::event::Losses;
use crate::event::{Command, Event, ObjectKind, ObjectRecord, Side};
use crate::spec::{zero, Application, Setup, Spec};

/// Requests and responses in turn over one connection.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RrSpec {
    /// Bytes of a request.
    pub request_bytes: Dist,
    /// Bytes of a response.
    pub response_bytes: Dist,
    /// Time between a response's last byte and the next request.
    #[serde(default = "zero")]
    pub think_s: Dist,
    /// Time from the application's start to the opening of the connection.
    #[serde(default = "zero")]
    pub first_s: Dist,
    /// Stop after this number of transactions.
    #[serde(default)]
    pub transactions: Option<u32>,
}

/// A client that sends each request a think time after the previous response. A transaction lasts from its request to
/// the last byte of its response. If the connection breaks, it is opened again.
#[derive(Clone)]
pub struct Rr {
    tcp_client: u16,
    tcp_server: u16,
    limit: Option<u32>,
    request: (Sampler, Rng),
    response: (Sampler, Rng),
    think: (Sampler, Rng),
    first: Sampler,
    next: u32,
    is_open: bool,
    /// Bytes of requests (`up`) and of responses (`down`) on this connection, including the transaction in progress.
    up: u64,
    down: u64,
    current: Option<Transaction>,
    /// What the connection had lost when the last response arrived.
    last: Losses,
}

/// The transaction in progress.
#[derive(Clone, Copy)]
struct Transaction {
    index: u32,
    start: Time,
    response: u64,
    before: Losses,
}

impl Spec for RrSpec {
    type App = Rr;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        vec![
            ("request_bytes", &self.request_bytes),
            ("response_bytes", &self.response_bytes),
            ("think_s", &self.think_s),
            ("first_s", &self.first_s),
        ]
    }

    fn build(&self, setup: &mut Setup<'_>) -> Result<Rr, AppError> {
        let make = |field: &'static str, dist: &crate::Dist| dist.of_field(field, setup.shared);
        let (request, response) =
            (make("request_bytes", &self.request_bytes)?, make("response_bytes", &self.response_bytes)?);
        let (think, first) = (make("think_s", &self.think_s)?, make("first_s", &self.first_s)?);
        Ok(Rr {
            tcp_client: setup.tcp_client,
            tcp_server: setup.tcp_server,
            limit: self.transactions,
            request: (request, (setup.stream)("requests")),
            response: (response, (setup.stream)("sizes")),
            think: (think, (setup.stream)("pauses")),
            first,
            next: 0,
            is_open: false,
            up: 0,
            down: 0,
            current: None,
            last: Losses::default(),
        })
    }
}

impl Application for Rr {
    fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Start => match self.first.draw_time(&mut self.think.1) {
                Time::ZERO => self.connect(out),
                wait => out.push(Command::Timer { at: now + wait }),
            },
            Event::Timer if self.is_open => self.ask(now, self.last, out),
            Event::Timer => self.connect(out),
            Event::Established { side: Side::Client, .. } => self.ask(now, Losses::default(), out),
            Event::Delivered { conn, side: Side::Server, .. } => {
                if let Some(current) = &self.current {
                    out.push(Command::Write { conn, side: Side::Server, bytes: current.response });
                }
            }
            Event::Delivered { side: Side::Client, losses, .. } => {
                self.end(now, losses, out);
                self.last = losses;
                self.go_on(now, losses, out);
            }
            Event::PeerClosed { conn, side: Side::Server } => {
                out.push(Command::Close { conn, side: Side::Server });
            }
            Event::Finished { losses, .. } => {
                self.end(Time::MAX, losses, out);
                self.is_open = false;
                self.go_on(now, losses, out);
            }
            Event::End => self.end(Time::MAX, Losses::default(), out),
            Event::Established { .. } | Event::Answered { .. } | Event::Arrived { .. } | Event::PeerClosed { .. } => {}
        }
    }
}

impl Rr {
    fn connect(&mut self, out: &mut Vec<Command>) {
        (self.is_open, self.up, self.down) = (true, 0, 0);
        out.push(Command::Connect { conn: 0, tcp_client: self.tcp_client, tcp_server: self.tcp_server });
    }

    /// Begins the next transaction after a think time. After the last transaction, closes the client's end.
    fn go_on(&mut self, now: Time, losses: Losses, out: &mut Vec<Command>) {
        if self.limit.is_some_and(|limit| self.next >= limit) {
            if self.is_open {
                out.push(Command::Close { conn: 0, side: Side::Client });
            }
            return;
        }
        match self.think.0.draw_time(&mut self.think.1) {
            Time::ZERO if self.is_open => self.ask(now, losses, out),
            wait => out.push(Command::Timer { at: now + wait }),
        }
    }

    fn ask(&mut self, now: Time, before: Losses, out: &mut Vec<Command>) {
        let request = self.request.0.draw_bytes(&mut self.request.1);
        let response = self.response.0.draw_bytes(&mut self.response.1);
        self.up += request;
        self.down += response;
        self.current = Some(Transaction { index: self.next, start: now, response, before });
        self.next += 1;
        out.push(Command::Write { conn: 0, side: Side::Client, bytes: request });
        out.push(Command::NotifyAt { conn: 0, side: Side::Server, total: self.up });
        out.push(Command::NotifyAt { conn: 0, side: Side::Client, total: self.down });
    }

    /// Records the transaction in progress, if any.
    fn end(&mut self, end: Time, losses: Losses, out: &mut Vec<Command>) {
        let Some(current) = self.current.take() else { return };
        let losses = losses.since(current.before);
        let record = ObjectRecord::of_one_connection(
            ObjectKind::Transaction,
            current.index,
            current.start,
            end,
            current.response,
            losses,
        );
        out.push(Command::Record(record));
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Time;

    use crate::testing::{app, Network};

    const JSON: &str = r#"{"kind": "rr", "request_bytes": {"kind": "fixed", "value": 100},
        "response_bytes": {"kind": "fixed", "value": 5000}, "think_s": {"kind": "fixed", "value": 0.5}}"#;

    #[test]
    fn transactions_share_one_connection_and_take_a_round_trip_each() {
        let net = Network::new(app(JSON, 1).unwrap(), Time::from_millis(100)).run(Time::from_secs(6));
        assert_eq!(net.connects.len(), 1);
        // a handshake of 100 ms, then 100 ms for each transaction and 500 ms in between
        let starts: Vec<u64> = net.records.iter().map(|record| record.start.as_nanos() / 1_000_000).collect();
        assert_eq!(starts, [100, 700, 1300, 1900, 2500, 3100, 3700, 4300, 4900, 5500]);
        assert!(net.records.iter().all(|r| r.end - r.start == Time::from_millis(100) && r.bytes == 5000));
    }

    #[test]
    fn a_transaction_counts_the_losses_since_its_own_start() {
        let mut net = Network::new(app(JSON, 1).unwrap(), Time::from_millis(100));
        net.lost_per_delivery = 3;
        let net = net.run(Time::from_secs(6));
        let losses: Vec<u32> = net.records.iter().map(|record| record.retransmits).collect();
        // a request and a response each; the connection itself was lost nothing before the first
        assert_eq!(losses, vec![6; losses.len()], "{losses:?}");
        assert!(losses.len() >= 9);
    }

    #[test]
    fn a_broken_connection_is_opened_again_and_the_last_one_closed() {
        let json = JSON.replace("}}", r#"}, "transactions": 2}"#);
        let mut net = Network::new(app(&json, 1).unwrap(), Time::from_millis(100));
        net.broken = [1].into();
        let net = net.run(Time::from_secs(60));
        assert_eq!(net.connects.len(), 2);
        assert_eq!(net.records.len(), 2);
    }
}
