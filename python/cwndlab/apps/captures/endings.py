"""How a captured connection ended: refused, reset, half-closed, unanswered, or still open."""

from __future__ import annotations

from collections.abc import Sequence

from cwndlab.apps.diagnosis.conversation import ACK, FIN, RST, Packet

#: Transmissions without an answer from which the peer counts as unresponsive.
_UNANSWERED = 2


def describe_ending(packets: Sequence[Packet]) -> str:
    """How a connection ended, in a sentence; empty if both ends closed it."""
    reset = next((packet for packet in packets if packet.flags & RST), None)
    syns = [packet for packet in packets if packet.is_syn and not packet.flags & ACK]
    if syns and all(packet.flags & RST or packet in syns for packet in packets):
        return _unopened(syns, reset)
    closed = {packet.out for packet in packets if packet.flags & FIN}
    if reset is not None:
        return _reset(packets, reset)
    if closed == {True, False}:
        return ""
    if closed:
        only = "sender" if True in closed else "receiver"
        return f"At the end of the capture only the {only} had closed the connection."
    return _open(packets)


def _unopened(syns: Sequence[Packet], reset: Packet | None) -> str:
    """The ending of a connection attempt whose SYN got no SYN-ACK."""
    if reset is None:
        times = "1 SYN" if len(syns) == 1 else f"{len(syns)} SYNs"
        return f"No answer to {times}."
    asked = max((syn.time_ns for syn in syns if syn.time_ns <= reset.time_ns), default=reset.time_ns)
    if reset.out == syns[0].out:
        return "The connection was given up by a RST of its own end before an answer."
    times = "" if len(syns) == 1 else f" ({len(syns)} attempts)"
    return f"Refused: a RST answered the SYN after {(reset.time_ns - asked) / 1e6:.3g} ms{times}."


def _reset(packets: Sequence[Packet], reset: Packet) -> str:
    """The ending by a RST: which end sent it, when, and what was unacknowledged; empty after both FINs."""
    who = "sender" if reset.out else "receiver"
    before = [packet for packet in packets if packet.time_ns <= reset.time_ns and packet is not reset]
    sent = max((packet.end for packet in before if packet.out and not packet.unseen), default=0)
    acknowledged = max((packet.ack for packet in [*before, reset] if not packet.out), default=0)
    closed = {packet.out for packet in before if packet.flags & FIN}
    after = f"after {(reset.time_ns - packets[0].time_ns) / 1e9:.3f} s"
    if closed == {True, False}:
        return ""
    if closed:
        whose = "its own" if reset.out in closed else "the other end's"
        after += f", after {whose} FIN"
    elif sent > acknowledged:
        after += f", while {sent - acknowledged} bytes were not acknowledged"
    return f"Ended by a RST of the {who} {after}."


def _open(packets: Sequence[Packet]) -> str:
    """The ending of a capture that holds neither FIN nor RST."""
    unanswered: list[Packet] = []
    for packet in packets:
        if not packet.out:
            unanswered = []
        elif packet.len and not packet.unseen:
            unanswered.append(packet)
    numbers = {packet.seq for packet in unanswered}
    again = len(unanswered) - len(numbers)
    if again >= _UNANSWERED:
        span = (unanswered[-1].time_ns - unanswered[0].time_ns) / 1e9
        return f"The last {len(unanswered)} segments, over {span:.3g} s, had no answer."
    return "Still open at the end of the capture."
