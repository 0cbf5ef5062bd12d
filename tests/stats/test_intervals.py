"""Intervals cover what they say, and pairing makes them narrower."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.base.numbers import ANY, COUNT, NON_NEGATIVE, SHARE, Range
from cwndlab.report.digits import interval_text
from cwndlab.stats import intervals
from cwndlab.stats.distributions import t_quantile
from cwndlab.stats.intervals import Interval
from cwndlab.stats.jackknife import ends, jackknife_values
from cwndlab.stats.sample import Streams, relate
from synthetic import EXACT, sample

TRIALS = 1000


def compare(kind: str, a: Any, b: Any, within: Range = ANY, **more: Any) -> Interval:
    return relate(kind, sample(a, within, **more), sample(b, within, **more)).estimate()


def median(values: Any) -> Interval:
    return sample(values, statistic="median").estimate()


def mm1_waits(rng: np.random.Generator, customers: int, rho: float) -> np.ndarray:
    """Waiting times of an M/M/1 queue with service rate 1, by Lindley's recursion, started in equilibrium."""
    step = rng.exponential(1.0, customers) - rng.exponential(1.0 / rho, customers)
    start = 0.0 if rng.random() > rho else rng.exponential(1.0 / (1.0 - rho))
    walk = start + np.concatenate([[0.0], np.cumsum(step)[:-1]])
    return walk - np.minimum(np.minimum.accumulate(walk), 0.0)


def test_mean_over_replicates_of_mm1_is_covered_about_95_percent() -> None:
    rng = np.random.default_rng(1)
    rho, hits = 0.5, 0
    truth = rho / (1.0 - rho)  # mean wait in queue at service rate 1
    for _ in range(TRIALS):
        runs = np.array([mm1_waits(rng, 400, rho).mean() for _ in range(10)])
        estimate = intervals.mean(runs)
        hits += estimate.low <= truth <= estimate.high
    assert 0.91 <= hits / TRIALS <= 0.97


def test_the_median_is_covered_at_least_95_percent_whatever_the_distribution() -> None:
    rng = np.random.default_rng(4)
    hits = sum(
        i.low <= math.log(2.0) <= i.high for i in (median(rng.exponential(1.0, 15)) for _ in range(TRIALS))
    )
    assert 0.95 <= hits / TRIALS <= 0.99


def test_pairing_by_common_random_numbers_is_narrower_than_independent_runs() -> None:
    rng = np.random.default_rng(5)
    load = rng.gamma(4.0, 0.25, 10)
    a, b = load * 0.9 + rng.normal(0, 0.02, 10), load + rng.normal(0, 0.02, 10)
    paired = compare("decrease", a, b, NON_NEGATIVE)
    unpaired = compare("decrease", a, rng.permutation(b), NON_NEGATIVE)
    assert paired.half_width < unpaired.half_width / 3
    assert paired.low <= 10.0 <= paired.high


def test_order_statistics_ranks_are_those_of_the_textbook() -> None:
    # Conover 1999, table for the median: n = 10 -> 2nd and 9th, n = 20 -> 6th and 15th (95 %).
    for n, low, high in ((10, 2, 9), (20, 6, 15)):
        i = median(np.arange(1.0, n + 1))
        assert (i.low, i.high) == (low, high)
    assert math.isnan(median(np.arange(5.0)).low)


def test_only_results_known_to_have_no_randomness_are_exact() -> None:
    for statistic in ("mean", "median"):
        i = sample([6.611], statistic=statistic, streams=EXACT).estimate()
        assert i.exact
        assert (i.value, i.low, i.high) == (6.611, 6.611, 6.611)
    same = np.array([1.2223, 1.2223, 1.2223])
    for i in (intervals.mean(same), compare("difference", same, same - 1.0)):
        assert not i.exact
        assert i.method == "no spread in 3 runs"
        assert math.isnan(i.low)


def test_equal_counts_have_the_interval_of_a_poisson_mean() -> None:
    none = intervals.mean(np.zeros(10), COUNT)
    assert (none.low, none.high) == (0.0, pytest.approx(0.3689, abs=1e-4))  # chi-squared 7.378 / 2 / 10
    assert none.method == "no spread in 10 runs"


@pytest.mark.parametrize(("value", "within"), [(1.0, SHARE), (0.9, SHARE), (7.5, NON_NEGATIVE)])
def test_equal_runs_have_no_interval(value: float, within: Range) -> None:
    equal = intervals.mean(np.full(10, value), within)
    assert (equal.value, equal.method) == (value, "no spread in 10 runs")
    assert math.isnan(equal.low) and math.isnan(equal.high)
    assert intervals.unseen_share(10) == pytest.approx(1.0 - 0.05**0.1)  # the rule of three, exactly
    assert interval_text(equal, 1) == "equal in 10 runs"


def test_equal_runs_are_followed_by_an_equal_one_from_seven_on() -> None:
    worst = [max(p**n * (1.0 - p) for p in np.linspace(0.0, 1.0, 10_001)) for n in (6, 7)]
    assert worst[0] > 0.05 > worst[1]
    assert math.isnan(intervals.prediction(np.full(6, 2.0)).low)
    assert intervals.prediction(np.full(7, 2.0)).high == 2.0


