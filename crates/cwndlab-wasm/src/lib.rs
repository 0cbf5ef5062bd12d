//! The engine as a WebAssembly module without imports: what a report runs in its reader's browser.
//!
//! How a page uses it: [`exports::input`] reserves the bytes of a scenario (JSON), which the page writes there;
//! [`exports::run`] runs one replicate; [`exports::text`] and [`exports::text_len`] give its answer. After a run this is the
//! JSON of [`layout::Tables`], which says where in memory the columns of each record table are; after an error or a trap it
//! is the message. A page makes a new instance for each run, so nothing is ever freed.

mod exports;
mod layout;

use cwndlab_engine::{Scenario, Simulation};
use cwndlab_records::{Recorder, Records};

/// The tables of one replicate.
///
/// # Errors
/// What is wrong with the scenario, or why the run ended early.
fn simulate(json: &str, seed: u64, replicate: u64) -> Result<Records, String> {
    let scenario = Scenario::from_json(json).map_err(|error| error.to_string())?;
    let simulation = Simulation::new(&scenario, seed, replicate, Recorder::new(&scenario));
    let simulation = simulation.map_err(|error| error.to_string())?;
    let (_, recorder) = simulation.run_while(&mut || true).map_err(|error| error.to_string())?;
    Ok(recorder.finish())
}
