//! TCP profiles and their knobs, as JSON.

use cwndlab_tcp::Profile;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// Every knob's value in the profile of that name, as JSON.
#[pyfunction]
pub fn tcp_profile(name: &str) -> PyResult<String> {
    let profile = Profile::from_name(name).ok_or_else(|| {
        let names: Vec<_> = Profile::ALL.into_iter().map(Profile::name).collect();
        PyValueError::new_err(format!("there is no profile {name:?}; there are {}", names.join(", ")))
    })?;
    serde_json::to_string(&profile.config()).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Names of the profiles, in the order of their eras.
#[pyfunction]
pub fn tcp_profiles() -> Vec<&'static str> {
    Profile::ALL.into_iter().map(Profile::name).collect()
}

/// Every knob: a JSON list of name, type, what it does, and the source of each profile's value.
#[pyfunction]
pub fn tcp_knobs() -> String {
    cwndlab_tcp::knobs_json()
}
