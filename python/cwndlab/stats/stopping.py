"""A sequential rule for the number of replicates, based on the relative half-width of intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from cwndlab.study.cells import NotRunError
from cwndlab.study.outputs import Listing, Table

from .results import Results
from .sample import Number, relate
from .tables import reference

FIRST_LOOK = 10
"""The replicates before the rule is first applied: with fewer, the sample variance is too unreliable."""


@dataclass(frozen=True)
class StoppingRule:
    """Run until the 95 % interval reaches at most `relative` of the estimate, or `cap` replicates are done.

    Stopping when the half-width first falls below a bound keeps the coverage asymptotically (Y. S. Chow, H.
    Robbins, Annals of Mathematical Statistics 36, 1965, pages 457-462). The bound is relative / (1 +
    relative) of the estimate: then the half-width is at most `relative` of the true value, wherever in the
    interval that value lies. For an asymmetric interval, the distance to its farther end replaces the
    half-width. Equal replicates never end the run, because their scatter is unknown.
    """

    relative: float
    cap: int
    first_look: int = FIRST_LOOK

    def __post_init__(self) -> None:
        if not 0.0 < self.relative < 1.0:
            raise ValueError(f"the precision must lie between 0 and 1 (2 % is 0.02), got {self.relative}")
        if self.cap < self.first_look:
            raise ValueError(f"the cap must be at least {self.first_look} replicates, got {self.cap}")

    def replicates_needed(self, number: Number, ran: int) -> int:
        """The number of replicates that a number needs in all, estimated from `ran`; `ran` if they suffice.

        The precision of a change in percent is that of its ratio, and that of a difference is relative to the
        larger of the two estimates: relative to itself, a change near 0 would never be precise enough.
        """
        estimate = number.estimate()
        if math.isnan(estimate.value) or estimate.exact or ran >= self.cap:
            return ran  # more runs would not make it measurable or more precise
        if estimate.n < self.first_look:
            return min(self.cap, max(self.first_look, ran + 1))
        bound = self.relative / (1.0 + self.relative) * number.scale
        if bound == 0.0 or math.isnan(estimate.reach) or estimate.equal_runs:
            return min(self.cap, 2 * ran)
        if estimate.reach <= bound:
            return ran
        return min(self.cap, max(ran + 1, math.ceil(ran * (estimate.reach / bound) ** 2)))


def replicates_by_cell(
    rule: StoppingRule, results: Results, tables: Iterable[Table | Listing]
) -> dict[str, int]:
    """The number of replicates that each cell needs for its numbers and for comparisons in tables.

    Lists are left out, and quantities with expectation 0, which never become precise relative to 0.
    """
    quantities = results.labels.quantities.items()
    numbers = [name for name, info in quantities if not info.centred and not results.is_list(name)]
    needed = {}
    for cell in results.cells:
        asked = (
            rule.replicates_needed(sample, len(sample.runs))
            for sample in (results.sample(cell.id, name) for name in numbers)
        )
        needed[cell.id] = max(asked, default=0)
    for kind, cell_id, other, name in _compared(results, tables):
        both = results.sample(cell_id, name), results.sample(other, name)
        ran = min((len(sample.runs) for sample in both if not sample.exact), default=1)
        asked_of_both = rule.replicates_needed(relate(kind, *both), ran)
        for either in (cell_id, other):
            needed[either] = max(needed[either], asked_of_both)
    return needed


def _compared(results: Results, tables: Iterable[Table | Listing]) -> list[tuple[str, str, str, str]]:
    """The comparisons that tables show, each as (kind, cell, cell to compare with, quantity)."""
    comparisons = []
    for table in tables:
        for column in table.columns if isinstance(table, Table) else ():
            if column.compare is None:
                continue
            for cell in results.cells_at({**table.where, **column.where}):
                with suppress(NotRunError):
                    other = reference(results, cell, column.compare)
                    if other.id != cell.id:
                        comparisons.append((column.compare.kind, cell.id, other.id, column.quantity))
    return list(dict.fromkeys(comparisons))
