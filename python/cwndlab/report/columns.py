"""The columns of a report's table: those that tell nothing are left out, and others have numbers alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cwndlab.base.writing import join_words
from cwndlab.stats.tables import JudgedCell, JudgedTable

from .digits import estimate_text, interval_text

WIDE = 100.0
"""Numbers of a column that differ by this factor have no decimals in common."""


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
    titles = [f"{column.group}, {column.heading}" if column.group else column.heading for column in specs]
    said = [f"Not measured in any cell: {join_words([titles[at] for at in empty])}."] if empty else []
    if equal:
        values = "; ".join(f"{titles[at]}: {text}" for at, text in equal.items())
        said.append(f"The same in all cells and runs: {values}.")
    spec = judged.spec.model_copy(update={"columns": [specs[at] for at in kept]})
    cells = tuple(
        tuple(line[at]._replace(column=place) for place, at in enumerate(kept)) for line in judged.cells
    )
    return judged._replace(spec=spec, cells=cells), said


def align_digits(judged: JudgedTable) -> JudgedTable:
    """A table whose columns without published numbers have as many decimals in each row.

    Three digits of a column's middle number count, and two of its smallest. Where these are a hundred times
    as small as the largest, each number has its own digits.
    """
    wanted = [_column_digits(cells) for cells in zip(*judged.cells, strict=True)]
    cells = tuple(
        tuple(
            cell if digits is None else cell._replace(digits=digits)
            for cell, digits in zip(line, wanted, strict=True)
        )
        for line in judged.cells
    )
    return judged._replace(cells=cells)


def _column_digits(cells: Sequence[JudgedCell]) -> int | None:
    magnitudes = [abs(cell.estimate.value) for cell in cells if cell.estimate is not None]
    sizes = sorted(size for size in magnitudes if size > 0.0 and math.isfinite(size))
    if any(cell.published or cell.digits is not None for cell in cells) or len(sizes) < 2:
        return None
    if sizes[-1] >= WIDE * sizes[0] or all(size.is_integer() for size in sizes):
        return None
    middle = sizes[len(sizes) // 2]
    return max(0, 2 - math.floor(math.log10(middle)), 1 - math.floor(math.log10(sizes[0])))


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
