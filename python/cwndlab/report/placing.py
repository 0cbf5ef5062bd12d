"""Next to which table each figure is shown: the one that shows most of the same numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, cast

from cwndlab.errors import StudyError
from cwndlab.spec.outputs import AnyTable, Figure, Table

if TYPE_CHECKING:
    from cwndlab.stats.listing import JudgedListing
    from cwndlab.stats.results import Results
    from cwndlab.stats.tables import JudgedTable

Shown = tuple[set[Hashable], set[Hashable]]
"""Numbers (cell and quantity), and cells."""


def places(
    tables: Sequence[tuple[AnyTable, JudgedTable | JudgedListing]],
    figures: Sequence[Figure],
    results: Results,
) -> dict[str, str]:
    """Figure -> table, by their ids; a figure that has no cell in common with any table is left out."""
    shown = {table.id: _of_table(spec, table) for spec, table in tables}
    found = {}
    for figure in figures:
        try:
            mine = _of_figure(figure, results)
        except StudyError:  # of cells that were not run: it is not drawn either
            continue
        alike = {name: tuple(map(_similarity, mine, its)) for name, its in shown.items()}
        best = max(alike, key=lambda name: alike[name], default="")
        if best and any(alike[best]):
            found[figure.id] = best
    return found


def _similarity(a: set[Hashable], b: set[Hashable]) -> float:
    """The share of what either shows that both show."""
    return len(a & b) / len(a | b) if a & b else 0.0


def _of_table(spec: AnyTable, table: JudgedTable | JudgedListing) -> Shown:
    if not isinstance(spec, Table):
        return set(), {line.cell for row in cast("JudgedListing", table).lines for line in row}
    table = cast("JudgedTable", table)
    cells = [cell for row in table.cells for cell in row if cell.estimate is not None]
    numbers = {(cell.cell, spec.columns[cell.column].quantity) for cell in cells}
    return set(numbers), {cell.cell for cell in cells}


def _of_figure(figure: Figure, results: Results) -> Shown:
    from cwndlab.stats import series  # only figures need it

    spec, _ = series.of_run_cells(figure, results)
    cells = {cell.id for _, _, cell in series.figure_cells(spec, results)}
    return {(cell, quantity) for cell in cells for quantity in spec.drawn}, set(cells)
