"""What one end of a QUIC connection logged, whatever it was written as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

#: A number space ("initial", "handshake" or "application") and a packet number in it.
PacketName: TypeAlias = tuple[str, int]


class LimitReached(NamedTuple):
    """A BLOCKED frame (RFC 9000, sections 19.12 to 19.14)."""

    cause: str
    #: Of STREAM_DATA_BLOCKED.
    stream: int | None
    #: The limit that it names, if it is logged.
    limit: int | None


class Sent(NamedTuple):
    """A packet that this end sent."""

    time_ns: int
    packet: PacketName | None
    size: int
    #: Whether it asks for an acknowledgment (RFC 9002, section 2).
    eliciting: bool
    #: Stream, offset and length of its data.
    data: tuple[tuple[int, int, int], ...] = ()
    blocked: tuple[LimitReached, ...] = ()


class Received(NamedTuple):
    """A packet that this end received."""

    time_ns: int
    #: Number space, first and last number of each range that it acknowledges.
    acked: tuple[tuple[str, int, int], ...] = ()
    #: Limits that it raises: of the connection, and of streams.
    max_data: int | None = None
    max_stream_data: tuple[tuple[int, int], ...] = ()
    more_streams: bool = False
    #: Bytes of its stream data.
    data_bytes: int = 0
    blocked: tuple[LimitReached, ...] = ()


class Metrics(NamedTuple):
    """What the stack says of its congestion control: `cwnd`, `in_flight`, `min_rtt_ms`, `pto_count`."""

    time_ns: int
    values: Mapping[str, float]


class State(NamedTuple):
    """The stack's congestion control is in another state."""

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
    """The stack says that it is blocked, or no longer: the cause is then empty."""

    time_ns: int
    what: str
    cause: str


class Credit(NamedTuple):
    """Limits that the peer grants at first: of the connection, and of streams by who opened which kind."""

    time_ns: int
    connection: int | None
    own_bidirectional: int | None
    peer_bidirectional: int | None
    unidirectional: int | None


class Closed(NamedTuple):
    """The connection ended."""

    time_ns: int
    #: "The peer closed it", and with which error and words.
    what: str
    why: str = ""


Event: TypeAlias = Sent | Received | Metrics | State | Lost | Expired | Blocked | Credit | Closed


@dataclass
class QuicLog:
    """One end's log of a connection, in order of time, from time 0 on."""

    name: str
    #: "client", "server", or "" if it is not known.
    end: str
    events: list[Event]
    notes: list[str] = field(default_factory=list)
    #: Times are multiples of this.
    tick_ns: int = 1
    #: Whether the stack's own numbers are logged, rather than taken from the simulator's records.
    by_stack: bool = True
    #: Bytes of its stream that the receiver accepts ahead, if no limit is logged.
    stream_window: int | None = None
