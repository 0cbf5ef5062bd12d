"""`--backend linux`: performs a plan's runs on this machine's kernel, in several testbeds at a time."""

from __future__ import annotations

import hashlib
import heapq
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cwndlab.base.arrow_tables import decode_tables, encode_tables
from cwndlab.base.core import KeptRecords
from cwndlab.base.errors import OutputError, RunError, problem_at
from cwndlab.base.plain_files import read_inside, write_inside
from cwndlab.base.writing import output_errors
from cwndlab.plan.plan import Cell
from cwndlab.plan.scenario import watched_host
from cwndlab.runs.executors.protocol import Job, Outcome, Progress, Work
from cwndlab.study.schema import Limits

from . import run_records, stack, validity
from .netns import PROGRAM_FOLDERS, end_session, make_folder, sweep
from .router_program import find_router

#: Number of simultaneous testbeds; a run takes real time but little CPU time.
AT_ONCE = 24
#: Most attempts of a run that the machine disturbs; the number of attempts is recorded with the run.
ATTEMPTS = 3


def capture_name(cell: str) -> str:
    """The file name of a cell's capture in the folder of the kernel's runs."""
    return re.sub(r"[^\w=,.+-]", "_", cell) + ".pcapng"


@dataclass
class RunProcess:
    """A run in progress."""

    job: Job
    scenario: Mapping[str, Any]
    folder: Path
    process: subprocess.Popen[str]
    attempt: int
    began: float
    deadline: float
    #: Why earlier attempts were invalid.
    earlier: list[str] = field(default_factory=list)
    #: Why the run was aborted; None if it was not.
    hung: str | None = None
    #: The last sign that the guest's clock runs, and when it was seen.
    beat: tuple[int, float] = (0, 0.0)
    #: Digests of the first run's output, if this run repeats it for verification.
    before: Mapping[str, str] | None = None
    #: Digests of this run's output.
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def length_s(self) -> float:
        """Duration of the scenario in seconds."""
        return length_s(self.scenario)


def length_s(scenario: Mapping[str, Any]) -> float:
    """Duration of a scenario in seconds."""
    return float(scenario["duration_ns"]) / 1e9


