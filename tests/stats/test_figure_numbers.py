"""The numbers of figures: points, distributions and what a restricted run shows instead."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import synthetic
from cwndlab.base.errors import StudyError
from cwndlab.stats import series
from cwndlab.stats.results import Results
from cwndlab.study.labels import AxisInfo
from cwndlab.study.outputs import Figure

NAN = math.nan


def results(**more: Any) -> Results:
    cells = synthetic.grid(iw=[1, 2], cc=["reno", "cubic"])
    data: dict[tuple[str, str], list[Any]] = {}
    for at, cell in enumerate(cells):
        data[cell.id, "delay"] = [at + 1.0] * 7
        data[cell.id, "other"] = [10.0 * (at + 1)] * 7
        data[cell.id, "each"] = [[at + 1.0, at + 2.0], [at + 1.0]]
    units = {"delay": "s", "other": "s", "each": "s"}
    titles = {"delay": "bulk, delay", "other": "bulk, other delay"}
    axes = {"iw": AxisInfo("window", "packets"), "cc": AxisInfo()}
    found = {"titles": titles, "axes": axes, **more}
    return synthetic.make_results(cells, units, data, **found)


def figure(**keys: Any) -> Figure:
    return Figure.model_validate({"id": "f", "title": "F", "kind": "line", "x": "iw", **keys})


def shown(found: list[series.Point]) -> list[tuple[object, str, object, float]]:
    return [(one.panel, one.series, one.x, one.interval.value) for one in found]


def test_a_line_has_a_point_for_each_cell() -> None:
    spec = figure(quantity="delay", series=["cc"])
    assert shown(series.points(spec, results())) == [
        (None, "reno", 1, 1.0), (None, "cubic", 1, 2.0), (None, "reno", 2, 3.0), (None, "cubic", 2, 4.0),
    ]  # fmt: skip
    spec = figure(quantity="delay", panels="cc", where={"iw": 2})
    assert shown(series.points(spec, results())) == [("reno", "", 2, 3.0), ("cubic", "", 2, 4.0)]
    assert series.panel_title(spec, results(), "reno") == "cc: reno"
    assert (
        series.panel_title(spec, results(), None)
        == series.panel_title(figure(quantity="delay"), results(), "reno")
        == ""
    )


def test_a_number_in_a_legend_says_what_it_is_of() -> None:
    spec = figure(quantity="delay", x="cc", series=["iw"])
    assert [one.series for one in series.points(spec, results())] == [
        "window: 1 packet", "window: 1 packet", "window: 2 packets", "window: 2 packets",
    ]  # fmt: skip


def test_several_quantities_are_told_apart_by_what_their_titles_do_not_share() -> None:
    spec = figure(quantities=["delay", "other"], where={"cc": "reno"})
    assert shown(series.points(spec, results())) == [
        (None, "delay", 1, 1.0),
        (None, "delay", 2, 3.0),
        (None, "other delay", 1, 10.0),
        (None, "other delay", 2, 30.0),
    ]
    assert series.labels(["delay", "each"], results()) == ["bulk, delay", "each"]
    spec = figure(quantities=["delay", "other"], series=["cc"], where={"iw": 1})
    assert [one.series for one in series.points(spec, results())] == [
        "delay, reno", "delay, cubic", "other delay, reno", "other delay, cubic",
    ]  # fmt: skip


def test_a_comparison_is_drawn_in_its_unit() -> None:
    spec = figure(quantity="delay", series=["cc"], compare="decrease(iw=2)")
    found = {(one.series, one.x): one.interval.value for one in series.points(spec, results())}
    assert found["reno", 1] == pytest.approx(100 * (1 - 1 / 3)) and found["cubic", 1] == pytest.approx(50.0)
    assert found["reno", 2] == 0.0
    assert series.axis_unit(spec, results()) == "%"
    assert series.axis_unit(figure(quantity="delay"), results()) == "s"
    assert series.axis_unit(figure(kind="time-sequence"), results()) == ""


def test_a_list_has_a_point_for_each_position_that_was_measured() -> None:
    spec = figure(quantity="each", x="index", where={"iw": 1, "cc": "reno"})
    assert [(one.x, one.interval.value, one.interval.n) for one in series.points(spec, results())] == [
        (1, 1.0, 2),
        (2, 2.0, 1),
    ]
    compared = spec.model_copy(
        update={"compare": figure(quantity="each", compare="difference(iw=2)").compare}
    )
    found = [(one.x, one.interval.value) for one in series.points(compared, results())]
    assert found == [(1, -2.0), (2, -2.0)]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"quantity": "each"}, "'each' is a list"),
        ({"quantity": "delay", "x": "index"}, "'delay' is one number per run, no list"),
        ({"quantity": "delay", "x": "iww"}, "no axis 'iww'"),
        ({"quantity": "delay"}, "cells iw=1,cc=reno and iw=1,cc=cubic fall on the same point"),
        ({"quantity": "delay", "series": ["ccc"]}, "no axis 'ccc'"),
        ({"quantity": "delai", "series": ["cc"]}, "no quantity 'delai'"),
        ({"quantity": "delay", "where": {"iw": 5}}, "axis 'iw' has no value 5"),
    ],
)
def test_what_is_wrong_with_a_figure_is_named_with_its_key(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(StudyError) as found:
        series.points(figure(**keys), results())
    assert says in str(found.value) and (found.value.key or "").startswith("figures.f")


def test_numbers_that_could_not_be_measured_have_no_point() -> None:
    cells = synthetic.grid(iw=[1, 2])
    data = {(cells[0].id, "a"): [NAN, NAN], (cells[1].id, "a"): [1.0, NAN]}
    found = series.points(figure(quantity="a"), synthetic.make_results(cells, {"a": "s"}, data))
    assert shown(found) == [(None, "", 2, 1.0)]


def curve(*runs: list[float]) -> list[series.Curve]:
    (cell,) = synthetic.grid(iw=[1])
    made = synthetic.make_results((cell,), {"a": "s"}, {(cell.id, "a"): list(runs)})
    return series.curves(figure(kind="cdf", x=None, quantity="a", series=["iw"]), made)


def test_a_distribution_pools_what_was_measured_of_all_runs() -> None:
    [found] = curve([3.0, 1.0], [NAN, 2.0, 4.0], [math.inf])
    assert (found.value.tolist(), found.share.tolist()) == ([1.0, 2.0, 3.0, 4.0], [0.25, 0.5, 0.75, 1.0])
    assert found.panel is None and curve([NAN]) == [] and curve([]) == []


def test_a_long_distribution_is_drawn_by_400_quantiles_from_its_first_to_its_last_value() -> None:
    [all_of_them] = curve(list(range(400)))
    assert len(all_of_them.value) == 400
    [found] = curve(list(range(4001)))
    assert len(found.value) == 400 == len(found.share)
    assert (found.value[0], found.value[-1], found.share[0], found.share[-1]) == (0, 4000, 1 / 4001, 1.0)
    assert found.share == pytest.approx((found.value + 1) / 4001) and np.all(np.diff(found.value) >= 10)


def test_a_figure_of_cells_that_were_not_run_shows_the_first_that_was() -> None:
    spec, instead = series.restrict_to_run_cells(
        figure(quantity="delay", where={"iw": 4, "cc": ["x", "cubic"]}), results()
    )
    assert (spec.where, instead) == ({"iw": 1, "cc": ["cubic"]}, "window: 1 packet")
    same, nothing = series.restrict_to_run_cells(
        figure(quantity="delay", where={"iw": 2, "none": 3}), results()
    )
    assert (same.where, nothing) == ({"iw": 2, "none": 3}, "")
    with pytest.raises(StudyError, match="it compares with window: 1 packet, and no other was run") as found:
        series.restrict_to_run_cells(
            figure(quantity="delay", where={"iw": 4}, compare="ratio(iw=1)"), results()
        )
    assert found.value.key == "figures.f"


def test_an_ellipse_of_a_list_is_rejected() -> None:
    with pytest.raises(StudyError, match="'each' is a list; reduce it to one number per run with `within`"):
        series.ellipses(figure(kind="ellipse", x="delay", quantity="each"), results())


def test_several_quantities_have_a_panel_each() -> None:
    spec = figure(quantities=["delay", "other"], series=["cc"], panels="quantity", where={"iw": 2})
    assert shown(series.points(spec, results())) == [
        ("delay", "reno", 2, 3.0), ("delay", "cubic", 2, 4.0),
        ("other delay", "reno", 2, 30.0), ("other delay", "cubic", 2, 40.0),
    ]  # fmt: skip
    assert series.panel_title(spec, results(), "other delay") == "other delay"
    with pytest.raises(ValueError, match='panels = "quantity" needs `quantities`'):
        figure(quantity="delay", panels="quantity")
