//! What the simulator and the router run: a [`Scenario`] of nodes, links and traffic, read from JSON and checked, and
//! the [`Routes`] of its packets.
//!
//! Reading is a crate of its own, since it compiles for longer than the simulator and is no part of its speed.
//!
//! ```
//! use cwndlab_scenario::Scenario;
//!
//! let error = Scenario::from_json(r#"{"nodes": []}"#).unwrap_err();
//! assert!(error.to_string().contains("missing field"));
//! ```
#![forbid(unsafe_code)]

mod refusal;
mod routes;
mod scenario;

pub use refusal::{invalid, KnobError, Place, Refusal, ScenarioError, Unknown};
pub use routes::{Paths, Routes, DELIVER};
pub use scenario::{LinkSpec, MessageSizes, Network, ProbeSpec, RouteSpec, Scenario, TrafficSpec};
