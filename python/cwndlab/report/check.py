"""Finds what is wrong with tables, figures and claims before anything is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cwndlab import metrics
from cwndlab.errors import StudyError, nearest
from cwndlab.spec.outputs import Figure, Table
from cwndlab.stats.results import AxisValue, CellInfo, Columns, NoRecords, Results, Value
from cwndlab.stats.tables import check_table, reference

from .finding import finding_text

if TYPE_CHECKING:
    from cwndlab.spec.study import StudySpec

    from .judge import Outputs


class _EmptyRecords(NoRecords):
    """Records in which nothing happened (`CellRecords`)."""

    def table(self, cell: str, name: str) -> Columns:
        """Its columns, without rows."""
        kinds = {"time_ns": np.uint64, "event": np.str_, "segment": np.int64, "connection": np.uint32}
        return {column: np.array([], dtype=kind) for column, kind in kinds.items()}


def unmeasured(study: StudySpec, cells: Mapping[str, Mapping[str, AxisValue]]) -> Results:
    """Results with these cells (their axes by name) and every quantity of the study, unmeasured."""
    known = {quantity.name: quantity for quantity in study.outline.quantities}
    nothing: dict[str, Sequence[Value]] = {
        name: [[]] if metrics.is_list(quantity, known) else [float("nan")] for name, quantity in known.items()
    }
    return Results(
        tuple(CellInfo(name, axes) for name, axes in cells.items()),
        {name: metrics.unit_of(quantity, known) for name, quantity in known.items()},
        {(cell, name): values for cell in cells for name, values in nothing.items()},
        names=study.outline.cells,
        deterministic=cells.keys(),
        records=_EmptyRecords(),
    )


def check(outputs: Outputs, results: Results) -> None:
    """StudyError for the first part that no run of the study could show; `results` are `unmeasured`."""
    for spec in outputs.tables:
        if isinstance(spec, Table):
            check_table(spec, results, outputs.folder)
        else:
            from cwndlab.stats.listing import judge_listing  # few studies have packet listings

            judge_listing(spec, results, outputs.folder, outputs.marks)
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
