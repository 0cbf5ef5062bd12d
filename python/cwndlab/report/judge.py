"""Judges the tables, listings and claims that a study asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from cwndlab.errors import StudyError
from cwndlab.spec.outputs import AnyTable, Claim, Figure, Listing, Table
from cwndlab.spec.outputs import Mark as StudyMark
from cwndlab.spec.values import label
from cwndlab.stats.results import Results, as_list, was_not_run
from cwndlab.stats.tables import JudgedTable, judge_table
from cwndlab.stats.verdict import Incompatible

if TYPE_CHECKING:
    from cwndlab.spec.schema import Quantity
    from cwndlab.stats.claims import JudgedClaim
    from cwndlab.stats.listing import JudgedListing
    from cwndlab.stats.verdict import Judgement, Verdict


@dataclass(frozen=True, eq=False, repr=False)
class Outputs:
    """What a study asks to be shown, and in whose words."""

    title: str
    folder: Path
    """Where the study's published numbers are."""
    source: str = ""
    url: str = ""
    about: str = ""
    readme: str = ""
    """Its text, as Markdown."""
    finding: str = ""
    """What was found, with expressions in braces."""
    key_figure: str = ""
    """Id of the figure shown with the finding; empty: the first."""
    tables: Sequence[AnyTable] = ()
    figures: Sequence[Figure] = ()
    marks: Sequence[StudyMark] = ()
    claims: Sequence[Claim] = ()
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    """The study's quantities by name."""
    choices: int = 0
    """How many sensitivity axes the study has."""


class Variation(NamedTuple):
    """The results of the study with one value of one sensitivity axis."""

    axis: str
    value: str
    results: Results
    combined: bool = False
    """Whether it is a combination of several choices."""
    cells: frozenset[str] = frozenset()
    """The cells that were run with it; the results of the others are the study's own."""
    runs: Mapping[str, str] = MappingProxyType({})
    """The cell of the plan whose runs each cell shows."""


class Omitted(NamedTuple):
    """A part of the report that could not be made."""

    kind: str
    id: str
    why: StudyError | None = None
    """What is wrong; None if its cells were not run."""


def omissions(omitted: Sequence[Omitted]) -> tuple[str, ...]:
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


@dataclass(frozen=True, eq=False, repr=False)
class Judged:
    """Everything of a study that has a verdict; what could not be judged is listed in `omitted`."""

    tables: list[tuple[AnyTable, JudgedTable | JudgedListing]]
    claims: list[JudgedClaim]
    omitted: list[Omitted] = field(default_factory=list)

    @property
    def verdicts(self) -> list[Verdict]:
        """Of every published number."""
        return [judgement.verdict for judgement in self.judgements]

    @property
    def judgements(self) -> list[Judgement]:
        """Of every published number."""
        found: list[Judgement] = []
        for _, table in self.tables:
            rows = table.cells if isinstance(table, JudgedTable) else table.lines
            found += [c.judgement for row in rows for c in row if c.judgement is not None]
        return found

    @property
    def incompatible(self) -> Incompatible | None:
        """How many of the numbers that count are incompatible; None without such numbers."""
        return Incompatible.of([bool(j.compatible) for j in self.judgements if j.counts])


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
                if any(cell.estimate is not None for row in table.cells for cell in row):
                    judged.tables.append((spec, table))
                else:
                    judged.omitted.append(Omitted("table", spec.id))
            else:
                from cwndlab.stats.listing import judge_listing  # few studies have packet listings

                spec = _of_run_cells(spec, results)
                judged.tables.append((spec, judge_listing(spec, results, outputs.folder, outputs.marks)))
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


def _of_run_cells(spec: Listing, results: Results) -> Listing:
    """The listing without those of its variants of which nothing was run, if something of another was."""
    run = []
    for variant in spec.variants:
        known = {name: [label(value) for value in results.axes.get(name, ())] for name in variant.where}
        if all(label(one) in known[name] for name, all_ in variant.where.items() for one in as_list(all_)):
            run.append(variant)
    return spec.model_copy(update={"variants": run}) if run else spec
