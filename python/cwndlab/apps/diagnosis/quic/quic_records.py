"""Conversion of the record tables of an embedded stack's run into a log."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from cwndlab.base.numbers import Columns

from .quic_log import Event, Expired, Metrics, PacketName, QuicLog, Received, Sent, State

#: Smaller packets, in bytes, carry only ACKs.
_SMALL = 100
#: Descriptions of states in the table `cwnd` that differ from the state's name.
_STATES = {"loss": "recovery from persistent congestion"}


def log_of_records(
    segments: Columns,
    windows: Columns,
    timeouts: Columns,
    serial: int,
    client: bool,
    name: str,
    stream_window: int | None,
) -> QuicLog:
    """The log of one end of a connection.

    Args:
        segments: table `segments`, observed at that end.
        windows: table `cwnd`.
        timeouts: table `timeouts`; no rows if it was not recorded.
        serial: the connection's number in the run.
        client: whether this end is the client.
        name: the name of the log.
        stream_window: bytes of a stream that the receiver accepts ahead; None if unlimited.

    """
    # The order at equal times: a timer expires, then packets arrive and leave, then the window is recorded.
    parts = (
        _expired(timeouts, serial, client),
        _packets(segments, serial, client),
        _metrics(windows, serial, client),
    )
    events = list(heapq.merge(*parts, key=lambda event: event.time_ns))
    end = "client" if client else "server"
    return QuicLog(name, end, events, by_stack=False, stream_window=stream_window)


def _rows(table: Columns, serial: int, *names: str) -> Iterator[tuple[object, ...]]:
    mine = np.flatnonzero(table["connection"] == serial)
    return zip(*(table[name][mine].tolist() for name in names), strict=True)


def _packets(table: Columns, serial: int, client: bool) -> Iterator[Event]:
    names = ("time_ns", "event", "from_client", "sent", "seq", "len", "segment", "sack")
    for time, event, from_client, sent, seq, length, number, sack in _rows(table, serial, *names):
        if event in ("drop", "mark"):
            continue
        assert isinstance(time, int) and isinstance(length, int) and isinstance(number, int)
        if (from_client == client) and sent:
            packet: PacketName | None = ("application", number - 1) if number > 0 else None
            large = length >= _SMALL
            yield Sent(
                time, packet, length, large, ((0, int(str(seq)), length),) if large and number > 0 else ()
            )
        elif from_client != client and not sent:
            blocks = [int(edge) for edge in sack] if isinstance(sack, list | np.ndarray) else []
            pairs = zip(blocks[::2], blocks[1::2], strict=True)
            acked = tuple(("application", low - 1, high - 2) for low, high in pairs)
            yield Received(time, acked, data_bytes=length if length >= _SMALL else 0)


def _metrics(table: Columns, serial: int, client: bool) -> Iterator[Event]:
    before = ""
    for time, from_client, window, flight, state in _rows(
        table, serial, "time_ns", "from_client", "cwnd_bytes", "in_flight_bytes", "state"
    ):
        if from_client != client:
            continue
        assert isinstance(time, int) and isinstance(window, int | float) and isinstance(flight, int | float)
        if state != before:
            before = str(state)
            yield State(time, _STATES.get(before, before))
        yield Metrics(time, {"cwnd": window, "in_flight": flight})


def _expired(table: Columns, serial: int, client: bool) -> Iterator[Event]:
    for time, from_client, timer in _rows(table, serial, "time_ns", "from_client", "timer"):
        if from_client == client and timer == "probe":
            yield Expired(int(str(time)))
