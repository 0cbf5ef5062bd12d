//! Exceptions of congestion controls in Python.

use std::sync::{Arc, Mutex, PoisonError};

use cwndlab_tcp::LawError;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyTraceback;

/// An exception that ends a run but is not an error of the congestion control, such as that of Ctrl-C or `sys.exit`.
pub type Interrupt = Arc<Mutex<Option<PyErr>>>;

/// The message for an exception in a user's code, with the file and line where it was raised.
pub fn failed(py: Python<'_>, error: PyErr, class: &str, method: &str, interrupt: &Interrupt) -> LawError {
    let place = error.traceback(py).and_then(|traceback| place(&traceback).ok());
    let place = place.map_or(String::new(), |(file, line)| format!("{file}:{line}: "));
    let kind = error.get_type(py).name().map_or_else(|_| "exception".to_owned(), |name| name.to_string());
    // `str` of the exception may run the user's Python code, which may fail.
    let said = error.value(py).str().and_then(|text| text.extract::<String>());
    let text = format!("{place}{class}.{method}: {kind}: {}", said.as_deref().unwrap_or("its text cannot be shown"));
    if !error.is_instance_of::<PyException>(py) {
        interrupt.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
    LawError(text)
}

/// File and line in the user's code: the innermost frame in the file of the outermost frame, so that frames of
/// libraries are skipped.
fn place(traceback: &Bound<'_, PyTraceback>) -> PyResult<(String, u32)> {
    let at = |frame: &Bound<'_, PyAny>| -> PyResult<(String, u32)> {
        let file = frame.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?.extract()?;
        Ok((file, frame.getattr("tb_lineno")?.extract()?))
    };
    let mut frame = traceback.clone().into_any();
    let mut found = at(&frame)?;
    loop {
        frame = frame.getattr("tb_next")?;
        if frame.is_none() {
            return Ok(found);
        }
        let (file, line) = at(&frame)?;
        if file == found.0 {
            found.1 = line;
        }
    }
}
