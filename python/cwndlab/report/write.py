"""Writes a report: figures/, report.md, report.html, and summary.json for the list of reports."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from cwndlab.base.errors import StudyError
from cwndlab.base.writing import number_of, save_inside
from cwndlab.records.failures import SHOWN
from cwndlab.stats.tables import JudgedTable, derived_unit, margin_of
from cwndlab.stats.verdict import rule_text
from cwndlab.study.kernels import AXIS as KERNELS
from cwndlab.study.outputs import Figure, Margin, Table

from . import render
from .contents import Outputs, count_claims, finding_text
from .digits import number, percent
from .draft import Draft, save_summary
from .headline import Headline, first_headline, headline_of_row, keep_one_statistic
from .judge import Judged, Omitted, judgements_of, omissions
from .model import ListingView, LiveView, ReportView, SensitivityView, TableView, TwinView
from .wording import claim_view, count, grounds_of, listing_view, paragraphs, table_view

if TYPE_CHECKING:
    from cwndlab.stats.listing import JudgedListing
    from cwndlab.stats.results import Results
    from cwndlab.stats.sensitivity import ChoiceOutcome, Shift, Verdicts
    from cwndlab.study.cells import CellInfo

    from .embed import Runnable
    from .figures import Drawing
    from .twin import TwinNumber

CLAIM_RULE = (
    "A comparison is true or false when the 95 % interval of the difference between its two sides leaves out "
    "0; otherwise it is undecided. Replicate k of every cell saw the same random numbers, so differences are "
    "paired. Nothing is decided by fewer than three replicates, nor by fewer than seven that are all equal. "
    "A claim holds or fails when its comparisons leave no doubt."
)


def write(report: Draft, directory: Path, *, pictures: bool = False) -> ReportView:
    """Writes report.html, report.md, summary.json and the figures; returns what they show.

    Nothing is run. `pictures` writes figures as PDF and PNG, too, which takes longer than drawing them.
    """
    view = build_view(report)
    save_inside(directory, "report.md", render.report_markdown(view))
    for drawing in report.drawings:
        name = f"figures/{drawing.id}"
        save_inside(directory, f"{name}.svg", drawing.svg_file)
        for file, picture in ((f"{name}.pdf", drawing.pdf), (f"{name}.png", drawing.png)):
            if pictures or (directory / file).exists():  # one that is there must not show something else
                save_inside(directory, file, picture())
    save_summary(report, directory, view.finding, view.undecided)
    save_inside(directory, "report.html", render.report_html(view))
    return view


def build_view(report: Draft) -> ReportView:
    """The view model of a report."""
    outputs, judged, outcomes = report.outputs, report.judged, report.outcomes
    drawings, results = report.drawings, report.results
    key = next((d for d in drawings if d.figure == outputs.key_figure), drawings[0] if drawings else None)
    shows = next((figure for figure in outputs.figures if key is not None and figure.id == key.figure), None)
    others = [figure for figure in outputs.figures if figure is not shows]
    finding = _finding(outputs, judged, [shows, *others] if shows is not None else [])
    twin = next((d for d in drawings if key is not None and d is not key and d.figure == key.figure), None)
    rest = [drawing for drawing in drawings if drawing is not key and drawing is not twin]
    at = places(judged.tables, outputs.figures, results)
    grounds = grounds_of(judged.claims, judged.grids)
    chance, alone = _claims_together(judged)
    views = _table_views(report, grounds, rest, at)
    shown = [view.id for view in views]
    chosen = _claim_verdicts(outcomes)
    margins = _margins([spec for spec in outputs.tables if isinstance(spec, Table)], results)
    return ReportView(
        title=outputs.title,
        source=outputs.source,
        url=outputs.url,
        about=paragraphs(outputs.about),
        counts=count([judgement.verdict for judgement in judged.judgements]),
        claim_counts=count([c.verdict for c in judged.claims]),
        tables=tuple(views),
        figures=tuple(drawing for drawing in rest if at.get(drawing.figure) not in shown),
        claims=tuple(
            claim_view(claim, chosen.get(claim.claim.id), ground, position, views, alone)
            for position, (claim, ground) in enumerate(zip(judged.claims, grounds, strict=True), start=1)
        ),
        sensitivity=_sensitivity(judged, outcomes),
        omitted=omissions(judged.omitted),
        facts=tuple(report.facts),
        ran=tuple(report.ran),
        rule=rule_text(margins),
        claim_rule=" ".join(filter(None, (CLAIM_RULE, chance))),
        definitions=tuple(report.definitions),
        missing=report.missing,
        failed=_failed_connections(results),
        twin=_twin_view(report),
        chance=judged.incompatible.text if judged.incompatible else "",
        means=(*(mean.text for mean in judged.joint.means), judged.joint.text) if judged.joint else (),
        explained=_explained_line(report),
        finding=finding.shown,
        undecided=" ".join(filter(None, (finding.undecided, _agreement(report.twin_rows)))),
        key_figure=key,
        key_twin=twin,
        readme=render.readme_html(outputs.readme),
        study=report.study,
        live=_live(report.runnable),
    )


def _table_views(
    report: Draft,
    grounds: Sequence[Collection[tuple[str, str]]],
    drawings: Sequence[Drawing],
    at: Mapping[str, str],
) -> list[TableView | ListingView]:
    """Each table with the figures that are shown next to it (`at`: by figure)."""
    views: list[TableView | ListingView] = []
    for table in report.judged.tables:
        mine = tuple(drawing for drawing in drawings if at.get(drawing.figure) == table.id)
        made: TableView | ListingView
        if isinstance(table, JudgedTable):
            why = report.discrepancies.get(table.id, {}) if report.outcomes else {}
            made = table_view(table, report.results.labels, grounds, why)
        else:
            made = listing_view(table, report.results.labels)
        verdicts = count([judgement.verdict for judgement in judgements_of([table])])
        views.append(made._replace(figures=mine, counts=verdicts))
    return views


# Each imports what few reports need.


def _failed_connections(results: Results) -> str:
    """Which connections failed, by cell; cells in which the same failed together."""
    alike: dict[str, list[CellInfo]] = {}
    for cell in results.cells:
        if cell.id in results.failed:
            alike.setdefault(results.failed[cell.id], []).append(cell)
    parts = []
    for text, cells in list(alike.items())[:SHOWN]:
        more = f" and {number_of(len(cells) - 1, 'more cell')}" if len(cells) > 1 else ""
        where = f" ({results.cell_title(cells[0])}{more})" if len(results.cells) > 1 else ""
        parts.append(text + where)
    rest = sum(len(cells) for cells in list(alike.values())[SHOWN:])
    return "; ".join(parts + ([f"others in {number_of(rest, 'more cell')}"] if rest else []))


def _live(runnable: Runnable | str) -> LiveView | None:
    if isinstance(runnable, str):
        return LiveView(why_not=runnable) if runnable else None
    from .embed import embed

    return embed(runnable)


def _twin_view(report: Draft) -> TwinView | None:
    if report.twin is None:
        return None
    from . import twin

    outputs = report.outputs
    titles = {spec.id: spec.title for spec in outputs.tables}
    view = twin.view(
        report.twin, report.twin_rows, report.results, titles, outputs.quantities, report.twin_budgets
    )
    return view._replace(last=any(KERNELS in cell.axes for cell in report.results.cells))


def _claim_verdicts(outcomes: Sequence[ChoiceOutcome]) -> Mapping[str, tuple[Verdicts, Verdicts]]:
    """Claim -> how it ended under the choices that were run."""
    if not outcomes:
        return {}
    from cwndlab.stats.sensitivity import claim_verdicts

    return claim_verdicts(outcomes)


def _explained_line(report: Draft) -> str:
    """How many numbers have an explanation."""
    if not report.discrepancies:
        return ""
    from .discrepancies import explained_text, in_table_order

    found = in_table_order(report.discrepancies)
    return explained_text(found, report.outputs.choices, run=bool(report.outcomes))


def _claims_together(judged: Judged) -> tuple[str, Collection[str]]:
    """What the claims together are wrong in by chance, and the ids of those that are decided only alone."""
    if not judged.claims:
        return "", ()
    from cwndlab.stats.family import claims_alone  # only studies of papers have claims

    family, alone = claims_alone(judged.claims, judged.results)
    return family.text("claims"), alone


def _finding(outputs: Outputs, judged: Judged, figures: Sequence[Figure]) -> Headline:
    """The study's own finding; where it has none, or its cells were not run, what there is to say instead.

    That is how a paper's claims ended, and otherwise what the first figure shows that shows anything, or the
    first table.
    """
    if outputs.finding:
        try:
            return Headline(finding_text(outputs.finding, judged.results))
        except StudyError as error:
            judged.omitted.append(Omitted("finding", "", error))
    claims = Headline(count_claims(judged.claims))
    if figures:
        found = first_headline(
            [keep_one_statistic(figure, outputs.quantities) for figure in figures], judged.results
        )
    else:
        found = headline_of_row(judged.grids[0]) if judged.grids else Headline()
    return claims if any(claims) and (outputs.source or not any(found)) else found


def _agreement(rows: Sequence[TwinNumber]) -> str:
    """How many numbers of a kernel's report differ from the simulator's; "" where none is tested."""
    if not rows:
        return ""
    from .twin import count_apart  # few reports compare a kernel

    tested, apart = count_apart(rows)
    return (
        f"Kernel and simulator differ significantly in {apart or 'none'} of {tested} numbers."
        if tested
        else ""
    )


def _margins(grids: Sequence[Table], results: Results) -> str:
    """The margins of a study's published numbers in words, the plain one first."""
    found: dict[str, list[str]] = {Margin().describe(): []}
    for table in grids:
        for column in (c for c in table.columns if c.published is not None):
            unit = derived_unit(column.compare, results.labels.unit(column.quantity))
            words = margin_of(table, column, results).describe(unit)
            title = results.labels.title(column.quantity)
            if title not in found.setdefault(words, []):
                found[words].append(title)
    plain, *others = found.items()
    return "; ".join((plain[0], *(f"{words} for {', '.join(titles)}" for words, titles in others)))


