"""What choices that a paper left open change: every table and claim under each single choice, and under
combinations of them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.metrics._median import median
from cwndlab.stats.results import Estimate, Results
from cwndlab.stats.verdict import Verdict

if TYPE_CHECKING:
    from cwndlab.stats.claims import JudgedClaim
    from cwndlab.stats.tables import JudgedTable

#: A number is near zero below this share of the largest of its quantity in the table.
NEAR_ZERO = 0.05

_JUDGED = (Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED)
"""Claims of a suspect source say nothing about the model, whatever their verdict."""


@dataclass(frozen=True)
class ChoiceOutcome:
    """The tables and claims of a study under one choice of one sensitivity axis."""

    axis: str
    value: str
    tables: Sequence[JudgedTable]
    claims: Sequence[JudgedClaim]
    combined: bool = False
    """Whether it is a combination of choices."""
    results: Results = field(default_factory=lambda: Results((), {}, {}))
    """What the tables and claims were judged by."""
    cells: Collection[str] = ()
    """The cells that were run with the choice; the others are the study's own."""


@dataclass(frozen=True)
class Shift:
    """How far a choice moves the numbers of a table.

    Relative to the base, |value / base - 1|; where the base is near zero among the numbers of its quantity,
    or they have both signs, a ratio says nothing and the difference is given.
    """

    run: int
    """Numbers that both the choice and the base have."""
    of: int
    """Numbers of the base."""
    median: float
    largest: float
    differences: Mapping[str, float]
    """Unit -> largest difference where the base is near zero."""


@dataclass(frozen=True)
class Effect:
    """What one choice moves."""

    axis: str
    value: str
    claims_held: int
    """Claims that hold."""
    checked: int
    """Claims that could be evaluated."""
    changed: tuple[str, ...]
    """Claims whose verdict differs from the base study's."""
    shift: Mapping[str, Shift]
    """Table -> how far its numbers move."""


def effects(
    tables: Sequence[JudgedTable], claims: Sequence[JudgedClaim], outcomes: Sequence[ChoiceOutcome]
) -> list[Effect]:
    """Compares every choice with the base study."""
    base = {c.claim.id: c.verdict for c in claims}
    found = []
    for outcome in outcomes:
        checked = [c for c in outcome.claims if c.verdict in _JUDGED]
        claims_held = sum(c.verdict is Verdict.HOLDS for c in checked)
        changed = tuple(c.claim.id for c in checked if base.get(c.claim.id, c.verdict) is not c.verdict)
        shift = {}
        for before in tables:
            after = next((t for t in outcome.tables if t.id == before.id), None)
            shift[before.id] = _shift(before, after)
        found.append(Effect(outcome.axis, outcome.value, claims_held, len(checked), changed, shift))
    return found


@dataclass(frozen=True)
class Held:
    """Under how many choices a claim holds, and fails, of how many where it was evaluated."""

    holds: int = 0
    fails: int = 0
    of: int = 0

    def add(self, verdict: Verdict) -> Held:
        """With one more."""
        return Held(
            self.holds + (verdict is Verdict.HOLDS), self.fails + (verdict is Verdict.FAILS), self.of + 1
        )


def claims_held(outcomes: Sequence[ChoiceOutcome]) -> dict[str, tuple[Held, Held]]:
    """Claim -> how it ended under the single choices, and under the combinations."""
    counts: dict[str, tuple[Held, Held]] = {}
    for outcome in outcomes:
        for claim in outcome.claims:
            if claim.verdict in _JUDGED:
                single, combined = counts.get(claim.claim.id, (Held(), Held()))
                if outcome.combined:
                    combined = combined.add(claim.verdict)
                else:
                    single = single.add(claim.verdict)
                counts[claim.claim.id] = (single, combined)
    return counts


def _shift(before: JudgedTable, after: JudgedTable | None) -> Shift:
    moved = {} if after is None else dict(zip(after.rows, after.cells, strict=True))
    pairs: list[tuple[Estimate, float]] = []
    of = 0
    for key, row in zip(before.rows, before.cells, strict=True):
        others = moved.get(key, (None,) * len(row))
        for cell, other in zip(row, others, strict=True):
            if cell.estimate is None or math.isnan(cell.estimate.value):
                continue
            of += 1
            value = math.nan if other is None or other.estimate is None else other.estimate.value
            if not math.isnan(value):
                pairs.append((cell.estimate, value))
    small = _small([cell.estimate for row in before.cells for cell in row if cell.estimate is not None])
    relative: list[float] = []
    differences: dict[str, float] = {}
    for base, value in pairs:
        if abs(base.value) > small[base.quantity]:
            relative.append(abs(value / base.value - 1.0))
        else:
            differences[base.unit] = max(differences.get(base.unit, 0.0), abs(value - base.value))
    middle, largest = (float(median(np.array(relative))), max(relative)) if relative else (math.nan, math.nan)
    return Shift(len(pairs), of, middle, largest, differences)


def _small(estimates: Sequence[Estimate]) -> dict[str, float]:
    """Quantity -> up to which size its numbers are compared by their difference."""
    by_quantity: dict[str, list[float]] = {}
    for estimate in estimates:
        by_quantity.setdefault(estimate.quantity, []).append(estimate.value)
    found = {}
    for quantity, values in by_quantity.items():
        size = max((abs(value) for value in values if not math.isnan(value)), default=0.0)
        both = any(value < 0.0 for value in values) and any(value > 0.0 for value in values)
        found[quantity] = size if both else NEAR_ZERO * size
    return found
