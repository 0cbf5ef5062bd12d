"""Writes a report: verdicts.csv, claims.csv, figures/, report.md and report.html."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.errors import OutputError, StudyError
from cwndlab.files import csv_text
from cwndlab.spec.outputs import Listing, Margin, Table
from cwndlab.stats.tables import JudgedCell, JudgedTable, derived_unit, margin_of
from cwndlab.stats.verdict import Judgement, Verdict, rule_text

from . import render
from .finding import counted, finding_text
from .judge import Judged, Omitted, Outputs, Variation, judge, omissions
from .model import (
    BesideView,
    Fact,
    ListingView,
    LiveView,
    Mark,
    ReportView,
    SensitivityRow,
    SensitivityView,
    TableView,
    WhyView,
)
from .placing import places
from .readme import readme_html
from .view import (
    NO_WORDS,
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
    from cwndlab.converter import Conversion
    from cwndlab.stats.claims import JudgedClaim
    from cwndlab.stats.listing import JudgedListing
    from cwndlab.stats.results import Results
    from cwndlab.stats.sensitivity import Held, Outcome, Shift

    from .beside import Beside
    from .discrepancies import Discrepancies, Discrepancy
    from .embed import Runnable
    from .figures import Drawing

CSV_COLUMNS = (
    *("table", "cell", "quantity", "unit", "measured", "ci_low", "ci_high"),
    *("replicates", "published", "verdict", "note", "compatible", "close", "counted"),
)

CLAIM_RULE = (
    "A comparison is true or false when the 95 % interval of the difference between its two sides leaves out "
    "0; otherwise it is undecided. Replicate k of every cell saw the same random numbers, so differences are "
    "paired. Nothing is decided by fewer than three replicates, nor by fewer than seven that are all equal. "
    "A claim holds or fails when its comparisons leave no doubt."
)


def write(
    outputs: Outputs,
    results: Results,
    directory: Path,
    *,
    facts: Sequence[Fact] = (),
    variations: Sequence[Variation] = (),
    beside: Beside | None = None,
    runnable: Runnable | str = "",
    png: bool = False,
    on_verdicts: Callable[[], None] = lambda: None,
) -> ReportView:
    """Writes the whole report into `directory` and returns what it shows.

    `facts` tell what was run and how to repeat it; `beside` has the simulator's results of the same runs;
    `runnable` lets the page run the tables' cells, or says why it cannot; `png` writes figures as PNG, too,
    which takes as long as drawing them. `on_verdicts` is called once the
    verdicts are written, while figures are still being drawn: that takes longer than the rest.
    """
    not_drawn: list[Omitted] = []
    drawings = _draw(outputs, results, not_drawn)
    judged = judge(outputs, results)
    judged.omitted.extend(not_drawn)
    save(directory / "verdicts.csv", verdicts_csv(judged))
    if judged.claims:
        save(directory / "claims.csv", claims_csv(judged.claims))
    on_verdicts()
    section = None
    if beside is not None:
        from . import beside as besides

        drawings = _pairs(drawings, _draw(outputs, beside.results, []))
        rows = besides.rows_of(judge(outputs, beside.results), judged, beside, results)
        save(directory / "agreement.csv", besides.to_csv(rows))
        titles = {spec.id: spec.title for spec in outputs.tables}
        section = besides.view(beside, rows, results, titles, outputs.quantities)
    outcomes = outcomes_of(outputs, variations)
    found = _discrepancies(outputs, judged, results, outcomes)
    view = build_view(outputs, judged, drawings, facts, outcomes, section, results, found)
    view = view._replace(live=_live(view, runnable))
    save(directory / "report.md", render.markdown(view))
    pdfs: dict[str, bytes] = {}
    for drawing in drawings:
        at = directory / "figures" / drawing.id
        save(at.with_suffix(".svg"), drawing.svg_file)
        if drawing.svg not in pdfs:
            pdfs[drawing.svg] = drawing.pdf()
        save(at.with_suffix(".pdf"), pdfs[drawing.svg])
        if png or at.with_suffix(".png").exists():  # one that is there must not show something else
            save(at.with_suffix(".png"), drawing.png())
    save(directory / "report.html", render.html(view))
    return view


def discrepancies_of(
    outputs: Outputs, results: Results, variations: Sequence[Variation]
) -> list[Discrepancy]:
    """The numbers of all tables that are not the paper's, with what each choice makes of them."""
    from .discrepancies import listed

    outcomes = outcomes_of(outputs, variations)
    return listed(_discrepancies(outputs, judge(outputs, results), results, outcomes))


