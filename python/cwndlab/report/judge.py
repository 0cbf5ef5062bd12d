"""Judges a study's tables, listings and claims; checks, before a run, that its cells suffice for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cwndlab.base.errors import StudyError, nearest
from cwndlab.stats.results import Results, unmeasured_results
from cwndlab.stats.tables import JudgedTable, check_table, judge_table, reference
from cwndlab.stats.verdict import Incompatible, Judgement
from cwndlab.study.cells import was_not_run
from cwndlab.study.document import CLAIMS
from cwndlab.study.outputs import Figure, Listing, Scalar, Table
from cwndlab.study.place import Place
from cwndlab.study.study_spec import StudySpec
from cwndlab.study.values import as_list, label

from .contents import JudgedLines, Outputs, collect_outputs, compare_listing, finding_text

if TYPE_CHECKING:
    from cwndlab.stats.claims import JudgedClaim


class Omitted(NamedTuple):
    """A part of the report that was left out."""

    kind: str
    id: str
    """The part's id; "" for a part without one, such as the finding."""
    why: StudyError | None = None
    """The error; None if the part's cells were not run."""


def omissions(omitted: Sequence[Omitted]) -> tuple[str, ...]:
    """Sentences on the omitted parts; those whose cells a restricted run left out are only listed."""
    names: dict[str, list[str]] = {}
    wrong = []
    for part in omitted:
        if part.why is None or was_not_run(part.why):
            names.setdefault(part.kind, []).append(part.id)
        else:
            wrong.append(str(part.why))
    not_run = (
        f"{kind}{'s' * (len(ids) > 1)} {', '.join(ids)}" if any(ids) else f"the study's {kind}"
        for kind, ids in names.items()
    )
    return (*(f"Of cells that were not run: {parts}" for parts in not_run), *wrong)


class Played(Protocol):
    """The verdicts to expect if the paper's numbers came from our own runs (`PlayedPaper`)."""

    @property
    def incompatible(self) -> Incompatible | None:
        """The count of incompatible numbers, and the count expected by chance; None if none is counted."""

    @property
    def mean_lines(self) -> tuple[str, ...]:
        """Sentences that compare published means of changes with ours, and test them together."""

    @property
    def mean_changes(self) -> Mapping[str, object] | None:
        """The data of `mean_lines` for JSON; None if no table of the study has `mean_changes_by`."""


@dataclass(frozen=True, eq=False, repr=False)
class Judged:
    """The judged parts of a study; `omitted` has the parts that could not be judged."""

    outputs: Outputs
    results: Results
    tables: list[JudgedTable | JudgedLines] = field(default_factory=list)
    claims: list[JudgedClaim] = field(default_factory=list)
    omitted: list[Omitted] = field(default_factory=list)

    @property
    def grids(self) -> list[JudgedTable]:
        """The judged tables of numbers, without the listings."""
        return [table for table in self.tables if isinstance(table, JudgedTable)]

    @property
    def judgements(self) -> list[Judgement]:
        """The judgements of all published numbers."""
        return list_judgements(self.tables)

    @property
    def cells(self) -> set[str]:
        """The ids of the cells that tables show."""
        return {cell.cell for table in self.grids for cell in table.numbers}

    @cached_property
    def played(self) -> Played | None:
        """The verdicts to expect if the paper's numbers came from our own runs; None if it has no numbers."""
        if not any(cell.published for table in self.grids for cell in table.numbers):
            return None
        play: Played = import_module("cwndlab.apps.reproduction.played").PlayedPaper(self.grids, self.results)
        return play

    @property
    def incompatible(self) -> Incompatible | None:
        """The count of incompatible numbers; None if no number is counted."""
        return self.played.incompatible if self.played is not None else None


def list_judgements(tables: Sequence[JudgedTable | JudgedLines]) -> list[Judgement]:
    """The judgements of all published numbers of these tables."""
    numbers = (cell for table in tables for row in table.cells for cell in row)
    return [cell.judgement for cell in numbers if cell.judgement is not None]


