"""Predictions of counts, which scatter no less than Poisson's, for one further run and for several."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cwndlab.base.numbers import COUNT
from cwndlab.stats import intervals

TAIL = 0.025


def greatest(events: int, runs: int, further: int) -> int:
    """The greatest count in further runs that is not unlikely, given the sum of both (binomial)."""
    share = further / (runs + further)
    likely = (k for k in range(200) if stats.binom.sf(k - 1, events + k, share) > TAIL)
    return max(likely)


@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("further", [1, 3, 4])
def test_equal_counts_are_predicted_as_poisson_counts_of_their_sum(count: int, further: int) -> None:
    found = intervals.prediction(np.full(10, float(count)), further, COUNT)
    assert (found.value, found.n) == (count, 10)
    assert found.high == greatest(10 * count, 10, further) / further
    assert found.low <= count <= found.high


def test_a_count_of_nothing_may_be_something_in_another_run() -> None:
    """(1/11)^k is over 2.5 % for k = 1 alone, (3/13)^k for k up to 2."""
    zeros = np.zeros(10)
    assert [intervals.prediction(zeros, further, COUNT).high for further in (1, 3)] == [1.0, 2 / 3]


def test_of_no_values_none_is_constant() -> None:
    assert not intervals.is_constant(np.array([]))
    assert intervals.is_constant(np.array([2.0])) and intervals.is_constant(np.array([2.0, 2.0]))
    assert not intervals.is_constant(np.array([2.0, 2.5]))
