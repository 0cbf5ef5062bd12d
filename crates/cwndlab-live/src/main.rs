//! `cwndlab-router CONFIG.json` (or `-` for standard input): forwards packets between devices over the links of a
//! scenario, in real time.
//!
//! Prints a line of JSON when it is ready, and the summary as another line at the end. Exit code 2: the configuration
//! is invalid; 1: a system call failed.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use cwndlab_live::config::RouterConfig;
use cwndlab_live::devices;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path] = arguments.as_slice() else {
        eprintln!("usage: cwndlab-router CONFIG.json   (- reads the configuration from standard input)");
        return ExitCode::from(2);
    };
    let read = read(path).and_then(|text| match RouterConfig::from_json(&text) {
        Ok(config) => Ok((config, text)),
        Err(error) => Err(format!("{path}: {error}")),
    });
    match read {
        Ok((config, text)) => run(&config, &text),
        Err(message) => {
            eprintln!("cwndlab-router: {message}");
            ExitCode::from(2)
        }
    }
}

fn read(path: &str) -> Result<String, String> {
    let mut text = String::new();
    let outcome = if path == "-" {
        std::io::stdin().read_to_string(&mut text).map(|_| ())
    } else {
        std::fs::read_to_string(path).map(|read| text = read)
    };
    outcome.map(|()| text).map_err(|error| format!("{path}: {error}"))
}

fn run(config: &RouterConfig, text: &str) -> ExitCode {
    let ready = |start_ns: u64| say(&format!(r#"{{"event":"ready","start_monotonic_ns":{start_ns}}}"#));
    match devices::run(config, text, ready) {
        Ok(summary) => {
            say(&summary);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("cwndlab-router: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a line for the parent process. An error is ignored, because it means that the parent process is gone.
fn say(line: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
