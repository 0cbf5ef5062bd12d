"""Quantiles without scipy, compared with scipy."""

from __future__ import annotations

import pytest

from cwndlab.stats.distributions import binomial_cdf, t_cdf, t_quantile


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
