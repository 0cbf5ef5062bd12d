"""What choices that a paper left open change: every table and claim under each single choice, and under
combinations of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cwndlab.stats.claims import JudgedClaim
from cwndlab.stats.tables import JudgedTable
from cwndlab.stats.verdict import Verdict

_JUDGED = (Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED)
"""Claims of a suspect source say nothing of the model, whatever they come to."""


@dataclass(frozen=True)
class Outcome:
    """The tables and claims of a study under one choice of one sensitivity axis."""

    axis: str
    value: str
    tables: Sequence[JudgedTable]
    claims: Sequence[JudgedClaim]
    combined: bool = False
    """Whether it is a combination of choices."""


@dataclass(frozen=True)
class Effect:
    """What one choice moves."""

    axis: str
    value: str
    held: int
    """Claims that hold."""
    checked: int
    """Claims that could be evaluated."""
    changed: tuple[str, ...]
    """Claims whose verdict differs from the base study's."""
    shift: Mapping[str, tuple[float, float]]
    """Table -> median and largest over its cells of |value / base - 1|."""


def effects(
    tables: Sequence[JudgedTable], claims: Sequence[JudgedClaim], outcomes: Sequence[Outcome]
) -> list[Effect]:
    """Compares every choice with the base study."""
    base = {c.claim.id: c.verdict for c in claims}
    found = []
    for outcome in outcomes:
        checked = [c for c in outcome.claims if c.verdict in _JUDGED]
        held = sum(c.verdict is Verdict.HOLDS for c in checked)
        changed = tuple(c.claim.id for c in checked if base.get(c.claim.id, c.verdict) is not c.verdict)
        shift = {}
        for before in tables:
            after = next((t for t in outcome.tables if t.id == before.id), None)
            shift[before.id] = _shift(before, after) if after is not None else (math.nan, math.nan)
        found.append(Effect(outcome.axis, outcome.value, held, len(checked), changed, shift))
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


def held(outcomes: Sequence[Outcome]) -> dict[str, tuple[Held, Held]]:
    """Claim -> how it came out under the single choices, and under the combinations."""
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


def _shift(before: JudgedTable, after: JudgedTable) -> tuple[float, float]:
    moved = [
        abs(b.estimate.value / a.estimate.value - 1.0)
        for row, other in zip(before.cells, after.cells, strict=False)
        for a, b in zip(row, other, strict=True)
        if a.estimate is not None and b.estimate is not None and a.estimate.value != 0.0
    ]
    known = [m for m in moved if not math.isnan(m)]
    return (float(np.median(known)), max(known)) if known else (math.nan, math.nan)
