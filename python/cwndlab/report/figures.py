"""Figures: charts drawn as SVG, and converted to PNG and PDF by vl-convert.

Axes and text are `currentColor`, so that a figure in a report follows the reader's light or dark theme; the
files in figures/ have a white background.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from html import escape
from importlib import import_module
from types import ModuleType
from typing import NamedTuple, TypeAlias

from cwndlab.base.errors import StudyError
from cwndlab.base.writing import with_unit
from cwndlab.stats import series
from cwndlab.stats.results import Results
from cwndlab.study.outputs import PANEL_QUANTITY, Figure

from . import lines as line_figure
from .canvas import (
    BROAD,
    LOG,
    Row,
    Spec,
    field,
    in_columns,
    look_by_name,
    make_legend,
    mark,
    mark_chart,
    narrow_figure,
    panel_of_size,
    stack,
    title_lines,
)
from .drawing import draw_svg
from .looks import choose_colours, choose_dashes, name_series
from .palette import PALETTE
from .svg import inline_svg, on_white

RECORDED = {"time-sequence": "segments", "queue": "queues", "cwnd": "cwnd"}
"""Kind of figure -> the record table that it shows."""

PROBES = {"segments": 'segments_at = "NODE"', "queues": 'queues = ["a>b"]', "cwnd": "cwnd = true"}
"""Record table -> the entry of [probes] with which a study records it."""


#: The suffix of the id of a figure with the simulator's results in a kernel's report.
SIMULATOR = "-simulator"


class Drawing(NamedTuple):
    """A figure of a report, drawn."""

    id: str
    title: str
    about: str | None
    alt: str
    """A description of the figure for readers who cannot see it."""
    svg: str
    """The SVG; its axes and text are in `currentColor`."""
    narrow_svg: str
    """The SVG for a narrow column or a phone: half as wide, with text of the same size."""

    def __repr__(self) -> str:
        return f"<Drawing {self.id}: {self.title}; {self.alt}>"

    @property
    def figure(self) -> str:
        """The figure's id in the study: the drawing's id without the suffix `SIMULATOR`."""
        return self.id.removesuffix(SIMULATOR)

    @property
    def is_wide(self) -> bool:
        """Whether the figure needs the full width of a page."""
        match = re.match(r'<svg [^>]*?width="(\d+)', self.svg)
        return match is not None and int(match[1]) > BROAD

    @property
    def svg_file(self) -> str:
        """The SVG on a white background, for a separate file."""
        return on_white(self.svg)

    def _repr_html_(self) -> str:
        style = "max-width:60em;margin:0;color:#111;background:#fff"
        caption = f"<figcaption>{escape(self.title)}</figcaption>"
        return f'<figure style="{style}">{inline_svg(self.svg, f"{self.id}-")}{caption}</figure>'

    def png(self) -> bytes:
        """The figure as a PNG at twice its size."""
        return bytes(_converter().svg_to_png(self.svg_file, scale=2))

    def pdf(self) -> bytes:
        """The figure as a PDF at its size."""
        return bytes(_converter().svg_to_pdf(self.svg_file))


def _converter() -> ModuleType:
    """vl-convert, used only to convert SVG, which needs no JavaScript engine."""
    import vl_convert

    return vl_convert


def draw(spec: Figure, results: Results) -> Drawing:
    """Draws a figure; if its cells were left out of a restricted run, with the cells that were run."""
    spec, instead = series.restrict_to_run_cells(spec, results)
    shown = list(series.figure_cells(spec, results))
    panels = len(shown if spec.kind in RECORDED else {panel for panel, _, _ in shown})
    panels = len(spec.quantities) if spec.panels == PANEL_QUANTITY else panels
    drawer, drawn = find_drawer(spec.kind), []
    for size in (in_columns(spec, panels), narrow_figure(spec)):
        chart, rows, words = drawer(size, results)
        drawn.append(draw_svg(chart, rows))
    title = f"{spec.title} (here {instead})" if instead else spec.title
    return Drawing(spec.id, title, spec.about, words, *drawn)


# ── figures of distributions: cdf, ellipse ───────────────────────────────


def _cdf(spec: Figure, results: Results) -> tuple[Spec, dict[str, list[Row]], str]:
    curves = series.curves(spec, results)
    if not curves:
        raise StudyError("nothing was measured for it", key=f"figures.{spec.id}")
    unit = series.axis_unit(spec, results)
    name = results.labels.title(spec.drawn_quantities[0])
    x_title = spec.x_title or with_unit(name, unit)
    names = list(dict.fromkeys(c.series for c in curves))
    rows: dict[str, list[Row]] = {}
    charts = []
    shown = list(dict.fromkeys(c.panel for c in curves))
    for number, panel in enumerate(shown):
        data = f"panel{number}"
        rows[data] = [
            {"x": float(v), "y": float(s), "series": c.series}
            for c in curves
            if c.panel == panel
            for v, s in zip(c.value, c.share, strict=True)
            if v > 0 or not spec.log_x  # on a log axis, the curve starts at the share of samples up to 0
        ]
        legend = make_legend(name_series(names), "stroke", spec, panels=len(shown))
        encoding = {
            "x": field("x:Q", title=title_lines(x_title, spec), scale=LOG if spec.log_x else {}),
            "y": field("y:Q", title=spec.y_title or "share at most", scale={"domain": [0, 1]}),
            "color": look_by_name(
                "series:N", names, choose_colours(names, results.labels.flows, spec), legend=legend
            ),
            "strokeDash": look_by_name("series:N", names, choose_dashes(names, spec), legend=legend),
        }
        chart = mark_chart(data, mark("line", encoding, interpolate="step-after", strokeWidth=1.8))
        charts.append(panel_of_size(chart, series.panel_title(spec, results, panel), spec))
    return stack(charts, spec), rows, f"cumulative distribution of {x_title}"


def _ellipse(spec: Figure, results: Results) -> tuple[Spec, dict[str, list[Row]], str]:
    """The 1-sigma contour and the median of the runs of each cell, as in RFC 7928, section 2.7."""
    ellipses = series.ellipses(spec, results)
    if not ellipses:
        raise StudyError("nothing was measured for it", key=f"figures.{spec.id}")
    titles = [
        with_unit(results.labels.title(name), results.labels.unit(name))
        for name in (spec.x or "", spec.drawn_quantities[0])
    ]
    x_title, y_title = spec.x_title or titles[0], spec.y_title or titles[1]
    names = list(dict.fromkeys(ellipse.series for ellipse in ellipses))
    rows: dict[str, list[Row]] = {}
    charts = []
    at = {
        "x": field("x:Q", title=x_title, scale={"zero": True}),
        "y": field("y:Q", title=y_title, scale={"zero": False}),
        "color": look_by_name(
            "series:N", names, PALETTE, legend=make_legend(name_series(names), "circle", spec)
        ),
    }
    for number, panel in enumerate(dict.fromkeys(ellipse.panel for ellipse in ellipses)):
        shown = [ellipse for ellipse in ellipses if ellipse.panel == panel]
        contours, centres = f"contours{number}", f"centres{number}"
        rows[contours] = [
            {"x": float(a), "y": float(b), "place": k, "cell": cell, "series": ellipse.series}
            for cell, ellipse in enumerate(shown)
            for k, (a, b) in enumerate(zip(ellipse.x, ellipse.y, strict=True))
        ]
        rows[centres] = [
            {"x": ellipse.centre[0], "y": ellipse.centre[1], "series": ellipse.series} for ellipse in shown
        ]
        around = {**at, "order": field("place:Q"), "detail": field("cell:N")}
        around["strokeDash"] = look_by_name("series:N", names, choose_dashes(names, spec), legend=None)
        layers = {
            "layer": [
                mark_chart(contours, mark("line", around, strokeWidth=1.6)),
                mark_chart(centres, mark("point", at, filled=True, size=50, opacity=1)),
            ]
        }
        charts.append(panel_of_size(layers, series.panel_title(spec, results, panel), spec))
    words = f"{y_title} against {x_title}: median and 1-sigma ellipse of the runs for {', '.join(names)}"
    return stack(charts, spec), rows, words


Drawer: TypeAlias = Callable[[Figure, Results], tuple[Spec, dict[str, list[Row]], str]]
"""Returns a figure's chart, its data sets by name, and a description in words."""

_DRAWERS: dict[str, Drawer] = {
    "line": partial(line_figure.draw, bars=False),
    "bar": partial(line_figure.draw, bars=True),
    "cdf": _cdf,
    "ellipse": _ellipse,
}
#: Kind of figure of a single run's records -> the module and function of the application that draws it.
_OF_RECORDS = {
    "time-sequence": ("packets.graphs", "draw_sequence"),
    "cwnd": ("packets.graphs", "draw_windows"),
    "queue": ("packets.graphs", "draw_queues"),
    "budget": ("diagnosis.budget_figure", "bars"),
    "over-time": ("packets.over_time", "draw"),
}


def find_drawer(kind: str) -> Drawer:
    """The function that draws figures of this kind."""
    if kind in _DRAWERS:
        return _DRAWERS[kind]
    module, name = _OF_RECORDS[kind]
    drawer: Drawer = getattr(import_module(f"cwndlab.apps.{module}"), name)
    return drawer
