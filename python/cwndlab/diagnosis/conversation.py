"""One sender's side of a TCP connection, as the diagnosis sees it, whatever it was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FIN, SYN, RST, ACK, ECE = 1, 2, 4, 16, 64


@dataclass
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


@dataclass
class Conversation:
    """The packets of one connection in order of time, and what else is known."""

    #: "web.1, connection 14" or "10.0.0.1:80 > 10.0.0.2:5001".
    name: str
    packets: list[Packet]
    mss: int
    #: Where the packets were seen: at the "sender" or the "receiver".
    seen_at: str
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
