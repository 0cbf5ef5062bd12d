"""The rule of the verdicts, case by case."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cwndlab.stats import intervals
from cwndlab.stats.verdict import RULE, Judgement, Neighbour, Verdict, decimals, half_unit, judge, rule_text

RUNS = np.array([0.54, 0.57, 0.56, 0.58, 0.55, 0.56, 0.59, 0.55, 0.56, 0.57])


def judged(published: float, values: np.ndarray = RUNS, rounding: float = 0.005, **more: object) -> Judgement:
    options: dict[str, object] = {"unit": "s", "deterministic": False, **more}
    exact = bool(options["deterministic"])
    return judge(published, rounding, intervals.mean(values, deterministic=exact), values, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "half"), [("0.56", 0.005), ("95", 0.5), ("6.111", 0.0005), ("07.4", 0.05), ("1e3", 500.0)]
)
def test_rounding_is_half_a_unit_of_the_last_printed_digit(text: str, half: float) -> None:
    assert half_unit(text) == pytest.approx(half)


def test_digits_are_those_printed() -> None:
    assert (decimals("0.560"), decimals("95")) == (3, 0)


def test_a_single_run_of_the_paper_is_judged_by_the_spread_of_runs_not_of_their_mean() -> None:
    mean = intervals.mean(RUNS)
    inside_spread = 0.585  # far outside the mean's interval, well inside the runs
    assert inside_spread > mean.high
    assert judged(inside_spread).verdict is Verdict.AGREES
    assert judged(inside_spread, runs=100).verdict is Verdict.DIFFERS


def test_the_rounding_of_the_source_widens_the_interval() -> None:
    edge = judged(0.56).prediction_high
    assert judged(edge + 0.004).verdict is Verdict.AGREES
    assert judged(edge + 0.006).verdict is Verdict.DIFFERS


def test_a_result_without_randomness_is_judged_by_rounding_alone() -> None:
    exact = np.array([6.6113])
    assert judged(6.611, exact, 0.0005, deterministic=True).verdict is Verdict.AGREES
    assert judged(6.612, exact, 0.0005, deterministic=True).verdict is Verdict.DIFFERS
    assert judged(6.611, exact, 0.0005, deterministic=True).prediction_high == 6.6113


def test_one_random_run_is_not_judged() -> None:
    assert judged(0.56, np.array([0.56])).verdict is Verdict.NOT_JUDGED
    assert "3 are needed" in judged(0.56, np.array([0.56])).note


def test_agreement_inside_a_huge_spread_is_not_called_agreement() -> None:
    wild = np.array([0.1, 2.0, 0.4, 3.0, 0.2])
    assert judged(1.0, wild).verdict is Verdict.NOT_JUDGED
    assert "too unstable" in judged(1.0, wild).note


def test_a_value_outside_even_a_huge_spread_differs() -> None:
    wild = np.array([0.1, 2.0, 0.4, 3.0, 0.2])
    assert judged(50.0, wild).verdict is Verdict.DIFFERS


def test_per_cent_are_unstable_by_points_not_by_ratio() -> None:
    small = np.array([0.5, -0.5, 1.0, 0.2, 0.1])  # a change around 0: the ratio means nothing
    assert judged(0.4, small, 0.05, unit="%", signed=True).verdict is Verdict.AGREES


def test_trend_needs_the_order_of_the_neighbours() -> None:
    below, above = Neighbour(0.47, 0.40, 0.005), Neighbour(1.06, 0.90, 0.005)
    assert judged(0.70, neighbours=[below, above]).verdict is Verdict.TREND
    upside_down = Neighbour(1.06, 0.50, 0.005)
    assert judged(0.70, neighbours=[below, upside_down]).verdict is Verdict.DIFFERS


def test_trend_needs_evidence() -> None:
    assert judged(0.70).verdict is Verdict.DIFFERS
    same_as_printed = Neighbour(0.705, 0.1, 0.005)  # the paper cannot tell the two apart
    assert judged(0.70, neighbours=[same_as_printed]).verdict is Verdict.DIFFERS


def test_trend_of_a_change_needs_its_sign() -> None:
    rise = np.array([10.0, 10.2, 9.9, 10.1])
    assert judged(30.0, rise, 0.5, unit="%", signed=True).verdict is Verdict.TREND
    assert judged(-30.0, rise, 0.5, unit="%", signed=True).verdict is Verdict.DIFFERS


def test_the_relative_difference_stands_beside_every_verdict() -> None:
    assert judged(0.28).relative_difference == pytest.approx(1.0, rel=0.02)
    assert math.isnan(judged(0.0).relative_difference)


def test_what_could_not_be_measured_is_not_judged() -> None:
    assert judged(0.56, np.array([math.nan, math.nan])).verdict is Verdict.NOT_JUDGED


def test_the_printed_rule_names_every_verdict_and_its_thresholds() -> None:
    words = {v for v, _ in RULE}
    assert words == {
        Verdict.AGREES,
        Verdict.TREND,
        Verdict.DIFFERS,
        Verdict.SUSPECT,
        Verdict.FITTED,
        Verdict.NOT_JUDGED,
    }
    assert "over 40%" in rule_text(0.4, 20)[-1][1]
    assert "20 points" in rule_text(0.4, 20)[-1][1]


def test_prediction_intervals_hold_95_percent_of_further_runs() -> None:
    rng = np.random.default_rng(10)
    hits = 0
    for _ in range(2000):
        runs = rng.normal(1.0, 0.1, 11)
        around = intervals.prediction(runs[:10])
        hits += around.low <= runs[10] <= around.high
    assert 0.935 <= hits / 2000 <= 0.965
