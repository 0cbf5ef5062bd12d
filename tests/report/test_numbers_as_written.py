"""Numbers and intervals in a report: with as many digits as their uncertainty allows."""

from __future__ import annotations

import math

import pytest

from cwndlab.base.writing import (
    aligned_lines,
    count_text,
    csv_text,
    join_words,
    markdown_lines,
    plain_row,
    with_unit,
)
from cwndlab.report.digits import difference, estimate_text, interval_text, number, percent
from cwndlab.stats.intervals import Interval

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (NAN, None, "n/a"), (INF, None, "inf"), (-INF, 2, "−inf"),
        (3.0, None, "3"), (-3.0, None, "−3"), (0.0, None, "0"), (-0.0, 2, "0.00"), (-0.004, 2, "0.00"),
        (999_999.0, None, "999999"), (1_000_000.0, None, "1.00e+06"), (0.0001, None, "0.000100"),
        (0.00009, None, "9.00e−05"), (1234.5, None, "1234"), (12.345, None, "12.3"), (1.2345, None, "1.23"),
        (0.12345, None, "0.123"), (-0.012345, None, "−0.0123"), (1.2345, 3, "1.234"), (3.0, 1, "3.0"),
    ],
)  # fmt: skip
def test_a_number_has_three_digits_that_count_or_those_given(
    value: float, digits: int | None, text: str
) -> None:
    assert number(value, digits) == text


def interval(
    low: float, high: float, n: int = 5, method: str = "mean", value: float | None = None
) -> Interval:
    return Interval((low + high) / 2 if value is None else value, low, high, n, method)


@pytest.mark.parametrize(
    ("given", "digits", "text"),
    [
        (interval(1, 1, method="deterministic"), None, "exact"),
        (interval(NAN, NAN, method="no spread in 5 runs"), None, "equal in 5 runs"),
        (interval(NAN, NAN, 1), None, "one run"),
        (interval(NAN, NAN, 2), None, "no interval"),
        (interval(1.0, 2.0), None, "1.00 … 2.00"),
        (interval(1.0, 2.0), 1, "1.0 … 2.0"),
        (interval(100.0, 250.0), None, "100 … 250"),
        (interval(-0.5, 0.5), None, "−0.500 … 0.500"),
        (interval(1.0, 1.015), None, "1.000 … 1.015"),
        (interval(1.0, 1.02), None, "1.00 … 1.02"),
        (interval(1.0, 1.0000001), None, "equal to 6 digits in 5 runs"),
        (interval(1e-6, 2e-6), None, "1.00e−06 … 2.00e−06"),
        (interval(0.00001, 5.0), None, "1.00e−05 … 5.00"),
        (interval(0.0, 5.0), None, "0.00 … 5.00"),
        (interval(-5.0, 0.0), None, "−5.00 … 0.00"),
        (interval(-2.47, -0.00294), None, "−2.47 … −0.00294"),
        (interval(-5.0, -0.00001), 1, "−5.0 … −1.00e−05"),
    ],
)
def test_an_interval_has_digits_that_tell_its_ends_apart_or_says_why_there_is_none(
    given: Interval, digits: int | None, text: str
) -> None:
    assert interval_text(given, digits) == text


def test_a_value_has_more_digits_if_it_would_lie_outside_its_interval_as_shown() -> None:
    assert estimate_text(interval(1.0, 2.0)) == "1.50"
    assert estimate_text(interval(1.001, 1.012, value=1.0044)) == "1.0044"[:5]
    assert estimate_text(interval(100.2, 100.4, value=100.3)) == "100.3"
    assert estimate_text(interval(NAN, NAN, value=1.2345)) == "1.23"
    assert estimate_text(interval(1e-6, 2e-6)) == "1.50e−06"


@pytest.mark.parametrize(
    ("relative", "text"),
    [
        (NAN, ""), (0.0, "±0 %"), (0.00049, "±0 %"), (0.0005, "+0.1 %"), (-0.0123, "−1.2 %"),
        (0.0999, "+10.0 %"),        (0.1, "+10 %"), (-0.256, "−26 %"), (1.5, "+150 %"),
    ],
)  # fmt: skip
def test_a_relative_difference_has_a_sign_and_a_decimal_below_10_per_cent(relative: float, text: str) -> None:
    assert percent(relative) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "±0.0 ms"), (0.00004, "±0.0 ms"), (0.00006, "+0.1 ms"), (-0.0123, "−12.3 ms")]
)
def test_a_difference_of_times_is_in_milliseconds(seconds: float, text: str) -> None:
    assert difference(seconds) == text


def test_words_for_lists_units_and_counts() -> None:
    assert [join_words(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a",
        "a and b",
        "a, b and c",
    ]
    assert [with_unit("loss", unit) for unit in ("%", "", "1", "loss")] == [
        "loss (%)",
        "loss",
        "loss",
        "loss",
    ]
    assert [count_text(n, "run") for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert plain_row({"a": NAN, "b": INF, "c": 1.0, "d": "x"}) == {"a": None, "b": None, "c": 1.0, "d": "x"}
    assert csv_text(("a", "b"), [(1, "x,y"), (None, 2.5)]) == 'a,b\n1,"x,y"\n,2.5\n'
    assert markdown_lines(("a", "b"), [("1", "2")]) == ["| a | b |", "| --- | --- |", "| 1 | 2 |"]
    assert aligned_lines([("a", "bb", "c"), ("ddd", "", "e")]) == ["a    bb  c", "ddd      e"]
