"""`kernel = ["6.12", "7.3"]` in [run]: the study on several kernels, written out as an axis.

Each table of numbers shows the kernels side by side, after one of the differences. Tables with
published numbers and figures of single runs are shown once for each kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cwndlab.base.errors import problem_at

from .added_axes import vary

Raw = dict[str, Any]

AXIS = "kernel"
#: The dotted key of the list.
KEY = "run.kernel"
_AT = ("run", AXIS)
#: Figures that draw numbers of cells; any other draws the records of single runs.
_OF_NUMBERS = ("line", "bar", "cdf", "ellipse")
#: What a column of published numbers has and one of differences does not.
_PUBLISHED = ("published", "published_scale", "rounding", "margin", "compared_as", "flag")


def listed_kernels(raw: Mapping[str, Any]) -> list[str]:
    """The kernels of a study that lists them; empty if it does not. StudyError for a list that is wrong."""
    run = raw.get("run")
    names = run.get(AXIS) if isinstance(run, Mapping) else None
    if not isinstance(names, list) or not _is_sound(raw):
        return []
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise problem_at(_AT, f"{names!r} does not fit", 'different names in quotes: ["6.12", "7.3"]')
    if AXIS in raw.get("axes", {}):
        raise problem_at(
            _AT, f"an axis {AXIS} is defined already", f"leave out [axes.{AXIS}], or name one kernel"
        )
    return names


def _is_sound(raw: Mapping[str, Any]) -> bool:
    """Whether what is written out here has the shape that it needs; what has not is an error elsewhere."""

    def tables(of: Mapping[str, Any], key: str) -> bool:
        parts = of.get(key, [])
        return isinstance(parts, list) and all(isinstance(part, Mapping) for part in parts)

    return (
        isinstance(raw.get("axes", {}), Mapping)
        and all(tables(raw, key) for key in ("grids", "tables", "figures", "marks"))
        and all(tables(table, "columns") for table in raw.get("tables", ()))
        and all({"id", "title"} <= one.keys() for key in ("tables", "figures") for one in raw.get(key, ()))
    )


def add_axis(raw: Raw, names: Sequence[str]) -> None:
    """Makes the list an axis, which every grid varies."""
    raw["run"] = {**raw["run"], AXIS: names[0]}
    vary(raw, AXIS, {"title": "kernel", "sets": KEY, "values": list(names)})


def show(raw: Raw, names: Sequence[str]) -> None:
    """Shows the kernels side by side in the study's tables and figures.

    The study's finding is left out: it states numbers of one.
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
    """The id of what is shown of one kernel."""
    return f"{of}-{name.replace('/', '-').strip('-')}"


def title_suffix(name: str) -> str:
    """What is added to the title of what is shown of one kernel."""
    return f" (kernel {name})"


def _of_kernel(part: Raw, name: str) -> Raw:
    """A table or a figure of one kernel."""
    title = f"{part['title']}{title_suffix(name)}"
    return {
        **part,
        "id": _id(part["id"], name),
        "title": title,
        "where": {**part.get("where", {}), AXIS: name},
    }


def _marks(mark: Raw, tables: Sequence[Raw], names: Sequence[str]) -> Iterator[Raw]:
    split = {table["id"] for table in tables if "published" in table}
    if mark.get("table") not in split:
        yield mark
        return
    for name in names:
        yield {**mark, "table": _id(mark["table"], name)}


def _tables(table: Raw, names: Sequence[str]) -> Iterator[Raw]:
    """What changes from the first kernel to the others, and then the kernels side by side."""
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
            "rows": [axis for axis in rows if axis != AXIS],
            "columns": columns,
        }
    if "published" in table:
        yield from (_of_kernel(table, name) for name in names)
    else:
        yield table if AXIS in rows else {**table, "rows": [*rows, AXIS]}


def _difference(column: Raw, name: str, first: str) -> Raw:
    """A column of what changes from the first kernel to another."""
    kept = {key: value for key, value in column.items() if key not in _PUBLISHED}
    group = ": ".join(part for part in (name, column.get("group")) if part)
    where = {**column.get("where", {}), AXIS: name}
    return {**kept, "group": group, "where": where, "compare": f'difference({AXIS}="{first}")'}


def _is_shared(figure: Raw) -> bool:
    """Whether one figure shows all kernels."""
    return figure.get("kind") in _OF_NUMBERS


def _figures(figure: Raw, names: Sequence[str]) -> Iterator[Raw]:
    if AXIS in (figure.get("x"), figure.get("panels"), *figure.get("series", ())):
        yield figure
    elif _is_shared(figure):
        yield {**figure, "series": [*figure.get("series", ()), AXIS]}
    else:
        yield from (_of_kernel(figure, name) for name in names)
