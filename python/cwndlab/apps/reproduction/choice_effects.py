"""The effects of choices that a paper left open: on tables, claims, and numbers that differ from the paper's.

Each choice alone and combinations of choices change tables and claims. A choice moves a number if the
interval of the difference (with minus without the choice) excludes 0. The intervals of all choices that were
run for a number share an error probability of 5 %.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from cwndlab.base.numbers import median
from cwndlab.stats.distributions import LEVEL
from cwndlab.stats.intervals import Interval
from cwndlab.stats.sample import relate
from cwndlab.stats.tables import JudgedCell, JudgedTable, number_of_cell, reference
from cwndlab.stats.verdict import Verdict

if TYPE_CHECKING:
    from cwndlab.stats.claims import JudgedClaim
    from cwndlab.stats.results import Estimate, Results, Variation
    from cwndlab.study.cells import CellInfo
    from cwndlab.study.outputs import Column

#: A number is near zero if it is below this share of the largest number of its quantity in the table.
NEAR_ZERO = 0.05

_JUDGED = (Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED)
"""Verdicts that count; others, as for claims of a suspect source, say nothing about the model."""


class ChoiceOutcome(NamedTuple):
    """The tables and claims of a study under one choice of one sensitivity axis."""

    choice: Variation
    tables: Sequence[JudgedTable]
    claims: Sequence[JudgedClaim]


class Shift(NamedTuple):
    """How far a choice moves the numbers of a table.

    Values are relative to the base, |value / base - 1|. If the base is near zero for its quantity, or the
    quantity's numbers have both signs, the difference is used instead.
    """

    run: int
    """Count of numbers that both the choice and the base have."""
    of: int
    """Count of numbers of the base."""
    median: float
    largest: float
    differences: Mapping[str, float]
    """The largest difference by unit, for numbers near zero."""


class Effect(NamedTuple):
    """The effects of one choice."""

    choice: Variation
    claims_held: int
    """Count of claims that hold."""
    checked: int
    """Count of claims that could be evaluated."""
    changed: tuple[str, ...]
    """Ids of claims whose verdict differs from the base study's."""
    shift: Mapping[str, Shift]
    """How far the numbers move, by table."""


def effects(
    tables: Sequence[JudgedTable], claims: Sequence[JudgedClaim], outcomes: Sequence[ChoiceOutcome]
) -> list[Effect]:
    """Compares every choice with the base study."""
    base = {c.claim.id: c.verdict for c in claims}
    found = []
    for outcome in outcomes:
        checked = [c for c in outcome.claims if c.verdict in _JUDGED]
        holding = sum(c.verdict is Verdict.HOLDS for c in checked)
        changed = tuple(c.claim.id for c in checked if base.get(c.claim.id, c.verdict) is not c.verdict)
        after = {table.id: table for table in outcome.tables}
        shift = {before.id: _shift(before, after.get(before.id)) for before in tables}
        found.append(Effect(outcome.choice, holding, len(checked), changed, shift))
    return found


Verdicts: TypeAlias = Counter[Verdict]
"""How often a claim had each verdict under different choices."""


def claim_verdicts(outcomes: Sequence[ChoiceOutcome]) -> dict[str, tuple[Verdicts, Verdicts]]:
    """For each claim, its verdicts under single choices, and under combinations."""
    counts: dict[str, tuple[Verdicts, Verdicts]] = {}
    for outcome in outcomes:
        for claim in outcome.claims:
            if claim.verdict in _JUDGED:
                both = counts.setdefault(claim.claim.id, (Counter(), Counter()))
                both[outcome.choice.combined][claim.verdict] += 1
    return counts


def _shift(before: JudgedTable, after: JudgedTable | None) -> Shift:
    moved = {(c.row, c.column): c.estimate for c in (after.numbers if after is not None else ())}
    ours = [(c, c.estimate) for c in before.numbers if c.estimate is not None]
    small = _small_sizes([estimate for _, estimate in ours])
    relative: list[float] = []
    differences: dict[str, float] = {}
    run = of = 0
    for cell, base in ours:
        other = moved.get((cell.row, cell.column))
        of += not math.isnan(base.value)
        if math.isnan(base.value) or other is None or math.isnan(other.value):
            continue
        run += 1
        if abs(base.value) > small[base.quantity]:
            relative.append(abs(other.value / base.value - 1.0))
        else:
            differences[base.unit] = max(differences.get(base.unit, 0.0), abs(other.value - base.value))
    middle, largest = (float(median(np.array(relative))), max(relative)) if relative else (math.nan, math.nan)
    return Shift(run, of, middle, largest, differences)


