//! The simulator: clock, event queue, random streams, routes, run loop.
//!
//! The input is a [`Scenario`]; the simulator reports to a [`Probe`]. One run uses one thread; parallelism is across
//! runs.
#![forbid(unsafe_code)]

mod budget;
mod events;
mod laws;
mod packet;
mod probe;
mod reason;
mod refusal;
mod scenario;
mod sim;
mod stacks;
mod streams;
mod topology;

pub use budget::{Budget, RunError};
pub use events::{EventQueue, Source, MAX_SOURCES};
pub use laws::{Flow, Laws};
pub use probe::{ConnectionRecord, NoProbe, Opened, Probe, QueueSample, SegmentEvent, Way, WindowSample};
pub use reason::Reason;
pub use refusal::{KnobError, Place, Refusal, ScenarioError, Unknown};
pub use scenario::{LinkSpec, ProbeSpec, RouteSpec, Scenario, TrafficSpec};
pub use sim::{Simulation, Summary};
pub use stacks::{
    Answer, Content, Endpoint, Message, MessageSizes, Opening, Progress, StackCounters, StackError, StackWindow, Stacks,
};
pub use streams::Streams;
pub use topology::Routes;
