"""How far two datasets are apart, number by number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.stats.intervals import Interval
from cwndlab.writing import number_of

if TYPE_CHECKING:
    from cwndlab.stats.results import Results


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
    significant: bool
    """Whether the interval of the difference leaves out 0 (without randomness: any difference)."""

    @property
    def tested(self) -> bool:
        """Whether there are enough runs for a test."""
        return self.significant or not math.isnan(self.low)

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


def compare_datasets(a: Results, b: Results) -> DatasetComparison:
    """Compares every number that both have: in pairs where both saw the same random numbers."""
    moved: list[NumberDifference] = []
    same = 0
    for cell, quantity in a.data:
        if (cell, quantity) not in b.data or a.is_list(quantity):
            continue
        x, y = a.sample(cell, quantity), b.sample(cell, quantity)
        x, y = x.keep_common(y), y.keep_common(x)
        if x.equals(y):
            same += 1
        else:
            values = x.estimate().value, y.estimate().value
            moved.append(_moved(cell, quantity, x.unit, *values, (y - x).estimate()))
    moved.sort(key=lambda one: (not one.significant, -one.change))
    cells_a, cells_b = {c.id for c in a.cells}, {c.id for c in b.cells}
    return DatasetComparison(moved, same, sorted(cells_a - cells_b), sorted(cells_b - cells_a))


def _moved(cell: str, quantity: str, unit: str, a: float, b: float, apart: Interval) -> NumberDifference:
    method = apart.method
    if not math.isnan(apart.low) and not apart.exact:
        method += f", {number_of(apart.n, 'replicate')}"
    return NumberDifference(cell, quantity, unit, a, b, apart.low, apart.high, method, apart.leaves_out(0.0))
