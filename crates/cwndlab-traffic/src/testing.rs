//! A network for tests: every connection is established after `rtt`, and all bytes written arrive half a round trip
//! later. The network executes the application's commands and delivers events in order of time.

use std::collections::{BTreeMap, VecDeque};

use cwndlab_units::Time;

use crate::app::{App, AppSpec};
use crate::dist::Rng;
use crate::event::{Command, Event, Losses, ObjectRecord, Side};
use crate::spec::Setup;

/// Runs an application on a network without loss.
pub(crate) struct Network {
    app: App,
    half_rtt: Time,
    queue: BTreeMap<(Time, u64), Event>,
    sequence: u64,
    timer: Option<(Time, u64)>,
    ends: BTreeMap<(u32, bool), End>,
    pub(crate) records: Vec<ObjectRecord>,
    pub(crate) connects: Vec<(Time, u32)>,
    /// Numbers of the connections that break instead of being established, counted from 1 in the order of opening;
    /// ascending.
    pub(crate) broken: VecDeque<usize>,
    /// Retransmissions of a connection for each delivery so far.
    pub(crate) lost_per_delivery: u32,
    delivered: u32,
}

#[derive(Default, Clone, Copy)]
struct End {
    sent: u64,
    received: u64,
    read: u64,
    notify: Option<u64>,
    closed: bool,
    /// Requests sent on streams.
    asked: u32,
}

/// An application built from JSON, with streams keyed by purpose and `seed`.
pub(crate) fn app(json: &str, seed: u64) -> Result<App, String> {
    let spec: AppSpec = serde_json::from_str(json).map_err(|e| e.to_string())?;
    let shared = BTreeMap::new();
    let mut stream = |name: &str| Rng::new(name.bytes().fold(u128::from(seed), |h, b| h * 131 + u128::from(b)));
    App::new(
        &spec,
        &mut Setup {
            tcp_client: 0,
            tcp_server: 1,
            mss: 1000,
            over_quic: false,
            ip_header_bytes: 20,
            shared: &shared,
            stream: &mut stream,
        },
    )
    .map_err(|error| error.to_string())
}

impl Network {
    pub(crate) fn new(app: App, rtt: Time) -> Network {
        Network {
            app,
            half_rtt: Time::from_nanos(rtt.as_nanos() / 2),
            queue: BTreeMap::new(),
            sequence: 0,
            timer: None,
            ends: BTreeMap::new(),
            records: Vec::new(),
            connects: Vec::new(),
            broken: VecDeque::new(),
            lost_per_delivery: 0,
            delivered: 0,
        }
    }

    /// Runs from `Start` at 0 to `End` at `until`.
    pub(crate) fn run(mut self, until: Time) -> Network {
        self.at(Time::ZERO, Event::Start);
        while let Some((&key, &event)) = self.queue.first_key_value() {
            if key.0 >= until {
                break;
            }
            self.queue.remove(&key);
            if let Some(event) = self.arrives(event) {
                self.tell(key.0, event);
            }
        }
        self.tell(until, Event::End);
        self
    }

    fn at(&mut self, time: Time, event: Event) -> (Time, u64) {
        self.sequence += 1;
        self.queue.insert((time, self.sequence), event);
        (time, self.sequence)
    }

    /// Counts the bytes of a delivery as received. Returns the event for the application; `None` if no requested
    /// notification is due.
    fn arrives(&mut self, event: Event) -> Option<Event> {
        if let Event::Delivered { conn, side, total, .. } = event {
            let end = self.ends.get_mut(&(conn, side == Side::Client))?;
            end.received = end.received.max(total);
            let received = end.received;
            self.delivered += 1;
            end.notify.take_if(|n| *n <= received)?;
            let losses = Losses { retransmits: self.delivered * self.lost_per_delivery, timeouts: 0 };
            return Some(Event::Delivered { conn, side, total: received, losses });
        }
        if let Event::Finished { conn, .. } = event {
            self.ends.remove(&(conn, true));
            self.ends.remove(&(conn, false));
        }
        Some(event)
    }

    fn tell(&mut self, now: Time, event: Event) {
        let mut out = Vec::new();
        self.app.handle(now, event, &mut out);
        for command in out {
            self.carry_out(now, command);
        }
    }

    fn carry_out(&mut self, now: Time, command: Command) {
        let (half, losses) = (self.half_rtt, Losses::default());
        match command {
            Command::Connect { conn, .. } => {
                assert!(!self.ends.contains_key(&(conn, true)), "slot {conn} is in use");
                self.ends.insert((conn, true), End::default());
                self.ends.insert((conn, false), End::default());
                self.connects.push((now, conn));
                if self.broken.front() == Some(&self.connects.len()) {
                    self.broken.pop_front();
                    self.at(now + half * 8, Event::Finished { conn, failed: true, losses });
                } else {
                    self.at(now + half * 2, Event::Established { conn, side: Side::Client });
                    self.at(now + half * 3, Event::Established { conn, side: Side::Server });
                }
            }
            Command::Write { conn, side, bytes } => {
                let end = self.ends.get_mut(&(conn, side == Side::Client)).expect("write to an open connection");
                assert!(!end.closed, "write after close");
                end.sent += bytes;
                let total = end.sent;
                self.at(now + half, Event::Delivered { conn, side: side.other(), total, losses });
            }
            Command::Close { conn, side } => {
                let end = self.ends.get_mut(&(conn, side == Side::Client)).expect("close of an open connection");
                assert!(!std::mem::replace(&mut end.closed, true), "closed twice");
                self.at(now + half, Event::PeerClosed { conn, side: side.other() });
                if self.ends[&(conn, side != Side::Client)].closed {
                    self.at(now + half * 2, Event::Finished { conn, failed: false, losses });
                }
            }
            Command::NotifyAt { conn, side, total } => {
                let end = self.ends.get_mut(&(conn, side == Side::Client)).expect("notify on an open connection");
                end.notify = Some(total);
                let received = end.received;
                if received >= total {
                    self.at(now, Event::Delivered { conn, side, total: received, losses });
                }
            }
            Command::Ask { conn, .. } => {
                let end = self.ends.get_mut(&(conn, true)).expect("a request on an open connection");
                assert!(!end.closed, "request after close");
                let number = end.asked;
                end.asked += 1;
                for (half_rtts, complete) in [(2, false), (3, true)] {
                    self.at(now + half * half_rtts, Event::Answered { conn, number, complete, losses });
                }
            }
            Command::Hold { .. } => {}
            Command::Read { conn, side, bytes } => {
                let end = self.ends.get_mut(&(conn, side == Side::Client)).expect("read on an open connection");
                end.read += bytes;
                assert!(end.read <= end.received, "read what had not arrived");
            }
            Command::Timer { at } => {
                if let Some(old) = self.timer.take() {
                    self.queue.remove(&old);
                }
                self.timer = Some(self.at(at, Event::Timer));
            }
            Command::Record(r) => self.records.push(r),
            Command::Open { .. } | Command::Send { .. } => unreachable!("datagrams have tests of their own"),
        }
    }
}
