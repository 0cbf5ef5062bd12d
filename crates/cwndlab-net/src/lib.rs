//! Path elements without I/O: links, queues and impairments. Each call takes the time as an argument. Nothing here
//! depends on a simulator, a socket or a clock, so the simulator and the real-time router run the same code.
//!
//! ```
//! use cwndlab_net::queue::{Admit, Backlog, DropTailConfig, Queue, QueueConfig, Unit};
//! use cwndlab_net::{DropCause, Ecn, Rng};
//! use cwndlab_units::{Rate, Time};
//!
//! let config = QueueConfig::DropTail(DropTailConfig { limit: 2, unit: Unit::Packets, counts_in_service: true });
//! config.check().unwrap();
//! let Queue::Arrival(mut queue) = config.build::<()>(Rate::from_bps(1_500_000), 0) else { unreachable!() };
//! let full = Backlog { packets: 2, ..Backlog::default() };
//! let decision = queue.on_arrival(Time::ZERO, full, 1500, Ecn::NotEct, &mut Rng::new(1));
//! assert_eq!(decision, Admit::Drop(DropCause::Full));
//! ```
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
pub use packet::{Ack, DropCause, Ecn, Packet};
pub use schedule::ScheduleError;

/// The random number generator of one path element. Each combination of seed, replicate and component name has its own
/// random stream.
pub type Rng = rand_pcg::Pcg64Mcg;
