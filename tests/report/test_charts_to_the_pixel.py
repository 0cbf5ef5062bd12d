"""Where a chart has its ticks, labels, titles and marks: to a tenth of a pixel."""

from __future__ import annotations

import re
from typing import Any

import pytest

from cwndlab.report import canvas
from cwndlab.report.drawing.chart import draw_svg
from cwndlab.report.drawing.text import LARGE, SMALL, shorten, text_element, text_width
from cwndlab.report.figures import Drawing

AT = {"x": canvas.field("x:Q"), "y": canvas.field("y:Q")}
ROWS = {"d": [{"x": 0.0, "y": 0.0}, {"x": 10.0, "y": 4.0}]}
#: Ticks along y of 0 to 4 in a panel of 100 pixels, along x of 0 to 10 in one of 200.
Y_LABELS = [("0", "-6,103.6"), ("1", "-6,78.6"), ("2", "-6,53.6"), ("3", "-6,28.6"), ("4", "-6,3.6")]
X_LABELS = [(f"{2 * k}", f"{40 * k},115.5") for k in range(6)]


def chart(shown: canvas.Spec | None = None, **more: Any) -> canvas.Spec:
    """A panel of 200 by 100 pixels, with a line if no other mark is given."""
    return {**canvas.mark_chart("d", shown or canvas.mark("line", AT)), "width": 200, "height": 100, **more}


def line(**axes: dict[str, Any]) -> canvas.Spec:
    """A line with more keys of its channels."""
    return canvas.mark("line", {name: {**AT[name], **axes.get(name, {})} for name in AT})


def named(names: list[str], **more: Any) -> dict[str, Any]:
    """Channels for names along x."""
    axis = {"labelAngle": 0, "labelLimit": 200} | more
    return {"x": canvas.field("x:N", title="law", sort=names, axis=axis), "y": AT["y"]}


def texts(svg: str) -> list[tuple[str, str]]:
    """Each text with its place, in the order of the drawing."""
    return [
        (text, at) for at, text in re.findall(r'<text transform="translate\(([^)]*)\)[^>]*>([^<]*)<', svg)
    ]


def boxes(svg: str) -> list[str]:
    """The outlines of bars."""
    return re.findall(r'<path d="([^"]*Z)"', svg)


def size(svg: str) -> tuple[int, int]:
    """The width and height of the drawing."""
    found = re.match(r'<svg xmlns="[^"]*" width="(\d+)" height="(\d+)" viewBox="0 0 \1 \2" ', svg)
    assert found is not None
    return int(found[1]), int(found[2])


def origins(svg: str) -> list[str]:
    """The top left corners of the panels."""
    return re.findall(r'<g transform="translate\(([^)]*)\)">', svg)


def test_a_panel_has_a_line_and_a_label_at_each_tick() -> None:
    svg = draw_svg(chart(), ROWS)
    assert texts(svg) == [*Y_LABELS, *X_LABELS]
    assert '<path d="M0,100h200M0,75h200M0,50h200M0,25h200M0,0h200" stroke="#8888884d"' in svg
    assert '<path d="M0,100h200" stroke="#888888"/>' in svg
    assert '<path fill="none" d="M0,100l200,-100" stroke="#4c78a8" stroke-width="1"/>' in svg
    # 5 around it; 36 on the left; half a label above; 6 and a line of 14 below; half of "10" on the right
    assert origins(svg) == ["41,11"]
    assert size(svg) == (round(2 * 5 + 36 + 200 + text_width("10") / 2), 2 * 5 + 6 + 100 + 6 + 14)


def test_titles_are_above_the_panel_above_its_axis_and_below_it() -> None:
    titled = line(x={"title": ["time", "(s)"]}, y={"title": "queue"})
    svg = draw_svg(chart(titled, title="link"), ROWS)
    assert texts(svg) == [
        ("link", "5,15.3"),
        *Y_LABELS,
        *X_LABELS,
        ("time", "100,138.3"),
        ("(s)", "100,154.3"),
        ("queue", "-36,-10.7"),
    ]
    assert origins(svg) == [f"41,{5 + 16 + 8 + 16 + 8}"]
    assert size(svg)[1] == 5 + (16 + 8) + (16 + 8) + 100 + 20 + (2 * 16 + 8) + 5
    two = texts(draw_svg(chart(line(y={"title": ["queue", "(packets)"]})), ROWS))
    assert two[-2:] == [("queue", "-36,-26.7"), ("(packets)", "-36,-10.7")]


def test_a_legend_is_between_the_title_and_the_panel() -> None:
    looks = {"columns": 2, "symbolType": "stroke", "symbolSize": 28**2, "symbolStrokeWidth": 2.5}
    colour = canvas.look_by_name("s:N", ["p", "q"], ["#111", "#222"], legend=looks)
    rows = [{"x": 0.0, "y": 0.0, "s": "p"}, {"x": 10.0, "y": 4.0, "s": "q"}]
    svg = draw_svg(chart(canvas.mark("line", {**AT, "color": colour}), title="link"), {"d": rows})
    assert '<g class="legend" transform="translate(5,29)">' in svg
    assert origins(svg) == [f"41,{29 + 14 + 16 + 6}"]
    second = f"{28 + 8 + text_width('p') + 22:.1f}"
    assert 'd="M0,7h28" stroke="#111" stroke-width="2.5"/>' in svg and f'd="M{second},7h28"' in svg


