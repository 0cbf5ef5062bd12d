"""Build a wheel with profile-guided optimization: build/dist/cwndlab-….whl.

The engine is built once with counters, runs cells of every shipped study, and is built again with these
counts. Results are the same to the byte. Needs the `llvm-profdata` of rustc's own LLVM:
`rustup component add llvm-tools`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "pgo"
#: Cells of each study that are run to count.
CELLS = 12

TRAINING = f"""
import sys
sys.path.insert(0, sys.argv[1])
from cwndlab import Study, _core
from cwndlab.spec.load import shipped
assert _core.__file__.startswith(sys.argv[1]), _core.__file__
for name in shipped():
    cells = Study.load(name).plan().cells
    for cell in cells[:: max(1, len(cells) // {CELLS})]:
        _core.run(cell.scenario, 1, 0)
"""


def run(command: Sequence[str | Path], flags: str = "", **environment: str) -> None:
    """Run a command; SystemExit if it fails. `flags` are rustc's."""
    given = {"RUSTFLAGS": f"{os.environ.get('RUSTFLAGS', '')} {flags}".strip()} if flags else {}
    done = subprocess.run(list(map(str, command)), cwd=ROOT, env={**os.environ, **given, **environment})
    if done.returncode != 0:
        raise SystemExit(f"wheel: {command[0]} failed with {done.returncode}")


def profdata() -> Path:
    """The `llvm-profdata` that belongs to rustc: another LLVM's cannot read its profiles."""
    asked = ["rustc", "--print", "sysroot"]
    root = Path(subprocess.run(asked, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip())
    found = sorted(root.glob("lib/rustlib/*/bin/llvm-profdata*"))
    if not found:
        raise SystemExit("wheel: rustc has no llvm-profdata; run `rustup component add llvm-tools`")
    return found[0]


def main() -> None:
    """Count, then build."""
    merge = profdata()
    shutil.rmtree(WORK / "counts", ignore_errors=True)
    shutil.rmtree(WORK / "site", ignore_errors=True)
    target = str(WORK / "target")
    maturin = [Path(sys.executable).with_name("maturin"), "build", "--release", "--locked", "--out"]
    counting = f"-Cprofile-generate={WORK / 'counts'}"
    run([*maturin, WORK / "counting"], counting, CARGO_TARGET_DIR=target)
    wheel = max((WORK / "counting").glob("*.whl"), key=lambda path: path.stat().st_mtime)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", WORK / "site", wheel]
    run(pip)  # beside the editable install in .venv, not in its place
    shutil.rmtree(WORK / "counts", ignore_errors=True)  # of build scripts
    run([sys.executable, "-c", TRAINING, WORK / "site"])
    merged = WORK / "merged.profdata"
    run([merge, "merge", "-o", merged, *sorted((WORK / "counts").glob("*.profraw"))])
    run([*maturin, ROOT / "build" / "dist"], f"-Cprofile-use={merged}", CARGO_TARGET_DIR=target)


if __name__ == "__main__":
    main()
