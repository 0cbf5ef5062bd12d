"""Where the time of an object or a connection goes: its critical path, in parts that add up to its duration.

From the arrival that ends an object the path leads back, packet by packet, to what each one waited for
(Barford and Crovella, "Critical path analysis of TCP transactions", SIGCOMM 2000). A packet's journey is made
of transmissions (`serialization`), waiting (`queueing`) and propagation, which belongs to the round that the
packet is part of: to `slow-start` if the round let cwnd grow for the data that follows, and so on. The time
between what arrived at an end and what the end sent next belongs to what limited the end (table `limits`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .paths import Paths

Columns = Mapping[str, NDArray[Any]]

Part: TypeAlias = Literal[
    "client",
    "handshake",
    "rto-handshake",
    "request",
    "server",
    "slow-start",
    "cwnd",
    "max-window",
    "receive-window",
    "pacing",
    "small-segment",
    "delayed-ack",
    "recovery",
    "probe",
    "reordering",
    "rto",
    "rto-repeated",
    "serialization",
    "queueing",
    "delivery",
    "closing",
]
"""A part of a budget."""

#: The parts of a budget, in the order in which they are shown.
PARTS: dict[Part, str] = {
    "client": "waiting for the application at the client",
    "handshake": "propagation of SYN and SYN-ACK",
    "rto-handshake": "waiting for the timeout of a SYN or a SYN-ACK",
    "request": "propagation of data that the server waited for",
    "server": "waiting for the application at the server",
    "slow-start": "propagation of the rounds that cwnd cost while it was below ssthresh",
    "cwnd": "propagation of the rounds that cwnd cost otherwise",
    "max-window": "propagation of the rounds that the configured largest window cost",
    "receive-window": "waiting for the peer's receive window, propagation included",
    "pacing": "waiting for the pacer, and propagation of the rounds before",
    "small-segment": "a small segment waiting for an ACK (Nagle), propagation included",
    "delayed-ack": "waiting for an ACK that its sender delayed",
    "recovery": "propagation of the rounds that repaired a loss",
    "probe": "waiting for a tail loss probe",
    "reordering": "waiting for RACK's reordering timer",
    "rto": "waiting for a retransmission timeout",
    "rto-repeated": "waiting for a timeout after one that brought no progress",
    "serialization": "transmission of the path's packets on each link",
    "queueing": "what else delayed the path's packets: queues (also behind the flow's own packets), jitter",
    "delivery": "propagation of data that the client waited for",
    "closing": "after the last data",
}

#: Limits of an end that has nothing to send.
_QUIET = ("application", "idle", "closed")
#: What a round belongs to, by what limited the sender before it; before a timer expired, it repairs a loss.
_ROUNDS = {"rto": "recovery", "probe": "recovery", "reordering": "recovery"}
#: States of a sender that has reduced its window.
_REDUCED = ("cwr", "recovery", "loss")
#: What the wait for a timer belongs to.
_TIMERS = {"rto": "rto", "probe": "probe", "reordering": "reordering", "persist": "receive-window"}
#: `delay_ns` is recorded in steps of this, rounded either way.
_STEP_NS = 16

#: The record tables that the budget is made of.
TABLES = ("connections", "objects", "limits", "states", "timeouts", "cwnd", "delays")

_Arrival: TypeAlias = tuple[int, int]
"""A row of the arrivals, and the end where it arrived."""


@dataclass(frozen=True)
class Budget:
    """Where the time of one object or connection went."""

    kind: str
    #: Number of the object within its application; serial number of a connection.
    index: int
    traffic: int
    start_ns: int
    end_ns: int
    #: Nanoseconds by part, without those that are 0; their sum is `end_ns - start_ns`.
    parts: Mapping[str, int]


class CriticalPaths:
    """The critical paths of one run, of the record tables `TABLES`."""

    def __init__(self, columns: Callable[[str], Columns], scenario: Mapping[str, Any], end_ns: int) -> None:
        """`columns` gives a table's columns up to `end_ns`: the end of the run, or of a window."""
        self._end_ns = end_ns
        self._paths = Paths(scenario)
        self._objects = columns("objects")
        table = columns("connections")
        names = ("traffic", "client", "server", "start_ns", "end_ns")
        rows = zip(*(table[name].tolist() for name in names), strict=True)
        self._known: dict[int, tuple[int, int, int, int, int]] = dict(
            zip(table["connection"].tolist(), rows, strict=True)
        )
        delays = columns("delays")
        at_client = ~np.asarray(delays["from_client"], np.bool_)
        self._arrivals = _Ends(delays, delays["connection"], at_client, "time_ns")
        self._delay, self._length = self._arrivals.lists("delay_ns", "len")
        self._limits = _senders(columns("limits"), "from_ns")
        (self._limit,) = self._limits.lists("limit")
        self._states = _senders(columns("states"), "from_ns")
        (self._state,) = self._states.lists("state")
        self._cwnd = _senders(columns("cwnd"), "time_ns")
        self._window, self._ssthresh = self._cwnd.lists("cwnd_bytes", "ssthresh_bytes")
        #: Of a run that did not sample cwnd (a kernel's): when each sender first reduced its window.
        self._reduced: dict[int, int] | None = None if self._window else {}
        fired = columns("timeouts")
        self._timeouts = _senders(fired, "time_ns")
        self._timer, self._set, self._backoffs = self._timeouts.lists("timer", "set_ns", "backoffs")
        # Arrivals by traffic entry, for the steps from one connection to another.
        traffic = np.zeros(max(self._known, default=0) + 1, np.int64)
        for serial, known in self._known.items():
            traffic[serial] = known[0]
        self._flows = _Ends(delays, traffic[delays["connection"]], at_client, "time_ns")
        self._serial, self._payload = self._flows.lists("connection", "len")

    def of_objects(self, kind: str | None = None) -> Iterator[Budget]:
        """The budgets of the finished objects, of one kind or of all, in the order of the records."""
        table = self._objects
        chosen = np.asarray(table["finished"], np.bool_)
        if kind is not None:
            chosen = chosen & np.asarray(table["kind"] == kind)
        rows = np.flatnonzero(chosen)
        names = ("kind", "index", "traffic", "start_ns", "end_ns")
        for name, index, traffic, start, end in zip(*(table[n][rows].tolist() for n in names), strict=True):
            book = _Book(start, end)
            found = self._ending(traffic, start, end)
            if found is not None:
                book.until(self._arrivals.time[found[0]], "delivery")
            self._walk(traffic, found, book)
            yield Budget(name, index, traffic, start, end, book.parts)

    def of_connections(self) -> Iterator[Budget]:
        """The budgets of all connections, to their ends or that of the run; datagrams have none."""
        for serial, (traffic, _, _, start, end) in self._known.items():
            ends = (serial * 2, serial * 2 + 1)
            if all(self._limits.empty(at) for at in ends):
                continue
            book = _Book(start, end if end >= 0 else self._end_ns)
            last = [(self._arrivals.time[row], (row, at)) for at in ends if (row := self._last_data(at)) >= 0]
            found = max(last)[1] if last else None
            if found is not None:
                book.until(self._arrivals.time[found[0]], "closing")
            self._walk(traffic, found, book)
            yield Budget("connection", serial, traffic, start, book.end, book.parts)

    def _last_data(self, end: int) -> int:
        """The row of the last arrival with data at an end; -1 if there is none."""
        rows = self._arrivals.rows(end)
        return next((row for row in reversed(rows) if self._length[row]), -1)

    def _ending(self, traffic: int, start: int, end: int) -> _Arrival | None:
        """The arrival that ended an object: data or a FIN at the client, else data at the server."""
        row = self._flows.until(traffic * 2 + 1, end)
        if row >= 0 and self._flows.time[row] == end:
            return self._arrival(row, at_client=True)
        found = self._delivered(traffic, end)
        if found is None or self._arrivals.time[found[0]] <= start:
            return self._delivered(traffic, end, at_client=False)
        return found

    def _delivered(self, traffic: int, now: int, *, at_client: bool = True) -> _Arrival | None:
        """The last arrival of data at one of a traffic entry's ends, up to this time."""
        end = traffic * 2 + at_client
        row = self._flows.until(end, now)
        while row >= self._flows.rows(end).start and not self._payload[row]:
            row -= 1
        return self._arrival(row, at_client) if row in self._flows.rows(end) else None

    def _arrival(self, row: int, at_client: bool) -> _Arrival:
        end = self._serial[row] * 2 + at_client
        return self._arrivals.until(end, self._flows.time[row]), end

    def _walk(self, traffic: int, found: _Arrival | None, book: _Book) -> None:
        """Books the time back to the start, along the path that ends with this arrival."""
        label, last = "delivery", True
        while found is not None and book.open:
            row, end = found
            label, cause = self._packet(row, end ^ 1, label, book, last)
            last = False
            if cause >= 0:
                found = cause, end ^ 1
                continue
            # The connection began here, after what its client had waited for on another one.
            found, label = self._delivered(traffic, book.now), "delivery"
            if found is not None:
                book.until(self._arrivals.time[found[0]], "client")
        book.until(book.start, "client")

    def _packet(self, row: int, sender: int, label: str, book: _Book, last: bool) -> tuple[str, int]:
        """Books a packet's journey, and its sender's wait for it; `last` of the path may be a FIN.

        Returns:
            What the rounds before belong to, and the row of the arrival that let the sender send; -1 where
            the connection began.

        """
        now, payload = book.now, self._length[row]
        sent = self._exactly(sender, max(now - self._delay[row], 0), now)
        traffic, client, server, opened, _ = self._known[sender >> 1]
        from_client = bool(sender & 1)
        hosts = (client, server) if from_client else (server, client)
        book.journey(sent, *self._paths.least(*hosts, traffic, from_client, payload), label)
        sent = self._timers(sender, sent, book)
        cause = self._arrivals.until(sender, min(sent, now - 1))
        begin = self._arrivals.time[cause] if cause >= 0 else opened
        if not payload and not last:
            # An acknowledgment belongs to the round of what it releases.
            self._wait(sender, begin, "receive-window" if label == "receive-window" else "delayed-ack", book)
            return label, cause
        quiet = "client" if from_client else "server"
        self._wait(sender, begin, quiet, book)
        if cause < 0:
            return label, cause
        return self._cause(sender, cause, sent, quiet, book)

    def _exactly(self, sender: int, sent: int, now: int) -> int:
        """When a packet was sent: when something happened at its sender, if that is less than a step away."""
        latest = sent + _STEP_NS
        for rows in (self._timeouts, self._arrivals, self._limits):
            at = rows.until(sender, min(latest, now - 1))
            if at >= 0 and latest - rows.time[at] < 2 * _STEP_NS:
                return int(rows.time[at])
        return sent

    def _timers(self, sender: int, sent: int, book: _Book) -> int:
        """Books the waits for the timers that made an end send; when the first of them was set."""
        while True:
            at = self._timeouts.until(sender, sent)
            if at < 0 or self._timeouts.time[at] != sent or self._set[at] >= sent:
                return sent
            part = _TIMERS[self._timer[at]]
            if part == "rto":
                limit = self._limits.before(sender, sent)
                opening = limit >= 0 and self._limit[limit] == "handshake"
                part = "rto-handshake" if opening else "rto-repeated" if self._backoffs[at] > 1 else "rto"
            sent = self._set[at]
            book.until(sent, part)

    def _cause(self, sender: int, cause: int, sent: int, quiet: str, book: _Book) -> tuple[str, int]:
        """As `_packet`: what a sender of data had waited for when this arrival let it send."""
        label = self._round(sender, self._arrivals.time[cause], sent)
        if label == "handshake" and self._length[cause]:
            label = ""  # data that came with the handshake's last segment
        while not label and not self._length[cause]:
            # It had nothing to send, and no data arrived: the wait began when it had sent everything.
            at = self._limits.before(sender, self._arrivals.time[cause])
            earlier = self._arrivals.before(sender, self._arrivals.time[cause])
            opened = self._known[sender >> 1][3]
            before = self._arrivals.time[earlier] if earlier >= 0 else opened
            book.until(max(before, self._limits.time[at] if at >= 0 else opened), quiet)
            if earlier < 0 or not book.open:
                self._wait(sender, opened, quiet, book)
                return "delivery", -1
            if at >= 0 and self._limits.time[at] > before:
                self._wait(sender, before, quiet, book)
            cause = earlier
            label = self._round(sender, before, before)
        return label or ("request" if quiet == "server" else "delivery"), cause

    def _round(self, sender: int, time: int, sent: int) -> str:
        """What the round that an arrival at `time` ended belongs to; "" if its end had nothing to send."""
        at = self._limits.before(sender, time)
        limit = self._limit[at] if at >= 0 else "idle"
        state = self._states.until(sender, sent)
        if limit != "handshake" and state >= 0 and self._state[state] in ("recovery", "loss"):
            return "recovery"
        if limit in _QUIET:
            return ""
        return self._full(sender, time) if limit == "cwnd" else _ROUNDS.get(limit, limit)

    def _full(self, sender: int, time: int) -> str:
        """What a full cwnd is called: whether it was below ssthresh before this time.

        Without samples of cwnd, slow start lasts until the first reduction.
        """
        if self._reduced is not None:
            if sender not in self._reduced:
                kept = (row for row in self._states.rows(sender) if self._state[row] in _REDUCED)
                self._reduced[sender] = (
                    self._states.time[first] if (first := next(kept, -1)) >= 0 else 1 << 63
                )
            return "slow-start" if time <= self._reduced[sender] else "cwnd"
        at = self._cwnd.before(sender, time)
        below = at < 0 or self._ssthresh[at] < 0 or self._window[at] < self._ssthresh[at]
        return "slow-start" if below else "cwnd"

    def _wait(self, sender: int, begin: int, quiet: str, book: _Book) -> None:
        """Books the time back to `begin` by what limited an end; `quiet` is for one with nothing to send."""
        while book.open and book.now > begin:
            at = self._limits.before(sender, book.now)
            if at < 0:
                book.until(begin, quiet)
                return
            limit, since = self._limit[at], max(begin, self._limits.time[at])
            part = quiet if limit in _QUIET else self._full(sender, book.now) if limit == "cwnd" else limit
            book.until(since, part)


