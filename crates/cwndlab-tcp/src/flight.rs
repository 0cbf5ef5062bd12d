//! What is outstanding, and what each ACK says of it.

pub(crate) mod packet_times;
pub(crate) mod rate;
pub(crate) mod record;
mod report;
pub(crate) mod scoreboard;
pub(crate) mod send_times;

pub use rate::RateSample;
pub use report::{AckKind, AckReport};
