"""The study incast: timeouts of TCP and DCTCP where many servers answer at once."""

from __future__ import annotations

import pytest

from cwndlab.api import Study
from cwndlab.results.result import RunResult


@pytest.fixture(scope="module")
def run() -> RunResult:
    study = Study.load("incast").set(
        {"grid": "static", "servers": [5, 20], "least": "10ms", "run.duration": "3s"}
    )
    return study.run(replicates=1)


def value(run: RunResult, quantity: str, law: str, servers: int) -> float:
    (runs,) = [
        values
        for (cell, name), values in run.results.data.items()
        if name == quantity and f"law={law}," in cell and f"servers={servers}" in cell
    ]
    return float(runs[0])


def test_tcp_waits_for_timers_and_dctcp_does_not(run: RunResult) -> None:
    assert value(run, "timeouts", "tcp", 5) < 15 < 50 < value(run, "timeouts", "tcp", 20)
    assert value(run, "timeouts", "dctcp", 5) == value(run, "timeouts", "dctcp", 20) == 0
    assert value(run, "query_time", "tcp", 20) > 1.5 * value(run, "query_time", "dctcp", 20)


def test_a_query_of_a_megabyte_takes_the_time_of_the_link(run: RunResult) -> None:
    """685 segments of 1500 bytes and 12 with headers at 1 Gb/s are 8.2 ms, and a query takes a round trip."""
    for servers in (5, 20):
        assert 8.2 < value(run, "query_time", "dctcp", servers) < 8.7
