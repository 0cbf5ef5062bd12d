"""Figures: every kind is drawn, from the numbers it is given, and fast enough for packet-level graphs."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import synthetic
from cwndlab.api import Study
from cwndlab.apps.notebook.altair_charts import chart
from cwndlab.apps.overlay.overlay import overlay
from cwndlab.apps.packets.sequence import DRAWN, decimate, time_sequence_rows
from cwndlab.base.errors import StudyError
from cwndlab.report import canvas, lines
from cwndlab.report.figures import draw
from cwndlab.report.looks import choose_colours, choose_dashes, choose_fills
from cwndlab.report.palette import PALETTE, PLAIN
from cwndlab.report.svg import inline_svg
from cwndlab.stats import series
from cwndlab.study.outputs import Figure

TRACE, WEB = synthetic.rfc2416(), synthetic.rfc2415()
TAHOE = {"variant": "tahoe", "size": "as-traced"}


def figure(**keys: Any) -> Figure:
    return Figure.model_validate({"id": "f", "title": "F", **keys})


@pytest.mark.parametrize(
    ("keys", "results"),
    [
        ({"kind": "time-sequence", "where": TAHOE, "panels": "iw", "until": "12s"}, TRACE),
        ({"kind": "cwnd", "where": TAHOE, "panels": "iw"}, TRACE),
        ({"kind": "queue", "where": {**TAHOE, "iw": 4}}, TRACE),
        (
            {
                "kind": "line",
                "x": "index",
                "quantity": "delivery",
                "series": ["variant"],
                "where": {"iw": 4, "size": "as-traced"},
                "compare": "difference(iw=1)",
            },
            TRACE,
        ),
        ({"kind": "line", "x": "iw", "quantity": "power", "series": ["webs", "ftps"]}, WEB),
        ({"kind": "line", "x": "iw", "quantity": "power", "where": {"ftps": 0}, "panels": "webs"}, WEB),
        ({"kind": "bar", "x": "webs", "quantity": "page_delay", "series": ["iw"], "where": {"ftps": 0}}, WEB),
        ({"kind": "cdf", "quantity": "page_delays", "series": ["iw"], "where": {"ftps": 0, "webs": 8}}, WEB),
        (
            {"kind": "ellipse", "x": "page_delay", "quantity": "power", "series": ["iw"], "panels": "webs"},
            WEB,
        ),
    ],
    ids=lambda v: v["kind"] if isinstance(v, dict) else "",
)
def test_every_kind_of_figure_is_drawn_and_fits_into_the_page(keys: dict[str, Any], results: Any) -> None:
    drawing = draw(figure(**keys), results)
    page = inline_svg(drawing.svg)
    assert len(re.findall("<(?:path|text|use) ", page)) > 10
    assert "currentColor" in page
    assert "#010203" not in page
    assert 'fill="#fff"' in drawing.svg_file
    assert drawing.alt
    assert drawing.png()[:4] == b"\x89PNG"


def test_a_time_sequence_of_nothing_is_an_error_that_names_connection_and_time() -> None:
    """A run of few cells may lack the connection that the study's figure shows."""
    empty = figure(kind="time-sequence", where={**TAHOE, "iw": 1}, connection=7, start=2.0, until=9.0)
    with pytest.raises(StudyError, match="no packets of connection 7 from 2 to 9 s were recorded"):
        draw(empty, TRACE)


def test_a_time_sequence_graph_has_a_mark_for_every_event() -> None:
    svg = draw(figure(kind="time-sequence", where={**TAHOE, "iw": 1}), TRACE).svg
    expected = {"send": 13, "ack": 6, "dupack": 3, "retransmit": 1}
    colours = {event: colour for event, colour, _ in DRAWN}
    assert {event: len(marks_of(svg, "point", colours[event])) for event in expected} == expected
    assert len(marks_of(svg, "point")) == sum(expected.values())


