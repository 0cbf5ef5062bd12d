//! Requests and responses in turn over persistent connections, like those of netperf's `TCP_RR`, or of a client that asks
//! several servers at once (partition–aggregate).

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::dist::{Dist, Rng, Sampler};
use crate::error::{AppError, MAX_INLINE_OBJECTS};
use crate::event::{Command, Event, Losses, ObjectKind, ObjectRecord, Side};
use crate::spec::{zero, Application, Setup, Spec};

/// Requests and responses in turn over persistent connections.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RrSpec {
    /// Bytes of a request.
    pub request_bytes: Dist,
    /// Bytes of a response.
    pub response_bytes: Dist,
    /// Connections over which the client sends a request at once, as to so many servers. A transaction ends with the last
    /// of their responses.
    #[serde(default = "one")]
    pub fan_out: u32,
    /// Time between a transaction's last byte and the next request.
    #[serde(default = "zero")]
    pub think_s: Dist,
    /// Time from the application's start to the opening of the connections.
    #[serde(default = "zero")]
    pub first_s: Dist,
    /// Stop after this number of transactions.
    #[serde(default)]
    pub transactions: Option<u32>,
}

fn one() -> u32 {
    1
}

/// A client that sends its requests a think time after the previous transaction. A transaction lasts from its requests to
/// the last byte of the last response. Connections that break are opened again.
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
    lanes: Vec<Lane>,
    /// Connections that are being opened, or whose responses have not arrived.
    awaited: u32,
    current: Option<Transaction>,
}

/// One of the connections.
#[derive(Clone, Copy, Default)]
struct Lane {
    is_open: bool,
    /// Bytes of requests (`up`) and of responses (`down`) on this connection, including the transaction in progress.
    up: u64,
    down: u64,
    /// The response in progress.
    response: u64,
    /// Whether it is being opened, or its response has not arrived.
    is_awaited: bool,
    /// What the connection has lost, as of its last response.
    losses: Losses,
}

/// The transaction in progress.
#[derive(Clone, Copy)]
struct Transaction {
    index: u32,
    start: Time,
    /// Losses of the connections while it was in progress.
    losses: Losses,
    is_broken: bool,
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

    fn check(&self) -> Result<(), AppError> {
        if (1..=MAX_INLINE_OBJECTS).contains(&self.fan_out) {
            Ok(())
        } else {
            Err(AppError::FanOut(self.fan_out))
        }
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
            lanes: vec![Lane::default(); self.fan_out as usize],
            awaited: 0,
            current: None,
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
            Event::Timer => self.ask_or_connect(now, out),
            Event::Established { conn, side: Side::Client } => {
                self.take_awaited(conn);
                if self.awaited == 0 {
                    self.ask_or_connect(now, out);
                }
            }
            Event::Delivered { conn, side: Side::Server, .. } => {
                let bytes = self.lanes[conn as usize].response;
                out.push(Command::Write { conn, side: Side::Server, bytes });
            }
            Event::Delivered { conn, side: Side::Client, losses, .. } => {
                self.note_losses(conn, losses);
                self.take_awaited(conn);
                self.settle(now, out);
            }
            Event::PeerClosed { conn, side: Side::Server } => {
                out.push(Command::Close { conn, side: Side::Server });
            }
            Event::Finished { conn, losses, .. } => {
                self.note_losses(conn, losses);
                let is_broken = self.take_awaited(conn);
                if let Some(current) = &mut self.current {
                    current.is_broken |= is_broken;
                }
                let lane = &mut self.lanes[conn as usize];
                *lane = Lane { response: lane.response, ..Lane::default() };
                self.settle(now, out);
            }
            Event::End => self.end(Time::MAX, out),
            Event::Established { .. } | Event::Answered { .. } | Event::Arrived { .. } | Event::PeerClosed { .. } => {}
        }
    }

    fn memory_bytes(&self) -> u64 {
        (size_of::<Lane>() * self.lanes.len()) as u64
    }
}

impl Rr {
    /// Opens the connections that are not open.
    fn connect(&mut self, out: &mut Vec<Command>) {
        for (conn, lane) in (0..).zip(&mut self.lanes) {
            if !lane.is_open {
                *lane = Lane { is_open: true, is_awaited: true, ..Lane::default() };
                self.awaited += 1;
                out.push(Command::Connect { conn, tcp_client: self.tcp_client, tcp_server: self.tcp_server });
            }
        }
    }

    fn ask_or_connect(&mut self, now: Time, out: &mut Vec<Command>) {
        if self.lanes.iter().all(|lane| lane.is_open) {
            self.ask(now, out);
        } else {
            self.connect(out);
        }
    }

    /// Notes that a connection is open, or its response has arrived, or neither will ever be. Returns whether it was
    /// awaited.
    fn take_awaited(&mut self, conn: u32) -> bool {
        let was_awaited = std::mem::take(&mut self.lanes[conn as usize].is_awaited);
        self.awaited -= u32::from(was_awaited);
        was_awaited
    }

    /// Adds what a connection has lost since its last response to the losses of the transaction.
    fn note_losses(&mut self, conn: u32, losses: Losses) {
        let lane = &mut self.lanes[conn as usize];
        if let Some(current) = &mut self.current {
            current.losses = current.losses.plus(losses.since(lane.losses));
        }
        lane.losses = losses;
    }

