"""What a report shows, before it is put into words: verdicts, their files, and figures."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.base.errors import StudyError
from cwndlab.base.plain_files import read_inside
from cwndlab.base.writing import csv_text, save_inside
from cwndlab.stats.results import Results, Variation
from cwndlab.stats.tables import JudgedCell, JudgedTable
from cwndlab.stats.verdict import Incompatible, Verdict
from cwndlab.study.kernels import AXIS, title_suffix

from .contents import Outputs
from .judge import Judged, Omitted, judge
from .model import fills_grid

if TYPE_CHECKING:
    from cwndlab.stats.played import JointTest
    from cwndlab.stats.sensitivity import ChoiceOutcome
    from cwndlab.study.outputs import Figure

    from .budget_figure import BudgetKey, MeanTimes
    from .discrepancies import Discrepancies, Discrepancy
    from .embed import Runnable
    from .figures import Drawing
    from .model import Definition, Fact
    from .twin import Twin, TwinNumber


@dataclass(frozen=True, eq=False, repr=False)
class Draft:
    """Everything that a report shows: first verdicts and figures, then what was found out about the runs."""

    outputs: Outputs
    judged: Judged
    drawings: Sequence[Drawing]
    outcomes: Sequence[ChoiceOutcome]
    """What each choice makes of the tables and claims."""
    discrepancies: Discrepancies
    """The numbers that are not the paper's."""
    twin: Twin | None
    twin_rows: Sequence[TwinNumber]
    """Each number next to the simulator's."""
    facts: Sequence[Fact] = ()
    """What was run, and how to repeat it."""
    ran: Sequence[str] = ()
    """The same in a few words, and last the command."""
    missing: str = ""
    """Which runs are not among the results, and why."""
    definitions: Sequence[Definition] = ()
    runnable: Runnable | str = ""
    """What lets the page run the tables' cells, or why it cannot."""
    twin_budgets: Mapping[BudgetKey, tuple[MeanTimes, MeanTimes]] = field(default_factory=dict)
    """The mean times in the simulator and on the kernel."""
    study: str = ""
    """The text of the study file, as run."""

    @property
    def results(self) -> Results:
        """The results that it shows."""
        return self.judged.results

    @cached_property
    def cells(self) -> set[str]:
        """The cells that tables show."""
        return {cell.cell for table in self.judged.grids for cell in table.numbers}


def draft(
    outputs: Outputs, results: Results, variations: Sequence[Variation] = (), twin: Twin | None = None
) -> Draft:
    """Judges everything and draws figures; `twin` has the simulator's results next to a kernel's."""
    not_drawn: list[Omitted] = []
    if twin is None:
        drawings = _draw(outputs, outputs.figures, results, not_drawn)
    else:
        drawings = _draw_both(outputs, results, twin.results, not_drawn)
    judged = judge(outputs, results)
    judged.omitted.extend(not_drawn)
    rows: Sequence[TwinNumber] = ()
    if twin is not None:
        from .twin import rows_of  # only a kernel's report has one

        rows = rows_of(judge(outputs, twin.results), judged, twin, results)
    outcomes = _outcomes(outputs, variations)
    found = _discrepancies(outputs, judged, results, outcomes)
    return Draft(outputs, judged, drawings, outcomes, found, twin, rows)


def discrepancies_of(
    outputs: Outputs, results: Results, variations: Sequence[Variation]
) -> list[Discrepancy]:
    """The numbers of all tables that are not the paper's, with what each choice makes of them."""
    from .discrepancies import in_table_order

    outcomes = _outcomes(outputs, variations)
    return in_table_order(_discrepancies(outputs, judge(outputs, results), results, outcomes))


def _discrepancies(
    outputs: Outputs, judged: Judged, results: Results, outcomes: Sequence[ChoiceOutcome]
) -> Discrepancies:
    """The numbers that are not the paper's; a study without published numbers has none."""
    if not judged.judgements:
        return {}
    from .discrepancies import discrepancies

    return discrepancies(judged, results, outcomes, outputs.quantities)


def _draw(
    outputs: Outputs, figures: Sequence[Figure], results: Results, omitted: list[Omitted]
) -> list[Drawing]:
    """Draws some of the figures."""
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


