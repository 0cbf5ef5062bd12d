//! Unmodified programs. Only a kernel runs them, so no state machine belongs to this specification.

use std::collections::BTreeMap;

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::dist::Dist;
use crate::error::AppError;
use crate::event::{Command, Event, Side};
use crate::spec::{client, Application, Setup, Spec};

/// Unmodified programs at the two hosts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProgramSpec {
    /// Command line at the client's host, such as `"iperf3 -c {server} -t 10"`. `{server}` and `{client}` stand for the
    /// hosts' addresses. No shell reads the line; for one, write `"sh -c '…'"`.
    #[serde(default)]
    pub client: Option<String>,
    /// Command line at the server's host, started 0.1 s before the client's.
    #[serde(default)]
    pub server: Option<String>,
    /// Further environment variables, as a table; the values may use `{server}` and `{client}`.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Working folder, in the study's folder; the programs cannot write there. If left out, each program starts in an
    /// empty folder of its own, in which it can write (`TMPDIR`).
    #[serde(default)]
    pub folder: Option<String>,
    /// The end that sends most of the data.
    #[serde(default = "client")]
    pub from: Side,
}

/// Stands for the state machine of a program in the list of applications. None is ever built.
#[derive(Clone)]
pub struct Program(());

impl Spec for ProgramSpec {
    type App = Program;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        Vec::new()
    }

    fn check(&self) -> Result<(), AppError> {
        let lines = [&self.client, &self.server];
        if lines.iter().all(|line| line.is_none()) || lines.into_iter().flatten().any(|line| line.trim().is_empty()) {
            return Err(AppError::NoProgram);
        }
        Ok(())
    }

    fn build(&self, _: &mut Setup<'_>) -> Result<Program, AppError> {
        Err(AppError::NotSimulated)
    }
}

impl Application for Program {
    fn handle(&mut self, _: Time, _: Event, _: &mut Vec<Command>) {}
}

#[cfg(test)]
mod tests {
    use crate::app::AppSpec;
    use std::collections::BTreeMap;

    fn check(json: &str) -> Result<(), String> {
        let spec: AppSpec = serde_json::from_str(json).map_err(|error| error.to_string())?;
        spec.check(&BTreeMap::new()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_program_needs_a_command_line_at_one_end() {
        assert_eq!(check(r#"{"kind":"program","client":"ss -ti"}"#), Ok(()));
        assert_eq!(check(r#"{"kind":"program","server":"iperf3 -s","environment":{"A":"1"}}"#), Ok(()));
        for none in [r#"{"kind":"program"}"#, r#"{"kind":"program","client":"ping {server}","server":" "}"#] {
            assert!(check(none).unwrap_err().contains("no command line"), "{none}");
        }
    }
}
