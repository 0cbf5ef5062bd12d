//! The records of a run, as seen from Python.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::PathBuf;

use cwndlab_engine::Summary;
use cwndlab_records::kernel::{self, Choices, KernelError, Observed, Testbed};
use cwndlab_records::time_budget::{self, Kind, Tables};
use cwndlab_records::{Label as _, TraceFormat};
use cwndlab_units::Time;
use pyo3::exceptions::{PyKeyError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::refusal::parse;
use crate::table::{batches, Table};

/// Reads a run on a kernel from the testbed's result and the router's trace, and from the file of queue samples next to
/// the trace if it exists. Returns the record tables, and the time on the router's clock that is time 0 in the tables.
#[pyfunction]
#[pyo3(signature = (scenario_json, testbed_json, trace, *, snapshots_ns, observed_port, everywhere, from_first_data, answer_ns))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub fn read_kernel_run(
    py: Python<'_>,
    scenario_json: &str,
    testbed_json: &str,
    trace: PathBuf,
    snapshots_ns: Vec<u64>,
    observed_port: Option<u32>,
    everywhere: bool,
    from_first_data: bool,
    answer_ns: u64,
) -> PyResult<(BTreeMap<&'static str, Table>, i64)> {
    let scenario = parse(scenario_json)?;
    let testbed: Testbed = serde_json::from_str(testbed_json)
        .map_err(|error| PyValueError::new_err(format!("the testbed's result: {error}")))?;
    let choices = Choices {
        snapshots: snapshots_ns.into_iter().map(Time::from_nanos).collect(),
        observed: if everywhere {
            Observed::Everywhere
        } else {
            observed_port.map_or(Observed::Nothing, Observed::Port)
        },
        from_first_data,
        answer: Time::from_nanos(answer_ns),
    };
    let read = || {
        let mut samples = trace.clone().into_os_string();
        samples.push(".queues.csv");
        let samples = match File::open(samples) {
            Ok(file) => Some(BufReader::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        kernel::read(&scenario, &testbed, &choices, BufReader::new(File::open(&trace)?), samples)
    };
    let (records, zero) = py.detach(read).map_err(|error| match error {
        KernelError::Io(error) => PyOSError::new_err((error.raw_os_error(), error.to_string(), trace)),
        error => PyValueError::new_err(error.to_string()),
    })?;
    let table = |name| records.table(name).map(|batch| (name, Table::new(batch.clone())));
    Ok((cwndlab_records::Records::names().filter_map(table).collect(), zero))
}

/// The tables of one run, and its totals.
#[pyclass(frozen, module = "cwndlab._core")]
pub struct Records {
    records: cwndlab_records::Records,
    summary: Summary,
}

impl Records {
    pub fn new(records: cwndlab_records::Records, summary: Summary) -> Records {
        Records { records, summary }
    }
}

#[pymethods]
impl Records {
    /// Names of the tables.
    #[getter]
    #[expect(clippy::unused_self, reason = "a property in Python")]
    fn names(&self) -> Vec<&'static str> {
        cwndlab_records::Records::names().collect()
    }

    /// Number of packets that crossed a link, summed over the links. The engine's speed is measured in these packets
    /// per second.
    #[getter]
    fn packets(&self) -> u64 {
        self.summary.hops
    }

    /// SHA-256 over all tables, in hexadecimal. Equal records have the same digest on every platform.
    #[getter]
    fn digest(&self, py: Python<'_>) -> String {
        py.detach(|| self.records.digest())
    }

    /// The records with these tables empty ("cwnd", "limits", "states", "timeouts", "delays"), as if the probes that
    /// fill them had been off. All other tables are unchanged.
    #[expect(clippy::needless_pass_by_value, reason = "the argument of a call from Python")]
    fn without(&self, names: Vec<String>) -> Records {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Records::new(self.records.without(&names), self.summary)
    }

    /// Totals by name. `injected` is the sum of `delivered`, `dropped` and `in_flight`.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let totals = PyDict::new(py);
        totals.set_item("injected", self.summary.injected)?;
        totals.set_item("delivered", self.summary.delivered)?;
        totals.set_item("dropped", self.summary.dropped)?;
        totals.set_item("in_flight", self.summary.in_flight)?;
        totals.set_item("hops", self.summary.hops)?;
        totals.set_item("events", self.summary.events)?;
        totals.set_item("connections", self.summary.connections)?;
        Ok(totals)
    }

    /// A table by its name.
    fn table(&self, name: &str) -> PyResult<Table> {
        let batch = self.records.table(name).ok_or_else(|| {
            let names: Vec<_> = cwndlab_records::Records::names().collect();
            PyKeyError::new_err(format!("there is no table {name:?}; there are {}", names.join(", ")))
        })?;
        Ok(Table::new(batch.clone()))
    }

    fn __getitem__(&self, name: &str) -> PyResult<Table> {
        self.table(name)
    }

    /// Writes a trace of the segments at the observed node. `format` is "pcapng" or "ns".
    fn write_trace(&self, py: Python<'_>, path: PathBuf, format: &str) -> PyResult<()> {
        let format = match format {
            "pcapng" => TraceFormat::Pcapng,
            "ns" => TraceFormat::Ns,
            other => {
                let message = format!("there is no trace format {other:?}; there are pcapng, ns");
                return Err(PyValueError::new_err(message));
            }
        };
        let write = || {
            let mut out = BufWriter::new(File::create(&path)?);
            self.records.write_trace(format, &mut out)?;
            out.flush()
        };
        py.detach(write).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => PyValueError::new_err(error.to_string()),
            _ => PyOSError::new_err((error.raw_os_error(), error.to_string(), path)),
        })
    }
}

/// The names of all record tables.
#[pyfunction]
pub fn record_tables() -> Vec<&'static str> {
    cwndlab_records::TABLES.iter().map(|table| table.name).collect()
}

/// The time budgets of a run's finished objects and of its connections. If `kind` is given, only the budgets of this
/// kind.
#[pyfunction]
#[pyo3(signature = (scenario_json, tables, until_ns, kind = None))]
pub fn time_budgets(
    py: Python<'_>,
    scenario_json: &str,
    tables: BTreeMap<String, Bound<'_, PyAny>>,
    until_ns: u64,
    kind: Option<&str>,
) -> PyResult<Table> {
    let kind = kind.map(|name| {
        let kinds = Kind::WORDS.join(", ");
        Kind::named(name).ok_or_else(|| PyValueError::new_err(format!("there is no kind {name:?}; there are {kinds}")))
    });
    let kind = kind.transpose()?;
    let tables: Tables =
        tables.into_iter().map(|(name, table)| Ok((name, batches(&table)?))).collect::<PyResult<_>>()?;
    let budgets = || {
        let scenario = cwndlab_engine::Scenario::from_json(scenario_json).map_err(|error| error.to_string())?;
        let until = Time::from_nanos(until_ns);
        time_budget::time_budgets(&scenario, &tables, kind, until).map_err(|error| error.to_string())
    };
    py.detach(budgets).map(Table::new).map_err(PyValueError::new_err)
}
