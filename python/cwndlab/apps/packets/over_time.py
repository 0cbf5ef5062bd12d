"""Figures of a cell's first replicate over time: goodput shares, windows, and the queue."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cwndlab.base.core import KeptRecords
from cwndlab.base.errors import NotFoundError, OutputError, StudyError, nearest
from cwndlab.base.numbers import Columns
from cwndlab.metrics import RunView, select_connections
from cwndlab.records.run_view import TableColumns, WholeRun, bottleneck, flow_name
from cwndlab.records.window import interval_edges
from cwndlab.report.canvas import (
    Row,
    Spec,
    field,
    look_by_name,
    make_legend,
    mark,
    mark_chart,
    panel_of_size,
    stack,
)
from cwndlab.report.looks import choose_colours, choose_dashes, name_series
from cwndlab.report.palette import PLAIN
from cwndlab.stats import series
from cwndlab.study.labels import Labels

from .graphs import busy_side
from .sequence import decimate

if TYPE_CHECKING:
    from cwndlab.api import Study
    from cwndlab.runs.single_run import Recorded, Tables
    from cwndlab.stats.results import Results
    from cwndlab.study.outputs import Figure

KIND = "over-time"
#: Number of intervals of a run for which shares are computed.
INTERVALS = 60
#: The width of a line in pixels, which limits its points.
WIDTH = 500
SHARE, WINDOW, QUEUE = "share of the goodput (%)", "congestion window (kB)", "queue (packets)"
ALL = "the queue"
"""The series name for lines that belong to no flow; no flow has this name."""


def with_figures(study: Study, cells: Sequence[str]) -> Study:
    """The study with an additional figure for each of these cells; StudyError if there is no such cell."""
    known, labels = {cell.id: cell for cell in study.plan().cells}, Labels.from_outline(study.outline)
    figures = [dict(figure) for figure in study.document.tables.get("figures", [])]
    for number, name in enumerate(dict.fromkeys(cells), start=1):
        if name not in known:
            raise StudyError(f'there is no cell "{name}"', key="--trace", right=nearest(name, known))
        settings = labels.settings(known[name].axes)
        title = f"Over time, in the first run{f' ({settings})' if settings else ''}"
        where = dict(known[name].axes)
        figures.append({"id": f"{KIND}-{number}", "title": title, "kind": KIND, "where": where})
    return study.set({"figures": figures})


def add_replays(source: Recorded, results: Results, figures: Iterable[Figure]) -> Results:
    """The results with the data of figures over time, from repeated runs of their cells."""
    cells = {cell for figure in figures if figure.kind == KIND for cell in _cells(figure, results)}
    found: dict[tuple[str, str], Columns | str] = {}
    for cell in sorted(cells):
        try:
            found[cell, KIND] = _lines(source, cell)
        except (OutputError, NotFoundError) as error:
            found[cell, KIND] = str(error.args[0])
    return replace(results, replays={**results.replays, **found})


def _cells(figure: Figure, results: Results) -> list[str]:
    spec, _ = series.restrict_to_run_cells(figure, results)
    return [cell.id for _, _, cell in series.figure_cells(spec, results)]


def _lines(source: Recorded, cell: str) -> Columns:
    """The points of all lines as columns: panel, line, time (s) and value."""
    known = source.scenario(cell)
    duration, link = int(known["duration_ns"]), bottleneck(known["links"])
    interval_s = duration / 1e9 / INTERVALS
    tables, scenario = with_intervals(source, cell, 0, interval_s, {"cwnd": True, "queues": [link]})
    view, groups = RunView(WholeRun(KeptRecords(tables), scenario), 0, duration), flow_groups(scenario)
    points = [
        *_share_lines(view, groups, interval_s),
        *_windows(view, groups, TableColumns(tables["cwnd"])),
        *_queue(TableColumns(tables["queues"]), link),
    ]
    words = {
        name: np.array([point[at] for point in points], dtype=object)
        for at, name in enumerate(("panel", "series"))
    }
    numbers = {
        name: np.concatenate([point[at] for point in points]) for at, name in enumerate(("time", "value"), 2)
    }
    sizes = [len(point[2]) for point in points]
    return {**{name: np.repeat(column, sizes) for name, column in words.items()}, **numbers}


Line = tuple[str, str, NDArray[Any], NDArray[Any]]


def flow_groups(scenario: Mapping[str, Any]) -> list[str]:
    """The groups of flows of a scenario."""
    return list(dict.fromkeys(flow_name(str(entry["name"])) for entry in scenario["traffic"]))


def shares(view: RunView, groups: Sequence[str], interval_s: float) -> dict[str, NDArray[np.float64]]:
    """Each group's share (%) of the bytes delivered in each interval; 0 if nothing was delivered.

    The run must have counters at the edges of the intervals.
    """
    parts = view.parts(interval_s)
    delivered = np.array([[_bytes(select_connections(part, group)) for part in parts] for group in groups])
    whole = delivered.sum(axis=0)
    found = np.divide(100 * delivered, whole, out=np.zeros_like(delivered), where=whole > 0)
    return dict(zip(groups, found, strict=True))


def _share_lines(view: RunView, groups: Sequence[str], interval_s: float) -> Iterator[Line]:
    """The shares as step lines; nothing for a single group."""
    if len(groups) > 1:
        for group, own in shares(view, groups, interval_s).items():
            yield SHARE, group, np.arange(len(own) + 1) * interval_s, np.append(own, own[-1])


def _bytes(connections: Columns) -> float:
    return float(np.sum(connections["bytes_up"]) + np.sum(connections["bytes_down"]))


def _windows(view: RunView, groups: Sequence[str], columns: TableColumns) -> Iterator[Line]:
    """The window of each group's connection, or the mean window of its open connections."""
    time, window = columns["time_ns"], columns["cwnd_bytes"] / 1e3
    sender = np.asarray(columns["from_client"], dtype=bool)
    for group in groups:
        serials = [int(serial) for serial in select_connections(view, group)["connection"]]
        grid = np.linspace(0, view.end_s * 1e9, WIDTH)
        total, count = np.zeros(WIDTH), np.zeros(WIDTH)
        for serial in serials:
            mine = columns["connection"] == serial
            mine &= sender == busy_side(columns, mine)
            if not mine.any():
                continue
            if len(serials) == 1:
                yield WINDOW, group, *decimate(time[mine] / 1e9, window[mine], (0.0, np.inf), WIDTH)
                break
            at = np.searchsorted(time[mine], grid, side="right") - 1
            is_open = (at >= 0) & (grid <= time[mine][-1])
            total += np.where(is_open, window[mine][at], 0.0)
            count += is_open
        else:
            if count.any():
                known = count > 0
                yield WINDOW, group, grid[known] / 1e9, total[known] / count[known]


