"""Ranges of quantities, the scales on which their intervals are computed, medians and quantiles.

For a quantity with a bound, Student's t gives ends beyond the bound, and its coverage is too low where the
bound skews the values. Intervals are therefore computed on a scale without bounds: the logarithm of the
distance to a single bound, or of the odds between two. Their ends lie within the range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
#: A record table as numpy columns, the unit in the column's name; text columns are object or str arrays.
Columns: TypeAlias = Mapping[str, NDArray[Any]]

TOLERANCE = 1e-9
"""The most by which rounding takes a value beyond its range: Jain's index can be 1.0000000000000002."""


@dataclass(frozen=True)
class Range:
    """The least and the greatest possible value of a quantity, in its unit."""

    low: float = -math.inf
    high: float = math.inf
    count: bool = False
    """Whether the quantity counts rare events: its variance is then at least that of a Poisson count."""

    @property
    def positive(self) -> bool:
        """Whether no value is below 0, so that a ratio of two of them has a meaning."""
        return self.low >= 0.0

    @cached_property
    def limits(self) -> tuple[float, float]:
        """The bounds, moved outwards by `TOLERANCE` for rounding."""
        slack = TOLERANCE * max(1.0, *(abs(b) for b in (self.low, self.high) if math.isfinite(b)), 0.0)
        return self.low - slack, self.high + slack

    def times(self, factor: float) -> Range:
        """The range after multiplying the unit by `factor`. A factor other than 1 drops `count`."""
        return self if factor == 1.0 else Range(self.low * factor, self.high * factor)

    def clip(self, x: Floats) -> Floats:
        """The values, moved to a bound where rounding took them beyond; ValueError for values further out."""
        low, high = self.limits
        wrong = (x < low) | (x > high)
        if wrong.any():
            raise ValueError(
                f"a value of {x[wrong][0]:.9g} lies outside the range that its metric declares, "
                f"{self.low:g} to {self.high:g}"
            )
        return np.clip(x, self.low, self.high)

    # ── the scale without bounds ──────────────────────────────────────────────────────────────────────────

    @cached_property
    def scale(self) -> str:
        """The name of the scale in `Interval.method`: `log`, `logit`, or "" for the plain scale."""
        bounds = math.isfinite(self.low) + math.isfinite(self.high)
        return ("", "log", "logit")[bounds]

    def to_scale(self, x: Floats | float) -> Floats:
        """The values transformed to `scale`, which has no bounds: a value at a bound becomes infinite."""
        values = np.asarray(x, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.scale == "logit":
                return np.asarray(np.log((values - self.low) / (self.high - values)))
            if math.isfinite(self.low):
                return np.asarray(np.log(values - self.low))
            if math.isfinite(self.high):
                return np.asarray(-np.log(self.high - values))
        return values

    def from_scale(self, y: float) -> float:
        """The inverse of `to_scale`: the value, in the quantity's unit, at a point of the scale."""
        if self.scale == "logit":
            share = 1.0 / (1.0 + math.exp(-y)) if y >= 0 else (e := _exp(y)) / (1.0 + e)
            return self.low + (self.high - self.low) * share
        if math.isfinite(self.low):
            return self.low + _exp(y)
        return self.high - _exp(-y) if math.isfinite(self.high) else y

    def slope(self, value: float) -> float:
        """The derivative of `to_scale` at a value; infinite at a bound."""
        if not self.scale:
            return 1.0
        if self.scale == "logit":
            room, extent = (value - self.low) * (self.high - value), self.high - self.low
        else:
            room, extent = value - self.low if math.isfinite(self.low) else self.high - value, 1.0
        return extent / room if room > 0.0 else math.inf


def _exp(y: float) -> float:
    return math.exp(y) if y < 700.0 else math.inf


ANY = Range()
"""The range of all numbers."""

NON_NEGATIVE = Range(0.0)
"""The range of durations, sizes and rates."""

SHARE = Range(0.0, 1.0)
"""The range of shares, probabilities, utilization and Jain's index."""

COUNT = Range(0.0, count=True)
"""The range of numbers of rare events, such as losses and timeouts."""


def derived_range(kind: str | None, of: Range, by: Range) -> Range:
    """The range of a ratio, product, sum, increase, decrease or (None) difference of two quantities."""
    both = of.positive and by.positive
    if kind in ("ratio", "product"):
        high = of.high * by.high if kind == "product" and math.isfinite(of.high * by.high) else math.inf
        return Range(0.0, high) if both else ANY
    if kind == "increase":
        return Range(-100.0) if both else ANY
    if kind == "decrease":
        return Range(high=100.0) if both else ANY
    if kind == "sum":
        return Range(of.low + by.low, of.high + by.high, of.count and by.count)
    return Range(of.low - by.high, of.high - by.low)


def reduced_range(how: str, element: Range) -> Range:
    """The range of the number to which a list is reduced; `how` is a value of the study's key `within`."""
    if how == "count":
        return COUNT
    if how == "sum":
        return Range(0.0, count=element.count) if element.positive else ANY
    return Range(element.low, element.high, element.count and how in ("min", "max"))


# `np.median` and `np.quantile` import numpy.ma, which takes longer than measuring a run.


def median(values: Floats) -> Floats:
    """The median along the first axis, which is not empty; NaN where any of its values is."""
    ordered = np.sort(values, axis=0)  # NaN comes last
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2.0
    return np.where(np.isnan(ordered[-1]), np.nan, middle)


def quantile(data: NDArray[Any], share: float) -> float:
    """The quantile of one-dimensional data, equal to that of `np.quantile` to the last bit."""
    if np.isnan(data).any():
        return math.nan
    place = (len(data) - 1) * share
    before = math.floor(place)
    after = min(before + 1, len(data) - 1)
    ordered = np.partition(data, (before, after))
    low, high, rest = float(ordered[before]), float(ordered[after]), place - before
    return low + (high - low) * rest if rest < 0.5 else high - (high - low) * (1 - rest)
