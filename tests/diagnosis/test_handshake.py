"""The round trip of a handshake, as a capture at either end of it shows it, and where it shows none."""

from __future__ import annotations

import math

import pytest

from cwndlab.apps.captures.flow_packets import of_conversation
from cwndlab.apps.diagnosis.conversation import Conversation, Packet

MS = 1_000_000
SYN, ACK = 2, 16


def handshake(*packets: tuple[int, bool, int]) -> float:
    """Of packets at these times in ms, sent or received, with these flags."""
    sent = [Packet(at * MS, out, 0, 0, 0, 65535, flags) for at, out, flags in packets]
    return of_conversation(Conversation("c", sent, 1000, "sender")).handshake_s


@pytest.mark.parametrize(
    ("packets", "seconds"),
    [
        ([(1, True, SYN), (31, False, SYN | ACK)], 0.03),  # the sender is the client
        ([(0, False, SYN), (1, True, SYN | ACK), (41, False, ACK)], 0.04),  # it is the server
        ([(0, False, SYN), (1, True, SYN | ACK)], math.nan),  # the last part is missing
        ([(31, False, SYN | ACK)], math.nan),
        ([(1, True, SYN)], math.nan),
        ([(1, True, SYN), (2, True, SYN), (31, False, SYN | ACK)], math.nan),  # which one was answered?
        ([(1, True, SYN), (31, False, SYN | ACK), (32, False, SYN | ACK)], math.nan),
        ([(1, False, ACK)], math.nan),
    ],
)
def test_the_round_trip_is_from_a_syn_to_its_answer(
    packets: list[tuple[int, bool, int]], seconds: float
) -> None:
    assert handshake(*packets) == pytest.approx(seconds, nan_ok=True)
