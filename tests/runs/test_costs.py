"""What a run costs next to the engine: memory, the interpreter's lock, and what crosses to the engine."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from cwndlab import _core
from cwndlab.api import Study
from cwndlab.runs.executors import threads
from cwndlab.runs.executors.protocol import Job, Outcome, Stopped, never_stop
from fake_core import replace_core
from small_study import edited

ONE_CELL = edited(("values = [1, 4]", "values = [4]"))


RUNNER = """
import resource, sys
from cwndlab.api import Study
from cwndlab.results.execution import run_study
run_study(Study.load(sys.argv[1]), out=sys.argv[2], replicates=int(sys.argv[3]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_is_flat_in_the_number_of_replicates(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(ONE_CELL)
    peak = {}
    for count in (1000, 6000):
        command = [sys.executable, "-c", RUNNER, tmp_path / "study.toml", tmp_path / str(count), str(count)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peak[count] = int(done.stdout) * 1024
    # A replicate's records are some 10 kB; its line in the store is 0.3 kB.
    assert peak[6000] - peak[1000] < 5000 * 1500


def test_a_run_leaves_the_interpreter_to_other_threads() -> None:
    """The other thread asks the run to end. Were the GIL held meanwhile, the budget would end it."""
    endless = Study.from_toml(ONE_CELL).set({"run.duration": "500h"}).plan().cells[0].compiled.scenario
    asked = threading.Event()
    ended: list[type[BaseException]] = []

    def simulate() -> None:
        try:
            _core.run(json.dumps(endless), 1, 0, max_events=20_000_000, stopped=lambda share: asked.is_set())
        except (_core.RunStopped, _core.BudgetError) as error:
            ended.append(type(error))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # threads take turns only where one lets go
    try:
        thread = threading.Thread(target=simulate)
        thread.start()
        asked.set()
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert ended == [_core.RunStopped]


class Meeting:
    """Work whose jobs wait for one another."""

    def __init__(self, count: int) -> None:
        self.barrier = threading.Barrier(count, timeout=30)

    def check(self) -> None:
        pass

    def perform(self, jobs: Sequence[Job], stopped: Stopped = never_stop) -> Iterator[Outcome]:
        for job in jobs:
            self.barrier.wait()
            yield Outcome(job, {}, 0)

    def measure(self, job: Job, records: object) -> dict[str, float | list[float]]:
        return {}


def test_as_many_runs_are_under_way_as_there_are_threads() -> None:
    done: list[Outcome] = []
    jobs = [Job(str(number), "cell", "", 1, number, keep_records=False) for number in range(3)]
    threads.Threads(3).execute(jobs, Meeting(3), done.append)
    assert {outcome.job.key for outcome in done} == {"0", "1", "2"}


def test_a_job_takes_its_scenario_to_other_processes_once() -> None:
    content = {"duration_ns": 1, "links": ["long"] * 1000}
    job = Job("0", "cell", json.dumps(content), 1, 0, keep_records=False, content=content)
    assert job.parsed is content
    sent = pickle.dumps(job)
    assert len(sent) < 1.1 * len(job.scenario)
    assert pickle.loads(sent).parsed == content


def test_a_profile_is_read_once_for_all_cells() -> None:
    read: list[str] = []

    real = _core.tcp_profile

    class Counting:
        """The core, noting each profile that is asked for."""

        def tcp_profile(self, name: str) -> str:
            read.append(name)
            return real(name)

    replace_core(Counting())
    try:
        cells = Study.load("rfc2415").plan().cells[:20]
        scenarios = [cell.compiled.scenario for cell in cells]
    finally:
        replace_core(None)
    assert 0 < len(read) == len(set(read))
    configs = {id(config) for scenario in scenarios for config in scenario["tcp"]}
    assert len(configs) == sum(len(scenario["tcp"]) for scenario in scenarios)


def test_help_loads_none_of_the_packages_that_take_long() -> None:
    script = (
        "import sys; from cwndlab.cli import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "print({'numpy', 'pyarrow', 'pydantic', 'importlib.metadata._meta'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
