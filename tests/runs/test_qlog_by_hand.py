"""The events of a qlog file from rows of records that are written by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cwndlab.apps.export.qlog import _ranges, qlog


def segment(time_ns: int, event: str, segment: int, from_client: bool = True, **more: Any) -> dict[str, Any]:
    fields = {"sent": from_client, "seq": 0, "len": 0, "ack": 0, "sack": None, "wire_bytes": 1500}
    return (
        {"time_ns": time_ns, "event": event, "segment": segment, "from_client": from_client} | fields | more
    )


def window(time_ns: int, **more: Any) -> dict[str, Any]:
    fields = {"cwnd_bytes": 10, "in_flight_bytes": 5, "ssthresh_bytes": None, "srtt_ns": None}
    return {"time_ns": time_ns} | fields | more


def logged(
    segments: list[dict[str, Any]],
    windows: list[dict[str, Any]] | None = None,
    timeouts: list[dict[str, Any]] | None = None,
    version: str = "0.3",
    **more: bool,
) -> list[dict[str, Any]]:
    """The records of the file without the header."""
    asked = {"client": True, "quic": False} | more
    text = qlog(segments, windows or [], timeouts or [], "c", version, **asked)
    return [json.loads(record) for record in text.split("\x1e")[2:]]


def short(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Time, name, packet number, and the ranges or (offset, length) of its frame."""
    found = []
    for one in events:
        data = one["data"]
        frames = [
            tuple(map(tuple, frame["acked_ranges"]))
            if frame["frame_type"] == "ack"
            else (frame["offset"], frame["length"])
            for frame in data.get("frames", [])
        ]
        found.append((one["time"], one["name"].split("_")[-1], data["header"].get("packet_number"), *frames))
    return found


def test_each_segment_of_tcp_has_a_number_and_is_acknowledged_once() -> None:
    rows = [
        segment(0, "send", 0),  # SYN
        segment(1_000_000, "ack", 0, False, sent=True),
        segment(2_000_000, "send", 1, len=1000),
        segment(2_000_000, "send", 2, seq=1000, len=1000),
        segment(2_500_000, "send", 3, seq=2000, len=500),
        segment(2_600_000, "drop", 2),
        segment(2_700_000, "mark", 1),
        segment(3_000_000, "send", 9, sent=False),  # it arrived at the receiver
        segment(4_000_000, "ack", 1, False, sent=False, ack=1000),
        segment(5_000_000, "dupack", 1, False, sent=False, ack=1000, sack=[2000, 2500]),
        segment(6_000_000, "retransmit", 2, seq=1000, len=1000),
        segment(7_000_000, "ack", 3, False, sent=False, ack=2500, sack=[]),
    ]
    assert short(logged(rows)) == [
        (0.0, "sent", 0),
        (1.0, "received", 0),
        (2.0, "sent", 1, (0, 1000)),
        (2.0, "sent", 2, (1000, 1000)),
        (2.5, "sent", 3, (2000, 500)),
        (4.0, "received", 1, ((1, 1),)),
        (5.0, "received", 2, ((3, 3),)),
        (6.0, "lost", 2),
        (6.0, "sent", 4, (1000, 1000)),
        (7.0, "received", 3, ((4, 4),)),
    ]
    first, *_ = logged(rows)
    assert first["data"] == {
        "header": {"packet_type": "1RTT", "packet_number": 0}, "raw": {"length": 1500}, "frames": [],
    }  # fmt: skip
    server = short(logged([row | {"from_client": not row["from_client"]} for row in rows], client=False))
    assert server == short(logged(rows))


def test_a_retransmission_repeats_the_packets_whose_bytes_it_has() -> None:
    rows = [segment(k, "send", k, seq=1000 * k, len=1000) for k in range(5)]
    rows += [segment(9, "retransmit", 1, seq=1500, len=1500), segment(10, "retransmit", 9, seq=5000, len=100)]
    found = [(name, number) for _, name, number, *_ in short(logged(rows))][5:]
    assert found == [("lost", 1), ("lost", 2), ("sent", 5), ("sent", 6)]


def test_a_block_acknowledges_the_packets_that_lie_in_it_whole() -> None:
    rows = [segment(k, "send", k, seq=1000 * k, len=1000) for k in range(6)]
    rows.append(segment(9, "dupack", 0, False, sent=False, ack=999, sack=[1000, 2999, 3000, 5000]))
    rows.append(segment(10, "ack", 0, False, sent=False, ack=6000))
    assert [one[3:] for one in short(logged(rows))[6:]] == [(((3, 4), (1, 1)),), (((5, 5), (2, 2), (0, 0)),)]


