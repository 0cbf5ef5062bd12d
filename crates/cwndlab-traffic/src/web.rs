//! Web pages, one after another, with reading time in between (RFC 2415, section 2).
//!
//! A page is a primary object and some in-line objects. With http/1.0 each object has a connection of its own, and the
//! connections of the in-line objects are opened at the same time. With http/1.1 one connection carries all objects,
//! and the second request on it asks for all in-line objects. With http/3 one connection of a QUIC stack carries all
//! objects, each on a stream of its own, and the in-line objects are requested at the same time. The sizes of a page's objects and requests are drawn when
//! the page begins, object sizes and request sizes each from a random stream of their own, so that a replicate browses
//! the same pages in every cell.

mod carrier;
mod page;

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use self::carrier::Carrier;
use self::page::Page;
use crate::dist::{Dist, Rng, Sampler};
use crate::error::{AppError, MAX_INLINE_OBJECTS};
use crate::event::{Command, Event, Losses};
use crate::exchange::conn_of;
use crate::slots::Slots;
use crate::spec::{zero, Application, Clock, InlineTrigger, Protocol, ServerCloses, Setup, Spec};

/// Web pages, one after another, with reading time in between.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WebSpec {
    /// How objects share connections.
    pub protocol: Protocol,
    /// Bytes of the primary object and, unless `inline_bytes` is given, of each in-line object.
    pub object_bytes: Dist,
    /// Bytes of an in-line object; the default is `object_bytes`.
    #[serde(default)]
    pub inline_bytes: Option<Dist>,
    /// Bytes of a request.
    pub request_bytes: Dist,
    /// Number of in-line objects of a page.
    #[serde(default = "three")]
    pub inline_objects: u32,
    /// Time between a page's last byte and the next page.
    pub think_s: Dist,
    /// Time from the application's start to the first page.
    #[serde(default = "zero")]
    pub first_s: Dist,
    /// The event at which the delays of pages and objects start.
    pub clock: Clock,
    /// The event that makes the client request the in-line objects.
    pub inline_trigger: InlineTrigger,
    /// Whether each object is recorded, in addition to its page.
    #[serde(default)]
    pub record_objects: bool,
    /// When the server closes a connection; with http/3 the client closes it when the page is complete.
    #[serde(default)]
    pub server_closes: ServerCloses,
    /// Stop after this number of pages.
    #[serde(default)]
    pub pages: Option<u32>,
}

fn three() -> u32 {
    3
}

/// A client that browses one page after another.
#[derive(Clone)]
pub struct Web {
    protocol: Protocol,
    clock: Clock,
    trigger: InlineTrigger,
    closes: ServerCloses,
    record_objects: bool,
    inline_objects: u32,
    limit: Option<u32>,
    tcp_client: u16,
    tcp_server: u16,
    primary: Sampler,
    inline: Sampler,
    sizes: Rng,
    request: Sampler,
    requests: Rng,
    think: Sampler,
    first: Sampler,
    thinks: Rng,
    slots: Slots<Connection>,
    next: u32,
    page: Option<Page>,
}

/// A connection: the page for which it was opened, the objects that it carries, and the losses that have already been
/// added to the page's losses.
#[derive(Clone)]
struct Connection {
    page: u32,
    carrier: Carrier,
    losses: Losses,
}

impl Spec for WebSpec {
    type App = Web;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        let mut all = vec![
            ("object_bytes", &self.object_bytes),
            ("request_bytes", &self.request_bytes),
            ("think_s", &self.think_s),
            ("first_s", &self.first_s),
        ];
        all.extend(self.inline_bytes.as_ref().map(|d| ("inline_bytes", d)));
        all
    }

    fn check(&self) -> Result<(), AppError> {
        if self.inline_objects > MAX_INLINE_OBJECTS {
            return Err(AppError::TooManyObjects(self.inline_objects));
        }
        Ok(())
    }

    fn build(&self, setup: &mut Setup<'_>) -> Result<Web, AppError> {
        self.check()?;
        let make = |field: &'static str, d: &Dist| d.of_field(field, setup.shared);
        Ok(Web {
            protocol: self.protocol,
            clock: self.clock,
            trigger: self.inline_trigger,
            closes: self.server_closes,
            record_objects: self.record_objects,
            inline_objects: self.inline_objects,
            limit: self.pages,
            tcp_client: setup.tcp_client,
            tcp_server: setup.tcp_server,
            primary: make("object_bytes", &self.object_bytes)?,
            inline: make("inline_bytes", self.inline_bytes.as_ref().unwrap_or(&self.object_bytes))?,
            request: make("request_bytes", &self.request_bytes)?,
            think: make("think_s", &self.think_s)?,
            first: make("first_s", &self.first_s)?,
            sizes: (setup.stream)("sizes"),
            requests: (setup.stream)("requests"),
            thinks: (setup.stream)("thinks"),
            slots: Slots::new(),
            next: 0,
            page: None,
        })
    }
}

