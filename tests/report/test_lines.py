"""The vertical axis of a line figure, and the names at the ends of its lines."""

from __future__ import annotations

from typing import Any

import pytest

from cwndlab.report.lines import APART, REACH, Vertical, _round_step, move_apart
from cwndlab.study.outputs import Figure


def vertical(*rows: tuple[float, float, float], **keys: Any) -> Vertical:
    """The axis of points with their intervals: (y, low, high)."""
    spec = Figure.model_validate(
        {"id": "f", "title": "F", "kind": "line", "x": "iw", "quantity": "q", **keys}
    )
    return Vertical.from_rows([{"y": y, "low": low, "high": high} for y, low, high in rows], spec)


@pytest.mark.parametrize(
    ("step", "rounded"),
    [
        (1, 1),
        (1.01, 2),
        (2, 2),
        (2.1, 2.5),
        (2.6, 5),
        (5.1, 10),
        (0.03, 0.05),
        (700, 1000),
        (0.2, 0.2),
        (10, 10),
    ],
)
def test_a_step_is_rounded_up_to_1_2_25_or_5(step: float, rounded: float) -> None:
    assert _round_step(step) == pytest.approx(rounded)


@pytest.mark.parametrize(
    ("rows", "ticks"),
    [
        ([(4, 3, 5), (8, 7, 9)], [0, 2, 4, 6, 8, 10]),
        ([(10, 10, 10)], [0, 2, 4, 6, 8, 10]),  # the last tick may be the highest value
        ([(-4, -5, -3), (4, 3, 5)], [-6, -4, -2, 0, 2, 4, 6]),
        ([(-8, -9, -7)], [-10, -8, -6, -4, -2, 0]),
        ([(0, 0, 0)], [0, 0.2, 0.4, 0.6, 0.8, 1]),
        ([], [0, 0.2, 0.4, 0.6, 0.8, 1]),
    ],
)
def test_an_axis_has_round_ticks_from_0_to_beyond_the_data(
    rows: list[tuple[float, float, float]], ticks: list[float]
) -> None:
    axis = vertical(*rows)
    assert list(axis.ticks) == pytest.approx(ticks)
    assert (axis.low, axis.high) == pytest.approx((ticks[0], ticks[-1]))
    assert axis.clip == {} and axis.scale["domain"] == [axis.low, axis.high]


def test_an_axis_whose_data_reach_little_below_0_begins_at_the_data() -> None:
    axis = vertical((5, -0.5, 9))
    assert (axis.low, axis.ticks[0], axis.ticks[-1]) == (-0.5, 0, 10)
    assert vertical((5, -3, 9)).ticks[0] == -5


def test_a_ratio_needs_no_0_and_a_constant_one_has_room_on_both_sides() -> None:
    ratio = vertical((1.2, 1.1, 1.3), (1.4, 1.35, 1.45), compare="ratio(iw=1)")
    assert ratio.low == pytest.approx(1.1) and ratio.high == pytest.approx(1.5)
    flat = vertical((3, 3, 3), compare="ratio(iw=1)")
    assert (flat.low, flat.high) == (2, 4)
    assert vertical((0.9, 0.8, 1.0), compare="difference(iw=1)").low == 0


def test_one_wide_interval_is_cut_off() -> None:
    top = 2.0
    narrow, wide = vertical((top, 1, REACH * top)), vertical((top, 1, REACH * top * 1.01))
    assert narrow.clip == {} and wide.clip == {"clip": True}
    assert wide.high == narrow.high >= REACH * top


@pytest.mark.parametrize(
    ("highest", "written"), [(9, ",.0f"), (0.9, ",.1f"), (10.1, ",.1f"), (0.09, ",.2f"), (9000, ",.0f")]
)
def test_ticks_have_the_decimals_of_their_step(highest: float, written: str) -> None:
    assert vertical((highest, highest, highest)).axis["format"] == written


def test_a_logarithmic_axis_reaches_from_the_lowest_to_the_highest() -> None:
    axis = vertical((2, 1, 4), (50, 40, 100), log_y=True)
    assert (axis.low, axis.high, axis.axis) == (1, 100, {})
    assert [axis._pixel(value, 200) for value in (1, 10, 100)] == pytest.approx([200, 100, 0])
    assert (vertical((3, 3, 3), log_y=True).low, vertical((3, 3, 3), log_y=True).high) == (3, 6)


def test_names_are_moved_apart_and_stay_inside_the_panel() -> None:
    assert move_apart([10.0, 10.0 + APART, 90.0], 100.0) == [10.0, 10.0 + APART, 90.0]
    assert move_apart([10.0, 11.0, 12.0], 100.0) == [10.0, 10.0 + APART, 10.0 + 2 * APART]
    assert move_apart([95.0, 96.0, 99.0], 100.0) == [100.0 - 2 * APART, 100.0 - APART, 100.0]
    assert move_apart([50.0, 120.0], 100.0) == [50.0, 100.0] and move_apart([], 100.0) == []


def test_a_name_is_at_the_last_point_of_its_line() -> None:
    axis = vertical((10, 10, 10))
    rows = [{"series": name, "y": y} for name, y in (("a", 2.0), ("b", 10.0), ("a", 5.0), ("c", 0.0))]
    ends = axis.ends(rows, {"a": "A", "b": "B", "missing": "M"}, 200)
    assert [(end["series"], end["label"]) for end in ends] == [("b", "B"), ("a", "A")]
    assert [end["at"] for end in ends] == pytest.approx([0.0, 100.0])
