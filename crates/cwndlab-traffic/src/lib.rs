//! Applications, sans-IO: state machines that receive [`Event`]s and return [`Command`]s.
//!
//! One application drives both sides of its connections (a web client and its server), so its state machine reads like
//! the protocol. An application depends on neither the simulator nor TCP, and time is an argument. Random numbers come
//! from named streams and are drawn in the order of pages or transactions, so that a replicate has the same sizes and
//! think times in every cell of a study, whatever the network does.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use cwndlab_traffic::{App, AppSpec, Command, Event, Rng, Setup};
//! use cwndlab_units::Time;
//!
//! let spec: AppSpec = serde_json::from_str(r#"{"kind": "bulk", "bytes": 100000}"#).unwrap();
//! let mut stream = |_: &str| Rng::new(1);
//! let shared = BTreeMap::new();
//! let mut setup =
//!     Setup { tcp_client: 0, tcp_server: 0, mss: 1448, over_quic: false, ip_header_bytes: 20, shared: &shared, stream: &mut stream };
//! let mut app = App::new(&spec, &mut setup).unwrap();
//! let mut commands = Vec::new();
//! app.handle(Time::ZERO, Event::Start, &mut commands);
//! assert!(matches!(commands[..], [Command::Connect { .. }]));
//! ```
#![forbid(unsafe_code)]

mod app;
mod bulk;
mod crr;
mod datagrams;
mod dist;
mod ecn;
mod error;
mod event;
#[cfg(test)]
mod examples;
mod exchange;
mod ftp;
mod pipeline;
mod program;
mod rr;
mod series;
mod short_flows;
mod slots;
mod spec;
#[cfg(test)]
mod testing;
mod web;

pub use app::{App, AppSpec};
pub use bulk::{Bulk, BulkSpec};
pub use crr::{Crr, CrrSpec};
pub use datagrams::{CbrSpec, Datagrams, OnOffSpec, PoissonSpec, VideoSpec, VoipSpec, UDP_HEADER_BYTES};
pub use dist::{Dist, Distributions, Rng, Sampler};
pub use ecn::EcnField;
pub use error::{AppError, DistError};
pub use event::{Command, Event, Losses, ObjectKind, ObjectRecord, Side};
pub use ftp::{Ftp, FtpSpec};
pub use pipeline::{Pipeline, PipelineSpec};
pub use program::{Program, ProgramSpec};
pub use rr::{Rr, RrSpec};
pub use short_flows::{ShortFlows, ShortFlowsSpec};
pub use spec::{Clock, InlineTrigger, Protocol, ServerCloses, Setup, TransactionEnd};
pub use web::{Web, WebSpec};
