//! The simulator: clock, event queue, random streams, run loop.
//!
//! The input is a [`Scenario`]; the simulator reports to a [`Probe`]. One run uses one thread; parallelism is across
//! runs.
//!
//! ```
//! use cwndlab_engine::{NoProbe, Scenario, Simulation};
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
//! let (summary, _) = Simulation::new(&scenario, 1, 0, NoProbe).unwrap().run().unwrap();
//! assert!(summary.injected > 8_000, "{} packets", summary.injected);
//! ```
#![forbid(unsafe_code)]

mod budget;
mod events;
mod laws;
mod packet;
mod probe;
mod reason;
mod sim;
mod stacks;
mod streams;

pub use cwndlab_scenario::{
    KnobError, LinkSpec, MessageSizes, Network, Place, ProbeSpec, Refusal, RouteSpec, Routes, Scenario, ScenarioError,
    TrafficSpec, Unknown,
};

pub use budget::{Budget, RunError};
pub use events::{EventQueue, Source, MAX_SOURCES};
pub use laws::{Flow, Laws};
pub use probe::{ConnectionRecord, NoProbe, Opened, Probe, QueueSample, SegmentEvent, Way, WindowSample};
pub use reason::Reason;
pub use sim::{build_application, Simulation, Summary};
pub use stacks::{
    Answer, Content, Endpoint, Message, Opening, Progress, StackCounters, StackError, StackWindow, Stacks,
};
pub use streams::Streams;
