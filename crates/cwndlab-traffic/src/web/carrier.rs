//! The objects that one connection of a page carries: one (http/1.0) or all of them (http/1.1, http/3).

use std::ops::Range;

use super::page::{Object, Page};
use crate::event::{Command, Event, Losses, Side};
use crate::exchange::{Exchange, Step};
use crate::spec::{InlineTrigger, ServerCloses};

/// The objects that one connection carries.
#[derive(Clone)]
pub(super) enum Carrier {
    /// Object `k` of the page.
    One(u32, Exchange),
    /// All objects, in one stream of bytes.
    All(Persistent),
    /// All objects, each on a stream of its own.
    Streams(Streams),
}

/// What an event on a connection means for its page.
#[derive(Default)]
pub(super) struct News {
    /// Objects requested just now.
    pub(super) requested: Range<u32>,
    /// Objects whose last byte has just arrived.
    pub(super) completed: Range<u32>,
    /// Whether the primary object's first data has just arrived.
    first_data: bool,
    /// Whether the connection ended before it delivered everything.
    pub(super) lost: bool,
    /// Losses of the connection so far; zero if this event does not report them.
    pub(super) losses: Losses,
}

impl News {
    /// Whether this event is the `trigger`: the arrival of the primary object's first data, or of its last byte.
    pub(super) fn primary_seen(&self, trigger: InlineTrigger) -> bool {
        match trigger {
            InlineTrigger::FirstPacket => self.first_data,
            InlineTrigger::WholePrimary => self.completed.contains(&0),
        }
    }
}

impl Carrier {
    pub(super) fn one(k: u32, object: Object, tell_first: bool, closes: ServerCloses) -> Carrier {
        Carrier::One(k, Exchange::new(object.request, object.bytes, tell_first, closes))
    }
    pub(super) fn all(page: &Page, trigger: InlineTrigger, closes: ServerCloses) -> Carrier {
        Carrier::All(Persistent::new(page.objects(), trigger, closes))
    }
    pub(super) fn streams(page: &Page, trigger: InlineTrigger) -> Carrier {
        Carrier::Streams(Streams { objects: page.objects().to_vec(), trigger, asked: 0, complete: 0 })
    }

    pub(super) fn handle(&mut self, event: Event, out: &mut Vec<Command>) -> News {
        match self {
            Carrier::One(k, exchange) => {
                let k = *k;
                match exchange.handle(event, out) {
                    Step::Requested => News { requested: k..k + 1, ..News::default() },
                    Step::First { losses, complete } => {
                        let completed = if complete { k..k + 1 } else { 0..0 };
                        News { completed, first_data: k == 0, losses, ..News::default() }
                    }
                    Step::Complete(losses) => News { completed: k..k + 1, losses, ..News::default() },
                    Step::Gone { lost, losses } => News { lost, losses, ..News::default() },
                    Step::Closed | Step::Quiet => News::default(),
                }
            }
            Carrier::All(p) => p.handle(event, out),
            Carrier::Streams(streams) => streams.handle(event, out),
        }
    }
}

/// http/1.1 as RFC 2415 models it: one connection, a request for the primary object, then one request for all in-line
/// objects.
#[derive(Clone)]
pub(super) struct Persistent {
    /// Bytes of the first and of the second request.
    requests: [u64; 2],
    /// For each object, the number of in-order bytes at the client at which it is complete.
    ends: Vec<u64>,
    trigger: InlineTrigger,
    closes: ServerCloses,
    /// Number of requests that the client has sent (`asked`) and that the server has answered (`answered`).
    asked: usize,
    answered: usize,
    /// Objects complete at the client.
    complete: u32,
}

impl Persistent {
    fn new(objects: &[Object], trigger: InlineTrigger, closes: ServerCloses) -> Persistent {
        let mut sum = 0;
        let mut end = |o: &Object| {
            sum += o.bytes;
            sum
        };
        Persistent {
            requests: [objects[0].request, objects.get(1).map_or(0, |o| o.request)],
            ends: objects.iter().map(&mut end).collect(),
            trigger,
            closes,
            asked: 0,
            answered: 0,
            complete: 0,
        }
    }

    /// Number of requests that the page needs.
    fn rounds(&self) -> usize {
        self.ends.len().min(2)
    }