def test_panels_are_in_columns_as_wide_as_their_widest() -> None:
    wide = chart(line(y={"scale": {"domain": [0, 2_000_000]}}), title=["a", "b"])
    two = {"concat": [chart(title="one"), wide, chart(title="three")], "columns": 2}
    svg = draw_svg(two, ROWS)
    right = text_width("10") / 2
    second = 41 + 200 + right + 26 + text_width("2,000,000") + 6
    assert origins(svg) == [
        f"41,{5 + 6 + 40}",
        f"{second:.1f},{5 + 6 + 40}",
        f"41,{5 + 46 + 120 + 26 + 6 + 24}",
    ]
    assert size(svg) == (round(second + 200 + right + 5), 5 + 46 + 120 + 26 + 30 + 120 + 5)
    titles = [(text, at) for text, at in texts(svg) if text in ("one", "a", "b", "three")]
    assert titles == [
        ("one", "5,15.3"),
        ("a", f"{second - 36:.1f},15.3"),
        ("b", f"{second - 36:.1f},31.3"),
        ("three", "5,207.3"),
    ]


def test_panels_without_columns_are_below_each_other() -> None:
    svg = draw_svg({"concat": [chart(), chart()]}, ROWS)
    assert origins(svg) == ["41,11", f"41,{5 + 126 + 26 + 6}"]
    # More columns than panels leave no room for those that are missing.
    assert size(draw_svg({"concat": [chart(), chart()], "columns": 3}, ROWS))[0] == round(
        2 * 5 + 2 * (36 + 200 + text_width("10") / 2) + 26
    )


@pytest.mark.parametrize(
    ("values", "kept"),
    [([0, 13, 26], ["0", "13", "26"]), ([0, 12, 25], ["0", "25"]), ([0, 12, 24, 36], ["0", "24"])],
)
def test_labels_along_y_are_at_least_13_pixels_apart(values: list[int], kept: list[str]) -> None:
    spec = line(y={"scale": {"domain": [0, 100]}, "axis": {"values": values, "format": "d"}})
    svg = draw_svg(chart(spec), ROWS)
    assert [text for text, at in texts(svg) if at.startswith("-6,")] == kept
    # The line of the grid stays.
    assert svg.count("h200M") + 1 == len(values)


def test_labels_along_x_keep_6_pixels_between_them() -> None:
    wide = text_width("1,000")

    def shown(apart: float) -> list[str]:
        values = [1000.0, 1000.0 + 1000 * apart / 200]
        axis = {"values": values, "format": ",.0f"}
        spec = line(x={"scale": {"domain": [1000, 2000]}, "axis": axis})
        return [text for text, at in texts(draw_svg(chart(spec), ROWS)) if at.endswith(",115.5")]

    assert len(shown(wide + 6.1)) == 2 and len(shown(wide + 5.9)) == 1


def test_names_stay_unless_they_may_overlap() -> None:
    names = ["a rather long name", "another long name", "cubic"]
    rows = {"d": [{"x": name, "y": 1.0} for name in names]}
    axis = {"labelOverlap": True}
    assert [text for text, _ in texts(draw_svg(chart(canvas.mark("line", named(names))), rows))][
        -4:-1
    ] == names
    apart = texts(draw_svg(chart(canvas.mark("line", named(names, **axis))), rows))
    assert [text for text, _ in apart if text in names] == [names[0], names[2]]
    limited = texts(draw_svg(chart(canvas.mark("line", named(names, labelLimit=40))), rows))
    assert [text for text, _ in limited][-4:-1] == ["a rath…", "anoth…", "cubic"]


def test_names_have_the_order_of_the_figure_and_those_without_rows_are_left_out() -> None:
    rows = {"d": [{"x": "b", "y": 3.0}, {"x": "a", "y": 9.0}]}
    svg = draw_svg(chart(canvas.mark("line", named(["a", "none", "b"]))), rows)
    assert texts(svg)[-3:] == [("a", "50,115.5"), ("b", "150,115.5"), ("law", "100,138.3")]
    plain = {**named([]), "x": canvas.field("x:N")}
    assert texts(draw_svg(chart(canvas.mark("line", plain)), rows))[-2:] == [
        ("b", "50,115.5"),
        ("a", "150,115.5"),
    ]


