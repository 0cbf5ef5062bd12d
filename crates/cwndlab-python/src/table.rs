//! Record tables as objects that speak the Arrow C stream interface.

use std::ffi::CStr;

use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The name that the Arrow PyCapsule interface gives to streams.
const STREAM: &CStr = c"arrow_array_stream";

/// The batches of a table of any library that speaks the interface; their columns are not copied.
pub fn batches(table: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    let capsule = table.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: by the interface, a capsule of this name holds a valid ArrowArrayStream. The reader moves it out and
    // leaves a released one behind, as the interface demands of a consumer; the capsule outlives this call.
    #[expect(unsafe_code, reason = "the interface hands over a pointer")]
    let reader = unsafe { ArrowArrayStreamReader::from_raw(stream.as_ptr()) };
    let batches = reader.and_then(Iterator::collect::<Result<Vec<_>, _>>);
    batches.map_err(|error| PyValueError::new_err(error.to_string()))
}

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
        PyCapsule::new_with_value(py, stream, STREAM)
    }
}
