"""Each event of a qlog as the log's own: packets, frames, metrics, states, limits, and the end."""

from __future__ import annotations

from typing import Any

import pytest

from cwndlab.apps.diagnosis.quic.qlog_events import as_log
from cwndlab.apps.diagnosis.quic.qlog_file import RawTrace
from cwndlab.apps.diagnosis.quic.quic_log import (
    Blocked,
    Closed,
    Credit,
    Event,
    Expired,
    LimitReached,
    Lost,
    Metrics,
    Received,
    Sent,
    State,
)


def log(*events: tuple[str, dict[str, Any]], **more: Any) -> Any:
    timed = [(k, name, data) for k, (name, data) in enumerate(events)]
    return as_log(
        RawTrace(**{"title": "t", "end": "client", "events": timed, "notes": [], "whole_ms": False} | more),
        "n",
    )


def made(name: str, **data: Any) -> list[Event]:
    return list(log((name, data)).events)


def packet(number: int = 5, kind: str = "1RTT", size: int | None = 1200) -> dict[str, Any]:
    raw = {} if size is None else {"raw": {"length": size}}
    return {"header": {"packet_type": kind, "packet_number": number}, **raw}


@pytest.mark.parametrize(
    ("kind", "space"),
    [("initial", "initial"), ("Handshake", "handshake"), ("1RTT", "application"), ("0RTT", "application")],
)
def test_a_packet_has_its_number_space(kind: str, space: str) -> None:
    (sent,) = made("packet_sent", **packet(3, kind), frames=[])
    assert sent == Sent(0, (space, 3), 1200, False)
    assert made("packet_lost", packet_number=4, packet_type=kind) == [Lost(0, (space, 4))]
    assert made("packet_lost", header={"packet_number": 4, "type": kind}) == [Lost(0, (space, 4))]


def test_a_packet_that_is_sent_has_its_data_and_what_blocks_it() -> None:
    frames = [
        {"frame_type": "ack"},
        {"frame_type": "stream", "stream_id": 4, "offset": 10, "length": 7},
        {"frame_type": "stream", "raw": {"payload_length": 3, "length": 9}},
        {"frame_type": "stream", "raw": {"length": 9}},
        {"frame_type": "stream"},
        {"frame_type": "data_blocked", "limit": 100},
        {"frame_type": "stream_data_blocked", "stream_id": 4, "limit": "200"},
        {"frame_type": "streams_blocked"},
        "no frame",
    ]
    (sent,) = made("packet_sent", **packet(), frames=frames)
    assert sent == Sent(
        0,
        ("application", 5),
        1200,
        True,
        ((4, 10, 7), (0, 0, 3), (0, 0, 9), (0, 0, 0)),
        (
            LimitReached("flow-connection", None, 100),
            LimitReached("flow-stream", 4, 200),
            LimitReached("stream-limit", None, None),
        ),
    )


@pytest.mark.parametrize(
    ("frames", "eliciting"),
    [
        (["ack"], False),
        (["padding", "ack", "connection_close"], False),
        (["ping"], True),
        (["ack", "ping"], True),
        ([], False),
    ],
)
def test_some_frames_need_no_acknowledgment(frames: list[str], eliciting: bool) -> None:
    (sent, *_) = made("packet_sent", **packet(), frames=[{"frame_type": kind} for kind in frames])
    assert isinstance(sent, Sent) and sent.eliciting is eliciting


def test_packets_without_sizes_or_frames_are_counted() -> None:
    small = {**packet(size=99)}
    found = log(("packet_sent", small), ("packet_sent", packet(size=100)), ("packet_sent", packet(size=None)))
    assert [(sent.size, sent.eliciting) for sent in found.events] == [(99, False), (100, True), (0, False)]
    assert found.notes == [
        "1 packet sent without a logged size, counted as nothing",
        "packets are logged without frames; those of 100 bytes and more count as data",
    ]
    header = {"header": {"packet_size": 77, "packet_number": 1}, "frames": []}
    assert [event.size for event in log(("packet_sent", header)).events] == [77]
    unnamed = made("packet_sent", raw={"length": 5}, frames=[])
    assert unnamed == [Sent(0, None, 5, False)]
    two = log(("packet_sent", {"frames": []}), ("packet_sent", {"frames": []}))
    assert two.notes == ["2 packets sent without a logged size, counted as nothing"]


def test_a_packet_that_is_received_acknowledges_and_raises_limits() -> None:
    frames = [
        {"frame_type": "ack", "acked_ranges": [[1, 3], [5], 7, ["9", "11"], [], ["x"], [-1, 4]]},
        {"frame_type": "max_data", "maximum": 50},
        {"frame_type": "max_data", "maximum": 40},
        {"frame_type": "max_data"},
        {"frame_type": "max_stream_data", "stream_id": 8, "maximum": 60},
        {"frame_type": "max_stream_data", "maximum": 61},
        {"frame_type": "max_streams"},
        {"frame_type": "stream", "length": 7},
        {"frame_type": "stream", "length": 5},
        {"frame_type": "data_blocked"},
    ]
    acked = tuple(("handshake", *pair) for pair in ((1, 3), (5, 5), (7, 7), (9, 11), (4, 4)))
    assert made("packet_received", **packet(kind="handshake"), frames=frames) == [
        Received(
            *(0, acked, 50, ((8, 60), (0, 61)), True, 12),
            (LimitReached("flow-connection", None, None),),
        )
    ]
    assert made("packet_received") == [Received(0)]