def _queue(columns: Columns, link: int) -> Iterator[Line]:
    mine = columns["link"] == link
    time, packets = columns["time_ns"][mine] / 1e9, columns["packets"][mine].astype(np.float64)
    yield QUEUE, ALL, *decimate(time, packets, (0.0, np.inf), WIDTH)


def draw(spec: Figure, results: Results) -> tuple[Spec, dict[str, list[Row]], str]:
    """The chart of one cell, its data by name, and a description in words."""
    cells = _cells(spec, results)
    if len(cells) != 1:
        right = "select one cell by its axes in `where`"
        raise StudyError(f"it would show {len(cells)} cells", key=f"figures.{spec.id}", right=right)
    found = results.replays.get((cells[0], KIND), "its first replicate was not simulated again")
    if isinstance(found, str):
        raise StudyError(f"cell {cells[0]}: {found}", key=f"figures.{spec.id}")
    rows: dict[str, list[Row]] = {}
    charts: list[Spec] = []
    flows = [name for name in dict.fromkeys(found["series"].tolist()) if name != ALL]
    looks = choose_colours(flows, results.labels.flows, spec), choose_dashes(flows, spec)
    first_s, last_s = spec.start or 0.0, min(spec.until or np.inf, float(found["time"].max()))
    span = {"domain": [first_s, last_s], "nice": False}
    for panel in dict.fromkeys(found["panel"].tolist()):
        mine = found["panel"] == panel
        inside = mine & (found["time"] >= first_s) & (found["time"] <= last_s)
        names = [ALL] if panel == QUEUE else flows
        colours, dashes = ([PLAIN], [[1, 0]]) if panel == QUEUE else looks
        first = not charts
        legend = make_legend(name_series(names), "stroke", spec) if first else None
        data = f"panel{len(charts)}"
        rows[data] = [
            {"time": float(time), "y": float(value), "series": name}
            for name, time, value in zip(
                found["series"][inside], found["time"][inside], found["value"][inside], strict=True
            )
        ]
        encoding = {
            "x": field("time:Q", title=spec.x_title or "time (s)", scale=span),
            "y": field("y:Q", title=panel),
            "color": look_by_name("series:N", names, colours, legend=legend),
            "strokeDash": look_by_name("series:N", names, dashes, legend=legend),
        }
        chart = mark_chart(data, mark("line", encoding, interpolate="step-after", strokeWidth=1.4))
        charts.append(panel_of_size(chart, "", spec))
    shown = ", ".join(dict.fromkeys(found["panel"].tolist()))
    return stack(charts, spec), rows, f"{shown} against time for {', '.join(flows)}"


def with_intervals(
    source: Recorded, cell: str, replicate: int, interval_s: float, probes: Mapping[str, object] | None = None
) -> tuple[Tables, Mapping[str, Any]]:
    """The tables of a run repeated with these probes and with counters at interval edges; its scenario."""
    scenario = source.scenario(cell)
    edges = interval_edges(0, int(scenario["duration_ns"]), interval_s)
    windows = {f"{a} to {b} ns": [a, b] for a, b in itertools.pairwise(edges)}
    changes = {
        "windows": {**scenario.get("windows", {}), **windows},
        "probes": {**scenario["probes"], **(probes or {})},
    }
    return source.simulate_again(cell, replicate, changes), {**scenario, **changes}
