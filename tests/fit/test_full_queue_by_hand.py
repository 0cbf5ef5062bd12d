"""A full queue behind losses, and the reasons why a path or its buffer is not known, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.fit import full_queue
from cwndlab.apps.fit.full_queue import QueueEstimates, queue_of
from cwndlab.apps.fit.path_estimates import _touches, estimate_path, was_idle
from cwndlab.apps.fit.stated_parameters import StatedParameters
from made_packets import flow

#: Of a packet of 1040 bytes: 1.04 ms.
RATE, BASE, PACKET = 8e6, 0.02, 1.04e-3


def sawtooth(*tops_ms: int) -> Deliveries:
    """Waits that grow by 1 ms with each segment, one every 2 ms; the one after the last is lost."""
    sent: list[tuple[float, int]] = []
    acks: list[tuple[float, int]] = []
    number, start = 0, 0.0
    for top in tops_ms:
        for wait in range(top + 1):
            sent.append((start + 2e-3 * wait, number))
            acks.append((start + 3e-3 * wait + BASE + PACKET, number + 1))
            number += 1
        lost = start + 2e-3 * (top + 1)
        sent += [(lost, number), (lost + 0.2, number)]
        acks.append((lost + 0.25, number + 1))
        number, start = number + 1, lost + 0.3
    return Deliveries(flow(sent, acks))


def test_losses_at_the_longest_waits_show_the_buffer() -> None:
    """It holds what waited for 99 ms, and a packet and a half. Losses are within 6 % of that, 5.94 ms."""
    found = queue_of(sawtooth(99, 99, 99), BASE, RATE)
    assert found.buffer_bytes == pytest.approx(99_000 + 1.5 * 1040)
    assert found.longest_bytes == found.buffer_bytes
    assert (found.episodes, found.full_episodes, found.other_losses) == (3, 3, 0)
    # Waits up to 93 ms; the first segment of the second and third episode is measured by the one before, too.
    assert found.other_segments == 94 + 93 + 93
    assert (found.skew, math.isnan(found.loss_level)) == (0.0, True)


def test_a_loss_at_half_of_the_buffer_is_another_one() -> None:
    found = queue_of(sawtooth(99, 99, 50, 99), BASE, RATE)
    assert (found.episodes, found.full_episodes, found.other_losses) == (4, 3, 1)
    # The lost one itself is among them, and the first of the last episode, before which the wait was 50 ms.
    assert found.other_segments == 94 + 93 + 51 + 94
    assert found.skew == pytest.approx((404 / 666 - 0.5) * math.sqrt(12), abs=0.03)
    assert found.loss_level == pytest.approx(50 / 93)


def test_losses_are_judged_by_a_stated_buffer() -> None:
    found = queue_of(sawtooth(99, 99, 50, 99), BASE, RATE, stated_bytes=51_560)
    assert found.buffer_bytes == 51_560
    assert found.longest_bytes == pytest.approx(99_000), "more than is stated"
    # The full queue makes packets wait for 50 ms; the slack is 4.5 packets.
    assert (found.full_episodes, found.other_losses) == (4, 0)
    least = queue_of(sawtooth(3, 3), BASE, RATE, stated_bytes=1000)
    assert (least.buffer_bytes, least.full_episodes) == (1000, 2)


def test_two_losses_at_different_waits_show_no_buffer() -> None:
    found = queue_of(sawtooth(99, 60), BASE, RATE)
    assert math.isnan(found.buffer_bytes)
    assert found.longest_bytes == pytest.approx(99_000, rel=0.01)
    assert (found.other_losses, found.other_segments) == (2, 163)
    assert (found.episodes, found.full_episodes) == (2, 0)


@pytest.mark.parametrize(("gap_ms", "known"), [(8.23, 1), (8.25, 0)])
def test_what_was_measured_longer_ago_than_six_packets_and_two_milliseconds_is_stale(
    gap_ms: float, known: int
) -> None:
    of = flow([(0.0, 0), (1e-3 * gap_ms, 1), (0.2, 1)], [(BASE + PACKET, 1), (0.3, 2)])
    found = queue_of(Deliveries(of), BASE, RATE, stated_bytes=50_000)
    assert (found.other_losses, found.other_segments) == (known, 1 + known)


@pytest.mark.parametrize(("gap_ms", "episodes"), [(16.6, 1), (16.7, 2)])
def test_losses_up_to_sixteen_packets_apart_are_of_one_episode(gap_ms: float, episodes: int) -> None:
    sent = [(0.0, 0), (0.002, 1), (0.01, 2), (0.01 + 1e-3 * gap_ms, 3), (0.2, 2), (0.2, 3)]
    of = flow(sent, [(BASE + PACKET, 1), (BASE + PACKET + 0.002, 2), (0.3, 4)])
    assert queue_of(Deliveries(of), BASE, RATE).episodes == episodes


def test_without_a_rate_or_round_trips_all_losses_are_others() -> None:
    for found in (queue_of(sawtooth(9), BASE, math.nan), queue_of(Deliveries(flow([], [])), BASE, RATE)):
        assert math.isnan(found.buffer_bytes) and math.isnan(found.longest_bytes)
        assert (found.episodes, found.full_episodes) == (0, 0)
    assert (queue_of(sawtooth(9), BASE, math.nan).other_losses, found.other_segments) == (1, 0)


@pytest.mark.parametrize(
    ("level", "slack"), [(1.0, 2.5), (10.0, 2.5), (12.0, 3.0), (18.0, 4.5), (40.0, 4.5), (100.0, 6.0)]
)
def test_the_slack_is_a_burst_or_six_percent(level: float, slack: float) -> None:
    """In packet times: 2.5, or a quarter of the wait up to 4.5."""
    assert full_queue._slack(level, 1.0) == pytest.approx(slack)


def test_a_segment_met_what_the_last_two_measured_before_it_met_if_that_was_recent() -> None:
    at, waits = np.array([1.0, 2.0, 3.0]), np.array([5.0, 1.0, 2.0])
    sent = np.array([0.5, 1.0, 1.9, 2.0, 3.0, 3.25, 3.26])
    found = full_queue._met(sent, at, waits, 0.25)
    assert found.tolist() == pytest.approx([math.nan, 5.0, math.nan, 5.0, 2.0, 2.0, math.nan], nan_ok=True)


@pytest.mark.parametrize(
    ("before", "ordered", "skew", "level"),
    [
        ([3.0, 3.0], [0.0, 1.0, 2.0, 3.0], 0.375 * math.sqrt(24), 1.0),
        ([0.0], [0.0, 1.0, 2.0, 4.0], -0.375 * math.sqrt(12), 0.0),
        ([1.0, math.nan, 2.0], [0.0, 1.0, 2.0, 4.0], 0.0, 0.375),
        ([0.0], [0.0, 0.0], 0.0, 0.0),
        ([], [1.0], 0.0, math.nan),
        ([math.nan], [1.0], 0.0, math.nan),
        ([1.0], [], 0.0, math.nan),
    ],
)
def test_waits_before_losses_are_ranked_among_all(
    before: list[float], ordered: list[float], skew: float, level: float
) -> None:
    found = full_queue._skew(np.array(before), np.array(ordered))
    assert found == pytest.approx((skew, level), nan_ok=True)


def losses(
    waits: list[float],
    lost: list[int] | None = None,
    sent: list[int] | None = None,
    total: tuple[int, int] = (9, 10_000),
) -> full_queue._Losses:
    ones = [1] * len(waits)
    return full_queue._Losses(np.array(waits), np.array(lost or ones), np.array(sent or ones), total)


#: A hundred waits up to 10, of which nine are over 9.1.
WAITS = 0.1 * np.arange(1, 101)


def test_an_episode_has_the_wait_of_its_first_loss_and_the_segments_between_its_losses() -> None:
    lost = np.array([True, False, True, False, False, True])
    found = full_queue._Losses.of_episodes(lost, np.arange(6) * 1.5, [np.array([0, 2]), np.array([5])])
    assert (found.waits.tolist(), found.total) == ([0.0, 7.5], (3, 6))
    assert (found.lost.tolist(), found.sent.tolist()) == ([2, 1], [3, 1])


@pytest.mark.parametrize(
    ("waits", "chance"),
    [
        ([10.0], 1.0),
        ([10.0, math.nan], 1.0),
        ([10.0, 9.5], 2 * 0.1**2),  # of two, both among the longest tenth
        ([10.0, 9.5, 1.0], 2 * (3 * 0.1**2 * 0.9 + 0.1**3)),
        ([10.0, 9.5, math.nan], 2 * 0.1**2),
    ],
)
def test_several_losses_near_a_wait_are_unlikely_by_the_share_of_waits_that_long(
    waits: list[float], chance: float
) -> None:
    """Waits of 9.05 and more are a tenth of all, although 0.95 is less than a tenth of 10."""
    assert losses(waits)._chance(WAITS, 10.0, 0.95, 5.0) == pytest.approx(chance)


def test_the_share_of_long_waits_is_at_least_that_of_the_slack_and_narrower_by_the_packet() -> None:
    often = np.array([1.0] * 999 + [10.0])
    assert losses([10.0, 10.0])._chance(often, 10.0, 2.0, 2.0) == pytest.approx(2 * 0.2**2)
    assert losses([10.0, 10.0])._chance(often, 10.0, 2.0, 1.0) == pytest.approx(2 * 0.1**2)
    assert losses([10.0, 9.0])._chance(often, 10.0, 2.0, 0.5) == pytest.approx(2 * 0.2**2)
    assert losses([1.0, 1.0])._chance(often, 1.0, 2.0, 2.0) == 1.0


@pytest.mark.parametrize(
    ("waits", "lost", "chance"),
    [
        ([10.0], [2], 1.0),
        ([10.0], [3], 1 - math.exp(-0.03) * 1.03),  # at least two besides the first, of a mean of 30 * 0.001
        ([10.0], [4], 1 - math.exp(-0.03) * (1 + 0.03 + 0.03**2 / 2)),
        ([10.0, 1.0], [3, 1], 1 - math.exp(-0.03) * 1.03),
    ],
)
def test_several_losses_in_an_episode_are_unlikely_by_the_losses_elsewhere(
    waits: list[float], lost: list[int], chance: float
) -> None:
    """Of 1030 segments, 30 are of the episode, and 1 in 1000 of the others was lost."""
    found = losses(waits, lost, [30, 30][: len(waits)], (lost[0], 1030))
    assert found._chance(WAITS, 10.0, 0.5, 0.5) == pytest.approx(chance)
    assert losses([10.0], [3], [30], (3, 30))._chance(WAITS, 10.0, 0.5, 0.5) > 0.9


@pytest.mark.parametrize(
    ("waits", "level"),
    [
        ([10.0, 10.0, 10.0], 10.0),
        ([10.0, 9.8, 9.6], 9.9),  # three quarters of the way from the least
        ([10.0], math.nan),
        ([10.0, 9.0], math.nan),  # not near each other, and the second is often exceeded
        ([0.0, 0.0, 0.0], math.nan),
        ([math.nan, math.nan], math.nan),
        ([10.0, 10.0, 10.0, math.nan], 10.0),
    ],
)
def test_the_wait_with_the_most_losses_is_that_of_the_full_queue(waits: list[float], level: float) -> None:
    found = losses(waits).full_level(WAITS, 0.1)
    assert found == pytest.approx(level, nan_ok=True)


def test_a_wait_that_one_in_two_hundred_exceeds_may_still_be_that_of_the_full_queue() -> None:
    """Of 200 waits, one is late by an acknowledgment."""
    assert losses([10.0] * 3).full_level(np.array([*WAITS, *WAITS[:-1], 30.0]), 0.1) == 10.0
    assert math.isnan(losses([10.0] * 3).full_level(np.array([*WAITS, *WAITS[:-2], 30.0, 30.0]), 0.1))
    # A loss before that late one is no level, and the next is then the second of those tried.
    late = np.array([*WAITS, *WAITS[:-1], 30.0])
    assert losses([30.0] + [10.0] * 3).full_level(late, 0.1) == 10.0


def steady(pause_s: float = 0.0, at: int = 200, count: int = 400, catches_up: bool = False) -> Deliveries:
    """An acknowledgment each ms, of a packet of 1040 bytes; one pause, perhaps with a burst behind it."""
    acks = []
    for k in range(count):
        late = pause_s if k >= at and not (catches_up and k >= at + 20) else 0.0
        acks.append((0.1 + 1e-3 * k + late, k + 1))
    return Deliveries(flow([(1e-4 * k, k) for k in range(count)], acks))


@pytest.mark.parametrize(
    ("of", "idle"),
    [
        (steady(), False),
        (steady(0.0024), False),
        (steady(0.0026), True),  # more than a quarter of the base round trip, 10 ms
        (steady(0.0026, catches_up=True), False),
        (steady(0.0026, at=50), True),
        (steady(0.0026, at=350), False),  # fewer than 100 ms follow, in which it may catch up
        (steady(0.0026, at=90, count=190), False),
        (Deliveries(flow([], [])), True),
    ],
)
def test_a_bottleneck_was_idle_if_deliveries_stay_behind(of: Deliveries, idle: bool) -> None:
    assert was_idle(of, 0.01, 8.32e6) is idle


def test_without_a_rate_nothing_shows_that_the_bottleneck_was_not_idle() -> None:
    assert was_idle(steady(), 0.01, math.nan)
    early = flow([(1e-4 * k, k + 1) for k in range(400)], [(0.1 + 1e-3 * k, k + 1) for k in range(400)])
    assert not was_idle(Deliveries(early), 0.01, 8.32e6)


def growing(handshake_s: float = math.nan) -> Deliveries:
    """A segment each ms is acknowledged; round trips grow from 20 ms to 100 ms within 160 segments."""
    times = [0.02 + 1e-3 * k for k in range(500)]
    trips = [0.02 + 5e-4 * min(k, 160) for k in range(500)]
    sent = [(time - trip, k) for k, (time, trip) in enumerate(zip(times, trips, strict=True))]
    return Deliveries(flow(sent, [(time, k + 1) for k, time in enumerate(times)], handshake_s=handshake_s))


@pytest.mark.parametrize(
    ("of", "rtt_s", "base_s", "touches", "shown"),
    [
        (growing(), None, 0.019, 1, False),  # the shortest less the time of a packet
        (growing(0.015), None, 0.015, 0, True),
        (growing(), 0.018, 0.018, 1, True),
    ],
)
def test_the_base_round_trip_is_shown_by_the_handshake_or_stated(
    of: Deliveries, rtt_s: float | None, base_s: float, touches: int, shown: bool
) -> None:
    found = estimate_path(of, StatedParameters(rtt_s=rtt_s))
    assert found.rate_bps == pytest.approx(8.32e6)
    assert found.base_s == pytest.approx(base_s)
    assert (found.base_shown, found.cross, found.faster) == (shown, 0.0, 0.0)
    assert found.touches == touches and found.not_used == pytest.approx(0.0, abs=1e-9)
    assert found.queue.longest_bytes == pytest.approx(1040 * (100 - 1000 * base_s - 1))


def test_round_trips_near_the_least_count_once_each() -> None:
    assert _touches(np.array([0.0, 0.001, 0.011, 0.025]), 0.01) == 3
    assert _touches(np.array([0.0, 0.0005, 0.0015]), 1e-5) == 2
    assert QueueEstimates(1.0, 1.0, 0, 0, 0, 0).managed is False
