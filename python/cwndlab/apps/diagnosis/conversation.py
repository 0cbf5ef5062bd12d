"""One sender's side of a TCP connection, as the diagnosis sees it, whatever it was made of."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, NamedTuple, overload

from .bottleneck import Bottleneck

FIN, SYN, RST, ACK, ECE = 1, 2, 4, 16, 64


class Blocks(Sequence[tuple[int, int]]):
    """SACK blocks in few bytes: large captures have millions of them."""

    __slots__ = ("_packed",)

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    @classmethod
    def of_pairs(cls, pairs: Sequence[tuple[int, int]]) -> Blocks:
        """Those with these edges."""
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
    """A segment that the sender sent (`out`) or received. Numbers are payload offsets of its direction."""

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
    #: Where it was dropped, and why; None if that is not known.
    drop: Drop | None = None
    #: Whether it was not captured but left a hole in the sequence numbers.
    unseen: bool = False
    #: "keep-alive", or "window" if it probes a closed window; empty for every other segment.
    probe: str = ""

    @property
    def end(self) -> int:
        """Offset behind its last byte; a FIN counts one."""
        return self.seq + self.len + bool(self.flags & FIN)

    @property
    def is_syn(self) -> bool:
        """Whether it is a SYN or a SYN-ACK."""
        return bool(self.flags & SYN)


@dataclass(frozen=True)
class Drop:
    """A packet's end."""

    time_ns: int
    link: str
    #: In words: "the queue was full (25 packets)".
    why: str
    by_policer: bool = False


class Missing(NamedTuple):
    """Data that a capture lacks, although it was sent."""

    seq: int
    len: int
    #: The times of the packets between which it was sent.
    after_ns: int
    before_ns: int


@dataclass(frozen=True)
class Known:
    """What only a simulated run tells about its sender."""

    #: From, to, and the word of the table `limits`; in order, without gaps.
    limits: Sequence[tuple[int, int, str]]
    #: By time of expiry: the timer, when it was set, and how often it expired without progress.
    timers: Mapping[int, tuple[str, int, int]]
    #: Time, cwnd and ssthresh (-1: none yet) in bytes.
    windows: Sequence[tuple[int, int, int]]
    #: Its congestion control.
    law: str = ""


#: With times that are coarser than this, nothing is known of waits.
_COARSEST_NS = 100_000_000


@dataclass
class Conversation:
    """The packets of one connection in order of time, and what else is known."""

    #: "web.1, connection 14" or "10.0.0.1:80 > 10.0.0.2:5001".
    name: str
    packets: list[Packet]
    mss: int
    #: Where the packets were seen.
    seen_at: Literal["sender", "receiver", "middle"]
    #: What is known for certain; None of captures and of kernels' runs.
    known: Known | None = None
    #: Whether every packet that was dropped on the way has its `drop`.
    drops_known: bool = False
    #: Whether the window scale is known; if not, only a window of 0 is certain.
    scale_known: bool = True
    #: The connection's number in the run; None of captures.
    serial: int | None = None
    #: What the reader should know of the source.
    notes: list[str] = field(default_factory=list)
    #: How it ended, in a sentence; only of captures.
    ended: str = ""
    #: Whether the packets begin with the connection.
    from_start: bool = True
    #: What a capture lacks.
    missing: list[Missing] = field(default_factory=list)
    #: When the clock of a capture was set.
    steps: list[int] = field(default_factory=list)
    #: A capture's times are multiples of this, if that hides something.
    tick_ns: int = 0
    #: Whether a capture has only the sender's packets, "data", or only the receiver's, "acks".
    one_way: Literal["", "data", "acks"] = ""
    #: Segments with data of the sender that were damaged in the capture, and their bytes.
    damaged: tuple[int, int] = (0, 0)
    #: The slowest link of its path, if that is known.
    bottleneck: Bottleneck | None = None
    #: The times of the first and the last packet that were captured, also if left out; None where none was.
    span_ns: tuple[int, int] | None = None

    @property
    def shows_waits(self) -> bool:
        """Whether what the sender waited for can be inferred."""
        return not self.one_way and self.tick_ns < _COARSEST_NS
