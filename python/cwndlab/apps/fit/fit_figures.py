"""Figures that draw a capture over the replays of its fitted study."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cwndlab.report.canvas import INK, Spec, field, layer_chart, mark, panel_of_size
from cwndlab.report.drawing import draw_svg
from cwndlab.report.figures import Drawing
from cwndlab.report.palette import PALETTE
from cwndlab.study.outputs import Figure

from .time_courses import PARTS, TimeCourse

#: In pixels: the height of a figure, and its width in a column of the page and on a phone.
_HEIGHT, _WIDE, _NARROW = 170, 420, 290
_DATA = "course"


def draw_courses(capture: TimeCourse, replays: Sequence[TimeCourse], seconds: float) -> list[Drawing]:
    """A figure for each course: the capture as a line over the replays' range and median."""
    middles = (np.arange(PARTS) + 0.5) * seconds / PARTS
    drawings = []
    for own, *others in zip(capture.items(), *(replay.items() for replay in replays), strict=True):
        name, title, values = own
        every = np.array([other for _, _, other in others])
        shown = ~np.isnan(every).all(axis=0)
        columns = {"time": middles[shown], "capture": values[shown]}
        for column, summary in (("low", np.nanmin), ("middle", np.nanmedian), ("high", np.nanmax)):
            columns[column] = summary(every[:, shown], axis=0)
        rows = [
            {column: float(one[k]) for column, one in columns.items() if not np.isnan(one[k])}
            for k in range(int(shown.sum()))
        ]
        spec = Figure(id=name, title=title, kind="line", x="time", quantity="q", height=_HEIGHT)
        charts = [
            draw_svg(panel_of_size(_chart(), "", spec.model_copy(update={"width": width})), {_DATA: rows})
            for width in (_WIDE, _NARROW)
        ]
        inside = np.mean([row["low"] <= row["capture"] <= row["high"] for row in rows if "capture" in row])
        words = f"the capture lies among the replays in {100 * inside:.0f} % of the time"
        drawings.append(Drawing(name, title, words, f"{title} against time: {words}", *charts))
    return drawings


def _chart() -> Spec:
    x = field("time:Q", title="time (s)", scale={"nice": False})
    layers = [
        mark(
            "area",
            {"x": x, "y": field("low:Q", title=None), "y2": {"field": "high"}},
            color=PALETTE[0],
            opacity=0.22,
        ),
        mark("line", {"x": x, "y": field("middle:Q")}, color=PALETTE[0], strokeWidth=1.2),
        mark("line", {"x": x, "y": field("capture:Q")}, color=INK, strokeWidth=1.6),
    ]
    return layer_chart(_DATA, layers)
