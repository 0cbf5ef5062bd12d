"""What running costs beside the engine: counted, not timed, for the machine may be busy."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cwndlab.backends import threads
from cwndlab.runs.run import run_study
from cwndlab.study import Study
from small_study import edited

#: For each replicate (key, run, metrics, values, line in the store, progress, results): twice what it takes.
CALLS = 550

ONE_CELL = edited(("values = [1, 4]", "values = [4]"))


def _calls(study: Study, out: Path, replicates: int) -> int:
    """Calls of functions, in Python or C, that a run makes from Python on all its threads."""
    counted: list[None] = []

    def hook(frame: object, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            counted.append(None)

    threading.setprofile(hook)
    sys.setprofile(hook)
    try:
        run_study(study, out=out, replicates=replicates, threads=1)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return len(counted)


def test_a_replicate_costs_few_calls_beside_the_engine(tmp_path: Path) -> None:
    study = Study.from_toml(ONE_CELL)
    run_study(study, out=tmp_path / "warm")
    few, many = (_calls(study, tmp_path / str(count), count) for count in (100, 300))
    assert (many - few) / 200 < CALLS


RUNNER = """
import resource, sys
from cwndlab.study import Study
from cwndlab.runs.run import run_study
run_study(Study.load(sys.argv[1]), out=sys.argv[2], replicates=int(sys.argv[3]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_is_flat_in_the_number_of_replicates(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(ONE_CELL)
    peak = {}
    for count in (1000, 20_000):
        command = [sys.executable, "-c", RUNNER, tmp_path / "study.toml", tmp_path / str(count), str(count)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peak[count] = int(done.stdout) * 1024
    # A replicate's records are some 10 kB; where its line stands in the store is 0.3 kB.
    assert peak[20_000] - peak[1000] < 19_000 * 1000


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="no /proc/…/schedstat here")
def test_threads_on_real_cells_wait_for_nothing_but_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread runs, or waits for a processor that others have, at least 90 % of its life; the rest would be
    waiting for the GIL or for the store.
    """
    shares: list[float] = []
    work = threads._Pool._work

    def timed(self: threads._Pool) -> None:
        def runnable() -> int:
            ran, waited, _ = Path("/proc/thread-self/schedstat").read_text().split()
            return int(ran) + int(waited)

        began, before = time.perf_counter_ns(), runnable()
        work(self)
        shares.append((runnable() - before) / (time.perf_counter_ns() - began))

    monkeypatch.setattr(threads._Pool, "_work", timed)
    axes = {"model": "reconstructed", "http": "1.0", "webs": 16, "ftps": [0, 1], "iw": [1, 4]}
    study = Study.load("rfc2415").set({**axes, "variant": "base", "run.duration": "120s"})
    study.run(replicates=4, threads=2)
    while len(shares) < 2:  # a thread's last word comes before its end
        time.sleep(0.01)
    assert sum(shares) / 2 > 0.9
