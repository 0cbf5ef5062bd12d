"""The parts of a search, one by one: ranges, spaces, goals, the worst of many, rankings, and its command."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner, Result

from cwndlab.api import Study
from cwndlab.apps.search import worst_case
from cwndlab.apps.search.worst_case import Goal, SearchRange, Space, Tried, goal_of, parse_ranges, space_of
from cwndlab.base.errors import StudyError
from cwndlab.cli.registry import command_line
from cwndlab.stats.results import Estimate

STUDY = """
title = "Two"
measure = ["goodput", "queue_delay"]
[dumbbell]
rate = "4Mbps"
rtt = "20ms"
buffer = [1, 2]
flows = [{ name = "tested", cc = "reno" }]
[axes.law]
values = ["reno", "cubic"]
sets = "tcp.groups.tested.cc"
[run]
duration = "1s"
replicates = 3
"""


def study() -> Study:
    return Study.from_toml(STUDY)


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("buffer=0.1..16", [("buffer", 0.1, 16.0, "")]),
        ("rtt=5ms..300ms", [("rtt", 5.0, 300.0, "ms")]),
        ("rtt=5..300ms", [("rtt", 5.0, 300.0, "ms")]),
        ("rtt=5ms..300", [("rtt", 5.0, 300.0, "ms")]),
        (" a.b = .5..1e3 ,loss=0.1%..2%", [("a.b", 0.5, 1000.0, ""), ("loss", 0.1, 2.0, "%")]),
        ("rate=1.5E+2b/s..2e2b/s", [("rate", 150.0, 200.0, "b/s")]),
    ],
)
def test_ranges_have_numbers_and_one_unit(text: str, ranges: list[tuple[object, ...]]) -> None:
    assert [(one.key, one.low, one.high, one.unit) for one in parse_ranges(text)] == ranges


@pytest.mark.parametrize(
    "text", ["", "=1..2", "a=1..", "a=..2", "a=1...2", "a=1..2 x", "a", "a=1..2,", "a=2..2", "a=-1..2"]
)
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_ranges(text)
    assert caught.value.key == "--over"


def test_a_range_that_is_the_wrong_way_round_or_named_twice_is_refused() -> None:
    with pytest.raises(StudyError, match=r"'a=2\.\.1' ends before it begins") as caught:
        parse_ranges("a=2..1")
    assert caught.value.right == "a=2..1 the other way"
    with pytest.raises(StudyError, match="b has two ranges"):
        parse_ranges("a=1..2,b=1..2,b=2..3")


@pytest.mark.parametrize(
    ("low", "high", "whole", "place", "value"),
    [
        (1, 8, False, 0.5, 2.83),  # a factor of 8: the geometric mean
        (1, 7.99, False, 0.5, 4.5),
        (0, 100, False, 0.5, 50.0),
        (-4, 4, False, 0.5, 0.0),
        (1, 100, False, 0.0, 1.0),
        (1, 100, False, 1.0, 100.0),
        (100, 800, False, 0.3, 187.0),
        (0.001, 0.008, False, 1 / 3, 0.002),
        (1.0004, 2.0006, False, 0.0, 1.0004),  # rounded, it would lie below the range
        (1.0004, 2.9996, False, 1.0, 2.9996),
        (10, 20, True, 0.57, 16.0),
        (2, 4, True, 0.0, 2.0),
    ],
)
def test_a_place_of_a_range_is_a_value_of_three_digits(
    low: float, high: float, whole: bool, place: float, value: float
) -> None:
    assert SearchRange("a", low, high, "", whole).value_at(place) == pytest.approx(value, rel=1e-12)


def test_a_value_is_written_with_its_unit_and_without_a_needless_point() -> None:
    plain, unit = SearchRange("a", 1, 2, ""), SearchRange("a", 1, 2, "ms")
    assert [repr(plain.to_text(value)) for value in (4.0, 4.5)] == ["4", "4.5"]
    assert [unit.to_text(value) for value in (4.0, 4.5)] == ["4ms", "4.5ms"]


def test_an_axis_of_numbers_is_searched_in_its_own_unit() -> None:
    space = space_of(study(), parse_ranges("buffer=1..3"))
    (found,) = space.ranges.values()
    assert (found.key, found.low, found.high, found.unit, found.whole) == ("buffer", 1.0, 3.0, "", True)
    for text in ("buffer=1.5..3", "buffer=1..3.5", "buffer=1..8"):
        (found,) = space_of(study(), parse_ranges(text)).ranges.values()
        assert not found.whole
    (found,) = space_of(study(), parse_ranges("buffer=1BDP..3BDP")).ranges.values()
    assert found.unit == ""
    with pytest.raises(StudyError, match="the axis buffer has no values in ms") as caught:
        space_of(study(), parse_ranges("buffer=1ms..2ms"))
    assert caught.value.right == "leave the unit out: its values are in BDP"
    with pytest.raises(StudyError, match="the axis law has values of other kinds"):
        space_of(study(), parse_ranges("law=1..2"))


def test_keys_of_the_network_and_dotted_keys_become_axes() -> None:
    space = space_of(
        study(), parse_ranges("rtt=10ms..20ms,tcp.initial_window=2..9,dumbbell.rate=1Mbps..9Mbps")
    )
    assert list(space.ranges) == ["rtt", "search_1", "rate"]
    point = space.point([0.0, 1.0, 0.5])
    assert point == {"rtt": 10.0, "search_1": 9.0, "rate": 3.0}
    assert space.words(point) == "rtt=10ms, tcp.initial_window=9, dumbbell.rate=3Mbps"
    cells = space.with_points([point, {"rtt": 20.0, "search_1": 2.0, "rate": 9.0}]).plan().cells
    assert len(cells) == 8
    assert {(cell.axes["rtt"], cell.axes["buffer"], cell.axes["law"]) for cell in cells} == {
        (rtt, buffer, law) for rtt in (10, 20) for buffer in (1, 2) for law in ("reno", "cubic")
    }
    assert all((cell.axes["rtt"] == 10) == (cell.axes["rate"] == 3) for cell in cells)
    (group,) = {tcp["initial_window"]["segments"] for tcp in cells[0].compiled.scenario["tcp"]}
    assert group == 9
    at = space.study_at(point)
    assert len(at.plan().cells) == 4 and at.outline.tables and not space.with_points([point]).outline.tables
    size = space_of(study(), parse_ranges("tcp.rto.min=100ms..200ms"))
    cell = size.study_at(size.point([0.5])).plan().cells[0]
    assert 150_000_000 in {tcp["rto"]["min_ns"] for tcp in cell.compiled.scenario["tcp"]}


def test_a_goal_has_the_direction_that_is_given_or_that_is_bad() -> None:
    space = Space(study(), {})
    assert goal_of(space, "goodput") == Goal("goodput", "lowest")
    assert goal_of(space, "goodput", "highest") == Goal("goodput", "highest")
    for direction, key in (("highest", "--highest"), (None, "--worst")):
        with pytest.raises(StudyError, match='there is no quantity "godput"') as caught:
            goal_of(space, "godput", cast(Any, direction))
        assert (caught.value.key, caught.value.right) == (key, 'did you mean "goodput"?')


@pytest.mark.parametrize(
    ("budget", "cells", "replicates", "points"),
    [(60, 2, 3, 10), (300, 1, 5, 60), (65, 2, 3, 10), (66, 2, 3, 11)],
)
def test_a_budget_allows_so_many_points(budget: int, cells: int, replicates: int, points: int) -> None:
    assert worst_case._points(budget, cells, replicates) == points


@pytest.mark.parametrize(
    ("cells", "replicates", "fewer"), [(2, 3, "--replicates and --set AXIS=VALUE"), (1, 1, "--replicates")]
)
def test_fewer_than_ten_points_are_too_few(cells: int, replicates: int, fewer: str) -> None:
    least = 10 * cells * replicates
    with pytest.raises(StudyError) as caught:
        worst_case._points(least - 1, cells, replicates)
    assert caught.value.right == f"at least {least}, or fewer runs for each point ({fewer})"


def tried(value: float, name: str = "c", **point: float) -> Tried:
    estimate = Estimate(name, "goodput", "Mbit/s", value, value - 1, value + 1, 3, "t")
    return Tried(point, {"law": name}, estimate)


def test_the_worst_of_several_is_the_first_of_equals_and_a_number() -> None:
    ones = [
        tried(math.nan, "none"),
        tried(3.0, "a"),
        tried(2.0, "b"),
        tried(5.0, "d"),
        tried(2.0, "e"),
        tried(5.0, "f"),
    ]
    assert worst_case._worst(ones, lambda a, b: a < b).axes["law"] == "b"
    assert worst_case._worst(ones, lambda a, b: a > b).axes["law"] == "d"
    assert worst_case._worst(ones[:1], lambda a, b: a < b).axes["law"] == "none"


@pytest.mark.parametrize(("points", "size"), [(10, 5), (35, 5), (36, 6), (143, 23), (144, 24), (600, 24)])
def test_a_generation_is_a_sixth_of_the_points_from_5_to_24(points: int, size: int) -> None:
    sizes: list[int] = []
    seen: list[NDArray[np.float64]] = []

    def measure(places: NDArray[np.float64]) -> NDArray[np.float64]:
        sizes.append(places.shape[1])
        seen.append(places)
        return np.asarray(((places - 0.7) ** 2).sum(axis=0))

    worst_case._minimize(measure, 2, points, seed=1)
    assert set(sizes) == {size} and points - size < sum(sizes) <= points
    first = seen[0]
    # a Latin hypercube: one point in each stratum
    assert sorted((first[0] * size).astype(int)) == list(range(size)), (
        "a Latin hypercube: one in each stratum"
    )
    assert ((0 <= np.hstack(seen)) & (np.hstack(seen) <= 1)).all()
    again: list[NDArray[np.float64]] = []
    worst_case._minimize(
        lambda places: (again.append(places), np.zeros(places.shape[1]))[1], 2, points, seed=2
    )
    assert not np.array_equal(first, again[0])


def found(confirmed: float, direction: str = "lowest", **more: Any) -> Any:
    """What a search of two ranges found; its runs with other random numbers have another value."""
    ranges = {"buffer": SearchRange("buffer", 1, 9, ""), "a": SearchRange("rtt", 1, 9, "ms")}
    space = SimpleNamespace(ranges=ranges, words=Space(study(), ranges).words)
    return SimpleNamespace(
        space=space,
        goal=Goal("goodput", cast(Any, direction)),
        worst=tried(1.23456, "w", buffer=4.0, a=2.5),
        tried=(tried(1.0), tried(2.0)),
        runs=90,
        confirmed_estimate=tried(confirmed).estimate,
        confirmed=SimpleNamespace(report=Path("r.html")),
        **more,
    )


def test_values_are_ranked_from_the_worst_and_failures_come_last(tmp_path: Path) -> None:
    given = {"reno": found(2.0), "cubic": found(1.0)}
    ranked = worst_case.search_each(study(), "law", lambda _, value: given[value], tmp_path / "a")
    assert [one.value for one in ranked] == ["cubic", "reno"]
    assert (tmp_path / "a/ranking.csv").read_text().splitlines() == [
        "law,goodput (Mbit/s),in the search,buffer,rtt,runs",
        "cubic,1,1.235,4,2.5ms,90",
        "reno,2,1.235,4,2.5ms,90",
    ]
    assert (tmp_path / "a/ranking.md").read_text().splitlines()[1] == "|---|---|---|---|---|---|"
    high = {"reno": found(2.0, "highest"), "cubic": found(1.0, "highest")}
    ranked = worst_case.search_each(study(), "law", lambda _, value: high[value], tmp_path / "b")
    assert [one.value for one in ranked] == ["reno", "cubic"]

    def fails(part: Study, value: str) -> Any:
        assert [cell.axes["law"] for cell in part.plan().cells] == [value] * 2
        if value == "reno" or part is None:
            raise StudyError("no run ended")
        return given[value]

    ranked = worst_case.search_each(study(), "law", fails, tmp_path / "c")
    assert [(one.value, one.reason) for one in ranked] == [("cubic", ""), ("reno", "no run ended")]
    assert (tmp_path / "c/ranking.csv").read_text().splitlines()[2] == "reno,failed: no run ended,,,,"

    def all_fail(part: Study, value: str) -> Any:
        raise StudyError(f"{value} failed")

    with pytest.raises(StudyError, match="cubic failed"):
        worst_case.search_each(study(), "law", all_fail, tmp_path / "d")
    head, _, tail = STUDY.replace("[1, 2]", "1").partition("[axes")
    without = Study.from_toml(head + tail[tail.index("[run") :])
    with pytest.raises(StudyError, match='there is no axis "x"') as caught:
        worst_case.search_each(without, "x", fails, tmp_path)
    assert (caught.value.key, caught.value.right) == ("--each", "the study has no axes")


def test_a_trace_is_taken_at_the_observation_point_or_at_an_end_of_the_first_link() -> None:
    without = study()
    assert without.base.probes.segments_at is None
    at = worst_case._with_observation_point(without)
    end = without.base.topology.links[0].between[0]
    assert at.base.probes.segments_at == (end[0] if isinstance(end, list) else end)
    assert worst_case._with_observation_point(at) is at


def search(monkeypatch: pytest.MonkeyPatch, folder: Path, *words: str) -> tuple[Result, list[Any]]:
    asked: list[Any] = []

    def one(space: Space, goal: Goal, out: Path, **more: Any) -> Any:
        asked.append((goal, out, more["budget"], more["options"].replicates))
        more["progress"](6, tried(1.0, buffer=4.0))
        return found(2.0, goal.direction)

    monkeypatch.setattr(worst_case, "search", one)
    file = folder / "two.toml"
    file.write_text(STUDY)
    monkeypatch.chdir(folder)
    return CliRunner().invoke(command_line(), ["search", str(file), "--over", "buffer=1..9", *words]), asked


def test_the_command_shows_the_worst_point_and_its_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result, asked = search(monkeypatch, tmp_path, "--worst", "goodput", "--budget", "60", "--replicates", "2")
    assert asked == [(Goal("goodput", "lowest"), Path("two-search"), 60, 2)]
    assert result.stderr == "6 runs: 1 (0 to 2) Mbit/s at buffer=4\n"
    assert result.stdout.splitlines() == [
        "lowest goodput: buffer=4, rtt=2.5ms (cell w)",
        "in the search: 1.235 (0.2346 to 2.235) Mbit/s, 2 points, 90 runs",
        "run again with other random numbers: 2 (1 to 3) Mbit/s",
        f"the worst point: {Path('two-search/worst.toml')}, {Path('two-search/worst.pcapng')}, r.html",
    ]
    result, asked = search(monkeypatch, tmp_path, "--highest", "goodput", "-o", str(tmp_path / "o"))
    assert asked == [(Goal("goodput", "highest"), tmp_path / "o", 300, None)]


def test_the_command_searches_each_value_of_an_axis(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, asked = search(monkeypatch, tmp_path, "--lowest", "goodput", "--each", "law")
    assert [out for _, out, *_ in asked] == [Path("two-search/reno"), Path("two-search/cubic")]
    assert result.stderr.splitlines()[::2] == ["law=reno", "law=cubic"]
    assert result.stdout.startswith("| law | goodput (Mbit/s) |") and result.stdout.endswith("| 90 |\n")


@pytest.mark.parametrize("words", [(), ("--worst", "goodput", "--lowest", "goodput")])
def test_one_quantity_is_searched(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result, _ = search(monkeypatch, tmp_path, *words)
    assert isinstance(result.exception, StudyError) and "says what is searched" in str(result.exception)
