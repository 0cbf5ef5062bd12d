//! Scenarios: checked once, run as often as wanted.

use std::panic::{catch_unwind, AssertUnwindSafe};

use cwndlab_engine::Simulation;
use cwndlab_records::Recorder;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::records::Records;

fn parse(json: &str) -> PyResult<cwndlab_engine::Scenario> {
    cwndlab_engine::Scenario::from_json(json).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Refuses a scenario that can't be run: ValueError with the place and what would be right.
#[pyfunction]
pub fn check_scenario(json: &str) -> PyResult<()> {
    parse(json).map(drop)
}

/// The scenario with every default filled in.
#[pyfunction]
pub fn complete_scenario(json: &str) -> PyResult<String> {
    parse(json)?.to_json().map_err(|error| PyValueError::new_err(error.to_string()))
}

/// One run of a scenario; for several, make a [`Scenario`] once.
#[pyfunction]
pub fn run(py: Python<'_>, scenario_json: &str, seed: u64, replicate: u64) -> PyResult<Records> {
    Scenario::new(scenario_json)?.run(py, seed, replicate)
}

/// A scenario that was read and checked.
#[pyclass(frozen, module = "cwndlab._core")]
pub struct Scenario {
    scenario: cwndlab_engine::Scenario,
    json: String,
}

#[pymethods]
impl Scenario {
    #[new]
    fn new(json: &str) -> PyResult<Scenario> {
        Ok(Scenario { scenario: parse(json)?, json: json.to_owned() })
    }

    /// Runs one replicate, without holding the GIL.
    fn run(&self, py: Python<'_>, seed: u64, replicate: u64) -> PyResult<Records> {
        let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(|| simulate(&self.scenario, seed, replicate))));
        match outcome {
            Ok(Ok(records)) => Ok(records),
            Ok(Err(why)) => Err(PyValueError::new_err(why)),
            Err(panic) => Err(self.broken(py, seed, replicate, panic.as_ref())),
        }
    }
}

fn simulate(scenario: &cwndlab_engine::Scenario, seed: u64, replicate: u64) -> Result<Records, String> {
    let simulation = Simulation::new(scenario, seed, replicate, Recorder::new(scenario));
    let (summary, recorder) = simulation.map_err(|error| error.to_string())?.run();
    Ok(Records::new(recorder.finish(), summary))
}

impl Scenario {
    /// A broken invariant of the engine: the message carries what is needed to see it again.
    fn broken(&self, py: Python<'_>, seed: u64, replicate: u64, panic: &(dyn std::any::Any + Send)) -> PyErr {
        let why = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        let why = why.unwrap_or("no message");
        let digest = py
            .import("hashlib")
            .and_then(|hashlib| hashlib.call_method1("sha256", (self.json.as_bytes(),)))
            .and_then(|hash| hash.call_method0("hexdigest")?.extract::<String>());
        match digest {
            Ok(sha256) => PyRuntimeError::new_err(format!(
                "the engine broke on the scenario with sha256 {sha256}, seed {seed}, replicate {replicate}: {why}"
            )),
            Err(error) => error,
        }
    }
}
