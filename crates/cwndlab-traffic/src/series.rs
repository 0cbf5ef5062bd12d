//! A series of exchanges, each a request and a response on a connection of its own: the common part of `ftp` and `crr`.

use cwndlab_units::Time;

use crate::dist::{Dist, Rng, Sampler};
use crate::error::AppError;
use crate::event::{Command, Event, Losses, ObjectKind, ObjectRecord};
use crate::exchange::{conn_of, Exchange, Step};
use crate::slots::Slots;
use crate::spec::Setup;
use crate::spec::{Clock, ServerCloses, TransactionEnd};

/// The settings in which `ftp` and `crr` differ.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) kind: ObjectKind,
    pub(crate) clock: Clock,
    pub(crate) ends: TransactionEnd,
    pub(crate) closes: ServerCloses,
    pub(crate) limit: Option<u32>,
}

/// A client that makes one exchange after another.
#[derive(Clone)]
pub(crate) struct Series {
    plan: Plan,
    tcp_client: u16,
    tcp_server: u16,
    request: (Sampler, Rng),
    response: (Sampler, Rng),
    pause: (Sampler, Rng),
    first: Sampler,
    slots: Slots<(u32, Exchange)>,
    next: u32,
    current: Option<Item>,
}

/// The exchange in progress.
#[derive(Clone)]
struct Item {
    index: u32,
    start: Time,
    bytes: u64,
    losses: Losses,
}

impl Series {
    pub(crate) fn new(
        plan: Plan,
        (request, response, pause, first): (&Dist, &Dist, &Dist, &Dist),
        setup: &mut Setup<'_>,
    ) -> Result<Series, AppError> {
        let make = |field: &'static str, d: &Dist| d.of_field(field, setup.shared);
        let (request, response) = (make("request_bytes", request)?, make("response or file bytes", response)?);
        let (pause, first) = (make("pause_s", pause)?, make("first_s", first)?);
        Ok(Series {
            plan,
            tcp_client: setup.tcp_client,
            tcp_server: setup.tcp_server,
            request: (request, (setup.stream)("requests")),
            response: (response, (setup.stream)("sizes")),
            pause: (pause, (setup.stream)("pauses")),
            first,
            slots: Slots::new(),
            next: 0,
            current: None,
        })
    }

    pub(crate) fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Start => {
                let wait = self.first.draw_time(&mut self.pause.1);
                self.begin_after(wait, now, out);
            }
            Event::Timer => self.begin(now, out),
            Event::End => self.end(Time::MAX, out),
            _ => self.connection_event(now, event, out),
        }
    }

    fn connection_event(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        let Some(conn) = conn_of(event) else { return };
        let Some((index, exchange)) = self.slots.get_mut(conn) else { return };
        let (index, step) = (*index, exchange.handle(event, out));
        if matches!(step, Step::Gone { .. }) {
            self.slots.remove(conn);
        }
        let Some(item) = self.current.as_mut().filter(|i| i.index == index) else { return };
        match step {
            Step::Requested => {
                if self.plan.clock == Clock::Request {
                    item.start = now;
                }
            }
            Step::Complete(losses) => {
                item.losses = losses;
                if self.plan.ends == TransactionEnd::Delivered {
                    self.finish(now, out);
                }
            }
            Step::Closed => self.finish(now, out),
            Step::Gone { losses, .. } => {
                item.losses = losses;
                self.end(Time::MAX, out);
                self.go_on(now, out);
            }
            Step::First { .. } | Step::Quiet => {}
        }
    }

    fn begin_after(&mut self, wait: Time, now: Time, out: &mut Vec<Command>) {
        if wait == Time::ZERO {
            self.begin(now, out);
        } else {
            out.push(Command::Timer { at: now + wait });
        }
    }

    fn begin(&mut self, now: Time, out: &mut Vec<Command>) {
        if self.plan.limit.is_some_and(|n| self.next >= n) {
            return;
        }
        let index = self.next;
        self.next += 1;
        let request = self.request.0.draw_bytes(&mut self.request.1);
        let bytes = self.response.0.draw_bytes(&mut self.response.1);
        self.current = Some(Item { index, start: now, bytes, losses: Losses::default() });
        let conn = self.slots.insert((index, Exchange::new(request, bytes, false, self.plan.closes)));
        out.push(Command::Connect { conn, tcp_client: self.tcp_client, tcp_server: self.tcp_server });
    }

    fn finish(&mut self, now: Time, out: &mut Vec<Command>) {
        self.end(now, out);
        self.go_on(now, out);
    }

    fn go_on(&mut self, now: Time, out: &mut Vec<Command>) {
        let wait = self.pause.0.draw_time(&mut self.pause.1);
        self.begin_after(wait, now, out);
    }

    /// Records the exchange in progress, if any.
    fn end(&mut self, end: Time, out: &mut Vec<Command>) {
        if let Some(i) = self.current.take() {
            let record = ObjectRecord::of_one_connection(self.plan.kind, i.index, i.start, end, i.bytes, i.losses);
            out.push(Command::Record(record));
        }
    }
}
