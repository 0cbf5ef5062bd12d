"""Point estimates with 95 % confidence intervals, each naming its method.

Cells are compared by common random numbers: replicate k of every cell saw the same object sizes, think
times and start times, so two cells are compared replicate by replicate and never as independent samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cwndlab.stats.distributions import binomial_cdf, normal_cdf, t_quantile

Floats: TypeAlias = NDArray[np.float64]

LEVEL = 0.95
"""The confidence level of every interval in a report."""

RESAMPLES = 2000
"""Bootstrap resamples: with the expanded 95 % tails of ten replicates, 17 of them lie beyond each end."""

BOOTSTRAP_SEED = 2415
"""Fixed, so that the same results give the same report to the byte."""


@dataclass(frozen=True)
class Interval:
    """A point estimate with its confidence interval and how it was made."""

    value: float
    low: float
    high: float
    n: int
    method: str

    @property
    def exact(self) -> bool:
        """Whether the interval has no width: nothing is random, or all replicates gave the same."""
        return self.low == self.high

    @property
    def half_width(self) -> float:
        """Half the interval's width, in the estimate's unit."""
        return (self.high - self.low) / 2.0


def _measured(values: Floats) -> Floats:
    """The replicates that could be measured (NaN marks the others)."""
    return values[~np.isnan(values)]


def is_constant(values: Floats) -> bool:
    """Whether all replicates gave the same value: a result without randomness."""
    return len(values) > 0 and bool(np.all(values == values[0]))


def _degenerate(x: Floats, deterministic: bool) -> Interval | None:
    """The cases that need no distribution: nothing measured, no randomness, or one replicate."""
    n = len(x)
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0, "not measurable")
    if (deterministic or n > 1) and is_constant(x):
        value = float(x[0])
        return Interval(value, value, value, n, "deterministic" if deterministic else "all runs equal")
    if n == 1:
        return Interval(float(x[0]), math.nan, math.nan, 1, "one replicate: no interval")
    return None


def mean(values: Floats, *, deterministic: bool = False, level: float = LEVEL) -> Interval:
    """Mean over replicates with Student's t interval."""
    x = _measured(values)
    known = _degenerate(x, deterministic)
    if known is not None:
        return known
    n = len(x)
    value = float(np.mean(x))
    half = t_quantile(0.5 + level / 2.0, n - 1) * float(np.std(x, ddof=1)) / math.sqrt(n)
    return Interval(value, value - half, value + half, n, "t")


def quantile(values: Floats, q: float, *, deterministic: bool = False, level: float = LEVEL) -> Interval:
    """Quantile with the distribution-free interval between two order statistics.

    The ranks are the innermost with at least the level's coverage (Conover 1999, section 3.2). With too
    few values for such a pair the interval is open (NaN): six are needed for a median at 95 %.
    """
    if not 0.0 < q < 1.0:
        raise ValueError(f"a quantile lies between 0 and 1, got {q}")
    x = np.sort(_measured(values))
    known = _degenerate(x, deterministic)
    if known is not None:
        return known
    n = len(x)
    tail = (1.0 - level) / 2.0
    lower = max((r for r in range(n) if binomial_cdf(r, n, q) <= tail), default=None)
    upper = next((s for s in range(n) if 1.0 - binomial_cdf(s, n, q) <= tail), None)
    value = float(np.quantile(x, q))
    if lower is None or upper is None:
        return Interval(value, math.nan, math.nan, n, "order statistics: too few values")
    return Interval(value, float(x[lower]), float(x[upper]), n, "order statistics")


def median(values: Floats, *, deterministic: bool = False, level: float = LEVEL) -> Interval:
    """Median with its order-statistics interval."""
    return quantile(values, 0.5, deterministic=deterministic, level=level)


@lru_cache(maxsize=16)
def resample_picks(n: int) -> NDArray[np.int64]:
    """Which replicates make up each of `RESAMPLES` bootstrap samples of `n` replicates.

    The same rows serve every cell, so that whatever is computed from several cells stays paired.
    """
    rng = np.random.Generator(np.random.PCG64([BOOTSTRAP_SEED, n]))
    picks = rng.integers(0, n, size=(RESAMPLES, n))
    picks.flags.writeable = False
    return picks


@lru_cache(maxsize=16)
def resample_weights(n: int) -> Floats:
    """The bootstrap samples as weights of the replicates, each row summing to 1."""
    picks = resample_picks(n)
    weights = np.zeros((RESAMPLES, n))
    np.add.at(weights, (np.arange(RESAMPLES)[:, None], picks), 1.0 / n)
    weights.flags.writeable = False
    return weights


def centre(values: Floats, statistic: str = "mean") -> float:
    """Mean or median of the replicates that could be measured."""
    known = _measured(values)
    if len(known) == 0:
        return math.nan
    return float(np.median(known) if statistic == "median" else np.mean(known))


