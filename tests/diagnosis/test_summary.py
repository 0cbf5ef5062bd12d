"""The numbers of a summary, of a conversation that is written out packet by packet."""

from __future__ import annotations

import pytest

from cwndlab.apps.diagnosis.conversation import Conversation, Packet
from cwndlab.apps.diagnosis.summary import Summary, summarize, summarize_all
from cwndlab.apps.diagnosis.waits import Wait

MS = 1_000_000
#: Start, data to 1000, data to 2000, an ACK of the first, the second again, an ACK of all.
SENT = [(0, 0), (10, 1000), (60, 1000)]
ACKED = [(40, 1000), (100, 2000)]


def packet(ms: int, out: bool, seq: int = 0, length: int = 0, ack: int = 0, unseen: bool = False) -> Packet:
    return Packet(ms * MS, out, seq, length, ack, 65535, 0, unseen=unseen)


def conversation(*more: Packet, seen_at: str = "sender") -> Conversation:
    packets = [packet(ms, True, seq, 1000) for ms, seq in SENT]
    packets += [packet(ms, False, ack=ack) for ms, ack in ACKED]
    return Conversation("one", sorted([*packets, *more], key=lambda each: each.time_ns), 1000, seen_at)


def wait(cause: str, start_ms: int, end_ms: int) -> Wait:
    return Wait(start_ms * MS, end_ms * MS, cause, True, None, 0, 0, 0, 0, 0)


def test_a_summary_counts_bytes_segments_and_the_shortest_round_trip() -> None:
    found = summarize(conversation(), [])
    assert (found.seconds, found.acknowledged_bytes) == (0.1, 2000)
    assert (found.segments, found.retransmitted) == (3, 1)
    # That of the second segment is ambiguous, as it was sent twice.
    assert found.rtt_s == (0.04, 0.04)
    assert summarize(conversation(seen_at="receiver"), []).rtt_s is None


def test_an_ack_of_more_than_was_seen_counts_only_what_was() -> None:
    assert summarize(conversation(packet(101, False, ack=5000)), []).acknowledged_bytes == 2000


def test_what_was_not_captured_is_no_segment() -> None:
    found = summarize(conversation(packet(5, True, 2000, 1000, unseen=True)), [])
    assert (found.segments, found.retransmitted, found.acknowledged_bytes) == (3, 1, 2000)


def test_waits_add_up_by_cause() -> None:
    waits = [wait("cwnd", 0, 30), wait("rto-few-dupacks", 30, 40), wait("cwnd", 40, 60)]
    assert summarize(conversation(), waits).waited_s == pytest.approx({"cwnd": 0.05, "rto-few-dupacks": 0.01})


@pytest.mark.parametrize(("ms", "named"), [(2, True), (1, False)])
def test_a_cause_that_is_not_part_of_every_transfer_is_named_from_a_fiftieth_of_the_time_on(
    ms: int, named: bool
) -> None:
    waits = [wait("cwnd", 0, 30), wait("zero-window", 30, 30 + ms)]
    assert ("zero-window" in summarize(conversation(), waits).waited_s) == named


def test_only_the_longest_cause_and_the_longest_unusual_one_are_named() -> None:
    waits = [wait("cwnd", 0, 30), wait("zero-window", 30, 35), wait("rto-few-dupacks", 35, 45)]
    assert list(summarize(conversation(), waits).waited_s) == ["cwnd", "rto-few-dupacks"]


def test_the_sentence_has_the_rate_the_share_and_the_waits() -> None:
    text = str(summarize(conversation(), [wait("zero-window", 10, 40)]))
    assert text.startswith("one: 0.16 Mb/s for ")  # 2000 bytes in 0.1 s
    assert "33 % of 3 segments retransmitted" in text
    assert "Waited " in text and text.endswith(").")
    assert str(summarize(Conversation("none", [], 1000, "sender"), [])) == "none: sent no data"


def test_many_connections_are_summed_up_in_one_sentence() -> None:
    def summary(acked: int, segments: int, again: int, rtt_s: tuple[float, float] | None) -> Summary:
        return Summary("c", 1.0, acked, segments, again, rtt_s, {})

    text = summarize_all(
        [
            summary(1_000_000, 30, 1, (0.02, 0.03)),
            summary(500_000, 10, 3, (0.01, 0.05)),
            summary(0, 0, 0, None),
        ]
    )
    assert text.startswith("3 connections: 1.5 MB, 10 % of 40 segments retransmitted, round trip at least 10")
    assert "median 40" in text
    assert "round trip" not in summarize_all([summary(0, 0, 0, None)])
