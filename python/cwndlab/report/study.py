"""What a study's file asks a report to show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab import metrics
from cwndlab.spec.outputs import AnyTable, Column, Table
from cwndlab.spec.study import StudySpec

from .judge import Outputs

if TYPE_CHECKING:
    from cwndlab.spec.schema import Source

#: The page in a result folder.
REPORT = "report.html"


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


def _citation(source: Source) -> str:
    parts = [source.name, f"\u201c{source.title}\u201d" if source.title else "", ", ".join(source.authors)]
    return ", ".join(part for part in [*parts, str(source.year or "")] if part)
