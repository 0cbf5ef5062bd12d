"""The report of a study: what its file asks to be shown, written or only checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab import metrics
from cwndlab.errors import StudyError, nearest
from cwndlab.plan.plan import Cell, Plan, make_plan
from cwndlab.spec.document import CLAIMS
from cwndlab.spec.outputs import AnyTable, Column, Figure, Table
from cwndlab.spec.place import Place
from cwndlab.spec.study import StudySpec
from cwndlab.stats.results import CellInfo, Results

from .check import check, without_values
from .definitions import definitions
from .facts import facts, missing
from .judge import Outputs, Variation
from .write import write

if TYPE_CHECKING:
    from cwndlab.spec.schema import Source

    from .beside import Beside
    from .embed import Explain, Runnable

#: The page in a result folder.
REPORT = "report.html"


def write_report(
    plan: Plan,
    results: Results,
    folder: Path,
    content: Mapping[str, Any],
    variations: Sequence[Variation] = (),
    beside: Beside | None = None,
    explain: Explain = lambda cell: None,
    png: bool = False,
    on_verdicts: Callable[[], None] = lambda: None,
) -> Path:
    """Writes verdicts, figures and the report from the folder's own copy of the study.

    `explain` says what kept the senders of a cell's first replicate from sending; `png` writes figures as
    PNG, too; `on_verdicts` is called before figures are drawn.
    """
    study = plan.study
    outline = study.outline
    outputs = replace(
        outputs_of(study, folder),
        missing=missing(content),
        definitions=definitions(outline.quantities, results),
    )
    write(
        outputs,
        results,
        folder,
        facts=facts(content),
        variations=variations,
        beside=beside,
        runnable=_runnable(plan, results, content, explain),
        png=png,
        on_verdicts=on_verdicts,
    )
    return folder / REPORT


def _runnable(plan: Plan, results: Results, content: Mapping[str, Any], explain: Explain) -> Runnable | str:
    """What the page needs to run the study's cells, or why it cannot."""
    if content.get("backend"):
        return "The runs are of a kernel, so the page cannot run its cells."
    if plan.study.laws:
        return "Congestion controls in Python do not run on a page, so it cannot run its cells."
    replicates = {cell["id"]: cell["replicates"] for cell in content["cells"]}
    cells = [cell for cell in plan.cells if cell.sensitivity is None and cell.id in replicates]
    scenarios = {cell.id: cell.scenario for cell in cells}
    axes = {cell.id: cell.axes for cell in cells}
    from .embed import Runnable  # what a page runs

    return Runnable(
        scenarios,
        replicates,
        content["seed"],
        content["engine"],
        results.digest,
        title=lambda cell: results.settings(axes[cell]),
        explain=explain,
    )


def outputs_of(study: StudySpec, folder: Path) -> Outputs:
    """What a study asks to be shown; `folder` has its published numbers."""
    outline, source = study.outline, study.outline.source
    return Outputs(
        title=study.title,
        folder=folder,
        source=_citation(source) if source is not None else "",
        url=(source.url or "") if source is not None else "",
        about=outline.about or "",
        readme=_readme(folder),
        finding=outline.finding or "",
        key_figure=outline.key_figure or "",
        tables=outline.tables or _plain_table(study),
        figures=outline.figures,
        marks=outline.marks,
        claims=study.claims.claims,
        quantities={quantity.name: quantity for quantity in outline.quantities},
        choices=len(outline.sensitivity),
    )


def _readme(folder: Path) -> str:
    """The study's README; the report lacks one that cannot be read."""
    try:
        return (folder / "README.md").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _plain_table(study: StudySpec) -> Sequence[AnyTable]:
    """All numbers of all cells, for a study that lays out no table."""
    outline = study.outline
    known = {quantity.name: quantity for quantity in outline.quantities}
    columns = [
        Column(
            heading=f"{quantity.title or quantity.name} ({metrics.unit_of(quantity, known)})",
            quantity=quantity.name,
        )
        for quantity in outline.quantities
        if not metrics.is_list(quantity, known)
    ]
    if not columns or not outline.axes or outline.grids:
        return []
    return [Table(id="measured", title="Measured", rows=list(outline.axes), columns=columns)]


def check_outputs(study: StudySpec) -> None:
    """StudyError for a table, figure or claim that no run could show; restricted axes are no error."""
    cells = make_plan(replace(study, document=replace(study.document, chosen={}))).cells
    results = unmeasured(study, cells)
    try:
        check(outputs_of(study, study.folder or Path()), results)
    except StudyError as error:
        raise _placed(study, error) from None
    _check_records(study, results, {cell.id: cell for cell in cells})


