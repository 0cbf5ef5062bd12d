use super::*;
use cwndlab_tcp::Profile;
use std::path::Path;

/// Every script of `scripts/PROFILE/` holds against that profile.
#[test]
fn own_scripts_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut failures = Vec::new();
    let mut count = 0;
    for profile in Profile::ALL {
        let Ok(folder) = std::fs::read_dir(root.join(profile.name())) else { continue };
        let mut paths: Vec<_> = folder.map(|entry| entry.expect("a file").path()).collect();
        paths.sort();
        for path in paths {
            count += 1;
            let text = std::fs::read_to_string(&path).expect("a script");
            if let Err(error) = run(&text, &profile.config()) {
                failures.push(format!("{}:{error}", path.display()));
            }
        }
    }
    assert!(count >= 15, "{count} scripts found");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
