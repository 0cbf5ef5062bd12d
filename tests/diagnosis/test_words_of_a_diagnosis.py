"""What a diagnosis says: rates, round trips, and the steps of an explanation, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cwndlab.apps.diagnosis.bottleneck import size_text
from cwndlab.apps.diagnosis.causes import CAUSES
from cwndlab.apps.diagnosis.conversation import ACK, FIN, SYN, Conversation, Drop, Known, Packet
from cwndlab.apps.diagnosis.diagnosis import Diagnosis, Explanation, Step, explain
from cwndlab.apps.diagnosis.summary import length_text, summarize_all
from cwndlab.apps.diagnosis.waits import Wait
from made_packets import MS, got, sent, summary


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {},
            "2 Mb/s for 2 s, 2 % of 400 segments retransmitted, round trip at least 40 ms, "
            "median 52.5 ms. Waited 1.5 s (the congestion window was full).",
        ),
        ({"rtt_s": None, "waited_s": {}}, "2 Mb/s for 2 s, 2 % of 400 segments retransmitted."),
        ({"segments": 0, "rtt_s": None, "waited_s": {}}, "2 Mb/s for 2 s."),
        (
            {"rtt_s": None, "waited_s": {}, "bottleneck": "It filled it.", "ended": "It ended."},
            "2 Mb/s for 2 s, 2 % of 400 segments retransmitted. It filled it. It ended.",
        ),
        ({"segments": 0, "acknowledged_bytes": 0}, "sent no data"),
        ({"segments": 0, "acknowledged_bytes": 0, "ended": "No answer."}, "sent no data. No answer."),
        (
            {"rtt_s": None, "waited_s": {"cwnd": 1.0, "nagle": 0.25}},
            "2 Mb/s for 2 s, 2 % of 400 segments retransmitted. Waited 1 s (the congestion window was full) "
            "and 250 ms (a small segment waited for an ACK (Nagle)).",
        ),
        ({"segments": 0, "rtt_s": None, "waited_s": {}, "tick_s": 0.04}, "2 Mb/s for 2 s."),
        ({"segments": 0, "rtt_s": None, "waited_s": {}, "tick_s": 0.5}, "1.6 to 2.67 Mb/s for 2 s."),
        ({"segments": 0, "rtt_s": None, "waited_s": {}, "tick_s": 2.0}, "at least 1 Mb/s for 2 s."),
        ({"segments": 0, "rtt_s": None, "waited_s": {}, "seconds": 0.0}, "0 Mb/s for 0 ms."),
    ],
)
def test_a_summary_is_in_sentences(changes: dict[str, Any], words: str) -> None:
    assert str(summary(**changes)) == f"a > b: {words}"


def test_many_summaries_are_one_sentence() -> None:
    every = [summary(), summary(rtt_s=(0.02, 0.0725), segments=100, retransmitted=2), summary(rtt_s=None)]
    expected = (
        "3 connections: 1.5 MB, 2 % of 900 segments retransmitted, round trip at least 20 ms, median 62.5 ms."
    )
    assert summarize_all(every) == expected
    assert summarize_all([summary(rtt_s=None, segments=0, retransmitted=0)]).endswith(
        "0 % of 0 segments retransmitted."
    )


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.0, "1 s"), (0.9996, "1e+03 ms"), (0.0123, "12.3 ms"), (75.04, "75 s")]
)
def test_a_length_is_in_seconds_from_one_second_on(seconds: float, text: str) -> None:
    assert length_text(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"), [(1e6, "1 MB"), (999_000, "999 kB"), (1234, "1.23 kB"), (2.5e7, "25 MB")]
)
def test_a_size_is_in_megabytes_from_one_on(size: float, text: str) -> None:
    assert size_text(size) == text


def wait(cause: str, **changes: Any) -> Wait:
    made = Wait(100 * MS, 400 * MS, cause, True, sent(400, 1000, 500), 5, 1000, 4000, 9000, 1)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


PACKETS = [
    sent(0, 0, 1000),
    got(40, 1000, 8000),
    sent(50, 2000, 1000, drop=Drop(55 * MS, "bottleneck", "the queue was full")),
    sent(60, 3000, 1000),
    got(90, 1000, 7000, length=30),
    sent(400, 1000, 500),
]


def steps(made: Wait, **changes: Any) -> list[tuple[float, str]]:
    conversation = replace(Conversation("c", PACKETS, 1000, "sender"), **changes)
    return [(step.time_ns / MS, step.text) for step in explain(conversation, made).steps]


def test_a_timeout_is_explained_by_the_loss_and_the_duplicates() -> None:
    earlier = [
        sent(45, 1000, 500, drop=Drop(48 * MS, "bottleneck", "lost on the link")),
        sent(70, 1000, 500),
        sent(75, 1000, 500, unseen=True),
    ]
    found = steps(wait("rto-few-dupacks", earlier=earlier, timer=("rto", 90 * MS, 3)))
    assert found == [
        (45, "bytes 1000 to 1499 sent"),
        (48, "bytes 1000 to 1499 dropped at bottleneck: lost on the link"),
        (70, "bytes 1000 to 1499 sent again"),
        (75, "bytes 1000 to 1499 is missing in the capture"),
        (
            90,
            "1 duplicate ACK had arrived since the last new ACK, 3 cause a fast retransmit; "
            "3000 bytes (3 segments) were outstanding; 1 of the later segments had been dropped, too",
        ),
        (400, "the retransmission timer of 310 ms expired, after 2 before it without progress"),
        (400, "bytes 1000 to 1499 sent again"),
    ]
    assert "no duplicate ACKs had" in steps(wait("rto", dupacks=0))[0][1]
    assert "2 duplicate ACKs had" in steps(wait("policer", dupacks=2, nxt=4001))[0][1]
    assert "3001 bytes (4 segments)" in steps(wait("lost-retransmission", nxt=4001))[0][1]
    assert steps(wait("rto", at=0))[0][0] == 100, "nothing has arrived"
    assert len(steps(wait("cwnd"))) == 1 and len(steps(wait("rto", next=sent(400, flags=SYN)))) == 1


@pytest.mark.parametrize(
    ("timer", "text"),
    [
        (("rto", 200 * MS, 1), "the retransmission timer of 200 ms expired"),
        (("probe", 0, 0), "the tail loss probe timer of 400 ms expired"),
        (("persist", 300 * MS, 2), "the persist timer of 100 ms expired, after 1 before it without progress"),
    ],
)
def test_a_timer_is_named_with_its_length(timer: tuple[str, int, int], text: str) -> None:
    assert (400, text) in steps(wait("probe", timer=timer))


def test_a_closed_window_is_the_one_last_offered() -> None:
    assert steps(wait("zero-window"))[0] == (100, "the receiver offered a window of 7000 bytes")
    assert steps(wait("receive-window", at=3, start_ns=30 * MS))[0] == (
        40,
        "the receiver offered a window of 8000 bytes",
    )
    assert len(steps(wait("receive-window", at=1))) == 1
    assert steps(wait("ecn-one-segment"))[0] == (
        90,
        "an ACK with an ECN echo arrived while one segment was outstanding",
    )


def known(*windows: tuple[int, int, int], law: str = "cubic") -> Known:
    return Known([], {}, [(at * MS, cwnd, ssthresh) for at, cwnd, ssthresh in windows], law)


def test_the_congestion_window_is_the_least_of_the_wait() -> None:
    rows = ((10, 9000, -1), (150, 3000, 4500), (300, 6000, 4500), (400, 100, 50))
    (first, _) = steps(wait("cwnd"), known=known(*rows))
    assert first == (
        150,
        "cwnd fell from 9000 to 3000 bytes, ssthresh 4500 bytes; 3000 bytes were outstanding",
    )
    (first, _) = steps(wait("recovery"), known=known(rows[0]))
    assert first == (100, "cwnd was 9000 bytes, no ssthresh yet; 3000 bytes were outstanding")
    (first, _) = steps(wait("cwnd", at=1), known=known(rows[0]))
    assert first[1].endswith("4000 bytes were outstanding"), "nothing is acknowledged"
    for law, cwnd, named in (("bbr1", 4000, True), ("bbr1", 4001, False), ("cubic", 4000, False)):
        (first, _) = steps(wait("cwnd"), known=known((10, 9000, -1), (150, cwnd, -1), law=law))
        assert ("(ProbeRTT: BBR sends at most 4 segments for 200 ms" in first[1]) is named
    assert (
        len(steps(wait("pacing"), known=known(*rows))) == 1 and len(steps(wait("cwnd"), known=known())) == 1
    )


def test_a_request_that_ended_the_wait_of_an_application_is_named() -> None:
    assert steps(wait("application", start_ns=80 * MS))[0] == (90, "30 bytes arrived from the peer")
    for changes in ({"start_ns": 90 * MS}, {"end_ns": 90 * MS}, {"at": 3}):
        assert len(steps(wait("application", **changes))) == 1


@pytest.mark.parametrize(
    ("packet", "name"),
    [
        (sent(400, flags=SYN), "the SYN"),
        (sent(400, flags=SYN | ACK), "the SYN-ACK"),
        (sent(400, 9, 1, probe="keep-alive"), "a keep-alive"),
        (sent(400, 9, 1, probe="window"), "a window probe"),
        (sent(400, 9, 0), "a window probe"),
        (sent(400, 9, 0, FIN), "the FIN"),
        (sent(400, 1000, 500), "bytes 1000 to 1499"),
    ],
)
def test_a_segment_has_a_name(packet: Packet, name: str) -> None:
    assert steps(wait("application", next=packet, at=0)) == [(400, f"{name} sent")]
    assert steps(wait("application", next=None, at=0)) == []


def test_an_explanation_says_whether_it_is_inferred() -> None:
    made = Explanation("c", 0.1, 0.4, "nagle", "a reason", False, (Step(250 * MS, "a step"),))
    assert str(made) == "0.100000 to 0.400000 s (300 ms): a reason (inferred)\n  0.250000 s  a step"
    assert str(replace(made, certain=True, steps=())) == "0.100000 to 0.400000 s (300 ms): a reason"
    assert made.to_dict()["steps"] == [{"time_s": 0.25, "text": "a step"}]
    conversation = Conversation("c", PACKETS, 1000, "sender", serial=7)
    found = explain(conversation, wait("policer", certain=False))
    assert found.summary.startswith("a policer, or a queue too short") and found.serial == 7
    assert (found.start_s, found.end_s) == (0.1, 0.4)
    assert explain(conversation, wait("policer")).summary == CAUSES["policer"]


def test_a_diagnosis_lists_notes_summaries_totals_and_waits() -> None:
    one = Explanation("c", 0.1, 0.4, "nagle", "a reason", True, ())
    other = replace(one, conversation="d")
    made = Diagnosis(
        {"cwnd": 1.25, "nagle": 0.5}, (one, one, other), ("a note",), (summary(rtt_s=None, waited_s={}),)
    )
    line = "0.100000 to 0.400000 s (300 ms): a reason"
    assert str(made).splitlines() == [
        "note: a note",
        "a > b: 2 Mb/s for 2 s, 2 % of 400 segments retransmitted.",
        "waited: cwnd 1.250 s; nagle 0.500 s",
        "",
        "c",
        line,
        line,
        "",
        "d",
        line,
    ]
    assert made.cause == "nagle" and replace(made, waited_s={"cwnd": 1.0}).cause is None
    never = replace(made, waited_s={}, waits=(), notes=())
    assert str(never).endswith("\nthe sender never waited")
    silent = replace(never, summaries=(summary(segments=0, acknowledged_bytes=0),))
    assert str(silent) == "a > b: sent no data"
    assert "waited" not in str(replace(made, waits_known=False))
    assert len(str(replace(never, summaries=(summary(),) * 4)).splitlines()) == 5
    assert str(replace(never, summaries=(summary(),) * 5)).startswith("5 connections: ")
