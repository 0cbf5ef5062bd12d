"""Compares two datasets, number by number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.base.writing import count_text

from .sample import relate

if TYPE_CHECKING:
    from .intervals import Interval
    from .results import Results


@dataclass(frozen=True)
class NumberDifference:
    """One number in two datasets, over the replicates that both have, with its difference."""

    cell: str
    quantity: str
    unit: str
    a: float
    b: float
    interval: Interval
    """The difference, ratio or change of `b` compared with `a`, with its interval."""
    equal: bool
    """Whether each replicate has the same value in both datasets."""
    significant: bool
    """Whether the interval excludes 0, or 1 for a ratio; without randomness, whether the numbers differ."""

    @property
    def tested(self) -> bool:
        """Whether there are enough runs to decide whether the numbers differ."""
        return self.significant or not math.isnan(self.interval.low)

    @property
    def method(self) -> str:
        """`Interval.method`, followed by the number of replicates if the interval comes from replicates."""
        low, n = self.interval.low, self.interval.n
        has_runs = not (math.isnan(low) or self.interval.exact)
        return self.interval.method + (f", {count_text(n, 'replicate')}" if has_runs else "")

    @property
    def change(self) -> float:
        """The difference as a share of the larger number; 1 if only one dataset has a number."""
        larger = max(abs(self.a), abs(self.b))
        change = abs(self.b - self.a) / larger if larger else 0.0
        return 1.0 if math.isnan(change) else change

    def to_dict(self) -> dict[str, object]:
        """The comparison for JSON."""
        own = {"cell": self.cell, "quantity": self.quantity, "unit": self.unit, "a": self.a, "b": self.b}
        ends = {"low": self.interval.low, "high": self.interval.high}
        return {**own, **ends, "method": self.method, "significant": self.significant}


@dataclass(frozen=True)
class DatasetComparison:
    """The numbers that both datasets have, and the cells that only one of them has."""

    numbers: list[NumberDifference]
    only_a: list[str]
    only_b: list[str]

    @property
    def moved(self) -> list[NumberDifference]:
        """The numbers that differ, significant differences first, then by size."""
        moved = [number for number in self.numbers if not number.equal]
        return sorted(moved, key=lambda number: (not number.significant, -number.change))

    @property
    def same(self) -> int:
        """The number of numbers that are equal in both datasets."""
        return sum(number.equal for number in self.numbers)


def compare_datasets(a: Results, b: Results, kind: str = "difference") -> DatasetComparison:
    """Compares every number that both datasets have; pairs replicates if both used the same random numbers.

    The comparison is of `b` with `a`; `kind` is one that `intervals.relate` accepts.
    """
    numbers = []
    for cell, quantity in a.data:
        if (cell, quantity) in b.data and not a.is_list(quantity):
            x, y = a.sample(cell, quantity), b.sample(cell, quantity)
            x, y = x.keep_common(y), y.keep_common(x)
            number = relate(kind, y, x)
            interval, values = number.estimate(), (x.estimate().value, y.estimate().value)
            sure = interval.leaves_out(1.0 if kind == "ratio" else 0.0)
            numbers.append(
                NumberDifference(cell, quantity, number.unit, *values, interval, x.equals(y), sure)
            )
    cells_a, cells_b = {c.id for c in a.cells}, {c.id for c in b.cells}
    return DatasetComparison(numbers, sorted(cells_a - cells_b), sorted(cells_b - cells_a))
