//! The kinds of queues, impairments, applications and stacks.

use cwndlab_net::impair::ImpairmentConfig;
use cwndlab_net::queue::QueueConfig;
use cwndlab_traffic::AppSpec;
use pyo3::prelude::*;
use schemars::schema_for;
use serde_json::json;

/// The kinds of `queue`, `impairment`, `app` and `stack`: a JSON schema of each, with descriptions and defaults, as JSON.
#[pyfunction]
pub fn kinds() -> String {
    let queues = schema_for!(QueueConfig);
    let (impairments, apps) = (schema_for!(ImpairmentConfig), schema_for!(AppSpec));
    json!({"queue": queues, "impairment": impairments, "app": apps, "stack": schema_for!(cwndlab_quic::Stack)})
        .to_string()
}
