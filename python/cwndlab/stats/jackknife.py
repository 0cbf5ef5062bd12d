"""Estimates that leave out one replicate at a time, for the standard error of any smooth function of them.

`jackknife_values` turns the replicates of a quantity into an array: first the estimate from all replicates,
then the estimate without replicate 1, without replicate 2, …. A function of such arrays, computed element by
element, is again an estimate followed by its leave-one-out values; `Derived.parts` has the replicates. Their
scatter gives the standard error (B. Efron, C. Stein, "The jackknife estimate of variance", Annals of
Statistics 9, 1981); for means and their differences it is exactly that of the paired t, and of Welch's t if
the replicates of two cells have nothing in common (degrees of freedom: F. E. Satterthwaite, Biometrics
Bulletin 2, 1946).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from cwndlab.base.numbers import ANY, Floats, Range, median

from .distributions import LEVEL, order_ranks, t_quantile

Blocks: TypeAlias = Sequence[tuple[int, int]]
"""For each stream of random numbers: the number of leave-one-out values, and of measured runs behind them."""

NO_SPREAD = 1e-12
"""Estimates whose relative difference is below this differ by rounding only."""

DOMINATED = 0.1
"""The least distance to a bound of an estimate without one run, as a share of the distance with all runs.

If the distance is less, that one run alone keeps the estimate away from the bound.
"""


def centre(values: Floats, statistic: str = "mean") -> float:
    """Mean or median of the replicates that could be measured."""
    measured = values[~np.isnan(values)]
    if len(measured) == 0:
        return math.nan
    return float(median(measured) if statistic == "median" else np.mean(measured))


def jackknife_values(values: Floats, statistic: str = "mean") -> Floats:
    """The estimate from all replicates, then without each one in turn. A NaN left out changes nothing.

    For a median, leaving out one value does not show the uncertainty. Its leave-one-out values are those of a
    mean with the standard error of the median's order-statistics interval, moved to the side of the left-out
    value; NaN if there is no such interval. They are right for one cell, but do not pair with another's.
    """
    measured = ~np.isnan(values)
    n = int(np.count_nonzero(measured))
    point = centre(values, statistic)
    if n < 2:
        return np.concatenate([[point], np.full(len(values), np.nan)])
    if statistic == "median":
        side = np.sign(np.where(measured, values, point) - point)
        away = side * _median_error(values[measured]) * math.sqrt(n * (n - 1) / max(1.0, float(side @ side)))
    else:
        away = np.where(measured, values - point, 0.0)
    others = point - away / (n - 1)
    # Rounding may leave a tiny number in place of 0; a ratio to it would be huge, or negative.
    return np.concatenate([[point], np.where(np.abs(others) <= NO_SPREAD * abs(point), 0.0, others)])


def _median_error(x: Floats) -> float:
    """The standard error for which a t interval is as wide as the order-statistics interval."""
    ranks = order_ranks(len(x), 0.5)
    if ranks is None:
        return math.nan
    low, high, level = ranks
    ordered = np.sort(x)
    return float(ordered[high] - ordered[low]) / (2.0 * t_quantile(0.5 + level / 2.0, len(x) - 1))


def variances(a: Floats, b: Floats, blocks: Blocks) -> list[float]:
    """The covariance of two estimates over each block of replicates, from their leave-one-out values."""
    sums, start = [], 1
    for length, _ in blocks:
        x, y = a[start : start + length], b[start : start + length]
        sums.append((length - 1) / length * float(np.sum((x - np.mean(x)) * (y - np.mean(y)))))
        start += length
    return sums


def quantile_of_t(parts: Sequence[float], blocks: Blocks, level: float) -> float:
    """The quantile of t with the degrees of freedom of `parts`, the variances of the blocks."""
    freedom: float = min(n for _, n in blocks) - 1
    if len(blocks) > 1 and (total := sum(parts)) > 0.0:
        freedom = total**2 / sum(part**2 / (n - 1) for part, (_, n) in zip(parts, blocks, strict=True))
    return t_quantile(0.5 + level / 2.0, freedom)


def _is_dominated(samples: Floats, within: Range) -> bool:
    """Whether leaving out some run moves the estimate much nearer to a bound (`DOMINATED`)."""
    point, others = float(samples[0]), samples[1:]
    return any(
        math.isfinite(bound) and float(np.min(np.abs(others - bound))) < DOMINATED * abs(point - bound)
        for bound in (within.low, within.high)
    )


def scaled_variances(samples: Floats, within: Range, blocks: Blocks) -> list[float]:
    """The variance of an estimate on the scale of a range, over each block of replicates.

    If one run dominates (only one had a loss), the estimate without it lies on or very near a bound, far away
    on the scale. The variance is then that on the plain scale, times the squared slope of the scale at the
    estimate.
    """
    if _is_dominated(samples, within):
        slope = within.slope(float(samples[0]))
        return [slope**2 * part for part in variances(samples, samples, blocks)]
    places = within.to_scale(samples)
    return variances(places, places, blocks)


def ends(
    samples: Floats,
    blocks: Blocks,
    within: Range = ANY,
    *,
    level: float = LEVEL,
    widen: float = 1.0,
    stretched: tuple[float, float] = (1.0, 1.0),
) -> tuple[float, float]:
    """The ends of the interval by t on the scale of the range; NaN if the estimate lies on a bound.

    `widen` multiplies the standard error, `stretched` the lower and the upper quantile of t.
    """
    variances = scaled_variances(samples, within, blocks)
    middle = float(within.to_scale(float(samples[0])))
    half = widen * quantile_of_t(variances, blocks, level) * math.sqrt(sum(variances))
    if not (math.isfinite(middle) and math.isfinite(half)):
        return math.nan, math.nan
    below, above = stretched
    return within.from_scale(middle - above * half), within.from_scale(middle + below * half)
