"""Intervals of skewed runs, and of runs one of which is almost all that keeps the mean from a bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from validation import skewness

from cwndlab.base.numbers import ANY, COUNT, NON_NEGATIVE, SHARE
from cwndlab.stats import intervals, jackknife
from cwndlab.stats.skewness import FILE, MILD, stretch
from synthetic import sample

PERCENT = SHARE.times(100.0)


def test_runs_that_scatter_little_keep_students_quantiles() -> None:
    assert stretch(5, MILD) == (1.0, 1.0)
    assert stretch(5, math.nan) == (1.0, 1.0)
    below, above = stretch(5, MILD + 0.01)
    assert 1.0 < below < 1.03
    assert 0.97 < above < 1.0


def test_between_the_most_runs_of_the_file_and_endless_ones_quantiles_approach_students() -> None:
    assert stretch(10**12, 1.0) == pytest.approx((1.0, 1.0), abs=1e-4)
    most = int(max(np.loadtxt(FILE, delimiter=",", skiprows=1)[:, 0]))
    last, further = (np.array(stretch(n, 1.0)) - 1.0 for n in (most, 4 * most))
    assert further == pytest.approx(last / 2), "linear in 1 / sqrt(n)"


@pytest.mark.parametrize("n", [3, 9, 25, 5000])
def test_the_wider_runs_scatter_the_farther_the_upper_end_is(n: int) -> None:
    lower = [stretch(n, scatter)[0] for scatter in (0.2, 0.5, 0.9, 1.4, 5.0)]
    assert lower == sorted(lower)
    assert stretch(n, 1.0)[0] < stretch(max(3, n // 2), 1.0)[0] or n == 3


def test_the_file_has_what_the_command_draws() -> None:
    below, above = skewness.quantiles(10, 1.0, draws=20_000)
    assert stretch(10, 1.0) == pytest.approx((below, above), abs=0.03)


def test_only_the_mean_of_what_has_no_upper_bound_is_stretched() -> None:
    x = np.array([0.2, 0.3, 0.1, 0.9, 0.4])
    log = intervals.mean(x, NON_NEGATIVE)
    plain = jackknife.ends(jackknife.jackknife_values(x), [(5, 5)], NON_NEGATIVE)
    assert log.low > plain[0]
    assert log.high > plain[1]
    for within in (ANY, SHARE):
        found = intervals.mean(x, within)
        assert (found.low, found.high) == jackknife.ends(jackknife.jackknife_values(x), [(5, 5)], within)
    counts = np.array([2.0, 3.0, 1.0, 9.0, 4.0])
    assert (
        intervals.mean(counts, COUNT).high
        == jackknife.ends(jackknife.jackknife_values(counts), [(5, 5)], COUNT)[1]
    )


@pytest.mark.parametrize(
    "runs",
    [
        [100.0, 100.0, 99.9],
        [100 - 1e-13, 100 - 1e-13, 100 - 1e-5],
        [100 - 1e-9, 100 - 1e-12, 99.99],
        [100 - 1e-13] * 4 + [99.9],
    ],
)
def test_a_share_near_a_bound_has_an_interval_near_it(runs: list[float]) -> None:
    found = intervals.mean(np.array(runs), PERCENT)
    missing = 100.0 - found.value
    assert 100.0 - 100.0 * missing < found.low < found.value < found.high < 100.0


def test_one_run_with_a_loss_moves_the_interval_as_one_with_almost_none_beside_it() -> None:
    zero, tiny = (intervals.mean(np.array([low, low, 3.0]), PERCENT) for low in (0.0, 1e-9))
    assert zero.low == pytest.approx(tiny.low, rel=1e-6)
    assert zero.high == pytest.approx(tiny.high, rel=1e-6)


def test_a_denominator_that_one_run_keeps_from_0_gives_no_ratio() -> None:
    found = (sample([2.0, 2.0, 2.0], COUNT) / sample([0.0, 1.0, 0.0], COUNT)).estimate()
    assert found.value == pytest.approx(6.0)
    assert math.isnan(found.low)
