"""Numbers that differ from the paper's, each with measurements that may explain it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from cwndlab.apps.diagnosis.budget_figure import BudgetKey, MeanTimes, changes, objects_of
from cwndlab.apps.reproduction.choice_effects import ChoiceOutcome, Move, Moves, find_moves
from cwndlab.base.writing import plain_row
from cwndlab.report.digits import number, percent
from cwndlab.stats.verdict import Verdict, relative_difference

if TYPE_CHECKING:
    from cwndlab.report.judge import Judged

#: At most so many choices of the study are named as bringing a number nearer to the published one.
NAMED = 3


@dataclass(frozen=True)
class Discrepancy:
    """A published number that the study's number differs from, or agrees with only in its trend."""

    table: str
    cell: str
    quantity: str
    unit: str
    measured: float
    published: float
    verdict: Verdict
    moves: Moves
    #: The kind of object whose time the quantity measures ("page", "file", …); empty for other quantities.
    kind: str = ""
    #: The traffic entry of the objects; empty for all entries.
    traffic: str = ""
    #: The mean time budgets of the objects (`budget_text`); None if not requested or unknown.
    budgets: str | None = None

    @property
    def explained(self) -> bool:
        """Whether at least one choice that was run brings the number nearer to the published one."""
        return bool(self.moves.nearer)

    @property
    def summary(self) -> str:
        """The effect of the choices, in a few words."""
        moves = self.moves
        if not moves.tried:
            return "no choice was run"
        if moves.undecided:
            return "too few replicates to tell"
        if not moves.moves:
            return "no choice moves it"
        if not moves.nearer:
            return "no choice brings it nearer"
        return f"{len(moves.nearer)} of {moves.tried} choices bring it nearer"

    @property
    def lines(self) -> tuple[str, ...]:
        """The effects of choices on the number and, if known, its time budgets, in sentences."""
        moves = self.moves
        if not moves.tried:
            return ("No choice that the paper leaves open was run for this number.",)
        if moves.undecided:
            return (f"There are too few replicates to tell which of the {moves.tried} choices move it.",)
        if not moves.moves:
            one, several = "The choice that was run does", f"The {moves.tried} choices that were run do"
            return (f"{one if moves.tried == 1 else several} not move it.",)
        farther = [move for move in moves.moves if not move.nearer]
        lines = [f"Nearer: {self._words(move)}." for move in moves.nearer[:NAMED]]
        if more := len(moves.nearer) - NAMED:
            lines += [f"{more} more bring it nearer by less."] if more > 0 else []
        if farther:
            least = "" if len(farther) == 1 else f" ({len(farther)} choices; this one by least)"
            lines.append(f"Farther{least}: {self._words(farther[0])}.")
        return (*lines, self.budgets) if self.budgets else tuple(lines)

    @property
    def budget_key(self) -> BudgetKey | None:
        """The objects whose time budgets, without and with the best choice, explain the discrepancy.

        None if the quantity is no time, or no choice brings it nearer.
        """
        return BudgetKey(self.cell, self.kind, self.traffic) if self.kind and self.moves.nearer else None

    def _words(self, move: Move) -> str:
        """A choice and its effect."""
        unit = f" {self.unit}" if self.unit else ""
        change = move.change
        by = f"{'+' if change.value > 0 else ''}{number(change.value)}"
        if change.high > change.low:
            by += f", {number(change.low)} … {number(change.high)}"
        share = f"; {100 * move.closed:.0f} % of the difference" if move.closed > 0 else ""
        then = f"; the verdict would be “{move.verdict}”" if move.verdict not in (None, self.verdict) else ""
        return f"{move.axis} = {move.value} gives {number(move.number)}{unit} ({by}){share}{then}"

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        apart = percent(relative_difference(self.measured, self.published))
        head = f"{self.table}, {self.cell}, {self.quantity}: {number(self.measured)}{unit}"
        head += f", published {number(self.published)}{f' ({apart})' if apart else ''}: {self.verdict}"
        return "\n".join([head, *(f"  {line}" for line in self.lines)])

    def to_dict(self) -> dict[str, object]:
        """The discrepancy as a dictionary for JSON; null stands for values that could not be measured.

        >>> [apart.to_dict() for apart in run.discrepancies()]  # without published numbers
        []
        """
        moves = [
            {
                "choice": move.axis,
                "value": move.value,
                "measured": move.number,
                "change": move.change.value,
                "change_low": move.change.low,
                "change_high": move.change.high,
                "closed": move.closed,
                "nearer": move.nearer,
                "verdict": move.verdict and move.verdict.value,
            }
            for move in self.moves.moves
        ]
        own = {
            "table": self.table,
            "cell": self.cell,
            "quantity": self.quantity,
            "unit": self.unit,
            "measured": self.measured,
            "published": self.published,
            "verdict": self.verdict.value,
            "choices_run": self.moves.tried,
        }
        return {**plain_row(own), "moves": [plain_row(move) for move in moves]}


def budget_text(discrepancy: Discrepancy, before: MeanTimes, after: MeanTimes) -> str:
    """The mean time budget of the objects, without and with the choice that explains most, in a sentence."""
    best = discrepancy.moves.nearer[0]
    return (
        f"With {best.axis} = {best.value} the mean {discrepancy.kind} of the first run takes "
        f"{1e3 * sum(after.values()):.0f} ms instead of {1e3 * sum(before.values()):.0f}: "
        f"{changes(before, after)}."
    )


#: Discrepancies by table, and by (row, column).
Discrepancies: TypeAlias = Mapping[str, Mapping[tuple[int, int], Discrepancy]]


def discrepancies(judged: Judged, outcomes: Sequence[ChoiceOutcome]) -> Discrepancies:
    """The numbers of judged tables that differ from the paper's, with the effect of each choice."""
    found: dict[str, dict[tuple[int, int], Discrepancy]] = {}
    for table in judged.grids:
        for at, moves in find_moves(table, judged.results, outcomes).items():
            cell = moves.cell
            assert cell.estimate is not None and cell.published is not None and cell.judgement is not None
            quantity = judged.outputs.quantities.get(table.column(cell).quantity)
            found.setdefault(table.id, {})[at] = Discrepancy(
                table.id,
                cell.cell,
                cell.quantity,
                cell.estimate.unit,
                cell.estimate.value,
                cell.published.value,
                cell.judgement.verdict,
                moves,
                *(objects_of(quantity) if quantity is not None else ("", "")),
            )
    return found


def in_table_order(found: Discrepancies) -> list[Discrepancy]:
    """The discrepancies in the order of the tables."""
    return [discrepancy for table in found.values() for discrepancy in table.values()]


def explained_text(found: Sequence[Discrepancy], choices: int, *, run: bool) -> str:
    """A sentence on how many numbers have an explanation; empty if the study has no choices.

    Args:
        found: the discrepancies.
        choices: the number of sensitivity axes of the study.
        run: whether any of these choices was run.

    """
    if not found or not choices:
        return ""
    if not run:
        return (
            f"No number that differs is explained: none of the {choices} choices that the paper leaves open "
            "was run (`--sensitivity all`)."
        )
    parts = []
    for verdict, words in ((Verdict.DIFFERS, "differ"), (Verdict.TREND, "only follow the trend")):
        mine = [discrepancy for discrepancy in found if discrepancy.verdict is verdict]
        if mine:
            parts.append(f"{sum(one.explained for one in mine)} of {len(mine)} numbers that {words}")
    return f"A choice that was run brings {' and '.join(parts)} nearer to the published value."
