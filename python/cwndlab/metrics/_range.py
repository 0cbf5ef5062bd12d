"""Which values a quantity can take: what statistics need to keep an interval inside them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

TOLERANCE = 1e-9
"""Rounding by which a value may lie beyond its range (Jain's index of equal shares: 1.0000000000000002)."""


@dataclass(frozen=True)
class Range:
    """The least and the greatest value that are possible, in the quantity's unit."""

    low: float = -math.inf
    high: float = math.inf
    count: bool = False
    """Whether it is a number of rare events, which scatters at least like a Poisson count."""

    @property
    def positive(self) -> bool:
        """Whether no value is below 0, so that a ratio of two of them has a meaning."""
        return self.low >= 0.0

    @cached_property
    def limits(self) -> tuple[float, float]:
        """The bounds, moved outwards by what rounding may do."""
        slack = TOLERANCE * max(1.0, *(abs(b) for b in (self.low, self.high) if math.isfinite(b)), 0.0)
        return self.low - slack, self.high + slack

    def times(self, factor: float) -> Range:
        """The range after a change of unit; no longer a count unless the factor is 1."""
        return self if factor == 1.0 else Range(self.low * factor, self.high * factor)


ANY = Range()
"""Nothing is known: any number is possible."""

NON_NEGATIVE = Range(0.0)
"""Durations, sizes, rates."""

SHARE = Range(0.0, 1.0)
"""Shares, probabilities, utilization, Jain's index."""

COUNT = Range(0.0, count=True)
"""Number of rare events: losses, timeouts."""


def of_derived(kind: str | None, of: Range, by: Range) -> Range:
    """The range of what is derived from two quantities, and of a comparison of two cells."""
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


def of_reduced(how: str, one: Range) -> Range:
    """The range of a list's values reduced to one number by `within`."""
    if how == "count":
        return COUNT
    if how == "sum":
        return Range(0.0, count=one.count) if one.positive else ANY
    return Range(one.low, one.high, one.count and how in ("min", "max"))
