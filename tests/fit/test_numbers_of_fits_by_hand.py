"""The numbers that a capture and its replays are compared by, and distances between them, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from cwndlab.apps.fit import compared_numbers
from cwndlab.apps.fit.compared_numbers import (
    DELAYED,
    PARTS,
    VARIATION,
    ComparedNumbers,
    Scatter,
    is_among,
    is_far,
)
from cwndlab.apps.fit.drawing import nearest
from cwndlab.apps.fit.fit_result import compare
from made_packets import flow

NUMBERS = ComparedNumbers(4.0, 50.0, 1.0, 5.0, 10.0, (4.0,) * PARTS)


def test_the_numbers_of_five_segments_are_those_by_hand() -> None:
    sent = [(0.0, 0), (0.1, 1), (0.2, 2), (0.3, 1), (0.4, 3)]
    acks = [(0.05, 1), (0.36, 3), (0.47, 4)]  # of a retransmitted segment, no round trip is known
    found = ComparedNumbers.of_packets(flow(sent, acks, seconds=0.8))
    assert found.throughput_mbps == pytest.approx(4 * 8000 / 0.8 / 1e6)
    assert found.round_trip_ms == pytest.approx((50 + 70) / 2)
    assert found.retransmitted_percent == pytest.approx(20)
    assert math.isnan(found.variation_percent) and math.isnan(found.delayed_percent)
    # In parts of 0.1 s: one segment in the first, two in the fourth, and one in the fifth.
    assert found.parts == pytest.approx([0.08, 0, 0, 0.16, 0.08, 0, 0, 0])
    assert dict(found.items()) == {
        "throughput (Mbit/s)": found.throughput_mbps,
        "round trip, mean (ms)": found.round_trip_ms,
        "segments retransmitted (%)": found.retransmitted_percent,
        VARIATION: pytest.approx(math.nan, nan_ok=True),
        DELAYED: pytest.approx(math.nan, nan_ok=True),
    }


def test_a_flow_without_packets_has_no_round_trip_and_no_throughput() -> None:
    found = ComparedNumbers.of_packets(flow([], []))
    assert math.isnan(found.throughput_mbps) and math.isnan(found.round_trip_ms)
    assert found.retransmitted_percent == 0.0 and found.parts == (0.0,) * PARTS
    silent = ComparedNumbers.of_packets(flow([(0.0, 0), (1.0, 1)], []))
    assert silent.throughput_mbps == 0.0 and silent.parts == (0.0,) * PARTS
    assert ComparedNumbers.of_packets(flow([(0.0, 0)], [(0.0, 1)])).parts == (0.0,) * PARTS


@pytest.mark.parametrize(("handshake_s", "known"), [(0.03, True), (math.nan, False), (0.2, False)])
def test_queued_pairs_are_those_sent_a_base_round_trip_ahead_of_the_acknowledgment_before(
    handshake_s: float, known: bool
) -> None:
    """Round trips take 0.1 s. A segment is sent each 10 ms, so it queued if the base is below 0.09 s."""
    sent = [(0.01 * k, k) for k in range(60)]
    acks = [(0.1 + 0.01 * k, k + 1) for k in range(60)]
    found = ComparedNumbers.of_packets(flow(sent, acks, handshake_s=handshake_s))
    assert math.isnan(found.delayed_percent) is not known


def test_a_link_that_slows_down_delays_pairs_and_varies() -> None:
    """It has 100 segments per second until 1.5 s, and 80 afterwards; a round trip takes 0.1 s."""
    arrivals = [0.1 + 0.01 * k for k in range(140)] + [1.5 + 0.0125 * k for k in range(120)]
    sent = [(time - 0.1, k) for k, time in enumerate(arrivals)]
    acks = [(time, k + 1) for k, time in enumerate(arrivals)]
    found = ComparedNumbers.of_packets(flow(sent, acks, handshake_s=0.02))
    assert found.delayed_percent == pytest.approx(100 * 119 / 259)
    assert found.variation_percent == pytest.approx(100 * math.log(1.25) / 2, abs=0.3)


def test_the_numbers_of_a_vector_are_on_scales_of_their_own() -> None:
    numbers = replace(NUMBERS, parts=(1.0, 0.0, *(2.0,) * 6), round_trip_ms=100.0, retransmitted_percent=9.0)
    found = numbers.vector().tolist()
    assert found[:3] == pytest.approx([0.0, math.log(1e-3) / 2, math.log(2) / 2])
    assert found[PARTS:] == pytest.approx([math.log(100), 3.0, 5.0, 10.0])
    assert replace(NUMBERS, round_trip_ms=0.0).vector()[PARTS] == pytest.approx(math.log(1e-3))


@pytest.mark.parametrize(
    ("name", "value", "low", "high", "far"),
    [
        ("throughput (Mbit/s)", 1.5, 2.0, 3.0, False),  # half of the range from the end
        ("throughput (Mbit/s)", 1.49, 2.0, 3.0, True),
        ("throughput (Mbit/s)", 3.5, 2.0, 3.0, False),
        ("throughput (Mbit/s)", 3.51, 2.0, 3.0, True),
        ("throughput (Mbit/s)", 2.5, 2.0, 3.0, False),
        ("throughput (Mbit/s)", 100.0, 99.0, 99.0, False),  # 1 % is not much
        ("throughput (Mbit/s)", 100.0, 98.99, 98.99, True),
        ("throughput (Mbit/s)", -100.0, -99.0, -99.0, False),
        (VARIATION, 7.0, 5.0, 5.0, False),
        (VARIATION, 7.1, 5.0, 5.0, True),
        (DELAYED, 2.0, 5.0, 5.0, False),
        (DELAYED, 1.9, 5.0, 5.0, True),
    ],
)
def test_a_number_is_far_beyond_half_the_range_the_noise_and_one_percent(
    name: str, value: float, low: float, high: float, far: bool
) -> None:
    assert is_far(name, value, low, high) is far


def with_round_trips(*values: float) -> list[ComparedNumbers]:
    return [replace(NUMBERS, round_trip_ms=value) for value in values]


@pytest.mark.parametrize(
    ("capture", "replays", "among"),
    [
        (50.0, (49.0, 51.0), True),
        (60.0, (49.0, 51.0), False),
        (40.0, (49.0, 51.0), False),
        (math.nan, (49.0, 51.0), True),
        (60.0, (49.0, math.nan, 51.0, math.nan), False),  # half of the replays know it
        (60.0, (49.0, math.nan, math.nan), True),  # fewer do
    ],
)
def test_only_numbers_that_both_know_are_compared(
    capture: float, replays: tuple[float, ...], among: bool
) -> None:
    own = replace(NUMBERS, round_trip_ms=capture)
    others = with_round_trips(*replays)
    assert is_among(own, others) is among
    known = sorted(value for value in replays if not math.isnan(value))
    expected = [] if math.isnan(capture) or len(known) < len(replays) / 2 else [capture, known[0], known[-1]]
    found = {one.name: one for one in compare(own, others)}
    assert len(found) == 4 + bool(expected)
    if expected:
        one = found["round trip, mean (ms)"]
        assert [one.capture, one.low, one.high] == expected
    assert not is_among(replace(own, delayed_percent=90.0), others)


def test_a_comparison_has_the_least_the_middle_and_the_largest_replay() -> None:
    one = compare(NUMBERS, with_round_trips(7.0, 1.0, 5.0, math.nan, 2.0, 9.0))[1]
    assert (one.low, one.median, one.high) == (1.0, 5.0, 9.0)
    assert [one.inside, one.far] == [False, True]
    ends = [one.model_copy(update={"capture": value}) for value in (0.99, 1.0, 9.0, 9.01, 13.0, 13.01)]
    assert [end.inside for end in ends] == [False, True, True, False, False, False]
    assert [end.far for end in ends] == [False, False, False, False, False, True]


def test_the_unit_of_a_distance_is_the_scatter_of_replays_but_at_least_what_clocks_and_capturing_add() -> (
    None
):
    still = Scatter.of_replays([NUMBERS, NUMBERS])
    assert still.unit.tolist() == [0.02] * PARTS + [0.02, 0.05, 0.5, 0.5]
    moved = Scatter.of_replays([NUMBERS, replace(NUMBERS, variation_percent=9.0, delayed_percent=math.nan)])
    assert moved.unit.tolist()[-2:] == [2.0, 0.5]


def test_a_distance_is_the_mean_over_the_five_nearest_replays() -> None:
    """Of twelve numbers one differs, by units of 2: their number over the root of 12."""
    scatter = Scatter.of_replays([NUMBERS, replace(NUMBERS, variation_percent=9.0)])
    replays = [replace(NUMBERS, variation_percent=5.0 + 2 * units) for units in (9, 1, 2, 3, 4, 5, 100)]
    assert scatter.distance(NUMBERS, replays) == pytest.approx(3 / math.sqrt(PARTS + 4))
    unknown = [replace(NUMBERS, variation_percent=math.nan)]  # counts as one unit
    assert scatter.distance(NUMBERS, unknown) == pytest.approx(1 / math.sqrt(PARTS + 4))


def test_the_usual_distance_is_the_largest_of_a_replay_from_the_others() -> None:
    replays = [replace(NUMBERS, variation_percent=value) for value in (1.0, 2.0, 9.0)]
    unit = np.std([1.0, 2.0, 9.0])
    assert Scatter.of_replays(replays).usual == pytest.approx((8 + 7) / 2 / unit / math.sqrt(PARTS + 4))


def test_the_nearest_replays_come_first_and_the_first_of_equal_ones() -> None:
    values = [(50.0, 5.0), (90.0, 5.0), (50.0, 7.0), (50.0, 5.0), (50.0, math.nan)]
    replays = [replace(NUMBERS, round_trip_ms=trip, variation_percent=other) for trip, other in values]
    # The spreads are 0.235 of the logarithm, and 0.87: from the capture, 0.588 / 0.235, 2 / 0.87, and one.
    assert nearest(NUMBERS, replays, 5) == [0, 3, 4, 2, 1]
    assert nearest(NUMBERS, replays, 2) == [0, 3]


def pairs(*rates: float, gap: float = 0.001, start: float = 0.0) -> list[np.ndarray]:
    """Samples of a bottleneck with these rates in bytes per gap, one after another."""
    times = start + gap * np.arange(1, len(rates) + 1)
    return [np.array(rates), np.full(len(rates), gap), times]


def test_pairs_three_percent_slower_than_the_bottleneck_were_delayed() -> None:
    slower = [1000 * math.exp(-part) for part in (0.029, 0.031)]
    found = compared_numbers._delayed(*pairs(*[1000.0] * 38, *slower))
    assert found == pytest.approx(1 / 40)
    assert math.isnan(compared_numbers._delayed(*pairs(*[1000.0] * 29)))
    assert compared_numbers._delayed(*pairs(*[1000.0] * 30)) == 0.0


@pytest.mark.parametrize(
    ("each", "halves", "known"), [(10, 4, True), (10, 6, True), (9, 4, False), (10, 3, False)]
)
def test_the_variation_needs_four_half_seconds_of_ten_pairs(each: int, halves: int, known: bool) -> None:
    samples = [pairs(*[1000.0 * (1 + k % 2)] * each, gap=0.04, start=0.5 * k + 0.02) for k in range(halves)]
    found = compared_numbers._variation(*(np.concatenate(part) for part in zip(*samples, strict=True)))
    assert math.isnan(found) is not known
    if known:  # the rates are 1 and 2, so the logarithms are half of log 2 from their mean
        assert found == pytest.approx(math.log(2) / 2, abs=1e-4)