    fn handle(&mut self, event: Event, out: &mut Vec<Command>) -> News {
        match event {
            Event::Established { conn, side: Side::Client } => {
                self.ask(conn, out);
                let total = if self.trigger == InlineTrigger::FirstPacket { 1 } else { self.ends[0] };
                out.push(Command::NotifyAt { conn, side: Side::Client, total });
                News { requested: 0..1, ..News::default() }
            }
            Event::Delivered { conn, side: Side::Server, total, .. } => {
                self.answer(conn, total, out);
                News::default()
            }
            Event::Delivered { conn, side: Side::Client, total, losses } => {
                let before = self.complete;
                self.complete = self.ends.iter().take_while(|end| **end <= total).count() as u32;
                let mut news = News { completed: before..self.complete, losses, ..News::default() };
                let triggered = self.trigger == InlineTrigger::FirstPacket || self.complete > 0;
                if triggered && self.asked < self.rounds() {
                    self.ask(conn, out);
                    news.requested = 1..self.ends.len() as u32;
                }
                if let Some(next) = self.ends.get(self.complete as usize) {
                    out.push(Command::NotifyAt { conn, side: Side::Client, total: *next });
                } else if before < self.complete && self.closes == ServerCloses::AfterResponse {
                    out.push(Command::Close { conn, side: Side::Server });
                }
                news
            }
            Event::PeerClosed { conn, side: Side::Client } => {
                out.push(Command::Close { conn, side: Side::Client });
                News::default()
            }
            Event::Finished { losses, .. } => {
                News { lost: (self.complete as usize) < self.ends.len(), losses, ..News::default() }
            }
            _ => News::default(),
        }
    }

    fn ask(&mut self, conn: u32, out: &mut Vec<Command>) {
        out.push(Command::Write { conn, side: Side::Client, bytes: self.requests[self.asked] });
        if self.asked == 0 {
            out.push(Command::NotifyAt { conn, side: Side::Server, total: self.requests[0] });
        }
        self.asked += 1;
    }

    /// Answers each complete request. With the last answer, the server closes its end if `closes` is
    /// [`ServerCloses::WithResponse`].
    fn answer(&mut self, conn: u32, total: u64, out: &mut Vec<Command>) {
        let mut needed: u64 = self.requests[..=self.answered].iter().sum();
        while total >= needed {
            let last = self.ends[self.ends.len() - 1];
            let bytes = if self.answered == 0 { self.ends[0] } else { last - self.ends[0] };
            out.push(Command::Write { conn, side: Side::Server, bytes });
            self.answered += 1;
            if self.answered == self.rounds() {
                if self.closes == ServerCloses::WithResponse {
                    out.push(Command::Close { conn, side: Side::Server });
                }
                return;
            }
            needed += self.requests[self.answered];
        }
        out.push(Command::NotifyAt { conn, side: Side::Server, total: needed });
    }
}

/// http/3: one connection, and a stream for each object. The number of a request is that of its object.
#[derive(Clone)]
pub(super) struct Streams {
    objects: Vec<Object>,
    trigger: InlineTrigger,
    /// Objects that the client has requested, and those complete at the client.
    asked: u32,
    complete: usize,
}

impl Streams {
    fn handle(&mut self, event: Event, out: &mut Vec<Command>) -> News {
        match event {
            Event::Established { conn, side: Side::Client } => {
                News { requested: self.ask(conn, 1, out), ..News::default() }
            }
            Event::Answered { conn, number, complete, losses } => {
                let mut news = News { first_data: number == 0, losses, ..News::default() };
                if complete {
                    news.completed = number..number + 1;
                    self.complete += 1;
                }
                if news.primary_seen(self.trigger) {
                    news.requested = self.ask(conn, self.objects.len() as u32, out);
                }
                if self.complete == self.objects.len() {
                    out.push(Command::Close { conn, side: Side::Client });
                }
                news
            }
            Event::PeerClosed { conn, side: Side::Server } => {
                out.push(Command::Close { conn, side: Side::Server });
                News::default()
            }
            Event::Finished { losses, .. } => {
                News { lost: self.complete < self.objects.len(), losses, ..News::default() }
            }
            _ => News::default(),
        }
    }

    /// Requests the objects up to number `end` that have not been requested.
    fn ask(&mut self, conn: u32, end: u32, out: &mut Vec<Command>) -> Range<u32> {
        let new = self.asked..end.max(self.asked);
        for object in &self.objects[new.start as usize..new.end as usize] {
            out.push(Command::Ask { conn, request: object.request, response: object.bytes });
        }
        self.asked = new.end;
        new
    }
}
