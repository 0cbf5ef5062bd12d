"""Intervals have the claimed coverage, or the table says why they cannot."""

from __future__ import annotations

import math

import pytest

from . import coverage
from .coverage import CASES, CLAIMED, REPLICATES, Case

TRIALS = 300
SLACK = 3.5 * math.sqrt(CLAIMED * (1.0 - CLAIMED) / TRIALS)
"""3.5 standard errors of a coverage of 93 %: 5.2 percentage points. The seeds are fixed."""


@pytest.mark.parametrize("case", [c for c in CASES if not c.short], ids=lambda c: f"{c.method}: {c.data}")
def test_an_interval_covers_as_often_as_it_claims(case: Case) -> None:
    """No method has a lower coverage than the table promises, beyond the error of the simulation."""
    for n in REPLICATES:
        share = coverage.cover(case, n, TRIALS).share
        assert math.isnan(share) or share >= CLAIMED - SLACK, n


@pytest.mark.parametrize("n", REPLICATES)
def test_a_method_without_a_valid_interval_gives_none(n: int) -> None:
    """A median needs six replicates for an interval at 95 %."""
    medians = next(case for case in CASES if case.method == "median")
    assert coverage.cover(medians, n, 20).given == (0 if n < 6 else 20)


def test_the_simulation_finds_intervals_that_are_too_narrow() -> None:
    """A case that is known to fail also fails here, so the test above can fail."""
    short = next(case for case in CASES if "20 % of runs" in case.data)
    assert coverage.cover(short, 3, TRIALS).share < CLAIMED - SLACK