def _discrepancies(
    outputs: Outputs, judged: Judged, results: Results, outcomes: Sequence[Outcome]
) -> Discrepancies:
    """The numbers that are not the paper's; a study without published numbers has none."""
    if not judged.judgements:
        return {}
    from .discrepancies import discrepancies

    return discrepancies(judged, results, outcomes, outputs.quantities)


def _live(view: ReportView, runnable: Runnable | str) -> LiveView | None:
    if isinstance(runnable, str):
        return LiveView(why_not=runnable) if runnable else None
    from .embed import embed

    grids = [table for table in view.tables if isinstance(table, TableView)]
    return embed(runnable, {n.cell for table in grids for row in table.rows for n in row.numbers})


def build_view(
    outputs: Outputs,
    judged: Judged,
    drawings: Sequence[Drawing],
    facts: Sequence[Fact],
    outcomes: Sequence[Outcome] = (),
    beside: BesideView | None = None,
    results: Results = NO_WORDS,
    found: Discrepancies | None = None,
) -> ReportView:
    """The view model of a report."""
    found = found or {}
    finding = _finding(outputs, judged, results)
    key, rest = _key_figure(drawings, outputs.key_figure)
    at = places(judged.tables, outputs.figures, results)
    grounds = grounds_of(judged.claims, judged.tables)
    views: list[TableView | ListingView] = []
    for spec, table in judged.tables:
        mine = tuple(drawing for drawing in rest if at.get(drawing.figure) == spec.id)
        if isinstance(table, JudgedTable) and isinstance(spec, Table):
            grid = table_view(spec, table, results, grounds)
            why = _why(found.get(spec.id, {})) if outcomes else {}
            views.append(with_reasons(grid, why)._replace(figures=mine))
        elif not isinstance(table, JudgedTable) and isinstance(spec, Listing):
            views.append(listing_view(spec, table, results)._replace(figures=mine))
    shown = [view.id for view in views]
    grids = [spec for spec in outputs.tables if isinstance(spec, Table)]
    under = _held(outcomes)
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
        facts=tuple(facts),
        rule=tuple((Mark.of(v), text) for v, text in rule_text(_margins(grids, results))),
        claim_rule=CLAIM_RULE,
        definitions=tuple(outputs.definitions),
        missing=outputs.missing,
        beside=beside,
        chance=_incompatible(judged),
        explained=_explained(found, outputs.choices, run=bool(outcomes)),
        finding=finding,
        key_figure=key,
        readme=readme_html(outputs.readme),
    )


def _held(outcomes: Sequence[Outcome]) -> Mapping[str, tuple[Held, Held]]:
    """Claim -> how it ended under the choices that were run."""
    if not outcomes:
        return {}
    from cwndlab.stats.sensitivity import held

    return held(outcomes)


def _explained(found: Discrepancies, choices: int, *, run: bool) -> str:
    """How many numbers have an explanation."""
    if not found:
        return ""
    from .discrepancies import explained_text, listed

    return explained_text(listed(found), choices, run=run)


def _why(found: Mapping[tuple[int, int], Discrepancy]) -> dict[tuple[int, int], WhyView]:
    """The explanations of a table's numbers; time budgets only of those that differ, as they take time."""
    made = {}
    for at, one in found.items():
        budgets = one.budgets() if one.verdict is Verdict.DIFFERS else ""
        made[at] = WhyView(one.summary, (*one.lines, *([budgets] if budgets else [])))
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
    return counted(judged.claims)


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


def _draw(
    outputs: Outputs,
    results: Results,
    omitted: list[Omitted],
) -> list[Drawing]:
    if not outputs.figures:
        return []
    from .figures import draw

    drawings = []
    drawn: dict[str, Conversion] = {}
    for spec in outputs.figures:
        try:
            drawings.append(draw(spec, results, drawn))
        except StudyError as error:
            omitted.append(Omitted("figure", spec.id, error))
    return drawings


def _pairs(kernel: Sequence[Drawing], simulated: Sequence[Drawing]) -> list[Drawing]:
    """Each figure of the kernel's, followed by the simulator's."""
    from .figures import SIMULATOR

    other = {drawing.id: drawing for drawing in simulated}
    pairs = []
    for drawing in kernel:
        pairs.append(replace(drawing, title=f"{drawing.title} (kernel)"))
        if drawing.id in other:
            twin = other[drawing.id]
            pairs.append(replace(twin, id=f"{twin.id}{SIMULATOR}", title=f"{twin.title} (simulator)"))
    return pairs


