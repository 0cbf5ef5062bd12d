"""The series that a page draws are in the units of their axes, and within what the link allows."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import cwndlab
from cwndlab.apps.explore import lessons
from cwndlab.apps.explore.controls import derive_study

LIVE = Path(cwndlab.__file__).parent / "report" / "live"
MODULE = LIVE / "engine.wasm.gz"
SCRIPT = Path(__file__).with_name("series.mjs")

pytestmark = [
    pytest.mark.skipif(
        not MODULE.exists(), reason="no WebAssembly module: rustup lacks wasm32-unknown-unknown"
    ),
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node (apt install nodejs)"),
]


@pytest.fixture(scope="module")
def drawn() -> tuple[dict[str, Any], dict[str, Any]]:
    """The lesson's link with RED, whose thresholds are in bytes, and the series of its graphs."""
    derived = derive_study(lessons.study("queues"))
    state = tuple(
        next(k for k, stop in enumerate(control.stops) if stop.value == "red")
        if control.name == "queue"
        else control.base
        for control in derived.controls
    )
    scenario = {**derived.scenario(state), "duration_ns": 10_000_000_000}
    asked = {"scenario": scenario, "seed": 1, "node": scenario["traffic"][0]["client"]}
    command = ["node", str(SCRIPT), str(MODULE), str(LIVE)]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return scenario["links"][0], json.loads(done.stdout)


def test_the_average_of_red_is_in_packets_where_the_queue_counts_bytes(drawn: Any) -> None:
    link, series = drawn
    assert link["queue"]["unit"] == "bytes"
    average, queue = series["queue"]["RED's average"], series["queue"]["queue"]
    assert 1 < max(average) <= max(queue) <= link["queue"]["limit"] / 1000
    # RED's weight makes the average follow the queue, so their means are near each other.
    assert sum(average) / len(average) == pytest.approx(sum(queue) / len(queue), rel=0.25)


def test_no_rate_is_above_that_of_the_link_although_holes_are_repaired(drawn: Any) -> None:
    link, series = drawn
    assert series["queue"]["dropped"], "there are holes to repair"
    highest = max(series["rates"]["all"])
    assert 0.9 * link["rate_bps"] < 1e6 * highest <= link["rate_bps"]
