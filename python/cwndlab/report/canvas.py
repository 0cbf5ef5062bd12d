"""What all charts have in common: Vega-Lite as JSON, sizes, colours and legends.

`report.drawing` draws them. Altair makes the same objects and shows them in notebooks, but importing it takes
longer than most small studies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any, TypeAlias

from cwndlab.report.drawing.marks import INK as INK
from cwndlab.study.outputs import Figure

Spec: TypeAlias = dict[str, Any]
"""A chart, or a part of one."""

_TYPES = {"Q": "quantitative", "N": "nominal"}


def field(name: str, **options: Any) -> Spec:
    """A channel that shows a field of the data: "time:Q" for numbers, "series:N" for names."""
    name, _, kind = name.partition(":")
    return {"field": name, "type": _TYPES[kind], **options}


def look_by_name(name: str, names: Sequence[str], looks: Sequence[Any], **options: Any) -> Spec:
    """A channel that gives each name one of `looks` (colours, dashes, shapes or widths), which may repeat."""
    shown = [looks[k % len(looks)] for k in range(len(names))]
    return field(name, scale={"domain": list(names), "range": shown}, **options)


def mark(kind: str, encoding: Spec, *, only: str = "", **options: Any) -> Spec:
    """A mark with its channels; `only` is a condition that the rows to show must meet."""
    shown = {"mark": {"type": kind, **options}, "encoding": encoding}
    return {**shown, "transform": [{"filter": only}]} if only else shown


def mark_chart(data: str, shown: Spec) -> Spec:
    """A chart of one mark, on the data set named `data`."""
    return {"data": {"name": data}, **shown}


def layer_chart(data: str, layers: Sequence[Spec]) -> Spec:
    """A chart of several marks on one data set, each on top of those before it."""
    return {"data": {"name": data}, "layer": list(layers)}


LOG: Spec = {"type": "log", "nice": False}

Row: TypeAlias = dict[str, Any]

WIDTH, HEIGHT, LOW, HIGH = 510, 290, 220, 440
"""The size of one panel in pixels; LOW: its height with more than two panels, HIGH: at the head of a page."""

WHOLE = 840
"""The width of all panels next to each other, in pixels."""

BROAD = 760
"""A figure wider than this in pixels, with its axes, gets the whole width of a page."""

NARROW = 300
"""The width of a panel for a telephone or a column of a page, in pixels."""

ROOM = 36
"""The width of the numbers on the y axis, in pixels."""

TITLE_Y, LINE = -8, 16
"""Where the title of the y axis ends above the panel, and the height of its lines, in pixels."""

LETTER, BOLD = 7, 9
"""The width of a letter of a label, and of one in bold type, roughly, in pixels."""

SYMBOL_GAP, COLUMN_GAP = 8, 22
"""The distance of a symbol in a legend from its label, and of the legend's columns, in pixels."""

PANELS = 12
"""Most panels of one figure, as more can no longer be compared by eye."""

CROWD = 200
"""In a panel with at least this many packets, marks are smaller."""


def stack(charts: Sequence[Spec], spec: Figure) -> Spec:
    """The panels of a figure, one below the other or in as many columns as it asks for."""
    if len(charts) > 2 and spec.height is None:
        charts = [{**chart, "height": LOW} for chart in charts]
    if len(charts) == 1:
        return charts[0]
    return {"concat": list(charts), "columns": spec.columns or 1, "spacing": 26}


