"""How far two sets of replicates, or two datasets, are apart, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.metrics._numbers import Floats
from cwndlab.stats import intervals
from cwndlab.stats.distributions import t_quantile
from cwndlab.stats.intervals import EXACT, FEWEST, NOT_MEASURABLE, Interval

if TYPE_CHECKING:
    from cwndlab.stats.results import Results


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
        return intervals.too_few(centre, n)
    vx, vy = float(np.var(x, ddof=1)) / len(x), float(np.var(y, ddof=1)) / len(y)
    if vx + vy == 0:
        return Interval(centre, math.nan, math.nan, n, f"no spread in {n} runs")
    freedom = (vx + vy) ** 2 / (vx**2 / (len(x) - 1) + vy**2 / (len(y) - 1))
    half = t_quantile(0.975, freedom) * math.sqrt(vx + vy)
    return Interval(centre, centre - half, centre + half, n, f"Welch, {len(x)} and {len(y)} replicates")


def difference_of_cells(x: Floats, y: Floats, cell: str, a: Results, b: Results, *, paired: bool) -> Interval:
    """`difference` of what a cell has in two datasets, `x` in `a` and `y` in `b`.

    Where nothing is random in one of them, its one value represents all replicates.
    """
    exact = [len(values) > 0 and cell in of.deterministic for values, of in ((x, a), (y, b))]
    if exact[0]:
        x = np.full(max(1, len(y)), x[0])
    if exact[1]:
        y = np.full(len(x), y[0])
    return difference(x, y, paired=paired, deterministic=all(exact))


@dataclass(frozen=True)
class NumberDifference:
    """One number in two datasets, and its difference with a 95 % interval."""

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

    @property
    def change(self) -> float:
        """The difference relative to the larger number; 1 where only one dataset has a number."""
        larger = max(abs(self.a), abs(self.b))
        change = abs(self.b - self.a) / larger if larger else 0.0
        return 1.0 if math.isnan(change) else change


@dataclass(frozen=True)
class DatasetComparison:
    """The differences between two datasets."""

    moved: list[NumberDifference]
    """Significant differences first, by size."""
    same: int
    only_a: list[str]
    only_b: list[str]


def compare_datasets(a: Results, b: Results, *, paired: bool) -> DatasetComparison:
    """Compares every number that both have; `paired` if replicate k saw the same random numbers in both."""
    moved: list[NumberDifference] = []
    same = 0
    for cell, quantity in a.data:
        if (cell, quantity) not in b.data or a.is_list(quantity):
            continue
        x, y = a.values(cell, quantity), b.values(cell, quantity)
        if paired:
            x, y = x[: len(y)], y[: len(x)]
        if np.array_equal(x, y, equal_nan=True):
            same += 1
            continue
        apart = difference_of_cells(x, y, cell, a, b, paired=paired)
        mean_x, mean_y = (
            float(np.mean(v[~np.isnan(v)])) if (~np.isnan(v)).any() else math.nan for v in (x, y)
        )
        moved.append(
            NumberDifference(
                cell, quantity, a.unit(quantity), mean_x, mean_y, apart.low, apart.high, apart.method
            )
        )
    moved.sort(key=lambda one: (not one.significant, -one.change))
    cells_a, cells_b = {c.id for c in a.cells}, {c.id for c in b.cells}
    return DatasetComparison(moved, same, sorted(cells_a - cells_b), sorted(cells_b - cells_a))
