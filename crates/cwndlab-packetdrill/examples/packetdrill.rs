//! Runs scripts from the command line: `cargo run --example packetdrill -- [--profile NAME] SCRIPT…`; one line a script.

use cwndlab_tcp::Profile;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut profile = Profile::Linux6;
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
        let text = match std::fs::read_to_string(&argument) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{argument}: {error}");
                return ExitCode::from(2);
            }
        };
        match cwndlab_packetdrill::run(&text, &cwndlab_packetdrill::config(profile, None)) {
            Ok(()) => passed += 1,
            Err(error) => {
                println!("{argument}:{error}");
                if error.unsupported {
                    unsupported += 1;
                } else {
                    failed += 1;
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed, {unsupported} not supported");
    ExitCode::from(u8::from(failed + unsupported > 0))
}
