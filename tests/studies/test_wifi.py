"""The study wifi: what a pause of the link costs a transfer."""

from __future__ import annotations

import pytest

from cwndlab.api import Study
from cwndlab.results.result import RunResult


@pytest.fixture(scope="module")
def run() -> RunResult:
    study = Study.load("wifi").set({"air": "single", "sender": ["cubic", "quinn-cubic", "quinn-bbr"]})
    return study.run(replicates=1)


def value(run: RunResult, quantity: str, pauses: str, sender: str) -> float:
    (runs,) = [
        values
        for (cell, name), values in run.results.data.items()
        if name == quantity and f"pauses={pauses}," in cell and f"sender={sender}," in cell
    ]
    return float(runs[0])


def test_three_megabytes_take_the_time_of_the_link_and_the_pauses_theirs(run: RunResult) -> None:
    """2,073 segments of 1448 bytes with 52 bytes of headers are 2.49 s at 10 Mb/s."""
    for sender in ("cubic", "quinn-cubic"):
        none = value(run, "time", "none", sender)
        assert 2.49 < none < 2.53
        assert value(run, "time", "one", sender) - none == pytest.approx(0.25, abs=0.01)
        assert value(run, "time", "row", sender) - none == pytest.approx(1.5, abs=0.02)


def test_a_pause_makes_nobody_repeat_what_arrived(run: RunResult) -> None:
    for sender in ("cubic", "quinn-cubic"):
        assert value(run, "again", "one", sender) == pytest.approx(
            value(run, "dropped", "one", sender), abs=0.05
        )
    assert value(run, "dropped", "one", "cubic") == 0 < 5 < value(run, "dropped", "one", "quinn-cubic")


def test_quinns_bbr_drops_a_third_behind_a_short_buffer(run: RunResult) -> None:
    assert value(run, "dropped", "scan", "quinn-bbr") > 20 > 5 > value(run, "dropped", "scan", "cubic")
