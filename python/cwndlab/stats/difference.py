"""How far two sets of replicates are apart, with an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cwndlab.stats import intervals
from cwndlab.stats.distributions import t_quantile
from cwndlab.stats.intervals import EXACT, FEWEST, NOT_MEASURABLE, Floats, Interval


def difference(x: Floats, y: Floats, *, paired: bool, deterministic: bool = False) -> Interval:
    """Mean of y minus mean of x, with its 95 % interval (NaN where there are too few replicates).

    Paired over the replicates that both have where replicate k saw the same random numbers in both;
    otherwise Welch's.
    """
    if paired:
        x, y = x[: len(y)], y[: len(x)]
        found = intervals.compare("difference", y, x, deterministic=deterministic)
        return found._replace(method=f"paired, {len(x)} replicates") if not math.isnan(found.low) else found
    x, y = x[~np.isnan(x)], y[~np.isnan(y)]
    n = min(len(x), len(y))
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0, NOT_MEASURABLE)
    centre = float(np.mean(y) - np.mean(x))
    if deterministic:
        return Interval(centre, centre, centre, n, EXACT)
    if n < FEWEST:
        return intervals.few(centre, n)
    vx, vy = float(np.var(x, ddof=1)) / len(x), float(np.var(y, ddof=1)) / len(y)
    if vx + vy == 0:
        return Interval(centre, math.nan, math.nan, n, f"no spread in {n} runs")
    freedom = (vx + vy) ** 2 / (vx**2 / (len(x) - 1) + vy**2 / (len(y) - 1))
    half = t_quantile(0.975, freedom) * math.sqrt(vx + vy)
    return Interval(centre, centre - half, centre + half, n, f"Welch, {len(x)} and {len(y)} replicates")


@dataclass(frozen=True)
class Move:
    """One number in both folders, and its difference with a 95 % interval."""

    cell: str
    quantity: str
    unit: str
    a: float
    b: float
    low: float
    high: float
    method: str

    @property
    def significant(self) -> bool:
        """Whether the interval of the difference leaves out 0 (without randomness: any difference)."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Comparison:
    """The differences between two folders."""

    moved: list[Move]
    same: int
    only_a: list[str]
    only_b: list[str]
