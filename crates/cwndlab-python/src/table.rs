//! Record tables as objects that speak the Arrow C stream interface.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A record table. pyarrow, polars, pandas and DuckDB take it without copying its columns.
#[pyclass(frozen, module = "cwndlab._core")]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    pub fn new(batch: RecordBatch) -> Table {
        Table { batch }
    }
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<cwndlab table of {} rows: {}>", self.batch.num_rows(), self.column_names().join(", "))
    }

    /// The Arrow PyCapsule interface, which permits ignoring the requested schema.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