def outcomes_of(outputs: Outputs, variations: Sequence[Variation]) -> list[Outcome]:
    """What each choice makes of the tables and claims."""
    if not variations:
        return []
    from cwndlab.stats.sensitivity import Outcome

    outcomes = []
    for variation in variations:
        other = judge(outputs, variation.results)
        tables = [t for _, t in other.tables if isinstance(t, JudgedTable)]
        outcomes.append(
            Outcome(
                variation.axis,
                variation.value,
                tables,
                other.claims,
                variation.combined,
                variation.results,
                variation.cells,
            )
        )
    return outcomes


def _sensitivity(judged: Judged, outcomes: Sequence[Outcome]) -> SensitivityView | None:
    if not outcomes:
        return None
    from cwndlab.stats.sensitivity import effects

    grids = [(s, t) for s, t in judged.tables if isinstance(s, Table) and isinstance(t, JudgedTable)]
    found = effects([t for _, t in grids], judged.claims, outcomes)
    run = [(s, t) for s, t in grids if any(effect.shift[t.id].run for effect in found)]
    rows = []
    for effect in found:
        claims = f"{effect.held} of {effect.checked}"
        if effect.changed:
            claims += f" (changed: {', '.join(effect.changed)})"
        moved = tuple(_moved(effect.shift[t.id]) for _, t in run)
        rows.append(SensitivityRow(effect.axis, effect.value, claims, moved))
    not_run = tuple(s.title for s, t in grids if (s, t) not in run)
    return SensitivityView(tuple(s.title for s, _ in run), tuple(rows), not_run)


def _moved(shift: Shift) -> str:
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


def _text(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.9g}"


def verdicts_csv(judged: Judged) -> str:
    """One line per published or measured number of every table."""
    lines = (
        _table_lines(table) if isinstance(table, JudgedTable) else _listing_lines(table)
        for _, table in judged.tables
    )
    return csv_text(CSV_COLUMNS, itertools.chain.from_iterable(lines))


def _table_lines(table: JudgedTable) -> list[list[str]]:
    lines = []
    for cell in (c for row in table.cells for c in row):
        e = cell.estimate
        numbers = ["", "", "", "0"]
        if e is not None:
            numbers = [_text(e.value), _text(e.ci_low), _text(e.ci_high), str(e.replicates)]
        lines.append(
            [
                cell.table,
                cell.cell,
                cell.quantity,
                e.unit if e is not None else "",
                *numbers,
                _text(cell.published.value) if cell.published else "",
                cell.judgement.verdict.value if cell.judgement else "",
                _note(cell),
                *_parts(cell.judgement),
            ]
        )
    return lines


def _parts(judgement: Judgement | None) -> list[str]:
    """`yes`, `no`, or nothing where it is unknown: compatible, close, counted."""
    if judgement is None:
        return ["", "", ""]
    parts = (judgement.compatible, judgement.close, judgement.counts)
    return [{True: "yes", False: "no", None: ""}[part] for part in parts]


def _note(cell: JudgedCell) -> str:
    judgement = cell.judgement
    if (
        judgement is None
        or judgement.verdict is not Verdict.NOT_JUDGED
        or math.isnan(judgement.prediction_low)
    ):
        return cell.note
    low, high = _text(judgement.prediction_low), _text(judgement.prediction_high)
    return f"{cell.note}: 95 % of runs between {low} and {high}"


def _listing_lines(listing: JudgedListing) -> list[list[str]]:
    lines = []
    for line, entries in zip(listing.published, listing.lines, strict=True):
        for entry in entries:
            at = _text(entry.measured.time_s) if entry.measured else ""
            what = f"time of line {line.number}: {line.event}" + (
                f" {line.acked}" if line.acked is not None else ""
            )
            verdict = entry.judgement.verdict.value if entry.judgement else ""
            replicates = "1" if entry.measured else "0"
            lines.append(
                [
                    listing.id,
                    entry.cell,
                    what,
                    "s",
                    at,
                    at,
                    at,
                    replicates,
                    line.time.text,
                    verdict,
                    entry.note,
                    *_parts(entry.judgement),
                ]
            )
    return lines


def claims_csv(claims: Sequence[JudgedClaim]) -> str:
    """One line per claim."""
    rows = [
        [c.claim.id, c.claim.section, c.verdict.value, c.detail, c.claim.text, c.claim.assert_ or ""]
        for c in claims
    ]
    return csv_text(["claim", "section", "verdict", "detail", "text", "assert"], rows)


def save(path: Path, content: str | bytes) -> None:
    """Writes a file and its folder; OutputError says why it could not be."""
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
