"""Recognition of segments that only test the peer: keep-alive segments, and probes of a closed window."""

from __future__ import annotations

from collections.abc import Sequence

from .conversation import FIN, RST, SYN, Packet


def mark_probes(packets: Sequence[Packet]) -> None:
    """Sets `probe` of keep-alive segments (RFC 9293, section 3.8.4) and window probes (section 3.8.6.1).

    A keep-alive repeats the last acknowledged sequence number, with at most one byte, when no data is
    outstanding. A probe of a closed window has one byte, or repeats that sequence number.
    """
    sent = {True: 0, False: 0}
    acknowledged = {True: 0, False: 0}
    #: The window that each end last offered; None before its first packet.
    offered: dict[bool, int | None] = {True: None, False: None}
    for packet in packets:
        end, other = packet.out, not packet.out
        if packet.len <= 1 and not packet.flags & (SYN | FIN | RST):
            repeats = packet.seq == sent[end] - 1 and acknowledged[end] == sent[end]
            if offered[other] == 0 and (repeats or (packet.len and packet.seq >= acknowledged[end])):
                packet.probe = "window"
            elif repeats:
                packet.probe = "keep-alive"
        if packet.probe != "window":
            sent[end] = max(sent[end], packet.end)
        acknowledged[other] = max(acknowledged[other], packet.ack)
        offered[end] = packet.window
