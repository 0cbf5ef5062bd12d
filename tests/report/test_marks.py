"""Marks of a chart in SVG: each at the pixels of its row, with the look of its series."""

from __future__ import annotations

from typing import Any

import pytest

from cwndlab.report.drawing.marks import INK, Layer, Places, draw_layer, polyline, symbol
from cwndlab.report.drawing.scales import Band, Numbers

#: 10 pixels for each unit along x, from the left; 5 along y, from the bottom of 100 pixels.
PLACES = Places(Numbers(0, 10, 0, 100), Numbers(0, 20, 100, 0))
XY = {"x": {"field": "a"}, "y": {"field": "b"}}
COLOUR = {"color": {"field": "s", "scale": {"domain": ["p", "q"], "range": ["#111", "#222"]}}}
ROWS = [{"a": 2, "b": 4, "s": "p"}, {"a": 1, "b": 8, "s": "q"}, {"a": 4, "b": 0, "s": "p"}]


def drawn(kind: str, rows: list[dict[str, Any]], channels: dict[str, Any], **options: Any) -> str:
    mark = {"mark": {"type": kind, **options}, "encoding": channels}
    return draw_layer(Layer.from_spec(mark, rows), PLACES)


@pytest.mark.parametrize(
    ("points", "step", "path"),
    [
        ([(1, 2), (3, 2), (3, 5), (1, 4.25)], False, "M1,2h2v3l-2,-0.8"),
        ([(1, 2), (1, 2), (1.04, 2.04), (1, 3)], False, "M1,2v1"),  # what is no tenth apart is one point
        ([(1, 2), (3, 5), (6, 5), (6, 1)], True, "M1,2h2v3h3v-4"),
        ([(0, 0), (-1, -1)], False, "M0,0l-1,-1"),
        ([(0, 0), (-1, -1)], True, "M0,0h-1v-1"),
        ([(7.1, 0)], False, "M7.1,0"),
        ([], False, ""),
    ],
)
def test_a_path_goes_through_its_points(points: list[tuple[float, float]], step: bool, path: str) -> None:
    assert polyline(points, step=step) == path


def test_lines_are_sorted_along_x_and_one_for_each_series() -> None:
    lines = drawn("line", ROWS, {**XY, **COLOUR}, strokeWidth=2)
    assert lines == (
        '<g class="line"><path fill="none" d="M20,80l20,20" stroke="#111" stroke-width="2"/>'
        '<path fill="none" d="M10,60" stroke="#222" stroke-width="2"/></g>'
    )
    ordered = drawn("line", ROWS, {**XY, "order": {"field": "b"}})
    assert 'd="M40,100l-20,-20l-10,-20"' in ordered and 'stroke="#4c78a8" stroke-width="1"' in ordered


def test_dashes_without_gaps_are_solid() -> None:
    for gap, dash in ((2, ' stroke-dasharray="4,2"'), (0, "")):
        look = {"strokeDash": {"field": "s", "scale": {"domain": ["p"], "range": [[4, gap]]}}}
        line = drawn("line", ROWS[:1], {**XY, **look}, color=INK)
        assert f'stroke="currentColor" stroke-width="1"{dash}/>' in line


def test_an_area_goes_back_along_its_lower_edge() -> None:
    rows = [{"a": 4, "b": 10, "c": 4}, {"a": 2, "b": 8, "c": 2}]
    area = drawn("area", rows, {**XY, "y2": {"field": "c"}}, opacity=0.3)
    assert (
        area == '<g class="area" fill-opacity="0.3"><path d="M20,60l20,-10v30l-20,10Z" fill="#4c78a8"/></g>'
    )


def test_a_rule_reaches_to_its_other_end() -> None:
    upright = drawn("rule", [{"a": 2, "b": 8, "c": 2}], {**XY, "y2": {"field": "c"}})
    assert 'd="M20,60v30"' in upright
    across = {"x": {"value": 5}, "x2": {"value": 95}, "y": {"field": "b"}}
    assert 'd="M5,60h90"' in drawn("rule", [{"b": 8}], across)