def _small_sizes(estimates: Sequence[Estimate]) -> dict[str, float]:
    """For each quantity, the size up to which its numbers are compared by difference instead of by ratio."""
    by_quantity: dict[str, list[float]] = {}
    for estimate in estimates:
        by_quantity.setdefault(estimate.quantity, []).append(estimate.value)
    found = {}
    for quantity, values in by_quantity.items():
        size = max((abs(value) for value in values if not math.isnan(value)), default=0.0)
        both = any(value < 0.0 for value in values) and any(value > 0.0 for value in values)
        found[quantity] = size if both else NEAR_ZERO * size
    return found


#: Verdicts of numbers that need an explanation.
UNEXPLAINED = (Verdict.DIFFERS, Verdict.TREND)


class Move(NamedTuple):
    """The effect of one choice on a number."""

    axis: str
    value: str
    number: float
    """The study's number with the choice."""
    change: Interval
    """The number with the choice minus the number without it."""
    closed: float
    """Share of the difference from the published value that the change removes; negative if it adds to it.

    Above 1, the number ends on the other side of the published value.
    """
    verdict: Verdict | None
    """The verdict of the number with the choice."""

    @property
    def nearer(self) -> bool:
        """Whether the choice brings the number nearer to the published value."""
        return 0.0 < self.closed < 2.0


class Moves(NamedTuple):
    """A number that differs from the paper's, and the choices that move it."""

    cell: JudgedCell
    tried: int
    """Count of choices that were run for the number."""
    undecided: bool
    """Whether there are too few replicates for an interval of any change."""
    moves: tuple[Move, ...]
    """The choices that move the number; the one that ends nearest to the published value first."""

    @property
    def nearer(self) -> tuple[Move, ...]:
        """The choices with which the number is nearer to the published value."""
        return tuple(move for move in self.moves if move.nearer)


def find_moves(
    table: JudgedTable, results: Results, outcomes: Sequence[ChoiceOutcome]
) -> dict[tuple[int, int], Moves]:
    """For numbers that differ from the paper's or only follow its trend: the choices, by (row, column).

    Args:
        table: the table as judged by the study's own results.
        results: the study's own results.
        outcomes: the study under each choice; combinations of choices are ignored.

    """
    single = [outcome for outcome in outcomes if not outcome.choice.combined]
    cells = {cell.id: cell for cell in results.cells}
    found = {}
    for row, line in enumerate(table.cells):
        for at, cell in enumerate(line):
            if cell.judgement is None or cell.judgement.verdict not in UNEXPLAINED:
                continue
            column = table.column(cell)
            if column.runs is None:  # a quantile of runs has no leave-one-out values
                found[row, at] = _moves(cell, column, cells[cell.cell], results, single)
    return found


def _moves(
    cell: JudgedCell, column: Column, info: CellInfo, results: Results, outcomes: Sequence[ChoiceOutcome]
) -> Moves:
    mine = {info.id} if column.compare is None else {info.id, reference(results, info, column.compare).id}
    tried = [outcome for outcome in outcomes if not mine.isdisjoint(outcome.choice.cells)]
    assert cell.published is not None and cell.estimate is not None  # it has a verdict
    gap = cell.published.value - cell.estimate.value
    found = []
    decided = 0
    for outcome in tried:
        change = _change(column, info, results, outcome.choice.results, 1.0 - (1.0 - LEVEL) / len(tried))
        decided += change.decided[0] <= change.decided[1]
        if change.leaves_out(0.0):
            number, verdict = cell.estimate.value + change.value, _verdict(cell, outcome)
            closed = change.value / gap if gap else 0.0
            found.append(Move(outcome.choice.axis, outcome.choice.value, number, change, closed, verdict))
    found.sort(key=lambda move: abs(1.0 - move.closed))
    return Moves(cell, len(tried), bool(tried) and not decided, tuple(found))


def _change(column: Column, cell: CellInfo, base: Results, varied: Results, level: float) -> Interval:
    """The change of a column's number: with the choice minus without it."""
    own, theirs = (number_of_cell(of, cell, column.quantity, column.compare) for of in (base, varied))
    if np.array_equal(own.derived.values, theirs.derived.values, equal_nan=True):
        return Interval(0.0, 0.0, 0.0, max(1, own.derived.n or 1), "equal runs")
    return relate("difference", theirs, own).estimate(level)


def _verdict(cell: JudgedCell, outcome: ChoiceOutcome) -> Verdict | None:
    """The verdict of the same number with the choice."""
    for table in outcome.tables:
        if table.id == cell.table and cell.row in table.rows:
            other = table.cells[table.rows.index(cell.row)][cell.column]
            return other.judgement.verdict if other.judgement is not None else None
    return None
