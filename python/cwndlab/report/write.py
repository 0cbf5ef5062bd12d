"""Writes a report: figures/, report.md, report.html, and summary.json for the list of reports."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence, Set
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from cwndlab.base.errors import StudyError
from cwndlab.base.writing import count_text, save_inside
from cwndlab.records.failures import SHOWN
from cwndlab.stats.tables import JudgedTable, derived_unit, find_margin
from cwndlab.stats.verdict import rule_text
from cwndlab.study.outputs import Figure, Margin, Table

from . import render
from .contents import JudgedLines, Outputs, finding_text
from .judge import Judged, Omitted, list_judgements, omissions
from .model import DifferencesView, ListingView, ReportView, TableView, TwinView, fills_grid
from .verdict_files import save_summary
from .wording import claim_view, count, find_grounds, paragraphs, table_view

if TYPE_CHECKING:
    from cwndlab.stats.results import Results
    from cwndlab.study.cells import CellInfo

    from .figures import Drawing

CLAIM_RULE = (
    "A comparison is true or false when the 95 % interval of the difference between its two sides leaves out "
    "0; otherwise it is undecided. Replicate k of every cell saw the same random numbers, so differences are "
    "paired. Nothing is decided by fewer than three replicates, nor by fewer than seven that are all equal. "
    "A claim holds or fails when its comparisons leave no doubt."
)


def draw_figures(
    outputs: Outputs, figures: Sequence[Figure], results: Results, omitted: list[Omitted]
) -> list[Drawing]:
    """Draws figures of a study. Figures that cannot be drawn are added to `omitted`."""
    if not figures:
        return []
    from .canvas import at_head
    from .figures import draw

    drawings = []
    key = outputs.key_figure or outputs.figures[0].id
    for spec in figures:
        try:
            high = spec.id == key and not fills_grid(len(outputs.figures))
            drawings.append(draw(at_head(spec) if high else spec, results))
        except StudyError as error:
            omitted.append(Omitted("figure", spec.id, error))
    return drawings


def write(view: ReportView, judged: Judged, directory: Path, *, pictures: bool = False) -> None:
    """Writes report.html, report.md, summary.json and the figures, without running anything.

    `pictures` also writes figures as PDF and PNG, which takes longer than drawing them.
    """
    save_inside(directory, "report.md", render.report_markdown(view))
    for drawing in view.drawings:
        name = f"figures/{drawing.id}"
        save_inside(directory, f"{name}.svg", drawing.svg_file)
        for file, picture in ((f"{name}.pdf", drawing.pdf), (f"{name}.png", drawing.png)):
            if pictures or (directory / file).exists():  # earlier pictures are always updated
                save_inside(directory, file, picture())
    save_summary(judged, directory, view.finding, view.undecided)
    save_inside(directory, "report.html", render.report_html(view))


def build_view(
    judged: Judged,
    drawings: Sequence[Drawing],
    differences: DifferencesView = DifferencesView(),
    twin: TwinView | None = None,
) -> ReportView:
    """The view of a report; the caller adds facts about the run, and what the page can simulate."""
    outputs, results = judged.outputs, judged.results
    key = next((d for d in drawings if d.figure == outputs.key_figure), drawings[0] if drawings else None)
    shows = next((figure for figure in outputs.figures if key is not None and figure.id == key.figure), None)
    others = [figure for figure in outputs.figures if figure is not shows]
    finding, undecided = _finding(outputs, judged, [shows, *others] if shows is not None else [])
    pair = next((d for d in drawings if key is not None and d is not key and d.figure == key.figure), None)
    rest = [drawing for drawing in drawings if drawing is not key and drawing is not pair]
    at = places(judged.tables, outputs.figures, results)
    grounds = find_grounds(judged.claims, judged.grids)
    chance, alone = _claims_together(judged)
    views = _table_views(judged, grounds, rest, at, differences)
    shown = [view.id for view in views]
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
            claim_view(claim, differences.claims.get(claim.claim.id, ""), ground, position, views, alone)
            for position, (claim, ground) in enumerate(zip(judged.claims, grounds, strict=True), start=1)
        ),
        sensitivity=differences.sensitivity,
        omitted=omissions(judged.omitted),
        rule=rule_text(margins),
        claim_rule=" ".join(filter(None, (CLAIM_RULE, chance))),
        failed=_failed_connections(results),
        twin=twin,
        chance=judged.incompatible.text if judged.incompatible else "",
        means=judged.played.mean_lines if judged.played is not None else (),
        explained=differences.explained,
        finding=finding,
        undecided=" ".join(filter(None, (undecided, twin.agreement if twin is not None else ""))),
        key_figure=key,
        key_twin=pair,
        readme=render.readme_html(outputs.readme),
    )


def _table_views(
    judged: Judged,
    grounds: Sequence[Collection[tuple[str, str]]],
    drawings: Sequence[Drawing],
    at: Mapping[str, str],
    differences: DifferencesView,
) -> list[TableView | ListingView]:
    """The tables with the figures next to them; `at` maps a figure's id to the id of its table."""
    labels = judged.results.labels
    views: list[TableView | ListingView] = []
    for table in judged.tables:
        mine = tuple(drawing for drawing in drawings if at.get(drawing.figure) == table.id)
        view: TableView | ListingView
        if isinstance(table, JudgedTable):
            reasons = differences.reasons.get(table.id, {})
            view = table_view(table, labels, grounds, reasons, judged.results.values)
        else:
            view = table.view(labels)
        verdicts = count([judgement.verdict for judgement in list_judgements([table])])
        views.append(view._replace(figures=mine, counts=verdicts))
    return views