def test_timeouts_echoes_and_reductions_are_told_apart() -> None:
    segments = {
        "time_ns": np.array([0, 1, 2, 3, 4], dtype=np.uint64),
        "event": np.array(["send", "ack", "retransmit", "send", "mark"]),
        "segment": np.array([1, 1, 2, 3, 3], dtype=np.int64),
        "connection": np.zeros(5, dtype=np.uint32),
        "flags": np.array([2 + 64 + 128, 16 + 64, 16, 16 + 128, 16 + 128], dtype=np.uint8),
        "timeout": np.array([False, False, True, False, False]),
    }
    rows = time_sequence_rows(segments, (0.0, 1.0), 0, 620, 300)
    assert [(r["event"], r["segment"]) for r in rows] == [
        *(("send", 1), ("ack", 1), ("ECE", 1), ("timeout", 2), ("send", 3), ("CWR", 3), ("mark", 3))
    ]


def test_the_window_and_the_blocks_that_acknowledgments_report_are_drawn() -> None:
    segments = {
        "time_ns": np.arange(4, dtype=np.uint64),
        "event": np.array(["send", "send", "dupack", "ack"]),
        "segment": np.array([1, 9, 1, 4], dtype=np.int64),
        "connection": np.zeros(4, dtype=np.uint32),
        "from_client": np.array([True, True, False, False]),
        "len": np.array([1000, 1000, 0, 0]),
        "ack": np.array([0, 0, 1000, 4000]),
        "window_bytes": np.array([9999, 9999, 8500, 1500]),
        "sack": np.array([None, None, np.array([2000, 3500, 5000, 6000]), np.array([])], dtype=object),
    }
    rows = time_sequence_rows(segments, (0.0, 1.0), 0, 620, 300)
    assert [r["segment"] for r in rows if r["event"] == "window"] == [9, 5]
    assert [(r["from"], r["segment"]) for r in rows if r["event"] == "SACK"] == [(3, 4), (6, 6)]


def test_the_points_of_a_line_are_the_estimates_with_their_intervals() -> None:
    spec = figure(kind="line", x="iw", quantity="page_delay", where={"webs": 8, "ftps": 0})
    points = series.points(spec, WEB)
    assert [p.x for p in points] == [1, 2, 3, 4]
    assert points[0].interval.value == pytest.approx(WEB.values("webs=8,ftps=0,iw=1", "page_delay").mean())
    assert all(p.interval.low < p.interval.value < p.interval.high for p in points)


def test_an_ellipse_is_the_contour_of_one_standard_deviation_around_the_runs() -> None:
    """Every point of it has the Mahalanobis distance 1 from the mean; the dot is the median of the runs."""
    where = {"webs": 8, "ftps": 0, "iw": 1}
    (found,) = series.ellipses(figure(kind="ellipse", x="page_delay", quantity="power", where=where), WEB)
    runs = np.array([WEB.values("webs=8,ftps=0,iw=1", name) for name in ("page_delay", "power")])
    apart = np.array([found.x, found.y]) - runs.mean(axis=1)[:, None]
    distance = np.einsum("ik,ij,jk->k", apart, np.linalg.inv(np.cov(runs, bias=True)), apart)
    assert distance == pytest.approx(np.ones(len(found.x)))
    assert found.centre == pytest.approx(tuple(np.median(runs, axis=1)))


def test_two_runs_have_a_median_and_no_ellipse() -> None:
    few = synthetic.rfc2415(replicates=2)
    spec = figure(kind="ellipse", x="page_delay", quantity="power", series=["iw"])
    assert {len(one.x) for one in series.ellipses(spec, few)} == {0}
    svg = draw(spec, few).svg
    assert len(marks_of(svg, "point")) == len(few.cells)