def judge(outputs: Outputs, results: Results) -> Judged:
    """Judges tables, listings and claims.

    A part is listed in `omitted` if it needs a cell that was not run (a run may be restricted to some cells).
    `check` finds parts that no run of the study can show.
    """
    judged = Judged(outputs, results)
    for spec in outputs.tables:
        try:
            if isinstance(spec, Table):
                table = judge_table(spec, results, outputs.folder, outputs.marks)
                if any(cell.estimate is not None for cell in table.numbers):
                    judged.tables.append(table)
                else:
                    judged.omitted.append(Omitted("table", spec.id))
            else:
                spec = _keep_run_variants(spec, results)
                judged.tables.append(compare_listing(spec, results, outputs))
        except StudyError as error:
            judged.omitted.append(Omitted("table", spec.id, error))
    if not outputs.claims:
        return judged
    from cwndlab.stats.claims import judge_claim  # only studies of papers have claims
    from cwndlab.stats.expression import Evaluator

    evaluator = Evaluator(results)
    for claim in outputs.claims:
        try:
            judged.claims.append(judge_claim(claim, evaluator))
        except StudyError as error:
            judged.omitted.append(Omitted("claim", claim.id, error))
    return judged


def _keep_run_variants(spec: Listing, results: Results) -> Listing:
    """The listing with only the variants whose axis values were all run; unchanged if there are none."""
    run = []
    for variant in spec.variants:
        present = {name: [label(value) for value in results.axes.get(name, ())] for name in variant.where}
        if all(
            label(value) in present[name] for name, all_ in variant.where.items() for value in as_list(all_)
        ):
            run.append(variant)
    return spec.model_copy(update={"variants": run}) if run else spec


# ── checks before any run ─────────────────────────────────────────────────────────────────────────────────


def check_outputs(
    study: StudySpec, cells: Mapping[str, Mapping[str, Scalar]], scenario: Callable[[str], Mapping[str, Any]]
) -> None:
    """StudyError for a table, figure or claim that no run of these cells could show.

    Args:
        study: the study.
        cells: cell id -> the cell's axis values.
        scenario: returns the compiled scenario of a cell.

    """
    results = unmeasured_results(study, cells)
    try:
        check(collect_outputs(study, study.folder or Path()), results)
    except StudyError as error:
        raise _locate(study, error) from None
    _check_records(study, results, scenario)


def check(outputs: Outputs, results: Results) -> None:
    """StudyError for the first part that no run could show; `results` come from `unmeasured_results`."""
    for spec in outputs.tables:
        if isinstance(spec, Table):
            check_table(spec, results, outputs.folder)
        else:
            compare_listing(spec, results, outputs)
    for figure in outputs.figures:
        _check_figure(figure, results)
    if outputs.claims:
        from cwndlab.stats.claims import check_values

        check_values(outputs.claims, results)
    finding_text(outputs.finding, results)
    ids = [figure.id for figure in outputs.figures]
    if outputs.key_figure and outputs.key_figure not in ids:
        problem = f"there is no figure {outputs.key_figure!r}"
        raise StudyError(problem, key="key_figure", right=nearest(outputs.key_figure, ids))


def _check_figure(figure: Figure, results: Results) -> None:
    from cwndlab.stats import series  # only figures need it

    cells = [cell for _, _, cell in series.figure_cells(figure, results)]
    if figure.compare is not None:
        for cell in cells:
            reference(results, cell, figure.compare)
    if figure.kind in ("line", "bar"):
        series.points(figure, results)
    if figure.kind == "ellipse":
        series.ellipses(figure, results)


def _locate(study: StudySpec, error: StudyError) -> StudyError:
    """The error with the place of its key, such as "figures.ID.x", in the study file or claims.toml."""
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


def _check_records(study: StudySpec, results: Results, scenario: Callable[[str], Mapping[str, Any]]) -> None:
    """StudyError if a figure shows records that the probes of one of its cells do not record."""
    if not study.outline.figures:
        return
    from cwndlab.stats import series

    from .figures import RECORDED

    for index, figure in enumerate(study.outline.figures):
        if figure.kind not in RECORDED:
            continue
        for _, _, cell in series.figure_cells(figure, results):
            missing = _missing_record(figure, scenario(cell.id))
            if missing is not None:
                key, problem, right = missing
                raise study.place.error(("figures", index, key), f"cell {cell.id}: {problem}", right)


def _missing_record(figure: Figure, scenario: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """The key, problem and remedy if a figure shows records that the scenario does not record; else None."""
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
