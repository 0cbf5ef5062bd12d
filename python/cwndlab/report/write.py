"""Writes a report: figures/, report.md and report.html."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from cwndlab.errors import StudyError
from cwndlab.files import save
from cwndlab.spec.outputs import Listing, Margin, Table
from cwndlab.stats.tables import JudgedTable, derived_unit, margin_of
from cwndlab.stats.verdict import rule_text

from . import render
from .draft import Draft
from .finding import count_claims, finding_text
from .judge import Judged, Omitted, Outputs, omissions
from .model import (
    Fact,
    ListingView,
    LiveView,
    ReportView,
    SensitivityRow,
    SensitivityView,
    TableView,
    TwinView,
    VerdictMark,
    WhyView,
)
from .placing import places
from .readme import readme_html
from .view import (
    claim_view,
    count,
    grounds_of,
    listing_view,
    number,
    paragraphs,
    percent,
    table_view,
    with_reasons,
    with_tables,
)

if TYPE_CHECKING:
    from cwndlab.stats.results import Results
    from cwndlab.stats.sensitivity import ChoiceOutcome, Held, Shift

    from .budget import BudgetKey, MeanTimes
    from .definitions import Definition
    from .discrepancies import Discrepancies, Discrepancy
    from .embed import Runnable
    from .figures import Drawing

CLAIM_RULE = (
    "A comparison is true or false when the 95 % interval of the difference between its two sides leaves out "
    "0; otherwise it is undecided. Replicate k of every cell saw the same random numbers, so differences are "
    "paired. Nothing is decided by fewer than three replicates, nor by fewer than seven that are all equal. "
    "A claim holds or fails when its comparisons leave no doubt."
)


class Evidence(NamedTuple):
    """What was found out about the runs of a report, all of it before the report is written."""

    facts: Sequence[Fact] = ()
    """What was run, and how to repeat it."""
    missing: str = ""
    """Which runs are not among the results, and why."""
    definitions: Sequence[Definition] = ()
    runnable: Runnable | str = ""
    """What lets the page run the tables' cells, or why it cannot."""
    discrepancy_budgets: Mapping[tuple[str, tuple[int, int]], tuple[MeanTimes, MeanTimes]] = MappingProxyType(
        {}
    )
    """Of numbers that differ, by table and by row and column: the mean times without and with a choice."""
    twin_budgets: Mapping[BudgetKey, tuple[MeanTimes, MeanTimes]] = MappingProxyType({})
    """The mean times in the simulator and on the kernel."""


def write(report: Draft, directory: Path, evidence: Evidence, *, png: bool = False) -> ReportView:
    """Writes report.html, report.md and the figures into `directory` and returns what they show.

    Nothing is run. `png` writes figures as PNG, too, which takes as long as drawing them.
    """
    view = build_view(report, evidence)
    save(directory / "report.md", render.markdown(view))
    pdfs: dict[str, bytes] = {}
    for drawing in report.drawings:
        at = directory / "figures" / drawing.id
        save(at.with_suffix(".svg"), drawing.svg_file)
        if drawing.svg not in pdfs:
            pdfs[drawing.svg] = drawing.pdf()
        save(at.with_suffix(".pdf"), pdfs[drawing.svg])
        if png or at.with_suffix(".png").exists():  # one that is there must not show something else
            save(at.with_suffix(".png"), drawing.png())
    save(directory / "report.html", render.html(view))
    return view


def _live(runnable: Runnable | str) -> LiveView | None:
    if isinstance(runnable, str):
        return LiveView(why_not=runnable) if runnable else None
    from .embed import embed

    return embed(runnable)


def _twin_view(report: Draft, evidence: Evidence) -> TwinView | None:
    if report.twin is None:
        return None
    from . import twin

    outputs = report.outputs
    titles = {spec.id: spec.title for spec in outputs.tables}
    return twin.view(
        report.twin, report.twin_rows, report.results, titles, outputs.quantities, evidence.twin_budgets
    )


def build_view(report: Draft, evidence: Evidence) -> ReportView:
    """The view model of a report."""
    outputs, judged, drawings = report.outputs, report.judged, report.drawings
    outcomes, results, found = report.outcomes, report.results, report.discrepancies
    budgets = evidence.discrepancy_budgets
    finding = _finding(outputs, judged, results)
    key, rest = _key_figure(drawings, outputs.key_figure)
    at = places(judged.tables, outputs.figures, results)
    grounds = grounds_of(judged.claims, judged.tables)
    views: list[TableView | ListingView] = []
    for spec, table in judged.tables:
        mine = tuple(drawing for drawing in rest if at.get(drawing.figure) == spec.id)
        if isinstance(table, JudgedTable) and isinstance(spec, Table):
            grid = table_view(spec, table, results, grounds)
            why = _why(spec.id, found.get(spec.id, {}), budgets) if outcomes else {}
            views.append(with_reasons(grid, why)._replace(figures=mine))
        elif not isinstance(table, JudgedTable) and isinstance(spec, Listing):
            views.append(listing_view(spec, table, results)._replace(figures=mine))
    shown = [view.id for view in views]
    grids = [spec for spec in outputs.tables if isinstance(spec, Table)]
    under = _claims_held(outcomes)
    return ReportView(
        title=outputs.title,
        source=outputs.source,
        url=outputs.url,
        about=paragraphs(outputs.about),
        counts=count(judged.verdicts),
        claim_counts=count([c.verdict for c in judged.claims]),
        tables=tuple(views),
        figures=tuple(drawing for drawing in rest if at.get(drawing.figure) not in shown),
        claims=tuple(
            with_tables(claim_view(claim, under.get(claim.claim.id)), claim, ground, number, views)
            for number, (claim, ground) in enumerate(zip(judged.claims, grounds, strict=True), start=1)
        ),
        sensitivity=_sensitivity(judged, outcomes),
        omitted=omissions(judged.omitted),
        facts=tuple(evidence.facts),
        rule=tuple((VerdictMark.of(v), text) for v, text in rule_text(_margins(grids, results))),
        claim_rule=CLAIM_RULE,
        definitions=tuple(evidence.definitions),
        missing=evidence.missing,
        twin=_twin_view(report, evidence),
        chance=_incompatible(judged),
        explained=_explained_line(found, outputs.choices, run=bool(outcomes)),
        finding=finding,
        key_figure=key,
        readme=readme_html(outputs.readme),
        live=_live(evidence.runnable),
    )


