"""When enough replicates were run: a sequential rule on the relative half-width."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.metrics._numbers import ANY, Range
from cwndlab.stats import intervals
from cwndlab.stats.jackknife import centre

if TYPE_CHECKING:
    from cwndlab.metrics._numbers import Floats
    from cwndlab.stats.intervals import Interval

FIRST_LOOK = 10
"""Replicates before the first look: fewer make the sample variance too wild."""


@dataclass(frozen=True)
class StoppingRule:
    """Run until the 95 % interval reaches at most `relative` of the estimate, or `cap` replicates are done.

    Stopping when the half-width first falls below a bound keeps the coverage asymptotically (Y. S. Chow,
    H. Robbins, Annals of Mathematical Statistics 36, 1965, pages 457-462). The bound is
    relative / (1 + relative) of the estimate: a half-width of that much is at most `relative` of the true
    value, wherever in the interval that lies. Of an interval that is not symmetric the farther end counts.
    Equal replicates never stop a run: they have no spread to judge by.
    """

    relative: float
    cap: int
    first_look: int = FIRST_LOOK

    def __post_init__(self) -> None:
        if not 0.0 < self.relative < 1.0:
            raise ValueError(f"the precision must lie between 0 and 1 (2 % is 0.02), got {self.relative}")
        if self.cap < self.first_look:
            raise ValueError(f"the cap must be at least {self.first_look} replicates, got {self.cap}")

    def replicates_needed(self, values: Floats, statistic: str = "mean", within: Range = ANY) -> int:
        """How many replicates a quantity needs in all, as far as these tell; as many as these if enough."""
        estimate = intervals.estimate(values, statistic, within)
        spread = len(np.unique(values[~np.isnan(values)])) > 1
        return self._wanted(estimate, abs(estimate.value), len(values), spread)

    def replicates_needed_to_compare(
        self, kind: str, a: Floats, b: Floats, statistic: str = "mean", within: Range = ANY
    ) -> int:
        """How many replicates a comparison of two cells needs in all (`kind` as in `intervals.compare`).

        The precision of a change in per cent is that of the ratio behind it, and that of a difference is
        relative to the larger of the two estimates: a change near 0 would never be precise enough relative
        to itself.
        """
        n = min(len(a), len(b))
        a, b = a[:n], b[:n]
        estimate = intervals.compare(kind, a, b, within, statistic=statistic)
        measure = {
            "ratio": abs(estimate.value),
            "decrease": abs(100.0 - estimate.value),
            "increase": abs(100.0 + estimate.value),
            "difference": max(abs(centre(a, statistic)), abs(centre(b, statistic))),
        }[kind]
        return self._wanted(estimate, measure, n, spread=not math.isnan(estimate.low))

    def _wanted(self, estimate: Interval, measure: float, n: int, spread: bool) -> int:
        if math.isnan(estimate.value):
            return n  # no number of runs makes it measurable
        if n >= self.cap:
            return n
        if estimate.n < self.first_look:
            return min(self.cap, max(self.first_look, n + 1))
        bound = self.relative / (1.0 + self.relative) * measure
        reach = estimate.reach
        if spread and reach <= bound:
            return n
        if not spread or math.isnan(reach) or bound == 0.0:
            return min(self.cap, 2 * n)
        return min(self.cap, max(n + 1, math.ceil(n * (reach / bound) ** 2)))
