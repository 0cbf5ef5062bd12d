//! Record tables as Python objects. pyarrow builds the Arrow tables, of the columns' own memory.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use cwndlab_records::column::{word_buffers, Array, Batch, Bits, Column, Values};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyKeyError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMemoryView};

/// What of a column a [`Buffer`] shows.
#[derive(Clone, Copy)]
enum Part {
    Values,
    Valid,
}

/// Memory of a column, which it keeps alive. It has Python's buffer interface: numpy and pyarrow do not copy it.
#[pyclass(frozen, module = "cwndlab._core")]
pub struct Buffer {
    array: Arc<Array>,
    part: Part,
}

#[pymethods]
impl Buffer {
    // SAFETY: the memory is that of an immutable array, which lives as long as this object; Python keeps this object
    // for as long as it uses the view.
    #[expect(unsafe_code, reason = "Python hands over a pointer to fill in")]
    #[expect(clippy::needless_pass_by_value, reason = "the signature that PyO3 calls")]
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let Buffer { array, part } = slf.get();
        let (start, bytes) = match (part, &array.valid) {
            (Part::Valid, Some(valid)) => (valid.bytes().as_ptr(), valid.bytes().len()),
            _ => array.values.place(),
        };
        let start = start.cast_mut().cast::<c_void>(); // read only, as the next argument but one says
        let failed = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, bytes.cast_signed(), 1, flags) };
        if failed == 0 {
            Ok(())
        } else {
            Err(PyErr::fetch(slf.py()))
        }
    }
}

/// Converts a column of whole numbers or codes. If it has nulls, numpy's type is `i8` (64 bits) and each null becomes
/// -1.
fn whole<T: Copy + TryInto<i64>>(kind: &'static str, values: &[T], array: &Arc<Array>) -> (&'static str, Arc<Array>) {
    if array.valid.is_none() {
        return (kind, array.clone());
    }
    let number =
        |(row, value): (usize, &T)| array.is_valid(row).then(|| (*value).try_into().ok()).flatten().unwrap_or(-1);
    ("i8", full(Values::Int64(values.iter().enumerate().map(number).collect())))
}

/// A column for numpy: the type, the values, and the words if the values are codes.
type ForNumpy<'py> = (&'static str, Bound<'py, PyMemoryView>, Option<Vec<String>>);

fn full(values: Values) -> Arc<Array> {
    Arc::new(Array::full(values))
}

/// A record table. pyarrow, polars, pandas and DuckDB can read it without copying its columns.
#[pyclass(frozen, module = "cwndlab._core")]
pub struct Table {
    batch: Batch,
}

