"""The rule of the verdicts, case by case."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

import synthetic
from cwndlab.base.numbers import ANY, COUNT, SHARE, Range
from cwndlab.stats import intervals
from cwndlab.stats.further import Asked, predict
from cwndlab.stats.intervals import Interval
from cwndlab.stats.sample import PAIRED
from cwndlab.stats.verdict import (
    REACH,
    RULE,
    Comparison,
    Incompatible,
    Judgement,
    Verdict,
    decimals,
    half_unit,
    judge,
    rule_text,
)
from synthetic import EXACT

RUNS = np.array([0.54, 0.57, 0.56, 0.58, 0.55, 0.56, 0.59, 0.55, 0.56, 0.57])


def judged(
    published: float,
    values: np.ndarray = RUNS,
    rounding: float = 0.005,
    *,
    margin: float = 0.1,
    runs: int = 1,
    deterministic: bool = False,
    within: Range = ANY,
    signed: bool = False,
    comparisons: Iterable[Comparison] = (),
) -> Judgement:
    sample = synthetic.sample(values, within, streams=EXACT if deterministic else PAIRED)
    measured, further = sample.estimate(), predict(Asked(None, runs), sample, None)
    width = max(rounding, margin * abs(published))
    return judge(published, rounding, measured, further, margin=width, signed=signed, comparisons=comparisons)


def between(low: float, high: float) -> Interval:
    return Interval((low + high) / 2, low, high, 10, "made up")


@pytest.mark.parametrize(
    ("text", "half"), [("0.56", 0.005), ("95", 0.5), ("6.111", 0.0005), ("07.4", 0.05), ("1e3", 500.0)]
)
def test_rounding_is_half_a_unit_of_the_last_printed_digit(text: str, half: float) -> None:
    assert half_unit(text) == pytest.approx(half)


def test_digits_are_those_printed() -> None:
    assert (decimals("0.560"), decimals("95")) == (3, 0)


def test_a_single_run_of_the_paper_is_judged_by_the_spread_of_runs_not_of_their_mean() -> None:
    inside_spread = 0.585  # far outside the mean's interval, well inside the runs
    assert inside_spread > intervals.mean(RUNS).high
    assert judged(inside_spread).verdict is Verdict.AGREES
    assert judged(inside_spread, runs=100).compatible is False


def test_the_rounding_of_the_source_widens_the_interval() -> None:
    edge = judged(0.56).prediction_high
    assert judged(edge + 0.004).compatible
    assert not judged(edge + 0.006).compatible


def test_what_is_near_but_outside_a_narrow_spread_is_close_only() -> None:
    precise = 100.0 + np.array([-0.01, 0.0, 0.01, 0.02, -0.02])
    found = judged(100.5, precise, 0.05)  # half a per cent off, and our runs never scatter so far
    assert found.verdict is Verdict.CLOSE
    assert (found.compatible, found.close) == (False, True)
    assert "scatter of our runs" in found.note


def test_what_a_wide_spread_swallows_is_not_called_agreement() -> None:
    noisy = np.array([8.0, 16.0, 11.0, 12.5, 9.0, 14.0, 11.5, 13.0])
    found = judged(15.7, noisy, 0.05)
    assert found.compatible
    assert found.verdict is not Verdict.AGREES


def test_a_mean_that_is_surely_off_is_compatible_only() -> None:
    many = np.random.default_rng(1).normal(12.0, 2.0, 200)
    found = judged(15.0, many, 0.05)
    assert found.verdict is Verdict.COMPATIBLE
    assert (found.compatible, found.close) == (True, False)


def test_a_cell_too_noisy_to_tell_says_how_many_replicates_it_would_take() -> None:
    rng = np.random.default_rng(2)
    found = judged(10.0, rng.normal(10.0, 4.0, 5), 0.05)
    assert found.verdict is Verdict.NOT_JUDGED
    assert found.close is None
    needed = int("".join(c for c in found.note if c.isdigit()))
    enough = judged(10.0, rng.normal(10.0, 4.0, needed), 0.05)
    assert intervals.mean(rng.normal(10.0, 4.0, needed)).half_width < 1.0
    assert enough.verdict is not Verdict.NOT_JUDGED


@pytest.mark.parametrize(
    ("half", "margin", "says"),
    [
        (1.0, 0.5, "about 160 replicates"),  # 10 (2 * 1 / 0.5)^2: half the margin, not all of it
        (1.0, 0.12, "about 2,800 replicates"),  # 2,777.8, in as many digits as a forecast has
        (30.0, 0.1, "not even 100,000 replicates"),
        (1.0, 0.0, "not even 100,000 replicates"),
    ],
)
def test_replicates_that_are_needed_make_the_interval_half_as_wide_as_the_margin(
    half: float, margin: float, says: str
) -> None:
    noisy = between(10.0 - half, 10.0 + half)
    assert says in judge(10.0, 0.0, noisy, noisy, margin=margin).note


def test_an_interval_across_the_edge_of_the_margin_is_compatible_only() -> None:
    found = judged(0.578, margin=0.035)
    assert found.verdict is Verdict.COMPATIBLE
    assert found.close is None


def test_a_result_without_randomness_is_judged_by_rounding_and_margin() -> None:
    exact = np.array([6.6113])
    assert judged(6.611, exact, 0.0005, deterministic=True).verdict is Verdict.AGREES
    near = judged(6.612, exact, 0.0005, deterministic=True)
    assert near.verdict is Verdict.CLOSE
    assert "rounding of the source" in near.note
    assert judged(6.612, exact, 0.0005, margin=1e-5, deterministic=True).verdict is Verdict.DIFFERS
    assert judged(8.0, exact, 0.0005, deterministic=True).verdict is Verdict.DIFFERS


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_random_runs_are_not_judged(n: int) -> None:
    found = judged(0.56, RUNS[:n])
    assert found.verdict is Verdict.NOT_JUDGED
    assert "3 replicates are needed" in found.note


def test_equal_runs_are_no_proof() -> None:
    few = judged(0.56, np.full(6, 0.56))
    assert few.verdict is Verdict.NOT_JUDGED
    assert "7 replicates are needed" in few.note
    assert judged(0.56, np.full(7, 0.56)).verdict is Verdict.COMPATIBLE
    assert judged(0.7, np.full(7, 0.56)).verdict is Verdict.DIFFERS


def test_no_loss_in_ten_runs_agrees_with_none_but_in_three_it_is_too_early_to_tell() -> None:
    assert judged(0.0, np.zeros(10), 0.5, within=COUNT).verdict is Verdict.AGREES
    early = judged(0.0, np.zeros(3), 0.5, within=COUNT)
    assert early.verdict is Verdict.NOT_JUDGED
    assert judged(9.0, np.zeros(3), 0.5, within=COUNT).verdict is Verdict.DIFFERS


def test_a_prediction_stays_inside_the_range() -> None:
    shares = np.array([0.97, 0.99, 0.96, 0.995, 0.9])
    found = judged(0.95, shares, within=SHARE)
    assert 0.0 < found.prediction_low < found.prediction_high < 1.0


def test_a_value_outside_even_a_huge_spread_differs() -> None:
    assert judged(50.0, np.array([0.1, 2.0, 0.4, 3.0, 0.2])).verdict is Verdict.DIFFERS


BELOW, ABOVE = Comparison(-0.23, between(-0.2, -0.1)), Comparison(0.36, between(0.2, 0.5))
NEAR = 0.66
"""Not compatible, 15 % off: within three margins of 10 %."""


def test_trend_needs_each_comparison_of_the_paper_shown_by_its_interval() -> None:
    assert judged(NEAR, comparisons=(BELOW, ABOVE)).verdict is Verdict.TREND
    unsure = Comparison(0.36, between(-0.1, 0.5))  # its point estimate has the right order
    upside_down = Comparison(0.36, between(-0.4, -0.1))
    for other in (unsure, upside_down):
        assert judged(NEAR, comparisons=(BELOW, other)).verdict is Verdict.DIFFERS


def test_a_number_that_the_paper_does_not_compare_has_no_trend() -> None:
    assert judged(NEAR).verdict is Verdict.DIFFERS


def test_a_trend_is_within_three_margins() -> None:
    wide = judged(0.9, comparisons=(BELOW, ABOVE))  # 38 % off
    assert (wide.verdict, REACH) == (Verdict.DIFFERS, 3.0)
    assert judged(0.9, margin=0.2, comparisons=(BELOW, ABOVE)).verdict is Verdict.TREND
    assert judged(0.28, comparisons=(BELOW, ABOVE)).verdict is Verdict.DIFFERS


def test_trend_of_a_change_needs_its_sign() -> None:
    rise = np.array([10.0, 10.2, 9.9, 10.1])
    assert judged(13.0, rise, 0.5, signed=True).verdict is Verdict.TREND
    assert judged(30.0, rise, 0.5, signed=True).verdict is Verdict.DIFFERS
    assert judged(-13.0, rise, 0.5, signed=True).verdict is Verdict.DIFFERS
    against = Comparison(5.0, between(-4.0, -1.0))
    assert judged(13.0, rise, 0.5, signed=True, comparisons=(against,)).verdict is Verdict.DIFFERS


def test_a_change_that_the_source_rounds_to_nothing_has_no_direction() -> None:
    rise = np.array([1.0, 1.02, 0.99, 1.01])
    for published, verdict in ((0.5, Verdict.DIFFERS), (0.51, Verdict.TREND)):
        found = judge(
            published, 0.5, intervals.mean(rise), between(1.02, 1.03), margin=0.2, signed=True, comparisons=()
        )
        assert found.verdict is verdict


def test_noise_alone_rarely_looks_like_a_trend() -> None:
    rng = np.random.default_rng(3)
    trends = 0
    for _ in range(300):
        here, *others = rng.normal(1.0, 0.3, (4, 5))
        level = 1.0 - 0.05 / len(others)
        own = synthetic.sample(here)
        comparisons = tuple(
            Comparison(0.2, (synthetic.sample(other) - own).estimate(level)) for other in others
        )
        trends += judged(5.0, here, margin=1.0, comparisons=comparisons).verdict is Verdict.TREND
    assert trends / 300 <= 0.05


def test_the_relative_difference_stands_beside_every_verdict() -> None:
    assert judged(0.28).relative_difference == pytest.approx(1.0, rel=0.02)
    assert math.isnan(judged(0.0).relative_difference)


def test_what_could_not_be_measured_is_not_judged() -> None:
    assert judged(0.56, np.array([math.nan, math.nan])).verdict is Verdict.NOT_JUDGED


def test_the_printed_rule_names_every_verdict_and_its_margin() -> None:
    assert {v for v, _ in RULE} == {
        Verdict.AGREES,
        Verdict.COMPATIBLE,
        Verdict.CLOSE,
        Verdict.TREND,
        Verdict.DIFFERS,
        Verdict.SUSPECT,
        Verdict.FITTED,
        Verdict.NOT_JUDGED,
    }
    assert "(5 % of it" in rule_text("5 % of it")[0][1]


def test_comparisons_are_computed_only_where_the_verdict_depends_on_them() -> None:
    asked = []

    def comparisons() -> Iterator[Comparison]:
        asked.append(1)
        yield BELOW

    assert judged(0.56, comparisons=comparisons()).verdict is Verdict.AGREES
    assert judged(2.0, comparisons=comparisons()).verdict is Verdict.DIFFERS
    assert not asked
    assert judged(NEAR, comparisons=comparisons()).verdict is Verdict.TREND
    assert asked


def test_the_line_that_counts_names_what_is_expected_by_chance() -> None:
    found = Incompatible(261, 104, 13.05, 7, 20)
    assert "Of 261 numbers that can be tested, 104 are incompatible" in found.text
    assert "13.1 (7 to 20)" in found.text
    assert "Of 1 number that can be tested, 1 is incompatible" in Incompatible(1, 1, 0.05, 0, 1).text
