"""Building blocks of all charts: parts of Vega-Lite as JSON, sizes, colours and legends.

`report.drawing` draws the charts. Altair makes the same objects and shows them in notebooks, but importing it
takes longer than most small studies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any, TypeAlias

from cwndlab.report.drawing.marks import INK as INK
from cwndlab.study.outputs import Figure

Spec: TypeAlias = dict[str, Any]
"""A chart in Vega-Lite, or a part of a chart, as JSON."""

_TYPES = {"Q": "quantitative", "N": "nominal"}


def field(name: str, **options: Any) -> Spec:
    """A Vega-Lite channel for a field of the data: "time:Q" is a field of numbers, "series:N" of names."""
    name, _, kind = name.partition(":")
    return {"field": name, "type": _TYPES[kind], **options}


def look_by_name(name: str, names: Sequence[str], looks: Sequence[Any], **options: Any) -> Spec:
    """A channel that gives each name one of `looks` (colours, dashes, shapes or widths), cyclically."""
    shown = [looks[k % len(looks)] for k in range(len(names))]
    return field(name, scale={"domain": list(names), "range": shown}, **options)


def mark(kind: str, encoding: Spec, *, only: str = "", **options: Any) -> Spec:
    """A mark with its channels; `only` is a condition on rows: others are not shown."""
    shown = {"mark": {"type": kind, **options}, "encoding": encoding}
    return {**shown, "transform": [{"filter": only}]} if only else shown


def mark_chart(data: str, shown: Spec) -> Spec:
    """A chart with one mark for the rows of the data set named `data`."""
    return {"data": {"name": data}, **shown}


def layer_chart(data: str, layers: Sequence[Spec]) -> Spec:
    """A chart with several marks for one data set, the last one on top."""
    return {"data": {"name": data}, "layer": list(layers)}


LOG: Spec = {"type": "log", "nice": False}

Row: TypeAlias = dict[str, Any]

WIDTH, HEIGHT, LOW, HIGH = 510, 290, 220, 440
"""The size of a panel in pixels. LOW: its height with more than two panels; HIGH: at a page's head."""

WHOLE = 840
"""The width of all panels side by side, in pixels."""

BROAD = 760
"""Figures wider than this, in pixels and including axes, get the full width of a page."""

NARROW = 300
"""The width of a panel on a phone or in a column of a page, in pixels."""

ROOM = 36
"""The width of the tick labels on the y axis, in pixels."""

TITLE_Y, LINE = -8, 16
"""The lower end of the y axis's title relative to the panel's top, and the height of its lines, in pixels."""

LETTER, BOLD = 7, 9
"""The approximate width of a letter in labels and in bold type, in pixels."""

SYMBOL_GAP, COLUMN_GAP = 8, 22
"""The gap between a symbol and its label in a legend, and between the legend's columns, in pixels."""

PANELS = 12
"""The most panels of a figure; more are hard to compare by eye."""

CROWD = 200
"""A panel with at least this many packets has smaller marks."""


def stack(charts: Sequence[Spec], spec: Figure) -> Spec:
    """The panels of a figure, one below the other or in the figure's number of columns."""
    if len(charts) > 2 and spec.height is None:
        charts = [{**chart, "height": LOW} for chart in charts]
    if len(charts) == 1:
        return charts[0]
    return {"concat": list(charts), "columns": spec.columns or 1, "spacing": 26}


def make_legend(
    labels: Mapping[str, str], symbol: str, spec: Figure, *, panels: int = 1, y_title: str = "one line"
) -> Spec | None:
    """A legend above the y axis's title, in as many columns as fit; None for fewer than two labels.

    A beginning that all labels share, such as "file transfers: ", becomes the legend's title.
    """
    if len(labels) < 2:
        return None
    head, short = _split_head(labels)
    # A line's symbol is long enough to show its dashes in a print without colours.
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
    """The beginning that all labels share, up to ": " ("" if none), and the labels without the beginning."""
    heads = {label.partition(": ")[0] for label in labels.values()}
    rest = {name: label.partition(": ")[2] for name, label in labels.items()}
    if len(heads) > 1 or not all(rest.values()) or any(": " in label for label in rest.values()):
        return "", labels
    return heads.pop(), rest


def _most_columns(widths: Sequence[int], room: int) -> int:
    """The largest number of columns in which entries of these widths fit, in pixels."""
    for columns in range(len(widths), 1, -1):
        widest = [max(widths[k::columns]) for k in range(columns)]
        if sum(widest) + COLUMN_GAP * (columns - 1) <= room:
            return columns
    return 1


def label_lines(lines: Mapping[str, Sequence[str]]) -> str:
    """A Vega-Lite expression that splits each label into its lines."""
    return f"{json.dumps(lines)}[datum.label]"


def named_axis(names: Sequence[str], spec: Figure) -> Spec:
    """An axis of names, wrapped into lines; slanted if a word is wider than the space for a name."""
    letters = panel_width(spec) // (LETTER * max(1, len(names)))
    if max((len(word) for name in names for word in name.split()), default=0) > letters + 1:
        return {"labelAngle": -35, "labelLimit": panel_height(spec) // 2}
    lines = {name: wrap(name, max(1, letters), break_long_words=False) for name in names}
    return {"labelAngle": 0, "labelLimit": panel_width(spec), "labelExpr": label_lines(lines)}


def in_columns(spec: Figure, panels: int) -> Figure:
    """The figure with the default number of columns for its panels, unless it states the number."""
    if spec.columns is not None or spec.width is not None or panels < 2:
        return spec
    return spec.model_copy(update={"columns": 2 if panels in (2, 4) else 3})


def at_head(spec: Figure) -> Figure:
    """The figure for the head of a page: higher than others, unless it states its height."""
    if spec.height is not None or spec.panels is not None or spec.kind not in ("line", "bar", "cdf"):
        return spec
    return spec.model_copy(update={"height": HIGH})


def narrow_figure(spec: Figure) -> Figure:
    """The figure with its panels below each other, no wider than a phone."""
    width = min(spec.width or NARROW, NARROW)
    height = min(spec.height or LOW, LOW)
    return spec.model_copy(update={"width": width, "height": height, "columns": 1})


def panel_width(spec: Figure) -> int:
    """The width of one panel in pixels: the figure's own, or its share of the columns' width."""
    columns = spec.columns or 1
    return spec.width or (WIDTH if columns == 1 else WHOLE // columns)


def panel_height(spec: Figure) -> int:
    """The height of one panel in pixels."""
    return spec.height or HEIGHT


def title_lines(title: str, spec: Figure) -> list[str]:
    """A title wrapped to the width of a panel, as lines."""
    return wrap(title, (panel_width(spec) + ROOM) // 7)


def flat_title(title: str, spec: Figure) -> Spec:
    """The title of a vertical axis, written horizontally above the axis and wrapped into lines."""
    lines = title_lines(title, spec)
    return {"title": lines or None, "axis": {"titleY": TITLE_Y - LINE * (len(lines) - 1)}}


def panel_of_size(chart: Spec, title: str, spec: Figure) -> Spec:
    """A panel's chart in the figure's panel size, with the title wrapped into lines."""
    panel = {**chart, "width": panel_width(spec), "height": panel_height(spec)}
    return {**panel, "title": wrap(title, (panel_width(spec) + ROOM) // BOLD)} if title else panel