@given(
    # Logarithms of numbers near 1e-300 keep too few digits to lead back to the number.
    values=st.lists(st.floats(0.0, 1.0).map(lambda value: round(value, 15)), min_size=3, max_size=12),
    within=st.sampled_from([SHARE, NON_NEGATIVE, Range(0.0, 2.0)]),
    runs=st.sampled_from([1, 10]),
)
def test_intervals_and_predictions_stay_inside_the_range(
    values: list[float], within: Range, runs: int
) -> None:
    x = np.array(values)
    for i in (intervals.mean(x, within), intervals.prediction(x, runs, within)):
        assert (
            math.isnan(i.low)
            or within.low <= i.low <= i.value <= i.high <= within.high
            or (runs == 1 and i.low <= i.high <= within.high and i.low >= within.low)
        )


def test_a_value_outside_the_declared_range_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"1\.2 lies outside the range"):
        intervals.mean(np.array([0.3, 0.5, 1.2]), SHARE)
    assert intervals.mean(np.array([1.0, 0.9, 1.0 + 1e-12]), SHARE).high < 1.0


def test_a_ratio_is_one_of_means_and_refused_where_the_denominator_may_be_0() -> None:
    a, b = np.array([1.0, 2.0, 6.0, 3.0]), np.array([2.0, 1.0, 4.0, 2.0])
    ratio = compare("ratio", a, b, NON_NEGATIVE)
    assert ratio.value == pytest.approx(12.0 / 9.0)
    assert ratio.method.startswith("ratio of means")
    signed = compare("ratio", a, b - 2.0)
    assert math.isnan(signed.low)
    assert "denominator may be 0" in signed.method


def test_fiellers_interval_is_that_of_a_textbook_formula() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(12.0, 2.0, 8), rng.normal(10.0, 2.0, 8)
    found = compare("ratio", a, b)
    for end in (found.low, found.high):  # where a - r b just reaches 0 with t
        apart = intervals.mean(a - end * b)
        assert min(abs(apart.low), abs(apart.high)) < 1e-9


def test_the_paired_difference_is_the_paired_t() -> None:
    a, b = np.array([1.0, 2.5, 3.0, 4.0]), np.array([0.5, 1.0, 2.0, 2.0])
    found, plain = compare("difference", a, b), intervals.mean(a - b)
    assert (found.low, found.high) == (pytest.approx(plain.low), pytest.approx(plain.high))


def test_medians_are_compared_as_if_their_runs_shared_nothing() -> None:
    ranks = np.arange(1.0, 21.0)
    found = compare("difference", ranks, ranks + 100.0, statistic="median")
    one = median(ranks)
    # Welch: the errors of both add up in squares; 38 degrees of freedom in place of 19 narrow t a little.
    narrower = t_quantile(0.975, 38) / t_quantile(0.5 + 0.9586 / 2, 19)
    assert found.half_width == pytest.approx(math.sqrt(2.0) * one.half_width * narrower, rel=1e-3)
    assert (found.value, found.method) == (-100.0, "difference of medians, unpaired t")
    assert compare("ratio", ranks[:5], ranks[:5] + 1.0, statistic="median").method == (
        "5 replicates: too few for order statistics"
    )


def test_a_difference_of_estimates_from_other_random_numbers_is_welchs() -> None:
    few, many = np.array([1.0, 2.0, 3.0]), np.linspace(0.0, 2.0, 12)
    found = (sample(few) - sample(many, streams=Streams("paired", "other seed"))).estimate()
    a, b = few.var(ddof=1) / 3, many.var(ddof=1) / 12
    freedom = (a + b) ** 2 / (a**2 / 2 + b**2 / 11)
    assert (found.value, found.n) == (1.0, 3)
    assert found.half_width == pytest.approx(t_quantile(0.975, freedom) * math.sqrt(a + b))
    alone = (sample(few) - 1.0).estimate()
    assert alone.half_width == pytest.approx(t_quantile(0.975, 2) / math.sqrt(3.0))
    assert math.isnan((sample(few[:2]) - sample(many)).estimate().low)


def test_the_upper_quantile_of_t_sets_the_lower_end() -> None:
    samples = jackknife_values(np.array([1.0, 2.0, 3.0, 6.0]))
    low, high = ends(samples, [(4, 4)])
    stretched = ends(samples, [(4, 4)], stretched=(0.5, 2.0))
    assert stretched == pytest.approx((3.0 - 2.0 * (3.0 - low), 3.0 + 0.5 * (high - 3.0)))


def test_runs_that_scatter_widely_carry_a_warning_in_comparisons_too() -> None:
    wide, even = np.array([0.1, 0.1, 0.2, 5.0]), np.array([1.0, 1.2, 0.9, 1.1])
    assert "less than 95 %" in intervals.mean(wide, NON_NEGATIVE).warning
    assert not intervals.mean(even, NON_NEGATIVE).warning
    for kind in ("difference", "ratio", "increase"):
        assert compare(kind, even, wide, NON_NEGATIVE).warning
        assert compare(kind, wide, even, NON_NEGATIVE).warning
        assert not compare(kind, even, even[::-1], NON_NEGATIVE).warning
    assert not compare("difference", wide - 1.0, even, ANY).warning


def test_one_random_replicate_has_no_interval() -> None:
    i = intervals.mean(np.array([3.0]))
    assert i.value == 3.0
    assert math.isnan(i.low)


def test_replicates_that_could_not_be_measured_are_left_out_in_pairs() -> None:
    a, b = np.array([2.0, np.nan, 4.0, 6.0]), np.array([1.0, 5.0, np.nan, 3.0])
    i = compare("ratio", a, b, NON_NEGATIVE)
    assert i.n == 2
    assert i.value == 2.0
    assert intervals.mean(np.array([np.nan])).method == "not measurable"


def test_a_report_imports_no_scipy() -> None:
    code = "import sys, cwndlab.stats.claims, cwndlab.stats.tables; assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
