"""Digits of numbers and intervals where one more or one less would be wrong."""

from __future__ import annotations

import math

import pytest

from cwndlab.report.digits import (
    _count_decimals,
    difference,
    estimate_text,
    interval_text,
    number,
    percent,
    space_unit,
)
from cwndlab.stats.intervals import Interval

NAN = math.nan


def random(low: float, high: float, value: float | None = None, n: int = 5) -> Interval:
    return Interval((low + high) / 2 if value is None else value, low, high, n, "t")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999_999.0, "999999"), (1e6, "1.00e+06"), (-1e6, "−1.00e+06"), (999_999.5, "1000000"),
        (1e-4, "0.000100"), (0.99e-4, "9.90e−05"), (-1.0, "−1"), (0.0, "0"), (-0.0, "0"), (1.5, "1.50"),
        (99.96, "100.0"), (999.6, "1000"), (12345.6, "12346"),
    ],
)  # fmt: skip
def test_a_number_without_decimals_of_its_own(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("scale", "decimals"),
    [(0.0, 9), (1.0, 5), (9.9, 5), (10.0, 4), (123_456.0, 0), (1e7, 0), (1e-3, 8), (1e-4, 9), (1e-5, 9)],
)
def test_the_most_decimals_are_those_of_six_digits_and_nine(scale: float, decimals: int) -> None:
    assert _count_decimals(scale) == decimals


@pytest.mark.parametrize(
    ("low", "high", "digits", "text"),
    [
        (100.0, 102.0, None, "100 … 102"),
        (100.0, 101.75, None, "100.0 … 101.8"),
        (1.0, 1.0, None, "1.00 … 1.00"),
        (1.0, 1.00000001, 9, "1.000000000 … 1.000000010"),
        (1e-4, 3e-4, None, "0.000100 … 0.000300"),
        (0.5e-4, 1e-4, None, "0.000050 … 0.000100"),
        (0.99e-4, 0.995e-4, None, "9.90e−05 … 9.95e−05"),
        (-1e-5, 0.99e-4, None, "−1.00e−05 … 9.90e−05"),
        (5000.0, 9000.0, None, "5000 … 9000"),
        (0.004, 20.0, 1, "0.00400 … 20.0"),
        (-20.0, -0.004, 1, "−20.0 … −0.00400"),
        (-0.004, 20.0, 1, "0.0 … 20.0"),
        (0.001, 0.002, 0, "0.0010 … 0.0020"),
    ],
)
def test_the_ends_of_an_interval(low: float, high: float, digits: int | None, text: str) -> None:
    assert interval_text(random(low, high), digits) == text


def test_an_interval_that_no_six_digits_tell_apart_is_called_equal() -> None:
    assert interval_text(random(1.0, 1.000001, n=7), None) == "equal to 6 digits in 7 runs"
    assert interval_text(random(1.0, 1.00002), None) == "1.00000 … 1.00002"
    assert interval_text(Interval(1.0, NAN, NAN, 1, "t"), None) == "one run"
    assert interval_text(Interval(1.0, NAN, NAN, 2, "t"), None) == "no interval"


@pytest.mark.parametrize(
    ("value", "low", "high", "digits", "text"),
    [
        (1.0, 1.0, 1.00001, None, "1"),
        (1.00004, 1.00001, 1.00007, 0, "1.00004"),
        (1.5, 1.2, 1.9, 0, "1.5"),  # 2 would lie above its interval
        (-0.4, -0.45, -0.35, 0, "−0.4"),
        (5.0, 4.0, 6.0, 0, "5"),
        (2.5, 2.0, 3.0, 0, "2"),  # an end counts as inside
        (3.5, 3.0, 4.0, 0, "4"),
    ],
)
def test_an_estimate_has_the_fewest_digits_that_lie_in_its_interval(
    value: float, low: float, high: float, digits: int | None, text: str
) -> None:
    assert estimate_text(random(low, high, value), digits) == text


def test_relative_differences_and_times_around_their_limits() -> None:
    assert [percent(share) for share in (0.000499, -0.000501, 0.0994, 0.1004, -1.0)] == [
        "±0 %",
        "−0.1 %",
        "+9.9 %",
        "+10 %",
        "−100 %",
    ]
    assert [difference(s) for s in (0.0000499, -0.0000501, 0.00005, 1.0)] == [
        "±0.0 ms",
        "−0.1 ms",
        "+0.1 ms",
        "+1000.0 ms",
    ]


def test_a_value_of_a_study_has_a_space_before_its_unit() -> None:
    assert [space_unit(text) for text in ("1.5Mbps", "40ms", "2BDP", "25", "codel", "5 ms")] == [
        "1.5 Mbps",
        "40 ms",
        "2 BDP",
        "25",
        "codel",
        "5 ms",
    ]
