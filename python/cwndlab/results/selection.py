"""Selects cells: `sel(buffer=1)`, `sel(cc=["cubic", "bbr1"])`, `sel(rate=slice(1, 10))`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cwndlab.base.errors import NotFoundError, StudyError, nearest
from cwndlab.study.cells import CellInfo, Cells
from cwndlab.study.values import label, parse, select_values, text

#: The most cell ids that an error lists.
SHOWN = 5


def select_cells(results: Cells, wanted: Mapping[str, object]) -> Sequence[CellInfo]:
    """The cells with these values of axes; the key "cell" selects by ids.

    Uses the indices of `Cells`, so that selecting each of a large study's cells in a loop stays fast.

    Raises:
        NotFoundError: there is no such axis, or no cell with these values.

    """
    chosen = {axis: _chosen(results, axis, value) for axis, value in wanted.items()}
    present = {axis: values for axis, values in chosen.items() if axis != "cell" and None not in values}
    if "cell" in chosen:
        candidates = results.with_ids(map(str, chosen["cell"]))
    else:
        candidates = results.cells_at(present)
    cells = [
        cell
        for cell in candidates
        if all(cell.axes.get(axis) in values for axis, values in chosen.items() if axis != "cell")
    ]
    if not cells:
        shown = "; ".join(cell.id for cell in results.cells[:SHOWN])
        raise NotFoundError(f"no cell has {dict(wanted)}; there are: {shown}")
    return cells


def _chosen(results: Cells, axis: str, wanted: object) -> list[object]:
    """The values of an axis that a selection names; NotFoundError for a value that no cell has."""
    unit = results.labels.axis_unit(axis)
    try:
        choices: Iterable[object] = (
            (cell.id for cell in results.cells) if axis == "cell" else results.values_on(axis)
        )
        items = select_values(wanted, choices, unit)
    except StudyError as error:
        raise NotFoundError(str(error)) from None
    chosen: list[object] = []
    for item in items:
        match = _known_value(results, axis, item, unit)
        if match is None and item is not None:
            what = f'no cell "{item}"' if axis == "cell" else f"axis {axis!r} has no value {item!r}"
            raise NotFoundError(f"{what}; {nearest(text(item), map(text, choices))}")
        chosen.append(match)
    return chosen


def _known_value(results: Cells, axis: str, item: object, unit: str | None) -> object:
    """The value of an axis, or the id of a cell, that equals an item of a selection; None if none does."""
    for written in map(label, parse(item, unit)):
        if axis == "cell":
            match: object = written if results.with_ids([written]) else None
        else:
            match = results.value_with_label(axis, written)
        if match is not None:
            return match
    return None
