"""Sequential stopping: by the statistic asked for, by comparisons too, and never because runs are equal."""

from __future__ import annotations

import numpy as np
import pytest

from cwndlab.base.numbers import ANY, COUNT, NON_NEGATIVE, SHARE, Floats, Range
from cwndlab.stats import intervals
from cwndlab.stats.sample import Derived, relate
from cwndlab.stats.stopping import StoppingRule
from synthetic import sample

RULE = StoppingRule(relative=0.05, cap=400)


def needed(rule: StoppingRule, values: Floats, within: Range = ANY, statistic: str = "mean") -> int:
    return rule.replicates_needed(sample(values, within, statistic), len(values))


def compared(kind: str, a: Floats, b: Floats) -> Derived:
    return relate(kind, sample(a, NON_NEGATIVE), sample(b, NON_NEGATIVE))


def test_it_reaches_its_precision_and_keeps_its_coverage() -> None:
    rng = np.random.default_rng(8)
    rule = StoppingRule(relative=0.05, cap=2000)
    hits = 0
    for _ in range(300):
        values = rng.gamma(10.0, 0.1, rule.cap)
        n = rule.first_look
        while needed(rule, values[:n]) > n:
            n = min(rule.cap, n + max(1, n // 10))
        i = intervals.mean(values[:n])
        assert i.half_width <= 0.05 / 1.05 * i.value
        hits += abs(i.value - 1.0) <= 0.05
    assert hits / 300 >= 0.92


@pytest.mark.parametrize(("half_width", "enough"), [(0.0475, True), (0.0477, False), (0.0499, False)])
def test_the_precision_is_relative_to_the_true_value(half_width: float, enough: bool) -> None:
    # An estimate within r / (1 + r) of itself is within r of every value that its interval holds.
    spread = np.tile([1.0, -1.0], 10)
    values = 1.0 + spread * half_width / intervals.mean(spread).half_width
    assert (needed(RULE, values) == len(values)) is enough


def test_it_stops_at_the_cap() -> None:
    rule = StoppingRule(relative=0.001, cap=12)
    noisy = np.random.default_rng(9).normal(1.0, 1.0, 12)
    assert needed(rule, noisy[:11]) == 12
    assert needed(rule, noisy) == 12


@pytest.mark.parametrize(
    ("value", "within"), [(3.0, NON_NEGATIVE), (0.98, SHARE), (0.0, COUNT), (5.0, COUNT)]
)
def test_equal_runs_never_stop_it(value: float, within: Range) -> None:
    assert needed(RULE, np.full(10, value), within) > 10
    assert needed(RULE, np.full(10, value), within, "median") > 10


def test_it_looks_at_the_median_where_the_quantity_is_a_median() -> None:
    values = np.concatenate([np.full(30, 1.0) + np.linspace(-0.01, 0.01, 30), [9.0, 12.0]])
    assert needed(RULE, values, statistic="median") == len(values)
    assert needed(RULE, values) > len(values)


@pytest.mark.parametrize("kind", ["ratio", "decrease", "increase", "difference"])
def test_a_noisy_comparison_of_two_quiet_numbers_asks_for_more(kind: str) -> None:
    away = 0.06 * np.tile([1.0, -1.0], 5)
    a, b = 1.0 + away, 1.0 - away  # each within 5 %, their ratio is not
    assert needed(RULE, a, NON_NEGATIVE) == needed(RULE, b, NON_NEGATIVE) == 10
    assert RULE.replicates_needed(compared(kind, a, b), 10) > 10


def test_a_change_near_0_is_precise_relative_to_the_ratio_behind_it() -> None:
    rng = np.random.default_rng(11)
    load = rng.normal(1.0, 0.2, 20)
    a, b = load * rng.normal(1.0, 0.01, 20), load * rng.normal(1.0, 0.01, 20)
    change = compared("decrease", a, b)
    assert abs(change.estimate().value) < 1.0
    assert RULE.replicates_needed(change, 20) == 20


def test_what_is_not_measurable_asks_for_nothing() -> None:
    assert needed(RULE, np.full(10, np.nan)) == 10
