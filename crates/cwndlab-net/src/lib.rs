//! Path elements without I/O: links, queues and impairments. Each call takes the time as an argument. Nothing here
//! depends on a simulator, a socket or a clock, so the simulator and the real-time router run the same code.
#![forbid(unsafe_code)]

mod capacity;
pub mod impair;
mod link;
pub mod network;
mod packet;
pub mod queue;
mod schedule;
#[cfg(test)]
mod test_packet;

pub use capacity::{CapacityConfig, CapacityError};
pub use link::{Link, LinkCounters, Offered};
pub use packet::{DropCause, Ecn, Packet};
pub use schedule::ScheduleError;

/// The random number generator of one path element. Each combination of seed, replicate and component name has its own
/// random stream.
pub type Rng = rand_pcg::Pcg64Mcg;
