"""Draws marks as SVG: lines, points, rules, areas, bars and text of one layer of a chart."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeAlias

from .scales import Band, Numbers
from .text import SMALL, tenths, text_element

Row: TypeAlias = dict[str, Any]
Spec: TypeAlias = dict[str, Any]

#: The value that stands for `currentColor`, the page's text colour, which Vega-Lite cannot name.
INK = "#010203"
#: The default colour, and the default area of a point in square pixels.
_COLOUR, _POINT_SIZE = "#4c78a8", 30
#: Matches a condition on rows: `datum.field === 'word'` or `datum.field <= number`.
_CONDITION = re.compile(r"datum\.(\w+) (?:=== '([^']*)'|<= (-?[\d.e+]+))")


class Layer(NamedTuple):
    """A kind of mark, its channels, and the rows that it shows."""

    kind: str
    options: Spec
    channels: Spec
    rows: Sequence[Row]

    @classmethod
    def from_spec(cls, spec: Spec, rows: Sequence[Row]) -> Layer:
        """The layer of a chart in Vega-Lite, with the rows that its conditions select."""
        for step in spec.get("transform", ()):
            rows = [row for row in rows if _holds(step["filter"], row)]
        return cls(spec["mark"]["type"], spec["mark"], spec["encoding"], rows)

    def values(self, channel: str) -> list[float]:
        """The finite numbers along x or y, including those of `x2` or `y2`."""
        names = [
            self.channels[c]["field"] for c in (channel, f"{channel}2") if "field" in self.channels.get(c, {})
        ]
        cells = (row.get(name) for name in names for row in self.rows)
        return [float(v) for v in cells if isinstance(v, int | float) and math.isfinite(v)]

    def look(self, channel: str, row: Row) -> Any:
        """The colour, dashes or shape of a row's mark; None without such a channel."""
        spec = self.channels.get(channel)
        if spec is None:
            return None
        scale = spec["scale"]
        return scale["range"][scale["domain"].index(row[spec["field"]])]


def _holds(condition: str, row: Row) -> bool:
    match = _CONDITION.fullmatch(condition)
    assert match is not None, condition
    value = row[match[1]]
    return bool(value <= float(match[3]) if match[2] is None else value == match[2])


def paint(colour: str) -> str:
    """A colour as an SVG attribute's value."""
    return "currentColor" if colour == INK else escape(colour)


class Places(NamedTuple):
    """The scales of a panel, which give the pixels of a layer's rows."""

    x: Numbers | Band
    y: Numbers
    #: The scale of the bars of several series within the band of one x value; None for single bars.
    within: Band | None = None

    def along_x(self, layer: Layer, row: Row) -> float:
        """The pixel along x at the middle of a row's mark."""
        left = self.left(layer, row)
        if left is None:
            return _place(self.x, layer.channels["x"], row)
        assert isinstance(self.x, Band)
        return left + (self.within.width if self.within else self.x.width) / 2

    def left(self, layer: Layer, row: Row) -> float | None:
        """The pixel of the left edge of a row's bar; None if x is not a scale of bars."""
        spec = layer.channels["x"]
        if not isinstance(self.x, Band) or "field" not in spec or self.x.inner == 1:
            return None
        left = self.x.left(row[spec["field"]])
        offset = layer.channels.get("xOffset")
        return left + (self.within.left(row[offset["field"]]) if self.within and offset else 0.0)

    def along_y(self, layer: Layer, row: Row, channel: str = "y") -> float:
        """The pixel of a row's mark along y."""
        own = layer.channels["y"]
        spec = layer.channels[channel]
        return float(row[spec["field"]]) if own.get("scale", {}) is None else _place(self.y, spec, row)


def _place(scale: Numbers | Band, spec: Spec, row: Row) -> float:
    return float(spec["value"]) if "value" in spec else scale.place(row[spec["field"]])


def is_shown(layer: Layer, row: Row) -> bool:
    """Whether all coordinates of a row exist and are finite."""
    for channel in ("x", "y", "y2"):
        name = layer.channels.get(channel, {}).get("field")
        value = row.get(name) if name else 0
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return False
    return True


