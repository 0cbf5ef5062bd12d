//! What a run leaves behind, as seen from Python.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use cwndlab_engine::Summary;
use cwndlab_records::TraceFormat;
use pyo3::exceptions::{PyKeyError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::table::Table;

/// Every record table without rows, by its name: the schemas for records that are made elsewhere.
#[pyfunction]
pub fn empty_tables() -> BTreeMap<&'static str, Table> {
    cwndlab_records::Records::names().zip(cwndlab_records::tables::empty().map(Table::new)).collect()
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

    /// Packets that crossed a link: what the engine's speed is measured in.
    #[getter]
    fn packets(&self) -> u64 {
        self.summary.hops
    }

    /// Totals by name; every packet injected is delivered, dropped or in flight.
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

    /// Writes the segments as seen at the observed node: "pcapng", "ns", or "xplot" of one connection's direction.
    #[pyo3(signature = (path, format, connection = 0, from_client = true))]
    fn write_trace(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: &str,
        connection: u32,
        from_client: bool,
    ) -> PyResult<()> {
        let format = match format {
            "pcapng" => TraceFormat::Pcapng,
            "ns" => TraceFormat::Ns,
            "xplot" => TraceFormat::Xplot { connection, from_client },
            other => {
                let message = format!("there is no trace format {other:?}; there are pcapng, ns, xplot");
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
