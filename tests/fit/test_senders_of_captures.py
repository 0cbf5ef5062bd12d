"""What a sender does, from packets by hand: its window, what reductions leave, and its law."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.fit import sender_estimates
from cwndlab.apps.fit.sender_estimates import estimate_sender
from made_packets import deliveries


def reductions(*after: int, lasts_s: float = 0.05, before: int = 20) -> Deliveries:
    """An episode each second: a flight, its first segment lost and sent again, and so many segments sent
    before all of the flight is acknowledged.
    """
    sent, acks, number = [], [], 0
    for second, left in enumerate(after):
        flight = range(number, number + before)
        sent += [(second + 1e-3 * k, one) for k, one in enumerate(flight)]
        sent += [(second + 0.1, number), (second + 0.11, number)]  # the second time in the same episode
        sent += [(second + 0.111 + 1e-4 * k, number + before + k) for k in range(left)]
        acks += [(second + 0.1 + lasts_s, number + before), (second + 0.3, number + before + left)]
        number += before + left
    return deliveries(sent, acks)


def test_an_episode_leaves_the_share_of_the_flight_at_its_end() -> None:
    assert sender_estimates._reductions(reductions(14, 10), 0.04).tolist() == [0.7, 0.5]
    assert sender_estimates._reductions(reductions(), 0.04).tolist() == []


@pytest.mark.parametrize(("before", "measured"), [(10, 1), (9, 0)])
def test_a_flight_of_fewer_than_ten_segments_is_too_small_to_be_measured(before: int, measured: int) -> None:
    assert len(sender_estimates._reductions(reductions(5, before=before), 0.04)) == measured


@pytest.mark.parametrize(
    ("lasts_s", "base_s", "measured"),
    [(0.079, 0.02, 1), (0.081, 0.02, 0), (0.022, 0.0, 1), (0.024, 0.0, 0)],
)
def test_an_episode_that_lasts_three_round_trips_and_a_millisecond_per_segment_is_none(
    lasts_s: float, base_s: float, measured: int
) -> None:
    """A base round trip counts for at least 1 ms."""
    assert len(sender_estimates._reductions(reductions(10, lasts_s=lasts_s), base_s)) == measured


def test_an_episode_whose_end_is_not_acknowledged_is_none() -> None:
    sent = [(1e-3 * k, k) for k in range(20)] + [(0.1, 0)]
    assert sender_estimates._reductions(deliveries(sent, [(0.15, 19)]), 0.04).tolist() == []
    assert sender_estimates._reductions(deliveries(sent, [(0.15, 20)]), 0.04).tolist() == [0.0]


def test_what_was_sent_and_not_acknowledged_is_in_flight() -> None:
    of = deliveries([(0.0, 0), (0.1, 1), (0.2, 2), (0.3, 3)], [(0.15, 1), (0.25, 2)])
    times = np.array([0.0, 0.05, 0.1, 0.15, 0.2, 0.26, 0.3])
    assert sender_estimates._flight(of, times).tolist() == [1, 1, 2, 1, 2, 1, 2]


def test_a_sender_is_described_by_its_medians_and_the_segments_before_the_first_acknowledgment() -> None:
    found = estimate_sender(reductions(14, 14, 10), 8e6, 0.04)
    assert (found.mss, found.initial_window, found.left, found.reductions) == (1000, 34, 0.7, 3)
    assert (found.paced, found.law) == (True, "")
    acks = [(0.1, 2), (0.2, 4), (0.3, 5)]
    ratio = estimate_sender(deliveries([(1e-3 * k, k) for k in range(5)], acks), 8e6, 0.04)
    assert (ratio.ack_ratio, ratio.initial_window, ratio.reductions) == (2, 5, 0)
    assert math.isnan(ratio.left)
    none = estimate_sender(deliveries([(0.0, 0)], []), 8e6, 0.04)
    assert math.isnan(none.ack_ratio) and none.initial_window == 1 and none.paced is None


@pytest.mark.parametrize(
    ("left", "law"),
    [
        ([0.5, 0.5], "reno"),
        ([0.431, 0.431], "reno"),
        ([0.429, 0.429], ""),
        ([0.569, 0.569], "reno"),
        ([0.571, 0.571], ""),
        ([0.6, 0.6], ""),
        ([0.629, 0.629], ""),
        ([0.631, 0.631], "cubic"),
        ([0.769, 0.769], "cubic"),
        ([0.771, 0.771], ""),
        ([0.2, 0.7, 0.9], "cubic"),
        ([0.5], ""),
        ([], ""),
    ],
)
def test_a_law_is_known_by_what_at_least_two_reductions_leave(left: list[float], law: str) -> None:
    found, why = sender_estimates._law(reductions(14), False, np.array(left), 0.04)
    assert found == law
    if len(left) < 2:
        assert why == f"{len(left)} reductions of the flight were measured; 2 are needed"
    elif not law:
        assert why == f"losses leave {left[0]:.2f} of the flight, neither Reno's half nor CUBIC's 0.7"
    else:
        assert why == ""


def probing(low: int, low_s: float, flight: int = 20) -> Deliveries:
    """A segment each 5 ms, of which `flight` are under way, and for a while only `low`."""
    step, early = 0.005, 1e-3
    sent = [(step * k, k) for k in range(200)]
    # One segment more is under way at the start, so that slow start ends there.
    acks = [(step * (k + flight) + (early if k < 20 else -early), k + 1) for k in range(200 - low)]
    pause = acks[-1][0] + low_s  # no more is sent until then
    acks += [(pause + step * k, 200 - low + k + 1) for k in range(low)]
    sent += [(pause + step * k, 200 + k) for k in range(200)]
    acks += [(pause + step * (k + flight) - early, 201 + k) for k in range(200)]
    return deliveries(sent, acks)


@pytest.mark.parametrize(
    ("of", "law"),
    [
        (probing(4, 0.2), "bbr1"),
        (probing(5, 0.2), "bbr1"),
        (probing(6, 0.2), ""),
        (probing(4, 0.05), ""),  # five looks, 20 ms apart, have to see it
        (probing(4, 0.2, flight=10), ""),
        (probing(4, 0.2, flight=11), "bbr1"),
        (deliveries([(0.0, 0), (0.01, 1)], [(0.05, 2)]), ""),
    ],
)
def test_a_sender_that_paces_is_bbr_if_its_flight_falls_to_four_segments_for_a_while(
    of: Deliveries, law: str
) -> None:
    found, why = sender_estimates._law(of, True, np.array([]), 0.04)
    assert found == law and bool(why) is not bool(law)


def test_slow_start_and_the_end_of_a_transfer_are_no_probes() -> None:
    times = np.array([0.0, 0.5, 1.0, 1.5, 1.995, 2.0])
    of = deliveries([(0.0, 0), (2.0, 1)], [(2.1, 2)])
    flight = np.array([4.0, 20.0, 30.0, 4.0, 4.0, 4.0])
    found = sender_estimates._under_way(of, times, flight)
    assert found.tolist() == [False, True, True, True, True, False]


def test_nothing_shows_pacing_without_a_rate_or_acknowledgments() -> None:
    sent = [(0.01 * k, k) for k in range(40)]
    of = deliveries(sent, [(time - 0.005, k) for time, k in sent[1:]])
    assert sender_estimates._paced(of, 8e6) is True
    assert sender_estimates._paced(of, math.nan) is None
    assert sender_estimates._paced(deliveries([(0.0, 0)], [(0.1, 1)]), 8e6) is None
    assert sender_estimates._paced(deliveries(sent, []), 8e6) is None


@pytest.mark.parametrize(
    ("after_s", "rate_bps", "paced"),
    [
        (2.9e-5, 1e9, False),  # a host answers within 30 us
        (3.1e-5, 1e9, True),
        (2.0e-3, 8e5, False),  # or a fifth of the time of a packet, 10.4 ms
        (2.2e-3, 8e5, True),
    ],
)
def test_an_answer_comes_within_a_fifth_of_a_packet_time_and_what_a_host_takes(
    after_s: float, rate_bps: float, paced: bool
) -> None:
    sent = [(0.01 * k, k) for k in range(30)]
    of = deliveries(sent, [(time - after_s, k) for time, k in sent[1:]])
    assert sender_estimates._paced(of, rate_bps) is paced
