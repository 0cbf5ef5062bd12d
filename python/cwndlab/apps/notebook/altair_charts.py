"""Figures as Altair charts that can be moved and zoomed in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cwndlab.report import lines
from cwndlab.report.canvas import INK, LINE, ROOM, TITLE_Y, Row, Spec
from cwndlab.report.figures import find_drawer
from cwndlab.stats import series
from cwndlab.stats.results import Results
from cwndlab.study.outputs import Figure

if TYPE_CHECKING:
    import altair as alt


def chart(spec: Figure, results: Results) -> alt.TopLevelMixin:
    """A figure as an Altair chart with its data."""
    spec, instead = series.restrict_to_run_cells(spec, results)
    kind = find_drawer(spec.kind) if spec.kind != "line" else partial(lines.draw, bars=False, named=False)
    made, rows, _ = kind(spec, results)
    return interactive_chart(made, rows, f"{spec.title} (here {instead})" if instead else spec.title)


def interactive_chart(chart: Spec, rows: Mapping[str, Sequence[Row]], title: str) -> alt.TopLevelMixin:
    """An Altair chart with data and title; all its panels move and zoom together."""
    import altair as alt

    panels = [{**panel} for panel in chart.get("concat", [chart])]
    names = [f"view{number}" for number in range(len(panels))]
    for name, panel in zip(names, panels, strict=True):
        if "layer" in panel:
            panel["layer"] = [{**panel["layer"][0], "name": name}, *panel["layer"][1:]]
        else:
            panel["name"] = name
    whole = {**chart, "concat": panels} if "concat" in chart else panels[0]
    zoom = {"name": "zoom", "select": {"type": "interval", "encodings": ["x", "y"]}, "bind": "scales"}
    whole |= {"title": title, "params": [{**zoom, "views": names}]}
    # Altair would check every row (0.9 s for 10^4), so the data is attached afterwards.
    made: Any = alt.Chart.from_dict({**whole, "config": {**_config(), "background": "white"}})
    made.datasets = {name: list(data) for name, data in rows.items()}
    return made  # type: ignore[no-any-return]


def _config() -> dict[str, Any]:
    text = {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 13}
    return {
        "background": None,
        "font": "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif",
        "view": {"stroke": None},
        "axis": {
            **text,
            "gridColor": "#8888884d",
            "gridWidth": 0.8,
            "domain": False,
            "ticks": False,
            "labelPadding": 6,
            "labelFlush": False,
            "labelSeparation": 6,
            "titleFontWeight": "normal",
            "titlePadding": 8,
        },
        "axisY": {
            "titleAngle": 0,
            "titleAlign": "left",
            "titleBaseline": "bottom",
            "titleX": -ROOM,
            "titleY": TITLE_Y,
        },
        "axisX": {"grid": False, "domain": True, "domainColor": "#888888"},
        "legend": {
            **{**text, "orient": "top", "title": None, "symbolSize": 90},
            **{"titleFontWeight": "normal", "titleFontSize": 12, "titlePadding": 6},
            "offset": 2 * LINE,  # above the title of the vertical axis
        },
        "title": {"color": INK, "fontSize": 13, "fontWeight": "bold", "anchor": "start", "offset": 8},
    }