def test_points_and_texts_are_centred_on_their_row() -> None:
    assert 'transform="translate(20,80)"' in drawn("point", ROWS[:1], XY)
    text = {**XY, "text": {"field": "s"}}
    assert (
        drawn("text", ROWS[:1], text, fontSize=10)
        == '<g class="text"><text transform="translate(20,83)" font-size="10px">p</text></g>'
    )


def test_symbols_fill_a_square_of_their_size() -> None:
    circle = symbol("circle", 16, "#111", "translate(1,2)")
    assert circle == ('<path transform="translate(1,2)" d="M2,0A2,2,0,1,1,-2,0A2,2,0,1,1,2,0" fill="#111"/>')
    assert 'd="M-2,-2L2,-1L0.67,2Z"' in symbol("M-1,-1L1,-.5L0.333,1Z", 16, "#111", "")
    arc = symbol("M0,1A1,.5,90,0,1,0,-1A1,1,0,1,0,0,1Z", 16, "#111", "")
    assert 'd="M0,2A2,1,90,0,1,0,-2A2,2,0,1,0,0,2Z"' in arc  # rotation and flags stay


def test_rows_without_a_finite_place_are_left_out() -> None:
    rows = [{"a": 1, "b": None}, {"a": 1, "b": float("nan")}, {"a": float("inf"), "b": 1}]
    assert drawn("point", rows, XY) == ""
    assert drawn("point", [*rows, {"a": 0, "b": 0}], XY).count("<path") == 1


def test_a_filter_keeps_the_rows_that_meet_it() -> None:
    for condition, kept in (("datum.s === 'p'", [2, 4]), ("datum.a <= 2", [2, 1]), ("datum.a <= -1", [])):
        spec = {"mark": {"type": "point"}, "encoding": XY, "transform": [{"filter": condition}]}
        layer = Layer.from_spec(spec, ROWS)
        assert layer.values("x") == kept


def test_the_middle_of_a_bar_is_that_of_its_series_within_its_place() -> None:
    outer, inner = Band(["u", "v"], 0, 100, 0.2, 0.1), Band(["p", "q"], 0, 40, 0.5, 0.0)
    rows = [{"a": name, "b": 0, "s": series} for name in "uv" for series in "pq"]
    alone = Layer.from_spec({"mark": {"type": "point"}, "encoding": XY}, rows)
    places = [Places(outer, PLACES.y).along_x(alone, row) for row in rows]
    assert places == pytest.approx([25, 25, 75, 75])
    beside = Layer.from_spec({"mark": {"type": "bar"}, "encoding": {**XY, "xOffset": {"field": "s"}}}, rows)
    found = Places(outer, PLACES.y, inner)
    lefts = [outer.left(row["a"]) + inner.left(row["s"]) for row in rows]
    assert [found.left(beside, row) for row in rows] == pytest.approx(lefts)
    assert [found.along_x(beside, row) for row in rows] == pytest.approx(
        [at + inner.width / 2 for at in lefts]
    )


def test_bars_stand_on_0_or_on_each_other() -> None:
    places = Places(Band(["u", "v"], 0, 100, 0.0, 0.0), Numbers(-10, 10, 100, 0))
    rows = [{"a": "u", "b": 4, "s": "p"}, {"a": "u", "b": 2, "s": "q"}, {"a": "v", "b": -6, "s": "p"}]

    def bars(**channels: Any) -> str:
        spec = {"mark": {"type": "bar"}, "encoding": {**XY, **COLOUR, **channels}}
        return draw_layer(Layer.from_spec(spec, rows), places)

    alone = ["M0,30h50v20h-50Z", "M0,40h50v10h-50Z", "M50,50h50v30h-50Z"]
    stacked = ["M0,30h50v20h-50Z", "M0,20h50v10h-50Z", "M50,50h50v30h-50Z"]
    assert [part.split('"')[0] for part in bars().split('d="')[1:]] == alone
    assert sorted(part.split('"')[0] for part in bars(order={"field": "s"}).split('d="')[1:]) == sorted(
        stacked
    )
