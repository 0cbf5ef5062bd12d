"""Which pixel a row of data gets on each kind of scale, and what marks look like where nothing says so."""

from __future__ import annotations

from typing import Any

import pytest

from cwndlab.report.drawing.marks import Layer, Places, draw_layer, is_shown, symbol
from cwndlab.report.drawing.scales import Band, Numbers, point_scale

Y = Numbers(0, 10, 100, 0)
BARS = Places(Band(["u", "v"], 0, 100, 0.2, 0.1), Y)
GROUPS = BARS._replace(within=Band(["p", "q"], 0, 40, 0.5, 0.0))
POINTS = Places(point_scale(["u", "v"], 0, 100), Y)
ROW = {"a": "v", "b": 4, "s": "q"}


def layer(kind: str = "line", rows: list[dict[str, Any]] | None = None, **channels: Any) -> Layer:
    plain = {"x": {"field": "a"}, "y": {"field": "b"}}
    return Layer(kind, {}, plain | channels, rows or [ROW])


def test_a_row_of_a_line_is_at_the_point_of_its_name() -> None:
    assert POINTS.left(layer(), ROW) is None
    assert POINTS.along_x(layer(), ROW) == 75


def test_a_row_over_bars_is_in_the_middle_of_the_bar() -> None:
    assert (BARS.left(layer(), ROW), BARS.along_x(layer(), ROW)) == pytest.approx((55, 75))
    # Without a series it has the whole place of its name, and the middle of one bar of the group.
    assert GROUPS.left(layer(), ROW) == pytest.approx(55)
    series = layer(xOffset={"field": "s"})
    assert GROUPS.left(series, ROW) == pytest.approx(55 + GROUPS.within.left("q"))  # type: ignore[union-attr]
    assert BARS.left(series, ROW) == pytest.approx(55)


@pytest.mark.parametrize("places", [BARS, GROUPS, POINTS])
def test_a_mark_in_pixels_is_at_these(places: Places) -> None:
    fixed = layer(x={"value": 7}, y={"value": 9})
    assert places.left(fixed, ROW) is None
    assert (places.along_x(fixed, ROW), places.along_y(fixed, ROW)) == (7.0, 9.0)
    unscaled = layer(y={"field": "b", "scale": None})
    assert places.along_y(unscaled, ROW) == 4.0 and places.along_y(layer(), ROW) == 60.0


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ({"a": 1, "b": 2, "c": 3}, True),
        ({"a": 0, "b": 0, "c": 0}, True),
        ({"a": None, "b": 2, "c": 3}, False),
        ({"a": 1, "b": float("nan"), "c": 3}, False),
        ({"a": 1, "b": 2, "c": float("inf")}, False),
        ({"a": 1, "b": 2}, False),
        ({"a": "name", "b": 2, "c": 3}, True),
    ],
)
def test_a_row_is_shown_if_all_its_places_are_finite(row: dict[str, Any], shown: bool) -> None:
    assert is_shown(layer(y2={"field": "c"}), row) is shown


def test_marks_without_a_look_have_the_usual_one() -> None:
    at = Places(Numbers(0, 10, 0, 100), Y)
    rows = [{"a": 1, "b": 2, "s": "p"}]
    (point,) = draw_layer(layer("point", rows), at).split("</g>")[:1]
    assert 'transform="translate(10,80)"' in point and 'd="M2.7,0A2.7,2.7,' in point
    assert point.startswith('<g class="point">') and 'fill="#4c78a8"' in point
    assert 'stroke="#4c78a8" stroke-width="1"' in draw_layer(layer("rule", rows), at)
    text = draw_layer(layer("text", rows, text={"field": "s"}), at)
    assert text == '<g class="text"><text transform="translate(10,83.6)">p</text></g>'


@pytest.mark.parametrize(
    ("kind", "opacity"),
    [
        ("line", ' stroke-opacity="0.5"'),
        ("rule", ' stroke-opacity="0.5"'),
        ("point", ' fill-opacity="0.5"'),
        ("area", ' fill-opacity="0.5"'),
        ("text", ' fill-opacity="0.5"'),
        ("bar", ' fill-opacity="0.5" stroke-opacity="0.5"'),
    ],
)
def test_a_layer_is_translucent_in_what_it_draws(kind: str, opacity: str) -> None:
    rows = [{"a": "u", "b": 2, "c": 1, "s": "p"}]
    channels = {"y2": {"field": "c"}, "text": {"field": "s"}}
    made = layer(kind, rows, **channels)._replace(options={"opacity": 0.5})
    assert draw_layer(made, BARS).startswith(f'<g class="{kind}"{opacity}>')
    assert draw_layer(made._replace(options={"opacity": 1}), BARS).startswith(f'<g class="{kind}">')


