//! Runs scripts from the command line, without Python:
//! `cargo run --example packetdrill -- [--profile NAME] [--ignore-windows] SCRIPT…`; it prints one line per script.

use cwndlab_packetdrill::{config, run_with, Strictness};
use cwndlab_tcp::Profile;
use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut profile, mut strictness) = (Profile::Linux6, Strictness::default());
    let (mut passed, mut failed, mut unsupported) = (0, 0, 0);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--profile" {
            let name = arguments.next().unwrap_or_default();
            let Some(found) = Profile::from_name(&name) else {
                eprintln!("--profile {name}: expected one of {}", Profile::ALL.map(Profile::name).join(", "));
                return ExitCode::from(2);
            };
            profile = found;
            continue;
        }
        if argument == "--ignore-windows" {
            strictness.ignore_windows = true;
            continue;
        }
        let text = match std::fs::read_to_string(&argument) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{argument}: {error}");
                return ExitCode::from(2);
            }
        };
        match run_with(&text, &config(profile, None), strictness) {
            Ok(()) => passed += 1,
            Err(error) => {
                println!("{argument}:{error}");
                if error.unsupported {
                    unsupported += 1;
                } else {
                    failed += 1;
                    error.before.iter().for_each(|event| println!("    {event}"));
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed, {unsupported} not supported");
    ExitCode::from(u8::from(failed + unsupported > 0))
}
