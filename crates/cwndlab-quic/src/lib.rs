//! Published implementations of QUIC as endpoints of the simulator: quinn and noq, unmodified, in virtual time.
//!
//! Their crates do no input or output: time and datagrams are arguments. This crate adds a clock, seeds, a handshake and
//! keys that protect nothing but take as many bytes as real ones, and an application that writes and reads streams.
//!
//! ```
//! let error = cwndlab_quic::check(&serde_json::json!({ "stack": "quinn", "mtu_bytes": 1000 })).unwrap_err();
//! assert_eq!(error.to_string(), "mtu is 1000; it must be 1228 to 9000");
//! ```
//!
//! noq began as a fork of quinn. Its interface has the same names, but other types, so the files in `common` are modules of both
//! `quinn` and `noq`, compiled against the crate that each of them calls `proto`.
#![forbid(unsafe_code)]
#![allow(clippy::duplicate_mod, reason = "the files in `common` are compiled for each stack")]

mod handshake;
mod messages;
#[cfg(feature = "noq")]
mod noq;
mod options;
mod packets;
#[cfg(feature = "quinn")]
mod quinn;
mod random;
mod sender;
mod timeouts;

use std::time::Instant;

use cwndlab_engine::{Endpoint, Opening, StackError, Stacks};
use serde_json::Value;

pub use options::{check, Stack};

/// The stacks of this crate.
pub struct QuicStacks {
    /// The value of the stacks' clock at the start of the run.
    origin: Instant,
}

impl QuicStacks {
    /// Stacks for one run.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "an origin: stacks see only differences, which are of virtual time")]
    pub fn new() -> QuicStacks {
        QuicStacks { origin: Instant::now() }
    }
}

impl Default for QuicStacks {
    fn default() -> QuicStacks {
        QuicStacks::new()
    }
}

impl Stacks for QuicStacks {
    fn open(&mut self, stack: &Value, opening: &Opening) -> Result<[Box<dyn Endpoint>; 2], StackError> {
        let stack: Stack = serde_json::from_value(stack.clone()).map_err(|error| StackError(error.to_string()))?;
        match stack {
            #[cfg(feature = "quinn")]
            Stack::Quinn(options) => quinn::open(&options, self.origin, opening),
            #[cfg(feature = "noq")]
            Stack::Noq(options) => noq::open(&options, self.origin, opening),
        }
    }
}

/// The version of each stack's crate, by the stack's name.
#[must_use]
pub fn versions() -> Vec<(&'static str, &'static str)> {
    vec![
        #[cfg(feature = "quinn")]
        ("quinn", "quinn-proto 0.11.19"),
        #[cfg(feature = "noq")]
        ("noq", "noq-proto 1.4.0"),
    ]
}

#[cfg(test)]
mod tests;
