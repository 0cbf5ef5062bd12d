//! The one definition of every record: tables with typed columns, recorded into plain vectors and passed to Arrow
//! without a copy; the trace formats that other tools read; and the time budgets of a run's objects.
#![forbid(unsafe_code)]

pub mod cell;
mod digest;
pub mod kernel;
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
pub use recorder::Recorder;
pub use records::{Records, TraceFormat};
pub use table::{ColumnDoc, SchemaError, Table, TableDoc};
pub use tables::TABLES;
