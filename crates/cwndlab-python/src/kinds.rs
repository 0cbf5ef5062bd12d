//! The kinds of queues, impairments and applications.

use cwndlab_net::impair::ImpairmentConfig;
use cwndlab_net::queue::QueueConfig;
use cwndlab_traffic::AppSpec;
use pyo3::prelude::*;
use schemars::schema_for;
use serde_json::json;

/// The kinds of `queue`, `impairment` and `app`: a JSON schema of each, with descriptions and defaults, as JSON.
#[pyfunction]
pub fn kinds() -> String {
    let queues = schema_for!(QueueConfig);
    json!({"queue": queues, "impairment": schema_for!(ImpairmentConfig), "app": schema_for!(AppSpec)}).to_string()
}