impl Application for Web {
    /// Memory of one page: its objects and, for http/1.1, the position at which each object ends.
    fn memory_bytes(&self) -> u64 {
        (u64::from(self.inline_objects) + 1) * (size_of::<page::Object>() + size_of::<u64>()) as u64
    }

    fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Start => {
                let wait = self.first.draw_time(&mut self.thinks);
                out.push(Command::Timer { at: now + wait });
            }
            Event::Timer => self.begin_page(now, out),
            Event::End => {
                if let Some(page) = self.page.take() {
                    page.record(Time::MAX, out);
                }
            }
            _ => self.connection_event(now, event, out),
        }
    }
}

impl Web {
    fn begin_page(&mut self, now: Time, out: &mut Vec<Command>) {
        if self.limit.is_some_and(|n| self.next >= n) {
            return;
        }
        let mut page = Page::new(self.next, now, self.record_objects);
        for k in 0..=self.inline_objects {
            let sampler = if k == 0 { &self.primary } else { &self.inline };
            page.add(sampler.draw_bytes(&mut self.sizes), self.request.draw_bytes(&mut self.requests));
        }
        self.next += 1;
        let carrier = match self.protocol {
            Protocol::Http10 => Carrier::one(
                0,
                page.object(0),
                self.inline_objects > 0 && self.trigger == InlineTrigger::FirstPacket,
                self.closes,
            ),
            Protocol::Http11 => Carrier::all(&page, self.trigger, self.closes),
            Protocol::Http3 => Carrier::streams(&page, self.trigger),
        };
        self.connect(&mut page, carrier, out);
        self.page = Some(page);
    }

    fn connect(&mut self, page: &mut Page, carrier: Carrier, out: &mut Vec<Command>) {
        page.connections += 1;
        let conn = self.slots.insert(Connection { page: page.index, carrier, losses: Losses::default() });
        out.push(Command::Connect { conn, tcp_client: self.tcp_client, tcp_server: self.tcp_server });
    }

    fn connection_event(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        let Some(conn) = conn_of(event) else { return };
        let Some(connection) = self.slots.get_mut(conn) else { return };
        let news = connection.carrier.handle(event, out);
        let suffered = news.losses.since(connection.losses);
        connection.losses = connection.losses.plus(suffered);
        let of_page = connection.page;
        if matches!(event, Event::Finished { .. }) {
            self.slots.remove(conn);
        }
        // A connection may still be closing when its page is over. The events of such a connection are ignored.
        let Some(mut page) = self.page.take_if(|p| p.index == of_page) else { return };
        page.losses = page.losses.plus(suffered);
        let ask_inline = self.protocol == Protocol::Http10 && news.primary_seen(self.trigger);
        if self.clock == Clock::Request {
            news.requested.for_each(|k| page.restart_clock(k, now));
        }
        news.completed.for_each(|k| page.complete(k, now, out));
        if ask_inline {
            for k in 1..=self.inline_objects {
                page.start_clock(k, now);
                let carrier = Carrier::one(k, page.object(k), false, self.closes);
                self.connect(&mut page, carrier, out);
            }
        }
        if page.is_complete() || news.lost {
            page.record(if news.lost { Time::MAX } else { now }, out);
            let wait = self.think.draw_time(&mut self.thinks);
            out.push(Command::Timer { at: now + wait });
        } else {
            self.page = Some(page);
        }
    }
}

#[cfg(test)]
mod tests;
