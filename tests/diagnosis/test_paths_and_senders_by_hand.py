"""Shares of a bottleneck, probes, pacing, policing and records of a sender, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cwndlab.apps.diagnosis import from_records, policing, run_bottleneck
from cwndlab.apps.diagnosis.bottleneck import Bottleneck
from cwndlab.apps.diagnosis.causes import CAUSES
from cwndlab.apps.diagnosis.conversation import FIN, RST, SYN, Blocks, Conversation, Drop, Packet
from cwndlab.apps.diagnosis.keep_alive import mark_probes
from cwndlab.apps.diagnosis.link_use import explain_share, used_share
from cwndlab.apps.diagnosis.pacing import paces
from cwndlab.apps.diagnosis.waits import Wait
from dataclass_kinds import kinds
from made_packets import MS, got, sent

NECK = Bottleneck(8e6, 0.04, "34 packets")


def test_a_bottleneck_has_its_rate_its_bdp_and_its_buffer() -> None:
    assert NECK.text == "8 Mb/s, BDP 40 kB, buffer 34 packets"
    assert replace(NECK, estimated=True).text.startswith("about 8 Mb/s")


OTHERS = replace(NECK, others="another flow uses it")


@pytest.mark.parametrize(
    ("neck", "share", "waited", "words"),
    [
        (NECK, 0.95, {}, "It filled 95 % of LINK."),
        (NECK, 1.2, {}, "It filled 100 % of LINK."),
        (NECK, 0.94, {}, "It used 94 % of LINK."),
        (NECK, 0.5, {"unknown": 9.0}, "It used 50 % of LINK."),
        (
            NECK,
            0.5,
            {"unknown": 9.0, "nagle": 0.5, "cwnd": 1.25},
            "It used 50 % of LINK; largest cause: the congestion window was full (1.25 s of 10).",
        ),
        # Five seconds are not used, of which waits explain so many.
        (
            OTHERS,
            0.5,
            {"cwnd": 2.5},
            "It used 50 % of LINK; largest cause: the congestion window was full (2.5 s of 10); "
            "another flow uses it.",
        ),
        (OTHERS, 0.5, {"cwnd": 2.4}, "It used 50 % of LINK; largest cause: another flow uses it."),
        (
            OTHERS,
            0.5,
            {"cwnd": 2.4, "nagle": 0.3},
            "It used 50 % of LINK; largest cause: the congestion window was full (2.4 s of 10); "
            "another flow uses it.",
        ),
        (OTHERS, 0.5, {}, "It used 50 % of LINK; largest cause: another flow uses it."),
    ],
)
def test_what_kept_a_flow_from_filling_the_bottleneck(
    neck: Bottleneck, share: float, waited: dict[str, float], words: str
) -> None:
    link = "the bottleneck (8 Mb/s, BDP 40 kB, buffer 34 packets)"
    assert explain_share(neck, share, waited, 10.0, CAUSES) == words.replace("LINK", link)


def test_the_used_share_counts_headers() -> None:
    packets = [sent(k, 1000 * k, 1000) for k in range(10)] + [sent(10, ts_val=3)]
    made = Conversation("c", packets, 1000, "sender", bottleneck=NECK)
    assert used_share(made, 500_000, 1.0) == pytest.approx(0.5 * 1.04)
    packets[9].ts_val = 3
    assert used_share(made, 500_000, 1.0) == pytest.approx(0.5 * 1.052), "with timestamps among the first ten"


def links(*ends: tuple[int, int, int], **queue: Any) -> list[dict[str, Any]]:
    return [
        {
            "from": a,
            "to": b,
            "rate_bps": mbps * 1_000_000,
            "delay_ns": 5 * MS,
            "queue": {"kind": "codel", **queue},
        }
        for a, b, mbps in ends
    ]


def scenario(**changes: Any) -> dict[str, Any]:
    both = [(0, 1, 100), (1, 2, 8), (1, 0, 100), (2, 1, 50)]
    traffic = [{"client": 0, "server": 2}, {"client": 2, "server": 1}, {"client": 0, "server": 1}]
    return {"nodes": ["a", "r", "b"], "routes": [], "links": links(*both), "traffic": traffic} | changes


@pytest.mark.parametrize(
    ("queue", "room"),
    [
        ({}, "codel's"),
        ({"kind": "infinite"}, "unlimited"),
        ({"limit": 9, "unit": "packets"}, "9 packets"),
        ({"limit": 90_000, "unit": "bytes"}, "90 kB"),
    ],
)
def test_the_bottleneck_of_a_run_is_the_slowest_link(queue: dict[str, Any], room: str) -> None:
    made = scenario()
    made["links"][1]["queue"] |= queue
    found = run_bottleneck.bottleneck_in(made, 0, 0, 2)
    assert found == Bottleneck(8e6, 0.02, room, "another flow uses it")
    assert not found.estimated
    back = run_bottleneck.bottleneck_in(made, 0, 2, 0)
    assert back is not None and back.rate_bps == 50e6


def test_flows_that_share_the_bottleneck_in_either_direction_are_counted() -> None:
    both = [
        {"client": 0, "server": 2},
        {"client": 2, "server": 1},
        {"client": 2, "server": 0},
        {"client": 0, "server": 1},
    ]
    assert run_bottleneck.bottleneck_in(scenario(traffic=both), 0, 0, 2).others == "2 other flows use it"  # type: ignore[union-attr]
    assert run_bottleneck.bottleneck_in(scenario(traffic=both[:1]), 0, 0, 2).others == ""  # type: ignore[union-attr]


def test_a_bottleneck_is_not_known_without_a_path_or_with_a_changing_rate() -> None:
    assert run_bottleneck.bottleneck_in(scenario(links=links((0, 1, 9), (1, 2, 8))), 0, 0, 2) is None
    made = scenario()
    made["links"][0]["capacity"] = [1]
    assert run_bottleneck.bottleneck_in(made, 0, 0, 2) is None
    assert run_bottleneck.bottleneck_in(made, 0, 2, 0) is not None
    routed = scenario(routes=[{"from": 0, "to": 2, "via": [0]}])
    assert run_bottleneck.bottleneck_in(routed, 0, 0, 2).rate_bps == 100e6  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("packets", "probes"),
    [
        ([sent(0, 0, 10), got(1, 10), sent(2, 9)], ["", "", "keep-alive"]),
        ([sent(0, 0, 10), got(1, 10), sent(2, 9, 1)], ["", "", "keep-alive"]),
        ([sent(0, 0, 10), got(1, 9), sent(2, 9, 1)], ["", "", ""]),  # data is outstanding
        ([sent(0, 0, 10), got(1, 10), sent(2, 8, 1)], ["", "", ""]),
        ([sent(0, 0, 10), got(1, 10), sent(2, 9, 2)], ["", "", ""]),
        ([sent(0, 0, 10), got(1, 10), sent(2, 9, 0, FIN)], ["", "", ""]),
        ([sent(0, 0, 10), got(1, 10), sent(2, 9, 0, RST)], ["", "", ""]),
        ([sent(0, 0, 10), got(1, 10, 0), sent(2, 9)], ["", "", "window"]),
        ([sent(0, 0, 10), got(1, 10, 0), sent(2, 10, 1)], ["", "", "window"]),
        (
            [sent(0, 0, 10), got(1, 10, 0), sent(2, 10, 1), sent(3, 10, 1), got(4, 10, 5), sent(5, 10, 1)],
            ["", "", "window", "window", "", ""],
        ),
        ([sent(0, 0, 10), got(1, 10, 0), sent(2, 10, 0)], ["", "", ""]),
        ([sent(0, 0, 10), got(1, 8, 0), sent(2, 7, 1)], ["", "", ""]),
        ([sent(0, flags=SYN)], [""]),
    ],
)
def test_segments_that_only_test_the_peer_are_probes(packets: list[Packet], probes: list[str]) -> None:
    mark_probes(packets)
    assert [packet.probe for packet in packets] == probes


def paced(gaps_ms: list[float], *, ack_before_ms: float = 5.0, acknowledged: int = 0) -> bool:
    """Segments with these gaps; the first two have the least gap; an ACK arrives before each."""
    packets, time = [], 100.0
    for k, gap in enumerate([0.1, 0.1, *gaps_ms]):
        time += gap
        packets += [got(time - ack_before_ms, acknowledged), sent(time, 1000 * k, 1000)]
    packets.sort(key=lambda packet: packet.time_ns)
    return paces(packets, 50 * MS, 3 * MS)


@pytest.mark.parametrize(
    ("gaps", "ack_before_ms", "regular"),
    [
        ([8.0] * 20, 3.5, True),
        ([8.0] * 19, 3.5, False),
        ([8.0] * 10 + [16.0] * 10, 3.5, True),  # the quartiles have a ratio of 2
        ([8.0] * 10 + [16.1] * 10, 3.5, False),
        ([0.19] * 20, 300.0, False),  # not longer than twice the least: a burst
        ([0.21] * 20, 300.0, True),
        ([50.0] * 20, 40.0, False),  # a whole round trip
        ([49.0] * 20, 40.0, True),
    ],
)
def test_regular_gaps_that_no_arrival_explains_are_pacing(
    gaps: list[float], ack_before_ms: float, regular: bool
) -> None:
    assert paced(gaps, ack_before_ms=ack_before_ms) is regular


def test_segments_that_an_arrival_released_or_that_follow_silence_show_no_pacing() -> None:
    assert not paced([8.0] * 30, ack_before_ms=3.0)
    assert paced([8.0] * 30, ack_before_ms=3.1)
    assert not paced([8.0] * 30, ack_before_ms=3.1, acknowledged=10**6), "nothing was outstanding"


def bucket(*steps: tuple[int, int, bool], rate: float, size: int) -> float:
    return policing._share_with_less(steps, rate, size)


def test_a_bucket_fills_at_its_rate_and_loses_what_passes() -> None:
    steps = [(0, 10, True), (10, 10, False), (20, 10, False), (30, 10, True)]
    # Of tokens 0 (lost), 10, 10 and 10 (lost): the first has less than both, the last than none.
    assert bucket(*steps, rate=1.0, size=100) == 0.5
    assert bucket((0, 10, True), (100, 5, False), (101, 5, True), rate=1.0, size=20) == 1.0
    assert bucket((0, 10, True), (100, 50, False), (110, 5, True), rate=1.0, size=20) == 1.0, (
        "it is never below 0"
    )


def policed(losses: int = 6, spread: float = 1.0, trip_ms: float = 20.0) -> bool:
    """A policer of 1000 bytes per ms with a bucket of 8 segments, and a burst of 20 segments each 20 ms."""
    packets: list[Packet] = []
    seq, tokens, before, lost = 0, 8000.0, 0.0, 0
    for burst in range(12):
        for k in range(20):
            at = 20.0 * burst + 0.1 * k
            tokens, before = min(tokens + 1000 * (at - before) * 0.5, 8000.0), at
            passes = tokens >= 1000 or lost >= losses
            packets.append(sent(at, seq, 1000))
            if passes:
                tokens = max(0.0, tokens - 1000)
                packets.append(got(at + trip_ms, seq + 1000))
            else:
                lost += 1
                packets.append(sent(at + 400, seq, 1000))
            seq += 1000
    packets.sort(key=lambda packet: packet.time_ns)
    return policing.is_policed(packets, 20 * MS, 1000)


def test_fewer_than_six_losses_show_no_policer() -> None:
    assert not policed(losses=5)
    assert policing.is_policed([], MS, 1000) is False


def test_round_trips_before_losses_leave_out_those_of_repairs() -> None:
    first, second = sent(5, 0, 10), sent(50, 10, 10)
    packets = [
        first,
        got(25, 10),
        second,
        sent(51, 20, 10),
        got(80, 10),
        got(90, 30),
        sent(95, 30, 10),
        got(130, 40),
    ]
    lost = {id(second)}
    assert policing._round_trips_before(packets, lost) == 20 * MS
    last = sent(140, 40, 10)
    assert policing._round_trips_before([*packets, last], {id(last)}) == 35 * MS, "90 ms ended a recovery"
    assert policing._round_trips_before(packets[:1], {id(first)}) == float("inf")
    third = sent(60, 20, 10)
    fed = [sent(5, 0, 10), sent(6, 10, 10), got(25, 10), got(30, 10, length=5), got(40, 20), third]
    assert policing._round_trips_before(fed, {id(third)}) == 34 * MS, "data is no duplicate acknowledgment"


@pytest.mark.parametrize(
    ("queue", "impairments", "cause", "why", "policed"),
    [
        ({"kind": "drop-tail", "limit": 9}, [], "full", "the queue was full (9 of 9 packets)", False),
        (
            {"kind": "drop-tail", "limit": 9000, "unit": "bytes"},
            [],
            "full",
            "the queue was full (9000 of 9000 bytes)",
            False,
        ),
        ({"kind": "codel", "limit": 9}, [], "full", "the queue was full", False),
        ({"kind": "drop-tail"}, [], "full", "the queue was full", False),
        ({"kind": "codel"}, [], "aqm", "the queue's law (codel) dropped it", False),
        ({"kind": "codel"}, ["jitter"], "loss", "lost on the link", False),
        ({"kind": "codel"}, ["jitter", "policer"], "loss", "over the policer's rate", True),
        ({"kind": "codel"}, ["policer"], "aqm", "the queue's law (codel) dropped it", False),
    ],
)
def test_a_drop_says_where_and_why(
    queue: dict[str, Any], impairments: list[str], cause: str, why: str, policed: bool
) -> None:
    link = {"name": "x", "queue": queue, "impairments": [{"kind": kind} for kind in impairments]}
    assert from_records._drop(link, 5, cause) == Drop(5, "x", why, by_policer=policed)


@pytest.mark.parametrize(
    ("value", "number"), [(None, None), (float("nan"), None), (-1, None), (0, 0), (7.0, 7)]
)
def test_a_number_that_is_missing_is_none(value: float | None, number: int | None) -> None:
    assert from_records._known_number(value) == number


def test_sack_blocks_are_pairs() -> None:
    blocks = Blocks.of_pairs([(1, 2), (1 << 40, -5)])
    assert (len(blocks), blocks[0], blocks[1], blocks[:1]) == (2, (1, 2), (1 << 40, -5), ((1, 2),))
    assert len(Blocks.of_pairs([])) == 0


def test_only_these_objects_can_be_changed() -> None:
    found = {name for name, words in kinds("apps.diagnosis").items() if words != "equals shows"}
    assert found == {"Packet", "Conversation", "RawTrace", "QuicLog", "QuicWait", "Replayed", "Wait"}
    assert all(hasattr(kind, "__slots__") for kind in (Packet, Wait))
