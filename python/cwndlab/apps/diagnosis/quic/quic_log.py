"""Events that one end of a QUIC connection logged, independent of the format of the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

#: A number space ("initial", "handshake" or "application") and a packet number in it.
PacketName: TypeAlias = tuple[str, int]


class LimitReached(NamedTuple):
    """A BLOCKED frame (RFC 9000, sections 19.12 to 19.14)."""

    cause: str
    #: The stream that STREAM_DATA_BLOCKED names; None for other frames.
    stream: int | None
    #: The limit at which the sender is blocked; None if it was not logged.
    limit: int | None


class Sent(NamedTuple):
    """A packet that this end sent."""

    time_ns: int
    packet: PacketName | None
    size: int
    #: Whether the packet is ack-eliciting (RFC 9002, section 2).
    eliciting: bool
    #: (stream id, offset, length) of each STREAM frame.
    data: tuple[tuple[int, int, int], ...] = ()
    blocked: tuple[LimitReached, ...] = ()


class Received(NamedTuple):
    """A packet that this end received."""

    time_ns: int
    #: (number space, first, last) of each acknowledged range.
    acked: tuple[tuple[str, int, int], ...] = ()
    #: Raised limits: of the connection in bytes, of streams (id, bytes), and whether more streams may open.
    max_data: int | None = None
    max_stream_data: tuple[tuple[int, int], ...] = ()
    more_streams: bool = False
    #: Bytes of stream data in the packet.
    data_bytes: int = 0
    blocked: tuple[LimitReached, ...] = ()


class Metrics(NamedTuple):
    """Congestion-control values that the stack reported: `cwnd`, `in_flight`, `min_rtt_ms`, `pto_count`."""

    time_ns: int
    values: Mapping[str, float]


class State(NamedTuple):
    """The stack's congestion control entered another state."""

    time_ns: int
    name: str
    trigger: str = ""


class Lost(NamedTuple):
    """The stack declared a packet lost."""

    time_ns: int
    packet: PacketName | None


class Expired(NamedTuple):
    """A probe timeout expired."""

    time_ns: int


class Blocked(NamedTuple):
    """The stack reported that `what` became blocked by `cause`; an empty cause means unblocked."""

    time_ns: int
    what: str
    cause: str


class Credit(NamedTuple):
    """The peer's initial limits in bytes: for the connection, and for streams by opener and kind."""

    time_ns: int
    connection: int | None
    own_bidirectional: int | None
    peer_bidirectional: int | None
    unidirectional: int | None


class Closed(NamedTuple):
    """The connection ended."""

    time_ns: int
    #: Who closed the connection, and with which error and reason phrase.
    what: str
    why: str = ""


Event: TypeAlias = Sent | Received | Metrics | State | Lost | Expired | Blocked | Credit | Closed


@dataclass
class QuicLog:
    """One end's log of a connection, in order of time, from time 0 on."""

    name: str
    #: "client", "server", or "" if unknown.
    end: str
    events: list[Event]
    notes: list[str] = field(default_factory=list)
    #: The resolution of the times.
    tick_ns: int = 1
    #: Whether the stack wrote the log; otherwise the log was made from a run's records.
    by_stack: bool = True
    #: Bytes of a stream that the receiver accepts ahead, if the log has no limits; None if unknown.
    stream_window: int | None = None