def test_packets_of_quic_have_the_numbers_of_the_stack() -> None:
    rows = [
        segment(0, "send", 0),
        segment(1, "send", 5),
        segment(2, "drop", 5),
        segment(2, "drop", 0),
        segment(2, "drop", 7, False),
        segment(3, "mark", 5),
        segment(4, "send", 5, sent=False),
        segment(5, "send", 3, False, sent=False, sack=[1, 3, 5, 9]),
        segment(6, "send", 3, False, sent=True),
    ]
    events = logged(rows, quic=True)
    assert short(events) == [
        (0.0, "sent", None), (1e-6, "sent", 4), (2e-6, "lost", 4), (5e-6, "received", 2, ((0, 1), (4, 7))),
    ]  # fmt: skip
    assert events[0]["data"]["header"] == {"packet_type": "unknown"}
    assert events[2]["data"] == {"header": {"packet_type": "1RTT", "packet_number": 4}}


def test_timers_packets_and_windows_of_one_time_are_in_this_order() -> None:
    rows = [segment(1_000_000, "send", 0), segment(3_000_000, "send", 1)]
    windows = [
        window(1_000_000, ssthresh_bytes=7, srtt_ns=2_500_000),
        window(2_000_000, ssthresh_bytes=0, srtt_ns=0),
        window(3_000_000),
    ]
    events = logged(rows, windows, [{"time_ns": 3_000_000, "timer": "probe"}])
    assert [one["name"].partition(":")[2] for one in events] == [
        "packet_sent", "metrics_updated", "metrics_updated",
        "loss_timer_updated", "packet_sent", "metrics_updated",
    ]  # fmt: skip
    metrics = [one["data"] for one in events if one["name"].endswith("metrics_updated")]
    base = {"congestion_window": 10, "bytes_in_flight": 5}
    assert metrics == [
        base | {"ssthresh": 7, "smoothed_rtt": 2.5}, base | {"ssthresh": 0, "smoothed_rtt": 0.0}, base,
    ]  # fmt: skip


@pytest.mark.parametrize(("timer", "kind"), [("probe", "pto"), ("rto", "pto"), ("reordering", "ack")])
def test_an_expired_timer_is_named_as_quic_does_or_left_out(timer: str, kind: str) -> None:
    timeouts = [{"time_ns": 4_000_000, "timer": "other"}, {"time_ns": 5_000_000, "timer": timer}]
    assert logged([], timeouts=timeouts) == [
        {
            "time": 5.0,
            "name": "recovery:loss_timer_updated",
            "data": {"timer_type": kind, "event_type": "expired"},
        }
    ]


@pytest.mark.parametrize(("client", "point"), [(True, "client"), (False, "server")])
def test_the_header_says_which_version_and_side_it_is_of(client: bool, point: str) -> None:
    first, second = (
        json.loads(qlog([], [], [], "the title", version, client=client, quic=False).removeprefix("\x1e"))
        for version in ("0.3", "draft-14")
    )
    assert (first["qlog_version"], first["qlog_format"], first["title"]) == ("0.3", "JSON-SEQ", "the title")
    assert first["trace"]["vantage_point"] == second["trace"]["vantage_point"] == {"type": point}
    assert first["trace"]["common_fields"] == {
        "time_format": "relative", "reference_time": 0, "group_id": "the title",
    }  # fmt: skip
    assert second["file_schema"] == "urn:ietf:params:qlog:file:sequential"
    assert second["trace"]["event_schemas"] == ["urn:ietf:params:qlog:events:quic-14"]
    assert second["trace"]["common_fields"]["reference_time"]["clock_type"] == "monotonic"


@pytest.mark.parametrize(
    ("numbers", "ranges"),
    [
        ([], []),
        ([4], [[4, 4]]),
        ([0, 1], [[0, 1]]),
        ([1, 2, 3], [[1, 3]]),
        ([1, 3, 4, 9], [[9, 9], [3, 4], [1, 1]]),
    ],
)
def test_ranges_include_both_ends_and_begin_with_the_highest(
    numbers: list[int], ranges: list[list[int]]
) -> None:
    assert _ranges(numbers) == ranges
