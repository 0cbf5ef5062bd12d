"""Formats numbers, intervals and columns for reports, with as many digits as their uncertainty allows."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from cwndlab.base.writing import join_words
from cwndlab.stats.intervals import Interval
from cwndlab.stats.tables import JudgedCell, JudgedTable
from cwndlab.stats.verdict import decimals

MINUS = "\N{MINUS SIGN}"
#: The most significant digits of an interval's ends; narrower intervals are described in words.
MOST_DIGITS = 6


def with_true_minus(text: str) -> str:
    """A number's text with a true minus sign."""
    return text.replace("-", MINUS)


def number(value: float, digits: int | None = None) -> str:
    """A number with `digits` decimals; by default with three significant digits."""
    if math.isnan(value):
        return "n/a"
    if math.isinf(value):
        return with_true_minus(str(value))
    if digits is None:
        if value and not 1e-4 <= abs(value) < 1e6:
            return with_true_minus(f"{value:.2e}")
        if value == int(value):
            return with_true_minus(str(int(value)))
        digits = max(0, 2 - math.floor(math.log10(abs(value))))
    rounded = f"{value:.{digits}f}"
    return with_true_minus(rounded.lstrip("-") if float(rounded) == 0.0 else rounded)


def interval_text(interval: Interval, digits: int | None) -> str:
    """The text of a 95 % interval; "exact" without randomness; the reason if there is no interval."""
    if interval.exact:
        return "exact"
    if math.isnan(interval.low):
        if interval.method.startswith("no spread"):
            return f"equal in {interval.n} runs"
        return "one run" if interval.n == 1 else "no interval"
    if digits is None:
        scale = max(abs(interval.low), abs(interval.high))
        if scale < 1e-4:  # decimals would begin with many zeros; `number` writes powers of ten
            return f"{number(interval.low)} … {number(interval.high)}"
        digits = max(0, 2 - math.floor(math.log10(scale)))
    width = interval.high - interval.low
    # Add digits while the interval would look like a point, up to a limit.
    most = _count_decimals(max(abs(interval.low), abs(interval.high)))
    while width > 0 and width < 2 * 10.0**-digits and digits < most:
        digits += 1
    ends = [number(end, digits) for end in (interval.low, interval.high)]
    if width > 0 and ends[0] == ends[1]:
        return f"equal to {MOST_DIGITS} digits in {interval.n} runs"
    if interval.low > 0 or interval.high < 0:  # no end may be shown as 0 if the interval excludes 0
        zeros = [float(end.replace(MINUS, "-")) == 0 for end in ends]
        ends = [number(interval.low) if zeros[0] else ends[0], number(interval.high) if zeros[1] else ends[1]]
    return " … ".join(ends)


def _count_decimals(scale: float) -> int:
    """The number of decimals that gives a number of this size `MOST_DIGITS` significant digits."""
    return min(9, max(0, MOST_DIGITS - 1 - math.floor(math.log10(scale)))) if scale else 9


def estimate_text(interval: Interval, digits: int | None = None) -> str:
    """The text of an interval's value, with more digits if rounding would move it out of the interval."""
    text = number(interval.value, digits)
    if not interval.low < interval.high or "e" in text:
        return text
    shown = interval_text(interval, digits)
    if " … " not in shown:
        return text
    ends = [float(end.replace(MINUS, "-")) for end in shown.split(" … ")]
    more = decimals(text)
    while not ends[0] <= float(text.replace(MINUS, "-")) <= ends[1] and more < 9:
        more += 1
        text = number(interval.value, more)
    return text


def percent(relative: float) -> str:
    """A relative difference in percent, with its sign; "" for NaN."""
    if math.isnan(relative):
        return ""
    if abs(relative) < 0.0005:
        return "±0 %"
    digits = 1 if abs(relative) < 0.1 else 0
    return with_true_minus(f"{100 * relative:+.{digits}f} %")


def difference(seconds: float) -> str:
    """A time difference (s) as text in milliseconds, with its sign."""
    ms = 1000 * seconds
    return "±0.0 ms" if abs(ms) < 0.05 else with_true_minus(f"{ms:+.1f} ms")


def space_unit(quantity: str) -> str:
    """A value of a study file, such as "1.5Mbps", with a space before the unit."""
    return re.sub(r"^(\d[\d.]*)([A-Za-z])", r"\1 \2", quantity)


# ── the columns of a table: which are left out, and how many decimals each has ─────────────────────────────

WIDE = 100.0
"""If numbers of a column differ by at least this factor, each has its own number of decimals."""


def leave_out_columns(judged: JudgedTable) -> tuple[JudgedTable, list[str]]:
    """A table without its empty or constant columns, and remarks on the columns that were left out.

    A table with a single row, or with published numbers, keeps all columns.
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
    remarks = [f"Not measured in any cell: {join_words([titles[at] for at in empty])}."] if empty else []
    if equal:
        values = "; ".join(f"{titles[at]}: {text}" for at, text in equal.items())
        remarks.append(f"The same in all cells and runs: {values}.")
    spec = judged.spec.model_copy(update={"columns": [specs[at] for at in kept]})
    cells = tuple(
        tuple(line[at]._replace(column=place) for place, at in enumerate(kept)) for line in judged.cells
    )
    return judged._replace(spec=spec, cells=cells), remarks


def align_digits(judged: JudgedTable) -> JudgedTable:
    """A table whose columns without published numbers have the same number of decimals in every row.

    The decimals show three significant digits of a column's middle number, and two of its smallest. If the
    largest number is at least a hundred times the smallest, each number has its own decimals.
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
    """The value that all cells and runs share, with its interval; "" if they differ."""
    texts = set()
    for cell in cells:
        interval = cell.estimate.interval if cell.estimate is not None else None
        if interval is None or not (interval.exact or interval.equal_runs):
            return ""
        around = f" ({interval_text(interval, cell.digits)})" if interval.low < interval.high else ""
        texts.add(estimate_text(interval, cell.digits) + around)
    return texts.pop() if len(texts) == 1 else ""
