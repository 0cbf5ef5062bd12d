"""Whether a capture shows that its sender paces."""

from __future__ import annotations

from collections.abc import Sequence

from .conversation import Packet

#: Segments that left in the middle of a round trip, without an arrival before them, that make a pacer likely.
_LEAST = 20
#: The first quartile of the gaps before them is at least this share of the third: a pacer's gaps follow its
#: rate, those of a busy host do not.
_REGULAR = 0.5


def paces(packets: Sequence[Packet], rtt_ns: int, answer_ns: int) -> bool:
    """Whether segments left at regular times that neither an arrival nor the host's speed explains.

    A host that was held up by something else sends what an acknowledgment released late, but then at once.
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
