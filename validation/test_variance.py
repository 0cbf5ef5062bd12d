"""Random inputs of a run explain much of its result, and adjusting for them keeps the coverage."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

from cwndlab import Study

from . import variance

RUNS = 80
CELL = "question=window,speed=1,depth=200pkt,iw=10"


def test_half_the_runs_give_the_same_interval() -> None:
    """Fewer runs than the table's 400 suffice to show that adjusting saves runs and keeps the coverage."""
    with ProcessPoolExecutor(2) as pool:
        known = variance.populations(Study.load("modern"), CELL, RUNS, pool)
    for name, least in (("utilization", 6.0), ("wait", 2.0)):
        found = variance.mean_of(known[name], 20, 300)
        assert found.saved > least, name
        assert found.second > 91.0, name
        assert known[name].explained > 0.6