@dataclass
class _Book:
    """The time of one path, booked from its end back to its start."""

    start: int
    end: int
    now: int = field(init=False)
    parts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.now = self.end

    @property
    def open(self) -> bool:
        """Whether time is left."""
        return self.now > self.start

    def until(self, begin: int, part: str) -> None:
        """Books the time since `begin`, as far as it is left."""
        begin = max(begin, self.start)
        if begin < self.now:
            self.parts[part] = self.parts.get(part, 0) + self.now - begin
            self.now = begin

    def journey(self, sent: int, propagation: int, transmission: int, label: str) -> None:
        """Books a packet's journey; what exceeds its propagation and transmission is queueing."""
        moved = max(sent, self.now - propagation)
        self.until(moved, label)
        self.until(max(sent, moved - transmission), "serialization")
        self.until(sent, "queueing")


class _Ends:
    """Rows of a table by end, in order of time; an end's number is 2 x `owner` + 1 at the client."""

    def __init__(
        self,
        table: Columns,
        owner: NDArray[Any],
        client: NDArray[Any],
        time: str,
        chosen: NDArray[np.bool_] | None = None,
    ) -> None:
        end = owner.astype(np.int64) * 2 + client
        order = np.lexsort((table[time], end))
        if chosen is not None:
            order = order[chosen[order]]
        self._table = table
        self._order = order
        self._starts: list[int] = np.searchsorted(
            end[order], np.arange(int(end.max(initial=-1)) + 2)
        ).tolist()
        (self.time,) = self.lists(time)

    def lists(self, *names: str) -> list[list[Any]]:
        """Columns in this order."""
        return [self._table[name][self._order].tolist() for name in names]

    def rows(self, end: int) -> range:
        """An end's rows."""
        return range(self._starts[end], self._starts[end + 1]) if end + 1 < len(self._starts) else range(0)

    def empty(self, end: int) -> bool:
        """Whether an end has no row."""
        return not self.rows(end)

    def before(self, end: int, time: int) -> int:
        """An end's last row before a time; -1 if there is none."""
        rows = self.rows(end)
        at = bisect_left(self.time, time, rows.start, rows.stop) - 1
        return at if at >= rows.start else -1

    def until(self, end: int, time: int) -> int:
        """An end's last row up to a time; -1 if there is none."""
        rows = self.rows(end)
        at = bisect_right(self.time, time, rows.start, rows.stop) - 1
        return at if at >= rows.start else -1


def _senders(table: Columns, time: str, chosen: NDArray[np.bool_] | None = None) -> _Ends:
    """The rows of a table of senders by end."""
    return _Ends(table, table["connection"], np.asarray(table["from_client"], np.int64), time, chosen)
