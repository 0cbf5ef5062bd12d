//! The application of one traffic entry: an enum over the kinds.

use std::collections::BTreeMap;

use cwndlab_units::Time;

use crate::bulk::Bulk;
use crate::crr::Crr;
use crate::datagrams::Datagrams;
use crate::dist::{Rng, Sampler};
use crate::error::AppError;
use crate::event::{Command, Event};
use crate::ftp::Ftp;
use crate::rr::Rr;
use crate::short_flows::ShortFlows;
use crate::spec::AppSpec;
use crate::web::Web;

/// What an application is built with.
pub struct Setup<'a> {
    /// Index of the client's TCP group.
    pub tcp_client: u16,
    /// Index of the server's TCP group.
    pub tcp_server: u16,
    /// Payload bytes of a full segment (the smaller of both groups').
    pub mss: u32,
    /// The scenario's shared distributions (`Distributions::samplers`).
    pub shared: &'a BTreeMap<String, Sampler>,
    /// Gives the random stream of a purpose; the driver keys it by (seed, replicate, traffic name, purpose).
    pub stream: &'a mut dyn FnMut(&str) -> Rng,
}

/// One application; only the common kind is stored in place, as there may be 100,000 of them. Call [`App::handle`] with each event, in order, and carry out the commands in order.
#[derive(Clone)]
pub enum App {
    /// One transfer on one connection.
    Bulk(Bulk),
    /// Files, one after another.
    Ftp(Box<Ftp>),
    /// Web pages.
    Web(Box<Web>),
    /// Connect-request-response transactions.
    Crr(Box<Crr>),
    /// Requests and responses over one connection.
    Rr(Box<Rr>),
    /// Short flows.
    ShortFlows(Box<ShortFlows>),
    /// Unresponsive traffic.
    Datagrams(Box<Datagrams>),
}

impl App {
    /// Ready for [`Event::Start`].
    ///
    /// # Errors
    /// Says which part of the specification is wrong, and what would be right.
    pub fn new(spec: &AppSpec, setup: &mut Setup<'_>) -> Result<App, AppError> {
        Ok(match spec {
            AppSpec::Bulk(s) => App::Bulk(Bulk::new(s, setup)?),
            AppSpec::Ftp(s) => App::Ftp(Box::new(Ftp::new(s, setup)?)),
            AppSpec::Web(s) => App::Web(Box::new(Web::new(s, setup)?)),
            AppSpec::Crr(s) => App::Crr(Box::new(Crr::new(s, setup)?)),
            AppSpec::Rr(s) => App::Rr(Box::new(Rr::new(s, setup)?)),
            AppSpec::ShortFlows(s) => App::ShortFlows(Box::new(ShortFlows::new(s, setup)?)),
            AppSpec::Cbr(s) => App::Datagrams(Box::new(Datagrams::constant(s, setup)?)),
            AppSpec::OnOff(s) => App::Datagrams(Box::new(Datagrams::on_off(s, setup)?)),
            AppSpec::Poisson(s) => App::Datagrams(Box::new(Datagrams::poisson(s, setup)?)),
            AppSpec::Voip(s) => App::Datagrams(Box::new(Datagrams::voice(s, setup)?)),
            AppSpec::Video(s) => App::Datagrams(Box::new(Datagrams::video(s, setup)?)),
        })
    }

    /// Approximate maximum memory use at any time, excluding its connections.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            App::Web(a) => a.memory_bytes(),
            _ => 0,
        }
    }

    /// Tells the application what happened; its commands are appended to `out`.
    pub fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        match self {
            App::Bulk(a) => a.handle(now, event, out),
            App::Ftp(a) => a.handle(now, event, out),
            App::Web(a) => a.handle(now, event, out),
            App::Crr(a) => a.handle(now, event, out),
            App::Rr(a) => a.handle(now, event, out),
            App::ShortFlows(a) => a.handle(now, event, out),
            App::Datagrams(a) => a.handle(now, event, out),
        }
    }
}