def test_the_congestion_control_has_numbers_and_states() -> None:
    assert made("recovery_metrics_updated", cwnd=5, bytes_in_flight="7", min_rtt=1.5, pto_count=0) == [
        Metrics(0, {"cwnd": 5, "in_flight": 7, "min_rtt_ms": 1.5, "pto_count": 0})
    ]
    assert made("metrics_updated", congestion_window=9, bytes_in_flight=-1) == [Metrics(0, {"cwnd": 9})]
    assert made("metrics_updated", congestion_window=1 << 62, pto_count=True) == []
    assert made("metrics_updated", congestion_window=(1 << 62) - 1) == [Metrics(0, {"cwnd": (1 << 62) - 1})]
    assert made("metrics_updated", cwnd="1" * 19, bytes_in_flight="1" * 20) == [
        Metrics(0, {"cwnd": int("1" * 19)})
    ]
    assert made("congestion_state_updated", new="Slow_Start" + "x" * 60, trigger="t" * 70) == [
        State(0, "slow_start" + "x" * 50, "t" * 60)
    ]
    assert made("congestion_state_updated", new=3) == []


@pytest.mark.parametrize(
    ("data", "expired"),
    [
        ({"event_type": "expired", "timer_type": "pto"}, True),
        ({"event_type": "expired", "timer_type": "loss_timeout"}, True),
        ({"event_type": "expired", "timer_type": "ack"}, False),
        ({"event_type": "set", "timer_type": "pto"}, False),
    ],
)
@pytest.mark.parametrize("name", ["loss_timer_updated", "timer_updated"])
def test_only_a_probe_timeout_that_expires_counts(data: dict[str, str], expired: bool, name: str) -> None:
    assert made(name, **data) == ([Expired(0)] if expired else [])


def test_the_limits_that_the_peer_grants_are_the_other_way_round() -> None:
    limits = {
        "initial_max_data": 1,
        "initial_max_stream_data_bidi_local": 2,
        "initial_max_stream_data_bidi_remote": 3,
        "initial_max_stream_data_uni": 4,
    }
    assert made("parameters_set", owner="remote", **limits) == [Credit(0, 1, 3, 2, 4)]
    assert made("parameters_set", initiator="remote") == [Credit(0, None, None, None, None)]
    assert made("parameters_set", owner="local", **limits) == [] == made("parameters_set", **limits)


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("connection_data_blocked_updated", {}, "connection"),
        ("stream_data_blocked_updated", {"stream_id": 8}, "stream 8"),
        ("datagram_data_blocked_updated", {}, "datagrams"),
    ],
)
def test_a_stack_says_what_is_blocked_and_why(name: str, data: dict[str, Any], what: str) -> None:
    for reason, cause in (
        ("scheduling", "scheduling"),
        ("pacing", "pacing"),
        ("amplification_protection", "amplification"),
        ("congestion_control", "cwnd"),
        ("connection_flow_control", "flow-connection"),
        ("stream_flow_control", "flow-stream"),
        ("stream_id", "stream-limit"),
        ("application", "application"),
        ("other", "blocked"),
    ):
        assert made(name, **data, new="blocked", reason=reason) == [Blocked(0, what, cause)]
    assert made(name, **data, new="unblocked", reason="pacing") == [Blocked(0, what, "")]
    assert made(name, **data, new="other") == []


@pytest.mark.parametrize(
    ("data", "what", "why"),
    [
        ({"trigger": "idle_timeout"}, "It timed out, idle,", ""),
        ({"trigger": "stateless_reset"}, "The peer had lost its state, and reset it", ""),
        ({}, "One end closed it", ""),
        ({"owner": "local", "error_code": 0}, "This end closed it", ", without an error"),
        ({"initiator": "remote", "code": 7, "reason": " bye "}, "The peer closed it", ', error 7: "bye"'),
        ({"raw_error_code": 9, "error_code": 3}, "One end closed it", ", error 3"),
        ({"trigger": "clean", "application_error": "no_error"}, "One end closed it", " (clean), no_error"),
        ({"connection_error": "unknown", "application_code": "x" * 61}, "One end closed it", f", {'x' * 60}"),
        ({"reason": "y" * 201}, "One end closed it", f': "{"y" * 200}"'),
        ({"trigger": "t" * 61}, "One end closed it", f" ({'t' * 60})"),
    ],
)
def test_the_end_is_reported_with_who_and_why(data: dict[str, Any], what: str, why: str) -> None:
    assert made("connection_closed", **data) == [Closed(0, what, why)]


def test_the_first_frame_that_closes_is_the_end() -> None:
    close = {"frame_type": "connection_close", "error_code": 1}
    found = log(
        ("packet_received", {"frames": [close, close]}),
        ("packet_sent", {"frames": [close], "raw": {"length": 1}}),
        ("connection_closed", {"owner": "local"}),
    )
    closed = [event for event in found.events if isinstance(event, Closed)]
    assert closed == [Closed(0, "The peer closed it", ", error 1"), Closed(2, "This end closed it")]
    mine = log(("packet_sent", {"frames": [close], "raw": {"length": 1}}))
    assert mine.events[-1] == Closed(0, "This end closed it", ", error 1")


def test_a_log_has_the_notes_of_its_file_and_the_step_of_its_clock() -> None:
    found = log(("unknown", {}), notes=["cut"], whole_ms=True, end="server")
    assert (found.name, found.end, found.tick_ns) == ("n", "server", 1_000_000)
    assert found.notes == [
        "cut",
        "it has no event of packets, recovery or a connection's end: nothing is known",
    ]
    fine = log(("packet_lost", {}))
    assert (fine.tick_ns, fine.notes, fine.by_stack, fine.stream_window) == (1, [], True, None)
