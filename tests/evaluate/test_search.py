"""Searches find the worst corner, the same each time, and report runs that its choice did not see."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from cwndlab.api import Study
from cwndlab.apps.search.worst_case import Found, Goal, goal_of, parse_ranges, search, search_each, space_of
from cwndlab.base.errors import ExtraError, StudyError
from cwndlab.runs.run_options import RunOptions
from cwndlab.study.toml import dumps

STUDY = """
title = "Reno over a lossy path"
measure = ["goodput", "queue_delay"]
[dumbbell]
rate = "4Mbps"
rtt = "20ms"
buffer = [1, 2]
flows = [{ name = "tested", cc = "reno" }]
[run]
duration = "3s"
replicates = 3
"""


def study() -> Study:
    return Study.from_toml(STUDY)


def found(folder: Path) -> Found:
    space = space_of(study(), parse_ranges("rtt=10ms..200ms,loss=0.01%..5%"))
    return search(space, Goal("goodput", "lowest"), folder, budget=90, options=RunOptions(replicates=3))


def test_the_corner_that_theory_names_is_found_and_confirmed(tmp_path: Path) -> None:
    """Reno's throughput falls with the round trip and the root of the loss rate: the far corner is worst."""
    one = found(tmp_path)
    assert one.worst.point["rtt"] > 100
    assert one.worst.point["loss"] > 2
    assert len(one.tried) >= 10
    assert one.runs <= 90
    assert one.worst.estimate.value == min(tried.estimate.value for tried in one.tried)
    assert one.confirmed.plan.seed != study().base.run.seed
    assert one.confirmed_estimate.replicates == 3
    again = Study.load(tmp_path / "worst.toml")
    assert one.worst.axes in [dict(cell.axes) for cell in again.plan().cells]
    assert (tmp_path / "worst" / "report.html").exists()
    assert (tmp_path / "worst.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    assert len((tmp_path / "tried.csv").read_text().splitlines()) == 1 + len(one.tried)
    assert found(tmp_path / "again").worst == one.worst, "the seed repeats the search"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("buffer=1", "is no range"),
        ("buffer=4..1", "ends before it begins"),
        ("rtt=5ms..1s", "two units"),
        ("rtt=5ms..9ms,rtt=1ms..2ms", "two ranges"),
    ],
)
def test_what_is_no_range_is_named(text: str, problem: str) -> None:
    with pytest.raises(StudyError, match=problem):
        parse_ranges(text)


def test_a_range_of_what_takes_no_number_is_refused() -> None:
    for text, problem in [
        ("bufer=1..2", "bufer"),
        ("buffer=1ms..2ms", "no values in ms"),
        ("queue=1..2", "queue"),
    ]:
        with pytest.raises(StudyError, match=problem):
            space_of(study(), parse_ranges(text))


def test_a_key_of_the_full_form_is_searched_too() -> None:
    space = space_of(study(), parse_ranges("tcp.initial_window=1..40"))
    (axis,) = space.ranges
    cells = space.with_points([{axis: 4.0}, {axis: 10.0}]).plan().cells
    windows = {cell.axes[axis] for cell in cells}
    assert windows == {4, 10}
    assert len(cells) == 4, "crossed with the two buffers"


def test_what_is_bad_is_known_of_common_metrics_and_asked_for_of_others() -> None:
    space = space_of(study(), parse_ranges("buffer=1..2"))
    assert goal_of(space, "goodput").direction == "lowest"
    assert goal_of(space, "queue_delay_p95").direction == "highest"
    with pytest.raises(StudyError, match="goodput"):
        goal_of(space, "godput", "lowest")


def test_too_small_a_budget_says_what_would_do(tmp_path: Path) -> None:
    space = space_of(study(), parse_ranges("rtt=10ms..200ms"))
    with pytest.raises(StudyError, match="at least 60"):
        search(space, Goal("goodput", "lowest"), tmp_path, budget=10, options=RunOptions(replicates=3))


def test_ranges_of_many_factors_are_searched_by_factors() -> None:
    (wide,) = parse_ranges("buffer=0.1..10")
    assert wide.value_at(0.5) == 1.0
    (narrow,) = parse_ranges("buffer=1..3")
    assert narrow.value_at(0.5) == 2.0


@pytest.mark.parametrize(("ends", "value"), [("1..3", 1), ("1.5..3", 1.68)])
def test_a_value_between_near_ends_is_a_number_of_a_study_file(
    ends: str, value: float, tmp_path: Path
) -> None:
    """Whole between whole ends, where the study's values are whole, too."""
    space = space_of(study(), parse_ranges(f"buffer={ends}"))
    at = space.study_at(space.point(np.array([0.123])))
    (tmp_path / "at.toml").write_text(dumps(at.raw))
    (cell,) = Study.load(tmp_path / "at.toml").plan().cells
    assert cell.axes == {"buffer": value}


def test_each_value_of_an_axis_is_searched_and_ranked_from_the_worst(tmp_path: Path) -> None:
    three = Study.from_toml(STUDY.replace('cc = "reno"', 'cc = ["bbr1", "reno", "cubic"]'))

    def one(part: Study, value: str) -> Found:
        if value == "cubic":
            raise StudyError("cubic: no run ended")
        space = space_of(part, parse_ranges("rtt=10ms..200ms,loss=0.01%..5%"))
        options = RunOptions(replicates=1)
        return search(space, goal_of(space, "goodput"), tmp_path / value, budget=20, options=options)

    ranked = search_each(three, "cc", one, tmp_path)
    assert [row.value for row in ranked] == ["reno", "bbr1", "cubic"]
    assert ranked[0].found is not None and ranked[0].found.worst.axes["cc"] == "reno"
    header, *rows = [line.split(",") for line in (tmp_path / "ranking.csv").read_text().splitlines()]
    assert header == ["cc", "goodput (Mbit/s)", "in the search", "rtt", "loss", "runs"]
    assert [row[0] for row in rows] == ["reno", "bbr1", "cubic"] and rows[0][-1] == "20"
    assert "failed: cubic: no run ended" in (tmp_path / "ranking.md").read_text()
    chosen = search_each(three.set(cc=["reno"]), "cc", one, tmp_path / "chosen")
    assert [row.value for row in chosen] == ["reno"]
    with pytest.raises(StudyError, match='no axis "ccc"'):
        search_each(three, "ccc", one, tmp_path)


def test_without_scipy_the_extra_is_named_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ExtraError, match=r"search needs scipy: pip install 'cwndlab\[search\]'"):
        found(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_budget_that_is_too_small_says_what_a_point_takes(tmp_path: Path) -> None:
    space = space_of(study(), parse_ranges("rtt=10ms..200ms"))
    says = r"each point takes 6 \(2 cells, 3 replicates\); at least 60, or fewer runs for each point"
    with pytest.raises(StudyError, match=says):
        search(space, Goal("goodput", "lowest"), tmp_path, budget=59)
