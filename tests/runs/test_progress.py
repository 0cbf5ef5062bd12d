"""What is shown while a study runs on the simulator."""

from __future__ import annotations

import os
import sys

import pytest

from cwndlab.api import Study
from cwndlab.apps.processes.processes import Processes
from cwndlab.results.execution import run_study
from cwndlab.runs import progress
from cwndlab.runs.executors.protocol import Job, Outcome, Progress
from cwndlab.runs.executors.threads import Threads
from slow_work import Slow
from small_study import edited


class Heard(Progress):
    def __init__(self) -> None:
        self.parts: list[float] = []

    def under_way(self, replicates: float) -> None:
        self.parts.append(replicates)


class Impatient(Progress):
    """Notes what is done of the runs under way, and interrupts them once it has grown."""

    def __init__(self) -> None:
        self.parts: list[float] = []
        self.asked = False

    def under_way(self, replicates: float) -> None:
        if replicates > 0:
            self.parts.append(replicates)
        if len(set(self.parts)) == 2 and not self.asked:
            self.asked = True
            raise KeyboardInterrupt


@pytest.mark.parametrize("executor", [Threads, Processes])
def test_the_parts_of_runs_under_way_add_up(
    executor: type[Threads | Processes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Laws and metrics in Python run in processes of their own."""
    monkeypatch.setattr("cwndlab.runs.executors.threads.REPORT_S", 0.1)
    # Processes import the work before they know the paths of this one.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    heard, done = Heard(), list[Outcome]()
    jobs = [Job(str(k), "cell", "", 1, k, keep_records=False) for k in range(2)]
    executor(2, watcher=heard).execute(jobs, Slow(), done.append)
    assert len(done) == 2
    assert {0.5, 1.0} <= set(heard.parts) <= {0.0, 0.25, 0.5, 0.75, 1.0}


def test_the_progress_of_one_long_run_is_reported_while_it_is_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cwndlab.runs.executors.threads.REPORT_S", 0.2)
    text = edited(("values = [1, 4]", "values = [4]"), ('duration = "50ms"', 'duration = "500h"'))
    heard = Impatient()
    with pytest.raises(KeyboardInterrupt):
        run_study(Study.from_toml(text), max_events=10**12, threads=1, progress=heard)
    assert heard.parts == sorted(heard.parts) and heard.parts[-1] < 1


def test_the_time_left_follows_from_what_is_done_of_runs_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    shown = progress.Lines(lines.append)
    shown.start(1, 4, 2)  # two were kept from before
    now[0] = 130.0
    shown.under_way(0.5)
    assert lines == ["62 %: 2 of 4 replicates, 0 of 1 cells finished, about 2 min left"]


def test_a_second_run_of_a_search_counts_its_own_cells() -> None:
    shown = progress.Lines([].append)
    for _ in range(2):
        shown.start(cells=2, replicates=2, done=0)
        for _ in range(2):
            shown.advance(1)
            shown.cell_done()
    assert (shown.finished, shown.cells, shown.share) == (2, 2, 1.0)
