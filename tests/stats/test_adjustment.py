"""Means freed of what the controls explain: those of a regression, narrower, and as honest as before."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from cwndlab import Dumbbell, Flow, Run, Study, StudyError
from cwndlab.base.numbers import ANY, NON_NEGATIVE, SHARE
from cwndlab.stats import intervals
from cwndlab.stats.adjustment import FEWEST_ADJUSTED, adjust
from cwndlab.stats.results import Results
from cwndlab.stats.stopping import StoppingRule, replicates_by_cell
from cwndlab.study.cells import CellInfo
from synthetic import make_results


def runs(rng: np.random.Generator, n: int, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """A load of mean 0 with a heavy tail, and what it does, mean 10."""
    load = rng.exponential(1.0, n) - 1.0
    return 10.0 + load + noise * rng.normal(0.0, 1.0, n), load


def test_the_interval_is_that_of_the_intercept_of_a_regression() -> None:
    y, x = runs(np.random.default_rng(1), 12)
    freed = adjust(y, [x], ANY)
    assert freed is not None
    slope = np.cov(x, y)[0, 1] / np.var(x, ddof=1)
    intercept = np.mean(y) - slope * np.mean(x)
    residuals = y - intercept - slope * x
    variance = residuals @ residuals / 10
    error = math.sqrt(variance * (1 / 12 + np.mean(x) ** 2 / np.sum((x - np.mean(x)) ** 2)))
    found = intervals.mean(freed, ANY, adjusted=True)
    t_of_ten = 2.228138852
    assert found.value == pytest.approx(intercept)
    assert found.half_width == pytest.approx(t_of_ten * error)


@pytest.mark.parametrize("n", [10, 20])
def test_it_covers_as_often_as_before_with_a_fraction_of_the_width(n: int) -> None:
    rng = np.random.default_rng(2)
    hits, narrower = 0, []
    for _ in range(600):
        y, x = runs(rng, n)
        freed = adjust(y, [x, rng.normal(0.0, 1.0, n)], NON_NEGATIVE)
        assert freed is not None
        found = intervals.mean(freed, NON_NEGATIVE, adjusted=True)
        hits += found.low <= 10.0 <= found.high
        narrower.append(found.half_width / intervals.mean(y, NON_NEGATIVE).half_width)
    assert 0.925 <= hits / 600 <= 0.975
    assert np.mean(narrower) < 0.5


def test_few_runs_are_not_adjusted_nor_those_without_a_control_that_varies() -> None:
    y, x = runs(np.random.default_rng(3), FEWEST_ADJUSTED)
    assert adjust(y[1:], [x[1:]], ANY) is None
    assert adjust(y, [np.zeros(len(y))], ANY) is None
    assert adjust(y, [], ANY) is None
    assert adjust(y, [np.full(len(y), np.nan)], ANY) is None
    assert adjust(np.full(len(y), 3.0), [x], ANY) is None


def test_controls_must_leave_one_degree_of_freedom() -> None:
    n = FEWEST_ADJUSTED
    y, *controls = np.random.default_rng(5).normal(0.0, 1.0, (n, n))
    assert adjust(y, controls[: n - 2], ANY) is not None
    assert adjust(y, controls, ANY) is None


def test_a_control_that_says_the_same_as_another_counts_once() -> None:
    y, x = runs(np.random.default_rng(4), 15)
    once, twice = adjust(y, [x], ANY), adjust(y, [x, 5.0 - 3.0 * x], ANY)
    assert once is not None
    assert twice is not None
    np.testing.assert_allclose(once, twice)


@pytest.mark.parametrize(("apart", "counts"), [(1e-6, False), (1e-2, True)])
def test_a_control_counts_if_others_leave_enough_of_its_variance(apart: float, counts: bool) -> None:
    rng = np.random.default_rng(6)
    y, x = runs(rng, 15)
    x[0] = 0.0  # where the control is 0, any difference is large relative to it
    once, twice = adjust(y, [x], ANY), adjust(y, [x, x + apart * rng.normal(0.0, 1.0, 15)], ANY)
    assert once is not None and twice is not None
    assert np.allclose(once, twice, rtol=1e-12) is not counts


def test_a_run_that_could_not_be_measured_stays_so() -> None:
    y, x = runs(np.random.default_rng(5), 15)
    freed = adjust(np.append(y, np.nan), [np.append(x, 1.0)], ANY)
    assert freed is not None
    assert math.isnan(freed[-1])
    np.testing.assert_allclose(freed[:-1], adjust(y, [x], ANY))


def test_a_mean_that_would_leave_its_range_is_not_adjusted() -> None:
    rng = np.random.default_rng(6)
    load = rng.exponential(1.0, 12) + 2.0  # an unlucky sample: its mean is far from 0
    shares = 1.01 - 0.01 * load + rng.normal(0.0, 1e-3, 12)
    assert np.all(shares < 1.0)
    assert adjust(shares, [load], SHARE) is None
    assert adjust(shares, [load], NON_NEGATIVE) is not None


def results(n: int) -> Results:
    """Two cells that share their loads."""
    rng = np.random.default_rng(7)
    load = rng.exponential(1.0, n) - 1.0
    data = {}
    for cell, level in (("a", 10.0), ("b", 12.0)):
        data[cell, "delay"] = (level + load + rng.normal(0.0, 0.2, n)).tolist()
        data[cell, "excess"] = load.tolist()
    return make_results(
        (CellInfo("a", {"x": 1}), CellInfo("b", {"x": 2})),
        {"delay": "s", "excess": "B"},
        data,
        ranges={"delay": NON_NEGATIVE},
        adjustments={"delay": ["excess"]},
        centred={"excess"},
    )


def test_estimates_comparisons_and_jackknife_values_agree() -> None:
    known = results(20)
    found = known.estimate("a", "delay")
    assert found.method == "log t, adjusted"
    plain = intervals.mean(known.values("a", "delay"), NON_NEGATIVE)
    assert found.half_width < plain.half_width / 2
    a, b = (known.sample(cell, "delay") for cell in "ab")
    assert a.derived.values[0] == pytest.approx(found.value)
    apart = (b - a).estimate()
    assert apart.value == pytest.approx(known.estimate("b", "delay").value - found.value)
    assert apart.low < 2.0 < apart.high
    assert apart.method.endswith(", adjusted")


def test_an_adjusted_cell_needs_fewer_runs_and_a_control_none() -> None:
    known, rule = results(12), StoppingRule(relative=0.02, cap=4000)
    freed = replicates_by_cell(rule, known, [])["a"]
    plain = rule.replicates_needed(replace(known.sample("a", "delay"), controls=()), 12)
    assert freed < plain / 4


def test_only_quantities_of_expectation_0_can_be_adjusted_for() -> None:
    def study(**keys: object) -> Study:
        return Study.build(
            "s",
            dumbbell=Dumbbell(rate="5Mbps", rtt="20ms", flows=[Flow(cc="cubic")]),
            run=Run(duration="1s"),
            quantities=[
                {"name": "rate", "metric": "goodput", **keys},
                {"name": "loss", "metric": "loss_rate"},
                {"name": "excess", "metric": "excess_bytes"},
            ],
        )

    assert study(adjust_for=["excess"]).outline.quantities[0].adjust_for == ["excess"]
    with pytest.raises(StudyError, match='expectation of "loss" is not known to be 0'):
        study(adjust_for=["loss"])
    with pytest.raises(StudyError, match='there is no quantity "exces"'):
        study(adjust_for=["exces"])
    with pytest.raises(StudyError, match="not a median"):
        study(adjust_for=["excess"], statistic="median")
