"""Each branch of the verdicts at its bound, with what it says of compatibility and closeness."""

from __future__ import annotations

import math

import pytest

from cwndlab.stats.intervals import EXACT, Interval, equal_in
from cwndlab.stats.verdict import Comparison, Incompatible, Judgement, Verdict, judge

NAN = math.nan


def between(low: float, high: float, n: int = 10, method: str = "t") -> Interval:
    return Interval((low + high) / 2, low, high, n, method)


def exactly(value: float) -> Interval:
    return Interval(value, value, value, 1, EXACT)


WIDE, FAR = between(0.0, 20.0), between(30.0, 40.0)
"""Predictions that include 10, and do not."""


@pytest.mark.parametrize(
    ("measured", "further", "verdict", "compatible", "close"),
    [
        (between(9.5, 10.5), WIDE, Verdict.AGREES, True, True),
        (between(11.5, 12.0), WIDE, Verdict.COMPATIBLE, True, False),
        (between(8.0, 8.5), WIDE, Verdict.COMPATIBLE, True, False),
        (between(10.5, 11.5), WIDE, Verdict.COMPATIBLE, True, None),
        (between(8.0, 12.0), WIDE, Verdict.NOT_JUDGED, True, None),
        (between(9.5, 10.5), FAR, Verdict.CLOSE, False, True),
        (between(12.0, 13.0), FAR, Verdict.TREND, False, False),
        (between(12.0, 13.5), FAR, Verdict.DIFFERS, False, False),
        (between(10.5, 13.5), FAR, Verdict.DIFFERS, False, None),
        (Interval(10.0, NAN, NAN, 8, equal_in(8)), between(10.0, 10.0), Verdict.COMPATIBLE, True, None),
        (Interval(NAN, NAN, NAN, 0, "not measurable"), WIDE, Verdict.NOT_JUDGED, None, None),
        (between(9.0, 11.0), Interval(10.0, NAN, NAN, 2, "2"), Verdict.NOT_JUDGED, None, None),
    ],
)
def test_each_verdict_says_whether_the_number_is_compatible_and_close(
    measured: Interval, further: Interval, verdict: Verdict, compatible: bool | None, close: bool | None
) -> None:
    found = judge(10.0, 0.0, measured, further, margin=1.0, comparisons=(Comparison(1.0, between(1.0, 2.0)),))
    assert (found.verdict, found.compatible, found.close) == (verdict, compatible, close)
    assert found.margin == 1.0
    assert (found.marked, found.in_headline) == (False, True)


def test_bounds_of_the_prediction_and_of_the_margin_are_inside() -> None:
    for further in (between(10.0, 12.0), between(8.0, 10.0), between(10.25, 12.0), between(8.0, 9.75)):
        assert judge(10.0, 0.25, between(9.5, 10.5), further, margin=1.0).compatible
    for further in (between(10.26, 12.0), between(8.0, 9.74)):
        assert judge(10.0, 0.25, between(9.5, 10.5), further, margin=1.0).compatible is False
    for measured, close in (((9.0, 11.0), True), ((8.99, 11.0), None), ((9.0, 11.01), None)):
        assert judge(10.0, 0.0, between(*measured), WIDE, margin=1.0).close is close


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (7.0, 8.0, Verdict.TREND),
        (12.0, 13.0, Verdict.TREND),
        (6.99, 8.0, Verdict.DIFFERS),
        (12.0, 13.01, Verdict.DIFFERS),
    ],
)
def test_three_margins_are_within_reach(low: float, high: float, verdict: Verdict) -> None:
    shown = Comparison(1.0, between(1.0, 2.0))
    assert judge(10.0, 0.0, between(low, high), FAR, margin=1.0, comparisons=(shown,)).verdict is verdict


@pytest.mark.parametrize(
    ("published", "off", "verdict"),
    [
        (0.0, 0.9e-9, Verdict.AGREES),
        (0.0, 1.1e-9, Verdict.DIFFERS),
        (0.5, -0.9e-9, Verdict.AGREES),
        (0.5, -1.1e-9, Verdict.DIFFERS),
        (1e6, 0.9e-3, Verdict.AGREES),
        (1e6, -1.1e-3, Verdict.DIFFERS),
        (-1e6, 0.9e-3, Verdict.AGREES),
    ],
)
def test_rounding_errors_of_a_billionth_make_no_difference(
    published: float, off: float, verdict: Verdict
) -> None:
    """Relative to the number, or to 1 if it is less."""
    ours = exactly(published + off)
    assert judge(published, 0.0, ours, ours, margin=0.0).verdict is verdict


@pytest.mark.parametrize(
    ("n", "half", "margin", "says"),
    [
        (3, 1.05, 1.0, "about 13 replicates"),  # 3 (2 * 1.05)^2 = 13.23: no more digits are dropped
        (10, 50.0, 1.0, "about 100,000 replicates"),
        (10, 50.01, 1.0, "not even 100,000 replicates"),
        (10, NAN, 1.0, "t"),
    ],
)
def test_a_forecast_of_replicates_has_the_digits_that_it_deserves(
    n: int, half: float, margin: float, says: str
) -> None:
    noisy = Interval(10.0, 10.0 - half, 10.0 + half, n, "t")
    found = judge(10.0, 0.0, noisy, WIDE, margin=margin)
    assert found.verdict is Verdict.NOT_JUDGED
    assert found.note.startswith(f"too noisy to tell: {says}")


def test_an_interval_as_wide_as_the_margin_is_not_too_noisy() -> None:
    assert judge(10.0, 0.0, between(10.5, 12.5), WIDE, margin=1.0).verdict is Verdict.COMPATIBLE
    assert judge(10.0, 0.0, between(10.5, 12.6), WIDE, margin=1.0).verdict is Verdict.NOT_JUDGED


def test_a_number_is_counted_if_it_is_random_unmarked_and_in_a_table_that_counts() -> None:
    counted = Judgement(Verdict.AGREES, "", 0.0, 1.0, 2.0, compatible=True)
    assert counted.counts and counted._replace(compatible=False).counts
    assert not counted._replace(compatible=None).counts
    assert not counted._replace(prediction_high=1.0).counts
    assert not counted._replace(marked=True).counts
    assert not counted._replace(in_headline=False).counts
    assert counted.close is None and math.isnan(counted.margin)


def test_one_and_several_numbers_have_their_verbs() -> None:
    assert "Of 2 numbers that can be tested, 1 is" in Incompatible(2, 1, 0.1, 0, 1).text
    assert "Of 1 number that can be tested, 0 are" in Incompatible(1, 0, 0.05, 0, 1).text
    assert "0.0512 (0 to 1)" in Incompatible(1, 0, 0.05123, 0, 1).text
