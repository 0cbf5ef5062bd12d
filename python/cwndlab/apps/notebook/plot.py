"""Altair charts of single runs: windows, packets, queues and shares over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cwndlab.apps.packets.graphs import busy_side
from cwndlab.apps.packets.over_time import flow_groups, shares, with_intervals
from cwndlab.apps.packets.sequence import DRAWN, EDGE, RANK, decimate, sequence_layers, time_sequence_rows
from cwndlab.base.core import KeptRecords
from cwndlab.base.errors import NotFoundError, check_arguments, nearest
from cwndlab.base.writing import with_unit
from cwndlab.metrics import RunView
from cwndlab.plan.scenario import sender
from cwndlab.records.run_view import TableColumns, WholeRun, bottleneck, flow_name
from cwndlab.report.canvas import HEIGHT, WIDTH, field, layer_chart, look_by_name, mark, mark_chart
from cwndlab.report.palette import PALETTE
from cwndlab.results.records import RecordTables, rows_of_flow, with_names
from cwndlab.runs.single_run import Recorded, with_probes
from cwndlab.study.units import seconds

from .altair_charts import interactive_chart

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

    from cwndlab.stats.field import Field
    from cwndlab.study.labels import Labels
    from cwndlab.study.outputs import Scalar

Rows = list[dict[str, Any]]
#: Points of a line per pixel of its width.
POINTS = 0.5


@dataclass(frozen=True)
class Plots:
    """Charts of single runs of the one selected cell, with zoom and tooltips.

    Records that were not kept are simulated again. `chart.save("x.html")`, `.save("x.svg")` and
    `.save("x.pdf")` write a chart to a file.
    """

    SELECTED: ClassVar[str] = "run.sel({}).plot"

    records: RecordTables
    draw: Callable[[str | None], alt.TopLevelMixin]

    def __repr__(self) -> str:
        charts = [f"{name}()" for name, one in vars(Plots).items() if callable(one) and name[0] != "_"]
        return f"<Plots of single runs: {', '.join(charts)}>"

    @check_arguments
    def __call__(self, quantity: str | None = None) -> alt.TopLevelMixin:
        """A quantity of the selected cells with its intervals, as `run[quantity].plot()`.

        >>> run.plot("share").save("chart.html")

        Args:
            quantity: default: what the study's first figure of these cells shows, as `run.chart` gives it.

        Raises:
            NotFoundError: there is no such quantity, or no such figure.

        """
        return self.draw(quantity)

    @check_arguments
    def cwnd(self, flow: str | None = None, *, replicate: int = 0) -> alt.TopLevelMixin:
        """Congestion windows of the connections of one flow, or of all, in kB against time.

        >>> run.sel(buffer=2).plot.cwnd("bbr1").save("chart.html")

        Args:
            flow: the traffic's name in the study, or one instance of it ("cubic.1").
            replicate: from 0.

        Raises:
            NotFoundError: there is no such flow, or several cells are selected.
            OutputError: the run cannot be simulated again.

        """
        chosen = self.records.only_cell()
        table = rows_of_flow(self.records.read_cell("cwnd", chosen, replicate), flow)
        columns = TableColumns(table)
        rows: Rows = []
        for serial in dict.fromkeys(columns["connection"].tolist()):
            mine = columns["connection"] == serial
            mine &= np.asarray(columns["from_client"], dtype=bool) == busy_side(columns, mine)
            name = _label(table, serial)
            rows += _line(columns["time_ns"][mine] / 1e9, columns["cwnd_bytes"][mine] / 1000, "flow", name)
        return _over_time(rows, "flow", "cwnd (kB)", f"cwnd, {chosen}, replicate {replicate}")

    @check_arguments
    def queue(self, link: str | None = None, *, replicate: int = 0) -> alt.TopLevelMixin:
        """Packets in the queue of a direction of a link ("left>right"; default: the bottleneck) against time.

        >>> run.sel(buffer=2).plot.queue().save("chart.html")

        Args:
            link: a direction of a link by its name.
            replicate: from 0.

        Raises:
            NotFoundError: there is no such link, or several cells are selected.
            OutputError: the run cannot be simulated again.

        """
        chosen = self.records.only_cell()
        scenario = self.records.source.scenario(chosen)
        names = [str(link["name"]) for link in scenario["links"]]
        if link is not None and link not in names:
            raise NotFoundError(f'no direction "{link}"; {nearest(link, names)}')
        index = bottleneck(scenario["links"]) if link is None else names.index(link)
        columns = TableColumns(_queue_samples(self.records.source, chosen, replicate, index))
        mine = columns["link"] == index
        rows = _line(columns["time_ns"][mine] / 1e9, columns["packets"][mine], "link", names[index])
        return _over_time(rows, "link", "queue (packets)", f"queue, {chosen}, replicate {replicate}")

    @check_arguments
    def sequence(
        self,
        flow: str | None = None,
        *,
        start: str | float = 0.0,
        until: str | float | None = None,
        replicate: int = 0,
    ) -> alt.TopLevelMixin:
        """Time-sequence graph of a flow's first connection, seen at the study's observation point or, without
        one, at the flow's sender.

        >>> run.sel(buffer=2).plot.sequence("cubic", until="1s").save("chart.html")

        Args:
            flow: the traffic's name in the study; default: of the first connection.
            start: from this time on, as "2s" or in seconds.
            until: to this time.
            replicate: from 0.

        Raises:
            NotFoundError: there is no such flow, or several cells are selected.
            OutputError: the run cannot be simulated again.

        """
        chosen = self.records.only_cell()
        table = rows_of_flow(_segments(self.records.source, chosen, replicate, flow), flow)
        columns = TableColumns(table)
        serial = int(columns["connection"][0]) if table.num_rows else 0
        end = seconds("until", until) if until is not None else float("inf")
        rows = time_sequence_rows(columns, (seconds("start", start), end), serial, WIDTH, HEIGHT)
        top = max((row["segment"] for row in rows if row["event"] != EDGE), default=0)
        rows = sorted((r for r in rows if r["segment"] <= top + 1), key=lambda row: RANK[row["event"]])
        present = {row["event"] for row in rows}
        shown = [drawn for drawn in DRAWN if drawn[0] in present] or [DRAWN[-1]]
        x = field("time:Q", title="time (s)", scale={"zero": False, "nice": False})
        y = field("segment:Q", title="packet number", scale={"zero": False})
        layers = sequence_layers(len(rows) < 200, shown, x, y, top + 1)
        layers[-1]["encoding"]["tooltip"] = [field("time:Q"), field("segment:Q"), field("event:N")]
        made = {**layer_chart("data", layers), "width": WIDTH, "height": HEIGHT}
        title = f"{_label(table, serial)}, {chosen}, replicate {replicate}" if table.num_rows else chosen
        return interactive_chart(made, {"data": rows}, title)

    @check_arguments
    def share(self, *, interval: str | float = "1s", replicate: int = 0) -> alt.TopLevelMixin:
        """Each flow's share of the goodput over time, in intervals of this length.

        >>> run.sel(buffer=2).plot.share(interval="0.5s").save("chart.html")

        Args:
            interval: as "1s" or in seconds.
            replicate: from 0.

        Raises:
            NotFoundError: several cells are selected.
            OutputError: the run cannot be simulated again.

        """
        chosen = self.records.only_cell()
        rows = self._shares(chosen, replicate, seconds("interval", interval))
        names = list(dict.fromkeys(row["flow"] for row in rows))
        encoding = {
            "x": field("time:Q", title="time (s)"),
            "y": field("share:Q", title="share of the goodput (%)", stack=True),
            "color": look_by_name("flow:N", names, PALETTE),
            "tooltip": [field("flow:N"), field("time:Q"), field("share:Q")],
        }
        areas = mark_chart("data", mark("area", encoding, interpolate="step-after", opacity=0.8))
        made = {**areas, "width": WIDTH, "height": HEIGHT}
        return interactive_chart(made, {"data": rows}, f"share, {chosen}, replicate {replicate}")

    def _shares(self, cell: str, replicate: int, interval_s: float) -> Rows:
        tables, scenario = with_intervals(self.records.source, cell, replicate, interval_s)
        view = RunView(WholeRun(KeptRecords(tables), scenario), 0, int(scenario["duration_ns"]))
        found = shares(view, flow_groups(scenario), interval_s)
        rows: Rows = [
            {"time": k * interval_s, "flow": group, "share": float(share)}
            for k, of_all in enumerate(zip(*found.values(), strict=True))
            for group, share in zip(found, of_all, strict=True)
        ]
        last = [{**row, "time": row["time"] + interval_s} for row in rows[-len(found) :]]
        return rows + last  # the end of the last step


def plot_numbers(
    numbers: Field,
    axes: Mapping[str, Sequence[Scalar]],
    x: str | None,
    titles: tuple[str, str],
    labels: Labels,
) -> alt.TopLevelMixin:
    """Numbers with their intervals along the axis `x`, a line for each combination of the other axes.

    `titles` holds the title of the numbers, with their unit, and that of the chart.
    """
    numeric = [
        name for name, values in axes.items() if all(isinstance(value, int | float) for value in values)
    ]
    x = x or next(iter([*numeric, *axes]), None)
    rows: Rows = []
    for key, number in numbers.data.items():
        place = dict(zip(numbers.axes, key, strict=True))
        found = number.estimate()
        series = ", ".join(f"{axis} = {value}" for axis, value in place.items() if axis != x)
        low, high = (found.value if np.isnan(end) else end for end in (found.low, found.high))
        along = place.get(x, "") if x else ""
        rows.append({"x": along, "y": found.value, "low": low, "high": high, "series": series})
    names = list(dict.fromkeys(str(row["series"]) for row in rows))
    kind = "Q" if x in numeric else "N"
    encoding = {
        "x": field(f"x:{kind}", title=with_unit(x or "", labels.axis_unit(x or ""))),
        "y": field("y:Q", title=titles[0], scale={"zero": False}),
        "color": look_by_name("series:N", names, PALETTE, legend={"title": None} if len(names) > 1 else None),
    }
    ends = {**encoding, "y": field("low:Q", title=encoding["y"]["title"]), "y2": {"field": "high"}}
    marks = [mark("rule", ends), mark("line" if x in numeric else "point", encoding, point=True)]
    made = {**layer_chart("data", marks), "width": WIDTH, "height": HEIGHT}
    return interactive_chart(made, {"data": rows}, titles[1])


def _label(table: pa.Table, serial: int) -> str:
    """The legend's name for a connection: its flow, with a number if the flow has several connections."""
    connection = table.column("connection").to_numpy()
    name = str(table.column("flow")[int(np.argmax(connection == serial))].as_py())
    same = np.asarray(table.column("flow").to_pylist(), dtype=object) == name
    return name if len(np.unique(connection[same])) == 1 else f"{name} #{serial}"


