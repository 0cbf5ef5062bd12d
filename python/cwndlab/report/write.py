"""Writes a report: verdicts.csv, claims.csv, figures/, report.md and report.html."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.errors import OutputError, StudyError
from cwndlab.report.view import (
    Fact,
    ListingView,
    Mark,
    ReportView,
    SensitivityRow,
    SensitivityView,
    TableView,
    claim_view,
    count,
    listing_view,
    percent,
    table_view,
)
from cwndlab.stats.claims import JudgedClaim, judge_claims
from cwndlab.stats.listing import JudgedListing, judge_listing
from cwndlab.stats.results import Results, label, listed, was_not_run
from cwndlab.stats.sensitivity import Outcome, effects, held
from cwndlab.stats.tables import JudgedCell, JudgedTable, judge_table
from cwndlab.stats.verdict import Verdict, rule_text
from cwndlab.study.outputs import Listing, Table

if TYPE_CHECKING:
    from cwndlab.report.beside import Beside, BesideView
    from cwndlab.report.definitions import Definition
    from cwndlab.report.figures import Drawing
    from cwndlab.study.outputs import AnyTable, Claim, Figure
    from cwndlab.study.outputs import Mark as StudyMark

CSV_COLUMNS = (
    *("table", "cell", "quantity", "unit", "measured", "ci_low", "ci_high"),
    *("replicates", "published", "verdict", "note"),
)

CLAIM_RULE = (
    "A comparison is true or false when it is so of our estimates and of all but 2.5 % of the bootstrap "
    "samples of our replicates (less for few replicates), the same replicates in every cell; else it is "
    "undecided. A claim holds or fails when its comparisons leave no doubt."
)


@dataclass(frozen=True)
class Outputs:
    """What a study asks to be shown, and in whose words."""

    title: str
    folder: Path
    """Where the study's published numbers are."""
    source: str = ""
    url: str = ""
    about: str = ""
    tables: Sequence[AnyTable] = ()
    figures: Sequence[Figure] = ()
    marks: Sequence[StudyMark] = ()
    claims: Sequence[Claim] = ()
    definitions: Sequence[Definition] = ()
    missing: str = ""
    """Which runs are not among the results, and why."""


@dataclass(frozen=True)
class Variation:
    """The results of the study with one value of one sensitivity axis."""

    axis: str
    value: str
    results: Results
    combined: bool = False
    """Whether it is a combination of several choices."""


@dataclass(frozen=True)
class Omitted:
    """A part of the report that could not be made."""

    kind: str
    id: str
    why: StudyError | None = None
    """What is wrong; None if its cells were not run."""


def _told(omitted: Sequence[Omitted]) -> tuple[str, ...]:
    """In words: parts of cells that were not run by their names alone, as a run may be restricted to few."""
    names: dict[str, list[str]] = {}
    for part in omitted:
        if part.why is None or was_not_run(part.why):
            names.setdefault(part.kind, []).append(part.id)
    wrong = [str(o.why) for o in omitted if o.why is not None and not was_not_run(o.why)]
    return (
        *(
            f"Of cells that were not run: {kind}{'s' * (len(ids) > 1)} {', '.join(ids)}"
            for kind, ids in names.items()
        ),
        *wrong,
    )


@dataclass(frozen=True)
class Judged:
    """Everything of a study that has a verdict; what could not be judged is told in `omitted`."""

    tables: list[tuple[AnyTable, JudgedTable | JudgedListing]]
    claims: list[JudgedClaim]
    omitted: list[Omitted] = field(default_factory=list)

    @property
    def verdicts(self) -> list[Verdict]:
        """Of every published number."""
        found = []
        for _, table in self.tables:
            rows = table.cells if isinstance(table, JudgedTable) else table.lines
            found += [c.judgement.verdict for row in rows for c in row if c.judgement is not None]
        return found


