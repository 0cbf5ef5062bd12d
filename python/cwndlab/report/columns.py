"""Columns that tell nothing: a report's table leaves them out, and says so below."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cwndlab.base.writing import join_words
from cwndlab.stats.tables import JudgedCell, JudgedTable

from .digits import estimate_text, interval_text


def leave_out_columns(judged: JudgedTable) -> tuple[JudgedTable, list[str]]:
    """A table without columns that are empty, or have one value in all cells and runs; and what is left out.

    A table of one row keeps all of them, and so does one with published numbers.
    """
    columns = list(zip(*judged.cells, strict=True))
    if len(judged.cells) < 2 or any(cell.published for cell in judged.numbers):
        return judged, []
    empty = [at for at, cells in enumerate(columns) if _is_empty(cells)]
    equal = {at: text for at, cells in enumerate(columns) if at not in empty and (text := _equal_text(cells))}
    kept = [at for at in range(len(columns)) if at not in empty and at not in equal]
    if not kept or len(kept) == len(columns):
        return judged, []
    specs = judged.spec.columns
    titles = [f"{one.group}, {one.heading}" if one.group else one.heading for one in specs]
    said = [f"Not measured in any cell: {join_words([titles[at] for at in empty])}."] if empty else []
    if equal:
        values = "; ".join(f"{titles[at]}: {text}" for at, text in equal.items())
        said.append(f"The same in all cells and runs: {values}.")
    spec = judged.spec.model_copy(update={"columns": [specs[at] for at in kept]})
    cells = tuple(
        tuple(line[at]._replace(column=place) for place, at in enumerate(kept)) for line in judged.cells
    )
    return judged._replace(spec=spec, cells=cells), said


def _is_empty(cells: Sequence[JudgedCell]) -> bool:
    return all(cell.estimate is None or math.isnan(cell.estimate.value) for cell in cells)


def _equal_text(cells: Sequence[JudgedCell]) -> str:
    """The value that all cells and runs have, with its interval; empty if they differ."""
    texts = set()
    for cell in cells:
        interval = cell.estimate.interval if cell.estimate is not None else None
        if interval is None or not (interval.exact or interval.equal_runs):
            return ""
        around = f" ({interval_text(interval, cell.digits)})" if interval.low < interval.high else ""
        texts.add(estimate_text(interval, cell.digits) + around)
    return texts.pop() if len(texts) == 1 else ""
