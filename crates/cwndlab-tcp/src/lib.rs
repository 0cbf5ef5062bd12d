//! A TCP endpoint, sans-IO: it knows no simulator, no link, no clock and no socket.
#![forbid(unsafe_code)]

mod config;
mod congestion;
mod segment;

pub use config::{
    AckPolicy, InitialWindow, MaxWindow, Profile, RecoveryKind, RtoConfig, SlowStartKind, TcpConfig, WindowLawKind,
};
pub use congestion::{AckSample, CongestionEvent};
pub use segment::{Flags, SackBlocks, Segment};
