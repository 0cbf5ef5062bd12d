"""Install a wheel in a new virtual environment and use it there, as its user would: `make try-wheel`.

It has every file of the package that git knows, the router and the engine for pages, and licences; from it
`cwndlab run rfc2416` runs in the simulator, and on the kernel in virtual time where this machine has one.

Usage: try_wheel.py WHEEL [--offline]; --offline takes dependencies from the environment that runs this.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ONE_CELL = ["--set", "variant=tahoe", "--set", "iw=4", "--set", "size=as-traced"]
#: What a build adds to the files in git.
BUILT = ["report/live/engine.wasm.gz", "report/live/engine.txt", "THIRD-PARTY.txt"]
ROUTER = "backends/linux/cwndlab-router"
LICENCES = ("licenses/LICENSE-APACHE", "licenses/LICENSE-MIT")


def missing(wheel: Path) -> Iterator[str]:
    """What should be in the wheel and is not."""
    command = ["git", "ls-files", "python/cwndlab"]
    tracked = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    wanted = [name.removeprefix("python/") for name in tracked]
    wanted += [f"cwndlab/{name}" for name in (*BUILT, *([ROUTER] if sys.platform == "linux" else []))]
    with zipfile.ZipFile(wheel) as file:
        there = file.namelist()
        yield from sorted(set(wanted) - set(there))
        yield from (name for name in LICENCES if not any(one.endswith(name) for one in there))
        if not any(Path(name).match("cwndlab/_core*.so") or name.endswith(".pyd") for name in there):
            yield "cwndlab/_core"
        for name in there:
            if name.endswith(ROUTER) and not file.getinfo(name).external_attr >> 16 & 0o111:
                yield f"{name}: the right to execute it"


def run(command: Sequence[str | Path], **options: object) -> None:
    """Run a command; SystemExit with its output if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"try_wheel: {' '.join(map(str, command))} failed\n{done.stdout}")


def use(wheel: Path, offline: bool, folder: Path) -> None:
    """Install the wheel in `folder`, and run a study from there."""
    fresh = folder / "venv"
    run([sys.executable, "-m", "venv", "--without-pip", fresh])
    scripts = fresh / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", scripts / "python", "install"]
    here = {key: value for key, value in os.environ.items() if not key.startswith(("CWNDLAB", "PYTHON"))}
    if offline:
        run([*pip, "--no-deps", "--no-compile", wheel])
        # A folder on this path brings its packages, but not the `.pth` file that leads to the working tree.
        here["PYTHONPATH"] = sysconfig.get_path("purelib")
        found = "import cwndlab, sys; sys.exit(not cwndlab.__file__.startswith(sys.prefix))"
        run([scripts / "python", "-c", found], cwd=folder, env=here)
    else:
        run([*pip, f"{wheel}[linux]"])
    backends = [[]]
    doctor = subprocess.run(
        [scripts / "cwndlab", "doctor"], cwd=folder, env=here, capture_output=True, text=True
    )
    if "ok  linux: virtual time" in doctor.stdout:
        backends.append(["--backend", "linux-virtual"])
    else:
        print("try_wheel: no kernel in virtual time here, so none is tried", file=sys.stderr)
    for number, backend in enumerate(backends):
        report = folder / f"{number}"
        run([scripts / "cwndlab", "run", "rfc2416", *ONE_CELL, *backend, "-o", report], cwd=folder, env=here)
        if not (report / "report.html").exists():
            raise SystemExit(f"try_wheel: no report with {backend}")


def main() -> None:
    """Check the contents, then use it."""
    wheel = Path(sys.argv[1]).resolve()
    if lacks := list(missing(wheel)):
        raise SystemExit(f"try_wheel: {wheel.name} lacks {', '.join(lacks)}")
    with tempfile.TemporaryDirectory() as folder:
        use(wheel, "--offline" in sys.argv, Path(folder))
    print(f"{wheel.name}: complete, and it runs")


if __name__ == "__main__":
    main()
