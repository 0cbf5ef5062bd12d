//! Checking scenarios.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Refuses a scenario that can't be run: ValueError with the place and what would be right.
#[pyfunction]
pub fn check_scenario(json: &str) -> PyResult<()> {
    cwndlab_engine::Scenario::from_json(json).map(drop).map_err(|error| PyValueError::new_err(error.to_string()))
}