def test_points_of_several_series_stay_at_their_own_x_and_their_intervals_are_bands() -> None:
    spec = figure(kind="line", x="iw", quantity="power", series=["webs"], where={"ftps": 0, "webs": [8, 32]})
    svg = draw(spec, WEB).svg
    assert {place for place, _ in marks_of(svg, "point")} == {_tick_places(svg)[iw] for iw in "1234"}
    assert len(marks_of(svg, "area")) == 2


def _size(svg: str) -> tuple[int, int]:
    found = re.search(r'width="(\d+)" height="(\d+)"', svg)
    assert found is not None
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("keys", [{"series": ["webs"]}, {"panels": "webs"}, {"panels": "webs", "width": 600}])
def test_every_figure_has_a_drawing_for_a_telephone(keys: dict[str, Any]) -> None:
    drawing = draw(figure(kind="line", x="iw", quantity="power", where={"ftps": 0}, **keys), WEB)
    assert _size(drawing.narrow_svg)[0] <= 368 < 500 < _size(drawing.svg)[0]
    assert drawing.is_wide == ("panels" in keys and "width" not in keys)


def test_lines_are_named_at_their_ends_if_they_are_few_and_else_in_a_legend() -> None:
    keys: dict[str, Any] = {"kind": "line", "x": "iw", "quantity": "power"}
    few = draw(figure(**keys, series=["webs"], where={"ftps": 0}), WEB).svg
    many = draw(figure(**keys, series=["webs", "ftps"]), WEB).svg
    assert 'class="legend"' in many and 'class="legend"' not in few
    assert [few.count(f">webs: {webs}</text>") for webs in (8, 16, 32)] == [1, 1, 1]


def test_names_that_meet_are_moved_apart_and_stay_in_their_order() -> None:
    assert lines.move_apart([10, 100, 200], 300) == [10, 100, 200]
    assert lines.move_apart([10, 12, 14], 300) == [10, 26, 42]
    assert lines.move_apart([10, 299, 300], 300) == [10, 284, 300]


@pytest.mark.parametrize(
    ("low", "high", "keys", "expected"),
    [
        (10.4, 89.6, {}, (0, 100)),  # quantities start at 0,
        (-30, 89.6, {}, (-50, 100)),
        (0.97, 1.08, {"compare": "ratio(iw=1)"}, (0.95, 1.1)),  # ratios do not
        (0, 0, {}, (0, 1)),
    ],
)
def test_the_vertical_axis_ends_at_ticks(
    low: float, high: float, keys: dict[str, Any], expected: tuple[float, float]
) -> None:
    spec = figure(kind="line", x="iw", quantity="power", **keys)
    axis = lines.Vertical.from_rows([{"low": low, "high": high}], spec)
    assert (axis.low, axis.high) == pytest.approx(expected)
    assert (axis.ticks[0], axis.ticks[-1]) == pytest.approx(expected) and 4 <= len(axis.ticks) <= 8


def test_less_than_a_step_below_0_does_not_lengthen_the_axis_by_a_step() -> None:
    axis = lines.Vertical.from_rows(
        [{"low": -3, "high": 89.6}], figure(kind="line", x="iw", quantity="power")
    )
    assert (axis.low, axis.high, axis.ticks[0], axis.ticks[-1]) == (-3, 100, 0, 100)


@pytest.mark.parametrize(("least", "shared"), [(30, True), (10, False)])
def test_panels_share_an_axis_unless_it_would_flatten_one(least: float, shared: bool) -> None:
    panels = [[{"low": 0.0, "high": high}] for high in (80.0, least)]
    first, second = lines.Vertical.from_panels(panels, figure(kind="line", x="iw", quantity="power"))
    assert (first == second) == shared and first.high == 80


def test_a_legend_writes_once_what_all_names_begin_with() -> None:
    spec = figure(kind="line", x="iw", quantity="power", width=300)
    made = canvas.make_legend({f"webs: {n}": f"webs: {n}" for n in (8, 16, 32)}, "stroke", spec)
    assert made is not None and (made["title"], made["columns"]) == ("webs", 3)
    assert json.loads(made["labelExpr"].removesuffix("[datum.label]"))["webs: 8"] == ["8"]
    other = canvas.make_legend({"webs: 8": "webs: 8", "ftps: 8": "ftps: 8"}, "stroke", spec)
    assert other is not None and "title" not in other