def test_bars_have_their_fill_and_their_edge() -> None:
    rows = [{"a": "u", "b": 4, "s": "p"}, {"a": "v", "b": -2, "s": "q"}]
    places = BARS._replace(y=Numbers(-10, 10, 100, 0))

    def scale(*looks: str) -> dict[str, Any]:
        return {"field": "s", "scale": {"domain": ["p", "q"], "range": list(looks)}}

    plain = draw_layer(layer("bar", rows), places)
    assert plain == (
        '<g class="bar"><path d="M5,30h40v20h-40Z" fill="#4c78a8"/>'
        '<path d="M55,50h40v10h-40Z" fill="#4c78a8"/></g>'
    )
    filled = layer("bar", rows, fill=scale("transparent", "#222"), stroke=scale("#111", "#222"))
    drawn = draw_layer(filled._replace(options={"strokeWidth": 1.6}), places)
    assert 'fill="none" stroke="#111" stroke-width="1.6"/>' in drawn
    assert 'fill="#222" stroke="#222" stroke-width="1.6"/>' in drawn
    edged = draw_layer(layer("bar", rows)._replace(options={"stroke": "#010203"}), places)
    assert 'fill="#4c78a8" stroke="currentColor"/>' in edged
    # A width without a stroke draws no edge.
    assert "stroke" not in draw_layer(layer("bar", rows)._replace(options={"strokeWidth": 2}), places)


def test_bars_of_a_series_in_a_place_without_series_take_the_whole_place() -> None:
    row = [{"a": "u", "b": 4, "s": "p"}]
    alone = layer("bar", row, xOffset={"field": "s"})
    assert 'd="M5,60h40v40h-40Z"' in draw_layer(alone, BARS)
    assert 'd="M5,60h13.3v40h-13.3Z"' in draw_layer(alone, GROUPS)


def test_bars_of_one_place_are_stacked_in_their_order_only_with_colours() -> None:
    rows = [{"a": "u", "b": 4, "s": "q", "k": 2}, {"a": "u", "b": 3, "s": "p", "k": 1}]
    colour = {"field": "s", "scale": {"domain": ["p", "q"], "range": ["#111", "#222"]}}
    stacked = draw_layer(layer("bar", rows, color=colour, order={"field": "k"}), BARS)
    assert stacked == (
        '<g class="bar"><path d="M5,70h40v30h-40Z" fill="#111"/><path d="M5,30h40v40h-40Z" fill="#222"/></g>'
    )
    for channels in ({"color": colour}, {"order": {"field": "k"}}):
        assert draw_layer(layer("bar", rows, **channels), BARS).count("v40h-40Z") == 1
        assert 'd="M5,60h40v40h-40Z"' in draw_layer(layer("bar", rows, **channels), BARS)
    beside = layer("bar", rows, color=colour, order={"field": "k"}, xOffset={"field": "s"})
    assert 'd="M5,70h40v30h-40Z"' in draw_layer(beside, BARS) and 'd="M5,60h40' in draw_layer(beside, BARS)


@pytest.mark.parametrize(
    ("shape", "drawn"),
    [
        ("M0,0L1,1,2,2,3,3Z", "M0,0L2,2,4,4,6,6Z"),
        # Of the seven numbers of each arc, the rotation and the two flags are no lengths.
        ("M0,1A1,1,45,1,1,2,2,3,3,45,1,0,1,1", "M0,2A2,2,45,1,1,4,4,6,6,45,1,0,2,2"),
        ("M0,1A1,1,45,1,1,2,2L1,1,1,1,1,1", "M0,2A2,2,45,1,1,4,4L2,2,2,2,2,2"),
    ],
)
def test_the_lengths_of_a_shape_are_scaled(shape: str, drawn: str) -> None:
    assert symbol(shape, 16, "#111", "").startswith(f'<path transform="" d="{drawn}" ')
