//! Scenarios that cannot be run.

use cwndlab_engine::ScenarioError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(
    _core,
    ScenarioRefused,
    PyValueError,
    "A scenario that cannot be run. `refusals` has the path, the problem, and an unknown name of each reason."
);

/// A scenario that has passed its check.
pub fn parse(json: &str) -> PyResult<cwndlab_engine::Scenario> {
    let parsed = cwndlab_engine::Scenario::from_json(json);
    let checked = parsed.and_then(|scenario| scenario.check_stacks(cwndlab_quic::check).map(|()| scenario));
    checked.map_err(|error| refused(&error))
}

/// The exception for a scenario that cannot be run. A refusal is the path, the problem and, if the problem is a name
/// that is not known: whether it is a key, the name, and the names that are known.
pub fn refused(error: &ScenarioError) -> PyErr {
    let made = ScenarioRefused::new_err(error.to_string());
    let refusals = error.refusals().into_iter();
    let plain =
        refusals.map(|one| (one.path, one.problem, one.unknown.map(|name| (name.is_key, name.name, name.known))));
    match Python::attach(|py| made.value(py).setattr("refusals", plain.collect::<Vec<_>>())) {
        Ok(()) => made,
        Err(other) => other,
    }
}