def _draw_both(
    outputs: Outputs, kernel: Results, simulated: Results, omitted: list[Omitted]
) -> list[Drawing]:
    """The figures of a kernel's and the simulator's results: both in one where there is room, else pairs."""
    from .overlay import KERNEL, OVERLAID, SIMULATOR, overlay

    both = overlay(kernel, simulated, (KERNEL, SIMULATOR))
    axis = list(both.labels.axes)[-1]
    shared = [figure for figure in outputs.figures if figure.kind in OVERLAID and AXIS not in figure.where]
    joint = [one.model_copy(update={"series": [*one.series, axis], "about": _about(one)}) for one in shared]
    rest = [figure for figure in outputs.figures if figure not in shared]
    sides = (_draw(outputs, rest, kernel, omitted), _draw(outputs, rest, simulated, []))
    found = [*_draw(outputs, joint, both, omitted), *_pairs(outputs, *sides)]
    order = [figure.id for figure in outputs.figures]
    return sorted(found, key=lambda drawing: order.index(drawing.figure))


def _about(figure: Figure) -> str | None:
    """What a figure says of itself, and what distinguishes its lines or bars of kernel and simulator."""
    if not figure.series and len(figure.drawn_quantities) < 2:  # they are named
        return figure.about
    look = "Outlined" if figure.kind == "bar" else "Dashed"
    return f"{figure.about or ''} {look}: simulator.".strip()


def _pairs(outputs: Outputs, kernel: Sequence[Drawing], simulated: Sequence[Drawing]) -> list[Drawing]:
    """Each figure of the kernel's, followed by the simulator's; of several kernels by the first's alone."""
    from .figures import SIMULATOR

    other = {drawing.id: drawing for drawing in simulated}
    kernels = {spec.id: str(spec.where[AXIS]) for spec in outputs.figures if AXIS in spec.where}
    first = next(iter(kernels.values()), None)
    pairs = []
    for drawing in kernel:
        own = kernels.get(drawing.id)
        pairs.append(drawing if own else drawing._replace(title=f"{drawing.title} (kernel)"))
        if drawing.id in other and own in (None, first):
            twin = other[drawing.id]
            title = f"{twin.title.removesuffix(title_suffix(own) if own else '')} (simulator)"
            pairs.append(twin._replace(id=f"{twin.id}{SIMULATOR}", title=title))
    return pairs


def _outcomes(outputs: Outputs, variations: Sequence[Variation]) -> list[ChoiceOutcome]:
    """What each choice makes of the tables and claims."""
    if not variations:
        return []
    from cwndlab.stats.sensitivity import ChoiceOutcome

    judged = [judge(outputs, variation.results) for variation in variations]
    return [
        ChoiceOutcome(variation, other.grids, other.claims)
        for variation, other in zip(variations, judged, strict=True)
    ]


CSV_COLUMNS = (
    *("table", "cell", "quantity", "unit", "measured", "ci_low", "ci_high"),
    *("replicates", "published", "verdict", "note", "compatible", "close", "counted"),
)
CLAIM_COLUMNS = ("claim", "section", "verdict", "detail", "text", "assert", "cause")


def write_verdicts(report: Draft, directory: Path) -> None:
    """Writes verdicts.csv and summary.json, and claims.csv and agreement.csv if they have lines."""
    judged = report.judged
    save_summary(report, directory)
    save_inside(directory, "verdicts.csv", csv_text(CSV_COLUMNS, verdict_rows(judged)))
    if judged.claims:
        save_inside(directory, "claims.csv", csv_text(CLAIM_COLUMNS, claim_rows(judged)))
    if report.twin is not None:
        from .twin import to_csv

        save_inside(directory, "agreement.csv", to_csv(report.twin_rows))


def verdict_rows(judged: Judged) -> Iterator[list[str]]:
    """The lines of verdicts.csv: each number of the tables and listings."""
    for table in judged.tables:
        for row in table.cells:
            yield from (_csv_line(cell, as_printed=not isinstance(table, JudgedTable)) for cell in row)


