"""A run that will exceed its budget of events or memory is announced before it starts."""

from __future__ import annotations

import pytest

from cwndlab.api import Study
from cwndlab.apps.check import estimate
from cwndlab.apps.check.estimate import excess_of_budget

TEXT = """
title = "Many packets"
measure = ["goodput"]
[dumbbell]
rate = "1Gbps"
rtt = "20ms"
flows = [{ cc = "cubic" }]
[probes]
segments_at = "left"
[run]
duration = "60s"
replicates = 1
"""


def test_what_a_run_needs_beyond_its_budget_is_said_before_it() -> None:
    """The run fails at 28.7 s with the default budget of memory, and at 27.0 s with 10 million events."""
    plan = Study.from_toml(TEXT).plan()
    said = excess_of_budget(plan)
    assert (
        said.startswith("base is likely to need ")
        and " MB of memory, more than --max-memory (403 MB)" in said
    )
    assert 25 < float(said.partition("after some ")[2].partition(" s of 60 s")[0]) < 35
    assert excess_of_budget(plan, max_memory_bytes=2 << 30) == ""
    said = excess_of_budget(plan, max_events=10_000_000, max_memory_bytes=2 << 30)
    assert " events, more than --max-events (1.0e+07)" in said


def test_small_cells_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "run_here", lambda *_, **__: pytest.fail("was run"))
    assert excess_of_budget(Study.from_toml(TEXT.replace("60s", "10s")).plan()) == ""