    /// Ends the transaction once nothing is awaited, and begins the next one after a think time. After the last
    /// transaction, closes the client's ends.
    fn settle(&mut self, now: Time, out: &mut Vec<Command>) {
        if self.awaited > 0 {
            return;
        }
        self.end(now, out);
        if self.limit.is_some_and(|limit| self.next >= limit) {
            for (conn, lane) in (0..).zip(&mut self.lanes) {
                if std::mem::take(&mut lane.is_open) {
                    out.push(Command::Close { conn, side: Side::Client });
                }
            }
            return;
        }
        match self.think.0.draw_time(&mut self.think.1) {
            Time::ZERO if self.lanes.iter().all(|lane| lane.is_open) => self.ask(now, out),
            wait => out.push(Command::Timer { at: now + wait }),
        }
    }

    fn ask(&mut self, now: Time, out: &mut Vec<Command>) {
        self.current = Some(Transaction { index: self.next, start: now, losses: Losses::default(), is_broken: false });
        self.next += 1;
        self.awaited = self.lanes.len() as u32;
        for (conn, lane) in (0..).zip(&mut self.lanes) {
            let request = self.request.0.draw_bytes(&mut self.request.1);
            lane.response = self.response.0.draw_bytes(&mut self.response.1);
            lane.is_awaited = true;
            lane.up += request;
            lane.down += lane.response;
            out.push(Command::Write { conn, side: Side::Client, bytes: request });
            out.push(Command::NotifyAt { conn, side: Side::Server, total: lane.up });
            out.push(Command::NotifyAt { conn, side: Side::Client, total: lane.down });
        }
    }

    /// Records the transaction in progress, if any.
    fn end(&mut self, now: Time, out: &mut Vec<Command>) {
        let Some(current) = self.current.take() else { return };
        let end = if current.is_broken { Time::MAX } else { now };
        let bytes = self.lanes.iter().map(|lane| lane.response).sum();
        let (kind, losses) = (ObjectKind::Transaction, current.losses);
        let record = ObjectRecord::of_one_connection(kind, current.index, current.start, end, bytes, losses);
        out.push(Command::Record(ObjectRecord { connections: self.lanes.len() as u16, ..record }));
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Time;

    use crate::event::{Command, Event, Losses, Side};
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

    const FAN_OUT: &str = r#"{"kind": "rr", "request_bytes": {"kind": "fixed", "value": 100}, "fan_out": 3,
        "response_bytes": {"kind": "fixed", "value": 5000}, "think_s": {"kind": "fixed", "value": 0.5}}"#;

    #[test]
    fn requests_to_several_servers_are_one_transaction() {
        let net = Network::new(app(FAN_OUT, 1).unwrap(), Time::from_millis(100)).run(Time::from_secs(3));
        assert_eq!(net.connects.len(), 3);
        let starts: Vec<u64> = net.records.iter().map(|record| record.start.as_nanos() / 1_000_000).collect();
        assert_eq!(starts, [100, 700, 1300, 1900, 2500]);
        for record in &net.records {
            assert_eq!((record.end - record.start, record.bytes), (Time::from_millis(100), 15_000));
            assert_eq!(record.connections, 3);
        }
    }

    #[test]
    fn a_connection_that_cannot_be_opened_is_tried_again_before_the_first_transaction() {
        let mut net = Network::new(app(FAN_OUT, 1).unwrap(), Time::from_millis(100));
        net.broken = [1].into();
        let net = net.run(Time::from_secs(3));
        assert_eq!(net.connects.len(), 4);
        assert_eq!(net.records[0].start, Time::from_millis(400 + 500 + 100));
    }

    #[test]
    fn a_transaction_without_one_of_its_responses_is_unfinished_and_that_connection_opened_again() {
        let mut app = app(FAN_OUT, 1).unwrap();
        let at = Time::from_millis;
        let mut handle = |now, event| {
            let mut out = Vec::new();
            app.handle(at(now), event, &mut out);
            out
        };
        let lost = |retransmits| Losses { retransmits, timeouts: 0 };
        let arrived = |conn| Event::Delivered { conn, side: Side::Client, total: 5000, losses: lost(2) };
        assert_eq!(handle(0, Event::Start).len(), 3);
        for conn in 0..3 {
            handle(100, Event::Established { conn, side: Side::Client });
        }
        assert!(handle(200, arrived(0)).is_empty() && handle(200, arrived(2)).is_empty());
        let broken = handle(300, Event::Finished { conn: 1, failed: true, losses: lost(7) });
        let [Command::Record(record), Command::Timer { at: next }] = broken[..] else { panic!("{broken:?}") };
        assert!(record.end.is_never());
        assert_eq!((record.start, record.retransmits, next), (at(100), 11, at(800)));
        let opened = handle(800, Event::Timer);
        assert!(matches!(opened[..], [Command::Connect { conn: 1, .. }]), "{opened:?}");
        assert_eq!(handle(900, Event::Established { conn: 1, side: Side::Client }).len(), 9, "the next requests");
    }

    #[test]
    fn a_fan_out_of_no_server_or_of_too_many_is_an_error() {
        for (count, wrong) in [(0, true), (1, false), (10_000, false), (10_001, true)] {
            let json = FAN_OUT.replace("\"fan_out\": 3", &format!("\"fan_out\": {count}"));
            let spec: crate::AppSpec = serde_json::from_str(&json).unwrap();
            assert_eq!(spec.check(&std::collections::BTreeMap::new()).is_err(), wrong, "{count}");
        }
    }
}
