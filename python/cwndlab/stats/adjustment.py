"""Means with less scatter, by regression on control variates.

Part of the scatter of runs is due to their random draws: with larger pages than expected, pages take longer.
The excess over the expectation is a control variate (a control): its expectation is 0, its values are known.
A regression of a quantity on its controls has an intercept, which estimates the same mean as the average, but
scatters only by what the controls do not explain (S. S. Lavenberg, P. D. Welch, "A perspective on the use of
control variables to increase the efficiency of Monte Carlo simulations", Management Science 27, 1981).

`adjust` returns the intercept plus residuals in the form of values of runs. The residuals are scaled so that
Student's t interval of their mean (n - 1 degrees of freedom) equals that of the intercept (n - 1 - k for k
controls). So adjusted values can replace the runs' values everywhere, and cells stay paired by replicate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cwndlab.base.numbers import Floats, Range

from .distributions import LEVEL, t_quantile

FEWEST_ADJUSTED = 10
"""The fewest replicates for which a mean is adjusted: with fewer, the slopes may cost more than they save."""

ADJUSTED = ", adjusted"
"""The end of `Interval.method` if the values were adjusted."""

_DEPENDENT = 1e-9
"""A control is dropped if the controls before it explain all but this share of its variance."""


def adjust(values: Floats, controls: Sequence[Floats], within: Range) -> Floats | None:
    """The values minus what the controls explain, NaN where not measured; None if they cannot be adjusted.

    Values cannot be adjusted with fewer than `FEWEST_ADJUSTED` replicates, without a control that varies, or
    if the mean, or the mean without any one replicate, would leave the quantity's range.
    """
    measured = ~np.isnan(values)
    y = values[measured]
    n = len(y)
    if n < FEWEST_ADJUSTED or bool(np.all(y == y[0])):
        return None
    design = _independent([np.asarray(control[: len(values)][measured]) for control in controls])
    free = n - 1 - len(design)
    if not design or free < 1:
        return None
    x = np.column_stack([np.ones(n), *design])
    inverse = np.linalg.inv(x.T @ x)
    slopes = inverse @ (x.T @ y)
    # The controls have a standard deviation of 1, so that neither inverse nor slopes lose digits.
    residuals = y - x @ slopes
    middle, share = float(slopes[0]), float(inverse[0, 0])
    stretch = math.sqrt(n * share * (n - 1) / free) * _t(free) / _t(n - 1)
    adjusted = middle + stretch * residuals
    without_one = middle - stretch * residuals / (n - 1)
    if not (np.all(without_one > within.low) and np.all(without_one < within.high)):
        return None
    whole = np.full(len(values), np.nan)
    whole[measured] = adjusted
    return whole


def _t(free: int) -> float:
    return t_quantile(0.5 + LEVEL / 2.0, free)


def _independent(controls: Sequence[Floats]) -> list[Floats]:
    """The controls that do not depend linearly on earlier ones, scaled to a standard deviation of 1."""
    kept: list[Floats] = []
    for control in controls:
        spread = float(np.std(control))
        if not (math.isfinite(spread) and spread > 0.0):
            continue
        scaled = control / spread
        basis = np.column_stack([np.ones(len(control)), *kept])
        fitted = basis @ np.linalg.lstsq(basis, scaled, rcond=None)[0]
        if float(np.std(scaled - fitted)) > math.sqrt(_DEPENDENT):
            kept.append(scaled)
    return kept
