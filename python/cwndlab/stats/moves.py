"""Which choices that a paper leaves open move a number of ours, by how much, and whether towards the paper's.

A choice moves a number if the interval of the difference, with the choice less without it, leaves out 0. The
intervals of all choices that were run on a number share the 5 % of being wrong by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.stats import intervals, jackknife
from cwndlab.stats.intervals import LEVEL, Interval
from cwndlab.stats.tables import JudgedCell, JudgedTable, leave_one_out, reference
from cwndlab.stats.verdict import Verdict

if TYPE_CHECKING:
    from cwndlab.spec.outputs import Column, Table
    from cwndlab.stats.results import CellInfo, Results
    from cwndlab.stats.sensitivity import ChoiceOutcome

#: Verdicts of numbers that ask for an explanation.
UNEXPLAINED = (Verdict.DIFFERS, Verdict.TREND)


@dataclass(frozen=True)
class Move:
    """A number under one choice."""

    axis: str
    value: str
    number: float
    """Ours with the choice."""
    change: Interval
    """With the choice less without it."""
    closed: float
    """Which share of the difference from the published value the change makes up; negative if it adds to it.

    More than 1 if the number ends on the other side of the published value.
    """
    verdict: Verdict | None
    """Of the number with the choice."""

    @property
    def nearer(self) -> bool:
        """Whether the number comes nearer to the published value."""
        return 0.0 < self.closed < 2.0


@dataclass(frozen=True)
class Moves:
    """A number that is not the paper's, and the choices that move it."""

    cell: JudgedCell
    tried: int
    """Choices that were run on it."""
    undecided: bool
    """Whether there are too few replicates for an interval of any change."""
    moves: tuple[Move, ...]
    """Those that move it, the one that ends nearest to the published value first."""

    @property
    def nearer(self) -> tuple[Move, ...]:
        """The choices with which the number is nearer to the published value."""
        return tuple(move for move in self.moves if move.nearer)


def moves_of(
    spec: Table, table: JudgedTable, results: Results, outcomes: Sequence[ChoiceOutcome]
) -> dict[tuple[int, int], Moves]:
    """The numbers of a table that differ from the paper's or only follow its trend: row and column of each.

    Args:
        spec: the table as the study asks for it.
        table: the same, judged.
        results: the study's own.
        outcomes: the study under each choice; combinations of choices are not looked at.

    """
    single = [outcome for outcome in outcomes if not outcome.combined]
    cells = {cell.id: cell for cell in results.cells}
    found = {}
    for row, line in enumerate(table.cells):
        for at, cell in enumerate(line):
            if cell.judgement is None or cell.judgement.verdict not in UNEXPLAINED:
                continue
            column = spec.columns[cell.column]
            if column.runs is None:  # a quantile of runs has no leave-one-out values
                found[row, at] = _moves(cell, column, cells[cell.cell], results, single)
    return found


def _moves(
    cell: JudgedCell, column: Column, info: CellInfo, results: Results, outcomes: Sequence[ChoiceOutcome]
) -> Moves:
    mine = {info.id} if column.compare is None else {info.id, reference(results, info, column.compare).id}
    tried = [outcome for outcome in outcomes if not mine.isdisjoint(outcome.cells)]
    assert cell.published is not None and cell.estimate is not None  # it has a verdict
    gap = cell.published.value - cell.estimate.value
    found = []
    decided = 0
    for outcome in tried:
        change = _change(column, info, results, outcome.results, 1.0 - (1.0 - LEVEL) / len(tried))
        decided += change.low <= change.high
        if change.low > 0.0 or change.high < 0.0:
            number, verdict = cell.estimate.value + change.value, _verdict(cell, outcome)
            closed = change.value / gap if gap else 0.0
            found.append(Move(outcome.axis, outcome.value, number, change, closed, verdict))
    found.sort(key=lambda move: abs(1.0 - move.closed))
    return Moves(cell, len(tried), bool(tried) and not decided, tuple(found))


def _change(column: Column, cell: CellInfo, base: Results, varied: Results, level: float) -> Interval:
    """What a column shows with a choice less what it shows without it."""
    own, theirs = leave_one_out(base, cell, column), leave_one_out(varied, cell, column)
    if np.array_equal(own, theirs):
        return Interval(0.0, 0.0, 0.0, max(1, len(own) - 1), "equal runs")
    if base.statistic(column.quantity) == "median" and len(theirs) > 1:
        theirs = jackknife.unpaired(theirs, len(own) - 1)  # medians do not pair
    return intervals.jackknife_difference(theirs, own, level=level)


def _verdict(cell: JudgedCell, outcome: ChoiceOutcome) -> Verdict | None:
    """The verdict of the same number with the choice."""
    for table in outcome.tables:
        if table.id == cell.table and cell.row in table.rows:
            other = table.cells[table.rows.index(cell.row)][cell.column]
            return other.judgement.verdict if other.judgement is not None else None
    return None
