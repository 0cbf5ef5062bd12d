//! Queues of the past: class-based queueing as papers of the 1990s used it, and RED of Linux 2.2 and 2.3.

mod cbq;
mod linux_red;

pub use cbq::{BoundedClass, Cbq, CbqClassConfig, CbqConfig, Sharing};
pub use linux_red::{LinuxRed, LinuxRedConfig, LinuxRedVersion};
