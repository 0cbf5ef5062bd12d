//! Quantities as people write them.

use cwndlab_units::{Rate, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

fn refuse(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Nanoseconds from "50ms".
#[pyfunction]
pub fn parse_time(text: &str) -> PyResult<u64> {
    text.parse::<Time>().map(Time::as_nanos).map_err(refuse)
}

/// Bit/s from "1.5Mbps".
#[pyfunction]
pub fn parse_rate(text: &str) -> PyResult<u64> {
    text.parse::<Rate>().map(Rate::as_bps).map_err(refuse)
}

/// Bytes from "64KiB".
#[pyfunction]
pub fn parse_bytes(text: &str) -> PyResult<u64> {
    cwndlab_units::parse_bytes(text).map_err(refuse)
}