impl Table {
    pub fn new(batch: Batch) -> Table {
        Table { batch }
    }
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.columns().iter().map(|column| column.name.to_string()).collect()
    }

    /// A column for numpy: the type, the values, and the words if the values are codes. A null becomes -1 in whole
    /// numbers and codes, and NaN in floats. Returns None for a column of lists, and for a column of booleans with
    /// nulls.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<ForNumpy<'py>>> {
        let column = self.batch.column(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        let array = &column.array;
        let mut named = None;
        let (kind, array) = match &array.values {
            Values::UInt64(values) => whole("u8", values, array),
            Values::UInt32(values) => whole("u4", values, array),
            Values::UInt16(values) => whole("u2", values, array),
            Values::UInt8(values) => whole("u1", values, array),
            Values::Int64(values) => whole("i8", values, array),
            Values::Float64(_) if array.valid.is_none() => ("f8", array.clone()),
            Values::Float64(values) => {
                let number = |(row, value): (usize, &f64)| if array.is_valid(row) { *value } else { f64::NAN };
                ("f8", full(Values::Float64(values.iter().enumerate().map(number).collect())))
            }
            Values::Boolean(bits) if array.valid.is_none() => {
                let bytes = (0..array.values.len()).map(|row| u8::from(bits.get(row)));
                ("?", full(Values::UInt8(bytes.collect())))
            }
            Values::Words { codes, words } => {
                named = Some(words.clone());
                whole("u1", codes, array)
            }
            Values::Boolean(_) | Values::Lists { .. } => return Ok(None),
        };
        let values = Bound::new(py, Buffer { array, part: Part::Values })?;
        Ok(Some((kind, PyMemoryView::from(values.as_any())?, named)))
    }

    fn __len__(&self) -> usize {
        self.batch.rows()
    }

    fn __repr__(&self) -> String {
        format!("<cwndlab table of {} rows: {}>", self.batch.rows(), self.column_names().join(", "))
    }

    /// Implements the Arrow PyCapsule interface. It ignores the requested schema, which the interface permits.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = requested_schema;
        let arrow = Arrow(py.import("pyarrow")?);
        let arrays: Vec<_> =
            self.batch.columns().iter().map(|column| arrow.array(&column.array)).collect::<PyResult<_>>()?;
        let fields = self.batch.columns().iter().zip(&arrays);
        let fields: Vec<_> = fields
            .map(|(column, array)| arrow.field(&column.name, array, column.is_nullable))
            .collect::<PyResult<_>>()?;
        let schema = arrow.0.call_method1("schema", (fields,))?;
        let table = arrow.0.getattr("Table")?.call_method1("from_arrays", (arrays, py.None(), schema))?;
        table.call_method0("__arrow_c_stream__")
    }
}

/// The module pyarrow.
struct Arrow<'py>(Bound<'py, PyModule>);

impl<'py> Arrow<'py> {
    /// A column of pyarrow, of the same memory.
    fn array(&self, array: &Arc<Array>) -> PyResult<Bound<'py, PyAny>> {
        let py = self.0.py();
        let kind = |name| self.0.call_method0(name);
        let (kind, children) = match &array.values {
            Values::UInt8(_) | Values::Words { .. } => (kind("uint8")?, vec![]),
            Values::UInt16(_) => (kind("uint16")?, vec![]),
            Values::UInt32(_) => (kind("uint32")?, vec![]),
            Values::UInt64(_) => (kind("uint64")?, vec![]),
            Values::Int64(_) => (kind("int64")?, vec![]),
            Values::Float64(_) => (kind("float64")?, vec![]),
            Values::Boolean(_) => (kind("bool_")?, vec![]),
            Values::Lists { values, .. } => {
                let item = self.array(values)?;
                (self.0.call_method1("list_", (self.field("item", &item, false)?,))?, vec![item])
            }
        };
        let buffer = |part| self.0.call_method1("py_buffer", (Buffer { array: array.clone(), part },));
        let valid = array.valid.is_some().then(|| buffer(Part::Valid)).transpose()?;
        let options = PyDict::new(py);
        if !children.is_empty() {
            options.set_item("children", children)?;
        }
        let rows = (kind, array.values.len(), [valid, Some(buffer(Part::Values)?)]);
        let made = self.0.getattr("Array")?.call_method("from_buffers", rows, Some(&options))?;
        let Values::Words { words, .. } = &array.values else { return Ok(made) };
        // `pyarrow.array` would import pandas.
        let [ends, text] = word_buffers(words);
        let bytes = |bytes: &[u8]| self.0.call_method1("py_buffer", (PyBytes::new(py, bytes),));
        let buffers = [None, Some(bytes(&ends)?), Some(bytes(&text)?)];
        let text = (self.0.call_method0("string")?, words.len(), buffers);
        let words = self.0.getattr("Array")?.call_method1("from_buffers", text)?;
        self.0.getattr("DictionaryArray")?.call_method1("from_arrays", (made, words))
    }

    fn field(&self, name: &str, array: &Bound<'py, PyAny>, is_nullable: bool) -> PyResult<Bound<'py, PyAny>> {
        self.0.call_method1("field", (name, array.getattr("type")?, is_nullable))
    }
}

