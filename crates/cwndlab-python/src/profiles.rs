//! TCP profiles and their knobs, as JSON.

use cwndlab_tcp::{Profile, TcpConfig};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

fn profile(name: &str) -> PyResult<Profile> {
    Profile::from_name(name).ok_or_else(|| {
        let names: Vec<_> = Profile::ALL.into_iter().map(Profile::name).collect();
        PyValueError::new_err(format!("there is no profile {name:?}; there are {}", names.join(", ")))
    })
}

/// The value of every knob in the profile `name`, as JSON.
#[pyfunction]
pub fn tcp_profile(name: &str) -> PyResult<String> {
    let config = profile(name)?.config();
    serde_json::to_string(&config).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The alternatives and switches of the profile `name`, as JSON. `alternatives` maps a knob and each of its words to
/// the knobs of that alternative; `switches` maps each part that can be switched off to its knobs.
#[pyfunction]
pub fn tcp_choices(name: &str) -> PyResult<String> {
    profile(name).map(cwndlab_tcp::choices_json)
}

/// Knobs that were renamed: each with its name in an earlier version and its current name.
#[pyfunction]
pub fn tcp_renamed() -> Vec<(&'static str, &'static str)> {
    cwndlab_tcp::RENAMED.to_vec()
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

/// The knobs of a configuration (JSON) that have no effect given the other knobs, and what each requires. Raises
/// ValueError if the text is not a configuration.
#[pyfunction]
pub fn tcp_without_effect(config: &str) -> PyResult<Vec<(&'static str, &'static str)>> {
    let config: TcpConfig = serde_json::from_str(config).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(config.without_effect().iter().map(|found| (found.knob, found.needs)).collect())
}