def judge(outputs: Outputs, results: Results) -> Judged:
    """Judges tables, listings and claims.

    A part that asks for a cell which was not run (a run may be restricted to some cells) is left out and
    told; `check` finds parts that no run of the study could show.
    """
    judged = Judged([], [])
    for spec in outputs.tables:
        try:
            if isinstance(spec, Table):
                table = judge_table(spec, results, outputs.folder, outputs.marks)
                if table.rows:
                    judged.tables.append((spec, table))
                else:
                    judged.omitted.append(Omitted("table", spec.id))
            else:
                spec = _of_run_cells(spec, results)
                judged.tables.append((spec, judge_listing(spec, results, outputs.folder, outputs.marks)))
        except StudyError as error:
            judged.omitted.append(Omitted("table", spec.id, error))
    for claim in outputs.claims:
        try:
            judged.claims.extend(judge_claims([claim], results))
        except StudyError as error:
            judged.omitted.append(Omitted("claim", claim.id, error))
    return judged


def _of_run_cells(spec: Listing, results: Results) -> Listing:
    """The listing without those of its variants of which nothing was run, if something of another was."""
    run = []
    for variant in spec.variants:
        known = {name: [label(value) for value in results.axes.get(name, ())] for name in variant.where}
        if all(label(one) in known[name] for name, all_ in variant.where.items() for one in listed(all_)):
            run.append(variant)
    return spec.model_copy(update={"variants": run}) if run else spec


def write(
    outputs: Outputs,
    results: Results,
    directory: Path,
    *,
    facts: Sequence[Fact] = (),
    variations: Sequence[Variation] = (),
    beside: Beside | None = None,
    seconds: Callable[[str | float], float] = float,
) -> ReportView:
    """Writes the whole report into `directory` and returns what it shows.

    `facts` tell what was run and how to run it again; `beside` is what the simulator made of the same runs;
    `seconds` reads a time of the study ("15s").
    """
    judged = judge(outputs, results)
    drawings = _draw(outputs, results, seconds, judged.omitted)
    section = None
    if beside is not None:
        from cwndlab.report.beside import rows_of, to_csv
        from cwndlab.report.beside import view as view_beside

        drawings = _pairs(drawings, _draw(outputs, beside.results, seconds, []))
        rows = rows_of(judge(outputs, beside.results), judged, beside, results)
        save(directory / "agreement.csv", to_csv(rows))
        section = view_beside(beside, rows, results, {spec.id: spec.title for spec in outputs.tables})
    view = build_view(outputs, judged, drawings, facts, _outcomes(outputs, variations), section)
    from cwndlab.report import render

    save(directory / "verdicts.csv", verdicts_csv(judged))
    if judged.claims:
        save(directory / "claims.csv", claims_csv(judged.claims))
    for drawing in drawings:
        save(directory / "figures" / f"{drawing.id}.svg", drawing.svg_file)
        save(directory / "figures" / f"{drawing.id}.png", drawing.png())
    save(directory / "report.md", render.markdown(view))
    save(directory / "report.html", render.html(view))
    return view


def build_view(
    outputs: Outputs,
    judged: Judged,
    drawings: Sequence[Drawing],
    facts: Sequence[Fact],
    outcomes: Sequence[Outcome] = (),
    beside: BesideView | None = None,
) -> ReportView:
    """The view model of a report."""
    views: list[TableView | ListingView] = []
    for spec, table in judged.tables:
        if isinstance(table, JudgedTable) and isinstance(spec, Table):
            views.append(table_view(spec, table))
        elif isinstance(table, JudgedListing) and isinstance(spec, Listing):
            views.append(listing_view(spec, table))
    grids = [spec for spec in outputs.tables if isinstance(spec, Table)]
    unstable = max((t.unstable for t in grids), default=0.5)
    under = held(outcomes)
    points = max((t.unstable_points for t in grids), default=25.0)
    return ReportView(
        title=outputs.title,
        source=outputs.source,
        url=outputs.url,
        about=tuple(p.strip() for p in outputs.about.split("\n\n") if p.strip()),
        counts=count(judged.verdicts),
        claim_counts=count([c.verdict for c in judged.claims]),
        tables=tuple(views),
        figures=tuple(drawings),
        claims=tuple(claim_view(c, under.get(c.claim.id)) for c in judged.claims),
        sensitivity=_sensitivity(judged, outcomes),
        omitted=_told(judged.omitted),
        facts=tuple(facts),
        rule=tuple((Mark.of(v), text) for v, text in rule_text(unstable, points)),
        claim_rule=CLAIM_RULE,
        definitions=tuple(outputs.definitions),
        missing=outputs.missing,
        beside=beside,
    )


