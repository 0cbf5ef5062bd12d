"""Record which test files execute a line of the Python sources, so that a mutant runs only these."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from repository import ROOT

FOLDER = ROOT / "build" / "mutants"
#: Folders of the Python sources.
TREES = ["python/cwndlab", "linux/cwndlab_linux"]
#: Where coverage is installed: outside of `.venv`, because no test needs it.
COVERAGE = FOLDER / "coverage"


@dataclass(frozen=True)
class Seen:
    """The record of some test files: the lines that each executes, also in child processes."""

    #: Digests of the sources and tests at the time of recording.
    digests: dict[str, str]
    #: CPU seconds of each test file.
    cpu_s: dict[str, float]
    #: For each source and line, the test files that execute it.
    lines: dict[str, dict[str, list[str]]]

    def tests(self, copy: Path, source: str, line: int, of: list[str]) -> list[str]:
        """The test files in `of` that execute a line: unrecorded ones, then the others, the quickest first.

        All files if the line runs on import, when only the first test seems to execute it, or if the source
        has changed since it was recorded.
        """
        new = [test for test in of if _digest(copy / test) != self.digests.get(test)]
        known = sorted((test for test in of if test not in new), key=lambda test: self.cpu_s.get(test, 0.0))
        executed = self.lines.get(source, {})
        statement = _statement(copy / source, line)
        if statement is None or _digest(copy / source) != self.digests.get(source):
            near = {test for tests in executed.values() for test in tests}
            return new + sorted(known, key=lambda test: test not in near)
        found = {test for at in statement for test in executed.get(str(at), [])}
        return new + [test for test in known if test in found]


def test_files(copy: Path, path: str) -> list[str]:
    """The test files in a folder of the copy, or the given file itself."""
    found = sorted((copy / path).glob("test_*.py")) if (copy / path).is_dir() else [copy / path]
    return [str(test.relative_to(copy)) for test in found]


def record(copy: Path, python: str, path: str) -> Seen:
    """Records the tests of a folder in a run without a fault, or loads an earlier record."""
    kept = FOLDER / f"seen-{path.replace('/', '-')}.json"
    if not kept.exists():
        scratch = kept.with_suffix("")
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        settings = scratch / "coveragerc"
        settings.write_text(
            f"[run]\ndata_file = {scratch}/data\nparallel = true\nsigterm = true\n"
            f"concurrency = thread,multiprocessing\ncontext = ${{PYTEST_CURRENT_TEST-}}\n"
            f"source = {copy}/python/cwndlab\n    {copy}/linux/cwndlab_linux\n"
            "disable_warnings = no-data-collected,module-not-imported,module-not-measured,couldnt-parse\n"
        )
        where = [copy / "python", copy / "linux", COVERAGE, ROOT / "tools" / "mutants_record"]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, where)),
            "COVERAGE_PROCESS_START": str(settings),
            "CWNDLAB_RECORD": str(scratch),
        }
        pytest = [python, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", "-p", "recording"]
        done = subprocess.run([*pytest, path], cwd=copy, env=environment, stdout=subprocess.PIPE, text=True)
        (scratch / "tests.log").write_text(done.stdout, encoding="utf-8")
        environment.pop("COVERAGE_PROCESS_START")
        for word, *more in (["combine"], ["json", "--show-contexts", "-o", f"{scratch}/lines.json"]):
            command = [python, "-m", "coverage", word, f"--rcfile={settings}", "--quiet", *more]
            subprocess.run(command, cwd=copy, env=environment, check=True)
        files = json.loads((scratch / "lines.json").read_text(encoding="utf-8"))["files"]
        cpu_s = json.loads((scratch / "cpu.json").read_text(encoding="utf-8"))
        lines = {
            str(Path(name)): {
                at: sorted({test for one in contexts if (test := one.split("|")[-1].partition("::")[0])})
                for at, contexts in of["contexts"].items()
            }
            for name, of in files.items()
        }
        sources = [str(file.relative_to(copy)) for tree in TREES for file in (copy / tree).rglob("*.py")]
        digests = {name: _digest(copy / name) for name in [*sources, *cpu_s]}
        kept.write_text(json.dumps({"digests": digests, "cpu_s": cpu_s, "lines": lines}), encoding="utf-8")
    return Seen(**json.loads(kept.read_text(encoding="utf-8")))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _statement(path: Path, line: int) -> range | None:
    """The lines of the statement (or its head) that contains a line; None if the line runs on import."""
    found: range | None = None
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.stmt) and node is not function and node.end_lineno is not None:
                body = getattr(node, "body", None)
                end = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno
                inside = range(node.lineno, end + 1)
                if line in inside and (found is None or len(inside) < len(found)):
                    found = inside
    return found
