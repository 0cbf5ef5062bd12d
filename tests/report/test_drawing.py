"""What figures are drawn by: scales as d3 has them, text, legends, and the looks of series."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from cwndlab.report import canvas, looks
from cwndlab.report.drawing.chart import draw_svg
from cwndlab.report.drawing.legend import Legend, label_texts
from cwndlab.report.drawing.scales import Band, Numbers, domain_scale, format_number, point_scale, tick_step
from cwndlab.report.drawing.text import shorten, tenths, text_element, text_lines, text_width
from cwndlab.report.palette import PALETTE, PLAIN, SHADES
from cwndlab.study.outputs import Figure


def figure(**keys: Any) -> Figure:
    return Figure.model_validate(
        {"id": "f", "title": "F", "kind": "line", "x": "iw", "quantity": "q", **keys}
    )


@pytest.mark.parametrize(
    ("low", "high", "count", "step"),
    [
        (0, 10, 5, 2), (0, 1, 10, 0.1), (0, 7, 10, 0.5), (0, 7.1, 10, 1), (0, 3.1, 10, 0.2),
        (0, 3.2, 10, 0.5), (0, 1.4, 10, 0.1), (0, 1.5, 10, 0.2), (5, 5, 3, 1), (0, 100, 0, 100),
    ],
)  # fmt: skip
def test_the_step_of_ticks_is_a_round_number(low: float, high: float, count: int, step: float) -> None:
    assert tick_step(low, high, count) == pytest.approx(step)


def test_ticks_are_the_round_numbers_within_the_scale() -> None:
    assert Numbers(0, 10, 0, 1).ticks(5) == [0, 2, 4, 6, 8, 10]
    assert Numbers(0.5, 9.9, 0, 1).ticks(5) == [2, 4, 6, 8]
    assert Numbers(-1, 1, 0, 1).ticks(4) == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert Numbers(0, 3, 0, 1).ticks(10, least=1.0) == [0, 1, 2, 3]
    assert Numbers(0.1, 0.5, 0, 1).ticks(4) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])


def test_a_number_has_its_pixel() -> None:
    assert [Numbers(2, 4, 100, 0).place(v) for v in (2, 3, 4, 5)] == [100, 50, 0, -50]
    assert [Numbers(1, 100, 0, 200, True).place(v) for v in (1, 10, 1000)] == pytest.approx([0, 100, 300])
    assert Numbers(3, 3, 0, 200).place(3) == 100


@pytest.mark.parametrize(
    ("values", "options", "ends"),
    [
        ([0.201479, 0.996679], {"zero": False}, (0.2, 1.0)),
        ([1.1, 10.9], {"zero": False}, (1.0, 11.0)),
        ([3.0, 9.9], {}, (0.0, 10.0)),
        ([-9.9, -3.0], {}, (-10.0, 0.0)),
        ([3.0, 9.9], {"nice": False}, (0.0, 9.9)),
        ([3.0, 9.9], {"domain": [1, 2]}, (1, 2)),
        ([3.0, 9.9], {"type": "log"}, (3.0, 9.9)),
        ([3.0], {"type": "log"}, (3.0, 30.0)),
        ([], {}, (0.0, 1.0)),
    ],
)
def test_a_scale_reaches_from_0_to_a_round_end_unless_it_is_told_otherwise(
    values: list[float], options: dict[str, object], ends: tuple[float, float]
) -> None:
    made = domain_scale(values, options, span=(0, 1))
    assert (made.low, made.high) == pytest.approx(ends) and made.log is (options.get("type") == "log")
    assert (made.start, made.end) == (0, 1)


def test_logarithmic_ticks_are_multiples_of_powers_of_ten() -> None:
    assert Numbers(1, 10, 0, 1, True).ticks(10) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert Numbers(0.1, 2, 0, 1, True).ticks(5) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 2]
    assert Numbers(1, 1e10, 0, 1, True).ticks(5) == [1, 1e2, 1e4, 1e6, 1e8, 1e10]
    assert Numbers(3.1, 3.9, 0, 1, True).ticks(4) == pytest.approx([3.2, 3.4, 3.6, 3.8])
    # half as many as asked for are enough
    assert Numbers(2, 4, 0, 1, True).ticks(6) == [2, 3, 4]
    assert Numbers(2, 4, 0, 1, True).ticks(7) == Numbers(2, 4, 0, 1).ticks(7) != [2, 3, 4]


def test_ticks_in_words_have_the_decimals_of_their_step() -> None:
    numbers = Numbers(0, 1, 0, 1)
    assert numbers.labels([0.0, 0.5, 1.0], 3) == ["0.0", "0.5", "1.0"]
    assert numbers.labels([0.0, 1000.0], 2) == ["0", "1,000"] and numbers.labels([-0.2, 0.0], 2) == [
        "−0.2",
        "0.0",
    ]
    log = Numbers(1, 100, 0, 1, True)
    ticks = log.ticks(5)
    assert [text for text in log.labels(ticks, 5) if text] == ["1", "2", "10", "20", "100"]
    assert [text for text in log.labels(ticks, 19) if text] == [f"{v:g}" for v in ticks]
    assert [format_number(v, p) for v, p in ((2.6, "d"), (-0.5, "~g"), (1e-6, "~g"))] == [
        "3",
        "−0.5",
        "1e−06",
    ]


def test_places_of_names_lie_next_to_each_other() -> None:
    band = Band(["a", "b"], 0, 100, 0.2, 0.1)
    assert (band.step, band.width) == (50, 40)
    found = [band.left("a"), band.place("a"), band.left("b"), band.place("b")]
    assert found == pytest.approx([5, 25, 55, 75])
    points = point_scale(["a", "b", "c"], 0, 300)
    assert (points.width, [points.place(n) for n in "abc"]) == (0, [50, 150, 250])


def test_the_width_of_a_text_is_that_of_helvetica_and_a_reserve() -> None:
    assert text_width("a", 1000) == pytest.approx(556 * 1.06)
    assert text_width("i mW", 1000) == pytest.approx((222 + 278 + 833 + 944) * 1.06)
    assert text_width("~", 1000) == pytest.approx(584 * 1.06) and text_width("…", 1000) == pytest.approx(
        556 * 1.06
    )
    assert text_width("a", bold=True) == pytest.approx(text_width("a") * 1.06)
    # one character of each line of Adobe's table
    assert [round(text_width(c, 1000) / 1.06) for c in " 0GZn.@Mf"] == [
        278,
        556,
        778,
        611,
        556,
        278,
        1015,
        833,
        278,
    ]
    # Adobe's table has 95 characters, which are 50,058 thousandths wide together.
    assert text_width("".join(map(chr, range(32, 127))), 1000) == pytest.approx(50_058 * 1.06)
    assert text_width("abc") == pytest.approx(12 / 1000 * 1.06 * (556 + 556 + 500))


def test_a_text_that_is_too_long_is_cut_as_little_as_possible() -> None:
    assert shorten("abcdef", text_width("abcdef")) == "abcdef"
    assert shorten("abcdef", text_width("abcdef") - 0.01) == "abcd…"
    assert shorten("abcdef", text_width("abc…")) == "abc…" and shorten("abc", 1.0) == "…"


def test_text_is_written_with_what_differs_from_the_usual() -> None:
    assert text_element("a<b", 1, 2.25) == '<text transform="translate(1,2.2)">a&lt;b</text>'
    found = text_element("x", 0, 0, anchor="end", size=13, bold=True, turned=-35, colour="#fff")
    assert found == (
        '<text transform="translate(0,0) rotate(-35)" text-anchor="end" font-size="13px" font-weight="bold" '
        'fill="#fff">x</text>'
    )
    assert text_lines(["a", "b"], 5, 10, 14) == [text_element("a", 5, 10), text_element("b", 5, 24)]
    assert [tenths(v) for v in (1.0, 1.04, 1.06, -0.04, 10.55)] == ["1", "1", "1.1", "0", "10.6"]


@pytest.mark.parametrize(("title", "lines"), [("", 0), ("one", 1), (["one", "two"], 2)])
def test_the_title_of_a_panel_has_room_above_it(title: str | list[str], lines: int) -> None:
    at = {"x": canvas.field("x:Q"), "y": canvas.field("y:Q")}
    chart = {**canvas.mark_chart("d", canvas.mark("line", at)), "width": 200, "height": 100}
    rows = {"d": [{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}]}

    def height(panel: dict[str, Any]) -> int:
        found = re.match(r'<svg [^>]* height="(\d+)"', draw_svg(panel, rows))
        assert found is not None
        return int(found[1])

    # Lines of 16 pixels, and 8 pixels below them.
    assert height({**chart, "title": title}) - height(chart) == 16 * lines + 8 * bool(lines)


def test_a_layer_is_clipped_to_its_panel_if_it_asks_for_it_and_has_marks() -> None:
    at = {"x": canvas.field("x:Q"), "y": canvas.field("y:Q")}
    rows = [{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}]

    def clipped(rows: list[dict[str, float]], **options: Any) -> tuple[int, int]:
        layer = canvas.mark_chart("d", canvas.mark("line", at, **options))
        svg = draw_svg({**layer, "width": 200, "height": 100}, {"d": rows})
        return svg.count("<clipPath"), svg.count('<g clip-path="url(#')

    assert clipped(rows, clip=True) == (1, 1)
    assert clipped(rows) == clipped(rows, clip=False) == (0, 0)
    assert clipped([], clip=True) == (0, 0)


def legend(*names: str, **options: Any) -> Legend:
    return Legend(
        names, {name: [name] for name in names}, {name: {"color": "#123456"} for name in names}, options
    )


def test_a_legend_has_as_many_columns_as_have_room() -> None:
    made = legend("one", "two", "three", symbolSize=100)
    row = 3 * (10 + 8) + text_width("one") + text_width("two") + text_width("three") + 2 * 22
    assert made.draw(row)[1] == 14 and made.draw(row - 1)[1] == 2 * 14 + 4
    assert made.draw(10)[1] == 3 * 14 + 2 * 4
    assert legend("one", "two", "three", columns=1).draw(1000)[1] == 3 * 14 + 2 * 4


def test_the_title_of_a_legend_is_above_or_to_its_left() -> None:
    above, height = legend("one", title="of").draw(500)
    assert above[0] == '<text transform="translate(0,10.5)">of</text>' and height == 14 + 4 + 14
    beside, height = legend("one", title="of", titleOrient="left", symbolSize=100).draw(500)
    assert beside[0] == above[0] and height == 14
    left = text_width("of") + 22
    assert beside[2] == text_element("one", left + 10 + 8, 10.48)
    assert f"translate({tenths(left + 5)},7)" in beside[1]


def test_symbols_of_a_legend_are_lines_squares_or_shapes() -> None:
    (line, _), _ = legend("a", symbolType="stroke", symbolSize=28**2, symbolStrokeWidth=2.5).draw(100)
    assert 'd="M0,7h28"' in line and 'stroke="#123456"' in line and 'stroke-width="2.5"' in line
    (square, _), _ = legend("a", symbolType="square", symbolSize=100).draw(100)
    assert square.startswith('<path d="M0,2h10v10h-10Z" fill="#123456"')
    hollow = Legend(
        ["a"], {"a": ["a"]}, {"a": {"fill": "transparent", "stroke": "#123456"}}, {"symbolType": "square"}
    )
    (square, _), _ = hollow.draw(100)
    assert 'fill="none" stroke="#123456" stroke-width="1.6"' in square
    assert legend("a").draw(100)[0][1] == text_element("a", math.sqrt(90) + 8, 10.48)


def test_labels_of_a_legend_may_have_several_lines() -> None:
    assert label_texts(None, ["a"]) == {"a": ["a"]}
    assert label_texts('{"a": ["x", "y"]}[datum.label]', ["a", "b"]) == {"a": ["x", "y"], "b": ["b"]}
    made = Legend(["a", "b"], {"a": ["x", "y"], "b": ["b"]}, {"a": {}, "b": {}}, {"columns": 2})
    assert made.draw(500)[1] == 2 * 14


def test_a_legend_names_series_once_and_none_if_there_is_one() -> None:
    assert canvas.make_legend({"a": "A"}, "circle", figure()) is None
    made = canvas.make_legend({"a": "x: A", "b": "x: B"}, "stroke", figure())
    assert made is not None
    assert (made["title"], made["titleOrient"], made["columns"], made["symbolSize"]) == (
        "x",
        "left",
        2,
        28**2,
    )
    assert (made["offset"], made["columnPadding"], made["labelLimit"]) == (32, 22, 510)
    assert made["values"] == ["a", "b"] and made["labelExpr"] == '{"a": ["A"], "b": ["B"]}[datum.label]'
    plain = canvas.make_legend({"A": "A", "B": "B"}, "circle", figure(), panels=2)
    assert plain is not None and "title" not in plain and "values" not in plain
    assert (plain["symbolSize"], plain["offset"]) == (100, 16)


def test_the_head_of_a_legend_is_beside_its_entries_only_in_one_line() -> None:
    def orient(head: str, *labels: str) -> str:
        made = canvas.make_legend({x: f"{head}: {x}" for x in labels}, "circle", figure(width=200))
        assert made is not None
        return str(made.get("titleOrient", "top"))

    # Two entries of 18 + 7 pixels, with a gap of 22 each, take 94 of 200 pixels; a letter takes 7.
    assert [orient("h" * n, "a", "b") for n in (15, 16)] == ["left", "top"]
    assert orient("h", *(letter * 9 for letter in "abc")) == "top"
    made = canvas.make_legend({"a": "x: A", "b": "y: B"}, "circle", figure())
    assert made is not None and "title" not in made


@pytest.mark.parametrize(
    ("keys", "panels", "columns"),
    [
        ({}, 1, None),
        ({}, 2, 2),
        ({}, 3, 3),
        ({}, 4, 2),
        ({}, 5, 3),
        ({"columns": 1}, 4, 1),
        ({"width": 400}, 4, None),
    ],
)
def test_panels_are_in_two_or_three_columns(keys: dict[str, Any], panels: int, columns: int | None) -> None:
    assert canvas.in_columns(figure(**keys), panels).columns == columns


def test_panels_have_the_width_that_columns_leave() -> None:
    assert [
        canvas.panel_width(figure(**keys)) for keys in ({}, {"columns": 2}, {"columns": 3}, {"width": 199})
    ] == [510, 420, 280, 199]
    assert (canvas.panel_height(figure()), canvas.panel_height(figure(height=199))) == (290, 199)
    narrow = canvas.narrow_figure(figure(columns=3))
    assert (narrow.width, narrow.height, narrow.columns) == (300, 220, 1)
    narrow = canvas.narrow_figure(figure(width=200, height=150))
    assert (narrow.width, narrow.height) == (200, 150)
    assert canvas.at_head(figure()).height == 440 and canvas.at_head(figure(height=199)).height == 199
    assert canvas.at_head(figure(panels="iw")).height is None


def test_more_than_two_panels_are_low_and_one_is_not_stacked() -> None:
    assert canvas.stack([{"a": 1}], figure()) == {"a": 1}
    two = canvas.stack([{}, {}], figure())
    assert two == {"concat": [{}, {}], "columns": 1, "spacing": 26}
    assert canvas.stack([{}] * 3, figure(columns=3)) == {
        "concat": [{"height": 220}] * 3,
        "columns": 3,
        "spacing": 26,
    }
    assert canvas.stack([{}] * 3, figure(height=199))["concat"] == [{}] * 3


def test_names_below_an_axis_are_aslant_if_a_word_is_too_long() -> None:
    # 510 pixels for three names are 24 letters for each.
    names = ["a" * 25, "b", "c"]
    assert canvas.named_axis(names, figure())["labelAngle"] == 0
    assert canvas.named_axis(["a" * 26, "b", "c"], figure()) == {"labelAngle": -35, "labelLimit": 145}
    assert (
        canvas.named_axis(["one two", "b", "c"], figure(width=100))["labelExpr"]
        == '{"one two": ["one", "two"], "b": ["b"], "c": ["c"]}[datum.label]'
    )


def test_the_title_of_a_vertical_axis_is_above_it_in_the_lines_that_it_needs() -> None:
    assert canvas.flat_title("short", figure()) == {"title": ["short"], "axis": {"titleY": -8}}
    # (510 + 36) / 7 letters are 78.
    assert (
        len(canvas.title_lines("a " * 39, figure())) == 1
        and len(canvas.title_lines("a " * 40, figure())) == 2
    )
    assert canvas.flat_title("a " * 40, figure())["axis"] == {"titleY": -24}
    assert canvas.flat_title("", figure())["title"] is None
    assert canvas.panel_of_size({}, "t", figure(width=199)) == {"width": 199, "height": 290, "title": ["t"]}
    assert "title" not in canvas.panel_of_size({}, "", figure())


def test_more_series_than_colours_repeat_them() -> None:
    names = [f"law {k}" for k in range(len(PALETTE) + 1)]
    shown = canvas.look_by_name("series:N", names, PALETTE)["scale"]["range"]
    dashes = looks.choose_dashes(names, figure())
    assert len(shown) == len(names) and shown[0] == shown[-1] and dashes[0] != dashes[-1]


def test_a_flow_has_one_colour_in_all_figures_and_others_take_those_that_are_free() -> None:
    flows = ["web", "bulk"]
    assert looks.choose_colours(["bulk"], flows, figure()) == [PALETTE[1]]
    assert looks.choose_colours(["other", "bulk"], flows, figure()) == [PALETTE[2], PALETTE[1]]
    assert looks.choose_colours(["a", "b"], [], figure()) == PALETTE[:2]
    several = figure(quantity=None, quantities=["q", "p"])
    assert looks.choose_colours(["mean", "p95"], flows, several) == [PLAIN, PLAIN]
    assert looks.choose_colours(["mean", "p95"], flows, several, bars=True) == list(SHADES[:2])
    assert looks.choose_colours(["mean", "p95"], [], several) == PALETTE[:2]
    assert looks.choose_colours(["mean", "p95"], flows, figure()) != [PLAIN, PLAIN]


def test_several_quantities_of_one_law_share_its_colour_and_differ_in_dashes() -> None:
    names = ["delay, reno", "delay, cubic", "loss, reno", "loss, cubic"]
    spec = figure(quantity=None, quantities=["delay", "loss"])
    assert looks.choose_colours(names, [], spec) == [PALETTE[0], PALETTE[1]] * 2
    assert looks.choose_dashes(names, spec) == [looks.DASHES[0]] * 2 + [looks.DASHES[1]] * 2
    colours = ["#1", "#2"] * 2
    assert looks.choose_fills(names, colours, spec) == ["#1", "#2", "#180", "#280"]
    assert looks.choose_fills(["a", "b"], ["#1", "#2"], figure()) is None
    assert looks.choose_dashes(["a", "b"], figure()) == looks.DASHES[:2]
