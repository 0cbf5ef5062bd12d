"""Quantiles without scipy, compared with scipy."""

from __future__ import annotations

import math

import pytest

from cwndlab.stats import distributions
from cwndlab.stats.distributions import (
    binomial_cdf,
    order_ranks,
    poisson_cdf,
    poisson_ends,
    poisson_prediction,
    t_cdf,
    t_quantile,
)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 9, 29, 99, 1000])
@pytest.mark.parametrize("p", [0.0005, 0.025, 0.3, 0.5, 0.9, 0.975, 0.9995])
def test_t_quantile_is_scipys(p: float, df: int) -> None:
    from scipy import stats

    assert t_quantile(p, df) == pytest.approx(float(stats.t.ppf(p, df)), rel=1e-9, abs=1e-12)


def test_t_table_as_printed_in_textbooks() -> None:
    assert t_quantile(0.975, 9) == pytest.approx(2.262, abs=5e-4)
    assert t_quantile(0.975, 1) == pytest.approx(12.706, abs=5e-4)
    assert t_cdf(0.0, 5) == pytest.approx(0.5)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1])
def test_a_probability_outside_0_and_1_is_an_error(p: float) -> None:
    with pytest.raises(ValueError, match="0 < p < 1"):
        t_quantile(p, 3)


@pytest.mark.parametrize("n", [1, 6, 30])
def test_binomial_cdf_sums_its_probabilities(n: int) -> None:
    from math import comb

    for q in (0.1, 0.5, 0.95):
        total = 0.0
        for k in range(n + 1):
            total += comb(n, k) * q**k * (1 - q) ** (n - k)
            assert binomial_cdf(k, n, q) == pytest.approx(total, abs=1e-12)
    assert binomial_cdf(-1, n, 0.5) == 0.0


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("events", [0, 1, 2, 7, 40, 1000, 250_000])
def test_the_ends_of_a_poisson_mean_are_scipys_chi_squared_quantiles(events: int, level: float) -> None:
    from scipy import stats

    tail = (1.0 - level) / 2.0
    low, high = poisson_ends(events, level)
    assert low == (pytest.approx(stats.chi2.ppf(tail, 2 * events) / 2, rel=1e-12) if events else 0.0)
    assert high == pytest.approx(stats.chi2.ppf(1.0 - tail, 2 * events + 2) / 2, rel=1e-12)


def test_the_ends_of_a_poisson_mean_take_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0

    def counted(k: int, mean: float) -> float:
        nonlocal steps
        steps += 1
        return poisson_cdf(k, mean)

    monkeypatch.setattr(distributions, "poisson_cdf", counted)
    poisson_ends.cache_clear()
    for events in range(200):
        poisson_ends(events)
    assert 0 < steps <= 200 * 9


@pytest.mark.parametrize(("n", "q"), [(10**6, 0.3), (10**8, 0.5), (10**8, 1e-4)])
def test_binomial_cdf_of_many_trials_is_that_of_a_normal_count(n: int, q: float) -> None:
    mean, spread = n * q, math.sqrt(n * q * (1 - q))
    for z in (-2.0, -0.5, 0.0, 1.0, 2.5):
        k = math.floor(mean + z * spread)
        standard = (k + 0.5 - mean) / spread
        normal = 0.5 * math.erfc(-standard / math.sqrt(2))
        skew = (
            (1 - 2 * q)
            / spread
            * (1 - standard**2)
            / 6
            * math.exp(-(standard**2) / 2)
            / math.sqrt(2 * math.pi)
        )
        assert binomial_cdf(k, n, q) == pytest.approx(normal + skew, abs=2e-5)


@pytest.mark.parametrize("k", [0, 1, 9, 100])
def test_poisson_cdf_is_scipys_on_both_sides_of_where_the_series_changes(k: int) -> None:
    from scipy import stats

    means = [0.3, k + 1.999, k + 2.0, k + 2.001, 3.0 * k + 5.0]
    expected = [float(stats.poisson.cdf(k, mean)) for mean in means]
    assert [poisson_cdf(k, mean) for mean in means] == pytest.approx(expected, rel=1e-11)
    assert (poisson_cdf(k, 0.0), poisson_cdf(-1, 2.0)) == (1.0, 0.0)


@pytest.mark.parametrize("q", [0.5, 0.9])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_ranks_of_a_quantile_are_the_innermost_pair_with_small_tails(q: float, level: float) -> None:
    from scipy import stats

    tail = (1.0 - level) / 2.0
    for n in (1, 5, 6, 8, 28, 29, 45, 60):
        below = stats.binom.cdf(range(n), n, q)
        lower = [rank for rank in range(n) if below[rank] <= tail]
        upper = [rank for rank in range(n) if 1.0 - below[rank] <= tail]
        ranks = order_ranks(n, q, level)
        if not lower or not upper:
            assert ranks is None
        else:
            assert ranks is not None and ranks[:2] == (lower[-1], upper[0])
            assert ranks[2] == pytest.approx(below[upper[0]] - below[lower[-1]], abs=1e-12)


@pytest.mark.parametrize("events", [0, 1, 4, 30])
@pytest.mark.parametrize(("runs", "further"), [(1, 1), (10, 1), (10, 3), (5, 20)])
def test_the_counts_predicted_of_further_runs_are_those_of_scipys_binomial(
    events: int, runs: int, further: int
) -> None:
    from scipy import stats

    share = further / (runs + further)
    expected = [
        count
        for count in range(10 + 10 * (events + 1) * max(1, further // runs))
        if stats.binom.cdf(count, events + count, share) > 0.025
        and stats.binom.sf(count - 1, events + count, share) > 0.025
    ]
    assert poisson_prediction(events, runs, further) == (expected[0], expected[-1])