def test_slanted_names_have_room_below_and_on_the_left() -> None:
    name = "a very long name of a law that hangs out"
    rows = {"d": [{"x": name, "y": 3.0}, {"x": "cubic", "y": 9.0}]}
    svg = draw_svg(chart(canvas.mark("line", named([name, "cubic"], labelAngle=-35, labelLimit=500))), rows)
    assert f'<text transform="translate(53,115.5) rotate(-35)" text-anchor="end">{name}</text>' in svg
    depth = 6 + 0.6 * text_width(name) + 12
    assert origins(svg) == [f"{5 + 0.82 * text_width(name) - 50:.1f},11"]
    assert size(svg) == (
        round(5 + 0.82 * text_width(name) - 50 + 200 + 5),
        round(11 + 100 + depth + 16 + 8 + 5),
    )
    assert texts(svg)[-1] == ("law", f"100,{100 + depth + 8 + 0.79 * 13:.1f}")


def test_names_in_two_lines_have_room_below() -> None:
    rows = {"d": [{"x": "cubic", "y": 3.0}]}
    words = named(["cubic"], labelExpr=canvas.label_lines({"cubic": ["Linux", "cubic"]}))
    svg = draw_svg(chart(canvas.mark("line", words)), rows)
    assert texts(svg)[-3:] == [("Linux", "100,115.5"), ("cubic", "100,129.5"), ("law", "100,152.3")]
    assert size(svg)[1] == 11 + 100 + 6 + 2 * 14 + 24 + 5


def test_names_at_the_ends_of_lines_have_room_on_the_right() -> None:
    at = {"y": {"field": "at", "scale": None}, "x": {"value": 210}, "text": canvas.field("label:N")}
    layers = [
        canvas.mark_chart("d", canvas.mark("line", AT)),
        canvas.mark_chart("e", canvas.mark("text", at, fontSize=13)),
    ]
    rows = {**ROWS, "e": [{"at": 7.0, "label": "cubic"}, {"at": 50.0, "label": "reno"}]}
    svg = draw_svg({"layer": layers, "width": 200, "height": 100}, rows)
    assert size(svg)[0] == round(5 + 36 + 210 + text_width("cubic", 13) + 5)
    assert texts(svg)[-2:] == [("cubic", "210,10.9"), ("reno", "210,53.9")]
    # Names are placed in pixels, so that they change no scale.
    assert texts(svg)[:5] == Y_LABELS


def test_bars_have_gaps_of_a_tenth() -> None:
    rows = {"d": [{"x": "reno", "y": 3.0}, {"x": "cubic", "y": 9.0}]}
    svg = draw_svg(chart(canvas.mark("bar", named(["reno", "cubic"]))), rows)
    assert boxes(svg) == ["M5,66.7h90v33.3h-90Z", "M105,0h90v100h-90Z"]
    assert texts(svg)[-3:-1] == [("reno", "50,115.5"), ("cubic", "150,115.5")]


def test_bars_of_several_series_are_groups_with_gaps_of_a_fifth() -> None:
    offset = canvas.field("s:N", sort=["p", "q"], scale={"paddingInner": 0.15})
    rows = [{"x": "a", "y": 3.0, "s": "p"}, {"x": "b", "y": 9.0, "s": "p"}, {"x": "a", "y": 6.0, "s": "q"}]
    svg = draw_svg(chart(canvas.mark("bar", {**named(["a", "b"]), "xOffset": offset})), {"d": rows})
    assert boxes(svg) == [
        "M18.2,66.7h33.4v33.3h-33.4Z",
        "M109.1,0h33.4v100h-33.4Z",
        "M57.5,33.3h33.4v66.7h-33.4Z",
    ]
    assert texts(svg)[-3:-1] == [("a", "54.5,115.5"), ("b", "145.5,115.5")]


def test_the_axis_of_stacked_bars_reaches_to_the_height_of_a_stack() -> None:
    colour = canvas.look_by_name("s:N", ["p", "q"], ["#111", "#222"], legend=None)
    rows = [
        {"x": "a", "y": 3.0, "s": "p", "k": 0},
        {"x": "a", "y": 15.0, "s": "q", "k": 1},
        {"x": "b", "y": 9.0, "s": "p", "k": 0},
    ]
    stacked = {**named(["a", "b"]), "color": colour, "order": canvas.field("k:Q")}
    svg = draw_svg(chart(canvas.mark("bar", stacked)), {"d": rows})
    assert sorted(boxes(svg)) == sorted(["M5,83.3h90v16.7h-90Z", "M105,50h90v50h-90Z", "M5,0h90v83.3h-90Z"])


def test_a_text_that_is_wide_enough_stays_and_quotes_are_plain() -> None:
    assert shorten("abc", 1000.0) == "abc" and shorten("abc", text_width("abc")) == "abc"
    assert text_element('"a"', 0, 0) == '<text transform="translate(0,0)">"a"</text>'
    assert (SMALL, LARGE) == (12, 13)


@pytest.mark.parametrize(("width", "wide"), [(760, False), (761, True), (90, False)])
def test_a_figure_wider_than_760_pixels_needs_the_whole_page(width: int, wide: bool) -> None:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="9"></svg>'
    assert Drawing("f", "F", None, "", svg, "").is_wide is wide