def test_a_legend_has_as_many_columns_as_its_names_leave_room_for() -> None:
    spec = figure(kind="budget", x="iw", of="page", width=300)
    parts = ["congestion window", "delayed ACK", "recovery", "timeout", "repeated timeout", "queueing"]
    two = canvas.make_legend({part: part for part in parts}, "square", spec)
    one = canvas.make_legend({part: part for part in [*parts, "timeout of the handshake"]}, "square", spec)
    assert two is not None and one is not None and (two["columns"], one["columns"]) == (2, 1)


def test_long_names_along_an_axis_and_of_panels_are_broken_into_lines() -> None:
    spec = figure(kind="bar", x="iw", quantity="power", width=240)
    names = ["PIE", "CoDel, target 15 ms"]
    axis = canvas.named_axis(names, spec)
    shown = json.loads(axis["labelExpr"].removesuffix("[datum.label]"))
    assert shown == {"PIE": ["PIE"], names[1]: ["CoDel, target 15", "ms"]}
    assert canvas.named_axis(["internationalization", "b", "c"], spec)["labelAngle"] < 0
    assert canvas.panel_of_size({}, "RED's parameters: 5 and 15 packets", spec)["title"] == [
        "RED's parameters: 5 and 15",
        "packets",
    ]


def test_ticks_are_labelled_without_rounding() -> None:
    steps = {2.5: ",.1f", 0.25: ",.2f", 0.2: ",.1f", 5.0: ",.0f", 50.0: ",.0f", 0.001: ",.3f"}
    for step, expected in steps.items():
        assert lines.Vertical(0, 2 * step, False, [0, step, 2 * step]).axis["format"] == expected


def test_a_flow_has_one_colour_whatever_a_figure_shows_first() -> None:
    flows = ("cubic", "bbr1")
    spec = figure(kind="line", x="iw", quantities=["mean", "p99"])
    assert choose_colours(["cubic", "bbr1"], flows, spec) == PALETTE[:2]
    assert choose_colours(["bbr1", "cubic"], flows, spec) == PALETTE[1::-1]
    assert choose_colours(["mean", "p99"], flows, spec) == [PLAIN, PLAIN]
    assert len(set(choose_colours(["mean", "p95", "p99"], flows, spec, bars=True))) == 3
    assert choose_colours(["mean", "p99"], (), spec) == PALETTE[:2]


def test_a_kernel_and_the_simulator_share_colours_and_differ_in_dashes() -> None:
    names = ["cubic, kernel", "cubic, simulator", "bbr1, kernel", "bbr1, simulator"]
    spec = figure(kind="line", x="iw", quantities=["a", "b"])
    cubic, bbr1 = PALETTE[:2]
    assert choose_colours(names, ("cubic", "bbr1"), spec) == [cubic, cubic, bbr1, bbr1]
    solid, dashed = choose_dashes(names, spec)[:2]
    assert choose_dashes(names, spec) == [solid, dashed, solid, dashed] and solid != dashed
    assert choose_dashes(["kernel", "simulator"], spec) == [solid, dashed]


def test_numbers_of_the_network_have_no_colour_of_a_flow_next_to_a_kernel() -> None:
    names = [f"{what}, {source}" for what in ("mean", "p95") for source in ("kernel", "simulator")]
    spec = figure(kind="line", x="iw", quantities=["a", "b"])
    mean, p95 = PALETTE[2:4]
    assert choose_colours(names, ("cubic", "bbr1"), spec) == [mean, mean, p95, p95]


def _named(*parts: Sequence[str]) -> list[str]:
    return [", ".join(name) for name in itertools.product(*parts)]