def resampled(values: Floats, statistic: str = "mean") -> Floats:
    """Mean or median of every bootstrap sample; replicates that are NaN are left out."""
    if statistic == "median":
        picked = values[resample_picks(len(values))]
        unknown = np.isnan(picked).all(axis=1)
        picked[unknown] = 0.0
        return np.where(unknown, np.nan, np.nanmedian(picked, axis=1))
    weights = resample_weights(len(values))
    known = ~np.isnan(values)
    if known.all():
        return np.asarray(weights @ values, dtype=np.float64)
    share = weights @ known.astype(np.float64)
    total = weights @ np.where(known, values, 0.0)
    return np.asarray(np.divide(total, share, out=np.full_like(total, np.nan), where=share > 0))


def expanded_tail(n: int, level: float = LEVEL) -> float:
    """Tail probability at which a percentile bootstrap of `n` values covers like Student's t.

    Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69 (2015),
    section 4.1 ("expanded percentile interval"): plain percentiles are too narrow for ten replicates.
    """
    if n < 2:
        raise ValueError("a bootstrap needs at least two replicates")
    return normal_cdf(-math.sqrt(n / (n - 1)) * t_quantile(0.5 + level / 2.0, n - 1))


def bootstrap_ends(samples: Floats, n: int, level: float = LEVEL) -> tuple[float, float]:
    """The interval's ends from bootstrap values of a statistic of `n` replicates."""
    if np.isnan(samples).any():
        return math.nan, math.nan
    tail = expanded_tail(n, level)
    low, high = np.quantile(samples, [tail, 1.0 - tail])
    return float(low), float(high)


ITSELF = "compared with itself"
"""The method of a comparison that says nothing."""


def compare(
    kind: str, a: Floats, b: Floats, *, deterministic: bool = False, statistic: str = "mean"
) -> Interval:
    """Cell `a` against cell `b` on their means (or medians): paired bootstrap (expanded percentile).

    `kind`: `decrease` = 100 (1 - a/b), `increase` = 100 (a/b - 1), `ratio` = a/b, `difference` = a - b.
    """
    known = ~(np.isnan(a) | np.isnan(b))
    a, b = a[known], b[known]
    if len(a) == 0:
        return Interval(math.nan, math.nan, math.nan, 0, "not measurable")
    value = float(relate(kind, centre(a, statistic), centre(b, statistic)))
    n = len(a)
    if (deterministic or n > 1) and is_constant(a) and is_constant(b):
        return Interval(value, value, value, n, "deterministic" if deterministic else "all runs equal")
    if n == 1:
        return Interval(value, math.nan, math.nan, 1, "one replicate: no interval")
    low, high = bootstrap_ends(relate(kind, resampled(a, statistic), resampled(b, statistic)), n)
    return Interval(value, low, high, n, "paired bootstrap")


def relate(kind: str, a: Floats | float, b: Floats | float) -> Floats:
    """The comparison `kind` of values (see `compare`), element by element; division by zero gives NaN."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if kind == "difference":
        return np.asarray(x - y)
    quotient: Floats = np.divide(x, y, out=np.full(np.broadcast(x, y).shape, np.nan), where=y != 0)
    if kind == "ratio":
        return np.asarray(quotient)
    if kind == "decrease":
        return np.asarray(100.0 * (1.0 - quotient))
    if kind == "increase":
        return np.asarray(100.0 * (quotient - 1.0))
    raise ValueError(f"unknown comparison {kind!r}: decrease, increase, ratio or difference")


def ratio_delta(a: Floats, b: Floats, level: float = LEVEL) -> Interval:
    """Ratio of paired means by the delta method, the check on the bootstrap (Cochran 1977, section 6.3)."""
    n = len(a)
    value = float(np.mean(a) / np.mean(b))
    residual = (a - value * b) / float(np.mean(b))
    half = t_quantile(0.5 + level / 2.0, n - 1) * float(np.std(residual, ddof=1)) / math.sqrt(n)
    return Interval(value, value - half, value + half, n, "delta method")


def prediction(
    values: Floats, runs: int = 1, *, deterministic: bool = False, level: float = LEVEL
) -> Interval:
    """Where the mean of `runs` further runs would lie: mean ± t s sqrt(1/n + 1/runs).

    Two-sided normal prediction interval (Hahn & Meeker 1991, section 4.7).
    """
    x = _measured(values)
    known = _degenerate(x, deterministic)
    if known is not None:
        return known
    n = len(x)
    value, spread = float(np.mean(x)), float(np.std(x, ddof=1))
    half = t_quantile(0.5 + level / 2.0, n - 1) * spread * math.sqrt(1.0 / n + 1.0 / runs)
    return Interval(value, value - half, value + half, n, f"t prediction for {runs} run(s)")
