"""Figures as charts, drawn to SVG, and by vl-convert from there to PNG and PDF.

Axes and text are `currentColor`, so that a figure inside the report follows the reader's light or dark
theme; the files in figures/ get a white ground. Packet-level graphs draw one mark per pixel and event.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from cwndlab.base.errors import StudyError, nearest
from cwndlab.base.numbers import Columns
from cwndlab.base.writing import with_unit
from cwndlab.stats import series
from cwndlab.stats.results import Results
from cwndlab.study.outputs import Figure

from . import lines as line_figure
from .canvas import (
    BROAD,
    CROWD,
    LOG,
    PANELS,
    Row,
    Spec,
    field,
    in_columns,
    layer_chart,
    legend_of,
    look_by_name,
    mark,
    mark_chart,
    narrow_figure,
    panel_height,
    panel_of_size,
    panel_width,
    stack,
    title_lines,
)
from .drawing import draw_svg
from .looks import colours_of, dashes_of, labels_of
from .packets import DRAWN, EDGE, RANK, decimate, sequence_layers, time_sequence_rows
from .palette import PALETTE
from .svg import inline_svg, on_white

RECORDED = {"time-sequence": "segments", "queue": "queues", "cwnd": "cwnd"}
"""The record table that a kind of figure shows."""

PROBES = {"segments": 'segments_at = "NODE"', "queues": 'queues = ["a>b"]', "cwnd": "cwnd = true"}
"""How a study has a table recorded."""


#: Ends the id of a figure of the simulator's results in a kernel's report.
SIMULATOR = "-simulator"


class Drawing(NamedTuple):
    """A figure, ready to be shown."""

    id: str
    title: str
    about: str | None
    alt: str
    """What is to be seen, in words, for those who do not see it."""
    svg: str
    """The SVG, whose axes and text are `currentColor`."""
    narrow_svg: str
    """The same for a column of a page or a telephone: text of the same size in half the width."""

    def __repr__(self) -> str:
        return f"<Drawing {self.id}: {self.title}; {self.alt}>"

    @property
    def figure(self) -> str:
        """Id of the study's figure, which the simulator's next to a kernel's has too."""
        return self.id.removesuffix(SIMULATOR)

    @property
    def is_wide(self) -> bool:
        """Whether it needs the whole width of a page."""
        found = re.match(r'<svg [^>]*?width="(\d+)', self.svg)
        return found is not None and int(found[1]) > BROAD

    @property
    def svg_file(self) -> str:
        """The figure on a white ground, as a file of its own."""
        return on_white(self.svg)

    def _repr_html_(self) -> str:
        style = "max-width:60em;margin:0;color:#111;background:#fff"
        caption = f"<figcaption>{escape(self.title)}</figcaption>"
        return f'<figure style="{style}">{inline_svg(self.svg, f"{self.id}-")}{caption}</figure>'

    def png(self) -> bytes:
        """The figure as a PNG of twice its size."""
        return bytes(_converter().svg_to_png(self.svg_file, scale=2))

    def pdf(self) -> bytes:
        """The figure as a PDF of its size."""
        return bytes(_converter().svg_to_pdf(self.svg_file))


def _converter() -> ModuleType:
    """vl-convert, of which only the pictures of an SVG are used: without its JavaScript engine."""
    import vl_convert

    return vl_convert


def draw(spec: Figure, results: Results) -> Drawing:
    """Draws a figure, of other cells than it asks for if those were left out of the run."""
    spec, instead = series.restrict_to_run_cells(spec, results)
    shown = list(series.figure_cells(spec, results))
    panels = len(shown if spec.kind in RECORDED else {panel for panel, _, _ in shown})
    made = []
    for size in (in_columns(spec, panels), narrow_figure(spec)):
        chart, rows, words = KINDS[spec.kind](size, results)
        made.append(draw_svg(chart, rows))
    title = f"{spec.title} (here {instead})" if instead else spec.title
    return Drawing(spec.id, title, spec.about, words, *made)


# ── from values: cdf, ellipse ────────────────────────────────────────────


