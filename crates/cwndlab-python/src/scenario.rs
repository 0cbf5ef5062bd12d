//! Scenarios: checked once, run any number of times.

use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use cwndlab_engine::{Budget, RunError, Simulation, Streams};
use cwndlab_records::Recorder;
use cwndlab_units::Time;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::applications::Application;
use crate::law_errors::Interrupt;
use crate::laws::{self, LawFailed, OwnLaw, OwnLaws};
use crate::records::Records;
use crate::refusal::{parse, refused};

pyo3::create_exception!(_core, BudgetError, PyRuntimeError, "A run that needed more than its budget.");
pyo3::create_exception!(_core, RunStopped, PyException, "A run that was asked to stop.");

/// The number of budget checks per call into Python. Each call takes the GIL, so Python is called only about ten times
/// a second.
const LOOKS_PER_QUESTION: u32 = 8;

/// Checks a scenario. If it cannot be run, raises ValueError, which states the place and what would be right.
#[pyfunction]
pub fn check_scenario(json: &str) -> PyResult<()> {
    parse(json).map(drop)
}

/// The scenario with every default filled in.
#[pyfunction]
pub fn complete_scenario(json: &str) -> PyResult<String> {
    parse(json)?.to_json().map_err(|error| refused(&error))
}

/// The default budget of a run: number of events, and bytes of memory.
#[pyfunction]
pub fn default_budget() -> (u64, u64) {
    let Budget { events, memory_bytes } = Budget::default();
    (events, memory_bytes)
}

/// Runs one replicate of a scenario. For several replicates, create a [`Scenario`] once and call its `run`.
#[pyfunction]
#[pyo3(signature = (scenario_json, seed, replicate, *, max_events=None, max_memory_bytes=None, max_seconds=None, stopped=None, laws=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub fn run(
    py: Python<'_>,
    scenario_json: &str,
    seed: u64,
    replicate: u64,
    max_events: Option<u64>,
    max_memory_bytes: Option<u64>,
    max_seconds: Option<f64>,
    stopped: Option<Py<PyAny>>,
    laws: Option<BTreeMap<String, OwnLaw>>,
) -> PyResult<Records> {
    Scenario::new(scenario_json)?.run(py, seed, replicate, max_events, max_memory_bytes, max_seconds, stopped, laws)
}

