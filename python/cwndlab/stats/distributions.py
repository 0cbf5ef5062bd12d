"""Quantiles of Student's t, and intervals by the binomial and the Poisson distribution, without scipy.

Importing scipy.stats takes about two seconds of CPU time, more than a small study takes to run. The tests
compare the functions with scipy's.
"""

from __future__ import annotations

import math
from functools import lru_cache

LEVEL = 0.95
"""The confidence level of every interval in a report."""


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22)."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    h = d
    # The number of steps needed grows with the square root of the larger parameter.
    for m in range(1, 500 + 10 * math.isqrt(int(max(a, b)))):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + numerator * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + numerator / c
            c = c if abs(c) > tiny else tiny
            h *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return h


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularized incomplete beta function I_x(a, b)."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log_front) * _beta_fraction(a, b, x) / a
    return 1.0 - math.exp(log_front) * _beta_fraction(b, a, 1.0 - x) / b


def t_cdf(t: float, df: float) -> float:
    """Probability that Student's t with `df` degrees of freedom is at most `t`."""
    tail = 0.5 * incomplete_beta(df / 2.0, 0.5, df / (df + t * t))
    return 1.0 - tail if t > 0 else tail


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """The `p`-quantile of Student's t with `df` degrees of freedom."""
    if not 0.0 < p < 1.0 or df <= 0:
        raise ValueError(f"t_quantile needs 0 < p < 1 and df > 0, got p={p}, df={df}")
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -t_quantile(1.0 - p, df)
    low, high = 0.0, 1.0
    while t_cdf(high, df) < p:
        low, high = high, high * 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if t_cdf(middle, df) < p:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def binomial_cdf(k: int, n: int, p: float) -> float:
    """Probability of at most `k` successes in `n` trials of probability `p`."""
    if k < 0:
        return 0.0
    if k >= n:
        return 1.0
    return incomplete_beta(n - k, k + 1.0, 1.0 - p)


def order_ranks(n: int, q: float, level: float = LEVEL) -> tuple[int, int, float] | None:
    """The ranks (from 0) of two of `n` ordered values that enclose the `q`-quantile, and the coverage.

    The pair is the innermost one with at most half of 1 - `level` in each tail. The coverage holds for any
    distribution (W. J. Conover, "Practical Nonparametric Statistics", 1999). None with too few values: a
    median needs six at 95 %.
    """
    tail = (1.0 - level) / 2.0
    lower = max((r for r in range(n) if binomial_cdf(r, n, q) <= tail), default=None)
    upper = next((s for s in range(n) if 1.0 - binomial_cdf(s, n, q) <= tail), None)
    if lower is None or upper is None:
        return None
    return lower, upper, binomial_cdf(upper, n, q) - binomial_cdf(lower, n, q)


def poisson_cdf(k: int, mean: float) -> float:
    """Probability of at most `k` events of a Poisson count: the incomplete gamma function Q(k + 1, mean)."""
    if k < 0:
        return 0.0
    if mean <= 0.0:
        return 1.0
    a, x = k + 1.0, mean
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1.0:  # power series of the lower gamma function
        term = total = 1.0 / a
        while term > total * 1e-16:
            a += 1.0
            term *= x / a
            total += term
        return max(0.0, 1.0 - front * total)
    # continued fraction of the upper gamma function, by Lentz's method
    b = x + 1.0 - a
    c, d = 1e300, 1.0 / b
    h = d
    for i in range(1, 100_000):
        numerator = -i * (i - a)
        b += 2.0
        d = 1.0 / (numerator * d + b)
        c = b + numerator / c
        h *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return min(1.0, front * h)


@lru_cache(maxsize=4096)
def poisson_ends(events: int, level: float = LEVEL) -> tuple[float, float]:
    """The ends of the exact interval of a Poisson mean, from one count (F. Garwood, Biometrika 28, 1936)."""
    tail = (1.0 - level) / 2.0
    return _poisson_mean(events - 1, 1.0 - tail) if events else 0.0, _poisson_mean(events, tail)


def _poisson_mean(k: int, p: float) -> float:
    """The mean at which a Poisson count is at most `k` with probability `p`, by Newton's method.

    The first value is the approximation of E. B. Wilson and M. M. Hilferty (PNAS 17, 1931), with Student's t
    in place of the normal distribution; a few steps suffice from there.
    """
    a = k + 1.0
    mean = a * max(0.1, 1.0 - 1.0 / (9.0 * a) - t_quantile(p, 1000.0) / (3.0 * math.sqrt(a))) ** 3
    for _ in range(50):
        # The derivative of the probability with respect to the mean is minus the probability of exactly k.
        step = (poisson_cdf(k, mean) - p) / math.exp(k * math.log(mean) - mean - math.lgamma(a))
        mean = max(mean + step, 0.5 * mean)
        if abs(step) <= 1e-9 * mean:  # the remaining error is of the order of the step's square
            break
    return mean


@lru_cache(maxsize=4096)
def poisson_prediction(events: int, runs: int, further: int) -> tuple[int, int]:
    """The least and greatest count expected in `further` runs after `events` in `runs`, at one Poisson rate.

    Given the sum of both counts, the further count is binomial. A count is expected if both of its tails
    (that count or less, that count or more) have a probability of more than 2.5 %.
    """
    tail, share = (1.0 - LEVEL) / 2.0, further / (runs + further)

    def expected(count: int) -> bool:
        total = events + count
        return binomial_cdf(count, total, share) > tail and 1.0 - binomial_cdf(count - 1, total, share) > tail

    middle = round(events * further / runs)
    low = high = middle
    while low > 0 and expected(low - 1):
        low -= 1
    while expected(high + 1):
        high += 1
    return low, high