def _cdf(spec: Figure, results: Results) -> tuple[Spec, dict[str, list[Row]], str]:
    found = series.curves(spec, results)
    if not found:
        raise StudyError("nothing was measured for it", key=f"figures.{spec.id}")
    unit = series.unit_of(spec, results)
    name = results.labels.title(spec.drawn_quantities[0])
    x_title = spec.x_title or with_unit(name, unit)
    names = list(dict.fromkeys(c.series for c in found))
    rows: dict[str, list[Row]] = {}
    charts = []
    shown = list(dict.fromkeys(c.panel for c in found))
    for number, panel in enumerate(shown):
        data = f"panel{number}"
        rows[data] = [
            {"x": float(v), "y": float(s), "series": c.series}
            for c in found
            if c.panel == panel
            for v, s in zip(c.value, c.share, strict=True)
            if v > 0 or not spec.log_x  # the curve begins at the share of what a logarithm cannot show
        ]
        legend = legend_of(labels_of(names), "stroke", spec, panels=len(shown))
        encoding = {
            "x": field("x:Q", title=title_lines(x_title, spec), scale=LOG if spec.log_x else {}),
            "y": field("y:Q", title=spec.y_title or "share at most", scale={"domain": [0, 1]}),
            "color": look_by_name(
                "series:N", names, colours_of(names, results.labels.flows, spec), legend=legend
            ),
            "strokeDash": look_by_name("series:N", names, dashes_of(names, spec), legend=legend),
        }
        chart = mark_chart(data, mark("line", encoding, interpolate="step-after", strokeWidth=1.8))
        charts.append(panel_of_size(chart, series.panel_title(spec, results, panel), spec))
    return stack(charts, spec), rows, f"cumulative distribution of {x_title}"


def _ellipse(spec: Figure, results: Results) -> tuple[Spec, dict[str, list[Row]], str]:
    """The 1-sigma contour and the median of the runs of each cell, as in RFC 7928, section 2.7."""
    found = series.ellipses(spec, results)
    if not found:
        raise StudyError("nothing was measured for it", key=f"figures.{spec.id}")
    titles = [
        with_unit(results.labels.title(name), results.labels.unit(name))
        for name in (spec.x or "", spec.drawn_quantities[0])
    ]
    x_title, y_title = spec.x_title or titles[0], spec.y_title or titles[1]
    names = list(dict.fromkeys(one.series for one in found))
    rows: dict[str, list[Row]] = {}
    charts = []
    at = {
        "x": field("x:Q", title=x_title, scale={"zero": True}),
        "y": field("y:Q", title=y_title, scale={"zero": False}),
        "color": look_by_name("series:N", names, PALETTE, legend=legend_of(labels_of(names), "circle", spec)),
    }
    for number, panel in enumerate(dict.fromkeys(one.panel for one in found)):
        shown = [one for one in found if one.panel == panel]
        contours, centres = f"contours{number}", f"centres{number}"
        rows[contours] = [
            {"x": float(a), "y": float(b), "place": k, "cell": cell, "series": one.series}
            for cell, one in enumerate(shown)
            for k, (a, b) in enumerate(zip(one.x, one.y, strict=True))
        ]
        rows[centres] = [{"x": one.centre[0], "y": one.centre[1], "series": one.series} for one in shown]
        around = {**at, "order": field("place:Q"), "detail": field("cell:N")}
        around["strokeDash"] = look_by_name("series:N", names, dashes_of(names, spec), legend=None)
        layers = {
            "layer": [
                mark_chart(contours, mark("line", around, strokeWidth=1.6)),
                mark_chart(centres, mark("point", at, filled=True, size=50, opacity=1)),
            ]
        }
        charts.append(panel_of_size(layers, series.panel_title(spec, results, panel), spec))
    words = f"{y_title} against {x_title}: median and 1-sigma ellipse of the runs for {', '.join(names)}"
    return stack(charts, spec), rows, words


def _budget(spec: Figure, results: Results) -> tuple[Spec, dict[str, list[Row]], str]:
    """Where the time of objects went, which an application finds out."""
    chart, rows, words = import_module("cwndlab.apps.diagnosis.budget_figure").bars(spec, results)
    return chart, rows, words


# ── from records: time-sequence, cwnd, queue ────────────────────────────────────────────


