"""Figures of distributions as they are described for the drawing, and the looks of series, in full."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import synthetic
from cwndlab.base.errors import StudyError
from cwndlab.report import figures, judge, looks
from cwndlab.report.methods import _adjustment, _span, describe_run
from cwndlab.report.palette import PALETTE, PLAIN, SHADES
from cwndlab.stats import series
from cwndlab.study.outputs import Figure
from cwndlab.study.schema import Quantity


def figure(**more: object) -> Figure:
    about: dict[str, object] = {"id": "f", "title": "F", "kind": "line", "x": "iw", "quantity": "q"}
    return Figure.model_validate(about | more)


CELLS = synthetic.grid(buffer=[1, 2], law=["a", "b"])
RESULTS = synthetic.make_results(
    CELLS,
    {"delays": "s", "x": "ms", "y": "Mbit/s"},
    {(cell.id, "delays"): [[3.0, -1.0], [1.0, 2.0 + k]] for k, cell in enumerate(CELLS)}
    | {(cell.id, "x"): [1.0 + k, 2.0 + k, 4.0 + k] for k, cell in enumerate(CELLS)}
    | {(cell.id, "y"): [1.0, 3.0, 2.5] for cell in CELLS},
    titles={"delays": "delay", "x": "X", "y": "Y"},
)


NOTHING = synthetic.make_results(CELLS, dict.fromkeys(("none", "x", "y"), "s"), {})


def cdf(**more: object) -> Any:
    spec = figure(kind="cdf", x=None, quantity="delays", series=["law"], **more)
    return figures._cdf(spec, RESULTS)


def test_a_distribution_is_a_staircase_of_shares_for_each_series() -> None:
    chart, rows, words = cdf(where={"buffer": 1})
    assert words == "cumulative distribution of delay (s)"
    assert rows == {
        "panel0": [
            {"x": x, "y": y, "series": law}
            for law, values in (("a", (-1.0, 1.0, 2.0, 3.0)), ("b", (-1.0, 1.0, 3.0, 3.0)))
            for x, y in zip(values, (0.25, 0.5, 0.75, 1.0), strict=True)
        ]
    }
    assert chart["mark"] == {"type": "line", "interpolate": "step-after", "strokeWidth": 1.8}
    assert (chart["width"], chart["height"], "title" in chart) == (510, 290, False)
    x, y, colour, dash = (chart["encoding"][name] for name in ("x", "y", "color", "strokeDash"))
    assert x == {"field": "x", "type": "quantitative", "title": ["delay (s)"], "scale": {}}
    assert y == {"field": "y", "type": "quantitative", "title": "share at most", "scale": {"domain": [0, 1]}}
    assert colour["scale"] == {"domain": ["a", "b"], "range": PALETTE[:2]}
    assert dash["scale"] == {"domain": ["a", "b"], "range": [[1, 0], [6, 3]]}
    assert dash["legend"] == colour["legend"] and colour["legend"]["symbolType"] == "stroke"


def test_a_logarithmic_axis_begins_above_0_and_titles_can_be_given() -> None:
    chart, rows, _ = cdf(where={"buffer": 1}, log_x=True, x_title="X", y_title="Y")
    assert [(row["x"], row["y"]) for row in rows["panel0"]][:2] == [(1.0, 0.5), (2.0, 0.75)]
    assert all(row["x"] > 0 for row in rows["panel0"])
    assert chart["encoding"]["x"] == {
        "field": "x", "type": "quantitative", "title": ["X"], "scale": {"type": "log", "nice": False},
    }  # fmt: skip
    assert chart["encoding"]["y"]["title"] == "Y"


def test_each_panel_of_a_distribution_has_its_own_rows() -> None:
    chart, rows, _ = cdf(panels="buffer")
    assert list(rows) == ["panel0", "panel1"] and len(chart["concat"]) == 2
    assert [part["data"]["name"] for part in chart["concat"]] == ["panel0", "panel1"]
    assert [part["title"] for part in chart["concat"]] == [["buffer: 1"], ["buffer: 2"]]
    assert max(row["x"] for row in rows["panel0"]) == 3.0 and max(row["x"] for row in rows["panel1"]) == 5.0
    assert chart["concat"][0]["encoding"]["color"]["legend"]["offset"] == 16
    with pytest.raises(StudyError, match="nothing was measured for it"):
        figures._cdf(figure(kind="cdf", x=None, quantity="none"), NOTHING)


def test_an_ellipse_has_a_contour_and_a_centre_for_each_cell() -> None:
    spec = figure(kind="ellipse", x="x", quantity="y", series=["law"], panels="buffer")
    chart, rows, words = figures._ellipse(spec, RESULTS)
    assert words == "Y (Mbit/s) against X (ms): median and 1-sigma ellipse of the runs for a, b"
    assert list(rows) == ["contours0", "centres0", "contours1", "centres1"]
    assert rows["centres0"] == [{"x": 2.0, "y": 2.5, "series": "a"}, {"x": 3.0, "y": 2.5, "series": "b"}]
    first = [row for row in rows["contours0"] if row["cell"] == 0]
    (found, *_) = series.ellipses(spec, RESULTS)
    assert [(row["x"], row["y"]) for row in first] == [*zip(found.x, found.y, strict=True)]
    assert [row["place"] for row in first] == [*range(len(found.x))]
    assert {row["series"] for row in first} == {"a"}
    around, centre = chart["concat"][0]["layer"]
    assert around["mark"] == {"type": "line", "strokeWidth": 1.6}
    assert centre["mark"] == {"type": "point", "filled": True, "size": 50, "opacity": 1}
    assert around["data"] == {"name": "contours0"} and centre["data"] == {"name": "centres0"}
    assert around["encoding"]["strokeDash"]["legend"] is None and "strokeDash" not in centre["encoding"]
    at = around["encoding"]
    assert (at["x"]["title"], at["x"]["scale"], at["y"]["title"], at["y"]["scale"]) == (
        "X (ms)", {"zero": True}, "Y (Mbit/s)", {"zero": False},
    )  # fmt: skip
    assert (at["order"]["field"], at["detail"]) == ("place", {"field": "cell", "type": "nominal"})
    assert centre["encoding"]["color"]["legend"]["symbolType"] == "circle"
    titled = figure(kind="ellipse", x="x", quantity="y", series=["law", "buffer"], x_title="A", y_title="B")
    assert figures._ellipse(titled, RESULTS)[2].startswith("B against A: ")
    with pytest.raises(StudyError, match="nothing was measured for it"):
        figures._ellipse(spec, NOTHING)


def test_dashes_differ_and_the_first_line_is_drawn_through() -> None:
    assert looks.DASHES == [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3], [10, 4], [3, 1]]
    many = looks.choose_dashes([str(k) for k in range(17)], figure())
    assert many == [*looks.DASHES, *looks.DASHES[1:], looks.DASHES[0], looks.DASHES[2]]


@pytest.mark.parametrize(
    ("order", "flows", "places"),
    [
        ("ab", "", [0, 1]), ("ab", "ba", [1, 0]), ("xb", "ab", [2, 1]), ("xy", "ab", [0, 1]),
        ("bxyzuvwp", "ab", [1, 2, 3, 4, 5, 6, 7, 0]), ("bxyzuvwpq", "ab", [*range(9)]),
        ("abcdefghi", "abcdefghi", [*range(9)]), ("xi", "abcdefghi", [1, 8]),
    ],
)  # fmt: skip
def test_flows_keep_their_colours_and_others_get_free_ones(order: str, flows: str, places: list[int]) -> None:
    assert list(looks._places(order, flows).values()) == places


def test_series_of_two_sides_share_a_colour_and_differ_in_dashes_and_fills() -> None:
    names = ["a, kernel", "a, simulator", "b, kernel", "b, simulator"]
    assert looks.choose_colours(names, [], figure()) == [PALETTE[0]] * 2 + [PALETTE[1]] * 2
    assert looks.choose_dashes(names, figure()) == [[1, 0], [6, 3]] * 2
    fills = looks.choose_fills(names, ["#1", "#1", "#2", "#2"], figure())
    assert fills == ["#1", "transparent", "#2", "transparent"]
    assert looks.name_series(names) == {"a, kernel": "a", "b, kernel": "b"}
    assert looks.name_series(["kernel", "simulator"]) == {"kernel": "kernel", "simulator": "simulator"}
    assert looks.name_series(["a", "b"]) == {"a": "a", "b": "b"}
    # no colour of a flow, and the colour that is similar to an earlier one last
    flows = ["u", "v", "w"]
    assert looks.choose_colours(names, flows, figure()) == [PALETTE[3]] * 2 + [PALETTE[5]] * 2
    assert looks.choose_colours(["a, kernel", "u, kernel"], flows, figure()) == [PALETTE[3], PALETTE[0]]
    seven = [f"f{k}" for k in range(7)]
    assert looks.choose_colours(names, seven, figure()) == [PALETTE[0]] * 2 + [PALETTE[1]] * 2
    six = seven[:6]
    assert looks.choose_colours(names, six, figure()) == [PALETTE[6]] * 2 + [PALETTE[7]] * 2


def test_up_to_three_series_of_the_whole_network_are_grey() -> None:
    two = figure(quantity=None, quantities=["q", "r"])
    names = ["mean", "p95", "p99", "max"]
    assert looks.choose_colours(names[:3], ["u"], two) == [PLAIN] * 3
    assert looks.choose_colours(names[:3], ["u"], two, bars=True) == SHADES
    assert looks.choose_colours(names, ["u"], two) == PALETTE[:4]
    assert looks.choose_colours(["mean", "u"], ["u"], two) == [PALETTE[1], PALETTE[0]]
    panels = figure(quantity=None, quantities=["q", "r"], panels="quantity")
    assert looks.choose_colours(names[:2], ["u"], panels) == PALETTE[:2]


FIVES = [k for k in range(4) for _ in range(5)]


@pytest.mark.parametrize(
    ("names", "bars", "keys", "levels"),
    [
        (["q, a", "q, b", "r, a", "r, b"], False, "abab", [0, 0, 1, 1]),
        (["q, a", "r, a", "s, a", "q, b"], False, "qrsq", [0, 0, 0, 1]),
        (["q, a", "r"], False, ["q, a", "r"], [0, 0]),
        ([f"q{k}, {law}" for k in range(4) for law in "abcde"], False, "abcde" * 4, FIVES),
        ([f"q{k}, {law}" for k in range(3) for law in "abc"], True, "abcabcabc", [0, 0, 0, 1, 1, 1, 2, 2, 2]),
    ],
)  # fmt: skip
def test_series_are_grouped_by_quantity_or_by_the_rest_whichever_has_more(
    names: list[str], bars: bool, keys: Any, levels: list[int]
) -> None:
    two = figure(quantity=None, quantities=["q", "r"])
    assert looks._groups(names, two, bars=bars) == (list(keys), levels)
    assert looks._groups(names[:2], figure(), bars=bars) == (names[:2], [0, 0])


def test_more_groups_than_looks_are_not_grouped() -> None:
    two = figure(quantity=None, quantities=["q", "r"])
    five = [f"q{k}, {law}" for k in range(5) for law in "abcdef"]
    assert looks._groups(five, two, bars=False)[0] == five
    four = [f"q{k}, {law}" for k in range(4) for law in "abcd"]
    assert looks._groups(four, two, bars=True)[0] == four
    assert looks._groups(["x"] + [str(k) for k in range(8)], figure(), bars=False)[1] == [0] * 8 + [1]
    sided = [f"{q}, {law}, {side}" for q in "qr" for law in "ab" for side in ("kernel", "simulator")]
    assert looks._groups(sided, two, bars=True)[0][0] == "q, a"
    assert looks._groups(sided, two, bars=False)[0][0] == "a"


SCENARIO = {
    "duration_ns": 10_000_000_000,
    "links": [{"name": "up"}, {"name": "down"}],
    "probes": {"queues": [1], "segments_at": None, "cwnd": False},
}


def of_records(kind: str, **more: object) -> Figure:
    return figure(kind=kind, x=None, quantity=None, **more)


def not_recorded(name: str) -> tuple[str, str, str]:
    return "link", f"the queue of {name} is not recorded", f'set [probes] queues = ["{name}"]'


@pytest.mark.parametrize(
    ("spec", "probes", "missing"),
    [
        (of_records("queue"), {}, None),
        (of_records("queue", link="down"), {}, None),
        (of_records("queue", link=1), {}, None),
        (of_records("queue", link="up"), {}, not_recorded("up")),
        (of_records("queue", link=0), {}, not_recorded("up")),
        (of_records("queue", link=2), {}, not_recorded("2")),
        (of_records("queue", link="dn"), {}, ("link", 'there is no direction "dn"', 'did you mean "down"?')),
        (of_records("queue", start="10s"), {}, ("start", "the run ends at 10 s", "make `start` earlier")),
        (of_records("queue", start="9.9s"), {}, None),
        (of_records("queue"), {"queues": []}, ("kind", "no queues are recorded", "set [probes] ")),
        (of_records("cwnd"), {}, ("kind", "no cwnd are recorded", "set [probes] ")),
        (of_records("cwnd"), {"cwnd": True}, None),
        (of_records("time-sequence"), {}, ("kind", "no segments are recorded", "set [probes] ")),
        (of_records("time-sequence"), {"segments_at": "a"}, None),
    ],
)  # fmt: skip
def test_a_figure_of_records_needs_the_probes_that_record_them(
    spec: Figure, probes: dict[str, object], missing: tuple[str, str, str] | None
) -> None:
    scenario = SCENARIO | {"probes": cast(dict[str, object], SCENARIO["probes"]) | probes}
    found = judge._missing_record(spec, scenario)
    if missing is None:
        assert found is None
    else:
        assert found is not None and found[:2] == missing[:2] and found[2].startswith(missing[2])


@pytest.mark.parametrize(
    ("replicates", "words"),
    [
        ([1], "1 cell, 1 run of 2.5 s"),
        ([5], "1 cell, 5 runs of 2.5 s"),
        ([1, 1], "2 cells, 1 run each of 2.5 s"),
        ([0], "1 cell, 0 runs of 2.5 s"),
        ([3, 5, 4], "3 cells, 3 to 5 runs each of 2.5 s"),
    ],
)
def test_the_runs_of_a_study_in_words(replicates: list[int], words: str) -> None:
    content = {
        "cells": [{"replicates": n} for n in replicates],
        "scenario": {"duration_ns": 2_500_000_000},
        **{"set": {}, "study": "x", "seed": 1, "backend": "", "congestion_controls": []},
    }
    made = describe_run(content)
    assert made[0] == words and ("95 % intervals" in made) is (max(replicates) > 1)
    assert _span([4, 4]) == "4" and _span([2, 9, 3]) == "2 to 9"


def test_an_adjusted_mean_says_as_how_many_runs_its_interval_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    quantity = Quantity.model_validate(
        {"name": "q", "unit": "s", "metric": "completion_time", "within": "mean", "adjust_for": ["a_b", "c"]}
    )
    other = SimpleNamespace(title="", name="a_b")
    by_name = cast(Any, {"a_b": other, "c": SimpleNamespace(title="the C")})
    rng = np.random.default_rng(1)
    control = rng.normal(size=12)
    values = 5.0 + control + 0.1 * rng.normal(size=12)
    sample = synthetic.sample(values, controls=(control,))
    plain = synthetic.sample(values)
    widths = plain.estimate().half_width, sample.estimate().half_width
    assert widths[1] < widths[0] / 3
    fixed = synthetic.sample(np.ones(12), controls=(control,))
    samples = {"one": sample, "two": sample, "three": plain, "four": fixed}
    results = SimpleNamespace(
        cells=[SimpleNamespace(id=name) for name in samples], sample=lambda cell, _: samples[cell]
    )
    ratio = (widths[0] / widths[1]) ** 2
    assert _adjustment(quantity, by_name, cast(Any, results)) == (
        f"Adjusted for a b and the C, which gives intervals as of {ratio:.1f} times as many runs "
        "(median of 2 cells)"
    )
    results.cells = results.cells[2:]
    assert _adjustment(quantity, by_name, cast(Any, results)) == ""
