"""One sender's side of a TCP connection, from a capture or a run: the input of the diagnosis."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, NamedTuple, overload

from .bottleneck import Bottleneck

FIN, SYN, RST, ACK, ECE = 1, 2, 4, 16, 64
#: Bytes of the IPv4 and TCP headers, and of the timestamps option with its padding (RFC 7323, appendix A).
HEADERS, TIMESTAMPS = 40, 12


class Blocks(Sequence[tuple[int, int]]):
    """SACK blocks packed into bytes, because large captures have millions of them."""

    __slots__ = ("_packed",)

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    @classmethod
    def of_pairs(cls, pairs: Sequence[tuple[int, int]]) -> Blocks:
        """The blocks with these left and right edges."""
        return cls(struct.pack(f"{2 * len(pairs)}q", *chain.from_iterable(pairs)))

    @overload
    def __getitem__(self, at: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[tuple[int, int]]: ...
    def __getitem__(self, at: int | slice) -> tuple[int, int] | Sequence[tuple[int, int]]:
        return tuple(struct.iter_unpack("2q", self._packed))[at]

    def __len__(self) -> int:
        return len(self._packed) // struct.calcsize("2q")


@dataclass(slots=True)
class Packet:
    """A segment that the sender sent (`out`) or received; `seq` and `ack` are offsets in the payload."""

    time_ns: int
    out: bool
    seq: int
    len: int
    ack: int
    #: Receive window in bytes, scaled.
    window: int
    flags: int
    sack: Sequence[tuple[int, int]] = ()
    ts_val: int | None = None
    ts_ecr: int | None = None
    #: Where and why the packet was dropped; None if unknown or not dropped.
    drop: Drop | None = None
    #: Whether the capture lacks this segment, which was inferred from a hole in the sequence numbers.
    unseen: bool = False
    #: "keep-alive" for a keep-alive, "window" for a probe of a closed window, "" for every other segment.
    probe: str = ""

    @property
    def end(self) -> int:
        """The offset after the last byte; a FIN counts as one byte."""
        return self.seq + self.len + bool(self.flags & FIN)

    @property
    def is_syn(self) -> bool:
        """Whether the packet is a SYN or a SYN-ACK."""
        return bool(self.flags & SYN)


@dataclass(frozen=True)
class Drop:
    """Where, when and why a packet was dropped."""

    time_ns: int
    link: str
    #: In words: "the queue was full (25 packets)".
    why: str
    by_policer: bool = False


class Missing(NamedTuple):
    """Data that was sent but is missing from the capture."""

    seq: int
    len: int
    #: The times of the captured packets before and after the missing data.
    after_ns: int
    before_ns: int


@dataclass(frozen=True)
class Known:
    """The internal state of a sender, which only simulated runs record."""

    #: What limited the sender: (start ns, end ns, a word of the record table `limits`), in order, no gaps.
    limits: Sequence[tuple[int, int, str]]
    #: By time of expiry in ns: the timer's name, when it was set, and its consecutive expirations.
    timers: Mapping[int, tuple[str, int, int]]
    #: (time in ns, cwnd, ssthresh) in bytes; ssthresh is -1 until it is set.
    windows: Sequence[tuple[int, int, int]]
    #: Name of the congestion control.
    law: str = ""


#: If the times of a capture are coarser than this, waits cannot be inferred.
_COARSEST_NS = 100_000_000


@dataclass
class Conversation:
    """The packets of one connection in order of time, and other facts about the connection."""

    #: "web.1, connection 14" or "10.0.0.1:80 > 10.0.0.2:5001".
    name: str
    packets: list[Packet]
    mss: int
    #: Where the packets were captured.
    seen_at: Literal["sender", "receiver", "middle"]
    #: The sender's recorded state; None for captures and kernels' runs.
    known: Known | None = None
    #: Whether `drop` is set for every packet that was dropped on the path.
    drops_known: bool = False
    #: Whether the window scale is known; if not, only windows of 0 are certain.
    scale_known: bool = True
    #: The connection's number in the run; None for captures.
    serial: int | None = None
    #: Remarks about the source, for the reader.
    notes: list[str] = field(default_factory=list)
    #: How a captured connection ended, in a sentence; "" for other sources.
    ended: str = ""
    #: Whether the first packets are those of the handshake.
    from_start: bool = True
    #: The data that a capture lacks.
    missing: list[Missing] = field(default_factory=list)
    #: The times in ns at which the capture's clock was stepped.
    steps: list[int] = field(default_factory=list)
    #: The resolution of a capture's clock if that is coarse, else 0.
    tick_ns: int = 0
    #: "data" if a capture has only the sender's packets, "acks" if only the receiver's, "" otherwise.
    one_way: Literal["", "data", "acks"] = ""
    #: The number of the sender's data segments that were damaged in the capture, and their bytes.
    damaged: tuple[int, int] = (0, 0)
    #: The slowest link of the path; None if unknown.
    bottleneck: Bottleneck | None = None
    #: The times of the first and last captured packet, even if damaged; None if no packet was damaged.
    span_ns: tuple[int, int] | None = None

    @property
    def shows_waits(self) -> bool:
        """Whether the causes of the sender's waits can be inferred."""
        return not self.one_way and self.tick_ns < _COARSEST_NS