def budgets_shown(study: StudySpec, cells: Sequence[Cell]) -> Mapping[str, set[str]]:
    """The kinds of objects whose time budgets the study's figures show, by cell."""
    found: dict[str, set[str]] = {}
    figures = [figure for figure in study.outline.figures if figure.kind == "budget"]
    if figures:
        from cwndlab.stats import series

        results = unmeasured(study, [cell for cell in cells if cell.sensitivity is None])
        for figure in figures:
            with suppress(StudyError):  # none of its cells is run
                for _, _, cell in series.figure_cells(figure, results):
                    found.setdefault(cell.id, set()).add(figure.of or "page")
    return found


def unmeasured(study: StudySpec, cells: Sequence[Cell]) -> Results:
    """Results with these cells and every quantity of the study, before anything was measured."""
    quantities = {quantity.name: quantity for quantity in study.outline.quantities}
    return without_values(
        [CellInfo(cell.id, cell.axes) for cell in cells],
        {name: metrics.unit_of(quantity, quantities) for name, quantity in quantities.items()},
        [name for name, quantity in quantities.items() if metrics.is_list(quantity, quantities)],
        study.outline.cells,
    )


def _placed(study: StudySpec, error: StudyError) -> StudyError:
    """The error with the line of its key, "figures.ID.x", in the study's file or in claims.toml."""
    outline, key = study.outline, error.key or ""
    if key in ("finding", "key_figure"):
        return study.place.locate(error, (key,))
    for section, ids in (
        ("tables", [table.id for table in outline.tables]),
        ("figures", [figure.id for figure in outline.figures]),
        ("claims", [claim.id for claim in study.claims.claims]),
    ):
        for index, name in enumerate(ids):
            head = f"{section}.{name}"
            if error.file not in (None, CLAIMS) or not f"{key}.".startswith(f"{head}."):
                continue
            path: tuple[str | int, ...] = (section, index, *key[len(head) :].split(".")[1:])
            if section != "claims":
                return study.place.locate(error, path)
            file = study.folder / CLAIMS if study.folder is not None else None
            text = file.read_text(encoding="utf-8") if file is not None and file.exists() else None
            raw = {section: [{"id": claim.id} for claim in study.claims.claims]}
            return Place(raw, file, text).error(path, error.problem, error.right)
    return error


def _check_records(study: StudySpec, results: Results, cells: Mapping[str, Cell]) -> None:
    """StudyError for a figure of records that a cell it shows does not record."""
    if not study.outline.figures:
        return
    from cwndlab.stats import series

    from .figures import RECORDED

    for index, figure in enumerate(study.outline.figures):
        if figure.kind not in RECORDED:
            continue
        for _, _, cell in series.figure_cells(figure, results):
            found = _unrecorded(figure, cells[cell.id].compiled.scenario)
            if found is not None:
                key, problem, right = found
                raise study.place.error(("figures", index, key), f"cell {cell.id}: {problem}", right)


def _unrecorded(figure: Figure, scenario: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """The key of a figure for which a run of this scenario has no records, why, and what would be right."""
    from .figures import PROBES, RECORDED

    probes, links = scenario["probes"], scenario["links"]
    end = scenario["duration_ns"] / 1e9
    if figure.start is not None and figure.start >= end:
        return "start", f"the run ends at {end:g} s", "make `start` earlier"
    if figure.kind == "queue" and figure.link is not None:
        names = [str(link["name"]) for link in links]
        index = figure.link if isinstance(figure.link, int) else None
        if index is None and figure.link not in names:
            return "link", f'there is no direction "{figure.link}"', nearest(str(figure.link), names)
        index = names.index(str(figure.link)) if index is None else index
        if index not in probes["queues"]:
            name = names[index] if index < len(names) else str(index)
            return "link", f"the queue of {name} is not recorded", f'set [probes] queues = ["{name}"]'
    table = RECORDED[figure.kind]
    recorded = {
        "segments": probes["segments_at"] is not None,
        "queues": probes["queues"],
        "cwnd": probes["cwnd"],
    }
    if not recorded[table]:
        return "kind", f"no {table} are recorded", f"set [probes] {PROBES[table]}"
    return None


def _citation(source: Source) -> str:
    parts = [source.name, f"\u201c{source.title}\u201d" if source.title else "", ", ".join(source.authors)]
    return ", ".join(part for part in [*parts, str(source.year or "")] if part)
