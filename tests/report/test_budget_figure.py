"""Stacked bars of time budgets."""

from __future__ import annotations

from colours import lightness
from cwndlab import Dumbbell, Flow, Run, Study
from cwndlab.records.budget import PARTS
from cwndlab.report.budget import COLOURS, OTHER


def test_each_traffic_entry_gets_a_bar_that_is_as_high_as_its_mean_delay() -> None:
    flows = [Flow(cc=cc, bytes="50kB", start="0s") for cc in ("cubic", "reno")]
    study = Study.build(
        "two files",
        dumbbell=Dumbbell(rate="2Mbps", rtt="40ms", buffer="20pkt", flows=flows),
        run=Run(duration="5s", replicates=1),
        axes={"iw": {"sets": "tcp.initial_window", "values": [1, 10]}},
        quantities=[{"name": "delay", "metric": "object_delays", "options": {"kind": "file"}}],
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
    assert list(heights) == ["1, cubic", "1, reno", "10, cubic", "10, reno"]
    for iw in (1, 10):
        delays = run.results.values(f"iw={iw}", "delay")[0]
        assert sorted(delays) == sorted(round(heights[f"{iw}, {cc}"], 9) for cc in ("cubic", "reno"))
    assert heights["10, reno"] < heights["1, reno"]


def test_neighbouring_parts_differ_in_lightness_so_that_they_print_in_grey() -> None:
    order = [*PARTS, OTHER]
    level = [lightness(COLOURS[part]) for part in order]
    close = [(order[k], order[k + 1]) for k in range(len(order) - 1) if abs(level[k] - level[k + 1]) < 7]
    assert not close
