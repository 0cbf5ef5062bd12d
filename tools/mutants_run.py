"""Insert one fault into a copy of the repository, and run tests on it."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from mutants_seen import record, test_files
from repository import ROOT, files

#: Results that count as found by the area's own tests.
KILLED = ("killed", "timeout")
#: Files that `make setup` builds into the packages, which tests need.
BUILT = [
    "python/cwndlab/*.so",
    "python/cwndlab/report/live/engine.*",
    "linux/cwndlab_linux/cwndlab-router",
    "python/cwndlab/THIRD-PARTY.txt",
]
#: Most memory of a process in bytes, since a fault may allocate without limit.
MEMORY = 6 << 30
#: Cases of each property test of a crate: in all tests, and in the unit tests, which run first.
CASES, CASES_FIRST = 64, 16
#: The name of the first failed test, as pytest and cargo test print it.
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)|^---- (\S+) stdout ----", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """A fault: its place, the change, and how its tool makes it (`diff`, or `operator` and `occurrence`)."""

    language: str
    area: str
    file: str
    line: int
    column: int
    change: str
    #: The line without the fault.
    code: str
    how: dict[str, str]

    @property
    def name(self) -> str:
        """The place and the change, in the format of compilers' messages."""
        return f"{self.file}:{self.line}:{self.column}: {self.change}"


@dataclass(frozen=True)
class Areas:
    """The content of `mutants.toml`: crates, tests of Python packages, and arguments."""

    rust: list[str]
    python: dict[str, list[str]]
    strict: list[str]
    percent: tuple[int, int]
    equivalent: list[dict[str, str]]

    @classmethod
    def read(cls, path: Path) -> Areas:
        """Reads the file."""
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        strict = read["strict"]
        percent = strict["most_percent"], strict["most_percent_elsewhere"]
        return cls(
            read["rust"]["crates"], read["python"], strict["areas"], percent, read.get("equivalent", [])
        )

    def of_python(self, file: str) -> str:
        """The area of a file: its package in `cwndlab`, its application, `linux` or `root`."""
        root, _, *parts = Path(file).parts
        if root == "linux":
            return root
        if parts[0] == "apps":
            del parts[0]
        return parts[0] if len(parts) > 1 else "root"

    def most_percent(self, area: str) -> int:
        """Largest percentage of an area's mutants that may survive."""
        return self.percent[0 if area in self.strict else 1]

    def argument(self, mutant: Mutant) -> str | None:
        """The argument why a mutant is equivalent; None if there is none."""
        key = (mutant.file, mutant.code, mutant.change)
        found = (one["why"] for one in self.equivalent if (one["file"], one["code"], one["change"]) == key)
        return next(found, None)

    def elsewhere(self, mutant: Mutant) -> list[str]:
        """The command that tests all other areas."""
        if mutant.language == "rust":
            return [
                "cargo",
                "test",
                "--locked",
                "--quiet",
                "--workspace",
                "--exclude",
                f"cwndlab-{mutant.area}",
            ]
        return [*PYTEST, "tests", *(f"--ignore={path}" for path in self.python[mutant.area])]


#: pytest's exit status for invalid arguments, such as a missing file.
USAGE = 4
#: pytest's message, with the same status, if a fault prevents the import of the sources.
CONFTEST = "ImportError while loading conftest"
PYTHON = str(ROOT / ".venv/bin/python")
PYTEST = [PYTHON, "-m", "pytest", "-x", "-q", "-rfE", "-p", "no:cacheprovider"]


