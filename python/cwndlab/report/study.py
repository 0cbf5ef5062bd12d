"""The report of a study: what its file asks to be shown, written or only checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cwndlab import metrics
from cwndlab.plan.plan import make_plan
from cwndlab.spec.outputs import AnyTable, Column, Table
from cwndlab.spec.schema import Source
from cwndlab.spec.study import StudySpec
from cwndlab.spec.units import seconds
from cwndlab.stats.results import CellInfo, Results

from .beside import Beside
from .check import check, without_values
from .definitions import definitions
from .facts import facts, missing
from .judge import Outputs, Variation
from .write import write


def write_report(
    study: StudySpec,
    results: Results,
    folder: Path,
    content: Mapping[str, Any],
    variations: Sequence[tuple[str, str, Results]] = (),
    beside: Beside | None = None,
) -> Path:
    """Writes verdicts, figures and the report from the folder's own copy of the study."""
    outputs, outline = replace(_outputs(study, folder), missing=missing(content)), study.outline
    write(
        outputs,
        results,
        folder,
        facts=facts(content),
        variations=[
            Variation(
                outline.sensitivity[axis].title or axis if axis in outline.sensitivity else axis,
                value,
                varied,
                combined=axis not in outline.sensitivity,
            )
            for axis, value, varied in variations
        ],
        beside=beside,
        seconds=seconds,
    )
    return folder / "report.html"


def _outputs(study: StudySpec, folder: Path) -> Outputs:
    outline, source = study.outline, study.outline.source
    return Outputs(
        title=study.title,
        folder=folder,
        source=_citation(source) if source is not None else "",
        url=(source.url or "") if source is not None else "",
        about=outline.about or "",
        tables=outline.tables or _plain_table(study),
        figures=outline.figures,
        marks=outline.marks,
        claims=study.claims.claims,
        definitions=definitions(outline.quantities),
    )


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
    whole = replace(study, chosen={})
    quantities = {quantity.name: quantity for quantity in study.outline.quantities}
    results = without_values(
        [CellInfo(cell.id, cell.axes) for cell in make_plan(whole).cells],
        {name: metrics.unit_of(quantity, quantities) for name, quantity in quantities.items()},
        [name for name, quantity in quantities.items() if metrics.is_list(quantity, quantities)],
        study.outline.cells,
    )
    check(_outputs(study, study.folder or Path()), results)


def _citation(source: Source) -> str:
    parts = [source.name, f"\u201c{source.title}\u201d" if source.title else "", ", ".join(source.authors)]
    return ", ".join(part for part in [*parts, str(source.year or "")] if part)
