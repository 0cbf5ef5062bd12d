"""When enough replicates were run: a sequential rule on the relative half-width."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.metrics._numbers import ANY, Floats, Range
from cwndlab.spec.outputs import Listing, Table
from cwndlab.stats import intervals
from cwndlab.stats.jackknife import centre
from cwndlab.stats.results import NotRunError, Results
from cwndlab.stats.tables import reference

if TYPE_CHECKING:
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

    def replicates_needed(
        self, values: Floats, statistic: str = "mean", within: Range = ANY, *, adjusted: bool = False
    ) -> int:
        """How many replicates a quantity needs in all, as far as these tell; as many as these if enough.

        `adjusted` as in `intervals.mean`.
        """
        estimate = intervals.estimate(values, statistic, within, adjusted=adjusted)
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


def replicates_by_cell(
    rule: StoppingRule, results: Results, tables: Iterable[Table | Listing]
) -> dict[str, int]:
    """How many replicates each cell needs for its own numbers and for the comparisons shown in tables.

    Quantities of expectation 0 need none: relative to 0, nothing is precise.
    """
    numbers = [name for name in results.units if name not in results.centred and not results.is_list(name)]
    needed = {}
    for cell in results.cells:
        needed[cell.id] = 0
        for name in numbers:
            adjusted = results.adjust_values(cell.id, name)
            asked = rule.replicates_needed(
                results.values(cell.id, name) if adjusted is None else adjusted,
                results.statistic(name),
                results.range(name),
                adjusted=adjusted is not None,
            )
            needed[cell.id] = max(needed[cell.id], asked)
    for kind, cell_id, other, name in _compared(results, tables):
        a, b = (results.values_for_mean(one, name) for one in (cell_id, other))
        if other in results.deterministic:  # whose single replicate is representative
            b = np.full(len(a), b[0])
        if cell_id in results.deterministic:
            a = np.full(len(b), a[0])
        asked = rule.replicates_needed_to_compare(kind, a, b, results.statistic(name), results.range(name))
        needed[cell_id], needed[other] = max(needed[cell_id], asked), max(needed[other], asked)
    return needed


def _compared(results: Results, tables: Iterable[Table | Listing]) -> list[tuple[str, str, str, str]]:
    """The comparisons that tables show: kind, cell, the cell it is compared with, quantity."""
    found = []
    for table in tables:
        for column in table.columns if isinstance(table, Table) else ():
            if column.compare is None:
                continue
            for cell in results.cells_at({**table.where, **column.where}):
                with suppress(NotRunError):
                    other = reference(results, cell, column.compare)
                    if other.id != cell.id:
                        found.append((column.compare.kind, cell.id, other.id, column.quantity))
    return list(dict.fromkeys(found))
