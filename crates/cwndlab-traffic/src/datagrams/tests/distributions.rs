//! Every distribution of an application is checked, and named in the error.

use std::collections::BTreeMap;

use crate::{AppSpec, Sampler};

/// The error of an application in which the field has a negative mean.
fn refused(kind: &str, field: &str) -> String {
    let mut app: serde_json::Value = serde_json::from_str(kind).unwrap();
    app[field] = serde_json::json!({"kind": "exponential", "mean": -1.0});
    let spec: AppSpec = serde_json::from_value(app).unwrap_or_else(|error| panic!("{kind} {field}: {error}"));
    let shared: BTreeMap<String, Sampler> = BTreeMap::new();
    spec.check(&shared).expect_err(field).to_string()
}

#[test]
fn a_wrong_distribution_of_any_field_is_an_error_that_names_it() {
    let common = ["packet_bytes", "first_s", "duration_s"];
    for (kind, more) in [
        (r#"{"kind":"cbr","rate_bps":1000000}"#, &[][..]),
        (r#"{"kind":"poisson","rate_bps":1000000}"#, &[]),
        (
            r#"{"kind":"on-off","rate_bps":1000000,"on_s":{"kind":"fixed","value":1},"off_s":{"kind":"fixed","value":1}}"#,
            &["on_s", "off_s"],
        ),
        (
            r#"{"kind":"voip","talk_s":{"kind":"fixed","value":1},"silence_s":{"kind":"fixed","value":1}}"#,
            &["interval_s", "talk_s", "silence_s"],
        ),
        (r#"{"kind":"video","encoded_rate_bps":1000000}"#, &[]),
    ] {
        for field in common.iter().chain(more) {
            let error = refused(kind, field);
            assert!(error.contains(field), "{kind} {field}: {error}");
        }
    }
}