LAWS, FLOWS = ("mine", "cubic", "bbr3"), ("tested", "cubic")
SOURCES = ("kernel", "simulator")


@pytest.mark.parametrize("quantities", [1, 2])
@pytest.mark.parametrize(
    "names",
    [
        _named(FLOWS, LAWS),
        _named(("mean", "p95", "p99"), LAWS),
        _named(("mean", "p95", "p99"), SOURCES),
        _named(FLOWS, LAWS, SOURCES),
        [f"law {k}" for k in range(30)],
    ],
)
def test_no_two_series_of_a_figure_look_alike(names: list[str], quantities: int) -> None:
    spec = figure(kind="line", x="iw", quantities=["a", "b"][:quantities])
    colours = choose_colours(names, FLOWS, spec)
    assert len(set(zip(colours, map(str, choose_dashes(names, spec)), strict=True))) == len(names)
    if len(names) <= 16:
        colours = choose_colours(names, FLOWS, spec, bars=True)
        fills = choose_fills(names, colours, spec) or colours
        assert len(set(zip(colours, fills, strict=True))) == len(names)


def test_a_law_has_one_colour_and_each_of_its_quantities_its_own_dashes() -> None:
    spec = figure(kind="line", x="iw", quantities=["a", "b"])
    names = _named(FLOWS, LAWS)
    colours, dashes = choose_colours(names, FLOWS, spec), choose_dashes(names, spec)
    assert colours[:3] == colours[3:] and len(set(colours)) == 3
    assert colours[1] == PALETTE[1]  # CUBIC has the colour of the flow of that name
    assert dashes[0] == dashes[1] == dashes[2] != dashes[3] == dashes[4] == dashes[5]


def test_bars_of_the_simulator_are_hollow_and_bars_of_one_place_are_apart() -> None:
    where = {"ftps": 0, "iw": 1, "webs": 8}
    spec = figure(kind="bar", x="webs", quantity="page_delay", series=["run"], where=where)
    svg = draw(spec, overlay(WEB, WEB, SOURCES)).svg
    (bars,) = re.findall(r'<g class="bar"[^>]*>(.*?)</g>', svg)
    shapes = re.findall(r'd="M([\d.]+),[\d.]+h([\d.]+)[^>]*? fill="([^"]*)" stroke="([^"]*)"', bars)
    (left, width, filled, colour), (right, _, hollow, same) = shapes
    assert (filled, hollow) == (colour, "none") and same == colour
    assert float(right) - float(left) > float(width) + 2


def marks_of(svg: str, kind: str, colour: str = "") -> list[tuple[float, float]]:
    """Where the marks of a kind are, in pixels of their panel; of lines and areas where they begin."""
    groups = re.findall(rf'<g class="{kind}"[^>]*>(.*?)</g>', svg)
    paths = [path for group in groups for path in re.findall("<path[^>]*>", group) if colour in path]
    places = (re.search(r'translate\(([\d.-]+),([\d.-]+)\)|d="M([\d.-]+),([\d.-]+)', path) for path in paths)
    return [(float(at[1] or at[3]), float(at[2] or at[4])) for at in places if at]


def _tick_places(svg: str) -> dict[str, float]:
    found = re.findall(r"<text [^>]*translate\(([\d.]+),[^>]*>(\d)</text>", svg)
    return {name: float(place) for place, name in found}


def test_the_only_place_of_an_axis_is_labelled_as_it_is() -> None:
    chosen = {"grid": "fairness", "background": "plain", "flows": 2, "max_p": 0.1}
    results = Study.load("rfc2884").set(chosen).run(replicates=3).results
    svg = draw(figure(kind="line", x="max_p", quantity="jain"), results).svg
    assert ">0.1</text>" in svg and ">0</text>" not in svg


