"""Draws a chart as SVG: a legend, and below it panels with axes, in one or several columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from .legend import Legend, label_texts
from .marks import Layer, Places, Row, Spec, draw_layer
from .scales import BAR_GAP, GROUP_GAP, Band, Numbers, domain_scale, format_number, point_scale
from .text import LARGE, SMALL, shorten, tenths, text_element, text_lines, text_width

#: Pixels around a chart, between panels, between labels and their axis, and below a title.
_EDGE, _BETWEEN, _PADDING, _BELOW = 5, 26, 6, 8
#: The height of a line of labels, and of titles, in pixels.
_LABEL_LINE, _TITLE_LINE = 14, 16
#: The least space left of a panel in pixels; the title of the vertical axis starts there.
_LEFT = 36
#: The average distance between ticks along x and y, in pixels.
_PER_TICK = 40
_GRID, _AXIS = "#8888884d", "#888888"
_FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"


def draw_svg(chart: Spec, rows: Mapping[str, Sequence[Row]]) -> str:
    """The SVG of a chart in Vega-Lite: marks in layers, panels in `concat`.

    Args:
        chart: a chart that `report.canvas` made.
        rows: the data sets that the chart names.
    Axes and text are in `currentColor`.

    """
    panels = [Panel(spec, rows) for spec in chart.get("concat", [chart])]
    columns = chart.get("columns", 1) if len(panels) > 1 else 1
    lefts = [max(panel.left for panel in panels[k::columns]) for k in range(min(columns, len(panels)))]
    rights = [max(panel.width + panel.right for panel in panels[k::columns]) for k in range(len(lefts))]
    width = 2 * _EDGE + sum(lefts) + sum(rights) + _BETWEEN * (len(lefts) - 1)
    legend = Legend.from_layers([layer for panel in panels for layer in panel.layers])
    elements: list[str] = []
    top = float(_EDGE)
    alone = len(panels) == 1
    if alone:  # the title of a single panel is above the legend
        elements += panels[0].draw_title(_EDGE, top)
        top += panels[0].title_height
    if legend is not None:
        entries, height = legend.draw(width - 2 * _EDGE)
        at = f"translate({_EDGE},{tenths(top)})"
        elements.append(f'<g class="legend" transform="{at}">{"".join(entries)}</g>')
        top += height + 2 * _BELOW
    for start in range(0, len(panels), columns):
        row = panels[start : start + columns]
        above = max(panel.above + (0 if alone else panel.title_height) for panel in row)
        x = float(_EDGE)
        for k, panel in enumerate(row):
            x += lefts[k]
            if not alone:
                elements += panel.draw_title(x - _LEFT, top)
            elements.append(panel.draw(x, top + above, f"clip{start + k}"))
            x += rights[k] + _BETWEEN
        top += above + max(panel.height + panel.below for panel in row)
        top += _BETWEEN if start + columns < len(panels) else _EDGE
    size = f'width="{round(width)}" height="{round(top)}" viewBox="0 0 {round(width)} {round(top)}"'
    look = f'font-family="{_FONT}" font-size="{SMALL}px" fill="currentColor"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {look}>{"".join(elements)}</svg>'


def _layers(spec: Spec, rows: Mapping[str, Sequence[Row]], data: str = "") -> Iterator[Layer]:
    """Yields the layers of a panel; a layer without a data set uses that of the enclosing layer."""
    data = spec.get("data", {"name": data})["name"]
    if "layer" not in spec:
        yield Layer.from_spec(spec, rows[data])
    for inner in spec.get("layer", ()):
        yield from _layers(inner, rows, data)


class Panel:
    """One panel with its axes and titles, in coordinates whose origin is the panel's top left corner."""

    def __init__(self, spec: Spec, rows: Mapping[str, Sequence[Row]]) -> None:
        self.width: int = spec["width"]
        self.height: int = spec["height"]
        title = spec.get("title") or []
        self._title: list[str] = [title] if isinstance(title, str) else title
        self.layers = list(_layers(spec, rows))
        #: The layers whose marks follow the axes; other layers state positions in pixels.
        self._scaled = [layer for layer in self.layers if layer.channels["y"].get("scale", {}) is not None]

    def _channel(self, name: str) -> Spec:
        """The panel's channel x or y, merged from its layers; of each key, the first layer's value."""
        merged: Spec = {}
        for layer in self._scaled:
            merged = {**layer.channels.get(name, {}), **merged}
        return merged

    @cached_property
    def _x(self) -> Spec:
        return self._channel("x")

    @cached_property
    def _y(self) -> Spec:
        return self._channel("y")

    @cached_property
    def places(self) -> Places:
        """The scales of the panel's axes."""
        y_values = [v for layer in self._scaled for v in layer.values("y")]
        if any(layer.kind == "bar" for layer in self._scaled):
            y_values = [*y_values, *self._stacks()]
        y = domain_scale(y_values, self._y.get("scale") or {}, span=(self.height, 0))
        if self._x["type"] != "nominal":
            values = [v for layer in self._scaled for v in layer.values("x")]
            return Places(domain_scale(values, self._x.get("scale") or {}, span=(0, self.width)), y)
        used = [str(row[layer.channels["x"]["field"]]) for layer in self._scaled for row in layer.rows]
        names = [str(name) for name in self._x.get("sort", ()) if name in used] or list(dict.fromkeys(used))
        if not any(layer.kind == "bar" for layer in self._scaled):
            return Places(point_scale(names, 0, self.width), y)
        offset = self._channel("xOffset")
        if not offset:
            return Places(Band(names, 0, self.width, BAR_GAP, BAR_GAP / 2), y)
        groups = Band(names, 0, self.width, GROUP_GAP, GROUP_GAP)
        series = [str(name) for name in offset["sort"]]
        return Places(groups, y, Band(series, 0, groups.width, offset["scale"]["paddingInner"], 0.0))

    def _stacks(self) -> list[float]:
        """The heights of stacked bars, in the unit of the data."""
        heights: dict[object, float] = {}
        for layer in self._scaled:
            if layer.kind == "bar" and "order" in layer.channels:
                for row in layer.rows:
                    name = row[layer.channels["x"]["field"]]
                    heights[name] = heights.get(name, 0.0) + float(row[layer.channels["y"]["field"]])
        return list(heights.values())

    # ── axes ────────────────────────────────────────────

    def _ticks(self, spec: Spec, scale: Numbers, pixels: int) -> list[tuple[float, str]]:
        """The ticks of a numeric axis, each with its label."""
        axis = spec.get("axis") or {}
        count = -(-pixels // _PER_TICK)
        ticks = axis.get("values") or scale.ticks(count, axis.get("tickMinStep", 0.0))
        if "format" in axis:
            return [(v, format_number(v, axis["format"])) for v in ticks]
        return list(zip(ticks, scale.labels(ticks, count), strict=True))

    @cached_property
    def _y_ticks(self) -> list[tuple[float, str]]:
        """The pixel and the label of each tick along y; a label too close to the one below is ""."""
        kept: list[tuple[float, str]] = []
        last = float("inf")
        for value, text in self._ticks(self._y, self.places.y, self.height):
            at = self.places.y.place(value)
            is_free = last - at >= SMALL + 1
            kept.append((at, text if is_free else ""))
            last = at if text and is_free else last
        return kept

    @cached_property
    def _x_labels(self) -> list[tuple[float, list[str]]]:
        """The pixel and the lines of each label along x, without labels too close to the previous one."""
        axis, scale = self._x.get("axis") or {}, self.places.x
        if isinstance(scale, Band):
            texts = label_texts(axis.get("labelExpr"), scale.names)
            limit = axis.get("labelLimit", 180)
            labels = [(scale.place(name), [shorten(t, limit) for t in texts[name]]) for name in scale.names]
        else:
            ticks = self._ticks(self._x, scale, self.width)
            labels = [(scale.place(value), [text]) for value, text in ticks if text]
        if axis.get("labelAngle") or (isinstance(scale, Band) and not axis.get("labelOverlap")):
            return labels
        return _apart(labels)

    @cached_property
    def _x_depth(self) -> float:
        """The height of the labels along x below the panel, in pixels."""
        turned = -float((self._x.get("axis") or {}).get("labelAngle", 0))
        if turned:
            longest = max((text_width(line) for _, lines in self._x_labels for line in lines), default=0.0)
            return _PADDING + 0.6 * longest + SMALL
        return _PADDING + _LABEL_LINE * max((len(lines) for _, lines in self._x_labels), default=0)

    @property
    def _titles(self) -> tuple[list[str], list[str]]:
        """The titles along x and y, each as lines."""
        titles = []
        for spec in (self._x, self._y):
            title = spec.get("title") or []
            titles.append([title] if isinstance(title, str) else list(title))
        return titles[0], titles[1]

    # ── space around the panel ────────────────────────────────────────────

    @property
    def left(self) -> float:
        """The width needed left of the panel, in pixels: for labels along y, and slanted ones along x."""
        labels = max((text_width(text) for _, text in self._y_ticks), default=0.0)
        turned = (self._x.get("axis") or {}).get("labelAngle", 0)
        hanging = max(
            (0.82 * text_width(lines[0]) - at for at, lines in self._x_labels if turned and lines),
            default=0.0,
        )
        return max(_LEFT, labels + _PADDING, hanging)

    @property
    def right(self) -> float:
        """The width needed right of the panel, in pixels: labels along x, names at the ends of lines."""
        beyond = [0.0]
        if not (self._x.get("axis") or {}).get("labelAngle"):
            halves = [(at, max(map(text_width, lines), default=0.0) / 2) for at, lines in self._x_labels]
            beyond += [at + half - self.width for at, half in halves]
        for layer in self.layers:
            if layer.kind == "text":
                size = layer.options.get("fontSize", SMALL)
                names = (str(row[layer.channels["text"]["field"]]) for row in layer.rows)
                longest = max((text_width(name, size) for name in names), default=0.0)
                beyond.append(layer.channels["x"]["value"] + longest - self.width)
        return max(beyond)

    @property
    def title_height(self) -> float:
        """The height of the panel's title in pixels, with the gap below it."""
        return _TITLE_LINE * len(self._title) + (_BELOW if self._title else 0)

    @property
    def above(self) -> float:
        """The height of the vertical axis's title in pixels, or of half a label."""
        lines = len(self._titles[1])
        return _TITLE_LINE * lines + _BELOW if lines else SMALL / 2

    @property
    def below(self) -> float:
        """The height of the labels and the title along x, in pixels."""
        lines = len(self._titles[0])
        return self._x_depth + (_TITLE_LINE * lines + _BELOW if lines else 0)

    # ── drawing ────────────────────────────────────────────

    def draw_title(self, x: float, top: float) -> list[str]:
        """The SVG elements of the panel's title."""
        return text_lines(self._title, x, top + 0.79 * LARGE, _TITLE_LINE, size=LARGE, bold=True)

    def draw(self, x: float, y: float, clip: str) -> str:
        """The SVG of axes and marks, with the panel's corner at (x, y); `clip` is the id of a clip path."""
        parts = [self._grid(), *self._labels()]
        clipped = False
        for layer in self.layers:
            marks = draw_layer(layer, self.places)
            if layer.options.get("clip") and marks:
                marks, clipped = f'<g clip-path="url(#{clip})">{marks}</g>', True
            parts.append(marks)
        if clipped:
            area = f'<path d="M0,0h{self.width}v{self.height}h{-self.width}Z"/>'
            parts.insert(0, f'<clipPath id="{clip}">{area}</clipPath>')
        return f'<g transform="translate({tenths(x)},{tenths(y)})">{"".join(parts)}</g>'

    def _grid(self) -> str:
        lines = "".join(f"M0,{tenths(at)}h{self.width}" for at, _ in self._y_ticks)
        grid = f'<path d="{lines}" stroke="{_GRID}" stroke-width="0.8"/>' if lines else ""
        return f'{grid}<path d="M0,{self.height}h{self.width}" stroke="{_AXIS}"/>'

    def _labels(self) -> list[str]:
        texts = [
            text_element(text, -_PADDING, at + 0.3 * SMALL, anchor="end")
            for at, text in self._y_ticks
            if text
        ]
        turned = float((self._x.get("axis") or {}).get("labelAngle", 0))
        top = self.height + _PADDING + 0.79 * SMALL
        for at, lines in self._x_labels:
            if turned:
                texts += [text_element(line, at + 3, top, anchor="end", turned=turned) for line in lines[:1]]
            else:
                texts += text_lines(lines, at, top, _LABEL_LINE, anchor="middle")
        along_x, along_y = self._titles
        below = self.height + self._x_depth + _BELOW + 0.79 * LARGE
        texts += text_lines(along_x, self.width / 2, below, _TITLE_LINE, anchor="middle", size=LARGE)
        above = -_BELOW - 0.21 * LARGE - _TITLE_LINE * (len(along_y) - 1)
        return texts + text_lines(along_y, -_LEFT, above, _TITLE_LINE, size=LARGE)


def _apart(labels: Sequence[tuple[float, list[str]]]) -> list[tuple[float, list[str]]]:
    """The labels without those that would overlap the previous label."""
    kept: list[tuple[float, list[str]]] = []
    free = -float("inf")
    for at, lines in sorted(labels, key=lambda label: label[0]):
        half = max(map(text_width, lines), default=0.0) / 2
        if at - half >= free:
            kept.append((at, lines))
            free = at + half + _PADDING
    return kept
