//! Defines the record tables of a run in one place: typed columns in Arrow's layout, which are
//! recorded into vectors and handed over without a copy. Also writes the tables as traces that other tools read, and computes the time budgets of a run's
//! objects and connections.
#![forbid(unsafe_code)]

pub mod cell;
pub mod column;
mod digest;
pub mod kernel;
mod lifetime;
mod recorder;
mod records;
#[cfg(test)]
mod samples;
mod sequence;
mod table;
pub mod tables;
pub mod time_budget;
pub mod trace;

pub use cell::Label;
pub use lifetime::Lifetime;
pub use recorder::Recorder;
pub use records::{Records, TraceFormat};
pub use table::{ColumnDoc, SchemaError, Table, TableDoc};
pub use tables::TABLES;
