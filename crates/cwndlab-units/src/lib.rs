//! Units of the laboratory: [`Time`] (integer nanoseconds), [`Bytes`] and [`Rate`] (bit/s),
//! with strict parsing of what people write ("50ms", "64KiB", "1.5Mbps"), conversion between units and exact
//! serialization times.
#![forbid(unsafe_code)]

mod parse;
mod rate;
mod time;

pub use parse::{conversion, parse_bytes, parse_quantity, ConversionError, ParseUnitError, Quantity};
pub use rate::{Rate, Serializer};
pub use time::Time;

/// A size in bytes.
pub type Bytes = u64;
