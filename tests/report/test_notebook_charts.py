"""Charts, datasets and progress in notebooks, from numbers that are written by hand."""

from __future__ import annotations

import queue
import sys
import threading
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

import synthetic
from cwndlab.apps.notebook import plot, stream, xarray_export
from cwndlab.apps.notebook.progress_line import Notebook
from cwndlab.base.errors import NotFoundError, RunError
from cwndlab.report.palette import PALETTE
from cwndlab.stats.field import Field
from cwndlab.study.labels import AxisInfo


@pytest.fixture(autouse=True)
def unmade(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts and datasets as they are described, not made."""
    monkeypatch.setattr(plot, "interactive_chart", lambda made, data, title: (made, data["data"], title))
    monkeypatch.setattr(xarray_export, "_make_dataset", lambda *parts: parts)


LABELS = synthetic.make_labels({"q": "s"}, axes={"buffer": AxisInfo(unit="BDP"), "cc": AxisInfo()})


def drawn(values: dict[Any, list[float]], axes: dict[str, list[Any]], x: str | None = None) -> Any:
    numbers = Field(tuple(axes), {key: synthetic.sample(runs) for key, runs in values.items()})
    return plot.plot_numbers(numbers, axes, x, ("q (s)", "the chart"), LABELS)


def test_numbers_are_drawn_along_the_first_axis_of_numbers_with_a_line_for_each_other_value() -> None:
    values = {("a", 1): [1.0, 2.0, 3.0], ("b", 1): [5.0], ("a", 2): [2.0, 2.5, 3.0]}
    chart, rows, title = drawn(values, {"cc": ["a", "b"], "buffer": [1, 2]})
    assert title == "the chart" and (chart["width"], chart["height"]) == (510, 290)
    assert [(row["x"], row["y"], row["series"]) for row in rows] == [
        (1, 2.0, "cc = a"), (1, 5.0, "cc = b"), (2, 2.5, "cc = a"),
    ]  # fmt: skip
    assert rows[0]["low"] < 2.0 < rows[0]["high"] and rows[1]["low"] == rows[1]["high"] == 5.0
    rule, line = chart["layer"]
    assert (rule["mark"]["type"], line["mark"]) == ("rule", {"type": "line", "point": True})
    x, y, colour = (line["encoding"][name] for name in ("x", "y", "color"))
    assert (x["field"], x["type"], x["title"]) == ("x", "quantitative", "buffer (BDP)")
    assert (y["field"], y["title"], y["scale"]) == ("y", "q (s)", {"zero": False})
    assert colour["scale"] == {"domain": ["cc = a", "cc = b"], "range": PALETTE[:2]}
    assert colour["legend"] == {"title": None}
    assert (rule["encoding"]["y"]["field"], rule["encoding"]["y2"]) == ("low", {"field": "high"})
    assert rule["encoding"]["y"]["title"] == "q (s)"


def test_names_along_an_axis_are_points_and_one_series_needs_no_legend() -> None:
    chart, rows, _ = drawn({("a",): [1.0, 2.0], ("b",): [2.0, 3.0]}, {"cc": ["a", "b"]})
    assert [(row["x"], row["series"]) for row in rows] == [("a", ""), ("b", "")]
    assert chart["layer"][1]["mark"]["type"] == "point"
    assert chart["layer"][1]["encoding"]["x"]["type"] == "nominal"
    assert chart["layer"][1]["encoding"]["color"]["legend"] is None
    chosen, rows, _ = drawn({("a", 1): [1.0]}, {"cc": ["a"], "buffer": [1]}, "cc")
    assert chosen["layer"][1]["mark"]["type"] == "point" and rows[0]["series"] == "buffer = 1"
    alone, rows, _ = drawn({(): [1.0, 2.0]}, {})
    assert rows[0]["x"] == "" and alone["layer"][1]["encoding"]["x"]["title"] == ""


def table(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def test_a_connection_is_named_by_its_flow_and_by_its_number_among_several() -> None:
    made = table(connection=[3, 5, 5, 7], flow=["a", "b", "b", "a"])
    assert [plot._label(made, serial) for serial in (3, 5, 7)] == ["a #3", "b", "a #7"]


def test_lines_over_time_have_a_step_for_each_value() -> None:
    rows = plot._line(np.array([0.0, 0.5, 2.0]), [1, 2, 3], "flow", "a")
    assert rows == [{"time": time, "y": y, "flow": "a"} for time, y in ((0.0, 1.0), (0.5, 2.0), (2.0, 3.0))]
    many = plot._line(np.linspace(0, 1, 5000), np.arange(5000) % 7, "flow", "a")
    assert len(many) < 1200 and {0.0, 6.0} == {min(one["y"] for one in many), max(one["y"] for one in many)}
    chart, data, title = cast(Any, plot._over_time(rows, "flow", "cwnd (kB)", "t"))
    assert (data, title) == (rows, "t") and chart["encoding"]["color"]["legend"] is None
    assert chart["mark"] == {"type": "line", "interpolate": "step-after", "strokeWidth": 1.4}
    assert [one["field"] for one in chart["encoding"]["tooltip"]] == ["flow", "time", "y"]
    assert (chart["encoding"]["y"]["title"], chart["width"], chart["height"]) == ("cwnd (kB)", 510, 290)
    two = plot._over_time([*rows, {"time": 0.0, "y": 1.0, "flow": "b"}], "flow", "y", "t")
    assert cast(Any, two)[0]["encoding"]["color"]["legend"] == {"title": None}


def plots(tables: dict[str, pa.Table], scenario: Any) -> plot.Plots:
    source = SimpleNamespace(scenario=lambda cell: scenario, tables=lambda cell, replicate: tables)
    records = SimpleNamespace(
        only_cell=lambda: "c", source=source, read_cell=lambda name, cell, replicate: tables[name]
    )
    return plot.Plots(cast(Any, records), lambda quantity: cast(Any, f"drawn {quantity}"))


def test_the_window_of_the_end_that_sends_is_drawn_in_kilobytes() -> None:
    cwnd = table(
        time_ns=[0, 0, 1_000_000_000], connection=[4, 4, 4], flow=["a"] * 3, from_client=[True, False, True],
        cwnd_bytes=[14_480, 1, 20_000], in_flight_bytes=[10, 0, 10],
    )  # fmt: skip
    made = plots({"cwnd": cwnd}, {})
    _, rows, title = cast(Any, made.cwnd(replicate=2))
    assert title == "cwnd, c, replicate 2"
    assert rows == [{"time": 0.0, "y": 14.48, "flow": "a"}, {"time": 1.0, "y": 20.0, "flow": "a"}]
    assert cast(Any, made("share")) == "drawn share"
    assert repr(made) == "<Plots of single runs: cwnd(), queue(), sequence(), share()>"


def test_the_queue_of_the_bottleneck_or_of_a_named_direction_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    links = [{"name": "fast"}, {"name": "neck"}, {"name": "back"}]
    queues = table(time_ns=[0, 10, 20], link=[1, 0, 1], packets=[3, 9, 4])
    monkeypatch.setattr(plot, "bottleneck", lambda given: 1)
    asked: list[Any] = []

    def again(source: Any, cell: str, replicate: int, probes: Any) -> dict[str, pa.Table]:
        asked.append((cell, replicate, probes))
        return {"queues": table(time_ns=[5], link=[2], packets=[8])}

    monkeypatch.setattr(plot, "with_probes", again)
    made = plots({"queues": queues}, {"links": links})
    _, rows, title = cast(Any, made.queue())
    assert [(row["time"], row["y"], row["link"]) for row in rows] == [(0.0, 3.0, "neck"), (2e-8, 4.0, "neck")]
    assert title == "queue, c, replicate 0" and asked == []
    _, rows, _ = cast(Any, made.queue("back", replicate=3))
    assert [(row["y"], row["link"]) for row in rows] == [(8.0, "back")]
    assert asked == [("c", 3, {"queues": [2]})]
    _, rows, _ = cast(Any, plots({}, {"links": links}).queue("back"))
    assert [row["y"] for row in rows] == [8.0]
    with pytest.raises(NotFoundError, match='no direction "nck"; did you mean "neck"'):
        made.queue("nck")


def test_shares_end_with_the_last_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plot, "with_intervals", lambda *given: ({}, {"duration_ns": 4_000_000_000}))
    monkeypatch.setattr(plot, "RunView", lambda run, start, end: (start, end))
    monkeypatch.setattr(plot, "WholeRun", lambda records, scenario: None)
    monkeypatch.setattr(plot, "flow_groups", lambda scenario: "groups")

    def shares(view: Any, groups: str, interval_s: float) -> dict[str, list[float]]:
        assert (view, groups, interval_s) == ((0, 4_000_000_000), "groups", 2.0)
        return {"a": [25.0, 50.0], "b": [75.0, 50.0]}

    monkeypatch.setattr(plot, "shares", shares)
    chart, rows, title = cast(Any, plots({}, {}).share(interval="2s", replicate=1))
    assert title == "share, c, replicate 1"
    assert [(row["time"], row["flow"], row["share"]) for row in rows] == [
        (0.0, "a", 25.0), (0.0, "b", 75.0), (2.0, "a", 50.0), (2.0, "b", 50.0),
        (4.0, "a", 50.0), (4.0, "b", 50.0),
    ]  # fmt: skip
    assert chart["mark"] == {"type": "area", "interpolate": "step-after", "opacity": 0.8}
    assert chart["encoding"]["y"]["stack"] is True
    assert chart["encoding"]["color"]["scale"] == {"domain": ["a", "b"], "range": PALETTE[:2]}


def dataset(cells: Any, data: Any) -> Any:
    results = synthetic.make_results(
        cells, {"q": "s"}, data, axes={"n": AxisInfo("number", "pkt"), "cc": AxisInfo()}, titles={"q": "Q"}
    )
    by_id = {cell.id: cell for cell in cells}
    numbers = [(by_id[cell], name) for cell, name in data]
    tables = SimpleNamespace(numbers=lambda: numbers, results=results, axes={"n": None, "cc": None})
    return xarray_export.results_dataset(cast(Any, tables), {"title": "t"})


def test_results_are_arrays_along_the_axes_and_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xarray_export, "axis_column", lambda axis, values: pa.array(values))
    cells = synthetic.grid(n=[1, 2], cc=["a", "b"])
    runs = {(cell.id, "q"): [1.0 + k, 2.0 + k, 3.0][: 2 + k % 2] for k, cell in enumerate(cells)}
    variables, coordinates, attributes = dataset(cells, runs)
    assert attributes == {"title": "t"} and coordinates["replicate"] == range(3)
    dimensions, values, about = variables["q"]
    assert dimensions == ("n", "cc", "replicate") and about == {"units": "s", "long_name": "Q"}
    np.testing.assert_array_equal(values, [[[1, 2, np.nan], [2, 3, 3]], [[3, 4, np.nan], [4, 5, 3]]])
    assert coordinates["n"][0] == "n" and coordinates["n"][2] == {"long_name": "number", "units": "pkt"}
    assert coordinates["cc"][1].tolist() == ["a", "b"] and coordinates["cc"][2] == {"long_name": "cc"}


def test_cells_with_different_axes_are_along_a_dimension_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(xarray_export, "axis_column", lambda axis, values: pa.array(values))
    cells = (*synthetic.grid(n=[1]), *synthetic.grid(n=[2], cc=["a"]))
    variables, coordinates, _ = dataset(cells, {(cells[1].id, "q"): [7.0]})
    dimensions, values, _ = variables["q"]
    assert dimensions == ("cell", "replicate") and coordinates["cell"] == [cell.id for cell in cells]
    np.testing.assert_array_equal(values, [[np.nan], [7.0]])
    assert coordinates["cc"][0] == "cell" and coordinates["cc"][1].tolist() == [None, "a"]


def test_a_quantity_is_a_dataset_of_values_ends_and_runs() -> None:
    numbers = {("a",): synthetic.sample([1.0, 2.0, 3.0]), ("b",): synthetic.sample([5.0])}

    def made(data: dict[Any, Any], count: int) -> Any:
        samples = SimpleNamespace(
            axes={"cc": ["a", "b"]}, fixed={"n": 1}, unit="s", name="q", field=Field(("cc",), data)
        )
        return xarray_export.samples_dataset(cast(Any, _Sized(samples, count)))

    variables, coordinates, about = made(numbers, 2)
    assert about == {"long_name": "q"} and coordinates == {"cc": ["a", "b"], "n": 1}
    assert list(variables) == ["value", "ci_low", "ci_high", "runs"]
    assert variables["value"][0] == ("cc",) and variables["value"][1].tolist() == [2.0, 5.0]
    low, high = (variables[name][1] for name in ("ci_low", "ci_high"))
    assert low[0] < 2.0 < high[0] and np.isnan(low[1]) and np.isnan(high[1])
    assert variables["runs"][0] == ("cc", "replicate") and variables["runs"][2] == {"units": "s"}
    np.testing.assert_array_equal(variables["runs"][1], [[1.0, 2.0, 3.0], [5.0, np.nan, np.nan]])
    derived = numbers | {("b",): numbers["a",] - numbers["a",]}
    assert "runs" not in made(derived, 2)[0]


class _Sized:
    """Samples of so many numbers."""

    def __init__(self, samples: Any, count: int) -> None:
        self.__dict__.update(vars(samples))
        self.count = count

    def __len__(self) -> int:
        return self.count


def test_a_progress_line_is_shown_once_and_then_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    handle = SimpleNamespace(update=lambda text: shown.append(f"update {text}"))

    def display(text: str, display_id: bool) -> Any:
        shown.append(f"{display_id} {text}")
        return handle

    monkeypatch.setitem(
        sys.modules, "IPython", SimpleNamespace(display=SimpleNamespace(HTML=str, display=display))
    )
    line = Notebook()
    line.start(2, 4, 1)
    assert len(shown) == 1 and shown[0].startswith("True <progress value=")
    assert shown[0].endswith('max="100"></progress> 1 of 4 replicates, 0 of 2 cells')
    line.draw()
    assert shown[1].startswith("update <progress value=")


def test_a_stream_gives_each_replicate_and_its_result_or_its_error() -> None:
    axes = {"a": {"n": 1}, "b": {"n": 2}}

    def run(finished: Any) -> Any:
        finished("a", 0, {"q": 1.0})
        finished("b", 3, {"q": 2.0})
        return "the result"

    made = stream.Stream(run, axes)
    found = list(made)
    assert [(one.cell, one.axes, one.replicate, one.values) for one in found] == [
        ("a", {"n": 1}, 0, {"q": 1.0}), ("b", {"n": 2}, 3, {"q": 2.0}),
    ]  # fmt: skip
    assert cast(Any, made.result) == "the result"

    def fails(finished: Any) -> Any:
        finished("a", 0, {})
        raise RunError("it broke")

    broken = stream.Stream(fails, axes)
    assert next(broken).cell == "a"
    with pytest.raises(RunError, match="it broke"):
        next(broken)
    with pytest.raises(RunError, match="it broke"):
        _ = broken.result


def test_a_stream_that_is_closed_stops_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "WAITING", 2)
    monkeypatch.setattr(stream, "_POLL_S", 0.001)
    given, ended = [], threading.Event()

    def run(finished: Any) -> Any:
        try:
            for k in range(100):
                finished("a", k, {})
                given.append(k)
        finally:
            ended.set()

    with stream.Stream(run, {"a": {}}) as made:
        assert iter(made) is made and next(made).replicate == 0
    assert ended.wait(5) and len(given) < 100
    with pytest.raises(StopIteration):
        next(made)
    with pytest.raises(RunError, match="the run was stopped"):
        _ = made.result
    assert isinstance(made._feed.found, queue.Queue) and made._feed.found.maxsize == 2
