//! packetdrill scripts against the laboratory's own endpoint.

use cwndlab_tcp::Profile;
use cwndlab_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Runs a script with the profile of that name, on a kernel's clock of `hz` and within `tolerance_us` if given: None, or
/// (line, message, whether it asks for what is not supported).
#[pyfunction]
#[pyo3(signature = (script, profile, hz=None, tolerance_us=None))]
pub fn packetdrill(
    py: Python<'_>,
    script: &str,
    profile: &str,
    hz: Option<u32>,
    tolerance_us: Option<u64>,
) -> PyResult<Option<(usize, String, bool)>> {
    let profile = Profile::from_name(profile).ok_or_else(|| {
        let names: Vec<_> = Profile::ALL.into_iter().map(Profile::name).collect();
        PyValueError::new_err(format!("there is no profile {profile:?}; there are {}", names.join(", ")))
    })?;
    let cfg = cwndlab_packetdrill::config(profile, hz);
    cfg.check().map_err(PyValueError::new_err)?;
    let tolerance = tolerance_us.map(Time::from_micros);
    let outcome = py.detach(|| cwndlab_packetdrill::run_within(script, &cfg, tolerance));
    Ok(outcome.err().map(|error| (error.line, error.message, error.unsupported)))
}