def _draw(
    outputs: Outputs,
    results: Results,
    seconds: Callable[[str | float], float],
    omitted: list[Omitted],
) -> list[Drawing]:
    if not outputs.figures:
        return []
    from cwndlab.report.figures import draw

    drawings = []
    for spec in outputs.figures:
        try:
            drawings.append(draw(spec, results, seconds))
        except StudyError as error:
            omitted.append(Omitted("figure", spec.id, error))
    return drawings


def _pairs(kernel: Sequence[Drawing], simulated: Sequence[Drawing]) -> list[Drawing]:
    """Each figure of the kernel's, and after it the simulator's."""
    other = {drawing.id: drawing for drawing in simulated}
    pairs = []
    for drawing in kernel:
        pairs.append(replace(drawing, title=f"{drawing.title} (kernel)"))
        if drawing.id in other:
            twin = other[drawing.id]
            pairs.append(replace(twin, id=f"{twin.id}-simulator", title=f"{twin.title} (simulator)"))
    return pairs


def _outcomes(outputs: Outputs, variations: Sequence[Variation]) -> list[Outcome]:
    outcomes = []
    for variation in variations:
        other = judge(outputs, variation.results)
        tables = [t for _, t in other.tables if isinstance(t, JudgedTable)]
        outcomes.append(Outcome(variation.axis, variation.value, tables, other.claims, variation.combined))
    return outcomes


def _sensitivity(judged: Judged, outcomes: Sequence[Outcome]) -> SensitivityView | None:
    if not outcomes:
        return None
    grids = [(s, t) for s, t in judged.tables if isinstance(s, Table) and isinstance(t, JudgedTable)]
    rows = []
    for effect in effects([t for _, t in grids], judged.claims, outcomes):
        claims = f"{effect.held} of {effect.checked}"
        if effect.changed:
            claims += f" (changed: {', '.join(effect.changed)})"
        moved = tuple(_moved(*effect.shift[t.id]) for _, t in grids)
        rows.append(SensitivityRow(effect.axis, effect.value, claims, moved))
    return SensitivityView(tuple(s.title for s, _ in grids), tuple(rows))


def _moved(median: float, largest: float) -> str:
    if math.isnan(median):
        return "n/a"
    return f"{percent(median).lstrip('+±')}, at most {percent(largest).lstrip('+±')}"


def _text(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.9g}"


def verdicts_csv(judged: Judged) -> str:
    """One line per published or measured number of every table."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for _, table in judged.tables:
        if isinstance(table, JudgedTable):
            writer.writerows(_table_lines(table))
        else:
            writer.writerows(_listing_lines(table))
    return out.getvalue()


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
            ]
        )
    return lines


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
                ]
            )
    return lines


def claims_csv(claims: Sequence[JudgedClaim]) -> str:
    """One line per claim."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["claim", "section", "verdict", "detail", "text", "assert"])
    for c in claims:
        claim = c.claim
        writer.writerow([claim.id, claim.section, c.verdict.value, c.detail, claim.text, claim.assert_ or ""])
    return out.getvalue()


def save(path: Path, content: str | bytes) -> None:
    """Writes a file and its folder; OutputError says why it could not be."""
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
