"""The study c4-tests: transfers over links that change, by the draft of C4's tests."""

from __future__ import annotations

import pytest

from cwndlab.api import Study
from cwndlab.results.result import RunResult


@pytest.fixture(scope="module")
def run() -> RunResult:
    return Study.load("c4-tests").set(law=["cubic", "bbr1"]).run(replicates=1)


def time(run: RunResult, test: str, law: str) -> float:
    rows = run.estimates.to_arrow().to_pylist()
    (value,) = [r["value"] for r in rows if (r["quantity"], r["test"], r["law"]) == ("time", test, law)]
    assert isinstance(value, float)
    return value


@pytest.mark.parametrize(
    ("test", "least"),
    [
        ("link-20", 10 * 8 / 20),
        ("low-and-up", 2.5 + (7 * 8 - 2.5 * 5) / 10),
        ("drop-and-back", 2 + (7 * 8 - 2 * 5) / 10),
        ("black-hole", 2 + 10 * 8 / 25),
        ("short-to-long", 20 * 8 / 10),
        ("wifi-fade", 2 + (10 * 8 - 2 * 2) / 20),
        ("wifi-suspension", 2 * 0.2 + 10 * 8 / 20),
    ],
)
def test_a_transfer_takes_what_its_link_leaves_and_little_more(
    run: RunResult, test: str, least: float
) -> None:
    """CUBIC; headers alone add 3.6 %."""
    assert 1.036 * least < time(run, test, "cubic") < 1.2 * least


def test_bbr_keeps_the_round_trip_of_a_path_that_became_longer(run: RunResult) -> None:
    assert time(run, "short-to-long", "bbr1") > 1.3 * time(run, "short-to-long", "cubic")
