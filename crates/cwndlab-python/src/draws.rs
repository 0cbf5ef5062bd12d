//! What the simulator's applications draw, for those on real sockets: the same numbers from the same streams.

use cwndlab_engine::Streams;
use cwndlab_traffic::{Dist, Distributions, Rng, Sampler};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The random stream of one purpose of a traffic entry.
#[pyclass(module = "cwndlab._core")]
pub struct Stream(Rng);

#[pymethods]
impl Stream {
    #[new]
    fn new(seed: u64, replicate: u64, traffic: &str, purpose: &str) -> Stream {
        Stream(Streams::new(seed, replicate).traffic(traffic, purpose))
    }
}

/// A distribution of a scenario, ready to draw from.
#[pyclass(frozen, module = "cwndlab._core")]
pub struct Distribution(Sampler);

#[pymethods]
impl Distribution {
    #[new]
    #[pyo3(signature = (json, shared="{}"))]
    fn new(json: &str, shared: &str) -> PyResult<Distribution> {
        let unreadable = |error: serde_json::Error| PyValueError::new_err(error.to_string());
        let dist: Dist = serde_json::from_str(json).map_err(unreadable)?;
        let shared: Distributions = serde_json::from_str(shared).map_err(unreadable)?;
        let shared = shared.samplers().map_err(PyValueError::new_err)?;
        dist.sampler(&shared).map(Distribution).map_err(PyValueError::new_err)
    }

    /// One value.
    fn draw(&self, stream: &mut Stream) -> f64 {
        self.0.draw(&mut stream.0)
    }

    /// One size in bytes, at least 1.
    fn draw_bytes(&self, stream: &mut Stream) -> u64 {
        self.0.draw_bytes(&mut stream.0)
    }
}
