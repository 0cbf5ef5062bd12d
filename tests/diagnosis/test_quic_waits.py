"""What a QUIC sender waited for, by logs whose answer is known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cwndlab.apps.diagnosis.causes import CAUSES
from cwndlab.apps.diagnosis.diagnosis import Diagnosis
from cwndlab.apps.diagnosis.quic.explain_qlog import as_logs
from cwndlab.apps.diagnosis.quic.explain_quic import diagnose_logs
from cwndlab.apps.diagnosis.quic.qlog_file import parse_qlog

Event = tuple[float, str, dict[str, Any]]


def sent(time: float, number: int, *frames: dict[str, Any], size: int = 1200, kind: str = "1RTT") -> Event:
    header = {"packet_type": kind, "packet_number": number}
    return time, "transport:packet_sent", {"header": header, "raw": {"length": size}, "frames": list(frames)}


def stream(offset: int, length: int = 1000, stream_id: int = 0) -> dict[str, Any]:
    return {"frame_type": "stream", "stream_id": stream_id, "offset": offset, "length": length}


def received(time: float, *frames: dict[str, Any], number: int = 0) -> Event:
    header = {"packet_type": "1RTT", "packet_number": number}
    return time, "transport:packet_received", {"header": header, "frames": list(frames)}


def ack(*ranges: tuple[int, int]) -> dict[str, Any]:
    return {"frame_type": "ack", "acked_ranges": [list(one) for one in ranges]}


def metrics(time: float, **values: float) -> Event:
    return time, "recovery:metrics_updated", values


def state(time: float, new: str, **more: str) -> Event:
    return time, "recovery:congestion_state_updated", {"new": new, **more}


#: A handshake of 40 ms, after which packet 0 is acknowledged and a window of 12,000 bytes is free.
START: list[Event] = [
    sent(0, 0, {"frame_type": "crypto", "offset": 0, "length": 300}, kind="initial"),
    sent(40, 0, stream(0)),
    received(80, ack((0, 0))),
    metrics(80, congestion_window=12_000, bytes_in_flight=0, min_rtt=40),
]


def explain(events: list[Event], at_s: float | None = None, end: str = "client") -> Diagnosis:
    rows = [{"time": time, "name": name, "data": data} for time, name, data in events]
    trace = {"vantage_point": {"type": end}, "events": rows}
    content = json.dumps({"qlog_version": "0.3", "traces": [trace]}).encode()
    return diagnose_logs(as_logs(parse_qlog(content, "made")), at_s, longest=9)


def flight(time: float, first: int, count: int) -> list[Event]:
    """Packets of 1200 bytes with 1000 bytes of data each."""
    return [sent(time, number, stream(1000 * number)) for number in range(first, first + count)]


def longest(found: Diagnosis) -> tuple[str, bool, float]:
    one = max(found.waits, key=lambda wait: wait.end_s - wait.start_s)
    return one.cause, one.certain, round(one.end_s - one.start_s, 3)


def test_a_full_window_is_what_the_stack_says_and_an_acknowledgment_shows() -> None:
    full = [*flight(80, 1, 10), metrics(80, bytes_in_flight=12_000)]
    freed = [received(120, ack((1, 2))), metrics(120, bytes_in_flight=9_600), *flight(120, 11, 2)]
    found = explain([*START, *full, *freed])
    assert found.waited_s == {"handshake": pytest.approx(0.08), "cwnd": pytest.approx(0.04)}
    assert found.notes == () and found.waits_known


def test_acknowledgments_of_what_was_not_sent_count_for_nothing() -> None:
    strange = received(120, ack((2, 2), (500, 10**12), (10**17, 10**18)))
    found = explain([*START, *flight(80, 1, 3), strange, *flight(120, 4, 1)])
    assert found.summaries[0].acknowledged_bytes == 2000
    late = [*START, sent(80, 9, stream(1000)), sent(80, 5, stream(2000)), received(120, ack((5, 9)))]
    assert explain(late).summaries[0].acknowledged_bytes == 3000, "numbers that are not in order count, too"


def test_losses_that_are_repaired_are_told_from_a_full_window() -> None:
    full = [*flight(80, 1, 10), metrics(80, bytes_in_flight=12_000)]
    lost: list[Event] = [
        (100, "recovery:packet_lost", {"header": {"packet_type": "1RTT", "packet_number": 1}}),
        metrics(100, congestion_window=6_000, bytes_in_flight=9_600),
        received(121, ack((2, 8))),
        metrics(121, bytes_in_flight=2_400),
        *flight(121, 11, 1),
    ]
    found = explain([*START, *full, *lost])
    assert longest(found) == ("recovery", True, 0.041)
    assert found.summaries[0].retransmitted == 1


def test_flow_control_is_named_by_frames_and_shown_by_offsets() -> None:
    """With the frame the stack says so; without it, offsets that reach the limit show it."""
    limits: Event = (1, "transport:parameters_set", {"owner": "remote", "initial_max_data": 3000})
    blocked = {"frame_type": "data_blocked", "limit": 3000}
    raised = received(200, {"frame_type": "max_data", "maximum": 9000})
    data = [sent(80, 1, stream(1000)), sent(80, 2, stream(2000), blocked)]
    more = [raised, sent(200, 3, stream(3000))]
    named = explain([START[0], limits, *START[1:], *data, *more])
    assert longest(named) == ("flow-connection", True, 0.12)
    steps = [step.text for step in max(named.waits, key=lambda wait: wait.end_s).steps]
    assert "the stack sent DATA_BLOCKED at 3000" in steps and "MAX_DATA 9000 arrived" in steps
    data[1] = sent(80, 2, stream(2000))
    assert longest(explain([START[0], limits, *START[1:], *data, *more])) == ("flow-connection", False, 0.12)


def test_a_frame_for_a_limit_that_data_has_not_reached_blocks_nothing() -> None:
    early = {"frame_type": "stream_data_blocked", "stream_id": 0, "limit": 90_000}
    events = [sent(80, 1, stream(1000), early), sent(180, 2, stream(2000)), sent(181, 3, stream(3000))]
    found = explain([*START, *events])
    assert longest(found)[0] == "application"
    assert "the stack sent 1 BLOCKED frame for limits that its data had not reached" in found.notes
    early["limit"] = 2000
    assert longest(explain([*START, *events]))[0] == "flow-stream"


@pytest.mark.parametrize(
    ("end", "stream_id", "key"),
    [
        ("client", 0, "initial_max_stream_data_bidi_remote"),
        ("server", 0, "initial_max_stream_data_bidi_local"),
        ("server", 3, "initial_max_stream_data_uni"),
    ],
)
def test_the_limit_of_a_stream_depends_on_who_opened_it(end: str, stream_id: int, key: str) -> None:
    limits: Event = (1, "transport:parameters_set", {"owner": "remote", "initial_max_data": 10**6, key: 2000})
    events = [
        sent(80, 1, stream(0, 2000, stream_id)),
        received(200, {"frame_type": "max_stream_data", "stream_id": stream_id, "maximum": 4000}),
        sent(200, 2, stream(2000, 1000, stream_id)),
    ]
    assert longest(explain([START[0], limits, *START[1:], *events], end=end)) == ("flow-stream", False, 0.12)


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("pacing", "pacing"),
        ("congestion_control", "cwnd"),
        ("stream_id", "stream-limit"),
        ("amplification_protection", "amplification"),
        ("scheduling", "scheduling"),
        ("application", "application"),
        (None, "blocked"),
    ],
)
def test_what_the_current_draft_has_for_blocked_connections_is_the_cause(
    reason: str | None, cause: str
) -> None:
    said = {} if reason is None else {"reason": reason}
    events: list[Event] = [
        sent(80, 1, stream(1000)),
        (80, "quic:connection_data_blocked_updated", {"new": "blocked", **said}),
        (180, "quic:connection_data_blocked_updated", {"new": "unblocked"}),
        sent(180, 2, stream(2000)),
        sent(181, 3, stream(3000)),
    ]
    found = explain([*START, *events])
    assert longest(found)[::2] == (cause, 0.1)
    assert CAUSES[cause]


def test_an_application_without_data_is_told_from_a_pacer_and_a_timer() -> None:
    alone = [sent(80, 1, stream(1000)), received(120, ack((1, 1))), sent(400, 2, stream(2000))]
    assert longest(explain([*START, *alone])) == ("application", False, 0.32)
    paced = [*flight(80, 1, 3), sent(100, 4, stream(4000))]
    assert explain([*START, *paced], at_s=0.09).waits[0].cause == "pacing"
    again = [*flight(80, 1, 3), sent(400, 4, stream(1000))]
    assert longest(explain([*START, *again])) == ("pto", False, 0.32)


def test_a_probe_timeout_is_what_the_stack_says_by_its_event_or_its_count() -> None:
    event: Event = (400, "recovery:loss_timer_updated", {"event_type": "expired", "timer_type": "pto"})
    for said in (event, metrics(400, pto_count=1)):
        assert longest(explain([*START, *flight(80, 1, 3), said, sent(400, 4, stream(4000))])) == (
            "pto",
            True,
            0.32,
        )
    early = metrics(200, pto_count=1)  # nothing was sent for it
    assert longest(explain([*START, *flight(80, 1, 3), early, sent(400, 4, stream(4000))]))[0] != "pto"


def test_persistent_congestion_is_named_until_the_window_has_grown() -> None:
    full = [*flight(80, 1, 10), metrics(80, bytes_in_flight=12_000)]
    fall: list[Event] = [
        *(
            (300, "recovery:packet_lost", {"header": {"packet_type": "1RTT", "packet_number": n}})
            for n in range(1, 11)
        ),
        metrics(300, congestion_window=2_400, bytes_in_flight=0),
        *flight(300, 11, 2),
        metrics(300, bytes_in_flight=2_400),
        received(340, ack((11, 12))),
        metrics(340, congestion_window=20_000, bytes_in_flight=0),
        *flight(340, 13, 16),
        metrics(340, bytes_in_flight=19_200),
        received(380, ack((13, 13))),
        metrics(380, bytes_in_flight=18_000),
        *flight(380, 29, 1),
    ]
    found = explain([*START, *full, *fall])
    assert found.notes == ("persistent congestion: the window fell from 12000 to 2400 bytes at 0.300000 s",)
    assert [(one.start_s, one.cause) for one in explain([*START, *full, *fall], at_s=0.31).waits] == [
        (0.3, "persistent-congestion")
    ]
    assert explain([*START, *full, *fall], at_s=0.35).waits[0].cause == "cwnd"


def test_a_state_from_before_the_last_packet_does_not_explain_a_full_window() -> None:
    idle = [*flight(80, 1, 2), state(80, "application_limited")]
    full = [*flight(100, 3, 8), metrics(100, bytes_in_flight=12_000)]
    freed = [received(160, ack((1, 2))), metrics(160, bytes_in_flight=9_600), *flight(160, 11, 2)]
    waited = explain([*START, *idle, *full, *freed]).waited_s
    assert waited["application"] == pytest.approx(0.02)
    assert waited["cwnd"] == pytest.approx(0.06)


def test_where_the_stack_and_its_packets_disagree_both_are_named() -> None:
    full = [*flight(80, 1, 10), metrics(80, bytes_in_flight=12_000), state(80, "application_limited")]
    freed = [received(120, ack((1, 2))), metrics(120, bytes_in_flight=9_600), *flight(120, 11, 2)]
    found = explain([*START, *full, *freed])
    assert found.notes == (
        "in 1 of 3 waits (40 ms) the packets do not show what the stack says: the longest at 0.080000 s, "
        "application by the stack, cwnd by its packets",
    )
    [wait] = explain([*START, *full, *freed], at_s=0.1).waits
    assert (wait.cause, wait.certain) == ("application", False)
    assert any(step.text.startswith("by its packets: the congestion window was full") for step in wait.steps)


def test_bytes_in_flight_that_packets_contradict_are_named() -> None:
    events = list(START)
    for round_trip in range(1, 15):
        time = 40 + 40 * round_trip
        events += [*flight(time, round_trip, 1), metrics(time, bytes_in_flight=9_000)]
        events.append(received(time + 39, ack((round_trip, round_trip))))
    assert explain(events).notes[1:] == (
        "14 of 14 statements of bytes in flight differ by more than two packets from what was sent and "
        "neither acknowledged nor declared lost",
    )


@pytest.mark.parametrize(
    ("name", "data", "ended"),
    [
        (
            "transport:connection_closed",
            {"initiator": "local", "connection_error": "flow_control_error", "reason": "too much"},
            'This end closed it at 0.500000 s, flow_control_error: "too much".',
        ),
        ("quic:connection_closed", {"trigger": "idle_timeout"}, "It timed out, idle, at 0.500000 s."),
        (
            "quic:connection_closed",
            {"trigger": "stateless_reset"},
            "The peer had lost its state, and reset it at 0.500000 s.",
        ),
        (
            "quic:connection_closed",
            {"initiator": "remote", "application_error": "unknown", "error_code": 7},
            "The peer closed it at 0.500000 s, error 7.",
        ),
        ("quic:connection_closed", {}, "One end closed it at 0.500000 s."),
    ],
)
def test_how_a_connection_ended_is_said_with_its_reason(name: str, data: dict[str, Any], ended: str) -> None:
    assert explain([*START, (500, name, data)]).summaries[0].ended == ended


def test_a_frame_that_closes_counts_once() -> None:
    close = {"frame_type": "connection_close", "error_space": "transport", "error_code": 3, "reason": "bye"}
    found = explain([*START, received(500, close), received(510, close)])
    assert found.summaries[0].ended == 'The peer closed it at 0.500000 s, error 3: "bye".'


def test_the_log_of_a_receiver_says_what_its_peer_said() -> None:
    arrived = [
        received(80, {**stream(0, 5000), "stream_id": 3}),
        received(81, {"frame_type": "stream_data_blocked", "stream_id": 3, "limit": 5000}),
    ]
    assert explain([*START, *arrived]).notes[0] == (
        "this end received most of the data; the peer said 1 time that it was blocked: the sender's qlog "
        "says what that one waited for"
    )


def test_a_stack_that_says_nothing_of_its_window_is_explained_by_its_packets() -> None:
    quiet = [*START[:3], *flight(80, 1, 4), received(120, ack((1, 2))), *flight(120, 5, 2)]
    found = explain(quiet)
    assert found.notes == (
        "the stack says nothing of a full window or a limit; causes are inferred from its packets",
    )
    assert explain(quiet, at_s=0.1).waits[0].cause == "cwnd" and not explain(quiet, at_s=0.1).waits[0].certain


def test_at_a_moment_without_a_wait_the_diagnosis_says_so() -> None:
    found = explain([*START, *flight(80, 1, 3)], at_s=9.0)
    assert found.waits == () and "at 9 s no sender waited between two packets" in found.notes
