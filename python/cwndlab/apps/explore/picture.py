"""The small pictures of the lessons' index: one graph of one run, or of two overlaid."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cwndlab import _core
from cwndlab.records.run_view import bottleneck
from cwndlab.report.palette import PALETTE
from cwndlab.study.values import text

from .controls import Explored
from .table import State

#: For each graph: table, column, divisor and unit.
GRAPHS = {
    "queue": ("queues", "packets", 1, "packets"),
    "round_trip": ("cwnd", "srtt_ns", 1e6, "ms"),
    "window": ("cwnd", "cwnd_bytes", 1e3, "kB"),
}
WIDTH, HEIGHT, TOP, LEFT, BOTTOM = 320, 130, 18, 2, 18
#: Points of a line; more would exceed the pixels.
POINTS = 400

Line = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def picture(derived: Explored, graph: str, settings: Sequence[Mapping[str, Any]]) -> str:
    """A graph of the study at these settings, as an SVG data URL.

    Args:
        derived: the study and its controls.
        graph: a name in `GRAPHS`.
        settings: the values of some controls for each run. A single run gets a line for each flow.

    """
    lines: list[Line] = []
    for values in settings:
        found = _lines(derived, graph, _state(derived, values))
        lines += found if len(settings) == 1 else found[:1]
    return f"data:image/svg+xml;base64,{base64.b64encode(_svg(lines, GRAPHS[graph][3]).encode()).decode()}"


def _state(derived: Explored, values: Mapping[str, Any]) -> State:
    """The positions of the controls for these values; the others stay at the base."""
    wanted = {name: text(value) for name, value in values.items()}
    return tuple(
        next(k for k, stop in enumerate(c.stops) if text(stop.value) == wanted[c.name])
        if c.name in wanted
        else c.base
        for c in derived.controls
    )


def _lines(derived: Explored, graph: str, state: State) -> list[Line]:
    """The graph's line for each flow's first connection, or for the bottleneck."""
    scenario: dict[str, Any] = derived.cell(state).compiled.scenario
    probes = {**scenario["probes"], "cwnd": True, "queues": [bottleneck(scenario["links"])]}
    records = _core.run(json.dumps({**scenario, "probes": probes}), derived.study.base.run.seed, 0)
    table, column, unit, _ = GRAPHS[graph]
    data = {name: pa.table(records[table])[name].to_numpy() for name in records[table].column_names}
    chosen = [np.full(len(data["time_ns"]), True)]
    if graph != "queue":
        first: dict[int, dict[str, Any]] = {}
        for one in pa.table(records["connections"]).to_pylist():
            first.setdefault(one["traffic"], one)
        chosen = [
            (data["connection"] == one["connection"])
            & (data["from_client"] == (one["bytes_up"] >= one["bytes_down"]))
            for _, one in sorted(first.items())
        ]
    return [(data["time_ns"][mine] / 1e9, data[column][mine].astype(float) / unit) for mine in chosen]


def _svg(lines: Sequence[Line], unit: str) -> str:
    """An SVG of the lines, with axes that start at 0 and labels at the axes' ends."""
    end = max(float(x[-1]) for x, _ in lines)
    high = max(float(np.nanmax(y)) for _, y in lines)
    right, bottom = WIDTH - LEFT, HEIGHT - BOTTOM
    drawn = []
    for k, (x, y) in enumerate(lines):
        places = np.linspace(0, len(x) - 1, min(len(x), POINTS)).astype(int)
        points = zip(
            LEFT + x[places] / end * (right - LEFT), bottom - y[places] / high * (bottom - TOP), strict=True
        )
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points if not np.isnan(py))
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{PALETTE[k]}" stroke-width="1.6"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
        "<style>text{font:12px system-ui,sans-serif;fill:#4b5563}line{stroke:#9ca3af}"
        "@media(prefers-color-scheme:dark){text{fill:#a7b0bd}}</style>"
        f'<line x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>{"".join(drawn)}'
        f'<text x="{LEFT}" y="12">{high:.3g} {unit}</text>'
        f'<text x="{right}" y="{HEIGHT - 4}" text-anchor="end">{end:.2g} s</text></svg>'
    )