def _line(time: Any, values: Any, key: str, name: str) -> Rows:
    whole = (0.0, float("inf"))
    x, y = decimate(time, np.asarray(values, dtype=np.float64), whole, int(POINTS * WIDTH))
    return [{"time": float(t), "y": float(v), key: name} for t, v in zip(x, y, strict=True)]


def _over_time(rows: Rows, key: str, y_title: str, title: str) -> alt.TopLevelMixin:
    names: Sequence[str] = list(dict.fromkeys(row[key] for row in rows))
    legend = {"title": None} if len(names) > 1 else None
    encoding = {
        "x": field("time:Q", title="time (s)"),
        "y": field("y:Q", title=y_title),
        "color": look_by_name(f"{key}:N", names, PALETTE, legend=legend),
        "tooltip": [field(f"{key}:N"), field("time:Q", title="time (s)"), field("y:Q", title=y_title)],
    }
    lines = mark_chart("data", mark("line", encoding, interpolate="step-after", strokeWidth=1.4))
    made = {**lines, "width": WIDTH, "height": HEIGHT}
    return interactive_chart(made, {"data": rows}, title)


def _segments(source: Recorded, cell: str, replicate: int, flow: str | None) -> pa.Table:
    """The segments, with flow names, at the study's observation point or else at the flow's sender."""
    scenario = source.scenario(cell)
    entries = [e for e in scenario["traffic"] if flow in (None, e["name"], flow_name(e["name"]))]
    tables = source.tables(cell, replicate)
    if scenario["probes"]["segments_at"] is None and entries:
        tables = with_probes(source, cell, replicate, {"segments_at": sender(entries[0])})
    return with_names(tables["segments"], tables.get("connections"), scenario)


def _queue_samples(source: Recorded, cell: str, replicate: int, link: int) -> pa.Table:
    """The queue samples of one direction of a link, given by its index."""
    table = source.tables(cell, replicate).get("queues")
    if table is None or link not in table.column("link").to_pylist():
        table = with_probes(source, cell, replicate, {"queues": [link]})["queues"]
    return table
