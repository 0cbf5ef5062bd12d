"""Build the WebAssembly module that reports embed: python/cwndlab/report/live/engine.wasm.gz (`build`).

`stamp` then writes the digest of the module's sources to engine.txt next to it: reports embed the module only
if this is the digest of the engine that ran the study. `build` adds the compiler's target if rustup can.
Without the target, it builds nothing and reports this; reports then have no live part.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "python" / "cwndlab" / "report" / "live"
MODULE = PLACE / "engine.wasm.gz"
TARGET = "wasm32-unknown-unknown"


def has_target() -> bool:
    """Whether the compiler has the target."""
    asked = ["rustc", "--print", "target-libdir", "--target", TARGET]
    found = subprocess.run(asked, capture_output=True, text=True, cwd=ROOT)
    return found.returncode == 0 and any(Path(found.stdout.strip()).glob("libstd-*"))


def missing() -> str:
    """Adds the target if possible; returns why the module cannot be built, "" if it can."""
    if has_target():
        return ""
    if shutil.which("rustup") is None:
        return (
            f"the Rust target {TARGET} is not installed, and there is no rustup to add it; install Rust from "
            "https://rustup.rs, or your distribution's package of the target (Debian: libstd-rust-dev-wasm32)"
        )
    added = subprocess.run(["rustup", "--quiet", "target", "add", TARGET], cwd=ROOT)
    if added.returncode == 0 and has_target():
        return ""
    return f"`rustup target add {TARGET}` failed; run it again once there is a network, then `make setup`"


def build() -> None:
    """Build and compress the module."""
    if why := missing():
        MODULE.unlink(missing_ok=True)
        print(f"Reports will not contain the simulator: {why}. Everything else works.", file=sys.stderr)
        return
    cargo = ["cargo", "build", "--locked", "--quiet", "-p", "cwndlab-wasm", "--profile", "wasm"]
    asked = [*cargo, "--target", TARGET, "--message-format=json-render-diagnostics"]
    built = subprocess.run(asked, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    if built.returncode != 0:
        raise SystemExit(f"live reports: cargo failed with {built.returncode}")
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    files = [Path(f) for m in messages if m.get("reason") == "compiler-artifact" for f in m["filenames"]]
    (wasm,) = (f for f in files if f.suffix == ".wasm")
    MODULE.write_bytes(gzip.compress(wasm.read_bytes(), 9, mtime=0))


def stamp() -> None:
    """Write the digest of the engine that the module contains."""
    from cwndlab import _core  # available only after the build

    if MODULE.exists():
        (PLACE / "engine.txt").write_text(_core.engine_digest() + "\n")


if __name__ == "__main__":
    {"build": build, "stamp": stamp}[sys.argv[1]]()