def claim_rows(judged: Judged) -> Iterator[list[str]]:
    """The lines of claims.csv."""
    for one in judged.claims:
        claim = one.claim
        words = [claim.id, claim.section, one.verdict.value, one.detail, claim.text]
        yield [*words, claim.assert_ or "", claim.cause or ""]


def _csv_line(cell: JudgedCell, *, as_printed: bool) -> list[str]:
    """One published or measured number: what was judged is `yes`, `no`, or empty where it is unknown."""
    e, published, judgement = cell.estimate, cell.published, cell.judgement
    parts = (None,) * 3 if judgement is None else (judgement.compatible, judgement.close, judgement.counts)
    note = cell.note
    if judgement is not None and judgement.verdict is Verdict.NOT_JUDGED:
        if not math.isnan(judgement.prediction_low):
            low, high = _text(judgement.prediction_low), _text(judgement.prediction_high)
            note += f": 95 % of runs between {low} and {high}"
    return [
        cell.table,
        cell.cell,
        cell.quantity,
        e.unit if e is not None else "",
        *([_text(e.value), _text(e.ci_low), _text(e.ci_high), str(e.replicates)] if e else ["", "", "", "0"]),
        (published.text if as_printed else _text(published.value)) if published else "",
        judgement.verdict.value if judgement else "",
        note,
        *({True: "yes", False: "no", None: ""}[part] for part in parts),
    ]


def _text(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.9g}"


def count_verdicts(path: Path) -> tuple[dict[Verdict, int], dict[str, list[str]]]:
    """The number of each verdict in a CSV file of verdicts or claims, and the claims of each verdict.

    Both are empty if there is no such file.
    """
    rows = _read(path)
    numbers = {verdict: sum(row.get("verdict") == verdict for row in rows) for verdict in Verdict}
    claims: dict[str, list[str]] = {}
    for row in rows:
        claims.setdefault(row.get("verdict", ""), []).append(row.get("claim", ""))
    return {verdict: number for verdict, number in numbers.items() if number}, claims


def causes_of_failures(path: Path) -> dict[str, list[str]]:
    """The sentences that fail in a CSV file of claims, by their cause ("" for those without)."""
    found: dict[str, list[str]] = {}
    for row in _read(path):
        if row.get("verdict") == Verdict.FAILS:
            found.setdefault(row.get("cause") or "", []).append(row.get("text", ""))
    return found


def save_summary(report: Draft, directory: Path, finding: str = "", undecided: str = "") -> None:
    """Writes summary.json: what was claimed and found, and how many numbers are incompatible."""
    judged = report.judged
    content: dict[str, object] = {
        "claimed": report.outputs.claimed,
        "finding": finding,
        "undecided": undecided,
        "incompatible": judged.incompatible._asdict() if judged.incompatible is not None else None,
        "mean_changes": None,
    }
    if judged.joint is not None:
        means = [{**mean._asdict(), "compatible": mean.compatible} for mean in judged.joint.means]
        content["mean_changes"] = {"p": judged.joint.p, "means": means}
    save_inside(directory, "summary.json", json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def read_summary(directory: Path) -> dict[str, Any]:
    """What summary.json in a result folder says; empty if there is none that can be read."""
    try:
        content = json.loads(read_inside(directory, "summary.json"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def incompatible_of(summary: Mapping[str, Any]) -> Incompatible | None:
    """How many of the numbers that count are incompatible, by a summary; None without any."""
    try:
        return Incompatible(**summary["incompatible"])
    except (KeyError, TypeError):
        return None


def joint_of(summary: Mapping[str, Any]) -> JointTest | None:
    """The means of changes by a summary; None without any."""
    from cwndlab.stats.played import JointTest, MeanChange  # few studies have published numbers

    try:
        found = summary["mean_changes"]
        means = [{key: mean[key] for key in MeanChange._fields} for mean in found["means"]]
        return JointTest(tuple(MeanChange(**mean) for mean in means), float(found["p"]))
    except (KeyError, TypeError, ValueError):
        return None


def _read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file of verdicts or claims; none if it cannot be read."""
    try:
        text = read_inside(path.parent, path.name).decode("utf-8")
        return list(csv.DictReader(io.StringIO(text, newline="")))
    except (OSError, csv.Error, UnicodeDecodeError):
        return []
