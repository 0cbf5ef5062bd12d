"""Whether losses look like a policer's.

After Flach and others, "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from .conversation import Packet

#: Fewer losses than this tell nothing.
_LOSSES = 6
#: Where a queue dropped, packets had waited: round trips just before losses exceed the shortest by more.
_INFLATION = 1.3


def is_policed(packets: Sequence[Packet], rtt_ns: int) -> bool:
    """Whether a token bucket would explain the losses, and packets had not waited in a queue before them.

    The bucket fills with the goodput between the first and the last loss. It must hold less when packets are
    lost than when others pass.
    """
    out = [packet for packet in packets if packet.out and packet.len]
    seen: dict[int, int] = {}
    lost: set[int] = set()
    for index, packet in enumerate(out):
        if packet.seq in seen:
            lost.add(seen[packet.seq])
        seen[packet.seq] = index
    if len(lost) < _LOSSES:
        return False
    first, last = min(lost), max(lost)
    span = out[last].time_ns - out[first].time_ns
    passed = sum(out[k].len for k in range(first, last) if k not in lost)
    if span <= 0 or not passed:
        return False
    tokens, rate = 0.0, passed / span
    at_losses, at_others = [], []
    for k in range(first, last + 1):
        tokens += rate * (out[k].time_ns - out[max(k - 1, first)].time_ns)
        if k in lost:
            at_losses.append(tokens)
        else:
            at_others.append(tokens)
            tokens -= out[k].len
    if not at_others or median(at_losses) >= median(at_others):
        return False
    return _round_trips_before(packets, {id(out[k]) for k in lost}) <= _INFLATION * rtt_ns


def _round_trips_before(packets: Sequence[Packet], lost: set[int]) -> float:
    """The median of the last round trips measured before losses, in nanoseconds."""
    sent: dict[int, int] = {}
    newest, found = 0, []
    for packet in packets:
        if packet.out and packet.len:
            if id(packet) in lost and newest:
                found.append(newest)
            sent[packet.end] = 0 if packet.end in sent else packet.time_ns
        elif not packet.out and sent.get(packet.ack):
            newest = packet.time_ns - sent[packet.ack]
    return median(found) if found else float("inf")
