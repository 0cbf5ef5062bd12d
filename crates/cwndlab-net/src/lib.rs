//! Path elements, sans-IO: links, queues, losses. Time is an argument; nothing here depends on a simulator, a socket or
//! a clock, so the simulator and the real-time router run the same code.
#![forbid(unsafe_code)]

mod capacity;
pub mod impair;
mod link;
mod packet;
pub mod queue;
mod ring;
mod schedule;
#[cfg(test)]
mod test_packet;

pub use capacity::{CapacityConfig, CapacityError};
pub use link::{Link, LinkCounters, Offered};
pub use packet::{DropCause, Ecn, Packet};
pub use schedule::ScheduleError;

/// The random stream of one element; one stream per (seed, replicate, component name).
pub type Rng = rand_pcg::Pcg64Mcg;
