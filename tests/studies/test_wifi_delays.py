"""The study wifi-delays: transfers over links whose packets are delayed for a while, or throughout."""

from __future__ import annotations

import pytest

from cwndlab.api import Study
from cwndlab.results.result import RunResult


@pytest.fixture(scope="module")
def run() -> RunResult:
    return Study.load("wifi-delays").run(replicates=5)


def completion(run: RunResult, case: str, law: str) -> float:
    (found,) = [row for row in run.estimates.to_arrow().to_pylist() if _is(row, case, law)]
    return float(found["value"])


def _is(row: dict[str, object], case: str, law: str) -> bool:
    return row["quantity"] == "completion" and row["case"] == case and row["law"] == law


def test_a_path_whose_packets_wait_for_each_other_costs_bbr_more_than_cubic(run: RunResult) -> None:
    assert 3.5 < completion(run, "fade", "bbr1") < 5.5
    assert completion(run, "bad", "cubic") > 6
    assert completion(run, "bad", "bbr1") > 1.3 * completion(run, "bad", "cubic")