def test_a_line_may_have_a_logarithmic_axis() -> None:
    keys: dict[str, Any] = {"kind": "line", "x": "iw", "quantity": "power", "where": {"webs": 2, "ftps": 0}}
    even, log = (_tick_places(draw(figure(**keys, log_x=on), WEB).svg) for on in (False, True))
    assert even["2"] - even["1"] == pytest.approx(even["4"] - even["3"])
    assert log["2"] - log["1"] == pytest.approx(log["4"] - log["2"])


def test_a_logarithmic_axis_along_y_leaves_out_what_is_not_above_zero() -> None:
    data = {key: list(values) for key, values in WEB.data.items()}
    data["webs=8,ftps=0,iw=2", "power"] = [0.0] * 10
    keys: dict[str, Any] = {"kind": "line", "x": "iw", "quantity": "power", "where": {"webs": 8, "ftps": 0}}
    svg = draw(figure(**keys, log_y=True), dataclasses.replace(WEB, data=data)).svg
    assert {place for place, _ in marks_of(svg, "point")} == {_tick_places(svg)[iw] for iw in "134"}


def test_a_curve_over_a_logarithmic_axis_begins_at_the_share_of_the_zeros() -> None:
    data = {key: list(values) for key, values in WEB.data.items()}
    data["webs=8,ftps=0,iw=1", "page_delays"] = [[0.0, 0.0, 0.1, 1.0, 10.0]]
    keys: dict[str, Any] = {
        "kind": "cdf",
        "quantity": "page_delays",
        "where": {"webs": 8, "ftps": 0, "iw": 1},
    }
    for log_x, first in ((False, (0.0, 0.2)), (True, (0.1, 0.6))):
        shown = chart(figure(**keys, log_x=log_x), dataclasses.replace(WEB, data=data)).to_dict()
        rows = shown["datasets"]["panel0"]
        assert (rows[0]["x"], rows[0]["y"]) == first
    svg = draw(figure(**keys, log_x=True), dataclasses.replace(WEB, data=data)).svg
    assert "NaN" not in svg and "Infinity" not in svg


def test_panels_have_the_size_that_is_asked_for_and_stand_in_columns() -> None:
    keys: dict[str, Any] = {"kind": "line", "x": "iw", "quantity": "power", "panels": "webs"}
    keys |= {"where": {"ftps": 0}, "width": 200, "height": 100}
    sizes = {}
    for columns in (1, 3):
        drawing = draw(figure(**keys, columns=columns), WEB)
        width, height = re.search(r'width="(\d+)" height="(\d+)"', drawing.svg).groups()  # type: ignore[union-attr]
        sizes[columns] = int(width), int(height)
    assert sizes[1][0] < 400 < 600 < sizes[3][0]
    assert sizes[3][1] < 250 < 3 * 100 < sizes[1][1]
    assert draw(figure(**keys), WEB).pdf()[:5] == b"%PDF-"


def test_a_figure_of_a_value_that_was_not_run_shows_one_that_was() -> None:
    tied = figure(kind="time-sequence", where={**TAHOE, "iw": 4})
    run = dataclasses.replace(TRACE, cells=tuple(c for c in TRACE.cells if c.axes["variant"] == "sack"))
    drawing = draw(tied, run)
    assert drawing.title == "F (here variant: sack)"
    asked = draw(figure(kind="time-sequence", where={**TAHOE, "variant": "sack", "iw": 4}), TRACE)
    assert drawing.svg == asked.svg


def test_a_comparison_with_the_only_value_that_was_run_is_not_drawn() -> None:
    spec = figure(kind="line", x="webs", quantity="power", where={"ftps": 0, "iw": 3}, compare="ratio(iw=1)")
    alone = dataclasses.replace(WEB, cells=tuple(c for c in WEB.cells if c.axes["iw"] == 1))
    with pytest.raises(StudyError, match="it compares with iw: 1"):
        draw(spec, alone)


