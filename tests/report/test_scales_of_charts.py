"""Scales of charts at their limits: ticks, their labels, and the bands of names."""

from __future__ import annotations

import pytest

from cwndlab.report.drawing.scales import (
    BAR_GAP,
    GROUP_GAP,
    Band,
    Numbers,
    domain_scale,
    format_number,
    point_scale,
)


@pytest.mark.parametrize(
    ("count", "high", "labelled"),
    [
        # With n ticks, those up to 10 · count / n times a power of ten have a label.
        (1, 100.0, [1, 10, 100]),
        (5, 100.0, [1, 2, 10, 20, 100]),
        (7, 100.0, [1, 2, 3, 10, 20, 30, 100]),
        (10, 10.0, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (8, 10.0, [1, 2, 3, 4, 5, 6, 7, 8, 10]),
    ],
)
def test_of_many_logarithmic_ticks_those_with_small_first_digits_have_labels(
    count: int, high: float, labelled: list[int]
) -> None:
    scale = Numbers(1.0, high, 0, 1, True)
    ticks = [float(k * 10**p) for p in range(3) for k in range(1, 10) if k * 10**p <= high]
    assert [text for text in scale.labels(ticks, count) if text] == [str(value) for value in labelled]


def test_a_logarithmic_scale_with_one_tick_labels_it() -> None:
    scale = Numbers(6.0, 8.0, 0, 1, True)
    assert scale.labels([7.0], 1) == ["7"] and scale.labels([], 1) == []
    # 9.6 is nearer to 10 than to 9, so that it counts as 10 does.
    assert scale.labels([9.6, 9.4, 0.94, 500.0], 2) == ["9.6", "", "", "500"]


@pytest.mark.parametrize(
    ("ticks", "labels"),
    [
        ([3.0], ["3"]),
        ([10.0, 10.5], ["10.0", "10.5"]),
        ([0.25, 0.5, 0.75], ["0.2", "0.5", "0.8"]),
        ([1.0, 1.01], ["1.00", "1.01"]),
        ([-2000.0, 0.0], ["−2,000", "0"]),
    ],
)
def test_labels_have_the_decimals_of_the_distance_of_ticks(ticks: list[float], labels: list[str]) -> None:
    assert Numbers(0, 1, 0, 1).labels(ticks, 5) == labels


def test_tenths_on_a_logarithmic_axis_are_written_exactly() -> None:
    assert Numbers(0.1, 1.0, 0, 1, True).ticks(5) == [k / 10 for k in range(1, 11)]
    assert Numbers(0.002, 0.011, 0, 1, True).ticks(5) == [*(k / 1000 for k in range(2, 10)), 0.01]
    assert Numbers(1.0, 1000.0, 0, 1, True).ticks(5)[-1] == 1000.0
    # From as many powers of ten as ticks are asked for, only these; every second one of twice as many.
    assert Numbers(1.0, 1e5, 0, 1, True).ticks(5) == [1, 10, 100, 1e3, 1e4, 1e5]
    assert Numbers(0.5, 1e9, 0, 1, True).ticks(4) == [1, 100, 1e4, 1e6, 1e8]


def test_values_that_all_are_one_number_still_have_a_scale() -> None:
    assert domain_scale([5.0], {"zero": False, "nice": False}, span=(0, 1))[:2] == (5.0, 5.0)
    assert domain_scale([0.0], {}, span=(0, 1))[:2] == (0.0, 0.0)
    assert domain_scale([7.0], {"type": "log"}, span=(0, 1))[:2] == (7.0, 70.0)


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (0.0, 97.0, (0.0, 100.0)),
        (0.3, 101.0, (0.0, 110.0)),
        (-0.1, 10.1, (-1.0, 11.0)),
        (3.0, 3.4, (3.0, 3.4)),
        # Rounding out to steps of 1 makes the step 2, to which the ends are rounded once more.
        (0.9, 14.1, (0.0, 16.0)),
    ],
)
def test_ends_are_rounded_until_the_step_stays_the_same(
    low: float, high: float, ends: tuple[float, float]
) -> None:
    assert domain_scale([low, high], {"zero": False}, span=(0, 1))[:2] == pytest.approx(ends)


def test_a_scale_of_no_names_has_a_step() -> None:
    assert point_scale([], 0, 100).step == 100
    assert Band([], 20, 100, 0.5, 0.25).step == 80
    assert (BAR_GAP, GROUP_GAP) == (0.1, 0.2)


def test_numbers_are_written_by_their_pattern() -> None:
    assert format_number(1234567.891, "~g") == "1234567.891" and format_number(0.1 + 0.2, "~g") == "0.3"
    assert format_number(1234.5, ",.2f") == "1,234.50" and format_number(-7.0, "d") == "-7"
