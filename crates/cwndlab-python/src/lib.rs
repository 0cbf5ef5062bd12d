//! The Python module `cwndlab._core`: converts arguments, errors and Arrow columns, reads captures, and finds the
//! places of TOML keys.

mod applications;
mod captures;
mod kinds;
mod law_errors;
mod laws;
mod native_laws;
mod packetdrill;
mod profiles;
mod records;
mod refusal;
mod scenario;
mod table;
mod toml;
mod units;

use std::collections::BTreeMap;

use pyo3::prelude::*;

/// The version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Digest of the sources of all crates, Cargo.lock and the compiler's version: part of every result's key.
#[pyfunction]
fn engine_digest() -> &'static str {
    cwndlab_law::ENGINE_DIGEST
}

/// The QUIC stacks of this build: the crate and version of each, by name.
#[pyfunction]
fn stack_versions() -> BTreeMap<&'static str, &'static str> {
    cwndlab_quic::versions().into_iter().collect()
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::applications::{Application, Command};
    #[pymodule_export]
    use super::captures::{read_capture, Capture, CapturedEnd, CapturedSegment, Faults};
    #[pymodule_export]
    use super::kinds::kinds;
    #[pymodule_export]
    use super::laws::{AckReport, CongestionControl, LawFailed, LossEvent, RateSample};
    #[pymodule_export]
    use super::native_laws::NativeLaw;
    #[pymodule_export]
    use super::packetdrill::packetdrill;
    #[pymodule_export]
    use super::profiles::{tcp_choices, tcp_knobs, tcp_profile, tcp_profiles, tcp_renamed, tcp_without_effect};
    #[pymodule_export]
    use super::records::{read_kernel_run, record_tables, time_budgets, Records};
    #[pymodule_export]
    use super::refusal::ScenarioRefused;
    #[pymodule_export]
    use super::scenario::{check_scenario, complete_scenario, default_budget, run};
    #[pymodule_export]
    use super::scenario::{BudgetError, RunStopped, Scenario};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::toml::toml_places;
    #[pymodule_export]
    use super::units::{parse_bytes, parse_quantity, parse_rate, parse_time, unit_factor};
    #[pymodule_export]
    use super::{engine_digest, stack_versions, version};
}
