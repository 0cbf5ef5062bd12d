//! Applications, sans-IO: state machines that receive [`Event`]s and answer with [`Command`]s.
//!
//! One application drives both sides of its connections (a web client and the server it asks), so its state
//! machine reads like the protocol. It knows no simulator and no TCP; time is an argument; random numbers come
//! from named streams, drawn in page order, so that the same replicate has the same sizes and think times in
//! every cell of a study, whatever the network does to them.
#![forbid(unsafe_code)]

mod app;
mod bulk;
mod crr;
mod datagrams;
mod dist;
mod error;
mod event;
mod exchange;
mod ftp;
mod rr;
mod series;
mod short_flows;
mod slots;
mod spec;
#[cfg(test)]
mod testing;
mod web;

pub use app::{App, Setup};
pub use bulk::Bulk;
pub use crr::Crr;
pub use datagrams::{CbrSpec, Datagrams, EcnField, OnOffSpec, PoissonSpec, VideoSpec, VoipSpec};
pub use dist::{Dist, Distributions, Rng, Sampler};
pub use error::{AppError, DistError};
pub use event::{Command, Event, Losses, ObjectKind, ObjectRecord, Side};
pub use ftp::Ftp;
pub use rr::Rr;
pub use short_flows::ShortFlows;
pub use spec::{
    AppSpec, BulkSpec, Clock, CrrSpec, FtpSpec, InlineTrigger, Protocol, RrSpec, ServerCloses, ShortFlowsSpec,
    TransactionEnd, WebSpec,
};
pub use web::Web;
