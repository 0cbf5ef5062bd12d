"""The diagnosis of QUIC programs from their logs next to the records of their datagrams, by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from cwndlab.apps.diagnosis.quic import explain_qlog, quic_run
from cwndlab.apps.diagnosis.quic.qlog_file import RawTrace
from cwndlab.apps.diagnosis.quic.quic_log import Lost, Metrics, QuicLog, Received, Sent
from cwndlab.apps.diagnosis.quic.quic_run import asks_for_qlog, diagnose_program, is_datagrams
from cwndlab.apps.diagnosis.quic.quic_waits import QuicWait, Replayed
from cwndlab.apps.diagnosis.summary import Summary

MS = 1_000_000


def test_programs_that_write_to_a_folder_of_their_own_are_asked_for_logs() -> None:
    plain, own, bulk = {"kind": "program"}, {"kind": "program", "folder": "/x"}, {"kind": "bulk"}
    set_ = {"kind": "program", "environment": {"QLOGDIR": "logs", "A": "b"}}
    found = asks_for_qlog({"traffic": [{"name": "a", "app": app} for app in (plain, own, bulk, set_)]})
    assert [one["app"].get("environment") for one in found] == [
        {"QLOGDIR": "."},
        None,
        None,
        {"QLOGDIR": "logs", "A": "b"},
    ]
    assert found[0]["name"] == "a" and plain == {"kind": "program"}


#: Of traffic 0 are connections 4 and 5, of traffic 1 is 6. Times in ms.
ROWS: list[tuple[Any, ...]] = [
    (10, 4, True, True, 1200, 0, "send"),
    (11, 5, True, True, 500, 0, "send"),
    (12, 4, True, True, 1200, 0, "drop"),
    (13, 6, True, True, 9000, 0, "send"),
    (40, 4, False, True, 60, 0, "send"),
    (50, 4, False, False, 60, 0, "receive"),
    (51, 4, True, False, 1200, 0, "receive"),
]


def columns(rows: list[tuple[Any, ...]] = ROWS) -> Any:
    names = ("time_ns", "connection", "from_client", "sent", "len", "flags", "event")
    segments = {name: np.array([row[k] for row in rows]) for k, name in enumerate(names)}
    segments["time_ns"] = segments["time_ns"] * MS
    connections = {"connection": np.array([4, 5, 6]), "traffic": np.array([0, 0, 1])}
    return {"segments": segments, "connections": connections}.__getitem__


def test_datagrams_are_those_of_a_traffic_entry_at_its_sender() -> None:
    found = quic_run._datagrams(columns(), 0, True)
    assert (found.sent_ns.tolist(), found.received_ns.tolist()) == ([10 * MS, 11 * MS], [50 * MS])
    assert (found.sent_bytes, found.dropped) == (1700, 1)
    back = quic_run._datagrams(columns(), 0, False)
    assert (back.sent_ns.tolist(), back.received_ns.tolist(), back.dropped) == ([40 * MS], [51 * MS], 0)


def test_packets_without_flags_are_datagrams() -> None:
    assert is_datagrams(columns(), 0) and is_datagrams(columns(), 1)
    flagged = [(*row[:5], 16 if row[1] == 5 else 0, row[6]) for row in ROWS]
    assert not is_datagrams(columns(flagged), 0) and is_datagrams(columns(flagged), 1)
    assert not is_datagrams(columns([row for row in ROWS if row[1] == 6]), 0), "no packets are none"


def log(*events: Any, tick_ns: int = 1) -> QuicLog:
    return QuicLog("log", "client", list(events), tick_ns=tick_ns)


def sent(ms: float) -> Sent:
    return Sent(round(ms * MS), ("application", 1), 1200, True)


def datagrams(*sent_ms: float, received_ms: tuple[float, ...] = ()) -> Any:
    times = [np.array([round(one * MS) for one in every], np.int64) for every in (sent_ms, received_ms)]
    return quic_run._Datagrams(*times, 1200 * len(sent_ms), 2)


def test_the_first_packet_of_a_log_is_the_first_datagram_of_its_direction() -> None:
    made = log(Metrics(0, {}), sent(5), Received(25 * MS))
    found = quic_run._on_our_clock(made, datagrams(105, received_ms=(300,)))
    assert [event.time_ns for event in found.events] == [100 * MS, 105 * MS, 125 * MS]
    first = quic_run._on_our_clock(log(Received(25 * MS), sent(30)), datagrams(105, received_ms=(300,)))
    assert [event.time_ns for event in first.events] == [300 * MS, 305 * MS]
    for unchanged, packets in ((log(Metrics(3, {})), datagrams(1)), (made, datagrams())):
        assert quic_run._on_our_clock(unchanged, packets) is unchanged


def wait(start_ms: float, end_ms: float) -> QuicWait:
    return QuicWait(round(start_ms * MS), round(end_ms * MS), "cwnd", "", None, None, [], sent(end_ms))


def differences(made: QuicLog, waits: list[QuicWait], packets: Any) -> list[str]:
    return quic_run._differences(made, Replayed(waits=waits), packets)


LOSSES = "the stack declared {} lost; links dropped 2 of its datagrams"


def test_losses_of_the_stack_are_compared_with_drops_of_links() -> None:
    assert differences(log(sent(1), Lost(1, None)), [], datagrams(1)) == [LOSSES.format("1 packet")]
    assert differences(log(), [], datagrams()) == [LOSSES.format("0 packets")]


@pytest.mark.parametrize(
    ("logged", "left", "tick_ns", "noted"),
    [
        ([0, 100], [0, 50, 100], 1, True),
        ([0, 50, 100], [0, 50, 100], 1, False),
        ([0, 100], [0, 0.9, 100], 1, False),  # within 1 ms of the ends
        ([0, 100], [0, 1, 100], 1, True),
        ([0, 100], [0, 99.5, 100], 1, False),
        ([0, 100], [0, 9, 100], 10 * MS, False),  # or within the resolution of the log
        ([0, 100], [0, 50, 100], 50 * MS, False),  # a wait of two of these shows nothing
    ],
)
def test_datagrams_that_the_log_lacks_are_noted(
    logged: list[float], left: list[float], tick_ns: int, noted: bool
) -> None:
    made = log(*map(sent, logged), tick_ns=tick_ns)
    found = differences(made, [wait(0, 100)], datagrams(*left))
    words = "in 1 wait of the log, datagrams of it left that the log does not have"
    assert (words in found) is noted


def test_waits_with_datagrams_are_counted() -> None:
    found = differences(
        log(*map(sent, (0, 100, 200, 202))),
        [wait(0, 100), wait(100, 200), wait(200, 202)],
        datagrams(50, 150, 201),
    )
    assert found[1].startswith("in 2 waits of the log")


@pytest.mark.parametrize(
    ("left_ms", "tick_ns", "words"),
    [
        (1.0, 0, ""),
        (1.5, 0, "datagrams left up to 1.5 ms later than the stack says"),
        (1.5, MS, ""),
        (2.5, MS, "datagrams left up to 2.5 ms later than the stack says"),
    ],
)
def test_datagrams_that_leave_late_are_noted(left_ms: float, tick_ns: int, words: str) -> None:
    made = log(sent(0), sent(50), tick_ns=tick_ns)
    found = differences(made, [], datagrams(0, left_ms, 50))
    assert found[1:] == ([words] if words else [])


SCENARIO: dict[str, Any] = {
    "nodes": ["a", "b"],
    "routes": [],
    "links": [
        {
            "from": 0,
            "to": 1,
            "rate_bps": 8_000_000,
            "delay_ns": 10 * MS,
            "queue": {"kind": "drop-tail", "limit": 9},
        },
        {
            "from": 1,
            "to": 0,
            "rate_bps": 8_000_000,
            "delay_ns": 10 * MS,
            "queue": {"kind": "drop-tail", "limit": 9},
        },
    ],
    "traffic": [{"name": "web", "client": 0, "server": 1}],
}


def summary(acknowledged: int, seconds: float) -> Summary:
    return Summary("c", seconds, acknowledged, 9, 0, None, {"cwnd": 0.5})


def test_a_summary_has_the_share_of_the_bottleneck() -> None:
    found = quic_run._with_bottleneck(summary(500_000, 1.0), SCENARIO, 0, 0)
    assert found.bottleneck.startswith(
        "It used 50 % of the bottleneck (8 Mb/s, BDP 20 kB, buffer 9 packets); largest"
    )
    assert "(0.5 s of 1)" in found.bottleneck
    for nothing in (summary(0, 1.0), summary(500_000, 0.0)):
        assert quic_run._with_bottleneck(nothing, SCENARIO, 0, 0) is nothing
    alone = SCENARIO | {"links": SCENARIO["links"][:1]}
    assert quic_run._with_bottleneck(summary(500_000, 1.0), alone, 0, 0).bottleneck == "", (
        "there is no way back"
    )
    assert quic_run._with_bottleneck(summary(1_000_000, 1.0), SCENARIO, 0, 1).bottleneck.startswith(
        "It filled 100 %"
    )


def diagnosed(*files: dict[str, Any], node: int = 0) -> Any:
    return diagnose_program(columns(), files, SCENARIO, 0, node, None, 5)


def test_a_program_without_a_log_shows_its_datagrams() -> None:
    found = diagnosed(
        {"traffic": 1, "end": "client", "name": "x", "content": b""}, {"traffic": 0, "end": "server"}
    )
    (note,) = found.notes
    assert note == (
        "the program at the sender wrote no qlog, so what it waited for is not known; stacks that heed "
        "QLOGDIR write some"
    )
    (one,) = found.summaries
    assert not found.waits_known and found.waits == () and found.waited_s == {}
    assert (one.conversation, one.acknowledged_bytes, one.segments, one.retransmitted) == ("web", 1700, 2, 1)
    assert one.seconds == pytest.approx(0.001) and "1 of 2" not in str(one)
    assert "50 % of 2 datagrams dropped by links" in str(one)
    none = quic_run._outside("web", datagrams())
    assert (none.seconds, none.segments) == (0.0, 0)


def qlog(*times: float) -> bytes:
    rows = [
        {
            "time": time,
            "name": "transport:packet_sent",
            "data": {
                "header": {"packet_type": "1RTT", "packet_number": k},
                "raw": {"length": 1200},
                "frames": [{"frame_type": "stream", "stream_id": 0, "offset": 1000 * k, "length": 1000}],
            },
        }
        for k, time in enumerate(times)
    ]
    return json.dumps(
        {"qlog_version": "0.3", "traces": [{"vantage_point": {"type": "client"}, "events": rows}]}
    ).encode()


def test_a_log_is_explained_on_the_clock_of_the_run() -> None:
    broken = {"traffic": 0, "end": "client", "name": "broken.qlog", "content": b"{"}
    found = diagnosed(broken, {"traffic": 0, "end": "client", "name": "a.qlog", "content": qlog(0, 1)})
    assert "broken.qlog" in found.notes[0]
    assert found.notes[1] == "the stack declared 0 packets lost; links dropped 1 of its datagrams"
    assert found.summaries[0].conversation.startswith("web, ")
    two = {"traffic": 0, "end": "client", "name": "b.qlog", "content": qlog(0, 1)}
    both = diagnosed(two, two)
    assert both.notes[0] == "2 connections: their times count from the first event of each log"
    assert len(both.summaries) == 2
    served = diagnosed({**two, "end": "server"}, node=1)
    assert len(served.summaries) == 1 and served.waits_known


def test_of_many_connections_those_with_the_most_events_are_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explain_qlog, "_MOST", 2)
    monkeypatch.setattr(explain_qlog, "as_log", lambda trace, name: QuicLog(name, "client", []))
    traces = [RawTrace(title, "client", [{}] * count) for title, count in (("a", 1), ("", 3), ("c", 2))]
    logs = explain_qlog.as_logs(traces)
    assert [one.name for one in logs] == ["connection 0, client", "c, client"]
    assert logs[0].notes == ["1 connections with fewer events are left out"]
    assert all(one.notes == [] for one in explain_qlog.as_logs(traces[:2]))
