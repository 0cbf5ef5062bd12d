"""How much room the names in a legend have."""

from __future__ import annotations

import json

import pytest

from cwndlab.report import canvas
from cwndlab.study.outputs import Figure

SPEC = Figure(id="f", title="F", kind="line", x="iw", quantity="power", width=240)


@pytest.mark.parametrize(
    ("symbol", "letters", "broken"),
    [("square", 32, False), ("square", 33, True), ("stroke", 30, False), ("stroke", 31, True)],
)
def test_a_name_is_broken_where_it_and_its_symbol_are_wider_than_the_figure(
    symbol: str, letters: int, broken: bool
) -> None:
    """240 pixels, of which a square takes 10 and a line 28; a letter takes 7."""
    name = "a" * 20 + " " + "b" * (letters - 21)
    made = canvas.make_legend({"x": "x", name: name}, symbol, SPEC)
    assert made is not None
    assert ("labelExpr" in made) == broken
    if broken:
        assert json.loads(made["labelExpr"].removesuffix("[datum.label]"))[name] == name.split()


def test_one_name_needs_no_legend() -> None:
    assert canvas.make_legend({"x": "x"}, "square", SPEC) is None
    assert canvas.make_legend({"x": "x", "y": "y"}, "square", SPEC) is not None


def figure(**more: object) -> Figure:
    about: dict[str, object] = {"id": "f", "title": "F", "kind": "line", "x": "iw", "quantity": "power"}
    return Figure.model_validate(about | more)


def test_a_legend_is_described_in_full() -> None:
    """Entries of 8 + 28 + 7 and 8 + 28 + 14 pixels, one line and a title above the panel."""
    made = canvas.make_legend({"x": "a", "y": "bb"}, "stroke", figure())
    assert made == {
        "symbolType": "stroke", "symbolSize": 784, "symbolStrokeWidth": 2.5, "symbolOpacity": 1, "columns": 2,
        "columnPadding": 22, "offset": 32, "labelLimit": 510,
        "values": ["x", "y"], "labelExpr": '{"x": ["a"], "y": ["bb"]}[datum.label]',
    }  # fmt: skip
    square = canvas.make_legend({"a": "a", "b": "b"}, "square", figure(columns=2), panels=2)
    assert square is not None and (square["symbolSize"], square["offset"], square["labelLimit"]) == (
        100,
        16,
        840,
    )
    assert "values" not in square, "labels that are the names need no expression"
    two = canvas.make_legend({"a": "a", "b": "b"}, "square", SPEC, y_title="a word " * 9)
    assert two is not None and two["offset"] == 16 * 3
    later = canvas.make_legend({"a": "b", "c": "d"}, "square", figure())
    assert later is not None and later["values"] == ["a", "c"]


@pytest.mark.parametrize(("letters", "in_line"), [(11, True), (12, False)])
def test_a_beginning_that_all_labels_share_becomes_the_title(letters: int, in_line: bool) -> None:
    """Two entries of 8 + 10 + 7 · 8 pixels, two gaps of 22 and a head of 7 a letter, in 240 + 42 pixels."""
    spec = figure(width=2 * 74 + 2 * 22 + 7 * 11)
    head = "h" * letters
    labels = {name: f"{head}: {name}" for name in ("zzzzzzzz", "yyyyyyyy")}
    made = canvas.make_legend(labels, "square", spec)
    assert made is not None and (made["title"], made["columns"]) == (head, 2)
    place = {"titleOrient": "left", "titleAnchor": "middle", "titlePadding": 22}
    assert {key: made[key] for key in place if key in made} == (place if in_line else {})
    assert "values" not in made


@pytest.mark.parametrize(
    ("labels", "head"),
    [
        (["h: a", "h: b"], "h"), (["h: a", "i: b"], ""), (["h: a", "h: "], ""), (["h: a: c", "h: b"], ""),
        (["a", "b"], ""), (["h: a", "b"], ""),
    ],
)  # fmt: skip
def test_labels_have_a_head_only_if_all_do(labels: list[str], head: str) -> None:
    found, rest = canvas._split_head({label: label for label in labels})
    assert found == head and list(rest.values()) == (["a", "b"] if head else labels)


@pytest.mark.parametrize(
    ("widths", "room", "columns"),
    [
        ([10, 10, 10], 74, 3), ([10, 10, 10], 73, 2), ([10, 10, 10], 42, 2), ([10, 10, 10], 41, 1),
        ([10, 30, 10], 62, 2), ([10, 30, 10], 61, 1), ([50], 10, 1), ([10, 10, 30, 10], 62, 2),
    ],
)  # fmt: skip
def test_a_legend_has_as_many_columns_as_fit_with_gaps_of_22(
    widths: list[int], room: int, columns: int
) -> None:
    assert canvas._most_columns(widths, room) == columns


def test_names_along_an_axis_are_wrapped_or_slanted() -> None:
    """Two names in 280 pixels have 20 letters of 7 pixels each."""
    spec = figure(width=280, height=91)
    lines = json.dumps({"a b": ["a b"], "c" * 21: ["c" * 21]})
    flat = {"labelAngle": 0, "labelLimit": 280, "labelExpr": lines + "[datum.label]"}
    assert canvas.named_axis(["a b", "c" * 21], spec) == flat
    assert canvas.named_axis(["a b", "c" * 22], spec) == {"labelAngle": -35, "labelLimit": 45}
    long = f"{'a' * 10} {'b' * 10}"
    wrapped = canvas.named_axis([long, "c"], spec)["labelExpr"].removesuffix("[datum.label]")
    assert json.loads(wrapped) == {long: long.split(), "c": ["c"]}
    assert canvas.named_axis([], spec)["labelAngle"] == 0
    assert canvas.named_axis(["a b"] * 50, spec)["labelAngle"] == 0


