"""Line and bar figures: a tick for each measured value, bands for intervals, names at the ends of lines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from cwndlab.base.errors import StudyError
from cwndlab.base.writing import with_unit
from cwndlab.stats import series
from cwndlab.stats.field import INDEX
from cwndlab.stats.results import Results
from cwndlab.study.outputs import Figure, Scalar
from cwndlab.study.values import as_list

from .canvas import (
    INK,
    LOG,
    Row,
    Spec,
    field,
    flat_title,
    layer_chart,
    look_by_name,
    make_legend,
    mark,
    mark_chart,
    named_axis,
    panel_height,
    panel_of_size,
    panel_width,
    stack,
)
from .looks import KERNEL, SIMULATOR, choose_colours, choose_dashes, choose_fills, name_series
from .palette import SHADES

#: The most x values for which each value has a tick.
FEW_PLACES = 8
#: The most names along x that are wrapped or slanted; of more names, those that do not fit are left out.
MANY_NAMES = 12
#: The largest factor between ratios, or steps, that count as equal.
ALIKE = 1.6
#: Intervals are cut off at this many times the highest value.
REACH = 4.0
#: Panels get separate axes if a common axis would be more than this many times as long as a panel's own.
FLAT = 3.0
#: The most points per line for which points are marked.
MANY = 60
#: The gap between the bars of one x value, as a share of the distance between their middles.
GAP = 0.15
#: The most lines that are named at their ends; more lines get a legend.
NAMED = 5
#: Pixels between the end of the axis and a name, and between the middles of two names.
SWATCH, APART = 24, 16


def draw(
    spec: Figure, results: Results, *, bars: bool, named: bool = True
) -> tuple[Spec, dict[str, list[Row]], str]:
    """The chart of a line or bar figure, its data, and a description in words.

    `named` puts the names of lines at their ends if they fit; otherwise there is a legend.
    """
    points = series.points(spec, results)
    if not points:
        raise StudyError("nothing was measured for it", key=f"figures.{spec.id}")
    x_title, y_title = titles(spec, results)
    numeric = all(isinstance(p.x, int | float) and not isinstance(p.x, bool) for p in points) and not bars
    names = list(dict.fromkeys(p.series for p in points))
    panels = list(dict.fromkeys(p.panel for p in points))
    many = len(points) > MANY * max(1, len(names))
    labels = name_series(names)
    room = room_for(list(labels.values()), spec) if named and not bars and len(panels) == 1 else 0
    symbol = "square" if bars else "stroke"
    legend = None if room else make_legend(labels, symbol, spec, panels=len(panels), y_title=y_title)
    colours = choose_colours(names, results.labels.flows, spec, bars=bars)
    colour = look_by_name("series:N", names, colours, legend=legend)
    dash = look_by_name("series:N", names, choose_dashes(names, spec), legend=legend)
    parts = {f"panel{k}": [p for p in points if p.panel == panel] for k, panel in enumerate(panels)}
    rows = {name: _rows(mine, spec, results, numeric=numeric) for name, mine in parts.items()}
    charts = []
    scales = Vertical.from_panels(list(rows.values()), spec)
    for (name, mine), panel, along in zip(parts.items(), panels, scales, strict=True):
        places = list(dict.fromkeys(p.x for p in mine))
        x = (
            _numeric_x(spec, x_title, places)
            if numeric
            else _named_x(x_title, [results.labels.value_title(spec.x or "", v) for v in places], spec)
        )
        over = flat_title(y_title, spec)
        y = field("y:Q", **{**over, "scale": along.scale, "axis": {**over["axis"], **along.axis}})
        at = {"x": x}
        if bars and len(names) > 1:
            at["xOffset"] = field("series:N", sort=names, scale={"paddingInner": GAP})
        shown = {**at, "y": y, "color": colour}
        ends = {**at, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
        spread = any(r["high"] > r["low"] for r in rows[name])
        if bars:
            layers = [_bars({**at, "y": y}, names, colours, spec, legend)]
            layers += [mark("rule", ends, strokeWidth=1.2, color=INK, **along.clip)] if spread else []
        else:
            layers = [_spread({**ends, "color": colour}, along, wide=len(places) > 1)] if spread else []
            layers += _lines(shown, dash if len(names) > 1 else None, points=not many)
        if room:
            rows["ends"] = along.ends(rows[name], labels, panel_height(spec))
            layers += _names(panel_width(spec) - room, colour, dash)
        sized = spec.model_copy(update={"width": panel_width(spec) - room})
        title = series.panel_title(spec, results, panel)
        charts.append(panel_of_size(layer_chart(name, layers), title, sized))
    return stack(charts, spec), rows, _in_words(x_title, y_title, names, labels) + _beyond(scales)


def _in_words(x_title: str, y_title: str, names: Sequence[str], labels: Mapping[str, str]) -> str:
    """The description of the figure in words."""
    words = f"{y_title} against {x_title}"
    words += f" for {', '.join(labels.values())}" if len(labels) > 1 else ""
    return words + (f" of {KERNEL} and {SIMULATOR}" if len(labels) < len(names) else "")


def _beyond(scales: Sequence[Vertical]) -> str:
    """The end of the description if intervals are cut off; else ""."""
    return "; an interval goes beyond the axis" if any(scale.is_exceeded for scale in scales) else ""


def _rows(points: Sequence[series.Point], spec: Figure, results: Results, *, numeric: bool) -> list[Row]:
    """A row of data for each point; the value replaces the ends of a missing interval."""
    rows: list[Row] = [
        {
            "x": _number(p.x) if numeric else results.labels.value_title(spec.x or "", p.x),
            "y": p.interval.value,
            "low": p.interval.low if math.isfinite(p.interval.low) else p.interval.value,
            "high": p.interval.high if math.isfinite(p.interval.high) else p.interval.value,
            "series": p.series,
        }
        for p in points
    ]
    if not spec.log_y:
        return rows
    # On a log axis, an interval that reaches 0 is drawn only above its value.
    return [{**r, "low": r["low"] if r["low"] > 0 else r["y"]} for r in rows if r["y"] > 0]


def titles(spec: Figure, results: Results) -> tuple[str, str]:
    """The titles of the x and y axes, with units."""
    unit = series.axis_unit(spec, results)
    name = results.labels.title(spec.drawn_quantities[0]) if spec.drawn_quantities else ""
    if spec.compare is not None:
        against = ", ".join(
            results.labels.setting(axis, v) for axis, value in spec.compare.to.items() for v in as_list(value)
        )
        name = f"{spec.compare.kind} of {name} against {against}"
    y = spec.y_title or with_unit(name, unit)
    x = spec.x_title or ("number" if spec.x == INDEX else results.labels.title(spec.x or ""))
    return x, y


def _numeric_x(spec: Figure, title: str, places: Sequence[Scalar]) -> Spec:
    """The x channel for numbers; logarithmic with `log_x`, or if up to 20 values grow by one factor.

    Up to 20 values have one tick each if they are integers or few (`FEW_PLACES`), or on a log axis.
    """
    at = sorted(map(_number, places))
    few = len(at) <= 20
    log = spec.log_x or (few and _by_ratios(at))
    whole = few and all(isinstance(v, int) for v in places)
    axis: Spec = {}
    # Vega would round the label of a single value to a whole number.
    if whole or len(at) == 1 or log or len(at) <= FEW_PLACES:
        # "greedy" leaves out only labels that overlap, not every second label.
        axis = {"values": at, "format": "d" if whole else "~g", "labelOverlap": "greedy"} if few else {}
    scale = {"zero": False, "nice": not whole and not axis}
    return field("x:Q", title=title, axis=axis, scale=LOG if log else scale)


def _named_x(title: str, names: Sequence[str], spec: Figure) -> Spec:
    """The x channel for names."""
    few = len(names) <= MANY_NAMES
    labels = named_axis(names, spec) if few else {"labelAngle": 0, "labelOverlap": True}
    return field("x:N", title=title, sort=list(names), axis=labels)


def _spread(ends: Spec, along: Vertical, *, wide: bool) -> Spec:
    """The mark for intervals: a band along a line, or a rule for a single x value."""
    if wide:
        return mark("area", ends, opacity=0.16, **along.clip)
    return mark("rule", ends, strokeWidth=1.4, opacity=0.7, **along.clip)


def _lines(at: Spec, dash: Spec | None, *, points: bool) -> list[Spec]:
    """The marks of lines, dashed if `dash` is given, and of their points."""
    layers = [mark("line", {**at, "strokeDash": dash} if dash else at, strokeWidth=2)]
    return [*layers, mark("point", at, filled=True, size=36, opacity=1)] if points else layers


def _bars(at: Spec, names: Sequence[str], colours: Sequence[str], spec: Figure, legend: Spec | None) -> Spec:
    """Bars filled with these colours, or outlined where colours alone do not distinguish the series."""
    fills = choose_fills(names, colours, spec)
    if fills is not None:
        fill, stroke = (look_by_name("series:N", names, looks, legend=legend) for looks in (fills, colours))
        return mark("bar", {**at, "fill": fill, "stroke": stroke}, opacity=0.85, strokeWidth=1.6)
    # Some shades have little contrast with the page.
    outline: Spec = {"stroke": INK, "strokeWidth": 0.4} if set(colours) <= set(SHADES) else {}
    colour = look_by_name("series:N", names, colours, legend=legend)
    return mark("bar", {**at, "color": colour}, opacity=0.85, **outline)


def _by_ratios(at: Sequence[float]) -> bool:
    """Whether sorted numbers grow by a nearly constant factor, such as 0.5, 1, 2, 4 or 10, 20, 50, 100."""
    if len(at) < 3 or at[0] <= 0:
        return False
    ratios = [b / a for a, b in pairwise(at)]
    steps = [b - a for a, b in pairwise(at)]
    return max(ratios) <= ALIKE * min(ratios) and max(steps) > ALIKE * min(steps)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


# ── the vertical axis, and the names at the ends of lines ────────────────────────────────────────────


class Vertical(NamedTuple):
    """The range, ticks and scale of the y axis."""

    low: float
    high: float
    log: bool
    ticks: Sequence[float] = ()
    #: Whether an interval exceeds the axis and is cut off.
    is_exceeded: bool = False

    @classmethod
    def from_panels(cls, panels: Sequence[Sequence[Row]], spec: Figure) -> list[Vertical]:
        """The axis of each panel: a common axis for comparison, unless it would flatten a panel."""
        own = [cls.from_rows(rows, spec) for rows in panels]
        common = cls.from_rows([row for rows in panels for row in rows], spec)
        least = min(scale.high - scale.low for scale in own)
        return own if FLAT * least < common.high - common.low else [common] * len(own)

    @classmethod
    def from_rows(cls, rows: Sequence[Row], spec: Figure) -> Vertical:
        """The axis for these rows: from 0 (unless logarithmic or a ratio) to the next tick beyond the data.

        If the data reach less than one step below 0, the axis begins at the data, not at a tick.
        """
        low = min((r["low"] for r in rows), default=0.0)
        high = max((r["high"] for r in rows), default=1.0)
        if spec.log_y:
            return cls(low, high if high > low else 2 * low, log=True)
        if spec.compare is None or spec.compare.kind != "ratio":
            low, high = min(low, 0.0), max(high, 0.0)
        if high == low:
            low, high = (low - 1, high + 1) if low else (0.0, 1.0)
        top = max((r.get("y", math.inf) for r in rows), default=0.0)
        is_exceeded = high > REACH * top > 0  # otherwise one wide interval would flatten all lines
        high = REACH * top if is_exceeded else high
        step = _round_step((high - low) / 5)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if -step < low < 0:
            first = 0
        ticks = [k * step for k in range(first, last + 1)]
        return cls(low if -step < low < 0 else ticks[0], ticks[-1], False, ticks, is_exceeded)

    @property
    def clip(self) -> Spec:
        """The option that clips marks at the ends of the axis; empty if no interval exceeds it."""
        return {"clip": True} if self.is_exceeded else {}

    @property
    def scale(self) -> Spec:
        """The scale of the y channel."""
        return LOG if self.log else {"domain": [self.low, self.high], "nice": False, "zero": False}

    @property
    def axis(self) -> Spec:
        """The ticks and their number format, with the decimals of the step; Vega would write 2.5 as 3."""
        if self.log:
            return {}
        step = Decimal(f"{self.ticks[1] - self.ticks[0]:.6g}").normalize()
        return {"values": list(self.ticks), "format": f",.{max(0, -int(step.as_tuple().exponent))}f"}

    def ends(self, rows: Sequence[Row], labels: Mapping[str, str], height: int) -> list[Row]:
        """The position of each line's name in pixels from the top: at the line's end, apart from others."""
        last = {r["series"]: self._pixel(r["y"], height) for r in rows}
        order = sorted((name for name in labels if name in last), key=last.__getitem__)
        places = move_apart([last[name] for name in order], height)
        return [
            {"series": name, "label": labels[name], "at": place}
            for name, place in zip(order, places, strict=True)
        ]

    def _pixel(self, value: float, height: int) -> float:
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return height * (high - value) / (high - low)


def _round_step(step: float) -> float:
    """The step, rounded up to 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor for factor in (1, 2, 2.5, 5, 10) if factor * power >= step * (1 - 1e-9)) * power