def _sensitivity(judged: Judged, outcomes: Sequence[ChoiceOutcome]) -> SensitivityView | None:
    if not outcomes:
        return None
    from cwndlab.stats.sensitivity import effects

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
    """A table's shift in words."""
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


Shown: TypeAlias = tuple[Set[Hashable], Set[Hashable]]
"""Numbers (cell and quantity), and cells."""


def places(
    tables: Sequence[JudgedTable | JudgedListing], figures: Sequence[Figure], results: Results
) -> dict[str, str]:
    """Next to which table each figure is shown, by their ids: the one that shows most of the same numbers.

    A figure that has no cell in common with any table is left out.
    """
    shown = {table.id: _shown_in_table(table) for table in tables}
    found = {}
    for figure in figures:
        try:
            mine = _shown_in_figure(figure, results)
        except StudyError:  # of cells that were not run: it is not drawn either
            continue
        alike = {name: tuple(map(_similarity, mine, its)) for name, its in shown.items()}
        best = max(alike, key=lambda name: alike[name], default="")
        if best and any(alike[best]):
            found[figure.id] = best
    return found


def _similarity(a: Set[Hashable], b: Set[Hashable]) -> float:
    """The share of what either shows that both show."""
    return len(a & b) / len(a | b) if a & b else 0.0


def _shown_in_table(table: JudgedTable | JudgedListing) -> Shown:
    cells = [cell for row in table.cells for cell in row if cell.estimate is not None]
    shown = {cell.cell for cell in cells}
    if not isinstance(table, JudgedTable):
        return set(), shown
    return {(cell.cell, table.column(cell).quantity) for cell in cells}, shown


def _shown_in_figure(figure: Figure, results: Results) -> Shown:
    from cwndlab.stats import series  # only figures need it

    spec, _ = series.restrict_to_run_cells(figure, results)
    cells = {cell.id for _, _, cell in series.figure_cells(spec, results)}
    return {(cell, quantity) for cell in cells for quantity in spec.drawn_quantities}, cells
