"""Figures of a run over time: what they show is what the run's records have."""

from __future__ import annotations

from pathlib import Path

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