def move_apart(places: Sequence[float], height: float) -> list[float]:
    """Sorted positions in pixels, moved to be at least `APART` from each other and at most `height`."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + APART) if moved else place)
    limit = height
    for k in reversed(range(len(moved))):
        moved[k] = min(moved[k], limit)
        limit = moved[k] - APART
    return moved


def room_for(names: Sequence[str], spec: Figure) -> int:
    """The width of names at the ends of lines, in pixels; 0 if there are too many, or one is too long."""
    needed = SWATCH + 8 * max(map(len, names))
    return needed if 2 <= len(names) <= NAMED and needed <= panel_width(spec) // 3 else 0


def _names(end: int, colour: Mapping[str, object], dash: Mapping[str, object]) -> list[Spec]:
    """The marks of lines' names to the right of the panel, each after a piece of its line."""
    at = {"y": {"field": "at", "type": "quantitative", "scale": None, "axis": None}}
    piece = {"x": {"value": end + 5}, "x2": {"value": end + SWATCH - 3}, "color": colour, "strokeDash": dash}
    return [
        mark_chart("ends", mark("rule", {**at, **piece}, strokeWidth=2.5)),
        mark_chart(
            "ends",
            mark(
                "text",
                {**at, "x": {"value": end + SWATCH}, "text": field("label:N")},
                align="left",
                fontSize=13,
                color=INK,
            ),
        ),
    ]
