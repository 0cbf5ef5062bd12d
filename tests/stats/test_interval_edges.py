"""Intervals where something begins: the fewest runs, equal runs, a range's bound, a denominator near 0."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from cwndlab.base.numbers import ANY, COUNT, NON_NEGATIVE, SHARE, Floats, Range
from cwndlab.stats import intervals
from cwndlab.stats.distributions import poisson_ends, t_quantile
from cwndlab.stats.intervals import Interval
from cwndlab.stats.jackknife import centre, jackknife_values, quantile_of_t
from cwndlab.stats.sample import Derived, StreamRuns, Streams, common_range, is_less, relate, relate_runs
from cwndlab.stats.stopping import StoppingRule
from synthetic import EXACT, sample

NAN = math.nan
OTHER, THIRD = Streams("paired", "2"), Streams("paired", "3")


def t_of(x: Floats) -> tuple[float, float]:
    return tuple(stats.t.interval(0.95, len(x) - 1, np.mean(x), stats.sem(x)))


def ends_of(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def test_three_runs_have_an_interval_and_two_have_none() -> None:
    x = np.array([1.0, 2.0, 4.0])
    assert ends_of(intervals.mean(x)) == pytest.approx(t_of(x))
    assert ends_of(sample(x).estimate()) == pytest.approx(t_of(x))
    assert ends_of(relate("difference", sample(x), 1.0).estimate()) == pytest.approx(t_of(x - 1.0))
    for few in (intervals.mean(x[:2]), relate("difference", sample(x[:2]), 1.0).estimate()):
        assert math.isnan(few.low) and few.method == "2 replicates: no interval"


def test_the_interval_of_a_value_on_a_scale_is_that_of_its_logarithms_slope() -> None:
    """To first order on the logarithmic scale: ln m +- t s / (m sqrt n), with runs that hardly scatter."""
    x = np.array([100.0, 100.1, 99.9, 100.05, 99.95])
    low, high = ends_of(intervals.mean(x, NON_NEGATIVE))
    m, half = float(np.mean(x)), t_quantile(0.975, 4) * float(stats.sem(x))
    assert (low, high) == pytest.approx((m * math.exp(-half / m), m * math.exp(half / m)), rel=1e-6)


def test_the_mean_of_whole_counts_alone_is_as_wide_as_a_poisson_mean() -> None:
    whole, broken = np.array([4.0, 5.0, 4.0]), np.array([4.0, 5.0, 4.5])
    ends = [end / 3 for end in poisson_ends(13)]
    at_least = intervals.mean(whole, COUNT)
    assert at_least.low <= ends[0] and at_least.high >= ends[1]
    assert at_least.method == "log t, at least Poisson"
    for other in (intervals.mean(broken, COUNT), intervals.mean(whole, COUNT, adjusted=True)):
        assert other.method == "log t"
    spread = np.array([0.0, 40.0, 2.0, 19.0])  # wider than a Poisson count: t is kept
    wide = intervals.mean(spread, COUNT)
    assert wide.high > poisson_ends(61)[1] / 4


@pytest.mark.parametrize("value", [2.0, 2.5])
def test_equal_counts_have_poissons_interval_and_equal_shares_of_them_none(value: float) -> None:
    equal = intervals.mean(np.full(4, value), COUNT)
    if value == 2.0:
        assert ends_of(equal) == pytest.approx([end / 4 for end in poisson_ends(8)])
    else:
        assert math.isnan(equal.low)
    assert equal.method == "no spread in 4 runs" and equal.equal_runs


def test_the_share_of_runs_not_seen_is_found_with_95_percent() -> None:
    assert [intervals.unseen_share(n) for n in (1, 3, 59)] == pytest.approx(
        [0.95, 1 - 0.05 ** (1 / 3), 0.0495], rel=1e-3
    )


def test_enough_equal_runs_decide_by_their_value_and_fewer_by_nothing() -> None:
    six, seven = (Interval(2.0, NAN, NAN, n, intervals.equal_in(n)) for n in (6, 7))
    assert seven.decided == (2.0, 2.0) and all(map(math.isnan, six.decided))
    assert seven.leaves_out(0.0) and not seven.leaves_out(2.0) and not six.leaves_out(0.0)
    paired = Interval(2.0, 1.0, 4.0, 7, "paired t")
    assert paired.decided == (1.0, 4.0)
    assert [paired.leaves_out(value) for value in (0.9, 1.0, 4.0, 4.1)] == [True, False, False, True]
    assert (paired.half_width, paired.reach) == (1.5, 2.0)
    assert Interval(2.0, -1.0, 4.0, 7, "t").reach == 3.0


@pytest.mark.parametrize(
    ("runs", "within", "limit", "warns"),
    [
        ([1.0, 2.0, 9.0], NON_NEGATIVE, 1.0, True),  # 4.36 > 4
        ([1.0, 2.0, 9.0], NON_NEGATIVE, 1.1, False),
        ([1.0, 2.0, 9.0], ANY, 1.0, False),
        ([1.0, 2.0, 9.0], COUNT, 1.0, False),
        ([1.0, 9.0], NON_NEGATIVE, 1.0, False),
        ([1.0, 9.0, NAN], NON_NEGATIVE, 0.1, False),
        ([2.0, 2.0, 2.0], NON_NEGATIVE, 0.0, False),
    ],
)
def test_a_warning_needs_three_runs_that_scatter_more_than_the_limit(
    runs: list[float], within: Range, limit: float, warns: bool
) -> None:
    warning = intervals.warn_of_scatter(np.array(runs), within, limit)
    assert bool(warning) is warns
    assert not warns or f"more than {100 * limit:g} % of their mean" in warning


@pytest.mark.parametrize(("n", "q"), [(6, 0.5), (9, 0.5), (40, 0.25), (41, 0.9)])
def test_a_quantile_lies_between_the_order_statistics_of_conover(n: int, q: float) -> None:
    ranks = round(stats.binom.ppf(0.025, n, q)) - 1, round(stats.binom.ppf(0.975, n, q))
    x = np.arange(float(n)) ** 2
    found = intervals.quantile(np.concatenate([[NAN], x[::-1]]), q)
    assert found.value == pytest.approx(float(np.quantile(x, q)))
    assert ends_of(found) == (x[ranks[0]], x[ranks[1]])
    assert (found.n, found.method) == (n, "order statistics")


def test_a_quantile_of_too_few_or_equal_runs_has_no_interval() -> None:
    assert intervals.quantile(np.arange(5.0), 0.5).method == "5 replicates: too few for order statistics"
    assert intervals.quantile(np.full(8, 3.0), 0.5).method == "no spread in 8 runs"
    assert intervals.quantile(np.array([1.0, 2.0]), 0.5).method == "2 replicates: no interval"
    assert intervals.quantile(np.array([NAN]), 0.5).n == 0


@pytest.mark.parametrize("n", [2, 3, 8])
def test_values_without_one_run_are_the_means_of_the_others(n: int) -> None:
    x = np.array([3.0, 5.0, 4.5, 9.0, 2.0, 7.0, 1.0, 6.0][:n])
    others = [float(np.mean(np.delete(x, k))) for k in range(n)]
    assert jackknife_values(x) == pytest.approx([float(np.mean(x)), *others])
    with_gap = jackknife_values(np.insert(x, 1, NAN))
    assert with_gap == pytest.approx([float(np.mean(x)), others[0], float(np.mean(x)), *others[1:]])


def test_one_run_has_no_value_without_it_and_none_has_no_centre() -> None:
    np.testing.assert_array_equal(jackknife_values(np.array([2.0, NAN])), [2.0, NAN, NAN])
    assert math.isnan(centre(np.array([NAN, NAN]))) and math.isnan(centre(np.array([]), "median"))
    assert centre(np.array([1.0, NAN, 2.0, 9.0])) == 4.0
    assert centre(np.array([1.0, NAN, 2.0, 9.0]), "median") == 2.0


def test_what_is_left_by_rounding_is_0() -> None:
    values = jackknife_values(np.array([1e-16, 0.0, 3.0]))
    assert values[3] == 0.0 and values[1] > 0.0


def test_the_degrees_of_freedom_are_those_of_satterthwaite() -> None:
    for parts, free in (([1.0, 1.0], 14.0), ([4.0, 1.0], 25 / (16 / 9 + 1 / 5)), ([0.0, 1.0], 5.0)):
        blocks = [(10, 10), (6, 6)] if parts != [1.0, 1.0] else [(8, 8), (8, 8)]
        assert quantile_of_t(parts, blocks, 0.95) == pytest.approx(float(stats.t.ppf(0.975, free)))
    assert quantile_of_t([3.0], [(12, 10)], 0.9) == pytest.approx(float(stats.t.ppf(0.95, 9)))
    # Without variance there is nothing to weigh by: the fewest runs count.
    assert quantile_of_t([0.0, 0.0], [(9, 9), (5, 4)], 0.95) == pytest.approx(float(stats.t.ppf(0.975, 3)))


@pytest.mark.parametrize("runs", [3, 30])
def test_a_sum_of_three_streams_has_all_their_variances(runs: int) -> None:
    rng = np.random.default_rng(5)
    x, y, z = (rng.normal(m, s, runs) for m, s in ((5.0, 1.0), (7.0, 2.0), (1.0, 0.2)))
    total = sample(x) + sample(y, streams=OTHER) - sample(z, streams=THIRD)
    parts = [float(np.var(values, ddof=1)) / runs for values in (x, y, z)]
    free = sum(parts) ** 2 / sum(part**2 / (runs - 1) for part in parts)
    half = float(stats.t.ppf(0.975, free)) * math.sqrt(sum(parts))
    found = total.estimate()
    assert ends_of(found) == pytest.approx((found.value - half, found.value + half))
    assert found.method == "difference of means, unpaired t" and found.n == runs
    assert [part.length for part in total.parts] == [runs] * 3


def test_a_ratio_of_paired_numbers_of_any_sign_is_fiellers() -> None:
    """Its ends are the ratios r at which the paired t of a - r b is at its quantile."""
    rng = np.random.default_rng(6)
    b = rng.normal(10.0, 1.0, 9)
    a = 2.0 * b + rng.normal(1.0, 1.0, 9)
    for level in (0.95, 0.8):
        found = relate("ratio", sample(a), sample(b)).estimate(level)
        for r in ends_of(found):
            t = float(np.mean(a - r * b)) / float(stats.sem(a - r * b))
            # The quantile is that of the ratio's own degrees of freedom: n - 1 for pairs.
            assert abs(t) == pytest.approx(float(stats.t.ppf(0.5 + level / 2, 8)))
        assert found.low < found.value < found.high
        assert found.method == "ratio of means, Fieller"
    unbounded = relate("ratio", sample(a), sample(b - 10.0)).estimate()
    assert math.isnan(unbounded.low) and unbounded.method.endswith("the denominator may be 0")


def test_a_change_in_per_cent_has_the_ends_of_its_ratio_in_order() -> None:
    a, b = np.array([5.0, 6.0, 5.5, 5.2]), np.array([9.0, 10.0, 9.8, 9.1])
    for within in (ANY, NON_NEGATIVE):
        x, y = sample(a, within), sample(b, within)
        ratio, decrease, increase = (relate(k, x, y).estimate() for k in ("ratio", "decrease", "increase"))
        assert ratio.low < ratio.value < ratio.high < 1.0
        assert ends_of(decrease) == pytest.approx((100 * (1 - ratio.high), 100 * (1 - ratio.low)))
        assert ends_of(increase) == pytest.approx((100 * (ratio.low - 1), 100 * (ratio.high - 1)))


@pytest.mark.parametrize(("apart", "equal"), [(0.9e-12, True), (1.1e-12, False)])
def test_values_that_differ_by_rounding_have_no_spread(apart: float, equal: bool) -> None:
    for size, point in ((8.0, 0.5), (0.5, 8.0)):
        values = point + np.array([0.0, 0.0, 0.0, 8.0 * apart])
        derived = Derived(values, (StreamRuns(Streams(), 3, 3),), size=size)
        assert derived.estimate().equal_runs is equal


def test_two_numbers_are_less_if_the_interval_of_their_difference_says_so() -> None:
    a, b = sample([1.0, 2.0, 3.0, 2.5]), sample([1.5, 2.4, 3.6, 2.9])
    assert t_of(b.runs - a.runs)[0] > 0.0
    assert is_less(a, b) is True and is_less(b, a) is False
    assert is_less(a, b, 0.9999) is None
    noisy = sample([1.5, 1.0, 4.0, 2.0])
    assert is_less(a, noisy) is None is is_less(noisy, a)
    assert is_less(a, a) is None  # four equal runs decide nothing
    many = sample(np.arange(7.0))
    assert is_less(many, many) is False
    exact = sample([2.0], streams=EXACT)
    assert is_less(exact, 2.0) is False and is_less(exact, 2.1) is True and is_less(2.1, exact) is False
    assert is_less(2.0, 2.0 + 1e-9) is False and is_less(2.0, 2.0 + 3e-9) is True
    assert is_less(0.0, 0.9e-9) is False and is_less(0.0, 1.1e-9) is True
    assert is_less(sample([NAN, NAN, NAN]), a) is None is is_less(a, math.nan)


def test_equal_runs_decide_only_if_there_are_enough() -> None:
    for n, answer in ((6, None), (7, True)):
        assert is_less(sample(np.full(n, 1.0)), sample(np.full(n, 2.0))) is answer
        assert is_less(sample(np.full(n, 1.0)), 2.0) is answer


def test_numbers_on_a_bound_are_compared_on_the_plain_scale() -> None:
    none, some = sample(np.zeros(5), SHARE), sample([0.1, 0.2, 0.3, 0.15, 0.25], SHARE)
    assert is_less(none, some) is True and is_less(some, none) is False
    assert common_range(none.derived, some.derived) == SHARE
    assert common_range(none.derived, Derived.constant(0.5)) == SHARE
    assert common_range(Derived.constant(0.5), none.derived) == SHARE
    assert common_range(none.derived, sample([1.0], NON_NEGATIVE).derived) == NON_NEGATIVE
    assert common_range(none.derived, sample([1.0]).derived) == ANY


def test_single_runs_are_compared_as_far_as_both_go() -> None:
    a, b = sample([1.0, 2.0, 3.0]), sample([2.0, 8.0])
    assert relate_runs("ratio", a, b).tolist() == [0.5, 0.25]
    assert relate_runs("difference", sample([1.0], streams=EXACT), b).tolist() == [-1.0, -7.0]
    assert relate_runs("difference", b, sample([1.0], streams=EXACT)).tolist() == [1.0, 7.0]


def test_operators_of_numbers_are_those_of_arithmetic() -> None:
    a, b = sample([1.0, 2.0, 4.0], unit="s"), sample([2.0, 5.0, 5.0], unit="s")
    results = (a + b, a - b, a * b, a / b, (a + b) / b, a + 1.0)
    means = [float(r.values[0]) for r in results]
    assert means == pytest.approx([19 / 3, -5 / 3, 28 / 3, 7 / 12, 19 / 12, 10 / 3])
    assert [r.unit for r in results] == ["s", "s", "s × s", "1", "1", "s"]


@pytest.mark.parametrize(
    ("ran", "measured", "needed"),
    [(3, 3, 10), (10, 9, 11), (9, 9, 10), (12, 9, 13), (10, 10, 10), (400, 9, 400), (399, 9, 400)],
)
def test_runs_are_asked_for_until_the_first_look_has_enough(ran: int, measured: int, needed: int) -> None:
    rule = StoppingRule(relative=0.5, cap=400)
    values = np.concatenate([10.0 + 0.01 * np.arange(measured), np.full(ran - measured, NAN)])
    assert rule.replicates_needed(sample(values), ran) == needed


def test_the_runs_needed_grow_with_the_square_of_the_width() -> None:
    rule = StoppingRule(relative=0.1, cap=10_000)
    spread = np.tile([1.0, -1.0], 8)
    reach = intervals.mean(spread).reach
    for times in (1.001, 2.0, 5.0):
        values = 1.0 + spread * times * (0.1 / 1.1) / reach
        assert rule.replicates_needed(sample(values), 16) == pytest.approx(max(17, 16 * times**2), abs=1)
    assert rule.replicates_needed(sample(np.full(16, 2.0)), 16) == 32
    assert rule.replicates_needed(sample(spread), 16) == 32  # relative to a mean of 0
    assert StoppingRule(relative=0.1, cap=20).replicates_needed(sample(spread), 16) == 20
    exact = sample([2.0], streams=EXACT)
    assert rule.replicates_needed(exact, 1) == 1 == rule.replicates_needed(sample([NAN]), 1)


def test_the_cap_may_be_the_first_look() -> None:
    assert StoppingRule(relative=0.1, cap=10).cap == 10
    with pytest.raises(ValueError, match="at least 5 replicates, got 4"):
        StoppingRule(relative=0.1, cap=4, first_look=5)
