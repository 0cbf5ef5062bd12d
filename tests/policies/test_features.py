"""What a policy observes and does, of one step written out by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from cwndlab.apps.policy import ACTIONS, FEATURES
from cwndlab.apps.policy.actions import MAX_RATE_BPS, MAX_WINDOW_BYTES
from cwndlab.apps.policy.features import FlowStep

#: From 1.0 to 1.5 s: 50 000 bytes delivered, 5 000 of them marked, 10 000 lost; round trips of 40 and 60 ms.
STEP = FlowStep(
    start_s=1.0,
    now_s=1.5,
    mss=1000,
    cwnd_bytes=20_000.0,
    pacing_rate_bps=2e6,
    delivered_bytes=50_000,
    lost_bytes=10_000,
    ce_bytes=5_000,
    timeouts=2,
    in_flight_bytes=15_000,
    former_in_flight_bytes=12_000,
    rtt_sum_s=0.1,
    rtts=2,
    srtt_s=0.045,
    former_rtt_s=0.04,
    rate_bps=1e6,
    max_rate_bps=1.6e6,
    min_rtt_s=0.025,
)
#: The range of each feature, and its value in this step.
EXPECTED = {
    "throughput_mbps": (0, 1e6, 0.8),
    "rate_mbps": (0, 1e6, 1.0),
    "rate_ratio": (0, 10, 0.5),
    "rtt_ms": (0, 1e6, 50.0),
    "min_rtt_ms": (0, 1e6, 25.0),
    "rtt_ratio": (1, 100, 2.0),
    "rtt_gradient": (-10, 10, 0.02),
    "send_ratio": (0, 100, 63 / 50),
    "loss_share": (0, 1, 1 / 6),
    "ce_share": (0, 1, 0.1),
    "timeouts": (0, 100, 2),
    "cwnd_segments": (0, 1e6, 20.0),
    "cwnd_ratio": (0, 100, 4.0),
    "in_flight_segments": (0, 1e6, 15.0),
    "pacing_mbps": (0, 1e6, 2.0),
    "interval_ms": (0, 1e6, 500.0),
}
#: What is observed before anything was seen.
FIRST = {"rtt_ratio": 1.0, "send_ratio": 1.0, "cwnd_ratio": 1.0}


def test_the_step_covers_every_feature() -> None:
    assert list(EXPECTED) == list(FEATURES)


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_has_its_range_and_its_value(name: str) -> None:
    low, high, value = EXPECTED[name]
    feature = FEATURES[name]
    assert (feature.low, feature.high) == (low, high)
    assert feature.value(STEP) == pytest.approx(value)
    assert feature.value(FlowStep()) == FIRST.get(name, 0.0)


def test_a_step_without_a_round_trip_has_the_smoothed_one_and_no_gradient() -> None:
    step = replace(STEP, rtts=0)
    assert (step.rtt_s, step.rtt_gradient) == (0.045, 0.0)
    assert replace(STEP, former_rtt_s=0.0).rtt_gradient == 0.0
    assert replace(STEP, now_s=1.0).rtt_gradient == 0.0


def test_a_step_of_no_length_has_the_sampled_rate_and_no_bytes_are_sent_backwards() -> None:
    assert replace(STEP, now_s=1.0).throughput_bps == 1e6
    assert replace(STEP, in_flight_bytes=0, delivered_bytes=0, lost_bytes=0).sent_bytes == 0


def test_the_next_step_begins_with_what_this_one_ended_with() -> None:
    found = STEP.next()
    assert (found.start_s, found.now_s, found.mss) == (1.5, 1.5, 1000)
    assert (found.in_flight_bytes, found.former_in_flight_bytes) == (15_000, 15_000)
    assert (found.srtt_s, found.former_rtt_s) == (0.045, 0.05)
    assert (found.rate_bps, found.max_rate_bps, found.min_rtt_s) == (1e6, 1.6e6, 0.025)
    assert (found.delivered_bytes, found.lost_bytes, found.ce_bytes, found.timeouts, found.rtts) == (0,) * 5


def acted(name: str, value: float, cwnd: float = 20_000.0, **more: Any) -> tuple[float, float | None]:
    law: Any = SimpleNamespace(cwnd_bytes=cwnd, pacing_rate_bps=more.pop("pacing", None))
    ACTIONS[name].apply(law, replace(STEP, **more), value)
    return law.cwnd_bytes, law.pacing_rate_bps


@pytest.mark.parametrize(
    ("name", "value", "cwnd", "window"),
    [
        ("cwnd_factor", 0.5, 20_000.0, 20_000 * 2**0.5),
        ("cwnd_factor", 3.0, 20_000.0, 40_000.0),
        ("cwnd_factor", -3.0, 20_000.0, 10_000.0),
        ("cwnd_factor", -1.0, 1500.0, 1000.0),  # no less than a segment
        ("cwnd_factor", 1.0, MAX_WINDOW_BYTES, MAX_WINDOW_BYTES),
        ("cwnd_choice", 0, 20_000.0, 10_000.0),
        ("cwnd_choice", 1, 20_000.0, 10_000.0),
        ("cwnd_choice", 1, 25_000.0, 15_000.0),
        ("cwnd_choice", 2, 20_000.0, 20_000.0),
        ("cwnd_choice", 3, 20_000.0, 30_000.0),
        ("cwnd_choice", 4, 20_000.0, 40_000.0),
    ],
)
def test_an_action_sets_the_window(name: str, value: float, cwnd: float, window: float) -> None:
    assert acted(name, value, cwnd) == (pytest.approx(window), None)


@pytest.mark.parametrize(
    ("value", "pacing", "srtt_s", "window", "rate"),
    [
        (1.0, 2e6, 0.04, 40_000.0, 4e6),  # twice the rate for a round trip
        (0.0, None, 0.04, 40_000.0, 4e6),  # none set yet: the window in a round trip
        (-1.0, 1e5, 0.04, 4000.0, 2e5),  # no slower than a segment in a round trip, and four segments
        (1.0, MAX_RATE_BPS, 0.001, 250e6, MAX_RATE_BPS),
    ],
)
def test_an_action_sets_the_pacing_rate_and_a_window_of_twice_that(
    value: float, pacing: float | None, srtt_s: float, window: float, rate: float
) -> None:
    assert acted("pacing_factor", value, pacing=pacing, srtt_s=srtt_s) == (
        pytest.approx(window),
        pytest.approx(rate),
    )


def test_only_the_choice_of_a_window_is_discrete() -> None:
    assert {name: action.choices for name, action in ACTIONS.items()} == {
        "cwnd_factor": 0,
        "cwnd_choice": 5,
        "pacing_factor": 0,
    }
