"""Install a wheel in a new virtual environment and use it there, as its user would: `make try-wheel`.

It has every file of the package that git knows, the router and the engine for pages, and licences; from it
`cwndlab run rfc2416` runs in the simulator, and on the kernel in virtual time where this machine has one.

Of a source distribution only the contents are checked: every file of the package and of the crates that it is
built from, and a lock file that needs no change.

Usage: try_wheel.py WHEEL|SDIST … [--offline]; --offline takes dependencies from the environment that runs
this.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import repository
from repository import ROOT

ONE_CELL = ["--set", "grid=minute", "--set", "variant=tahoe", "--set", "iw=4", "--set", "size=as-traced"]
#: What a build adds to the files in git.
BUILT = ["report/live/engine.wasm.gz", "report/live/engine.txt", "THIRD-PARTY.txt"]
ROUTER = "backends/linux/cwndlab-router"
LIBRARY = "backends/linux/libcwndlab_live.so"
LICENCES = ("licenses/LICENSE-APACHE", "licenses/LICENSE-MIT")


def tracked(*paths: str) -> list[str]:
    """The names of the files that git tracks below these paths."""
    return [path.relative_to(ROOT).as_posix() for path in repository.files(*paths, new=False)]


def missing(wheel: Path) -> Iterator[str]:
    """What should be in the wheel and is not."""
    wanted = [name.removeprefix("python/") for name in tracked("python/cwndlab")]
    wanted += [
        f"cwndlab/{name}" for name in (*BUILT, *([ROUTER, LIBRARY] if sys.platform == "linux" else []))
    ]
    with zipfile.ZipFile(wheel) as file:
        there = file.namelist()
        yield from sorted(set(wanted) - set(there))
        yield from (name for name in LICENCES if not any(one.endswith(name) for one in there))
        if not any(Path(name).match("cwndlab/_core*.so") or name.endswith(".pyd") for name in there):
            yield "cwndlab/_core"
        for name in there:
            if name.endswith(ROUTER) and not file.getinfo(name).external_attr >> 16 & 0o111:
                yield f"{name}: the right to execute it"


def missing_sources(sdist: Path) -> Iterator[str]:
    """What should be in the source distribution and is not."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as file:
            file.extractall(folder, filter="data")
        (root,) = Path(folder).iterdir()
        crates = [f"crates/{path.name}" for path in (root / "crates").iterdir()]
        wanted = tracked("python", "pyproject.toml", "LICENSE-APACHE", "LICENSE-MIT", *crates)
        lacks = [name for name in wanted if not (root / name).exists()]
        yield from lacks
        if not lacks:  # fails if a crate is missing, or if the lock file does not fit those that are there
            run(["cargo", "metadata", "--locked", "--format-version", "1"], cwd=root)


def run(command: Sequence[str | Path], cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    """Run a command; SystemExit with its output if it fails."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, env=env
    )
    if done.returncode != 0:
        raise SystemExit(f"try_wheel: {' '.join(map(str, command))} failed\n{done.stdout}")


def use(wheel: Path, offline: bool, folder: Path) -> None:
    """Install the wheel in `folder`, and run a study from there."""
    fresh = folder / "venv"
    run([sys.executable, "-m", "venv", "--without-pip", fresh])
    scripts = fresh / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(scripts / "python"), "install"]
    here = {key: value for key, value in os.environ.items() if not key.startswith(("CWNDLAB", "PYTHON"))}
    if offline:
        run([*pip, "--no-deps", "--no-compile", wheel])
        # A folder on this path brings its packages, but not the `.pth` file that leads to the working tree.
        here["PYTHONPATH"] = sysconfig.get_path("purelib")
        found = "import cwndlab, sys; sys.exit(not cwndlab.__file__.startswith(sys.prefix))"
        run([scripts / "python", "-c", found], cwd=folder, env=here)
    else:
        run([*pip, f"{wheel}[linux]"])
    backends: list[list[str]] = [[]]
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
    for path in (Path(word).resolve() for word in sys.argv[1:] if not word.startswith("--")):
        wheel = path.suffix == ".whl"
        if lacks := list(missing(path) if wheel else missing_sources(path)):
            raise SystemExit(f"try_wheel: {path.name} lacks {', '.join(lacks)}")
        if wheel:
            with tempfile.TemporaryDirectory() as folder:
                use(path, "--offline" in sys.argv, Path(folder))
        print(f"{path.name}: complete{', and it runs' if wheel else ''}")


if __name__ == "__main__":
    main()