@pytest.mark.parametrize(
    ("more", "width", "height"),
    [
        ({}, 510, 290), ({"columns": 1}, 510, 290), ({"columns": 2}, 420, 290), ({"columns": 3}, 280, 290),
        ({"width": 200, "columns": 3, "height": 77}, 200, 77),
    ],
)  # fmt: skip
def test_a_panel_has_the_figures_size_or_its_share_of_a_page(
    more: dict[str, object], width: int, height: int
) -> None:
    spec = figure(**more)
    assert (canvas.panel_width(spec), canvas.panel_height(spec)) == (width, height)
    assert canvas.panel_of_size({"mark": "x"}, "", spec) == {"mark": "x", "width": width, "height": height}
    # a letter of a panel's title takes 9 pixels, one of an axis 7, over the panel and 36 pixels of labels
    for letter, lines in (
        (9, canvas.panel_of_size({}, "a " * 200, spec)["title"]),
        (7, canvas.title_lines("a " * 200, spec)),
    ):
        assert max(map(len, lines)) in (most := (width + 36) // letter, most - 1)


@pytest.mark.parametrize(("panels", "columns"), [(1, None), (2, 2), (3, 3), (4, 2), (5, 3), (12, 3)])
def test_panels_are_in_two_or_three_columns_unless_the_figure_says(panels: int, columns: int | None) -> None:
    assert canvas.in_columns(figure(), panels).columns == columns
    assert canvas.in_columns(figure(columns=1), panels).columns == 1
    assert canvas.in_columns(figure(width=300), panels).columns is None


def test_panels_are_lower_if_there_are_more_than_two() -> None:
    charts = [{"mark": "a"}, {"mark": "b"}, {"mark": "c"}]
    assert canvas.stack(charts[:1], figure()) == {"mark": "a"}
    assert canvas.stack(charts[:2], figure()) == {"concat": charts[:2], "columns": 1, "spacing": 26}
    low = [chart | {"height": 220} for chart in charts]
    assert canvas.stack(charts, figure(columns=3)) == {"concat": low, "columns": 3, "spacing": 26}
    assert canvas.stack(charts, figure(height=99))["concat"] == charts


def test_a_figure_is_higher_at_the_head_of_a_page_and_lower_on_a_phone() -> None:
    assert [canvas.at_head(figure(kind=kind)).height for kind in ("line", "bar", "cdf")] == [440] * 3
    assert canvas.at_head(figure(height=99)).height == 99
    assert canvas.at_head(figure(panels="a")).height is None
    assert canvas.at_head(figure(kind="cwnd", x=None, quantity=None)).height is None
    made = [
        canvas.narrow_figure(figure(**more))
        for more in ({}, {"width": 299, "height": 219}, {"width": 301, "height": 221})
    ]
    assert [(one.width, one.height, one.columns) for one in made] == [
        (300, 220, 1),
        (299, 219, 1),
        (300, 220, 1),
    ]


def test_the_title_of_an_axis_is_above_it_line_by_line() -> None:
    assert canvas.flat_title("one", figure()) == {"title": ["one"], "axis": {"titleY": -8}}
    two = canvas.flat_title("a" * 50 + " " + "b" * 40, figure())
    assert two == {"title": ["a" * 50, "b" * 40], "axis": {"titleY": -24}}
    assert canvas.flat_title("", figure()) == {"title": None, "axis": {"titleY": 8}}


def test_channels_marks_and_charts() -> None:
    assert canvas.field("time:Q", title="t") == {"field": "time", "type": "quantitative", "title": "t"}
    looks = canvas.look_by_name("s:N", ["a", "b", "c"], [1, 2], legend=None)
    scale = {"domain": ["a", "b", "c"], "range": [1, 2, 1]}
    assert looks == {"field": "s", "type": "nominal", "scale": scale, "legend": None}
    plain = canvas.mark("line", {"x": 1}, point=True)
    assert plain == {"mark": {"type": "line", "point": True}, "encoding": {"x": 1}}
    assert canvas.mark("line", {}, only="c")["transform"] == [{"filter": "c"}]
    assert canvas.mark_chart("d", plain) == {"data": {"name": "d"}, **plain}
    assert canvas.layer_chart("d", (plain,)) == {"data": {"name": "d"}, "layer": [plain]}


@pytest.mark.parametrize(
    ("width", "letters", "lines"), [(244, 40, 1), (244, 41, 2), (243, 39, 1), (243, 40, 2)]
)
def test_a_title_is_broken_where_it_is_wider_than_the_panel_and_the_labels_beside_it(
    width: int, letters: int, lines: int
) -> None:
    """A letter takes 7 pixels, the labels of the vertical axis 36."""
    title = "a" * 20 + " " + "b" * (letters - 21)
    made = canvas.title_lines(title, figure(width=width))
    assert made == ([title] if lines == 1 else title.split())
