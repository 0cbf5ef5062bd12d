"""What is shown while runs on a kernel are under way: time left, and attempts that are discarded."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cwndlab.runs.executors.protocol import Job, Outcome
from cwndlab.runs.progress import Lines
from cwndlab.runs.work import MeasuredRuns

if sys.platform != "linux":
    pytest.skip("the kernel backends need Linux", allow_module_level=True)

from cwndlab_linux import real_kernel as backend
from cwndlab_linux.stack_file import load


class Disturbed(backend.Kernel):
    """A kernel whose first attempt of every run is disturbed."""

    def start(self, job: Job, content: Mapping[str, Any], folder: Path) -> subprocess.Popen[str]:
        return subprocess.Popen(["true"], text=True)

    def _outcome(self, run: backend.RunProcess, work: Any) -> tuple[Outcome, list[str]]:
        return Outcome(run.job, {}, 1), ["steal: too much"] if run.attempt == 1 else []


class Watcher:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, line: str) -> None:
        self.notes.append(line)

    def time_left(self, seconds: float | None) -> None:
        pass


def job(seconds: float, replicate: int = 0) -> Job:
    return Job("key", "iw=1", json.dumps({"duration_ns": int(seconds * 1e9)}), 1, replicate, False)


def kernel(**options: Any) -> Disturbed:
    return Disturbed(load("linux-1998"), **options)


def test_a_discarded_attempt_is_reported_at_once_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "find_router", lambda: Path("router"))
    watcher, outcomes = Watcher(), list[Outcome]()
    kernel(watcher=watcher).execute([job(60, 3)], MeasuredRuns(()), outcomes.append)
    wanted = "note: iw=1, replicate 3: attempt 1 of 3 is discarded and repeated: steal: too much"
    assert watcher.notes == [wanted] and len(outcomes) == 1


def test_the_time_left_is_that_of_runs_side_by_side() -> None:
    two = kernel(at_once=2)
    assert two._seconds_left([], [job(60), job(60), job(30)]) == pytest.approx(90)
    two.pace = 0.5
    assert two._seconds_left([], [job(60), job(60), job(30)]) == pytest.approx(45)
    two.pace = None
    assert two._seconds_left([], [job(60)]) is None


def test_a_line_in_ten_seconds_says_how_long_is_left_before_any_run_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[str] = []
    shown = Lines(lines.append)
    shown.start(2, 6, 0)
    shown.time_left(184.0)
    assert lines == []
    monkeypatch.setattr(shown, "EVERY_S", 0.0)
    shown.time_left(184.0)
    shown.time_left(None)
    assert lines == [
        "0 %: 0 of 6 replicates, 0 of 2 cells finished, about 3 min left",
        "0 %: 0 of 6 replicates, 0 of 2 cells finished",
    ]
