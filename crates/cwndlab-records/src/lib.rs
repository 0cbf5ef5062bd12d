//! Defines the record tables of a run in one place: typed columns in Arrow's layout, which are
//! recorded into vectors and handed over without a copy. Also writes the tables as traces that other tools read, and computes the time budgets of a run's
//! objects and connections.
//!
//! ```
//! use cwndlab_engine::{Scenario, Simulation};
//! use cwndlab_records::Recorder;
//!
//! let scenario = serde_json::json!({
//!     "duration_ns": 10_000_000_000_u64,
//!     "nodes": ["sender", "receiver"],
//!     "links": [
//!         { "name": "there", "from": 0, "to": 1, "rate_bps": 10_000_000, "delay_ns": 20_000_000,
//!           "queue": { "kind": "drop-tail", "limit": 33 } },
//!         { "name": "back", "from": 1, "to": 0, "rate_bps": 10_000_000, "delay_ns": 20_000_000,
//!           "queue": { "kind": "infinite" } },
//!     ],
//!     "tcp": [cwndlab_tcp::Profile::Linux6.config()],
//!     "traffic": [{
//!         "name": "bulk", "client": 0, "server": 1, "tcp_client": 0, "tcp_server": 0, "start_ns": 0,
//!         "app": { "kind": "bulk" },
//!     }],
//!     "probes": { "connections": true },
//! });
//! let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
//! let simulation = Simulation::new(&scenario, 1, 0, Recorder::new(&scenario)).unwrap();
//! let records = simulation.run().unwrap().1.finish();
//! assert_eq!(records.table("connections").map(|table| table.rows()), Some(1));
//! ```
#![forbid(unsafe_code)]

pub mod cell;
pub mod column;
mod digest;
pub mod kernel;
mod lifetime;
mod recorder;
mod records;
#[cfg(test)]
mod samples;
mod sequence;
mod table;
pub mod tables;
pub mod time_budget;
pub mod trace;

pub use cell::Label;
pub use lifetime::Lifetime;
pub use recorder::Recorder;
pub use records::{Records, TraceFormat};
pub use table::{ColumnDoc, SchemaError, Table, TableDoc};
pub use tables::TABLES;
