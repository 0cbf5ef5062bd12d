"""Figures of a run over time: what they show is what the run's records have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cwndlab
from cwndlab.api import Study
from cwndlab.apps.packets import over_time
from cwndlab.base.errors import StudyError
from cwndlab.cli import app
from cwndlab.stats import series

TEXT = """
title = "t"
measure = ["share", "goodput"]
[dumbbell]
rate = "20Mbps"
rtt = "20ms"
buffer = [1, 2]
flows = [{ cc = "cubic" }, { cc = "bbr1", count = 2 }]
[run]
duration = "6s"
replicates = 2
"""
FIGURE = '[[figures]]\nid = "time"\ntitle = "T"\nkind = "over-time"\nwhere = { buffer = 2 }\n'


@pytest.fixture(scope="module")
def run() -> cwndlab.RunResult:
    return Study.from_toml(TEXT + FIGURE).run()


def rows(run: cwndlab.RunResult, figure: str = FIGURE) -> dict[str, list[dict[str, float]]]:
    spec = Study.from_toml(TEXT + figure).outline.figures[-1]
    results = over_time.add_replays(run.campaign, run.results, [spec])
    chart, found, _ = over_time.draw(spec, results)
    titles = [panel["layer"][0] if "layer" in panel else panel for panel in chart["concat"]]
    return {one["encoding"]["y"]["title"]: found[f"panel{k}"] for k, one in enumerate(titles)}


def test_shares_add_up_and_are_those_of_the_whole_run(run: cwndlab.RunResult) -> None:
    shares = rows(run)[over_time.SHARE]
    at = {name: [row["y"] for row in shares if row["series"] == name] for name in ("cubic", "bbr1")}
    assert len(at["cubic"]) == over_time.INTERVALS + 1
    both = np.array(at["cubic"]) + np.array(at["bbr1"])
    assert set(np.round(both[5:], 9)) == {100.0}
    goodput = run.sel(buffer=2).records["connections"]
    delivered = dict.fromkeys(at, 0)
    for flow, size in zip(goodput["flow"].to_pylist(), goodput["bytes_up"].to_pylist(), strict=True):
        delivered[flow.partition(".")[0]] += size
    whole = 100 * delivered["cubic"] / sum(delivered.values())
    assert np.mean(at["cubic"][5:-1]) == pytest.approx(whole, abs=3)


def test_a_single_window_keeps_its_peak_and_several_have_their_mean(run: cwndlab.RunResult) -> None:
    windows = rows(run)[over_time.WINDOW]
    table = run.sel(buffer=2).records["cwnd"]
    peak = {
        flow: max(
            size
            for size, own in zip(table["cwnd_bytes"].to_pylist(), table["flow"].to_pylist(), strict=True)
            if own == flow
        )
        for flow in set(table["flow"].to_pylist())
    }
    shown = {name: max(row["y"] for row in windows if row["series"] == name) for name in ("cubic", "bbr1")}
    assert shown["cubic"] == pytest.approx(peak["cubic"] / 1e3)
    assert shown["bbr1"] <= max(peak["bbr1.0"], peak["bbr1.1"]) / 1e3


def test_the_queue_is_that_of_the_bottleneck(run: cwndlab.RunResult) -> None:
    highest = max(row["y"] for row in rows(run)[over_time.QUEUE])
    assert highest == max(run.sel(buffer=2).records["queues"]["packets"].to_pylist()) > 20


def test_a_part_of_the_run_is_shown(run: cwndlab.RunResult) -> None:
    for panel in rows(run, FIGURE + 'start = "2s"\nuntil = "3s"\n').values():
        assert panel and all(2.0 <= row["time"] <= 3.0 for row in panel)


def test_a_figure_over_time_stands_next_to_those_of_measure(run: cwndlab.RunResult) -> None:
    assert [one.id for one in run.study.outline.figures] == ["share-by-buffer", "goodput-by-buffer", "time"]
    assert run.figure("time").svg.count("<svg") == 1


def test_several_cells_are_an_error_that_says_what_to_write(run: cwndlab.RunResult) -> None:
    with pytest.raises(StudyError, match="it would show 2 cells; select one cell by its axes in `where`"):
        rows(run, FIGURE.replace("where = { buffer = 2 }\n", ""))


def test_trace_adds_a_figure_of_a_cell(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(TEXT)
    out = tmp_path / "out"
    command = ["run", str(tmp_path / "study.toml"), "-o", str(out), "--trace"]
    for cell, code in (("buffer=3", 2), ("buffer=2", 0)):
        with pytest.raises(SystemExit) as ended:
            app([*command, cell])
        assert (ended.value.code, out.exists()) == (code, code == 0)
    assert (out / "figures/over-time-1.svg").is_file()
    assert "Over time, in the first run (buffer: 2 BDP)" in (out / "report.html").read_text()
    again = Study.load(out / "study.toml")
    assert [one.kind for one in again.outline.figures] == ["line", "line", "over-time"]
    assert series.restrict_to_run_cells(again.outline.figures[-1], cwndlab.open_results(out).results)[1] == ""


def _by_hand(monkeypatch: pytest.MonkeyPatch, groups: dict[str, list[int]]) -> Any:
    """A run of 1 s whose groups have these connections."""
    monkeypatch.setattr(
        over_time, "select_connections", lambda _, group: {"connection": np.array(groups[group], dtype=int)}
    )
    return SimpleNamespace(end_s=1.0)


def _window_rows(*rows: tuple[float, int, bool, float]) -> Any:
    """Records of windows: time (s), connection, whether of the client, and kB."""
    time, connection, client, window = zip(*rows, strict=True)
    return {
        "time_ns": np.array(time) * 1e9,
        "connection": np.array(connection),
        "from_client": np.array(client),
        "cwnd_bytes": np.array(window) * 1e3,
    }


def test_a_window_is_of_the_end_that_sends_from_time_0_on(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = _window_rows((0, 0, True, 4), (0, 0, False, 9), (0.5, 1, True, 3), (0.5, 0, True, 5.5))
    view = _by_hand(monkeypatch, {"a": [0], "none": []})
    ((panel, name, time, kb),) = over_time._windows(view, ["a", "none"], columns)
    assert (panel, name, time.tolist(), kb.tolist()) == (over_time.WINDOW, "a", [0, 0.5], [4, 5.5])


def test_several_windows_have_the_mean_of_those_that_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_time, "WIDTH", 11)  # a point each 0.1 s
    columns = _window_rows(
        (0.1, 0, True, 2),
        (0.2, 1, True, 10),
        (0.3, 0, True, 4),
        (0.4, 1, True, 20),
        (0.6, 0, True, 6),
        (0.8, 1, True, 30),
    )
    view = _by_hand(monkeypatch, {"both": [0, 1, 2]})
    ((panel, name, time, kb),) = over_time._windows(view, ["both"], columns)
    assert (panel, name) == (over_time.WINDOW, "both")
    assert time.tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    assert kb.tolist() == [2, 6, 7, 12, 12, 13, 20, 30]


def test_a_queue_is_of_one_link_from_time_0_on() -> None:
    columns: Any = {
        "time_ns": np.array([0, 1, 2, 2]) * 250_000_000,
        "link": np.array([1, 0, 1, 0]),
        "packets": np.array([3, 8, 5, 9]),
    }
    ((panel, name, time, packets),) = over_time._queue(columns, 1)
    assert (panel, name) == (over_time.QUEUE, over_time.ALL)
    assert (time.tolist(), packets.tolist()) == ([0, 0.5], [3, 5])


def test_a_share_is_of_what_all_groups_delivered_and_the_last_lasts_to_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    up = {"a": [[10], [0], [30, 10]], "b": [[30], [0], [0]]}
    monkeypatch.setattr(
        over_time,
        "select_connections",
        lambda part, group: {"bytes_up": np.array(up[group][part]), "bytes_down": np.array([0.0])},
    )
    view: Any = SimpleNamespace(parts=lambda interval_s: range(3))
    lines = list(over_time._share_lines(view, ["a", "b"], 0.5))
    assert [(panel, name, list(time), list(own)) for panel, name, time, own in lines] == [
        (over_time.SHARE, "a", [0, 0.5, 1, 1.5], [25, 0, 100, 100]),
        (over_time.SHARE, "b", [0, 0.5, 1, 1.5], [75, 0, 0, 0]),
    ]
    assert list(over_time._share_lines(view, ["a"], 0.5)) == []


@pytest.mark.parametrize(
    ("replays", "says"),
    [
        ({}, "cell .*: its first replicate was not simulated again"),
        ({"over-time": "no memory"}, "figures.time: cell .*: no memory"),
    ],
)
def test_a_figure_without_its_run_says_why(
    run: cwndlab.RunResult, replays: dict[str, str], says: str
) -> None:
    (spec,) = [figure for figure in run.study.outline.figures if figure.id == "time"]
    (cell,) = over_time._cells(spec, run.results)
    known: Any = {(cell, kind): why for kind, why in replays.items()}
    with pytest.raises(StudyError, match=says):
        over_time.draw(spec, replace(run.results, replays=known))
