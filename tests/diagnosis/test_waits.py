"""The cause of a wait, on conversations small enough to follow by hand."""

from __future__ import annotations

import pytest

from cwndlab.apps.diagnosis.conversation import ACK, Conversation, Known, Packet
from cwndlab.apps.diagnosis.waits import find_waits

MS = 1_000_000
MSS = 1000


def sent(time_ms: int, number: int) -> Packet:
    """The data segment `number`, from 0."""
    return Packet(time_ms * MS, True, number * MSS, MSS, 0, 60_000, ACK)


def acknowledged(time_ms: int, number: int) -> Packet:
    """An acknowledgment of all segments before `number`."""
    return Packet(time_ms * MS, False, 0, 0, number * MSS, 60_000, ACK)


@pytest.mark.parametrize(
    ("duplicates", "cause"), [(0, "rto-few-dupacks"), (2, "rto-few-dupacks"), (3, "rto"), (4, "rto")]
)
def test_three_duplicate_acks_are_enough_for_a_fast_retransmit(duplicates: int, cause: str) -> None:
    packets = [sent(0, k) for k in range(6)]
    packets += [acknowledged(50, 1), *(acknowledged(51 + k, 1) for k in range(duplicates))]
    packets += [sent(1000, 1), acknowledged(1050, 6)]
    (wait,) = find_waits(Conversation("made", packets, MSS, "sender"))
    assert (wait.dupacks, wait.cause) == (duplicates, cause)


@pytest.mark.parametrize(
    ("start_ms", "end_ms", "cause"),
    [
        (60, 130, "cwnd"),  # 40 of 100 ms, then 30 of 900 ms
        (80, 130, "receive-window"),  # 20 of 100 ms, then 30 of 900 ms
        (950, 1030, "receive-window"),  # 50 of 900 ms, then 30 of 100 ms
        (980, 1030, "pacing"),
        (20, 90, "cwnd"),
    ],
)
def test_the_limit_of_a_wait_is_the_one_that_held_longest_within_it(
    start_ms: int, end_ms: int, cause: str
) -> None:
    limits = [(0, 100, "cwnd"), (100, 1000, "receive-window"), (1000, 1100, "pacing")]
    known = Known([(start * MS, end * MS, word) for start, end, word in limits], {}, [])
    packets = [sent(start_ms, 0), sent(end_ms, 1)]
    (wait,) = find_waits(Conversation("made", packets, MSS, "sender", known=known))
    assert (wait.cause, wait.duration_ns) == (cause, (end_ms - start_ms) * MS)
