"""Graphs of the records of single runs: packets, windows and queues against time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cwndlab.base.errors import StudyError, nearest
from cwndlab.base.numbers import Columns
from cwndlab.report.canvas import (
    CROWD,
    PANELS,
    Row,
    Spec,
    field,
    layer_chart,
    look_by_name,
    make_legend,
    mark,
    mark_chart,
    panel_height,
    panel_of_size,
    panel_width,
    stack,
)
from cwndlab.report.figures import PROBES, RECORDED
from cwndlab.report.looks import choose_dashes, name_series
from cwndlab.report.palette import PALETTE
from cwndlab.stats import series
from cwndlab.stats.results import Results
from cwndlab.study.outputs import Figure

from .sequence import DRAWN, EDGE, RANK, decimate, sequence_layers, time_sequence_rows


def _records(spec: Figure, results: Results) -> list[tuple[str, str, Columns]]:
    """The cell, panel title and records of each panel; StudyError names the missing probe."""
    table, recorded = RECORDED[spec.kind], []
    for panel, name, cell in series.figure_cells(spec, results):
        title = ", ".join(part for part in (series.panel_title(spec, results, panel), name) if part)
        try:
            recorded.append((cell.id, title, results.records.table(cell.id, table)))
        except KeyError:
            raise StudyError(
                f"cell {cell.id} has no {table} records",
                key=f"figures.{spec.id}",
                right=f"set [probes] {PROBES[table]}",
            ) from None
    if not any(len(columns["time_ns"]) for _, _, columns in recorded):
        raise StudyError(f"no {table} were recorded", key=f"figures.{spec.id}")
    if len(recorded) > PANELS:
        raise StudyError(
            f"{len(recorded)} cells, a panel each",
            key=f"figures.{spec.id}.where",
            right=f"select {PANELS} at most",
        )
    if len({title for _, title, _ in recorded}) < len(recorded):
        raise StudyError(
            f"{len(recorded)} cells share a panel",
            key=f"figures.{spec.id}",
            right="fix their axes in `where`",
        )
    return recorded


def _window(spec: Figure) -> tuple[float, float]:
    return spec.start or 0.0, spec.until if spec.until is not None else float("inf")


def draw_sequence(spec: Figure, results: Results) -> tuple[Spec, dict[str, list[Row]], str]:
    """A time-sequence graph of each cell's first replicate."""
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


def draw_windows(spec: Figure, results: Results) -> tuple[Spec, dict[str, list[Row]], str]:
    """Cwnd and ssthresh of a connection against time."""
    panels = []
    for _, title, columns in _records(spec, results):
        mine = columns["connection"] == (spec.connection or 0)
        mine &= np.asarray(columns["from_client"], dtype=bool) == busy_side(columns, mine)
        time = columns["time_ns"][mine] / 1e9
        ssthresh = columns["ssthresh_bytes"][mine].astype(np.float64)
        cwnd = columns["cwnd_bytes"][mine].astype(np.float64)
        # An ssthresh not yet set is missing (-1) or endless; drawn, it would flatten everything else.
        ssthresh[(ssthresh < 0) | (ssthresh > 4 * cwnd.max(initial=0.0))] = np.nan
        lines = {"cwnd": cwnd / 1000, "ssthresh": ssthresh / 1000}
        panels.append(_Panel(title, "window (kB)", time, lines))
    return _against_time(spec, panels, _window(spec))


def busy_side(columns: Columns, mine: Any) -> bool:
    """Whether the client's window changes more than the server's; with bulk data one way, one is constant."""
    client = np.asarray(columns["from_client"], dtype=bool)
    spread = [len(np.unique(columns["cwnd_bytes"][mine & (client == side)])) for side in (False, True)]
    return spread[1] >= spread[0]


def _link(spec: Figure, results: Results, cell: str, recorded: Any) -> int:
    """The index of the link that a queue figure shows."""
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


def draw_queues(spec: Figure, results: Results) -> tuple[Spec, dict[str, list[Row]], str]:
    """The length of a queue against time, and RED's average."""
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
    """The lines of one panel, against time."""

    title: str
    y_title: str
    time: Any
    lines: dict[str, Any]


def _against_time(
    spec: Figure, panels: Sequence[_Panel], window: tuple[float, float]
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
        legend = make_legend(name_series(names), "stroke", spec, panels=len(panels))
        encoding = {
            "x": field("time:Q", title=spec.x_title or "time (s)", scale=span),
            "y": field("y:Q", title=spec.y_title or y_title, axis={"tickMinStep": 1}),
            "color": look_by_name("series:N", names, PALETTE, legend=legend),
            "strokeDash": look_by_name("series:N", names, choose_dashes(names, spec), legend=legend),
        }
        chart = mark_chart(data, mark("line", encoding, interpolate="step-after", strokeWidth=1.4))
        charts.append(panel_of_size(chart, title, spec))
    shown = " and ".join(dict.fromkeys(panel.y_title for panel in panels))
    return stack(charts, spec), rows, f"{shown} against time: {', '.join(names)}"
