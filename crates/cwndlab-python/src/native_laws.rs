//! Congestion controls in Rust, in libraries that were built of crates of the user's own (`cwndlab_law::library!`).

use std::ffi::{c_char, CStr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

use cwndlab_law::{Around, Make, Wrapped, DIGEST_FUNCTION, ENGINE_DIGEST, MAKE_FUNCTION};
use cwndlab_tcp::{CongestionControl, LawError};
use libloading::Library;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A congestion control in Rust, in a library.
#[pyclass(frozen, module = "cwndlab._core")]
pub struct NativeLaw {
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    uses_random: bool,
    #[pyo3(get)]
    ecn: String,
    make: Make,
    calls: Calls,
}

/// The number of calls that have begun and that have returned, together: odd during a call.
type Calls = Arc<AtomicU64>;

#[pymethods]
impl NativeLaw {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "converted from a Python object")]
    fn new(name: String, library: PathBuf, uses_random: bool, ecn: String) -> PyResult<NativeLaw> {
        let make = load(&library).map_err(|why| PyValueError::new_err(format!("{}: {why}", library.display())))?;
        Ok(NativeLaw { name, uses_random, ecn, make, calls: Calls::default() })
    }

    /// The number of the call that has not returned; None if there is none.
    #[getter]
    fn pending_call(&self) -> Option<u64> {
        Some(self.calls.load(Relaxed)).filter(|calls| calls % 2 == 1)
    }
}

impl NativeLaw {
    /// Makes the law of one end of a connection.
    pub fn make(&self, seed: u64) -> Result<Box<dyn CongestionControl>, LawError> {
        let made = watched(&self.calls, || (self.make)(seed));
        let law = made.map_err(|LawError(why)| LawError(format!("{}: {why}", self.name)))?;
        let around = Watch { name: self.name.clone(), calls: Arc::clone(&self.calls) };
        Ok(Box::new(Wrapped { around, law }))
    }
}

/// The function of a library that makes laws. The library stays loaded until the process ends.
// SAFETY: the library has the interface of `cwndlab_law::library!`. Its first function has C's calling convention. The
// second has Rust's, and its result Rust's layout: both are the same here, because the first has proved that the library
// is built of the same crates by the same compiler.
#[expect(unsafe_code, reason = "nothing proves what a library contains")]
fn load(path: &Path) -> Result<Make, String> {
    let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    let digest = unsafe { library.get::<extern "C" fn() -> *const c_char>(DIGEST_FUNCTION.as_bytes()) };
    let digest = digest.map_err(|error| error.to_string())?();
    if unsafe { CStr::from_ptr(digest) }.to_bytes() != ENGINE_DIGEST.as_bytes() {
        return Err("is built of other sources than this engine, or by another compiler".to_owned());
    }
    let make = *unsafe { library.get::<Make>(MAKE_FUNCTION.as_bytes()) }.map_err(|error| error.to_string())?;
    std::mem::forget(library);
    Ok(make)
}

/// Counts a call before and after it.
fn watched<T>(calls: &Calls, call: impl FnOnce() -> T) -> T {
    calls.fetch_add(1, Relaxed);
    let outcome = call();
    calls.fetch_add(1, Relaxed);
    outcome
}

/// Counts the calls of a law at one end of a connection, and names the law in its errors.
#[derive(Debug)]
struct Watch {
    name: String,
    calls: Calls,
}

impl Around for Watch {
    fn around(&self, _: &str, call: impl FnOnce() -> Result<(), LawError>) -> Result<(), LawError> {
        watched(&self.calls, call).map_err(|LawError(why)| LawError(format!("{}: {why}", self.name)))
    }
}
