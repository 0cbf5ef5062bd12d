"""The shipped study l4s: what a short run of its cells shows."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import cwndlab
from cwndlab import _core, metrics
from cwndlab.api import Study
from cwndlab.records.run_view import WholeRun


@pytest.fixture(scope="module")
def study() -> Study:
    folder = Path(cwndlab.__file__).parent / "studies/l4s"
    raw = tomllib.loads((folder / "study.toml").read_text())
    for value in raw["axes"]["question"]["values"]:
        value["set"] |= {"run.duration": "20s", "run.warmup": "8s"}
    return Study.from_dict(raw, name="l4s", folder=folder)


def measured(study: Study, **axes: Any) -> dict[str, Any]:
    [one] = [c for c in study.plan().cells if c.axes == axes]
    view = WholeRun(_core.run(one.scenario, 9332, 0), one.compiled.scenario)
    return metrics.Measurer(study.outline.quantities).measure(view)


def test_two_cubics_share_dualpi2_and_wait_for_its_target(study: Study) -> None:
    values = measured(study, question="pairs", queue="dualpi2", rtts="10-10")
    assert 0.7 < values["rate_ratio"] < 1.4 and values["marks"] > 20 and values["drop_rate"] == 0
    assert 20 < values["first_trip"] < 30, "10 ms of path and 15 of queue"
    assert values["utilization"] > 99


def test_a_shallow_queue_favours_the_shorter_round_trip_more_than_a_deep_one(study: Study) -> None:
    shallow, deep = (
        measured(study, question="pairs", queue=kind, rtts="160-10") for kind in ("dualpi2", "pfifo")
    )
    assert shallow["second_trip"] < 40 < 100 < deep["second_trip"]
    assert shallow["rate_ratio"] > 1.5


def test_prague_hardly_waits_in_dualpi2_and_shares_with_cubic(study: Study) -> None:
    values = measured(study, question="mixed", l4s="dualpi2", other="cubic-ecn")
    assert values["first_trip"] < 11.5 and 12 < values["second_trip"] < 20, "1 ms and 5 ms of queue"
    assert 0.5 < values["rate_ratio"] < 2 and values["marks"] > 1000 and values["drop_rate"] == 0


def test_prague_takes_most_of_one_queue_that_marks(study: Study) -> None:
    values = measured(study, question="single", marking="pie", other="cubic-ecn")
    assert values["first_rate"] > 5 * values["second_rate"]