/// Reads the batches of a table from any library with the Arrow PyCapsule interface. Columns whose types no record table
/// has are left out.
pub fn batches(table: &Bound<'_, PyAny>) -> PyResult<Vec<Batch>> {
    if let Ok(own) = table.cast::<Table>() {
        return Ok(vec![own.get().batch.clone()]);
    }
    let reader = table.py().import("pyarrow")?.getattr("RecordBatchReader")?.call_method1("from_stream", (table,))?;
    reader.try_iter()?.map(|batch| read_batch(&batch?)).collect()
}

fn read_batch(batch: &Bound<'_, PyAny>) -> PyResult<Batch> {
    let names: Vec<String> = batch.getattr("schema")?.getattr("names")?.extract()?;
    let mut columns = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        if let Some(array) = read_array(&batch.call_method1("column", (index,))?)? {
            columns.push(Column { name: name.into(), is_nullable: array.valid.is_some(), array: array.into() });
        }
    }
    Ok(Batch::new(columns))
}

/// Copies a column of pyarrow; `None` if its type is not among [`Values`].
fn read_array(array: &Bound<'_, PyAny>) -> PyResult<Option<Array>> {
    let py = array.py();
    let kind = array.getattr("type")?.str()?.to_string();
    if kind.starts_with("dictionary<values=string, indices=uint8") {
        let Some(Array { values: Values::UInt8(codes), valid }) = read_array(&array.getattr("indices")?)? else {
            return Ok(None);
        };
        let words = array.getattr("dictionary")?.call_method0("to_pylist")?.extract()?;
        return Ok(Some(Array { values: Values::Words { codes, words }, valid }));
    }
    if kind.starts_with("list<") {
        let ends = array.getattr("offsets")?.call_method0("to_pylist")?.extract()?;
        let values = read_array(&array.getattr("values")?)?;
        return Ok(values.map(|values| Array::full(Values::Lists { ends, values: values.into() })));
    }
    let rows: usize = array.len()?;
    let offset: usize = array.getattr("offset")?.extract()?;
    let buffers: Vec<Option<Bound<'_, PyAny>>> = array.call_method0("buffers")?.extract()?;
    let bytes = |index: usize| -> PyResult<Option<Vec<u8>>> {
        let Some(Some(buffer)) = buffers.get(index) else { return Ok(None) };
        let signed = PyBuffer::<i8>::get(buffer)?.to_vec(py)?; // pyarrow's buffers have signed bytes
        Ok(Some(signed.into_iter().map(i8::cast_unsigned).collect()))
    };
    let bits = |bytes: Vec<u8>| -> Bits {
        (offset..offset + rows).map(|row| bytes.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)).collect()
    };
    let valid =
        if array.getattr(intern!(py, "null_count"))?.extract::<usize>()? > 0 { bytes(0)?.map(bits) } else { None };
    let data = bytes(1)?.unwrap_or_default();
    let values = match kind.as_str() {
        "uint8" => Values::UInt8(numbers(&data, offset, rows, u8::from_ne_bytes)),
        "uint16" => Values::UInt16(numbers(&data, offset, rows, u16::from_ne_bytes)),
        "uint32" => Values::UInt32(numbers(&data, offset, rows, u32::from_ne_bytes)),
        "uint64" => Values::UInt64(numbers(&data, offset, rows, u64::from_ne_bytes)),
        "int64" => Values::Int64(numbers(&data, offset, rows, i64::from_ne_bytes)),
        "double" => Values::Float64(numbers(&data, offset, rows, f64::from_ne_bytes)),
        "bool" => Values::Boolean(bits(data)),
        _ => return Ok(None),
    };
    Ok(Some(Array { values, valid }))
}

fn numbers<T, const N: usize>(bytes: &[u8], offset: usize, rows: usize, number: impl Fn([u8; N]) -> T) -> Vec<T> {
    let cells = bytes.chunks_exact(N).skip(offset).take(rows);
    cells.map(|cell| number(cell.try_into().expect("chunks have N bytes"))).collect()
}
