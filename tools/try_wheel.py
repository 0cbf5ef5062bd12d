"""Install wheels in a new virtual environment and use them like a user: `make try-wheel`.

The core's wheel must contain every tracked file of its package, the engine for pages, and licences; `cwndlab
run rfc2416` must run in the simulator. With the wheel of the kernel backends, which contains the router, it
must also run on the kernel in virtual time, if this machine supports that.

Of a source distribution, only the contents are checked: every tracked file of the package and its crates, and
a lock file that needs no change.

Usage: try_wheel.py WHEEL|SDIST … [--offline]; --offline takes dependencies from the current environment.
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
#: Files that a build adds to the tracked ones.
BUILT = ["report/live/engine.wasm.gz", "report/live/engine.txt", "THIRD-PARTY.txt"]
ROUTER = "cwndlab_linux/cwndlab-router"
KERNELS = [ROUTER, "cwndlab_linux/libcwndlab_live.so", "cwndlab_linux/THIRD-PARTY.txt"]
LICENCES = ("/LICENSE-APACHE", "/LICENSE-MIT")


def tracked(*paths: str) -> list[str]:
    """The names of the tracked files below these paths."""
    return [path.relative_to(ROOT).as_posix() for path in repository.files(*paths, new=False)]


def is_kernels(wheel: Path) -> bool:
    """Whether this is the wheel of the kernel backends."""
    return wheel.name.startswith("cwndlab_linux-")


def missing(wheel: Path) -> Iterator[str]:
    """The files that the wheel lacks, and the router's right to be executed if that is missing."""
    core = not is_kernels(wheel)
    tree = "python/cwndlab" if core else "linux/cwndlab_linux"
    wanted = [name.partition("/")[2] for name in tracked(tree)]
    wanted += [f"cwndlab/{name}" for name in BUILT] if core else KERNELS
    with zipfile.ZipFile(wheel) as file:
        there = file.namelist()
        yield from sorted(set(wanted) - set(there))
        yield from (name for name in LICENCES if not any(file_name.endswith(name) for file_name in there))
        if core and not any(Path(name).match("cwndlab/_core*.so") or name.endswith(".pyd") for name in there):
            yield "cwndlab/_core"
        for name in there:
            if name == ROUTER and not file.getinfo(name).external_attr >> 16 & 0o111:
                yield f"{name}: the right to execute it"


def missing_sources(sdist: Path) -> Iterator[str]:
    """The paths of files that the source distribution lacks."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as file:
            file.extractall(folder, filter="data")
        (root,) = Path(folder).iterdir()
        crates = [f"crates/{path.name}" for path in (root / "crates").iterdir()]
        wanted = tracked("python", "pyproject.toml", "LICENSE-APACHE", "LICENSE-MIT", *crates)
        lacks = [name for name in wanted if not (root / name).exists()]
        yield from lacks
        if not lacks:  # fails if a crate is missing, or if the lock file does not match
            run(["cargo", "metadata", "--locked", "--format-version", "1"], cwd=root)


def run(command: Sequence[str | Path], cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    """Run a command; SystemExit with its output if it fails."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, env=env
    )
    if done.returncode != 0:
        raise SystemExit(f"try_wheel: {' '.join(map(str, command))} failed\n{done.stdout}")


def use(core: Path, kernels: Path | None, offline: bool, folder: Path) -> None:
    """Install the core in `folder` and run a study; then install the kernel backends and use one."""
    fresh = folder / "venv"
    run([sys.executable, "-m", "venv", "--without-pip", fresh])
    scripts = fresh / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(scripts / "python"), "install"]
    here = {key: value for key, value in os.environ.items() if not key.startswith(("CWNDLAB", "PYTHON"))}
    if offline:
        pip += ["--no-deps", "--no-compile"]
        # A folder on this path provides its packages, but not the `.pth` files that lead to the working tree.
        here["PYTHONPATH"] = sysconfig.get_path("purelib")
    run([*pip, core])
    found = "import cwndlab, sys; sys.exit(not cwndlab.__file__.startswith(sys.prefix))"
    run([scripts / "python", "-c", found], cwd=folder, env=here)

    def study(name: str, *more: str) -> None:
        run([scripts / "cwndlab", "run", "rfc2416", *ONE_CELL, *more, "-o", folder / name], folder, here)
        if not (folder / name / "report.html").exists():
            raise SystemExit(f"try_wheel: no report with {more}")

    study("simulator")
    asked = subprocess.run(
        [scripts / "cwndlab", "linux"], cwd=folder, env=here, capture_output=True, text=True
    )
    if "cwndlab[linux]" not in asked.stderr:
        raise SystemExit(f"try_wheel: without the kernels' side, `cwndlab linux` says {asked.stderr}")
    if kernels is None:
        return
    run([*pip, kernels])
    doctor = subprocess.run(
        [scripts / "cwndlab", "doctor"], cwd=folder, env=here, capture_output=True, text=True
    )
    if "ok  linux: virtual time" in doctor.stdout:
        study("kernel", "--backend", "linux-virtual")
    else:
        print("try_wheel: no kernel in virtual time here, so none is tried", file=sys.stderr)


def main() -> None:
    """Check the contents, then use the wheels."""
    paths = [Path(word).resolve() for word in sys.argv[1:] if not word.startswith("--")]
    for path in paths:
        if lacks := list(missing(path) if path.suffix == ".whl" else missing_sources(path)):
            raise SystemExit(f"try_wheel: {path.name} lacks {', '.join(lacks)}")
    wheels = [path for path in paths if path.suffix == ".whl"]
    kernels = next((path for path in wheels if is_kernels(path)), None)
    for core in (path for path in wheels if path != kernels):
        with tempfile.TemporaryDirectory() as folder:
            use(core, kernels, "--offline" in sys.argv, Path(folder))
    print(f"{', '.join(path.name for path in paths)}: complete{', and they run' if wheels else ''}")


if __name__ == "__main__":
    main()