def draw_layer(layer: Layer, places: Places) -> str:
    """The SVG of a layer's marks, as a group; "" without marks."""
    rows = [row for row in layer.rows if is_shown(layer, row)]
    marks = "".join(_KINDS[layer.kind](layer, rows, places))
    if not marks:
        return ""
    opacity = layer.options.get("opacity", 1)
    names = _OPACITY[layer.kind] if opacity != 1 else ()
    look = "".join(_attribute(name, opacity) for name in names)
    return f'<g class="{layer.kind}"{look}>{marks}</g>'


def _attribute(name: str, value: object) -> str:
    return "" if value is None else f' {name}="{escape(str(value))}"'


def _groups(layer: Layer, rows: Iterable[Row]) -> list[list[Row]]:
    """The rows of each line or area: rows with the same look and the same value of `detail`."""
    names = [layer.channels[c]["field"] for c in ("color", "strokeDash", "detail") if c in layer.channels]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    order = layer.channels.get("order")
    if order is not None:
        return [sorted(group, key=lambda row: row[order["field"]]) for group in groups.values()]
    return list(groups.values())


def _stroke(layer: Layer, row: Row) -> str:
    colour = layer.look("color", row) or layer.options.get("color", _COLOUR)
    return stroke_attributes(colour, layer.options.get("strokeWidth", 1), layer.look("strokeDash", row))


def stroke_attributes(colour: str, width: float, dashes: Sequence[float] | None) -> str:
    """The SVG attributes of a line; dashes without gaps are drawn solid."""
    dash = ",".join(map(str, dashes)) if dashes and dashes[1] else None
    return f' stroke="{paint(colour)}" stroke-width="{width}"{_attribute("stroke-dasharray", dash)}'


def _lines(layer: Layer, rows: Sequence[Row], places: Places) -> Iterable[str]:
    step = layer.options.get("interpolate") == "step-after"
    for group in _groups(layer, rows):
        points = [(places.along_x(layer, row), places.along_y(layer, row)) for row in group]
        if "order" not in layer.channels:
            points.sort(key=lambda point: point[0])
        yield f'<path fill="none" d="{polyline(points, step=step)}"{_stroke(layer, group[0])}/>'


def _areas(layer: Layer, rows: Sequence[Row], places: Places) -> Iterable[str]:
    for group in _groups(layer, rows):
        ends = [
            (places.along_x(layer, row), places.along_y(layer, row), places.along_y(layer, row, "y2"))
            for row in group
        ]
        ends.sort()
        around = [(x, y) for x, y, _ in ends] + [(x, y) for x, _, y in reversed(ends)]
        colour = layer.look("color", group[0]) or layer.options.get("color", _COLOUR)
        yield f'<path d="{polyline(around)}Z" fill="{paint(colour)}"/>'


def _rules(layer: Layer, rows: Sequence[Row], places: Places) -> Iterable[str]:
    for row in rows:
        x, y = places.along_x(layer, row), places.along_y(layer, row)
        x2 = float(layer.channels["x2"]["value"]) if "x2" in layer.channels else x
        y2 = places.along_y(layer, row, "y2") if "y2" in layer.channels else y
        yield f'<path d="{polyline([(x, y), (x2, y2)])}"{_stroke(layer, row)}/>'


def _points(layer: Layer, rows: Sequence[Row], places: Places) -> Iterable[str]:
    size = layer.options.get("size", _POINT_SIZE)
    for row in rows:
        colour = layer.look("color", row) or layer.options.get("color", _COLOUR)
        at = f"translate({tenths(places.along_x(layer, row))},{tenths(places.along_y(layer, row))})"
        yield symbol(layer.look("shape", row) or "circle", size, colour, at)


def symbol(shape: str, size: float, colour: str, at: str) -> str:
    """The SVG of a point of `size` square pixels; `shape` is "circle", or a path in a square from -1 to 1."""
    if shape == "circle":
        radius = tenths(math.sqrt(size) / 2)
        path = f"M{radius},0A{radius},{radius},0,1,1,-{radius},0A{radius},{radius},0,1,1,{radius},0"
    else:
        half = math.sqrt(size) / 2
        path = _scaled(shape, half)
    return f'<path transform="{at}" d="{path}" fill="{paint(colour)}"/>'


