"""Legends of charts: which channels make one, and what it draws for each name."""

from __future__ import annotations

from typing import Any

import pytest

from cwndlab.report import canvas
from cwndlab.report.drawing.legend import Legend
from cwndlab.report.drawing.marks import Layer
from cwndlab.report.drawing.text import text_width


def layer(**channels: Any) -> Layer:
    return Layer("line", {}, channels, [])


def look(*looks: Any, **options: Any) -> canvas.Spec:
    """A channel that gives "a" the first of these looks, "b" the second."""
    return canvas.look_by_name("s:N", ["a", "b"][: len(looks)], list(looks), **options)


def test_a_legend_has_the_looks_of_all_channels_and_layers_and_the_first_of_each_kind() -> None:
    title = {"title": "of", "columns": 1}
    made = Legend.from_layers(
        [
            layer(
                color=look("#111", "#222", legend=title),
                strokeDash=look([1, 0], [6, 3], legend={"columns": 2}),
            ),
            layer(),
            layer(color=look("#333", "#444", legend=title), shape=look("M0,0", "M1,1")),
        ]
    )
    assert made is not None
    assert made.names == ["a", "b"] and made.options == title
    assert made.looks == {
        "a": {"color": "#111", "strokeDash": [1, 0], "shape": "M0,0"},
        "b": {"color": "#222", "strokeDash": [6, 3], "shape": "M1,1"},
    }


def test_a_channel_without_a_legend_gives_it_no_looks() -> None:
    made = Legend.from_layers([layer(color=look("#111", legend=None), strokeDash=look([6, 3]))])
    assert made is not None and made.looks == {"a": {"strokeDash": [6, 3]}} and made.options == {}
    assert Legend.from_layers([layer(color=look("#111", legend=None))]) is None
    # A channel for no names.
    assert Legend.from_layers([layer(color=look(legend={"columns": 1}))]) is None
    assert Legend.from_layers([]) is None


def test_a_legend_shows_the_values_that_it_lists() -> None:
    shown = {"values": ["b"], "labelExpr": '{"b": ["B", "C"]}[datum.label]'}
    made = Legend.from_layers([layer(color=look("#111", "#222", legend=shown))])
    assert made is not None and (made.names, made.texts) == (["b"], {"b": ["B", "C"]})


def entries(names: list[str], **options: Any) -> Legend:
    return Legend(
        names, {name: [name] for name in names}, {name: {"color": "#123"} for name in names}, options
    )


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_columns_that_fill_the_room_to_the_pixel_stay(columns: int) -> None:
    made = entries(["one", "two", "three"], symbolSize=100)
    room = sum(made._widths(columns)) - 22
    assert made._columns(room) == columns
    assert made._columns(room - 0.01) == max(1, columns - 1)
    assert entries(["one", "two", "three"], columns=columns)._columns(1e6) == columns


def test_each_column_is_as_wide_as_its_widest_entry() -> None:
    drawn, height = entries(["a", "long name", "longer name", "b"], symbolSize=100, columns=2).draw(500)
    second = 10 + 8 + text_width("longer name") + 22
    places = [part.split("translate(")[1].split(")")[0] for part in drawn]
    assert places == [
        *("5,7", "18,10.5"),
        *(f"{second + 5:.1f},7", f"{second + 18:.1f},10.5"),
        *("5,25", "18,28.5"),
        *(f"{second + 5:.1f},25", f"{second + 18:.1f},28.5"),
    ]
    assert height == 14 + 4 + 14


def test_the_symbols_have_their_size_and_lines_are_2_pixels_wide() -> None:
    (circle, _), _ = entries(["a"], symbolSize=100).draw(100)
    assert circle == '<path transform="translate(5,7)" d="M5,0A5,5,0,1,1,-5,0A5,5,0,1,1,5,0" fill="#123"/>'
    (plain, _), _ = entries(["a"]).draw(100)
    assert 'd="M4.7,0A4.7,4.7,' in plain  # an area of 90 square pixels
    (line, _), _ = entries(["a"], symbolType="stroke", symbolSize=400).draw(100)
    assert line == '<path d="M0,7h20" stroke="#123" stroke-width="2"/>'
    shaped = Legend(["a"], {"a": ["a"]}, {"a": {"color": "#123", "shape": "M-1,0L1,1Z"}}, {"symbolSize": 16})
    assert shaped.draw(100)[0][0] == '<path transform="translate(2,7)" d="M-2,0L2,2Z" fill="#123"/>'


def test_a_label_in_two_lines_makes_its_row_higher() -> None:
    made = Legend(
        ["a", "b", "c"],
        {"a": ["a"], "b": ["x", "y"], "c": ["c"]},
        {name: {"color": "#123"} for name in "abc"},
        {"symbolSize": 100, "columns": 2},
    )
    drawn, height = made.draw(500)
    texts = [part.split("translate(")[1].split(")")[0].partition(",")[2] for part in drawn if part[1] == "t"]
    assert texts == ["10.5", "10.5", "24.5", "42.5"]
    assert height == 2 * 14 + 4 + 14