def test_ticks_without_room_for_their_labels_are_the_only_ones_left_out() -> None:
    """Of the probabilities of RFC 2884's figure, 0.05 is close to 0.02; Vega left out each second label."""
    cells = [c for c in WEB.cells if c.axes["ftps"] == 0][:6]
    places = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5]
    moved = [c._replace(axes={"p": p}) for c, p in zip(cells, places, strict=True)]
    svg = draw(
        figure(kind="line", x="p", quantity="power", width=300), dataclasses.replace(WEB, cells=tuple(moved))
    ).svg
    assert [p for p in places if f">{p}</text>" in svg] == [0.02, 0.1, 0.2, 0.3, 0.5]


def test_a_cdf_rises_to_one_and_pools_the_replicates() -> None:
    spec = figure(kind="cdf", quantity="page_delays", where={"webs": 8, "ftps": 0, "iw": 1})
    (curve,) = series.curves(spec, WEB)
    assert curve.share[-1] == 1.0
    assert np.all(np.diff(curve.share) > 0)
    assert np.all(np.diff(curve.value) >= 0)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"kind": "line", "x": "iw", "quantity": "power"}, "fall on the same point"),
        ({"kind": "line", "x": "vi", "quantity": "power"}, "no axis 'vi'"),
        ({"kind": "bar", "x": "iw", "quantity": "powre"}, 'did you mean "power"'),
        ({"kind": "cdf", "quantity": "page_delays", "series": ["iq"]}, "no axis 'iq'"),
        ({"kind": "cwnd"}, "no cwnd records"),
        ({"kind": "line", "x": "index", "quantity": "power"}, "no list"),
        ({"kind": "line", "x": "iw", "quantity": "page_delays"}, "is a list"),
    ],
)
def test_what_is_wrong_with_a_figure_is_named(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(StudyError, match=r"figures\.f") as raised:
        draw(figure(**keys), WEB)
    assert says in str(raised.value)


def test_a_figure_without_what_it_draws_is_refused_on_loading() -> None:
    with pytest.raises(ValueError, match="needs `quantity`"):
        figure(kind="bar", x="iw")
    with pytest.raises(ValueError, match="needs `x`"):
        figure(kind="line", quantity="power")


def many_packets(n: int) -> Any:
    rng = np.random.default_rng(1)
    time_ns = np.sort(rng.integers(0, 60_000_000_000, n)).astype(np.uint64)
    kinds = rng.choice(["send", "ack", "dupack", "retransmit"], n, p=[0.5, 0.48, 0.015, 0.005])
    return {
        "time_ns": time_ns,
        "event": kinds,
        "segment": (np.arange(n) // 2).astype(np.int64),
        "connection": np.zeros(n, dtype=np.uint32),
    }


def test_a_hundred_thousand_packets_are_thinned_to_the_pixels() -> None:
    segments = many_packets(100_000)
    rows = time_sequence_rows(segments, (0.0, 60.0), 0, 620, 300)
    assert len(rows) < 12_000
    kept = {r["event"] for r in rows}
    assert kept == {"send", "ack", "dupack", "retransmit"}
    rare = sum(segments["event"] == "retransmit")
    assert sum(r["event"] == "retransmit" for r in rows) > 0.7 * rare


def test_thinning_a_curve_keeps_its_peaks() -> None:
    t = np.linspace(0.0, 60.0, 100_000)
    y = np.zeros_like(t)
    y[31_234], y[77_777] = 9.0, -9.0
    time_s, values = decimate(t, y, (0.0, 60.0), 620)
    assert len(time_s) <= 4 * 621
    assert (values.max(), values.min()) == (9.0, -9.0)
    assert (time_s[0], time_s[-1]) == (0.0, 60.0)


def test_only_the_window_asked_for_is_drawn() -> None:
    rows = time_sequence_rows(many_packets(1000), (10.0, 20.0), 0, 620, 300)
    assert rows
    assert all(10.0 <= r["time"] <= 20.0 for r in rows)


def test_a_long_title_of_a_vertical_axis_has_lines_above_it() -> None:
    long = "the share of all bytes that arrived after the second timeout and before the third"
    spec = figure(kind="line", x="iw", quantity="power", series=["webs", "ftps"], y_title=long)
    page = inline_svg(draw(spec, WEB).narrow_svg)
    found = re.findall(r'<text transform="translate\(-36,(-[\d.]+)\)"[^>]*>([^<]+)</text>', page)
    assert " ".join(text for _, text in found) == long and len(found) > 1
    heights = [float(y) for y, _ in found]
    assert all(below - above == pytest.approx(16) for above, below in itertools.pairwise(heights))
    assert "rotate" not in page


def test_panels_of_a_time_sequence_graph_have_marks_of_one_size(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [draw(figure(kind="time-sequence", where={**TAHOE, "iw": iw}), TRACE).svg for iw in (1, 4)]
    few, many = sorted(len(marks_of(svg, "point")) for svg in alone)
    assert few < many
    monkeypatch.setattr("cwndlab.apps.packets.graphs.CROWD", many)  # one panel is crowded, the other is not
    both = draw(figure(kind="time-sequence", where=TAHOE, panels="iw"), TRACE).svg
    colour = next(colour for event, colour, _ in DRAWN if event == "send")
    marks = re.findall(f'<path transform="[^"]*" d="([^"]*)" fill="{colour}"', both)
    assert len(marks) > 20
    assert len(set(marks)) == 2  # in the legend they have a size of their own


def test_an_average_of_red_in_bytes_is_drawn_next_to_the_queue_in_kb() -> None:
    """The two lines of a panel have one unit: that of RED's thresholds, which the average has."""
    text = """
        title = "RED"
        measure = ["goodput"]
        [dumbbell]
        rate = "2Mbps"
        rtt = "40ms"
        buffer = "%s"
        queue = { kind = "red", unit = "%s", min_th = %s, max_th = %s, max_p = 0.1, w_q = 0.02 }
        flows = [{ cc = "reno", count = 2, start = "0s" }]
        [run]
        duration = "5s"
        replicates = 1
        [probes]
        queues = ["left>right"]
        queue_interval = "10ms"
        [[figures]]
        id = "f"
        title = "F"
        kind = "queue"
    """
    drawn = {}
    for buffer, unit, low, high in (
        ("40pkt", "packets", "3.0", "9.0"),
        ("60KiB", "bytes", "4500.0", "13500.0"),
    ):
        run = Study.from_toml(text % (buffer, unit, low, high)).run(threads=1)
        chart = run.chart("f").to_dict()
        values = [row for rows in chart["datasets"].values() for row in rows]
        most = {name: max(r["y"] for r in values if r["series"] == name) for name in ("queue", "average")}
        drawn[unit] = (most, run.figure("f").alt)
    assert drawn["packets"][1] == "queue (packets) against time: queue, average"
    assert drawn["bytes"][1] == "queue (kB) against time: queue, average"
    for most, _ in drawn.values():
        assert 0.2 < most["average"] / most["queue"] <= 1
    assert 5 < drawn["packets"][0]["queue"] <= 40 and 5 < drawn["bytes"][0]["queue"] <= 62


def test_one_wide_interval_does_not_flatten_the_lines() -> None:
    spec = Figure.model_validate({"id": "f", "title": "F", "kind": "line", "x": "n", "quantity": "delay"})
    near = {"y": 2.0, "low": 1.0, "high": 3.0}
    wide = lines.Vertical.from_rows([near, {"y": 1.0, "low": 0.1, "high": 900.0}], spec)
    assert (wide.high, wide.clip) == (8.0, {"clip": True})
    usual = lines.Vertical.from_rows([near, {"y": 1.0, "low": 0.1, "high": 7.9}], spec)
    assert (usual.high, usual.clip) == (8.0, {})
    none = lines.Vertical.from_rows([{"y": 0.0, "low": 0.0, "high": 0.738}], spec)
    assert none.high == 0.8 and not none.is_exceeded
