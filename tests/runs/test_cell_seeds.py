"""An axis may set `run.seed`: its cells then have random numbers of their own."""

from __future__ import annotations

from pathlib import Path

from cwndlab.api import Study

TEXT = """
title = "Two seeds"
measure = ["goodput"]
[dumbbell]
rate = "2Mbps"
rtt = "20ms"
loss = "1%"
flows = [{ name = "tested", cc = "reno", start = "0s" }]
[axes.draw]
values = [
    { name = "first", set = { "run.seed" = 1 } },
    { name = "again", set = { "run.seed" = 1 } },
    { name = "other", set = { "run.seed" = 2 } },
]
[run]
duration = "2s"
"""


def goodput(study: Study, folder: Path, seed: int | None = None) -> dict[str, float]:
    result = study.run(folder, seed=seed)
    return {draw: result.sel(draw=draw).estimate("goodput").value for draw in ("first", "again", "other")}


def test_cells_with_their_own_seed_are_other_runs(tmp_path: Path) -> None:
    found = goodput(Study.from_toml(TEXT), tmp_path)
    assert found["first"] == found["again"] != found["other"]


def test_the_seed_of_a_run_moves_that_of_every_cell(tmp_path: Path) -> None:
    found = goodput(Study.from_toml(TEXT), tmp_path / "one")
    moved = goodput(Study.from_toml(TEXT), tmp_path / "two", seed=2)
    assert moved["first"] == found["other"]
    assert moved["other"] not in found.values()
