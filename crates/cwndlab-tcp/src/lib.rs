//! A sans-IO TCP endpoint, independent of simulator, links, clock and sockets.
//!
//! The caller carries segments from one end to the other, calls each at its next timeout, and passes the time to every call
//! ([`Connection`] states the order). A [`Profile`] has the values of all knobs of an era.
//!
//! ```
//! use cwndlab_tcp::{Connection, Profile, State};
//! use cwndlab_units::Time;
//!
//! let (cfg, now) = (Profile::Linux6.config(), Time::ZERO);
//! let mut client = Connection::client(&cfg, 1000, now);
//! let mut server = Connection::server(&cfg, 2000, now);
//! client.write(100);
//! for _ in 0..3 {
//!     while let Some(segment) = client.poll_transmit(&cfg, now) {
//!         server.handle_segment(&cfg, now, &segment);
//!     }
//!     while let Some(segment) = server.poll_transmit(&cfg, now) {
//!         client.handle_segment(&cfg, now, &segment);
//!     }
//! }
//! assert_eq!((client.state(), server.received()), (State::Established, 100));
//! ```
//!
//! Where to look: `connection` has the calls, segments in and out, and the gate that lets segments go; `recovery` finds and repairs
//! losses; `congestion` has the window and its laws; `flight` is the account of what is outstanding; `receiver`, `reassembly` and
//! `ack_policy` are the receiving half; `timers` has the timers, `config` the knobs.
#![forbid(unsafe_code)]
// Functions marked `inline(always)` are called once per packet; without the attribute, the benchmark is slower.
#![allow(clippy::inline_always)]

mod accecn;
mod ack_policy;
mod clock;
mod config;
mod congestion;
mod connection;
mod ecn;
#[cfg(test)]
mod examples;
mod flight;
mod in_order;
mod pacing;
mod profile;
mod ranges;
mod reassembly;
mod receiver;
mod recovery;
mod rto;
mod segment;
mod segment_size;
mod send_buffer;
mod send_state;
mod sender;
mod sequence;
mod socket_options;
mod state;
mod stats;
mod timers;
mod trace;
mod trains;
mod tuned_buffer;
mod windowed_max;

pub use config::{
    all_knobs, AckPolicy, AdaptiveAcks, Bbr3Config, Bbr3Rules, ConfigError, CubicConfig, Estimator, FackConfig,
    FinConfig, HandshakeConfig, InitialWindow, Knob, LawId, LawIdError, LedbatConfig, LedbatPlusPlusConfig, MaxWindow,
    NagleRule, NewRenoConfig, PragueConfig, PragueVersion, Profile, PrrConfig, RackConfig, RackTimers, ReceiveTuning,
    RecoveryConfig, RecoveryEnd, RecoveryKind, RecoveryRules, ReductionBase, RenoConfig, RetransmitGuard, RtoConfig,
    RttSamples, SackConfig, SendTuning, SlowStartKind, TcpConfig, TimerStart, TrainKind, WindowLawKind, WithoutEffect,
    RENAMED,
};
pub use congestion::{
    AckKind, AckReport, AfterAck, CongestionControl, CongestionEvent, Controller, Grant, LawError, LawFailure,
    LawFailures, LossEvent, Needs, Quantum, Start, Window,
};
pub use connection::{CongestionState, Connection, DeliveredCe, Info, Limit, Polled, Quick, RecoveryCounts};
pub use ecn::EcnKind;
pub use flight::RateSample;
pub use profile::{choices_json, knobs_json};
pub use rto::RttEstimator;
pub use segment::{AccEcnOption, Flags, Header, SackBlocks, Segment, TIMESTAMPS_BYTES};
pub use state::{CloseReason, State};
pub use stats::Stats;
pub use trace::{Cause, Expired, Trace, Traced};

/// The type of all random number generators.
pub type Rng = rand_pcg::Pcg64Mcg;
