"""Build the wheels: build/dist/cwndlab-….whl and, on Linux, build/dist/cwndlab_linux-….whl.

The first contains the engine, the engine for pages, and the shipped studies and packs; the second, the kernel
backends with the router. Each contains the licences of everything linked into it.

For profile-guided optimization, the engine is built with counters, runs cells of every shipped study, and is
built again with the counts. Results are equal to the byte. This needs the `llvm-profdata` of rustc's own
LLVM: `rustup component add llvm-tools`. `--plain` builds without counts, `--out DIR` writes elsewhere, and
`--profile release` builds quickly, as `make setup` does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import router

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "pgo"
PACKAGE = ROOT / "python" / "cwndlab"
KERNELS = ROOT / "linux" / "cwndlab_linux"
LICENCES = "THIRD-PARTY.txt"
#: Cells of each study to run for the counts, and most events of a run: some cells send 10^9 packets and would
#: outweigh the rest.
CELLS, EVENTS = 12, 1_000_000

TRAINING = f"""
import sys
sys.path.insert(0, sys.argv[1])
from cwndlab import Study, _core
from cwndlab.study.document import shipped_studies
assert _core.__file__.startswith(sys.argv[1]), _core.__file__
for name in shipped_studies():
    cells = Study.load(name).plan().cells
    for cell in cells[:: max(1, len(cells) // {CELLS})]:
        try:
            _core.run(cell.scenario, 1, 0, max_events={EVENTS})
        except _core.BudgetError:
            pass
"""
STAMP = """
import sys
sys.path.insert(0, sys.argv[1])
from cwndlab import _core
print(_core.engine_digest())
"""


def run(command: Sequence[str | Path], flags: str = "", **environment: str) -> str:
    """Run a command and return its output; SystemExit if it fails. `flags` are rustc's."""
    given = {"RUSTFLAGS": f"{os.environ.get('RUSTFLAGS', '')} {flags}".strip()} if flags else {}
    words = list(map(str, command))
    done = subprocess.run(
        words, env={**os.environ, **given, **environment}, stdout=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"wheel: {' '.join(words[:3])} failed with {done.returncode}\n{done.stdout}")
    return done.stdout


def profdata() -> Path:
    """The path of rustc's own `llvm-profdata`: another LLVM's cannot read its profiles."""
    root = Path(run(["rustc", "--print", "sysroot"]).strip())
    found = sorted(root.glob("lib/rustlib/*/bin/llvm-profdata*"))
    if not found:
        raise SystemExit(
            "wheel: rustc has no llvm-profdata; run `rustup component add llvm-tools`, or build with --plain"
        )
    return found[0]


def third_party(*crates: str) -> str:
    """Every crate that is linked into these, with its licence and the licence's text."""
    tree = ["cargo", "tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"]
    linked = {
        tuple(line.split()[:2])
        for line in run([*tree, *(word for crate in crates for word in ("-p", crate))]).splitlines()
    }
    parts = []
    metadata = json.loads(run(["cargo", "metadata", "--locked", "--format-version", "1"]))
    for package in sorted(metadata["packages"], key=lambda p: (p["name"], p["version"])):
        if package["source"] is None or (package["name"], f"v{package['version']}") not in linked:
            continue
        folder = Path(package["manifest_path"]).parent
        texts = sorted(
            p for p in folder.iterdir() if p.is_file() and p.name.upper().startswith(("LICEN", "COPYING"))
        )
        title = f"{package['name']} {package['version']}: {package['license']}"
        parts.append("\n\n".join([title, *(text.read_text(errors="replace").strip() for text in texts)]))
    return f"\n\n{'=' * 80}\n\n".join(parts) + "\n"


def install(wheel_folder: Path) -> Path:
    """Install the newest wheel of a folder into a separate folder, which is returned."""
    site = WORK / "site"
    shutil.rmtree(site, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    run([*pip, "--target", site, newest(wheel_folder)])
    return site


def build_kernels(core: Path, out: Path) -> None:
    """Build the wheel of the kernel backends, for the platform of the core's wheel."""
    platform = core.stem.rpartition("-")[2]
    hatch: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out]
    with contextlib.chdir(KERNELS.parent):
        print(run(hatch, CWNDLAB_PLATFORM=platform), end="")


def newest(folder: Path) -> Path:
    """The newest wheel of the core in a folder."""
    return max(folder.glob("cwndlab-*.whl"), key=lambda path: path.stat().st_mtime)


def main() -> None:
    """Build once for the counts (or the engine's digest), then build the wheel."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plain", action="store_true", help="without profile-guided optimization")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "dist")
    parser.add_argument("--profile", default="wheel", help="Cargo's profile; default: all optimizations")
    options = parser.parse_args()
    out = options.out.resolve()
    os.chdir(ROOT)
    merge = None if options.plain else profdata()
    counts, first = WORK / "counts", WORK / "first"
    target = {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(WORK / "target"))}
    maturin = [
        Path(sysconfig.get_path("scripts")) / "maturin",
        "build",
        "--profile",
        options.profile,
        "--locked",
        "--out",
    ]
    shutil.rmtree(counts, ignore_errors=True)
    try:
        if sys.platform == "linux":
            router.build(options.profile, KERNELS, Path(target["CARGO_TARGET_DIR"]))
            (KERNELS / LICENCES).write_text(third_party("cwndlab-live"), encoding="utf-8")
        (PACKAGE / LICENCES).write_text(third_party("cwndlab-python", "cwndlab-wasm"), encoding="utf-8")
        run([sys.executable, ROOT / "tools" / "live.py", "build"], **target)
        run([*maturin, first], f"-Cprofile-generate={counts}" if merge else "", **target)
        site = install(first)
        shutil.rmtree(counts, ignore_errors=True)  # counts of build scripts
        module = PACKAGE / "report" / "live" / "engine.wasm.gz"
        if module.exists():
            module.with_name("engine.txt").write_text(run([sys.executable, "-c", STAMP, site]))
        flags = ""
        if merge:
            run([sys.executable, "-c", TRAINING, site])
            merged = WORK / "merged.profdata"
            run([merge, "merge", "-o", merged, *sorted(counts.glob("*.profraw"))])
            flags = f"-Cprofile-use={merged}"
        print(run([*maturin, out], flags, **target), end="")
        if sys.platform == "linux":
            build_kernels(newest(out), out)
    finally:
        for built in (router.PROGRAM, router.LIBRARY, LICENCES):
            (KERNELS / built).unlink(missing_ok=True)
        (PACKAGE / LICENCES).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
