"""Packet-by-packet comparison of two runs of a scenario, as observed at the server."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

#: Times that differ by more are considered different.
TOLERANCE_NS = 100_000
#: Completion times that differ by a larger share are considered different.
COMPLETION_SHARE = 0.01
_FIN, _PSH, _ACK = 0x01, 0x08, 0x10


class ServerPacket(NamedTuple):
    """A segment that the server sent or received."""

    time_ns: int
    #: The index of the transfer.
    transfer: int
    #: Whether the server sent the segment; otherwise it received it.
    sent: bool
    seq: int
    len: int
    ack: int
    flags: int
    window: int
    sack: tuple[int, ...]

    @property
    def key(self) -> tuple[object, ...]:
        """The values that must be equal on both sides: the range of data or, without data, ACK and SACK."""
        return (self.sent, self.seq, self.len) if self.len else (self.sent, self.ack, self.sack)

    def __str__(self) -> str:
        """The segment in packetdrill's style: `>` for sent by the server, `<` for received."""
        push = "P" if self.flags & _PSH else ""
        sack = f" sack {' '.join(f'{a}:{b}' for a, b in zip(self.sack[::2], self.sack[1::2], strict=True))}"
        return (
            f"{self.time_ns / 1e9:.6f} {'>' if self.sent else '<'} {push}{'.' if self.flags & _ACK else ''} "
            f"{self.seq}:{self.seq + self.len}({self.len}) ack {self.ack} win {self.window}"
            f"{sack if self.sack else ''}"
        )


def packets_of(segments: pa.Table, connections: pa.Table) -> tuple[ServerPacket, ...]:
    """The packets in the tables `segments` and `connections`, without the handshake.

    A receiver that closes at once acknowledges the sender's FIN with its own; otherwise it sends two packets,
    of which the second is omitted.
    """
    traffic = dict(zip(*(connections[name].to_pylist() for name in ("connection", "traffic")), strict=True))
    names = ("time_ns", "event", "connection", "sent", "seq", "len", "ack", "flags", "window_bytes", "sack")
    rows = zip(*(segments[name].to_pylist() for name in names), strict=True)
    found = []
    acked: dict[int, int] = {}
    for at, event, connection, sent, seq, length, ack, flags, window, sack in rows:
        # An ACK by which the server only acknowledges a FIN acknowledges no data.
        if event in ("drop", "mark") or not (length or ack > int(sent)):
            continue
        if not sent and not length:
            if flags & _FIN and ack <= acked.get(connection, 0):
                continue
            acked[connection] = max(ack, acked.get(connection, 0))
        found.append(
            ServerPacket(at, traffic[connection], sent, seq, length, ack, flags, window, tuple(sack))
        )
    return tuple(found)


@dataclass(frozen=True)
class PacketComparison:
    """The first difference between two runs."""

    #: The first packet that differs on each side; None where no packet is left.
    ours: ServerPacket | None
    theirs: ServerPacket | None
    #: The packets before the difference, equal on both sides.
    before: tuple[ServerPacket, ...]
    #: Packets from the difference on, for each side.
    after: tuple[tuple[ServerPacket, ...], tuple[ServerPacket, ...]]
    #: Whether the server sent the same segments in the same order on each connection, until the end.
    in_order: bool
    #: The largest relative difference of completion times; infinite if a transfer completed on one side only.
    completion: float

    @property
    def agree(self) -> int:
        """The number of equal packets before the difference."""
        return len(self.before)

    @property
    def is_same(self) -> bool:
        """Whether both runs are equal, in order and time."""
        return self.ours is None and self.theirs is None

    @property
    def kind(self) -> str:
        """The class of the first difference, from the earlier of the two packets."""
        if self.is_same:
            return "same"
        ours, theirs = self.ours, self.theirs
        if ours is not None and theirs is not None and ours.key == theirs.key:
            what = "sent" if ours.sent else "acknowledged"
            return f"the same {what} at another time"
        side, first = ("simulator", ours) if _is_earlier(ours, theirs) else ("kernel", theirs)
        assert first is not None
        if not first.sent:
            return f"an ACK of the {side}'s receiver only"
        again = any(
            one.sent and one.seq == first.seq and one.transfer == first.transfer for one in self.before
        )
        return f"the {side} {'retransmits' if again else 'sends'} first"


#: Most packets to show before and after a difference.
SHOWN = 6


def compare(ours: Sequence[ServerPacket], theirs: Sequence[ServerPacket]) -> PacketComparison:
    """The comparison of two runs up to the first packet that has no counterpart.

    The nth packet of a transfer on one side is the counterpart of the nth on the other: connections are
    independent, and their packets may be in any order within the tolerance.
    """
    split = [_by_transfer(side) for side in (ours, theirs)]
    pairs = [tuple(side.get(k, []) for side in split) for k in sorted({*split[0], *split[1]})]
    parted: list[tuple[int, ServerPacket | None, ServerPacket | None]] = []
    for a, b in pairs:
        found = _first_apart(a, b)
        if found is not None:
            parted.append((min(packet.time_ns for packet in found if packet is not None), *found))
    agreed_until, first, second = min(parted, key=lambda each: each[0], default=(math.inf, None, None))
    after = [tuple(one for one in side if one.time_ns >= agreed_until)[:SHOWN] for side in (ours, theirs)]
    return PacketComparison(
        first,
        second,
        tuple(packet for packet in theirs if packet.time_ns < agreed_until),
        (after[0], after[1]),
        all([one.key for one in a if one.sent] == [one.key for one in b if one.sent] for a, b in pairs),
        max((_completion(a, b) for a, b in pairs), default=0),
    )


def _by_transfer(packets: Sequence[ServerPacket]) -> dict[int, list[ServerPacket]]:
    found: dict[int, list[ServerPacket]] = {}
    for packet in packets:
        found.setdefault(packet.transfer, []).append(packet)
    return found


def _first_apart(
    a: Sequence[ServerPacket], b: Sequence[ServerPacket]
) -> tuple[ServerPacket | None, ServerPacket | None] | None:
    """The first pair that differs; None if none does. ACKs and segments are compared separately."""
    streams = [[[one for one in side if one.sent is sent] for sent in (True, False)] for side in (a, b)]
    found = []
    for x, y in zip(*streams, strict=True):
        for k in range(max(len(x), len(y))):
            mine, other = (side[k] if k < len(side) else None for side in (x, y))
            if mine is None or other is None or mine.key != other.key or _is_apart(mine, other):
                found.append((mine, other))
                break
    if not found:
        return None
    return min(found, key=lambda pair: min(packet.time_ns for packet in pair if packet is not None))


def _is_apart(a: ServerPacket, b: ServerPacket) -> bool:
    return abs(a.time_ns - b.time_ns) > TOLERANCE_NS


def _is_earlier(a: ServerPacket | None, b: ServerPacket | None) -> bool:
    return b is None or (a is not None and a.time_ns <= b.time_ns)


def _completion(a: Sequence[ServerPacket], b: Sequence[ServerPacket]) -> float:
    """The difference of completion times at the server, relative to the transfer's duration."""
    ends = []
    for side in (a, b):
        heard = [(packet.ack + packet.seq + packet.len, packet.time_ns) for packet in side if not packet.sent]
        if not heard:
            return math.inf
        last = max(progress for progress, _ in heard)
        ends.append((last, next(at for progress, at in heard if progress == last), side[0].time_ns))
    (got, ours, _), (other, theirs, began) = ends
    if abs(got - other) > 2:  # FINs may be unacknowledged at the end
        return math.inf
    return abs(ours - theirs) / max(theirs - began, 1)
