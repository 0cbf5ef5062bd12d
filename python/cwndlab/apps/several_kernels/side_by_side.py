"""Extends a study's tables and figures to several kernels.

Each table of numbers lists the kernels in adjacent rows, after a table of the changes. Tables with published
numbers and figures of single runs are repeated for each kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cwndlab.study.added_axes import KERNEL_AXIS, TITLE_SUFFIX

Raw = dict[str, Any]

#: Kinds of figures that draw numbers of cells; all others draw records of single runs.
_OF_NUMBERS = ("line", "bar", "cdf", "ellipse")
#: Keys of columns of published numbers that columns of differences cannot have.
_PUBLISHED = ("published", "published_scale", "rounding", "margin", "compared_as", "flag")


def show_kernels(raw: Raw, names: Sequence[str]) -> None:
    """Changes the study's tables and figures to show all kernels.

    The study's finding is removed, because it states numbers of one kernel.
    """
    raw.pop("finding", None)
    raw["marks"] = [
        mark for one in raw.get("marks", ()) for mark in _marks(one, raw.get("tables", ()), names)
    ]
    raw["tables"] = [table for one in raw.get("tables", ()) for table in _tables(one, names)]
    figures = raw.get("figures", ())
    raw["figures"] = [figure for one in figures for figure in _figures(one, names)]
    split = [figure["id"] for figure in figures if not _is_shared(figure)]
    if raw.get("key_figure") in split:
        raw["key_figure"] = _id(raw["key_figure"], names[0])
    for key in ("marks", "tables", "figures"):
        if not raw[key]:
            del raw[key]


def _id(of: str, name: str) -> str:
    """The id of the copy of a table or figure for one kernel."""
    return f"{of}-{name.replace('/', '-').strip('-')}"


def _show_kernel(part: Raw, name: str) -> Raw:
    """The copy of a table or a figure for one kernel."""
    title = f"{part['title']}{TITLE_SUFFIX.format(name)}"
    return {
        **part,
        "id": _id(part["id"], name),
        "title": title,
        "where": {**part.get("where", {}), KERNEL_AXIS: name},
    }


def _marks(mark: Raw, tables: Sequence[Raw], names: Sequence[str]) -> Iterator[Raw]:
    split = {table["id"] for table in tables if "published" in table}
    if mark.get("table") not in split:
        yield mark
        return
    for name in names:
        yield {**mark, "table": _id(mark["table"], name)}


def _tables(table: Raw, names: Sequence[str]) -> Iterator[Raw]:
    """A table of the changes from the first kernel to each other one, then the table with all kernels."""
    rows = table.get("rows", ())
    columns = [
        _difference(column, name, names[0])
        for name in names[1:]
        for column in table.get("columns", ())
        if not {"compare", "runs"} & column.keys()
    ]
    if columns:
        kept: Raw = {key: table[key] for key in ("about", "where") if key in table}
        yield {
            "id": f"{table['id']}-changes",
            "title": f"{table['title']}: the change from kernel {names[0]}",
            **kept,
            "rows": [axis for axis in rows if axis != KERNEL_AXIS],
            "columns": columns,
        }
    if "published" in table:
        yield from (_show_kernel(table, name) for name in names)
    else:
        yield table if KERNEL_AXIS in rows else {**table, "rows": [*rows, KERNEL_AXIS]}


def _difference(column: Raw, name: str, first: str) -> Raw:
    """A column with the change from the first kernel to another."""
    kept = {key: value for key, value in column.items() if key not in _PUBLISHED}
    group = ": ".join(part for part in (name, column.get("group")) if part)
    where = {**column.get("where", {}), KERNEL_AXIS: name}
    return {**kept, "group": group, "where": where, "compare": f'difference({KERNEL_AXIS}="{first}")'}


def _is_shared(figure: Raw) -> bool:
    """Whether a single figure can show all kernels."""
    return figure.get("kind") in _OF_NUMBERS


def _figures(figure: Raw, names: Sequence[str]) -> Iterator[Raw]:
    if KERNEL_AXIS in (figure.get("x"), figure.get("panels"), *figure.get("series", ())):
        yield figure
    elif _is_shared(figure):
        yield {**figure, "series": [*figure.get("series", ()), KERNEL_AXIS]}
    else:
        yield from (_show_kernel(figure, name) for name in names)
