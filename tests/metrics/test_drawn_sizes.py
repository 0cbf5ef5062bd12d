"""The expectation of drawn sizes beyond a limit, compared with sums over many quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cwndlab.base.numbers import Floats
from cwndlab.metrics.drawn import _beyond

#: The middles of a million shares of equal probability.
SHARES = (np.arange(1_000_000) + 0.5) / 1e6


def pareto(least: float, shape: float) -> Floats:
    return np.asarray(least / (1 - SHARES) ** (1 / shape))


def body_and_tail(median: float, sigma: float, start: float, alpha: float) -> Floats:
    x = stats.lognorm.ppf(SHARES, sigma, scale=median)
    above = SHARES > stats.lognorm.cdf(start, sigma, scale=median)
    within = (SHARES[above] - SHARES[above][0] + 5e-7) / (1 - SHARES[above][0] + 5e-7)
    x[above] = start / (1 - within) ** (1 / alpha)
    return np.asarray(x)


LOGNORMAL = {"kind": "lognormal", "median": 20.0, "sigma": 1.0}
MIXED = {"kind": "lognormal-pareto", "median": 10.0, "sigma": 0.8, "tail_from": 20.0, "tail_alpha": 1.5}
KINDS: list[tuple[dict[str, Any], Callable[[], Floats]]] = [
    ({"kind": "fixed", "value": 30.0}, lambda: np.full(len(SHARES), 30.0)),
    ({"kind": "uniform", "low": 10.0, "high": 50.0}, lambda: 10 + 40 * SHARES),
    ({"kind": "uniform", "low": 30.0, "high": 30.0}, lambda: np.full(len(SHARES), 30.0)),
    ({"kind": "exponential", "mean": 20.0}, lambda: -20 * np.log1p(-SHARES)),
    ({"kind": "exponential", "mean": 0.0}, lambda: np.zeros(len(SHARES))),
    ({"kind": "pareto", "min": 20.0, "shape": 2.5}, lambda: pareto(20.0, 2.5)),
    ({"kind": "pareto", "mean": 50.0, "shape": 2.5}, lambda: pareto(30.0, 2.5)),
    ({"kind": "pareto", "min": 20.0, "shape": 1.2, "max": 200.0}, lambda: np.minimum(pareto(20.0, 1.2), 200)),
    ({"kind": "pareto", "min": 20.0, "shape": 1.0, "max": 200.0}, lambda: np.minimum(pareto(20.0, 1.0), 200)),
    ({"kind": "pareto", "min": 20.0, "shape": 0.7, "max": 200.0}, lambda: np.minimum(pareto(20.0, 0.7), 200)),
    (LOGNORMAL, lambda: stats.lognorm.ppf(SHARES, 1.0, scale=20.0)),
    ({**LOGNORMAL, "max": 45.0}, lambda: np.minimum(stats.lognorm.ppf(SHARES, 1.0, scale=20.0), 45)),
    ({**LOGNORMAL, "sigma": 0.0}, lambda: np.full(len(SHARES), 20.0)),
    ({**LOGNORMAL, "sigma": 0.0, "max": 12.0}, lambda: np.full(len(SHARES), 12.0)),
    ({**MIXED, "max": 300.0}, lambda: np.minimum(body_and_tail(10.0, 0.8, 20.0, 1.5), 300)),
    (
        {"kind": "empirical", "values": [10, 20, 60], "counts": [1, 2, 1]},
        lambda: np.repeat([10.0, 20.0, 20.0, 60.0], 250_000),
    ),
    (
        {"kind": "cdf", "points": [[10, 0.25], [30, 0.75], [80, 1.0]]},
        lambda: np.interp(SHARES, [0, 0.25, 0.75, 1], [10, 10, 30, 80]),
    ),
]


@pytest.mark.parametrize(("given", "quantiles"), KINDS)
def test_what_is_beyond_a_size_is_what_the_quantiles_have_there(
    given: dict[str, Any], quantiles: Callable[[], Floats]
) -> None:
    x = quantiles()
    for at in (0.0, 5.0, 15.0, 22.5, 35.0, 70.0, 250.0):
        share, part = _beyond(given, at)
        above = np.where(x > at, x, 0.0)
        assert share == pytest.approx(float(np.mean(x > at)), abs=2e-5)
        assert part == pytest.approx(float(np.mean(above)), rel=0.004, abs=0.01)


@pytest.mark.parametrize("at", [0.02, 0.5, 0.9])
def test_pauses_of_less_than_a_second_have_what_is_beyond_them(at: float) -> None:
    pause = stats.lognorm(0.5, scale=0.4)
    share, part = _beyond({"kind": "lognormal", "median": 0.4, "sigma": 0.5}, at)
    assert share == pytest.approx(pause.sf(at))
    assert part == pytest.approx(pause.expect(lb=at), rel=1e-7)


@pytest.mark.parametrize("at", [20.0, 30.0, 200.0])
def test_a_size_at_the_limit_is_not_beyond_it(at: float) -> None:
    for given in (
        {"kind": "fixed", "value": at},
        {"kind": "uniform", "low": at, "high": at},
        {"kind": "pareto", "min": 20.0, "shape": 1.5, "max": at},
        {**LOGNORMAL, "max": at},
        {**LOGNORMAL, "median": at, "sigma": 0.0},
        {"kind": "empirical", "values": [at], "counts": [3]},
    ):
        assert _beyond(given, at) == (0.0, 0.0)


def test_a_tail_without_a_mean_is_infinite_and_an_unknown_kind_an_error() -> None:
    share, part = _beyond({"kind": "pareto", "min": 20.0, "shape": 0.9}, 40.0)
    assert share == pytest.approx(0.5**0.9) and math.isinf(part)
    with pytest.raises(ValueError, match="'weibull' is not known"):
        _beyond({"kind": "weibull"}, 1.0)
