//! Record tables as objects with the Arrow C stream interface.

use std::ffi::CStr;

use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt16Type, UInt32Type, UInt64Type, UInt8Type};
use arrow_array::{Array as _, Float64Array, Int64Array, PrimitiveArray, RecordBatch, RecordBatchIterator, UInt8Array};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

/// The name that the Arrow PyCapsule interface gives to streams.
const STREAM: &CStr = c"arrow_array_stream";

/// Reads the batches of a table from any library with the Arrow PyCapsule interface. Their columns are not copied.
pub fn batches(table: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    let capsule = table.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: by the interface, a capsule of this name holds a valid ArrowArrayStream. The reader moves the stream out
    // and leaves a released one in the capsule, as the interface requires of a consumer. The capsule outlives this
    // call.
    #[expect(unsafe_code, reason = "the interface hands over a pointer")]
    let reader = unsafe { ArrowArrayStreamReader::from_raw(stream.as_ptr()) };
    let batches = reader.and_then(Iterator::collect::<Result<Vec<_>, _>>);
    batches.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A column for numpy: the type, the values, and the words if the values are codes.
type Values<'py> = (&'static str, Bound<'py, PyBytes>, Option<Vec<String>>);

/// Converts a column of whole numbers. If it has nulls, numpy's type is `i8` (64 bits) and each null becomes -1.
fn whole<'py, T>(py: Python<'py>, kind: &'static str, column: &PrimitiveArray<T>) -> Values<'py>
where
    T: ArrowPrimitiveType,
    T::Native: TryInto<i64>,
{
    if column.null_count() == 0 {
        return (kind, PyBytes::new(py, column.values().inner()), None);
    }
    let number = |value: Option<T::Native>| value.and_then(|value| value.try_into().ok()).unwrap_or(-1);
    let filled = Int64Array::from_iter_values(column.iter().map(number));
    ("i8", PyBytes::new(py, filled.values().inner()), None)
}

/// A record table. pyarrow, polars, pandas and DuckDB can read it without copying its columns.
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

    /// A copy of a column for numpy: the type, the values, and the words if the values are codes. A null becomes -1 in
    /// whole numbers and codes, and NaN in floats. Returns None for a column of lists, and for a column of booleans
    /// with nulls.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Values<'py>>> {
        let column = self.batch.column_by_name(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        if let Some(column) = column.as_primitive_opt::<UInt64Type>() {
            return Ok(Some(whole(py, "u8", column)));
        }
        if let Some(column) = column.as_primitive_opt::<UInt32Type>() {
            return Ok(Some(whole(py, "u4", column)));
        }
        if let Some(column) = column.as_primitive_opt::<UInt16Type>() {
            return Ok(Some(whole(py, "u2", column)));
        }
        if let Some(column) = column.as_primitive_opt::<UInt8Type>() {
            return Ok(Some(whole(py, "u1", column)));
        }
        if let Some(column) = column.as_primitive_opt::<Int64Type>() {
            return Ok(Some(whole(py, "i8", column)));
        }
        if let Some(column) = column.as_primitive_opt::<Float64Type>() {
            let filled = Float64Array::from_iter_values(column.iter().map(|value| value.unwrap_or(f64::NAN)));
            return Ok(Some(("f8", PyBytes::new(py, filled.values().inner()), None)));
        }
        if let Some(column) = column.as_boolean_opt().filter(|column| column.null_count() == 0) {
            let bytes = UInt8Array::from_iter_values(column.values().iter().map(u8::from));
            return Ok(Some(("?", PyBytes::new(py, bytes.values().inner()), None)));
        }
        if let Some(column) = column.as_dictionary_opt::<UInt8Type>() {
            let words = column.values().as_string::<i32>().iter().flatten().map(str::to_owned).collect();
            let (kind, codes, _) = whole(py, "u1", column.keys());
            return Ok(Some((kind, codes, Some(words))));
        }
        Ok(None)
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<cwndlab table of {} rows: {}>", self.batch.num_rows(), self.column_names().join(", "))
    }

    /// Implements the Arrow PyCapsule interface. It ignores the requested schema, which the interface permits.
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