def make_legend(
    labels: Mapping[str, str], symbol: str, spec: Figure, *, panels: int = 1, y_title: str = "one line"
) -> Spec | None:
    """A legend above the title of the y axis, in as many columns as its labels leave room for.

    A beginning that all labels share, as "file transfers: ", becomes its title.
    """
    if len(labels) < 2:
        return None
    head, short = _split_head(labels)
    # A line's symbol is long enough to tell its dashes in a print without colours.
    side = 28 if symbol == "stroke" else 10
    room = panel_width(spec) * (spec.columns or 1)
    lines = {name: wrap(label, (room - side) // LETTER) for name, label in short.items()}
    widths = [SYMBOL_GAP + side + LETTER * max(map(len, line)) for line in lines.values()]
    columns = _most_columns(widths, room)
    size = {"symbolType": symbol, "symbolSize": side**2, "symbolStrokeWidth": 2.5, "symbolOpacity": 1}
    # The legend of several panels is above their titles.
    offset = LINE * (1 + len(title_lines(y_title, spec))) if panels == 1 else LINE
    legend = {**size, "columns": columns, "columnPadding": COLUMN_GAP, "offset": offset, "labelLimit": room}
    if head:
        fits_in_line = (
            columns == len(labels) and sum(widths) + COLUMN_GAP * columns + LETTER * len(head) <= room
        )
        left = {"titleOrient": "left", "titleAnchor": "middle", "titlePadding": COLUMN_GAP}
        legend |= {"title": head, **(left if fits_in_line else {})}
    if all(lines[name] == [name] for name in labels):
        return legend
    return {**legend, "values": list(labels), "labelExpr": label_lines(lines)}


def _split_head(labels: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """The beginning before ": " that all labels share, and the labels without it."""
    heads = {label.partition(": ")[0] for label in labels.values()}
    rest = {name: label.partition(": ")[2] for name, label in labels.items()}
    if len(heads) > 1 or not all(rest.values()) or any(": " in label for label in rest.values()):
        return "", labels
    return heads.pop(), rest


def _most_columns(widths: Sequence[int], room: int) -> int:
    """The most columns in which entries of these widths (pixels) fit into the room."""
    for columns in range(len(widths), 1, -1):
        widest = [max(widths[k::columns]) for k in range(columns)]
        if sum(widest) + COLUMN_GAP * (columns - 1) <= room:
            return columns
    return 1


def label_lines(lines: Mapping[str, Sequence[str]]) -> str:
    """The expression by which Vega-Lite writes labels in several lines."""
    return f"{json.dumps(lines)}[datum.label]"


def named_axis(names: Sequence[str], spec: Figure) -> Spec:
    """An axis of names, each in as many lines as it needs; slanted if a word is wider than a name may be."""
    letters = panel_width(spec) // (LETTER * max(1, len(names)))
    if max((len(word) for name in names for word in name.split()), default=0) > letters + 1:
        return {"labelAngle": -35, "labelLimit": panel_height(spec) // 2}
    lines = {name: wrap(name, max(1, letters), break_long_words=False) for name in names}
    return {"labelAngle": 0, "labelLimit": panel_width(spec), "labelExpr": label_lines(lines)}


def in_columns(spec: Figure, panels: int) -> Figure:
    """The figure with as many columns as suit this number of panels, unless it says how many."""
    if spec.columns is not None or spec.width is not None or panels < 2:
        return spec
    return spec.model_copy(update={"columns": 2 if panels in (2, 4) else 3})


def at_head(spec: Figure) -> Figure:
    """The figure at the head of a page: higher than the others, unless it says how high it is."""
    if spec.height is not None or spec.panels is not None or spec.kind not in ("line", "bar", "cdf"):
        return spec
    return spec.model_copy(update={"height": HIGH})


def narrow_figure(spec: Figure) -> Figure:
    """The figure with its panels below each other, no wider than a telephone."""
    width = min(spec.width or NARROW, NARROW)
    height = min(spec.height or LOW, LOW)
    return spec.model_copy(update={"width": width, "height": height, "columns": 1})


def panel_width(spec: Figure) -> int:
    """The width of one panel in pixels: what the figure asks for, or what its columns leave."""
    columns = spec.columns or 1
    return spec.width or (WIDTH if columns == 1 else WHOLE // columns)


def panel_height(spec: Figure) -> int:
    """The height of one panel in pixels."""
    return spec.height or HEIGHT


def title_lines(title: str, spec: Figure) -> list[str]:
    """The lines in which a panel has room for a title."""
    return wrap(title, (panel_width(spec) + ROOM) // 7)


def flat_title(title: str, spec: Figure) -> Spec:
    """The title of a vertical axis, written horizontally above it in as many lines as it needs."""
    lines = title_lines(title, spec)
    return {"title": lines or None, "axis": {"titleY": TITLE_Y - LINE * (len(lines) - 1)}}


def panel_of_size(chart: Spec, title: str, spec: Figure) -> Spec:
    """A panel's chart with the panel's size in the figure and its title, in as many lines as it needs."""
    panel = {**chart, "width": panel_width(spec), "height": panel_height(spec)}
    return {**panel, "title": wrap(title, (panel_width(spec) + ROOM) // BOLD)} if title else panel