def _records(spec: Figure, results: Results) -> list[tuple[str, str, Columns]]:
    """Cell, panel title and records of each panel; missing records are an error that names the probe."""
    table, found = RECORDED[spec.kind], []
    for panel, name, cell in series.figure_cells(spec, results):
        title = ", ".join(part for part in (series.panel_title(spec, results, panel), name) if part)
        try:
            found.append((cell.id, title, results.records.table(cell.id, table)))
        except KeyError:
            raise StudyError(
                f"cell {cell.id} has no {table} records",
                key=f"figures.{spec.id}",
                right=f"set [probes] {PROBES[table]}",
            ) from None
    if not any(len(columns["time_ns"]) for _, _, columns in found):
        raise StudyError(f"no {table} were recorded", key=f"figures.{spec.id}")
    if len(found) > PANELS:
        raise StudyError(
            f"{len(found)} cells, a panel each",
            key=f"figures.{spec.id}.where",
            right=f"select {PANELS} at most",
        )
    if len({title for _, title, _ in found}) < len(found):
        raise StudyError(
            f"{len(found)} cells share a panel", key=f"figures.{spec.id}", right="fix their axes in `where`"
        )
    return found


def _window(spec: Figure) -> tuple[float, float]:
    return spec.start or 0.0, spec.until if spec.until is not None else float("inf")


def _time_sequence(spec: Figure, results: Results) -> tuple[Spec, dict[str, list[Row]], str]:
    window = _window(spec)
    rows: dict[str, list[Row]] = {}
    titles = []
    recorded = _records(spec, results)
    for number, (_, title, columns) in enumerate(recorded):
        rows[f"panel{number}"] = time_sequence_rows(
            columns, window, spec.connection or 0, panel_width(spec), panel_height(spec)
        )
        rows[f"panel{number}"].sort(key=lambda row: RANK[row["event"]])
        titles.append(title)
    # draw the window's edge only where it is near, so that it does not flatten the sent data
    low, high = (
        f((r["segment"] for panel in rows.values() for r in panel if r["event"] != EDGE), default=0)
        for f in (min, max)
    )
    for name, panel in rows.items():
        if min((row["segment"] for row in panel if row["event"] == EDGE), default=0) > high + 1:
            rows[name] = [row for row in panel if row["event"] != EDGE]
    events = [row for panel in rows.values() for row in panel]
    if not events:
        which = f"connection {spec.connection or 0} from {window[0]:g} to {window[1]:g} s"
        raise StudyError(f"no packets of {which} were recorded", key=f"figures.{spec.id}")
    present = {row["event"] for row in events}
    shown = [e for e in DRAWN if e[0] in present]
    domain = [e[0] for e in shown]
    # One scale for all panels, so that they can be compared.
    last = window[1] if np.isfinite(window[1]) else max((row["time"] for row in events), default=1.0)
    span = {"domain": [window[0], last], "nice": False}
    x = field("time:Q", title=spec.x_title or "time (s)", scale=span)
    numbers = {"domain": [max(0, low - 1), high + 1], "nice": False}
    y = field("segment:Q", title=spec.y_title or "packet number", scale=numbers)
    panels = []
    large = all(len(panel) < CROWD for panel in rows.values())
    for name, title in zip(rows, titles, strict=True):
        layers = sequence_layers(large, shown, x, y, high + 1)
        panels.append(panel_of_size(layer_chart(name, layers), title, spec))
    words = "time-sequence graph: packet number against time for " + ", ".join(domain)
    return stack(panels, spec), rows, words


def _cwnd(spec: Figure, results: Results) -> tuple[Spec, dict[str, list[Row]], str]:
    panels = []
    for _, title, columns in _records(spec, results):
        mine = columns["connection"] == (spec.connection or 0)
        mine &= np.asarray(columns["from_client"], dtype=bool) == busy_side(columns, mine)
        time = columns["time_ns"][mine] / 1e9
        ssthresh = columns["ssthresh_bytes"][mine].astype(np.float64)
        cwnd = columns["cwnd_bytes"][mine].astype(np.float64)
        # An ssthresh not yet set is missing (-1) or endless; drawn, it would flatten everything else.
        ssthresh[(ssthresh < 0) | (ssthresh > 4 * max(1.0, float(cwnd.max(initial=1.0))))] = np.nan
        lines = {"cwnd": cwnd / 1000, "ssthresh": ssthresh / 1000}
        panels.append(_Panel(title, "window (kB)", time, lines))
    return _against_time(spec, panels, _window(spec))


