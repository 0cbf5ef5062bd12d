"""Judges the tables, listings and claims that a study asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cwndlab.base.errors import StudyError
from cwndlab.stats.results import Results
from cwndlab.stats.tables import JudgedTable, judge_table
from cwndlab.stats.verdict import Incompatible, Judgement
from cwndlab.study.cells import was_not_run
from cwndlab.study.outputs import Listing, Table
from cwndlab.study.values import as_list, label

from .contents import JudgedLines, Outputs, compare_listing

if TYPE_CHECKING:
    from cwndlab.stats.claims import JudgedClaim


class Omitted(NamedTuple):
    """A part of the report that could not be made."""

    kind: str
    id: str
    """Empty for what a study has only one of."""
    why: StudyError | None = None
    """What is wrong; None if its cells were not run."""


def omissions(omitted: Sequence[Omitted]) -> tuple[str, ...]:
    """In words: parts of cells that were not run by their names alone, as a run may be restricted to few."""
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
    """What an application finds out about published numbers by letting our runs take the paper's place."""

    @property
    def incompatible(self) -> Incompatible | None:
        """How many of the numbers that count are incompatible, and how many would be by chance."""

    @property
    def mean_lines(self) -> tuple[str, ...]:
        """Published means of changes next to ours, which are tested before single numbers."""

    @property
    def mean_changes(self) -> Mapping[str, object] | None:
        """The same for JSON; None if the study asks for no such means."""


@dataclass(frozen=True, eq=False, repr=False)
class Judged:
    """Everything of a study that has a verdict; what could not be judged is listed in `omitted`."""

    outputs: Outputs
    results: Results
    tables: list[JudgedTable | JudgedLines] = field(default_factory=list)
    claims: list[JudgedClaim] = field(default_factory=list)
    omitted: list[Omitted] = field(default_factory=list)

    @property
    def grids(self) -> list[JudgedTable]:
        """The tables that are no listings."""
        return [table for table in self.tables if isinstance(table, JudgedTable)]

    @property
    def judgements(self) -> list[Judgement]:
        """Of every published number."""
        return list_judgements(self.tables)

    @property
    def cells(self) -> set[str]:
        """The cells that tables show."""
        return {cell.cell for table in self.grids for cell in table.numbers}

    @cached_property
    def played(self) -> Played | None:
        """The numbers of the tables if the paper's runs were ours; None without published numbers."""
        if not any(cell.published for table in self.grids for cell in table.numbers):
            return None
        play: Played = import_module("cwndlab.apps.reproduction.played").PlayedPaper(self.grids, self.results)
        return play

    @property
    def incompatible(self) -> Incompatible | None:
        """How many of the numbers that count are incompatible; None without such numbers."""
        return self.played.incompatible if self.played is not None else None


def list_judgements(tables: Sequence[JudgedTable | JudgedLines]) -> list[Judgement]:
    """Of every published number of these tables."""
    numbers = (cell for table in tables for row in table.cells for cell in row)
    return [cell.judgement for cell in numbers if cell.judgement is not None]


def judge(outputs: Outputs, results: Results) -> Judged:
    """Judges tables, listings and claims.

    A part that asks for a cell which was not run (a run may be restricted to some cells) is left out and
    listed; `check` finds parts that no run of the study could show.
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
    """The listing without those of its variants of which nothing was run, if something of another was."""
    run = []
    for variant in spec.variants:
        known = {name: [label(value) for value in results.axes.get(name, ())] for name in variant.where}
        if all(label(one) in known[name] for name, all_ in variant.where.items() for one in as_list(all_)):
            run.append(variant)
    return spec.model_copy(update={"variants": run}) if run else spec
