//! The engine as a WebAssembly module without imports, which a report runs in its reader's browser.
//!
//! A web page uses the module as follows. [`exports::input`] reserves the bytes of a scenario (JSON), which the web
//! page writes there; [`exports::run`] runs one replicate; [`exports::text`] and [`exports::text_len`] return the
//! answer of the run. After a successful run, the answer is the JSON of [`layout::Tables`], with the address of each
//! column of each record table. After an error or a trap, the answer is the error message. The web page creates a new
//! instance of the module for each run, so memory is never freed.

mod exports;
mod layout;

use cwndlab_engine::{Scenario, Simulation};
use cwndlab_records::{Recorder, Records};

/// Runs one replicate of the scenario in `json` and returns its tables.
///
/// # Errors
///
/// If the scenario is invalid, or the run ended early.
fn simulate(json: &str, seed: u64, replicate: u64) -> Result<Records, String> {
    let scenario = Scenario::from_json(json).map_err(|error| error.to_string())?;
    let simulation = Simulation::new(&scenario, seed, replicate, Recorder::new(&scenario));
    let simulation = simulation.map_err(|error| error.to_string())?;
    let (_, recorder) = simulation.run_while(&mut |_| true).map_err(|error| error.to_string())?;
    Ok(recorder.finish())
}
