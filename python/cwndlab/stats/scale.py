"""The scale on which an interval is symmetric: that of a quantity's range.

Student's t on a quantity that cannot pass some bound gives ends beyond it, and covers too seldom where the
values are skewed by the bound. Between the bounds of a `Range` lies a scale without any: the logarithm of
the distance to one bound, or of the odds between two. Ends found there lie inside the range.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cwndlab.metrics._range import Range

Floats: TypeAlias = NDArray[np.float64]


def name(within: Range) -> str:
    """What the scale is called in a method: `log`, `logit`, or nothing for the plain scale."""
    if math.isfinite(within.low) and math.isfinite(within.high):
        return "logit"
    return "log" if math.isfinite(within.low) or math.isfinite(within.high) else ""


def within_bounds(x: Floats, within: Range) -> Floats:
    """The values, moved to a bound that they pass by rounding; ValueError if they pass it by more."""
    low, high = within.limits
    wrong = (x < low) | (x > high)
    if wrong.any():
        raise ValueError(
            f"a value of {x[wrong][0]:.9g} lies outside the range that its metric declares, "
            f"{within.low:g} to {within.high:g}"
        )
    return np.clip(x, within.low, within.high)


def to_scale(x: Floats | float, within: Range) -> Floats:
    """Values on the unbounded scale; a value at a bound is infinite."""
    values = np.asarray(x, dtype=np.float64)
    low, high = math.isfinite(within.low), math.isfinite(within.high)
    with np.errstate(divide="ignore", invalid="ignore"):
        if low and high:
            return np.asarray(np.log((values - within.low) / (within.high - values)))
        if low:
            return np.asarray(np.log(values - within.low))
        if high:
            return np.asarray(-np.log(within.high - values))
    return values


def from_scale(y: float, within: Range) -> float:
    """The value at a place on the unbounded scale."""
    low, high = math.isfinite(within.low), math.isfinite(within.high)
    if low and high:
        share = 1.0 / (1.0 + math.exp(-y)) if y >= 0 else (e := _exp(y)) / (1.0 + e)
        return within.low + (within.high - within.low) * share
    if low:
        return within.low + _exp(y)
    if high:
        return within.high - _exp(-y)
    return y


def _exp(y: float) -> float:
    return math.exp(y) if y < 700.0 else math.inf


def slope(value: float, within: Range) -> float:
    """How fast the scale grows with the value there; infinite at a bound."""
    low, high = math.isfinite(within.low), math.isfinite(within.high)
    if low and high:
        room, extent = (value - within.low) * (within.high - value), within.high - within.low
    elif low or high:
        room, extent = value - within.low if low else within.high - value, 1.0
    else:
        return 1.0
    return extent / room if room > 0.0 else math.inf
