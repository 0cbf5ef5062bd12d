"""What is computed with samples, apart from its interval: units, magnitudes, and which replicates count."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cwndlab.base.numbers import NON_NEGATIVE
from cwndlab.stats.sample import Streams, relate
from synthetic import EXACT, sample

NAN = math.nan


@pytest.mark.parametrize(
    ("kind", "a", "b", "unit"),
    [
        *(("sum", "s", "s", "s"), ("sum", "s", "1", "s"), ("sum", "1", "s", "s"), ("sum", "1", "1", "1")),
        *(("difference", "s", "s", "s"), ("difference", "s", "1", "s"), ("difference", "1", "s", "s")),
        *(("product", "s", "bit/s", "s × bit/s"), ("product", "1", "s", "s"), ("product", "s", "1", "s")),
        *(("ratio", "s", "s", "1"), ("ratio", "B", "s", "B/s"), ("ratio", "s", "1", "s")),
        *(("ratio", "1", "s", "1/s"), ("increase", "s", "s", "%"), ("decrease", "s", "s", "%")),
    ],
)
def test_a_number_computed_from_two_has_the_unit_of_the_formula(kind: str, a: str, b: str, unit: str) -> None:
    x, y = (sample([2.0, 3.0, 4.0], NON_NEGATIVE, unit=word) for word in (a, b))
    assert relate(kind, x, y).unit == unit


@pytest.mark.parametrize(
    ("kind", "a", "b", "scale"),
    [
        ("ratio", 6.0, 3.0, 2.0),
        ("increase", 6.0, 4.0, 150.0),  # 50 % more: the ratio behind it is 1.5
        ("decrease", 6.0, 4.0, 150.0),
        ("decrease", 1.0, 4.0, 25.0),
        ("difference", 6.0, 4.0, 6.0),
        ("difference", 1.0, -4.0, 4.0),
        ("sum", 6.0, -4.0, 2.0),
    ],
)
def test_a_precision_is_relative_to_the_numbers_behind_a_comparison(
    kind: str, a: float, b: float, scale: float
) -> None:
    x, y = sample([a - 0.1, a + 0.1]), sample([b - 0.2, b + 0.2])
    assert relate(kind, x, y).scale == pytest.approx(scale, rel=0.02)
    assert (x.scale, y.scale) == pytest.approx((abs(a), abs(b)))


def test_replicates_that_both_have_are_kept() -> None:
    long, short = sample([1.0, NAN, 3.0, 4.0]), sample([5.0, 6.0, NAN])
    np.testing.assert_array_equal(long.keep_common(short).runs, [1.0, NAN, NAN])
    np.testing.assert_array_equal(short.keep_common(long).runs, [5.0, NAN, NAN])
    assert (long.n, long.keep_common(short).n) == (3, 1)
    alone = sample([5.0, NAN], streams=Streams("paired", "of another seed"))
    assert long.keep_common(alone) is long and alone.keep_common(long) is alone
    assert short.keep_common(sample([7.0], streams=EXACT)) is short


def test_controls_are_those_of_the_replicates_that_are_kept() -> None:
    controlled = sample([1.0, 2.0, 3.0], controls=(np.array([0.1, 0.2, 0.3]),))
    [control] = controlled.keep_common(sample([4.0, 5.0])).controls
    assert control.tolist() == [0.1, 0.2]


def test_an_exact_value_equals_runs_that_all_have_it() -> None:
    exact = sample([2.0], streams=EXACT)
    assert exact.equals(sample([2.0, 2.0, 2.0])) and sample([2.0, 2.0]).equals(exact)
    assert not exact.equals(sample([2.0, 2.5])) and not sample([2.0, NAN]).equals(exact)
    assert sample([1.0, NAN]).equals(sample([1.0, NAN])) and not sample([1.0]).equals(sample([1.0, 1.0]))
    assert exact.fill(3).tolist() == [2.0] * 3


@pytest.mark.parametrize(("n", "open_ended"), [(5, True), (6, False)])
def test_a_comparison_of_medians_needs_six_runs_of_each(n: int, open_ended: bool) -> None:
    rng = np.random.default_rng(7)
    few, many = (sample(rng.normal(10.0, 1.0, count), statistic="median") for count in (n, 20))
    for difference in (relate("difference", few, many), relate("difference", many, few)):
        assert math.isnan(difference.estimate().low) is open_ended
    assert math.isnan(few.estimate().low) is open_ended


def test_warnings_of_both_sides_are_given_once() -> None:
    a, b = (sample([1.0, 2.0, 3.0], warning=text) for text in ("1 failed", "2 failed"))
    assert relate("difference", a, b).estimate().warning == "1 failed; 2 failed"
    assert relate("difference", a, a).estimate().warning == "1 failed"
    assert a.estimate().warning == "1 failed"