def _failed_connections(results: Results) -> str:
    """A text on the connections that failed; cells with the same failures are named together."""
    alike: dict[str, list[CellInfo]] = {}
    for cell in results.cells:
        if cell.id in results.failed:
            alike.setdefault(results.failed[cell.id], []).append(cell)
    parts = []
    for text, cells in list(alike.items())[:SHOWN]:
        more = f" and {count_text(len(cells) - 1, 'more cell')}" if len(cells) > 1 else ""
        where = f" ({results.cell_title(cells[0])}{more})" if len(results.cells) > 1 else ""
        parts.append(text + where)
    rest = sum(len(cells) for cells in list(alike.values())[SHOWN:])
    return "; ".join(parts + ([f"others in {count_text(rest, 'more cell')}"] if rest else []))


def _claims_together(judged: Judged) -> tuple[str, Collection[str]]:
    """Sentences on how many claims may be decided wrongly by chance, and the ids of those decided claims that
    would stay undecided if the 5 % were divided among all.
    """
    if not judged.claims:
        return "", ()
    from cwndlab.stats.family import claims_alone  # only studies of papers have claims

    family, alone = claims_alone(judged.claims, judged.results)
    return family.text("claims"), alone


def _finding(outputs: Outputs, judged: Judged, figures: Sequence[Figure]) -> tuple[str, str]:
    """The finding, and a sentence on what the runs leave undecided ("" if nothing).

    The finding is the study's own. If it has none, or its cells were not run, `apps/headline` states both.
    """
    if outputs.finding:
        try:
            return finding_text(outputs.finding, judged.results), ""
        except StudyError as error:
            judged.omitted.append(Omitted("finding", "", error))
    stated: tuple[str, str] = import_module("cwndlab.apps.headline.headline").state_finding(judged, figures)
    return stated


def _margins(grids: Sequence[Table], results: Results) -> str:
    """The margins of a study's published numbers in words, the default margin first."""
    titles_by_margin: dict[str, list[str]] = {Margin().describe(): []}
    for table in grids:
        for column in (c for c in table.columns if c.published is not None):
            unit = derived_unit(column.compare, results.labels.unit(column.quantity))
            words = find_margin(table, column, results).describe(unit)
            title = results.labels.title(column.quantity)
            if title not in titles_by_margin.setdefault(words, []):
                titles_by_margin[words].append(title)
    plain, *others = titles_by_margin.items()
    return "; ".join((plain[0], *(f"{words} for {', '.join(titles)}" for words, titles in others)))


Shown: TypeAlias = tuple[Set[Hashable], Set[Hashable]]
"""The numbers, as (cell id, quantity), and the cell ids that a table or figure shows."""


def places(
    tables: Sequence[JudgedTable | JudgedLines], figures: Sequence[Figure], results: Results
) -> dict[str, str]:
    """Figure id -> id of the table next to which it is shown: the one with most numbers in common.

    A figure without a cell in common with any table is left out.
    """
    shown = {table.id: _shown_in_table(table) for table in tables}
    nearest = {}
    for figure in figures:
        try:
            mine = _shown_in_figure(figure, results)
        except StudyError:  # its cells were not run, so it is not drawn
            continue
        alike = {name: tuple(map(_similarity, mine, its)) for name, its in shown.items()}
        best = max(alike, key=lambda name: alike[name], default="")
        if best and any(alike[best]):
            nearest[figure.id] = best
    return nearest


def _similarity(a: Set[Hashable], b: Set[Hashable]) -> float:
    """The number of common elements divided by the number of elements in either set."""
    return len(a & b) / len(a | b) if a & b else 0.0


def _shown_in_table(table: JudgedTable | JudgedLines) -> Shown:
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
