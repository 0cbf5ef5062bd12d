"""Whether a run of a study could show the tables, figures and claims that its file asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.base.errors import StudyError, nearest
from cwndlab.plan.plan import Cell, Plan, make_plan
from cwndlab.report.contents import check, collect_outputs, unmeasured_results
from cwndlab.study.document import CLAIMS
from cwndlab.study.place import Place

if TYPE_CHECKING:
    from cwndlab.stats.results import Results
    from cwndlab.study.outputs import Figure
    from cwndlab.study.study_spec import StudySpec


def check_outputs(plan: Plan) -> None:
    """StudyError for a table, figure or claim that no run of the study could show.

    A plan of some cells only is no error: the whole study's are looked at.
    """
    study = plan.study
    if study.document.chosen:
        plan = make_plan(replace(study, document=replace(study.document, chosen={})))
    cells = {cell.id: cell for cell in plan.cells if cell.sensitivity is None}
    results = unmeasured_results(study, {name: cell.axes for name, cell in cells.items()})
    try:
        check(collect_outputs(study, study.folder or Path()), results)
    except StudyError as error:
        raise _locate(study, error) from None
    _check_records(study, results, cells)


def _locate(study: StudySpec, error: StudyError) -> StudyError:
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
            text = study.document.claims if isinstance(study.document.claims, str) else None
            raw = {section: [{"id": claim.id} for claim in study.claims.claims]}
            return Place(raw, file, text).error(path, error.problem, error.right)
    return error


def _check_records(study: StudySpec, results: Results, cells: Mapping[str, Cell]) -> None:
    """StudyError for a figure of records that a cell it shows does not record."""
    if not study.outline.figures:
        return
    from cwndlab.report.figures import RECORDED
    from cwndlab.stats import series

    for index, figure in enumerate(study.outline.figures):
        if figure.kind not in RECORDED:
            continue
        for _, _, cell in series.figure_cells(figure, results):
            found = _missing_record(figure, cells[cell.id].compiled.scenario)
            if found is not None:
                key, problem, right = found
                raise study.place.error(("figures", index, key), f"cell {cell.id}: {problem}", right)


def _missing_record(figure: Figure, scenario: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """The key of a figure for which a run of this scenario has no records, why, and what would be right."""
    from cwndlab.report.figures import PROBES, RECORDED

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