class Copy:
    """A copy of the repository in which mutants are made, so that the sources stay unchanged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        built = [path for pattern in BUILT for path in ROOT.glob(pattern)]
        wanted = {path.relative_to(ROOT): path for path in [*files(), *built]}
        for old in [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]:
            if old.relative_to(folder) not in wanted and "target" not in old.relative_to(folder).parts[:1]:
                old.unlink()
        for name, path in wanted.items():
            there = folder / name
            if not there.exists() or there.read_bytes() != path.read_bytes():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, there)
        for link in (".venv", "web/node_modules"):
            if (ROOT / link).exists() and not (folder / link).is_symlink():
                (folder / link).symlink_to(ROOT / link)

    def make(self, mutant: Mutant) -> bool:
        """Insert the fault into the copy; False if cosmic-ray fails, as for `except` with a dotted name."""
        lines = (ROOT / mutant.file).read_text(encoding="utf-8").splitlines()
        if mutant.code not in lines[mutant.line - 1 : mutant.line]:
            raise SystemExit(
                f"{mutant.name}: the line has changed since the mutants were drawn; use another seed"
            )
        if "diff" in mutant.how:
            text, command = mutant.how["diff"], ["patch", "--quiet", mutant.file]
        else:
            ray = ROOT / "build/mutants/venv/bin/cosmic-ray"
            text, command = "", [str(ray), "apply", mutant.file, *mutant.how.values()]
        done = subprocess.run(
            command, cwd=self.folder, input=text, text=True, check=False, stderr=subprocess.PIPE
        )
        if "AttributeError" in done.stderr:
            return False
        done.check_returncode()
        return True

    def restore(self, mutant: Mutant) -> None:
        """Remove the fault; the file gets a new modification time, which cargo checks."""
        shutil.copy(ROOT / mutant.file, self.folder / mutant.file)

    def test(
        self, command: list[str], cpu_limit_s: float | None, cases: int = CASES
    ) -> tuple[bool | None, str, float]:
        """Whether tests pass (None: stopped at the limit), their output, and their CPU seconds.

        `cases` is the number of cases of each property test of a crate.
        """
        before = _cpu_s()
        with tempfile.TemporaryDirectory() as scratch:
            environment = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join(str(self.folder / name) for name in ("python", "linux")),
                "CARGO_TARGET_DIR": str(self.folder / "target"),
                "CARGO_PROFILE_DEV_DEBUG": "0",
                "PROPTEST_CASES": str(cases),
                "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
                "HYPOTHESIS_STORAGE_DIRECTORY": scratch,
            }
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                text=True,
                errors="replace",  # the output may not be text
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: _limit(cpu_limit_s),
            )
            try:
                said, _ = process.communicate(timeout=None if cpu_limit_s is None else 10 * cpu_limit_s)
                passed = {0: True, -signal.SIGXCPU: None}.get(process.returncode, False)
                if process.returncode == USAGE and CONFTEST not in said:
                    raise SystemExit(f"{' '.join(command)}:\n{said[-3000:]}")
            except subprocess.TimeoutExpired:
                said, passed = "", None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
        return passed, said, _cpu_s() - before


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _limit(cpu_s: float | None) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    if cpu_s is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 5))


def crate_tests(copy: Copy, mutant: Mutant, folder: Path) -> tuple[list[str], float]:
    """The command that tests a mutant's crate, and the CPU seconds that it takes without a fault.

    Tests that fail without a fault would kill every mutant, so they raise SystemExit.
    """
    command = ["cargo", "test", "--locked", "--quiet", "--package", f"cwndlab-{mutant.area}"]
    kept = folder / f"baseline-rust-{mutant.area}.json"
    if not kept.exists():
        passed, said, cpu_s = copy.test(command, None)
        if not passed:
            raise SystemExit(f"the tests of {mutant.area} fail without a fault:\n{said[-3000:]}")
        kept.write_text(json.dumps({"cpu_s": cpu_s}))
    return command, float(json.loads(kept.read_text())["cpu_s"])


def package_tests(copy: Copy, areas: Areas, mutant: Mutant) -> tuple[list[str], float]:
    """The command that tests a Python mutant's line, and its CPU seconds without a fault.

    If no test file is recorded to execute the line, the files that mention the module run (perhaps in a
    kernel).
    """
    paths = areas.python[mutant.area]
    seen = {path: record(copy.folder, PYTHON, path) for path in paths}
    tests = [
        test
        for path, part in seen.items()
        for test in part.tests(copy.folder, mutant.file, mutant.line, test_files(copy.folder, path))
    ]
    if not tests:
        module = re.compile(rf"\b{Path(mutant.file).stem}\b")
        of_area = [test for path in paths for test in test_files(copy.folder, path)]
        tests = [test for test in of_area if module.search((copy.folder / test).read_text(encoding="utf-8"))]
    cpu_s = sum(part.cpu_s.get(test, 0.0) for part in seen.values() for test in tests)
    return [*PYTEST, *tests] if tests else [], cpu_s


def try_mutant(
    copy: Copy, areas: Areas, mutant: Mutant, folder: Path, elsewhere: bool
) -> tuple[str, str, float]:
    """The result, the test that failed, and the CPU seconds.

    The limit is three times the CPU time of the tests without a fault, plus 30 s. A crate's unit tests run
    first, with fewer cases; the other tests are built only if these find nothing.
    """
    if mutant.language == "rust":
        command, usual_s = crate_tests(copy, mutant, folder)
    else:
        command, usual_s = package_tests(copy, areas, mutant)
    if not copy.make(mutant):
        return "unviable", "", 0.0
    try:
        if mutant.language == "rust":
            built, said, first_s = copy.test([*command, "--lib", "--no-run"], None)
            if not built:
                return "unviable", "", first_s
            passed, said, cpu_s = copy.test([*command, "--lib"], 3 * usual_s + 30, CASES_FIRST)
            if not passed:
                return _verdict(passed), _failed(said), first_s + cpu_s
        elif not _compiles(copy.folder / mutant.file):
            return "unviable", "", 0.0
        passed, said, cpu_s = copy.test(command, 3 * usual_s + 30) if command else (True, "", 0.0)
        if not passed:
            return _verdict(passed), _failed(said), cpu_s
        if elsewhere:
            passed, said, more = copy.test(areas.elsewhere(mutant), None)
            return "survived" if passed else "elsewhere", "" if passed else _failed(said), cpu_s + more
        return "survived", "", cpu_s
    finally:
        copy.restore(mutant)


def _verdict(passed: bool | None) -> str:
    """The result for a mutant whose tests failed, or were stopped at the limit (None)."""
    return "timeout" if passed is None else "killed"


def _compiles(path: Path) -> bool:
    try:
        compile(path.read_text(encoding="utf-8"), str(path), "exec")
    except SyntaxError:
        return False
    return True


def _failed(said: str) -> str:
    found = FAILED.search(said)
    return next((group for group in found.groups() if group), "") if found else said.strip()[-200:]
