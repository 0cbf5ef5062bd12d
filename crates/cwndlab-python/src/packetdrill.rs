//! Runs packetdrill scripts against the laboratory's own endpoint.

use cwndlab_packetdrill::Strictness;
use cwndlab_tcp::Profile;
use cwndlab_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The failure of a script: line, message, whether the script needs an unsupported feature, and the last events before
/// it.
type Failure = (usize, String, bool, Vec<String>);

/// Runs a packetdrill script against an endpoint with the given profile, whose timers tick `hz` times a second (by
/// default as in the profile, but 1000 for `linux-6`). If `tolerance_us` is given, it replaces the script's tolerance
/// of event times. If `ignore_windows` is True, advertised windows are not compared. Returns None if the script
/// succeeds.
#[pyfunction]
#[pyo3(signature = (script, profile, hz=None, tolerance_us=None, ignore_windows=false))]
pub fn packetdrill(
    py: Python<'_>,
    script: &str,
    profile: &str,
    hz: Option<u32>,
    tolerance_us: Option<u64>,
    ignore_windows: bool,
) -> PyResult<Option<Failure>> {
    let profile = Profile::from_name(profile).ok_or_else(|| {
        let names: Vec<_> = Profile::ALL.into_iter().map(Profile::name).collect();
        PyValueError::new_err(format!("there is no profile {profile:?}; there are {}", names.join(", ")))
    })?;
    let cfg = cwndlab_packetdrill::config(profile, hz);
    cfg.check().map_err(|errors| {
        let lines: Vec<_> = errors.iter().map(|error| format!("{}: {error}", error.knob())).collect();
        PyValueError::new_err(lines.join("\n"))
    })?;
    let strictness = Strictness { tolerance: tolerance_us.map(Time::from_micros), ignore_windows };
    let outcome = py.detach(|| cwndlab_packetdrill::run_with(script, &cfg, strictness));
    Ok(outcome.err().map(|error| (error.line, error.message, error.unsupported, error.before)))
}
