"""What keeps a capture from being fitted, on packets made for it."""

from __future__ import annotations

import pytest

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import of_conversation
from cwndlab.apps.diagnosis.conversation import ACK, Conversation, Packet
from cwndlab.apps.fit.refusals import of_capture

MS, MSS = 1_000_000, 1000


def transfer(segments: int, first_ms: int, last_ms: int) -> Conversation:
    """A segment every 2 ms, acknowledged after a round trip that grows from the first number to the last."""
    packets = []
    for k in range(segments):
        packets.append(Packet(2 * k * MS, True, k * MSS, MSS, 0, 10_000_000, ACK))
        trip_ns = first_ms * MS + (last_ms - first_ms) * MS * k // (segments - 1)
        packets.append(Packet(2 * k * MS + trip_ns, False, 0, 0, (k + 1) * MSS, 10_000_000, ACK))
    packets.sort(key=lambda packet: packet.time_ns)
    return Conversation("made", packets, MSS, "sender")


@pytest.mark.parametrize(
    ("segments", "first_ms", "last_ms", "reasons"),
    [
        (250, 20, 80, []),  # 0.58 s: 10 of the shortest round trips, not of the longest
        (250, 55, 55, []),
        (250, 80, 80, ["too-short"]),
        (200, 20, 20, []),
        (199, 20, 20, ["too-short"]),
    ],
)
def test_a_capture_is_long_enough_by_segments_and_by_its_shortest_round_trip(
    segments: int, first_ms: int, last_ms: int, reasons: list[str]
) -> None:
    made = transfer(segments, first_ms, last_ms)
    assert [one.reason for one in of_capture(made, Deliveries(of_conversation(made)))] == reasons
