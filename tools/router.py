"""Build the router with one of Cargo's profiles, as a program and as a library: `router.py PROFILE FOLDER`.

Both are copied to the folder. The Python module is selected as well, but not built: Cargo then uses the
module's features, so that crates of both are compiled only once (docs/decisions/set-up.md).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM, LIBRARY = "cwndlab-router", "libcwndlab_live.so"
PACKAGES = ["-p", "cwndlab-live", "-p", "cwndlab-python"]


def build(profile: str, folder: Path, target: Path | None = None) -> None:
    """Build both into `folder`; `target` is Cargo's target directory. SystemExit if Cargo fails."""
    target = target or Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    cargo = ["cargo", "build", "--locked", "--quiet", "--profile", profile, "--target-dir", str(target)]
    if failed := subprocess.run([*cargo, *PACKAGES, "--bin", PROGRAM], cwd=ROOT).returncode:
        raise SystemExit(f"router: cargo failed with {failed}")
    # Cargo leaves a library in `deps` if only a program was requested.
    for built in (target / profile / PROGRAM, target / profile / "deps" / LIBRARY):
        shutil.copy(built, folder)


if __name__ == "__main__":
    build(sys.argv[1], Path(sys.argv[2]))
