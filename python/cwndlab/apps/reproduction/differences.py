"""A report's explanations of numbers that differ from the paper's; also for `RunResult.discrepancies`."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from cwndlab.apps.diagnosis.time_budgets import mean_times
from cwndlab.report.digits import number, percent
from cwndlab.report.judge import Judged, judge
from cwndlab.report.model import DifferencesView, Reason, SensitivityView
from cwndlab.runs.single_run import Recorded
from cwndlab.stats.results import Variation
from cwndlab.stats.verdict import Verdict

from .choice_effects import ChoiceOutcome, Shift, Verdicts, claim_verdicts, effects
from .discrepancies import (
    Discrepancies,
    Discrepancy,
    budget_text,
    discrepancies,
    explained_text,
    in_table_order,
)


def view(judged: Judged, variations: Sequence[Variation], source: Recorded | None) -> DifferencesView:
    """The differences as the report shows them.

    Args:
        judged: the judged study.
        variations: its results under each choice that was run.
        source: the runs, some of which are repeated to obtain time budgets; None: no time budgets.

    """
    outcomes = _outcomes(judged, variations)
    found = discrepancies(judged, outcomes)
    explained = explained_text(in_table_order(found), judged.outputs.choices, run=bool(outcomes))
    if not outcomes:
        return DifferencesView(explained=explained)
    # Time budgets take time, so numbers that only follow the trend get none.
    reasons: dict[str, dict[tuple[int, int], Reason]] = {table: {} for table in found}
    for table, numbers in found.items():
        for at, apart in numbers.items():
            differs = apart.verdict is Verdict.DIFFERS
            timed = _with_mean_times(source, apart, variations) if differs else apart
            reasons[table][at] = Reason(timed.summary, timed.lines)
    claims = {claim: _choices_text(*both) for claim, both in claim_verdicts(outcomes).items()}
    return DifferencesView(reasons, claims, _sensitivity(judged, outcomes), explained)


def discrepancies_of_cells(
    judged: Judged, variations: Sequence[Variation], cells: Collection[str], source: Recorded | None
) -> list[Discrepancy]:
    """The numbers of these cells that differ from the paper's; with a source, they include time budgets."""
    found: Discrepancies = discrepancies(judged, _outcomes(judged, variations))
    mine = [each for each in in_table_order(found) if each.cell in cells]
    return [_with_mean_times(source, each, variations) for each in mine]


def _outcomes(judged: Judged, variations: Iterable[Variation]) -> list[ChoiceOutcome]:
    """The judged tables and claims under each choice."""
    varied = ((variation, judge(judged.outputs, variation.results)) for variation in variations)
    return [ChoiceOutcome(variation, other.grids, other.claims) for variation, other in varied]


def _with_mean_times(
    source: Recorded | None, discrepancy: Discrepancy, variations: Iterable[Variation]
) -> Discrepancy:
    """The discrepancy with time budgets of its objects, without and with the choice that explains most."""
    key = discrepancy.budget_key
    if key is None or source is None:
        return discrepancy
    best = discrepancy.moves.nearer[0]
    runs = next(v.runs for v in variations if (v.axis, v.value) == (best.axis, best.value))
    means = mean_times(source, key), mean_times(source, key, runs[discrepancy.cell])
    return replace(discrepancy, budgets=budget_text(discrepancy, *means)) if all(means) else discrepancy


def _choices_text(single: Verdicts, combined: Verdicts) -> str:
    """Under how many of the choices that the paper leaves open a claim holds, in a sentence."""
    parts = [
        f"holds under {of[Verdict.HOLDS]} of {of.total()} {what}, fails under {of[Verdict.FAILS]}"
        for of, what in ((single, "single changes"), (combined, "combinations"))
        if of
    ]
    return f"Of what the paper leaves open, it {'; '.join(parts)}."


def _sensitivity(judged: Judged, outcomes: Sequence[ChoiceOutcome]) -> SensitivityView:
    """How far each choice moves each table, and how many claims hold with it."""
    found = effects(judged.grids, judged.claims, outcomes)
    run = [table for table in judged.grids if any(effect.shift[table.id].run for effect in found)]
    rows = []
    for effect in found:
        claims = f"{effect.claims_held} of {effect.checked}"
        if effect.changed:
            claims += f" (changed: {', '.join(effect.changed)})"
        moved = tuple(_shift_text(effect.shift[table.id]) for table in run)
        rows.append((effect.choice.axis, effect.choice.value, claims, moved))
    not_run = tuple(table.spec.title for table in judged.grids if table not in run)
    return SensitivityView(tuple(table.spec.title for table in run), tuple(rows), not_run)


def _shift_text(shift: Shift) -> str:
    """The shift of a table's numbers, in words."""
    if not shift.run:
        return "not run"
    words = []

    def size(relative: float) -> str:
        return percent(relative).lstrip("+±")

    if not math.isnan(shift.median):
        words.append(f"{size(shift.median)}, at most {size(shift.largest)}")
    if shift.differences:
        sizes = [f"{number(size)} {_points(unit)}".strip() for unit, size in shift.differences.items()]
        words.append(f"near zero at most {', '.join(sizes)}")
    if shift.run < shift.of:
        words.append(f"{shift.run} of {shift.of} numbers")
    return "; ".join(words)


def _points(unit: str) -> str:
    """The unit of a difference."""
    return "percentage points" if unit == "%" else "" if unit == "1" else unit
