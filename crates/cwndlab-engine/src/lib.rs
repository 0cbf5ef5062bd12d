//! The simulator: clock, event queue, random streams, run loop.
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
mod sim;
mod stacks;
mod streams;

pub use cwndlab_scenario::{
    KnobError, LinkSpec, MessageSizes, Place, ProbeSpec, Refusal, RouteSpec, Routes, Scenario, ScenarioError,
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
