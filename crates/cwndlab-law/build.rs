//! Embeds a digest of everything that determines the engine's numbers, for the keys of stored results.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An FNV-1a hash of 128 bits. It has to distinguish edited sources, but need not resist forgery.
struct Digest(u128);

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}

/// Appends the files below `path` to `found`, sorted by name within each directory.
fn files(path: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(path)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            files(&entry, found);
        } else {
            found.push(entry);
        }
    }
}

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let crates = here.parent().expect("crates/ holds this crate");
    let root = crates.parent().expect("the workspace holds crates/");
    let mut sources = vec![root.join("Cargo.lock"), root.join("Cargo.toml")];
    let mut members: Vec<PathBuf> =
        fs::read_dir(crates).expect("crates/ is readable").filter_map(|entry| Some(entry.ok()?.path())).collect();
    members.sort();
    for member in &members {
        let manifest = member.join("Cargo.toml");
        if manifest.is_file() {
            println!("cargo:rerun-if-changed={}", member.join("src").display());
            sources.push(manifest);
            sources.push(member.join("build.rs"));
            files(&member.join("src"), &mut sources);
        }
    }
    let mut digest = Digest(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
    for source in sources.iter().filter(|path| path.is_file()) {
        println!("cargo:rerun-if-changed={}", source.display());
        // The path inside the workspace, so that the digest does not depend on where the workspace is.
        let name = source.strip_prefix(root).expect("all sources are in the workspace");
        digest.add(name.to_string_lossy().replace('\\', "/").as_bytes());
        digest.add(&fs::read(source).expect("a source is readable"));
    }
    let rustc = env::var_os("RUSTC").expect("cargo sets it");
    let version = Command::new(rustc).arg("-vV").output().expect("rustc states its version").stdout;
    digest.add(&version);
    println!("cargo:rerun-if-env-changed=RUSTC");
    println!("cargo:rustc-env=CWNDLAB_ENGINE_DIGEST={:032x}", digest.0);
}
