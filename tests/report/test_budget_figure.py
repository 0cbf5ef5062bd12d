"""Stacked bars of time budgets."""

from __future__ import annotations

from pathlib import Path

import pytest

from colours import lightness
from cwndlab import Dumbbell, Flow, Run, Study
from cwndlab._core import BudgetError
from cwndlab.apps.diagnosis.budget_figure import COLOURS, OTHER, BudgetKey, short_names
from cwndlab.apps.diagnosis.time_budgets import budget_columns
from cwndlab.apps.headline.conditions import network_words
from cwndlab.apps.twin.twin import budget_text
from cwndlab.records.critical_path import PARTS
from cwndlab.report.methods import describe_run
from cwndlab.runs.campaign import Campaign
from cwndlab.runs.executors.protocol import Job, Stopped
from cwndlab.runs.work import MeasuredRuns


def test_each_traffic_entry_gets_a_bar_that_is_as_high_as_its_mean_delay() -> None:
    flows = [Flow(cc=cc, bytes="50kB", start="0s") for cc in ("cubic", "reno")]
    study = Study.build(
        "two files",
        dumbbell=Dumbbell(rate="2Mbps", rtt="40ms", buffer="20pkt", flows=flows),
        run=Run(duration="5s", replicates=1),
        axes={"iw": {"sets": "tcp.initial_window", "values": [1, 10]}},
        quantities=[{"name": "delay", "metric": "completion_time", "options": {"kind": "file"}}],
        figures=[
            {
                "id": "where",
                "title": "Where the time goes",
                "kind": "budget",
                "x": "iw",
                "of": "file",
                "traffic": ["cubic", "reno"],
            }
        ],
    )
    run = study.run()
    (rows,) = run.chart("where").datasets.values()
    heights: dict[str, float] = {}
    for row in rows:
        heights[row["x"]] = heights.get(row["x"], 0.0) + row["y"]
    assert list(heights) == ["1 cubic", "1 reno", "10 cubic", "10 reno"]
    for iw in (1, 10):
        delays = run.results.values(f"iw={iw}", "delay")[0]
        assert sorted(delays) == sorted(round(heights[f"{iw} {cc}"], 9) for cc in ("cubic", "reno"))
    assert heights["10 reno"] < heights["1 reno"]
    parts = {row["part"] for row in rows}
    assert {"slow start", "queueing"} <= parts and not any("-" in part or "cwnd" in part for part in parts)


def test_neighbouring_parts_differ_in_lightness_so_that_they_print_in_grey() -> None:
    order = [*PARTS, OTHER]
    level = [lightness(COLOURS[part]) for part in order]
    close = [(order[k], order[k + 1]) for k in range(len(order) - 1) if abs(level[k] - level[k + 1]) < 7]
    assert not close


def test_a_figures_budgets_come_with_the_first_replicates_whose_records_stay_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def study(figures: list[dict[str, object]]) -> Study:
        return Study.build(
            "two files",
            dumbbell=Dumbbell(
                rate="2Mbps", rtt="40ms", buffer="20pkt", flows=[Flow(cc="cubic", bytes="50kB", count=2)]
            ),
            run=Run(duration="5s", replicates=2),
            axes={"iw": {"sets": "tcp.initial_window", "values": [1, 10]}},
            quantities=[{"name": "delay", "metric": "completion_time", "options": {"kind": "file"}}],
            probes={"connections": True, "cwnd": True},
            figures=figures,
        )

    where = {"id": "where", "title": "Where the time goes", "kind": "budget", "x": "iw", "of": "file"}
    plain = study([]).run(out=tmp_path / "plain")
    cells = [cell.id for cell in plain.plan.cells]
    again = {cell: budget_columns(plain.campaign, cell, 0, "file") for cell in cells}

    def never(*_: object) -> None:
        raise AssertionError("simulated again")

    monkeypatch.setattr(Campaign, "simulate_again", never)
    run = study([where]).run(out=tmp_path / "with a figure")
    assert (tmp_path / "with a figure/figures/where.svg").exists()
    kept = [
        sorted((tmp_path / name / "store").glob("records/*/*.arrows")) for name in ("plain", "with a figure")
    ]
    assert len(kept[0]) == 2
    for one, other in zip(*kept, strict=True):
        assert one.name == other.name and one.read_bytes() == other.read_bytes()
    for cell in cells:
        found = budget_columns(run.campaign, cell, 0, "file")
        assert list(found) == list(again[cell]) and len(found["flow"])
        for name in found:
            assert found[name].tolist() == again[cell][name].tolist()


def test_a_run_whose_budgets_take_too_much_memory_goes_without(monkeypatch: pytest.MonkeyPatch) -> None:
    flows = [Flow(cc="cubic", bytes="50kB")]
    study = Study.build(
        "a file",
        dumbbell=Dumbbell(rate="2Mbps", rtt="40ms", buffer="20pkt", flows=flows),
        run=Run(duration="5s", replicates=1),
        measure=["goodput"],
    )
    cell = study.plan().cells[0]
    job = Job("key", cell.id, cell.scenario, 1, 0, keep_records=True, budgets=("file",))
    work = MeasuredRuns(tuple(study.outline.quantities))
    with_them = work.perform_one(job)
    assert with_them is not None and with_them.budgets is not None and len(with_them.budgets["file"])
    run = MeasuredRuns._run

    def limited(self: MeasuredRuns, job: Job, stopped: Stopped) -> object:
        if job.budgets:
            raise BudgetError("too much memory")
        return run(self, job, stopped)

    monkeypatch.setattr(MeasuredRuns, "_run", limited)
    without = work.perform_one(job)
    assert without is not None and without.error is None and without.budgets is None
    assert (without.values, without.records) == (with_them.values, with_them.records)


def test_a_pacer_and_a_full_window_are_one_part_next_to_a_kernel() -> None:
    key = BudgetKey("cell", "connection")
    same = budget_text(key, {"pacing": 2.0, "handshake": 0.1}, {"cwnd": 2.0, "handshake": 0.1})
    assert same.endswith(
        "takes 2100 ms in the simulator and 2100 ms on the kernel: no part differs by 5 % of it."
    )
    longer = budget_text(key, {"pacing": 1.0, "cwnd": 1.0}, {"cwnd": 3.0})
    assert longer.endswith("congestion window or pacing 2000 → 3000.")


def test_the_line_of_what_was_run_has_the_warm_up() -> None:
    content = {"cells": [{"replicates": 3}], "scenario": {"duration_ns": 30 * 10**9}, "study": "a", "seed": 1}
    words = describe_run({**content, "set": {}, "changed": {}}, {"run": {"warmup": "5s"}})
    assert words[0] == "1 cell, 3 runs of 30 s, the first 5 s left out"


def test_the_line_of_what_was_run_counts_flows_of_one_name_together() -> None:
    flows = [{"cc": "cubic"}, {"cc": "bbr1", "count": 3}, {"cc": "cubic", "rtt": "80ms"}, {"name": "web"}]
    words = network_words({"dumbbell": {"rate": "50Mbps", "rtt": "40ms", "flows": flows}})
    assert words == ("50 Mbps, 40 ms, drop-tail", "cubic, 3 × bbr1, cubic (rtt 80 ms) and web")


def test_bars_of_traffic_are_called_by_what_distinguishes_it() -> None:
    assert short_names(["ecn_web", "plain_web"]) == ["ecn", "plain"]
    assert short_names(["ecn_web", "plain"]) == ["ecn_web", "plain"]
    assert short_names(["ecn_web"]) == ["ecn_web"]