_WORD = re.compile(r"([A-Z])|(-?(?:\d+\.?\d*|\.\d+))")


def _scaled(shape: str, factor: float) -> str:
    """A path of absolute commands scaled by a factor, except the flags and rotations of arcs."""
    path, arc = "", -1
    for command, number in _WORD.findall(shape):
        if command:
            path, arc = path + command, 0 if command == "A" else -1
            continue
        keep = arc % 7 in (2, 3, 4)  # outside an arc, arc % 7 is 6
        text = number if keep else f"{float(number) * factor:.2f}".rstrip("0").rstrip(".")
        path += ("," if path and not path[-1].isalpha() else "") + text
        arc += arc >= 0
    return path


def _bars(layer: Layer, rows: Sequence[Row], places: Places) -> Iterable[str]:
    stacked: dict[object, float] = {}
    order = layer.channels.get("order")
    is_stack = "color" in layer.channels and "xOffset" not in layer.channels and order is not None
    for row in sorted(rows, key=lambda row: row[order["field"]]) if order else rows:
        name, value = row[layer.channels["x"]["field"]], float(row[layer.channels["y"]["field"]])
        base = stacked.get(name, 0.0) if is_stack else 0.0
        stacked[name] = base + value
        left = places.left(layer, row)
        assert left is not None and isinstance(places.x, Band)
        width = (places.within or places.x).width
        if places.within is None and "xOffset" in layer.channels:
            width = places.x.width
        top, bottom = sorted((places.y.place(base + value), places.y.place(base)))
        fill = layer.look("fill", row) or layer.look("color", row) or layer.options.get("color", _COLOUR)
        stroke = layer.look("stroke", row) or layer.options.get("stroke")
        edge = f' stroke="{paint(stroke)}"' if stroke else ""
        edge += _attribute("stroke-width", layer.options.get("strokeWidth")) if stroke else ""
        box = f"M{tenths(left)},{tenths(top)}h{tenths(width)}v{tenths(bottom - top)}h{tenths(-width)}Z"
        shown = "none" if fill == "transparent" else paint(fill)
        yield f'<path d="{box}" fill="{shown}"{edge}/>'


def _texts(layer: Layer, rows: Sequence[Row], places: Places) -> Iterable[str]:
    size = layer.options.get("fontSize", SMALL)
    for row in rows:
        x, y = places.along_x(layer, row), places.along_y(layer, row) + 0.3 * size
        yield text_element(str(row[layer.channels["text"]["field"]]), x, y, size=size)


#: The SVG attributes that set the opacity of each mark, so that overlapping marks remain visible.
_OPACITY = {
    "line": ("stroke-opacity",),
    "rule": ("stroke-opacity",),
    "area": ("fill-opacity",),
    "point": ("fill-opacity",),
    "bar": ("fill-opacity", "stroke-opacity"),
    "text": ("fill-opacity",),
}
_KINDS: dict[str, Callable[[Layer, Sequence[Row], Places], Iterable[str]]] = {
    "line": _lines,
    "area": _areas,
    "rule": _rules,
    "point": _points,
    "bar": _bars,
    "text": _texts,
}


def polyline(points: Sequence[tuple[float, float]], *, step: bool = False) -> str:
    """A path through points in relative steps of a tenth of a pixel; `step`: each step goes along x first."""
    pixels = [(round(10 * x), round(10 * y)) for x, y in points]
    if step:
        corners = (((x, above), (x, y)) for (_, above), (x, y) in pairwise(pixels))
        pixels = [*pixels[:1], *chain.from_iterable(corners)]
    parts = [f"M{tenths(x / 10)},{tenths(y / 10)}" for x, y in pixels[:1]]
    for (left, above), (x, y) in pairwise(pixels):
        dx, dy = x - left, y - above
        if dx and dy:
            parts.append(f"l{tenths(dx / 10)},{tenths(dy / 10)}")
        elif dx:
            parts.append(f"h{tenths(dx / 10)}")
        elif dy:
            parts.append(f"v{tenths(dy / 10)}")
    return "".join(parts)
