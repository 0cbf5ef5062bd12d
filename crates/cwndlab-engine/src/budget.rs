//! What a run may use, and how it ends before its time.

use cwndlab_units::Time;
use thiserror::Error;

/// What one run may use. The defaults are far above what studies of the field need, and low enough that a run which was
/// not meant (a rate in the wrong unit, a duration too long) ends within minutes and without filling the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Events: arrivals of packets, services, timers.
    pub events: u64,
    /// Bytes of memory, estimated: connections, packets under way, applications and records.
    pub memory_bytes: u64,
}

impl Budget {
    /// No bound.
    pub const UNLIMITED: Budget = Budget { events: u64::MAX, memory_bytes: u64::MAX };
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { events: 1_000_000_000, memory_bytes: 384 << 20 }
    }
}

/// Why a run ended before its duration was over. Its records are lost.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// More events than the budget has.
    #[error("the run needs more than {budget} events, its budget: by then it had simulated {at} of {duration}")]
    Events {
        /// the budget
        budget: u64,
        /// simulated time
        at: Time,
        /// of the scenario
        duration: Time,
    },
    /// More memory than the budget has.
    #[error("the run needs more than {} MB of memory, its budget: by then it had simulated {at} of {duration}, \
             with {connections} connections and {packets} packets under way", budget_bytes / 1_000_000)]
    Memory {
        /// the budget
        budget_bytes: u64,
        /// simulated time
        at: Time,
        /// of the scenario
        duration: Time,
        /// memory is reserved for this many at once
        connections: u64,
        /// inside links
        packets: u64,
    },
    /// Nothing that happens takes any time.
    #[error(
        "simulated time stands still at {at}: {events} events happened at that instant; \
             give the links a delay, or packets a size that takes time at the links' rate"
    )]
    Standstill {
        /// simulated time
        at: Time,
        /// how many
        events: u64,
    },
    /// More simultaneous connections than the event queue can distinguish.
    #[error("{connections} connections are open at once at {at}; at most {} can be", crate::MAX_SOURCES / 2)]
    Connections {
        /// simulated time
        at: Time,
        /// open, with their packets still under way, or about to be opened
        connections: u64,
    },
    /// A window law from outside could not go on, or could not be made.
    #[error("{why} (flow {flow}, {at} simulated)")]
    Law {
        /// whose law it was
        flow: String,
        /// simulated time
        at: Time,
        /// in the law's own words
        why: String,
    },
    /// The caller requested a stop.
    #[error("the run was stopped at {at} of {duration}")]
    Stopped {
        /// simulated time
        at: Time,
        /// of the scenario
        duration: Time,
    },
}

impl RunError {
    /// How far the run had come in simulated time.
    pub fn at(&self) -> Time {
        match *self {
            RunError::Events { at, .. }
            | RunError::Memory { at, .. }
            | RunError::Standstill { at, .. }
            | RunError::Connections { at, .. }
            | RunError::Law { at, .. }
            | RunError::Stopped { at, .. } => at,
        }
    }
}