/// A scenario that was parsed and checked.
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

    /// Runs one replicate. The run releases the GIL unless the scenario has congestion controls in Python.
    #[pyo3(signature = (seed, replicate, *, max_events=None, max_memory_bytes=None, max_seconds=None, stopped=None, laws=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn run(
        &self,
        py: Python<'_>,
        seed: u64,
        replicate: u64,
        max_events: Option<u64>,
        max_memory_bytes: Option<u64>,
        max_seconds: Option<f64>,
        stopped: Option<Py<PyAny>>,
        laws: Option<BTreeMap<String, OwnLaw>>,
    ) -> PyResult<Records> {
        let default = Budget::default();
        let budget = Budget {
            events: max_events.unwrap_or(default.events),
            memory_bytes: max_memory_bytes.unwrap_or(default.memory_bytes),
        };
        let mut watch = Watch::new(py, max_seconds, stopped, self.scenario.duration_ns)?;
        let interrupt = Interrupt::default();
        let laws = OwnLaws { laws: laws::by_id(laws.unwrap_or_default())?, interrupt: Interrupt::clone(&interrupt) };
        let in_python = !laws.are_native();
        let go = || {
            let go_on = &mut |now| watch.go_on(now);
            catch_unwind(AssertUnwindSafe(|| simulate(&self.scenario, seed, replicate, budget, laws, go_on)))
        };
        let outcome = if in_python { go() } else { py.detach(go) };
        if let Some(raised) = interrupt.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(raised);
        }
        match outcome {
            Ok(Ok(records)) => Ok(records),
            Ok(Err(Failure::Refused(why))) => Err(PyValueError::new_err(why)),
            Ok(Err(Failure::Ended(error))) => Err(watch.exception(py, &error)),
            Err(panic) => Err(self.broken(py, seed, replicate, panic.as_ref())),
        }
    }

    /// The application of a traffic entry, to be driven from Python.
    fn application(&self, traffic: usize, segment_bytes: u32, seed: u64, replicate: u64) -> PyResult<Application> {
        let app =
            cwndlab_engine::build_application(&self.scenario, traffic, segment_bytes, Streams::new(seed, replicate));
        app.map(Application::new).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

enum Failure {
    Refused(String),
    Ended(RunError),
}

fn simulate(
    scenario: &cwndlab_engine::Scenario,
    seed: u64,
    replicate: u64,
    budget: Budget,
    laws: OwnLaws,
    go_on: &mut dyn FnMut(Time) -> bool,
) -> Result<Records, Failure> {
    let simulation = Simulation::new(scenario, seed, replicate, Recorder::new(scenario));
    let simulation = simulation.map_err(|error| Failure::Refused(error.to_string()))?.with_budget(budget);
    let simulation = simulation.with_stacks(Box::new(cwndlab_quic::QuicStacks::new()));
    let simulation = if laws.laws.is_empty() { simulation } else { simulation.with_laws(scenario, Box::new(laws)) };
    let (summary, recorder) = simulation.run_while(go_on).map_err(Failure::Ended)?;
    Ok(Records::new(recorder.finish(), summary))
}

/// Decides whether a run has to stop: because of a signal (Ctrl-C), because the caller requests it, or because the
/// limit of wall-clock time is reached.
struct Watch {
    stopped: Option<Py<PyAny>>,
    /// Simulated time at the end of the run.
    duration: Time,
    deadline: Option<Instant>,
    /// Python handles signals only on its main thread.
    is_main: bool,
    looks: u32,
    raised: Option<PyErr>,
    out_of_time: bool,
}

impl Watch {
    #[expect(clippy::disallowed_methods, reason = "bounds how long a run takes, never what it does")]
    fn new(py: Python<'_>, max_seconds: Option<f64>, stopped: Option<Py<PyAny>>, duration: Time) -> PyResult<Watch> {
        let threading = py.import("threading")?;
        let here = threading.call_method0("get_ident")?;
        let is_main = threading.call_method0("main_thread")?.getattr("ident")?.eq(here)?;
        let span = max_seconds.map(Duration::try_from_secs_f64).transpose();
        let span = span.map_err(|error| PyValueError::new_err(format!("max_seconds: {error}")))?;
        Ok(Watch {
            stopped,
            duration,
            deadline: span.and_then(|span| Instant::now().checked_add(span)),
            is_main,
            looks: 0,
            raised: None,
            out_of_time: false,
        })
    }

    #[expect(clippy::disallowed_methods, reason = "bounds how long a run takes, never what it does")]
    fn go_on(&mut self, now: Time) -> bool {
        self.out_of_time = self.deadline.is_some_and(|deadline| Instant::now() > deadline);
        self.looks += 1;
        let asks = self.is_main || self.stopped.is_some();
        if asks && self.looks.is_multiple_of(LOOKS_PER_QUESTION) {
            match Python::attach(|py| self.is_stopped(py, now)) {
                Ok(false) => {}
                Ok(true) => return false,
                Err(error) => self.raised = Some(error),
            }
        }
        !self.out_of_time && self.raised.is_none()
    }

    fn is_stopped(&self, py: Python<'_>, now: Time) -> PyResult<bool> {
        py.check_signals()?;
        let share = now.as_secs_f64() / self.duration.max(Time::from_nanos(1)).as_secs_f64();
        self.stopped.as_ref().map_or(Ok(false), |stopped| stopped.call1(py, (share,))?.is_truthy(py))
    }

    /// The exception for a run that ended early. The attribute `simulated_ns` of a `BudgetError` is the simulated time
    /// at which the run stopped.
    fn exception(&mut self, py: Python<'_>, error: &RunError) -> PyErr {
        if let Some(raised) = self.raised.take() {
            return raised;
        }
        if matches!(error, RunError::Stopped { .. }) && !self.out_of_time {
            return RunStopped::new_err(error.to_string());
        }
        if matches!(error, RunError::Law { .. }) {
            return LawFailed::new_err(error.to_string());
        }
        let made = BudgetError::new_err(error.to_string());
        match made.value(py).setattr("simulated_ns", error.at().as_nanos()) {
            Ok(()) => made,
            Err(other) => other,
        }
    }
}

impl Scenario {
    /// The exception for a broken invariant of the engine. The message contains what is needed to reproduce the
    /// failure.
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
