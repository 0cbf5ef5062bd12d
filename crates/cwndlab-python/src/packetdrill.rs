//! packetdrill scripts against the laboratory's own endpoint.

use cwndlab_tcp::Profile;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Runs a script with the profile of that name: None, or (line, message, whether it asks for what is not supported).
#[pyfunction]
pub fn packetdrill(py: Python<'_>, script: &str, profile: &str) -> PyResult<Option<(usize, String, bool)>> {
    let profile = Profile::from_name(profile).ok_or_else(|| {
        let names: Vec<_> = Profile::ALL.into_iter().map(Profile::name).collect();
        PyValueError::new_err(format!("there is no profile {profile:?}; there are {}", names.join(", ")))
    })?;
    let outcome = py.detach(|| cwndlab_packetdrill::run(script, &profile.config()));
    Ok(outcome.err().map(|error| (error.line, error.message, error.unsupported)))
}
