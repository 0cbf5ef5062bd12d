"""Finds what is wrong with tables, figures and claims before anything is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.errors import StudyError, nearest
from cwndlab.spec.outputs import Figure, Table
from cwndlab.stats.results import AxisValue, CellInfo, Columns, Results, Value
from cwndlab.stats.tables import check_table, reference

from .finding import finding_text

if TYPE_CHECKING:
    from .judge import Outputs

_NOTHING: dict[str, type] = {
    "time_ns": np.uint64,
    "event": np.str_,
    "segment": np.int64,
    "connection": np.uint32,
}


def without_values(
    cells: Iterable[CellInfo],
    units: Mapping[str, str],
    lists: Iterable[str],
    names: Mapping[str, Mapping[str, AxisValue]],
) -> Results:
    """Results of a study that was not run: every cell and quantity is there, and nothing was measurable."""
    whole = tuple(cells)
    many = set(lists)
    data: dict[tuple[str, str], Sequence[Value]] = {
        (c.id, q): [[]] if q in many else [float("nan")] for c in whole for q in units
    }

    def records(cell: str, table: str) -> Columns:
        return {name: np.array([], dtype=kind) for name, kind in _NOTHING.items()}

    return Results(whole, units, data, names=names, deterministic=lambda cell: True, records=records)


def check(outputs: Outputs, results: Results) -> None:
    """StudyError for the first part that no run of the study could show; `results` are `without_values`."""
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