def busy_side(columns: Columns, mine: Any) -> bool:
    """The side whose window moves: with bulk data one way the other's is constant."""
    client = np.asarray(columns["from_client"], dtype=bool)
    spread = [len(np.unique(columns["cwnd_bytes"][mine & (client == side)])) for side in (False, True)]
    return spread[1] >= spread[0]


def _link(spec: Figure, results: Results, cell: str, recorded: Any) -> int:
    """Index of the link that a queue figure shows."""
    if isinstance(spec.link, int):
        return spec.link
    if spec.link is None:
        return int(recorded[0]) if len(recorded) else 0
    names = list(results.records.links(cell))
    if spec.link not in names:
        raise StudyError(
            f"no link {spec.link!r}", key=f"figures.{spec.id}.link", right=nearest(spec.link, names)
        )
    return names.index(spec.link)


def _queue(spec: Figure, results: Results) -> tuple[Spec, dict[str, list[Row]], str]:
    panels = []
    for cell, title, columns in _records(spec, results):
        link = _link(spec, results, cell, columns["link"])
        mine = columns["link"] == link
        unit, size = "packets", 1
        average = np.asarray(columns["average"][mine] if "average" in columns else (), dtype=np.float64)
        has_average = bool(np.isfinite(average).any()) and np.nanmax(average) > 0
        if has_average and results.records.average_unit(cell, link) == "bytes":
            unit, size = "bytes", 1000
        lines = {"queue": columns[unit][mine].astype(np.float64) / size}
        if has_average:
            lines["average"] = average / size
        y_title = f"queue ({'kB' if unit == 'bytes' else unit})"
        panels.append(_Panel(title, y_title, columns["time_ns"][mine] / 1e9, lines))
    return _against_time(spec, panels, _window(spec))


class _Panel(NamedTuple):
    """Lines against time."""

    title: str
    y_title: str
    time: Any
    lines: dict[str, Any]


def _against_time(
    spec: Figure,
    panels: Sequence[_Panel],
    window: tuple[float, float],
) -> tuple[Spec, dict[str, list[Row]], str]:
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    # One time scale for all panels, so that they can be compared.
    last = max((float(panel.time[-1]) for panel in panels if len(panel.time)), default=1.0)
    span = {"domain": [window[0], min(window[1], last)], "nice": False}
    rows: dict[str, list[Row]] = {}
    charts = []
    for number, (title, y_title, time, lines) in enumerate(panels):
        data = f"panel{number}"
        rows[data] = [
            {"time": float(t), "y": float(v), "series": name}
            for name, values in lines.items()
            for t, v in zip(*decimate(time, values, window, panel_width(spec)), strict=True)
        ]
        legend = legend_of(labels_of(names), "stroke", spec, panels=len(panels))
        encoding = {
            "x": field("time:Q", title=spec.x_title or "time (s)", scale=span),
            "y": field("y:Q", title=spec.y_title or y_title, axis={"tickMinStep": 1}),
            "color": look_by_name("series:N", names, PALETTE, legend=legend),
            "strokeDash": look_by_name("series:N", names, dashes_of(names, spec), legend=legend),
        }
        chart = mark_chart(data, mark("line", encoding, interpolate="step-after", strokeWidth=1.4))
        charts.append(panel_of_size(chart, title, spec))
    shown = " and ".join(dict.fromkeys(panel.y_title for panel in panels))
    return stack(charts, spec), rows, f"{shown} against time: {', '.join(names)}"


KINDS: dict[str, Callable[[Figure, Results], tuple[Spec, dict[str, list[Row]], str]]] = {
    "line": partial(line_figure.draw, bars=False),
    "bar": partial(line_figure.draw, bars=True),
    "cdf": _cdf,
    "ellipse": _ellipse,
    "time-sequence": _time_sequence,
    "cwnd": _cwnd,
    "queue": _queue,
    "budget": _budget,
}
