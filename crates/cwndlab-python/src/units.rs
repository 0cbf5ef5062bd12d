//! Quantities with units.

use cwndlab_units::{Quantity, Rate, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::IntoPyObjectExt as _;

fn refuse(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Parses a time such as "50ms". Returns nanoseconds.
#[pyfunction]
pub fn parse_time(text: &str) -> PyResult<u64> {
    text.parse::<Time>().map(Time::as_nanos).map_err(refuse)
}

/// Parses a rate such as "1.5Mbps". Returns bit/s.
#[pyfunction]
pub fn parse_rate(text: &str) -> PyResult<u64> {
    text.parse::<Rate>().map(Rate::as_bps).map_err(refuse)
}

/// Parses a size such as "64KiB". Returns bytes.
#[pyfunction]
pub fn parse_bytes(text: &str) -> PyResult<u64> {
    cwndlab_units::parse_bytes(text).map_err(refuse)
}

/// Parses a quantity of any kind. Returns its kind and value: "50ms" is `("time", 50000000)`.
#[pyfunction]
pub fn parse_quantity(py: Python<'_>, text: &str) -> PyResult<(&'static str, Py<PyAny>)> {
    Ok(match cwndlab_units::parse_quantity(text).map_err(refuse)? {
        Quantity::Time(time) => ("time", time.as_nanos().into_py_any(py)?),
        Quantity::Rate(rate) => ("rate", rate.as_bps().into_py_any(py)?),
        Quantity::Size(bytes) => ("size", bytes.into_py_any(py)?),
        Quantity::Packets(packets) => ("packets", packets.into_py_any(py)?),
        Quantity::Share(share) => ("share", share.into_py_any(py)?),
        Quantity::Bdp(multiple) => ("bdp", multiple.into_py_any(py)?),
    })
}

/// The factor that converts a number in `unit` to `wanted`.
#[pyfunction]
pub fn unit_factor(unit: &str, wanted: &str) -> PyResult<f64> {
    cwndlab_units::conversion(unit, wanted).map_err(refuse)
}