@dataclass
class Kernel:
    """The executor for this machine's kernel."""

    backend = "linux"
    #: Advice on how to get a congestion control that this kernel lacks.
    more_laws = "`modprobe tcp_{}` adds it where it is a module, and --backend linux-virtual has more"

    stack: stack.Stack
    at_once: int | None = None
    limits: Limits = field(default_factory=Limits)
    #: The folder for the stamps of runs; None: they are not saved.
    keep: Path | None = None
    #: Whether a single run is made, whose outputs are kept whatever its replicate.
    is_single: bool = False
    real_time: bool = True
    device: str | None = None
    stamps: dict[str, dict[str, Any]] = field(default_factory=dict)
    attempts: int = ATTEMPTS
    #: Whether first replicates run twice, to check that both runs are equal.
    verify: bool = False
    watcher: Progress | None = None
    #: Wall seconds per simulated second; None until known from a run.
    pace: float | None = 1.0
    _cells: dict[str, Cell] = field(default_factory=dict, repr=False)

    @property
    def key(self) -> str:
        """A part of every result's key: results depend on kernel, configuration and limits of validity."""
        return self._key(self.release)

    def _key(self, release: str) -> str:
        parts = [self.backend, release, self.stack.as_dict(), dict(self.limits)]
        return json.dumps(parts, sort_keys=True)

    @property
    def keys(self) -> Mapping[str, str]:
        """The keys of cells that run on another kernel than the others."""
        return {}

    @property
    def release(self) -> str:
        """The release of the kernel."""
        return platform.release()

    @property
    def releases(self) -> str:
        """The kernels of all cells, as text."""
        return self.release

    @property
    def side_by_side(self) -> int:
        """Number of simultaneous runs."""
        return self.at_once or AT_ONCE

    def allowed_s(self, scenario: Mapping[str, Any]) -> float:
        """Wall seconds after which a run is aborted."""
        return length_s(scenario) + 120

    def prepare(self, cells: Iterable[Cell]) -> None:
        """Prepares for the runs of these cells; StudyError if something is missing."""
        self._cells |= {cell.id: cell for cell in cells}

    def more_of(self, job: Job) -> Mapping[str, Any]:
        """Additional content of a job."""
        return {}

    def why_stuck(self, run: RunProcess) -> str | None:
        """Why a run will never end; None if it may end."""
        return None

    def execute(self, jobs: Iterable[Job], work: Work, deliver: Callable[[Outcome], None]) -> None:
        """Performs all jobs; on Ctrl-C, current runs are ended and lost."""
        sweep()
        router = find_router()
        waiting = deque(jobs)
        running: list[RunProcess] = []
        watched_at = time.monotonic()
        try:
            while waiting or running:
                while waiting and len(running) < self.side_by_side:
                    job = waiting.popleft()
                    running.append(self.begin(job, json.loads(job.scenario), router, 1))
                if self.watcher is not None and time.monotonic() - watched_at >= 1:
                    watched_at = time.monotonic()
                    self.watcher.time_left(self._seconds_left(running, waiting))
                for run in [r for r in running if self._is_over(r)]:
                    running.remove(run)
                    self.learn_pace(run.length_s, time.monotonic() - run.began)
                    again = self._finish(run, work, deliver, router)
                    if again is not None:
                        running.append(again)
                time.sleep(0.02)
        finally:
            for run in running:
                self.discard(run)

    def _is_over(self, run: RunProcess) -> bool:
        if run.process.poll() is not None or time.monotonic() > run.deadline:
            return True
        run.hung = self.why_stuck(run)
        return run.hung is not None

    def _seconds_left(self, running: Sequence[RunProcess], waiting: Iterable[Job]) -> float | None:
        """Seconds until all runs will have ended; None if unknown."""
        if self.pace is None:
            return None
        now = time.monotonic()
        ends = [max(run.length_s * self.pace - (now - run.began), 0.0) for run in running]
        heapq.heapify(ends)
        lengths: dict[str, float] = {}
        for job in waiting:
            if job.scenario not in lengths:
                lengths[job.scenario] = length_s(json.loads(job.scenario))
            begins = heapq.heappop(ends) if len(ends) >= self.side_by_side else 0.0
            heapq.heappush(ends, begins + lengths[job.scenario] * self.pace)
        return max(ends, default=0.0)

    def begin(self, job: Job, scenario: Mapping[str, Any], router: Path, attempt: int) -> RunProcess:
        """Starts a run."""
        folder = make_folder()
        content = {
            "scenario": scenario,
            "seed": job.seed,
            "replicate": job.replicate,
            "stack": self.stack.as_dict(),
            "folder": str(folder),
            "router": str(router.absolute()),
            "parent": os.getpid(),
            "limits": validity.router_limits(self.limits),
            "real_time": self.real_time,
            "more_laws": self.more_laws,
            "device": self.device,
            "capture": job.is_first and self.keep is not None,
            **self.more_of(job),
        }
        process = self.start(job, content, folder)
        began = time.monotonic()
        return RunProcess(job, scenario, folder, process, attempt, began, began + self.allowed_s(scenario))

    @staticmethod
    def discard(run: RunProcess) -> None:
        """Ends a run and removes its files."""
        end_session(run.process)  # this also ends its namespaces and its router
        shutil.rmtree(run.folder, ignore_errors=True)

    def start(self, job: Job, content: Mapping[str, Any], folder: Path) -> subprocess.Popen[str]:
        """Starts the process that performs a run, and sends it the job."""
        errors = tempfile.TemporaryFile("w+", dir=folder)
        process = subprocess.Popen(
            [sys.executable, "-m", "cwndlab_linux.testbed"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            text=True,
            start_new_session=True,  # Ctrl-C reaches only this process, which ends the others
        )
        errors.close()
        assert process.stdin is not None
        process.stdin.write(json.dumps(content))
        process.stdin.close()
        return process

    def learn_pace(self, length_s: float, wall_s: float) -> None:
        """Updates the estimated pace from a run that has ended."""

    def last_words(self, folder: Path, process: subprocess.Popen[str]) -> str:
        """The output of a run that ended without a result."""
        return ""

    def _finish(
        self, run: RunProcess, work: Work, deliver: Callable[[Outcome], None], router: Path
    ) -> RunProcess | None:
        """Delivers the outcome, or restarts the run if the machine disturbed it."""
        end_session(run.process)
        try:
            outcome, reasons = self._outcome(run, work)
        finally:
            shutil.rmtree(run.folder, ignore_errors=True)
        if reasons and run.attempt < self.attempts:
            if self.watcher is not None:
                which = f"{run.job.cell}, replicate {run.job.replicate}"
                said = f"attempt {run.attempt} of {self.attempts} is discarded and repeated"
                self.watcher.note(f"note: {which}: {said}: {'; '.join(reasons)}")
            again = self.begin(run.job, run.scenario, router, run.attempt + 1)
            again.earlier = [*run.earlier, "; ".join(reasons)]
            return again
        if self.verify and run.job.is_first and outcome.error is None and run.before is None:
            again = self.begin(run.job, run.scenario, router, run.attempt)
            again.before = run.digests
            return again
        deliver(outcome)
        return None

    def _outcome(self, run: RunProcess, work: Work) -> tuple[Outcome, list[str]]:
        job = run.job
        try:
            result = json.loads((run.folder / "result.json").read_text())
        except (OSError, ValueError):
            words = self.last_words(run.folder, run.process)
            said = run.hung or f"the testbed ended without a result{words}"
            return Outcome(job, {}, 0, error=said), []
        if result.get("of_all"):
            raise RunError(f"no run on a kernel can be set up here: {result['error']}")
        if "link" in result:  # the kernel rejects the link's queue
            cell = self._cells[job.cell]
            at = (*cell.compiled.origins[f"links.{result['link']}.queue"], "qdisc")
            raise cell.study.locate_refusal(problem_at(at, *result["error"]), cell.axes)
        if "error" in result:
            return Outcome(job, {}, 0, error=f"testbed: {result['error']}"), []
        if self.keep is not None and (job.is_first or self.is_single):
            self._keep_outputs(self.keep, run, result["processes"])
        if failed := result["processes_failed"]:
            return Outcome(job, {}, 0, error="; ".join(failed)), []
        reasons = validity.judge(result, self.limits)
        stamp = validity.stamp(result, run.scenario)
        stamp |= {
            "cell": job.cell,
            "replicate": job.replicate,
            "invalid_before": run.earlier,
            "invalid_because": reasons,
        }
        used = {i for t in run.scenario["traffic"] for i in (t["tcp_client"], t["tcp_server"])}
        stamp["differs_from_study"] = stack.differences(
            self.stack, [run.scenario["tcp"][index] for index in sorted(used)]
        )
        if self.verify and job.is_first:
            run.digests = run_records.digests(run.folder / "trace.csv", result["processes"])
            if run.before is not None:
                stamp["second_run_differs"] = self._compare(run, run.before, run.digests)
        self.stamps[job.key] = stamp
        if self.keep is not None:
            self._keep(self.keep, job, stamp, result["sysctls"])
        if reasons:
            said = "invalid, no number of it counts: " + "; ".join(reasons)
            return Outcome(job, {}, 0, error=said, advice=validity.advice(reasons)), reasons
        try:
            watch = watched_host(run.scenario) if job.is_first else None
            made, zero = run_records.tables(run.scenario, result, run.folder / "trace.csv", watch)
            capture = run.folder / "capture.pcapng"
            if self.keep is not None and capture.is_file():
                run_records.set_zero(capture, zero)
                name = f"{self.keep.name}/{capture_name(job.cell)}"
                with output_errors(self.keep):
                    write_inside(self.keep.parent, name, capture.read_bytes())
            kernel = KeptRecords(made, int(result["summary"]["packets"]))
            values = work.measure(job, kernel)
        except (ValueError, KeyError, TypeError, ArithmeticError, IndexError) as error:
            return Outcome(job, {}, 0, error=f"records: {type(error).__name__}: {error}"), []
        kept = encode_tables(made, job.key) if job.keep_records else None
        return Outcome(job, values, kernel.packets, kept), []

    @staticmethod
    def _keep(folder: Path, job: Job, stamp: dict[str, Any], sysctls: Mapping[str, Any]) -> None:
        """Saves the stamp in its own file, and the sysctls, which runs share, once for each content."""
        text = json.dumps(sysctls, indent=1, sort_keys=True).encode()
        name = f"sysctls-{hashlib.sha256(text).hexdigest()[:12]}.json"
        stamp["sysctls"] = name
        content = json.dumps(stamp, indent=1).encode()
        with output_errors(folder):
            if not (folder / name).exists():
                write_inside(folder.parent, f"{folder.name}/{name}", text)
            write_inside(folder.parent, f"{folder.name}/{job.key}.json", content)

    def _compare(self, run: RunProcess, before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
        """The names of outputs that differ between two runs; also reports them."""
        different = [name for name, digest in before.items() if now.get(name) != digest]
        if self.watcher is not None:
            which = f"{run.job.cell}, replicate {run.job.replicate}: a second run"
            if different:
                self.watcher.note(f"note: {which} differs in {', '.join(different)}")
            else:
                self.watcher.note(f"{which} is the same")
        return different

    @staticmethod
    def _keep_outputs(folder: Path, run: RunProcess, processes: Sequence[Mapping[str, Any]]) -> None:
        """Saves the output of programs, and the qlog that they wrote, next to the stamps."""
        for process in processes:
            name = f"{run.scenario['traffic'][process['traffic']]['name']}-{process['end']}"
            base = f"{folder.name}/programs/{capture_name(run.job.cell).removesuffix('.pcapng')}"
            said = (("out", process["stdout"]), ("err", process["stderr"]))
            kept = [(f"{name}.{kind}", text.encode()) for kind, text in said if text]
            own = run.folder / PROGRAM_FOLDERS / f"{process['traffic']}-{process['end']}"
            kept += [(f"{name}/{path.name}", path.read_bytes()) for path in sorted(own.rglob("*.*qlog"))]
            with output_errors(folder):
                for file, content in kept:
                    write_inside(folder.parent, f"{base}/{file}", content)

    def record(
        self, cell: Cell, seed: int, replicate: int, work: Work, scenario: str | None = None
    ) -> KeptRecords:
        """Performs one run and returns its records; RunError if it failed or is invalid.

        `scenario` replaces the cell's own, with other probes or variables of programs, as JSON.
        """
        outcomes: list[Outcome] = []
        with tempfile.TemporaryDirectory() as folder:
            kernel = replace(self, keep=Path(folder), is_single=True)
            kernel.prepare([cell])
            job = Job("run", cell.id, scenario or cell.scenario, seed, replicate, keep_records=True)
            kernel.execute([job], work, outcomes.append)
            outcome = outcomes[0]
            if outcome.error is not None or outcome.records is None:
                raise RunError(f"{cell.id}: {outcome.error}")
            path = Path(folder, capture_name(cell.id))
            capture = path.read_bytes() if path.is_file() else None
            logs = run_records.logs(Path(folder), json.loads(job.scenario)["traffic"])
        tables = decode_tables(outcome.records, job.key) | {run_records.LOGS: logs}
        return KeptRecords(tables, outcome.packets, capture)

    def _stamps(self) -> list[Path]:
        if self.keep is None or not self.keep.is_dir():
            return []
        return [path for path in sorted(self.keep.glob("*.json")) if not path.name.startswith("sysctls-")]

    def provenance(self) -> dict[str, Any]:
        """The additional content of provenance.json."""
        stamps = dict(self.stamps)
        for path in self._stamps():
            stamps.setdefault(path.stem, _read_stamp(path))
        ordered = sorted(stamps.values(), key=lambda stamp: (stamp["cell"], stamp["replicate"]))
        notes = sorted({note for stamp in ordered for note in stamp["differs_from_study"]})
        return {
            "backend": self.backend,
            "kernel": self.releases,
            "stack": {
                **self.stack.as_dict(),
                "about": self.stack.about,
                "settings": stack.describe_settings(self.stack.as_dict()),
            },
            "limits": dict(self.limits),
            "differs_from_study": notes,
            "kernel_runs": ordered,
        }


def _read_stamp(path: Path) -> dict[str, Any]:
    """The stamp of a run on a kernel; OutputError if the file is invalid."""
    try:
        stamp: dict[str, Any] = json.loads(read_inside(path.parent.parent, f"{path.parent.name}/{path.name}"))
        if not isinstance(stamp["replicate"], int) or not isinstance(stamp["cell"], str):
            raise TypeError(stamp["cell"])
        stamp["differs_from_study"] = list(map(str, stamp["differs_from_study"]))
    except (ValueError, KeyError, TypeError):
        raise OutputError(
            f"{path}: is not what a run on a kernel leaves there; remove it, and run the study again"
        ) from None
    return stamp
