//! The resources that a run may use, and the errors that end it early.

use cwndlab_units::Time;
use thiserror::Error;

/// The resources that one run may use. The defaults are far above what studies of TCP need, but low enough that a
/// mistaken run (a rate in the wrong unit, a duration too long) ends within minutes and does not fill the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Number of events: arrivals of packets, services, timers.
    pub events: u64,
    /// Bytes of memory, estimated: connections, packets in flight, applications and records.
    pub memory_bytes: u64,
}

impl Budget {
    /// No limit.
    pub const UNLIMITED: Budget = Budget { events: u64::MAX, memory_bytes: u64::MAX };
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { events: 1_000_000_000, memory_bytes: 384 << 20 }
    }
}

/// Why a run ended before its duration was over. The run's records are discarded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// More events than the budget allows.
    #[error("the run needs more than {budget} events, its budget: by then it had simulated {at} of {duration}")]
    Events {
        /// the budget
        budget: u64,
        /// simulated time
        at: Time,
        /// the scenario's duration
        duration: Time,
    },
    /// More memory than the budget allows.
    #[error("the run needs more than {} MB of memory, its budget: by then it had simulated {at} of {duration}, \
             with {connections} connections and {packets} packets under way", budget_bytes / 1_000_000)]
    Memory {
        /// the budget
        budget_bytes: u64,
        /// simulated time
        at: Time,
        /// the scenario's duration
        duration: Time,
        /// number of simultaneous connections for which memory is reserved
        connections: u64,
        /// number of packets inside links
        packets: u64,
    },
    /// Simulated time does not advance.
    #[error(
        "simulated time stands still at {at}: {events} events happened at that instant; \
             give the links a delay, or packets a size that takes time at the links' rate"
    )]
    Standstill {
        /// simulated time
        at: Time,
        /// number of events at this time
        events: u64,
    },
    /// More simultaneous connections than the event queue can distinguish.
    #[error("{connections} connections are open at once at {at}; at most {} can be", crate::MAX_SOURCES / 2)]
    Connections {
        /// simulated time
        at: Time,
        /// connections that are open, have packets in flight, or are about to be opened
        connections: u64,
    },
    /// A window law from outside the engine failed, or could not be created.
    #[error("{why} (flow {flow}, {at} simulated)")]
    Law {
        /// the flow that the law controls
        flow: String,
        /// simulated time
        at: Time,
        /// the law's own message
        why: String,
    },
    /// A stack from outside the engine could not open a connection.
    #[error("{why} (flow {flow}, {at} simulated)")]
    Stack {
        /// name of the traffic entry
        flow: String,
        /// simulated time
        at: Time,
        /// the reason
        why: String,
    },
    /// The caller requested a stop.
    #[error("the run was stopped at {at} of {duration}")]
    Stopped {
        /// simulated time
        at: Time,
        /// the scenario's duration
        duration: Time,
    },
}

impl RunError {
    /// The simulated time that the run had reached.
    pub fn at(&self) -> Time {
        match *self {
            RunError::Events { at, .. }
            | RunError::Memory { at, .. }
            | RunError::Standstill { at, .. }
            | RunError::Connections { at, .. }
            | RunError::Law { at, .. }
            | RunError::Stack { at, .. }
            | RunError::Stopped { at, .. } => at,
        }
    }
}