def _claims_held(outcomes: Sequence[ChoiceOutcome]) -> Mapping[str, tuple[Held, Held]]:
    """Claim -> how it ended under the choices that were run."""
    if not outcomes:
        return {}
    from cwndlab.stats.sensitivity import claims_held

    return claims_held(outcomes)


def _explained_line(found: Discrepancies, choices: int, *, run: bool) -> str:
    """How many numbers have an explanation."""
    if not found:
        return ""
    from .discrepancies import explained_text, in_table_order

    return explained_text(in_table_order(found), choices, run=run)


def _why(
    table: str,
    found: Mapping[tuple[int, int], Discrepancy],
    budgets: Mapping[tuple[str, tuple[int, int]], tuple[MeanTimes, MeanTimes]],
) -> dict[tuple[int, int], WhyView]:
    """The explanations of a table's numbers."""
    made = {}
    for at, one in found.items():
        more = (one.budget_text(*budgets[table, at]),) if (table, at) in budgets else ()
        made[at] = WhyView(one.summary, (*one.lines, *more))
    return made


def _key_figure(drawings: Sequence[Drawing], wanted: str) -> tuple[Drawing | None, Sequence[Drawing]]:
    """The figure that is shown with the finding, and the others."""
    chosen = next((d for d in drawings if d.figure == wanted), drawings[0] if drawings else None)
    return chosen, [drawing for drawing in drawings if drawing is not chosen]


def _finding(outputs: Outputs, judged: Judged, results: Results) -> str:
    """The study's own finding, or how its claims ended where its cells were not run."""
    if outputs.finding:
        try:
            return finding_text(outputs.finding, results)
        except StudyError as error:
            judged.omitted.append(Omitted("finding", "finding", error))
    return count_claims(judged.claims)


def _incompatible(judged: Judged) -> str:
    """How many of the judged numbers are incompatible, and how many would be by chance."""
    return judged.incompatible.text if judged.incompatible else ""


def _margins(grids: Sequence[Table], results: Results) -> str:
    """The margins of a study's published numbers in words, the plain one first."""
    found: dict[str, list[str]] = {Margin().words(): []}
    for table in grids:
        for column in (c for c in table.columns if c.published is not None):
            unit = derived_unit(column.compare, results.unit(column.quantity))
            words = margin_of(table, column, results).words(unit)
            title = results.title(column.quantity)
            if title not in found.setdefault(words, []):
                found[words].append(title)
    plain, *others = found.items()
    return "; ".join((plain[0], *(f"{words} for {', '.join(titles)}" for words, titles in others)))


def _sensitivity(judged: Judged, outcomes: Sequence[ChoiceOutcome]) -> SensitivityView | None:
    if not outcomes:
        return None
    from cwndlab.stats.sensitivity import effects

    grids = [(s, t) for s, t in judged.tables if isinstance(s, Table) and isinstance(t, JudgedTable)]
    found = effects([t for _, t in grids], judged.claims, outcomes)
    run = [(s, t) for s, t in grids if any(effect.shift[t.id].run for effect in found)]
    rows = []
    for effect in found:
        claims = f"{effect.claims_held} of {effect.checked}"
        if effect.changed:
            claims += f" (changed: {', '.join(effect.changed)})"
        moved = tuple(_shift_text(effect.shift[t.id]) for _, t in run)
        rows.append(SensitivityRow(effect.axis, effect.value, claims, moved))
    not_run = tuple(s.title for s, t in grids if (s, t) not in run)
    return SensitivityView(tuple(s.title for s, _ in run), tuple(rows), not_run)


def _shift_text(shift: Shift) -> str:
    """A table's shift in words."""
    if not shift.run:
        return "not run"
    words = []
    if not math.isnan(shift.median):
        words.append(f"{_size(shift.median)}, at most {_size(shift.largest)}")
    if shift.differences:
        sizes = [f"{number(size)} {_points(unit)}".strip() for unit, size in shift.differences.items()]
        words.append(f"near zero at most {', '.join(sizes)}")
    if shift.run < shift.of:
        words.append(f"{shift.run} of {shift.of} numbers")
    return "; ".join(words)


def _size(relative: float) -> str:
    return percent(relative).lstrip("+±")


def _points(unit: str) -> str:
    """The unit of a difference."""
    return "percentage points" if unit == "%" else "" if unit == "1" else unit
