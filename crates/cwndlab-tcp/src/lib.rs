//! A TCP endpoint, sans-IO: it knows no simulator, no link, no clock and no socket.
#![forbid(unsafe_code)]

mod config;
mod congestion;
mod connection;
mod profile;
mod reassembly;
mod rto;
mod segment;
mod sequence;
mod state;
mod stats;
pub use connection::Connection;
pub use state::{CloseReason, State};
pub use stats::Stats;

pub use config::{
    AckPolicy, InitialWindow, MaxWindow, Profile, RecoveryKind, ReductionBase, RtoConfig, SlowStartKind, TcpConfig,
    WindowLawKind,
};
pub use congestion::{AckSample, CongestionEvent, WindowLaw};
pub use profile::{knobs_json, Knob, KNOBS};
pub use rto::RttEstimator;
pub use segment::{Flags, SackBlocks, Segment};
