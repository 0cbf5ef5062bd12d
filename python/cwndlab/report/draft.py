"""A report before what explains its numbers is known: verdicts, and figures that are being drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.errors import StudyError
from cwndlab.files import save
from cwndlab.stats.tables import JudgedTable

from .csv_files import claims_csv, verdicts_csv
from .judge import Judged, Omitted, Outputs, Variation, judge

if TYPE_CHECKING:
    from cwndlab.converter import Conversion
    from cwndlab.stats.results import Results
    from cwndlab.stats.sensitivity import ChoiceOutcome

    from .discrepancies import Discrepancies, Discrepancy
    from .figures import Drawing
    from .twin import Twin, TwinNumber


@dataclass(frozen=True, eq=False, repr=False)
class Draft:
    """A report before what explains its numbers is known: verdicts, and figures that are being drawn."""

    outputs: Outputs
    results: Results
    judged: Judged
    drawings: Sequence[Drawing]
    outcomes: Sequence[ChoiceOutcome]
    """What each choice makes of the tables and claims."""
    discrepancies: Discrepancies
    """The numbers that are not the paper's."""
    twin: Twin | None
    twin_rows: Sequence[TwinNumber]
    """Each number next to the simulator's."""

    @cached_property
    def cells(self) -> set[str]:
        """The cells that tables show."""
        grids = [table for _, table in self.judged.tables if isinstance(table, JudgedTable)]
        return {cell.cell for grid in grids for row in grid.cells for cell in row}


def draft(
    outputs: Outputs, results: Results, variations: Sequence[Variation] = (), twin: Twin | None = None
) -> Draft:
    """Judges everything and begins to draw figures; `twin` has the simulator's results next to a kernel's.

    Figures are drawn in the background, which takes longer than the rest.
    """
    not_drawn: list[Omitted] = []
    drawings = _draw(outputs, results, not_drawn)
    judged = judge(outputs, results)
    judged.omitted.extend(not_drawn)
    rows: Sequence[TwinNumber] = ()
    if twin is not None:
        from .twin import rows_of  # only a kernel's report has one

        drawings = _pairs(drawings, _draw(outputs, twin.results, []))
        rows = rows_of(judge(outputs, twin.results), judged, twin, results)
    outcomes = outcomes_of(outputs, variations)
    found = _discrepancies(outputs, judged, results, outcomes)
    return Draft(outputs, results, judged, drawings, outcomes, found, twin, rows)


def write_verdicts(report: Draft, directory: Path) -> None:
    """Writes verdicts.csv, and claims.csv and agreement.csv if there is anything in them."""
    save(directory / "verdicts.csv", verdicts_csv(report.judged))
    if report.judged.claims:
        save(directory / "claims.csv", claims_csv(report.judged.claims))
    if report.twin is not None:
        from .twin import to_csv

        save(directory / "agreement.csv", to_csv(report.twin_rows))


def discrepancies_of(
    outputs: Outputs, results: Results, variations: Sequence[Variation]
) -> list[Discrepancy]:
    """The numbers of all tables that are not the paper's, with what each choice makes of them."""
    from .discrepancies import in_table_order

    outcomes = outcomes_of(outputs, variations)
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


def outcomes_of(outputs: Outputs, variations: Sequence[Variation]) -> list[ChoiceOutcome]:
    """What each choice makes of the tables and claims."""
    if not variations:
        return []
    from cwndlab.stats.sensitivity import ChoiceOutcome

    outcomes = []
    for variation in variations:
        other = judge(outputs, variation.results)
        tables = [t for _, t in other.tables if isinstance(t, JudgedTable)]
        outcomes.append(
            ChoiceOutcome(
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
