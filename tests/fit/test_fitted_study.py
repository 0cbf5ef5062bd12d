"""The study that a fit writes: the flow, the cross traffic, and how far its findings are widened."""

from __future__ import annotations

import pytest

from cwndlab.apps.fit.fitted_study import (
    LEAST_BUFFER,
    LEAST_CROSS,
    FittedFlow,
    PathParameters,
    Present,
    Rival,
    tables,
)

PATH = PathParameters(8e6, 0.04, 40_000.0)


def flow(header: int = 40, initial_window: int | None = None, ack_ratio: float = 2.0) -> FittedFlow:
    return FittedFlow("cubic", 1448, header, initial_window, ack_ratio, 8.0)


def test_the_ends_of_the_goodput_are_half_a_percent_wider_than_its_draws_and_others_are_not() -> None:
    finding = tables("T", PATH, [PATH], flow())["finding"]
    assert "(95 %: {0.995 * min(goodput, over=draw):2} to {1.005 * max(goodput, over=draw):2})" in finding
    assert "({min(loss_rate, over=draw):2} to {max(loss_rate, over=draw):2})" in finding
    assert "({min(queue_delay_mean, over=draw):1} to {max(queue_delay_mean, over=draw):1})" in finding


@pytest.mark.parametrize(
    ("of", "knobs"),
    [
        (flow(52), {"mss": "1460B"}),  # the option's 12 bytes are part of the segment
        (flow(40), {"mss": "1448B", "timestamps": False}),
        (flow(52, initial_window=10), {"mss": "1460B", "initial_window": 10}),
        (flow(52, ack_ratio=1.5), {"mss": "1460B"}),
        (flow(52, ack_ratio=1.49), {"mss": "1460B", "ack_policy": "every"}),
    ],
)
def test_only_knobs_that_differ_from_the_profiles_are_written(
    of: FittedFlow, knobs: dict[str, object]
) -> None:
    assert of.tcp() == knobs
    assert of.wire_bytes == 1448 + of.header


def test_datagrams_are_written_from_their_least_share_on() -> None:
    of = {}
    for share in (0.999 * LEAST_CROSS, LEAST_CROSS):
        written = tables("T", PATH, [PATH.with_changes(cross=share)], flow())
        of[share] = [one["name"] for one in written["dumbbell"]["flows"]]
    assert list(of.values()) == [["flow"], ["flow", "cross"]]
    assert PATH.cross == 0.0


def test_another_tcp_flow_is_written_if_any_draw_has_one_and_starts_too_late_in_the_others() -> None:
    rival = PATH.with_changes(rival=Rival("reno", 2, 0.5, 1.5))
    written = tables("T", PATH, [PATH, rival], flow())
    assert [one["name"] for one in written["dumbbell"]["flows"]] == ["flow", "rival"]
    without, with_one = (one["set"] for one in written["axes"]["draw"]["values"])
    assert without["traffic.rival.start"] == "9000ms"
    assert with_one["traffic.rival.start"] == "500ms" and with_one["traffic.rival.count"] == 2
    assert with_one["topology.links.rival_access.delay"] == "30ms"
    assert [without["run.seed"], with_one["run.seed"]] == [1, 2]


@pytest.mark.parametrize(
    ("rate_bps", "text"),
    [(1.5e6, "1.5Mbps"), (1e7, "10Mbps"), (1_000_001, "1.000001Mbps"), (2e3, "0.002Mbps")],
)
def test_a_rate_is_written_to_the_bit_per_second(rate_bps: float, text: str) -> None:
    assert PATH.with_changes(rate_bps=rate_bps).rate == text


def test_a_path_is_written_in_whole_microseconds_one_way() -> None:
    path = PATH.with_changes(base_s=0.0400049, loss=0.0123456)
    assert (path.rtt, path.half) == ("40.004ms", "20.002ms")
    assert path.as_written.base_s == pytest.approx(0.040004)
    assert path.sets(Present(False, False, "9s"))["topology.links.bottleneck.forward"]["impairments"] == [
        {"kind": "bernoulli", "p": 0.01235}
    ]


def test_changes_stay_within_what_a_study_accepts() -> None:
    least = PATH.with_changes(rate_bps=1.0, base_s=0.0, buffer_bytes=1.0, loss=-0.1, cross=-0.1)
    assert least == PathParameters(1e3, 1e-6, LEAST_BUFFER)
    most = PATH.with_changes(loss=2.0, cross=2.0)
    assert (most.loss, most.cross) == (0.9, 0.95)


def test_a_buffer_of_packets_holds_whole_ones_and_at_least_one() -> None:
    packets = PATH.with_changes(packet_bytes=1500)
    assert packets.buffer_bytes == 27 * 1500  # the nearest to 40 000 bytes
    assert packets.with_changes(packet_bytes=9000, buffer_bytes=2000.0).buffer_bytes == 9000
