"""Line and bar figures: which marks they have, what each shows, and how the places along x are labelled."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cwndlab.base.errors import StudyError
from cwndlab.report import lines
from cwndlab.report.canvas import INK, Row, Spec
from cwndlab.report.lines import _by_ratios, _named_x, _numeric_x, _rows, room_for
from cwndlab.stats.intervals import Interval
from cwndlab.stats.series import Point
from cwndlab.study.labels import AxisInfo
from cwndlab.study.outputs import Figure
from synthetic import grid, make_results

CELLS = grid(iw=[1, 2, 4, 8], cc=["reno", "cubic"])
AXES = {"iw": AxisInfo("initial window", "packets", {"8": "eight"})}


def value(cell: Any) -> float:
    return float(cell.axes["iw"]) * (2 if cell.axes["cc"] == "cubic" else 1)


def results(spread: float = 0.1, cells: Any = CELLS) -> Any:
    data = {(cell.id, "q"): [value(cell) + step * spread for step in (-1, 0, 1)] for cell in cells}
    return make_results(cells, {"q": "ms"}, data, titles={"q": "delay"}, axes=AXES)


def figure(**keys: Any) -> Figure:
    return Figure.model_validate(
        {"id": "f", "title": "F", "kind": "line", "x": "iw", "quantity": "q", **keys}
    )


def drawn(spread: float = 0.1, *, bars: bool = False, named: bool = True, **keys: Any) -> Any:
    return lines.draw(figure(**keys), results(spread), bars=bars, named=named)


def marks(chart: Spec) -> list[str]:
    return [layer["mark"]["type"] for layer in chart["layer"]]


COLOURS = {"domain": ["reno", "cubic"], "range": ["#1754d8", "#fd5b2a"]}
Y_AXIS = {"titleY": -8, "values": [0.0, 5.0, 10.0, 15.0, 20.0], "format": ",.0f"}
LOG = {"type": "log", "nice": False}


def test_lines_have_bands_points_and_names_at_their_ends() -> None:
    chart, rows, words = drawn(series=["cc"])
    assert words == "delay (ms) against initial window (packets) for reno, cubic"
    assert marks(chart) == ["area", "line", "point", "rule", "text"]
    # The longest name has 5 letters of 8 pixels, after 24 pixels.
    assert (chart["width"], chart["height"], chart["data"]) == (510 - 64, 290, {"name": "panel0"})
    band, line, point, rule, text = chart["layer"]
    assert band["mark"] == {"type": "area", "opacity": 0.16}
    assert (band["encoding"]["y"]["field"], band["encoding"]["y2"]) == ("low", {"field": "high"})
    assert line["mark"] == {"type": "line", "strokeWidth": 2}
    assert point["mark"] == {"type": "point", "filled": True, "size": 36, "opacity": 1}
    assert line["encoding"]["strokeDash"]["scale"] == {"domain": ["reno", "cubic"], "range": [[1, 0], [6, 3]]}
    for layer in (band, line, point):
        assert layer["encoding"]["color"]["scale"] == COLOURS
        assert layer["encoding"]["color"]["legend"] is None
        x, y = layer["encoding"]["x"], layer["encoding"]["y"]
        assert (x["field"], x["title"], x["scale"]) == ("x", "initial window (packets)", LOG)
        assert x["axis"] == {"values": [1, 2, 4, 8], "format": "d", "labelOverlap": "greedy"}
        assert (y["title"], y["axis"]) == (["delay (ms)"], Y_AXIS)
        assert y["scale"] == {"domain": [0.0, 20.0], "nice": False, "zero": False}
    at = {"field": "at", "type": "quantitative", "scale": None, "axis": None}
    assert rule["mark"] == {"type": "rule", "strokeWidth": 2.5} and rule["data"] == {"name": "ends"}
    assert [rule["encoding"][name] for name in ("x", "x2", "y")] == [{"value": 451}, {"value": 467}, at]
    assert text["mark"] == {"type": "text", "align": "left", "fontSize": 13, "color": INK}
    assert text["encoding"] == {"y": at, "x": {"value": 470}, "text": {"field": "label", "type": "nominal"}}
    assert rows["ends"] == [
        {"series": "cubic", "label": "cubic", "at": pytest.approx(290 * 4 / 20)},
        {"series": "reno", "label": "reno", "at": pytest.approx(290 * 12 / 20)},
    ]
    first = rows["panel0"][0]
    assert (first["x"], first["y"], first["series"]) == (1.0, 1.0, "reno")
    assert first["low"] < 1.0 < first["high"]


def test_lines_without_names_at_their_ends_have_a_legend() -> None:
    chart, rows, _ = drawn(named=False, series=["cc"])
    assert marks(chart) == ["area", "line", "point"] and list(rows) == ["panel0"] and chart["width"] == 510
    looks = [chart["layer"][1]["encoding"][name] for name in ("color", "strokeDash")]
    assert [look["legend"]["symbolType"] for look in looks] == ["stroke", "stroke"]
    alone, _, words = drawn(where={"cc": "reno"})
    assert marks(alone) == ["area", "line", "point"] and alone["width"] == 510
    assert "strokeDash" not in alone["layer"][1]["encoding"]
    assert alone["layer"][1]["encoding"]["color"]["legend"] is None
    assert words == "delay (ms) against initial window (packets)"


def test_exact_numbers_have_no_intervals() -> None:
    assert marks(drawn(0.0, where={"cc": "reno"})[0]) == ["line", "point"]
    assert marks(drawn(0.0, bars=True, where={"cc": "reno"})[0]) == ["bar"]


def test_a_single_place_has_a_rule_for_its_interval() -> None:
    chart, _, _ = lines.draw(figure(), results(cells=grid(iw=[4], cc=["reno"])), bars=False)
    assert chart["layer"][0]["mark"] == {"type": "rule", "strokeWidth": 1.4, "opacity": 0.7}


def test_bars_stand_side_by_side_with_rules_for_their_intervals() -> None:
    chart, rows, _ = drawn(bars=True, series=["cc"])
    bar, rule = chart["layer"]
    assert bar["mark"] == {"type": "bar", "opacity": 0.85}
    assert rule["mark"] == {"type": "rule", "strokeWidth": 1.2, "color": INK}
    offset = {
        "field": "series",
        "type": "nominal",
        "sort": ["reno", "cubic"],
        "scale": {"paddingInner": 0.15},
    }
    assert bar["encoding"]["xOffset"] == rule["encoding"]["xOffset"] == offset
    assert bar["encoding"]["color"]["legend"]["symbolType"] == "square"
    assert (rule["encoding"]["y"]["field"], rule["encoding"]["y2"]) == ("low", {"field": "high"})
    x = bar["encoding"]["x"]
    assert (x["type"], x["sort"], x["title"]) == (
        "nominal",
        ["1", "2", "4", "eight"],
        "initial window (packets)",
    )
    assert [row["x"] for row in rows["panel0"][::2]] == ["1", "2", "4", "eight"]
    alone, _, _ = drawn(bars=True, where={"cc": "reno"})
    assert "xOffset" not in alone["layer"][0]["encoding"]


def test_panels_have_titles_and_a_legend_that_all_share() -> None:
    chart, rows, _ = drawn(panels="cc")
    assert [panel["title"] for panel in chart["concat"]] == [["cc: reno"], ["cc: cubic"]]
    assert list(rows) == ["panel0", "panel1"] and chart["columns"] == 1
    assert [panel["data"]["name"] for panel in chart["concat"]] == ["panel0", "panel1"]


def test_what_was_not_measured_is_no_figure() -> None:
    nothing = make_results(CELLS, {"q": "ms"}, {}, axes=AXES)
    with pytest.raises(StudyError) as error:
        lines.draw(figure(where={"cc": "reno"}), nothing, bars=False)
    assert error.value.problem == "nothing was measured for it"
    assert error.value.key == "figures.f"


def point(x: Any, low: float, y: float, high: float) -> Point:
    return Point("", "", x, Interval(y, low, high, 5, "t"))


def test_ends_that_an_interval_lacks_are_its_value_and_a_log_axis_leaves_out_what_is_not_above_0() -> None:
    points = [point(1, -math.inf, 2.0, math.nan), point(2, -1.0, 3.0, 4.0), point(3, 0.0, 0.0, 1.0)]

    def ends(**keys: Any) -> list[Row]:
        rows = _rows(points, figure(**keys), results(), numeric=True)
        return [(row["x"], row["low"], row["y"], row["high"]) for row in rows]  # type: ignore[misc]

    assert ends() == [(1.0, 2.0, 2.0, 2.0), (2.0, -1.0, 3.0, 4.0), (3.0, 0.0, 0.0, 1.0)]
    assert ends(log_y=True) == [(1.0, 2.0, 2.0, 2.0), (2.0, 3.0, 3.0, 4.0)]


@pytest.mark.parametrize(
    ("at", "grow"),
    [
        ([1, 2, 4], True),
        ([10, 20, 50, 100], True),
        ([1, 2], False),
        ([0, 1, 2], False),
        ([-4, 2, 4], False),
        ([1, 2, 3], False),
        ([10, 11, 12], False),
        ([1, 2, 4, 40], False),
        ([4, 4.4, 4.9], False),
        ([1.0, 1.6, 2.56], False),
        ([1.0, 1.61, 2.5921], True),
    ],
)
def test_values_that_grow_by_one_factor_are_on_a_logarithmic_axis(at: list[float], grow: bool) -> None:
    assert _by_ratios(at) is grow


@pytest.mark.parametrize(
    ("places", "axis", "scale"),
    [
        ([1, 2, 4], {"values": [1, 2, 4], "format": "d", "labelOverlap": "greedy"}, LOG),
        ([1, 2], {"values": [1, 2], "format": "d", "labelOverlap": "greedy"}, None),
        ([3.5], {"values": [3.5], "format": "~g", "labelOverlap": "greedy"}, None),
        ([0.5, 1.5], {"values": [0.5, 1.5], "format": "~g", "labelOverlap": "greedy"}, None),
        ([2, 1], {"values": [1, 2], "format": "d", "labelOverlap": "greedy"}, None),
        ([k + 0.5 for k in range(8)], "values", None),
        ([k + 0.5 for k in range(9)], {}, True),
        (list(range(20)), "values", None),
        (list(range(21)), {}, True),
    ],
)
def test_few_places_have_a_tick_each(places: list[Any], axis: Any, scale: Any) -> None:
    found = _numeric_x(figure(), "title", places)
    assert (found["field"], found["type"], found["title"]) == ("x", "quantitative", "title")
    if axis == "values":
        assert found["axis"]["values"] == sorted(places)
    else:
        assert found["axis"] == axis
    # Without ticks of their own, the ends are rounded.
    assert found["scale"] == (scale if isinstance(scale, dict) else {"zero": False, "nice": bool(scale)})


def test_an_axis_may_be_logarithmic_although_its_places_are_many() -> None:
    many = [k + 0.5 for k in range(30)]
    assert _numeric_x(figure(log_x=True), "t", many)["scale"] == LOG
    assert _numeric_x(figure(log_x=True), "t", many)["axis"] == {}
    assert _numeric_x(figure(log_x=True), "t", [0.5, 3.0])["axis"]["format"] == "~g"


@pytest.mark.parametrize(("names", "few"), [(12, True), (13, False)])
def test_more_than_12_names_may_overlap(names: int, few: bool) -> None:
    axis = _named_x("law", [f"n{k}" for k in range(names)], figure())["axis"]
    assert ("labelExpr" in axis) is few
    assert few or axis == {"labelAngle": 0, "labelOverlap": True}


@pytest.mark.parametrize(
    ("names", "room"),
    [
        (["a"], 0),
        (["a", "bb"], 24 + 16),
        (["a"] * 5, 32),
        (["a"] * 6, 0),
        (["a", "b" * 18], 24 + 8 * 18),
        (["a", "b" * 19], 0),
    ],
)
def test_names_at_the_ends_of_lines_take_at_most_a_third_of_a_panel(names: list[str], room: int) -> None:
    """A third of 510 pixels is 170: 24 for a piece of the line, and 8 for each of 18 letters."""
    assert room_for(names, figure()) == room


def test_the_titles_of_axes_say_what_is_compared_with_what() -> None:
    assert lines.titles(figure(), results()) == ("initial window (packets)", "delay (ms)")
    own = figure(x_title="along", y_title="up")
    assert lines.titles(own, results()) == ("along", "up")
    compared = figure(compare="increase(cc='reno')")
    assert lines.titles(compared, results())[1] == "increase of delay against cc: reno (%)"
    assert lines.titles(figure(x="index"), results())[0] == "number"


def test_an_interval_that_is_cut_off_is_reported() -> None:
    huge = {(cell.id, "q"): [1.0, 1.0, 2.0] for cell in CELLS if cell.axes["iw"] != 1}
    huge |= {(cell.id, "q"): [-60.0, 1.0, 62.0] for cell in CELLS if cell.axes["iw"] == 1}
    made = make_results(CELLS, {"q": "ms"}, huge, titles={"q": "delay"}, axes=AXES)
    chart, _, words = lines.draw(figure(where={"cc": "reno"}), made, bars=False)
    assert words.endswith("against initial window (packets); an interval goes beyond the axis")
    assert chart["layer"][0]["mark"] == {"type": "area", "opacity": 0.16, "clip": True}


def test_many_points_are_not_marked() -> None:
    for count, marked in ((60, True), (61, False)):
        cells = grid(iw=list(range(1, count + 1)), cc=["reno"])
        chart, _, _ = lines.draw(figure(), results(0.0, cells), bars=False)
        assert marks(chart) == (["line", "point"] if marked else ["line"])


def test_several_quantities_have_the_title_of_the_first() -> None:
    cells = grid(iw=[1, 2])
    made = make_results(cells, {"q": "ms", "p": "ms"}, {}, titles={"q": "delay", "p": "p95"}, axes=AXES)
    assert lines.titles(figure(quantity=None, quantities=["q", "p"]), made)[1] == "delay (ms)"
