"""Predictions of further runs, compared with formulas written out with scipy's quantiles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from cwndlab.base.numbers import ANY, COUNT, NON_NEGATIVE, SHARE, Floats, Range
from cwndlab.stats import intervals
from cwndlab.stats.further import Asked, predict
from synthetic import sample

RNG = np.random.default_rng(63)
SHARES = RNG.uniform(0.2, 0.7, 12)
LEFT = RNG.normal(30.0, 2.0, 12)
RIGHT = 0.5 * LEFT + RNG.normal(5.0, 1.0, 12)


def t(free: float) -> float:
    return float(stats.t.ppf(0.975, free))


def of_normal(x: Floats, runs: int) -> tuple[float, float]:
    half = t(len(x) - 1) * float(np.std(x, ddof=1)) * math.sqrt(1 / len(x) + 1 / runs)
    return float(np.mean(x)) - half, float(np.mean(x)) + half


def test_one_more_run_lies_where_it_would_on_the_scale_of_the_range() -> None:
    plain = intervals.prediction(SHARES, 1, ANY)
    assert (plain.low, plain.high) == pytest.approx(of_normal(SHARES, 1))
    positive = intervals.prediction(SHARES, 1, NON_NEGATIVE)
    assert (positive.low, positive.high) == pytest.approx(np.exp(of_normal(np.log(SHARES), 1)))
    share = intervals.prediction(SHARES, 1, SHARE)
    assert (share.low, share.high) == pytest.approx(special.expit(of_normal(special.logit(SHARES), 1)))


def test_where_a_run_lies_on_a_bound_the_plain_interval_is_cut_there() -> None:
    x = np.array([0.0, 0.1, 0.3, 0.2, 0.7, 0.9])
    low, high = of_normal(x, 1)
    assert low < 0.0 and high > 1.0
    cut = intervals.prediction(x, 1, SHARE)
    assert (cut.low, cut.high) == (0.0, 1.0)
    open_above = intervals.prediction(x, 1, NON_NEGATIVE)
    assert (open_above.low, open_above.high) == pytest.approx((0.0, high))


@pytest.mark.parametrize("runs", [2, 10, 1000])
def test_the_mean_of_several_further_runs_has_the_variances_of_both_means(runs: int) -> None:
    predicted = intervals.prediction(LEFT, runs, ANY)
    assert (predicted.low, predicted.high) == pytest.approx(of_normal(LEFT, runs))


def test_one_more_count_is_predicted_on_the_scale_of_the_square_root() -> None:
    few = np.array([0.0, 10.0, 40.0, 3.0, 25.0, 18.0, 7.0, 31.0])
    for x in (few, few + 1, few + 2, 2 * few, 3 * few + 50, 5 * few + 100, 7 * few + 300):
        low, high = (end**2 - 0.375 for end in np.maximum(of_normal(np.sqrt(x + 0.375), 1), 0.0))
        predicted = intervals.prediction(x, 1, COUNT)
        assert (predicted.low, predicted.high) == (max(0.0, math.floor(low)), math.ceil(high))


def test_a_count_is_predicted_no_closer_than_a_poisson_count() -> None:
    x = np.array([400.0, 401.0, 402.0, 399.0, 400.0, 398.0])
    predicted = intervals.prediction(x, 1, COUNT)
    assert predicted.low < 400 - 1.9 * 20 and predicted.high > 400 + 1.9 * 20


def of_unpaired(a: Floats, b: Floats, runs: int) -> float:
    """Half of the interval of a difference of independent further runs, with our paired estimate."""
    n = len(a)
    parts = [
        float(np.var(a, ddof=1)) / runs,
        float(np.var(b, ddof=1)) / runs,
        float(np.var(a - b, ddof=1)) / n,
    ]
    wrong = sum(part**2 for part in parts) + 2 * np.corrcoef(a, b)[0, 1] ** 2 * parts[0] * parts[1]
    return t(max(1, math.floor(sum(parts) ** 2 / (wrong / (n - 1))))) * math.sqrt(sum(parts))


@pytest.mark.parametrize("runs", [1, 2, 30])
def test_a_difference_of_unpaired_runs_has_their_variances_and_that_of_our_pairs(runs: int) -> None:
    predicted = predict(Asked("difference", runs), sample(LEFT), sample(RIGHT))
    half = of_unpaired(LEFT, RIGHT, runs)
    middle = float(np.mean(LEFT) - np.mean(RIGHT))
    assert (predicted.value, predicted.low, predicted.high) == pytest.approx(
        (middle, middle - half, middle + half)
    )


@pytest.mark.parametrize(("kind", "of"), [("ratio", 1.0), ("increase", -100.0), ("decrease", 100.0)])
def test_a_change_of_numbers_above_0_is_predicted_by_logarithms(kind: str, of: float) -> None:
    predicted = predict(Asked(kind, 1), sample(LEFT, NON_NEGATIVE), sample(RIGHT, NON_NEGATIVE))
    middle = float(np.mean(np.log(LEFT)) - np.mean(np.log(RIGHT)))
    half = of_unpaired(np.log(LEFT), np.log(RIGHT), 1)
    ends = [math.exp(middle - half), math.exp(middle + half)]
    if kind != "ratio":
        ends = sorted(of * (1.0 - end) for end in ends)
    assert [predicted.low, predicted.high] == pytest.approx(ends)


def test_a_ratio_of_numbers_of_any_sign_is_predicted_to_first_order() -> None:
    predicted = predict(Asked("ratio", 2), sample(LEFT), sample(RIGHT))
    ratio = float(np.mean(LEFT) / np.mean(RIGHT))
    half = of_unpaired(LEFT, ratio * RIGHT, 2) / float(np.mean(RIGHT))
    assert (predicted.low, predicted.high) == pytest.approx((ratio - half, ratio + half))


def test_runs_that_were_never_measured_together_are_independent() -> None:
    n, gap = len(LEFT), np.full(len(LEFT), np.nan)
    a, b = np.concatenate([LEFT, gap]), np.concatenate([gap, RIGHT])
    predicted = predict(Asked("difference", 3), sample(a), sample(b))
    variances = [float(np.var(side, ddof=1)) for side in (LEFT, RIGHT)]
    parts = [variance / by for variance in variances for by in (3, n)]
    free = math.floor(sum(parts) ** 2 / (sum(part**2 for part in parts) / (n - 1)))
    half = t(free) * math.sqrt(sum(parts))
    assert predicted.high - predicted.value == pytest.approx(half)


def test_a_predicted_change_stays_where_a_change_can_be() -> None:
    low, high = np.array([1.0, 99.0] * 4), np.array([98.0, 2.0] * 4)
    predicted = predict(
        Asked("difference", 1), sample(low, Range(0.0, 100.0)), sample(high, Range(0.0, 100.0))
    )
    assert (predicted.low, predicted.high) == (-100.0, 100.0)


def test_without_a_comparison_or_a_second_cell_the_number_is_of_its_own_cell() -> None:
    alone = predict(Asked(None, 2), sample(LEFT), None)
    assert predict(Asked(None, 2), sample(LEFT), sample(RIGHT)) == alone
    assert predict(Asked("difference", 2), sample(LEFT), None) == alone
    assert alone != predict(Asked("difference", 2), sample(LEFT), sample(RIGHT))
