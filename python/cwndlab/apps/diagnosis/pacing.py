"""Detection of pacing in a capture."""

from __future__ import annotations

from collections.abc import Sequence

from .conversation import Packet

#: Pacing needs at least this many segments sent within a round trip without an arrival just before them.
_LEAST = 20
#: The least ratio of the first to the third quartile of the gaps: a pacer's gaps are regular, a busy host's
#: not.
_REGULAR = 0.5


def paces(packets: Sequence[Packet], rtt_ns: int, answer_ns: int) -> bool:
    """Whether segments left at regular intervals that neither arrivals nor the host's speed explain.

    A delayed host sends everything that an acknowledgment released late, but then at once.
    """
    gaps: list[int] = []
    last_out = last_in = None
    sent = acknowledged = least = 0
    for packet in packets:
        if not packet.out:
            acknowledged, last_in = max(acknowledged, packet.ack), packet
            continue
        if packet.len and not packet.probe and not packet.unseen:
            if last_out is not None and packet.seq >= sent > acknowledged:
                gap = packet.time_ns - last_out.time_ns
                least = min(least or gap, gap)
                released = last_in is not None and packet.time_ns - last_in.time_ns <= answer_ns
                if not released and 0 < gap < rtt_ns:
                    gaps.append(gap)
            last_out = packet
        sent = max(sent, packet.end)
    gaps = sorted(gap for gap in gaps if gap > 2 * least)
    if len(gaps) < _LEAST:
        return False
    return gaps[len(gaps) // 4] >= _REGULAR * gaps[3 * len(gaps) // 4]
