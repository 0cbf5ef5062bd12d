"""Code that several metrics share: types of options, and rows of record tables by traffic, kind and time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from typing import Annotated, Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cwndlab.base import numbers
from cwndlab.base.numbers import Columns, Floats
from cwndlab.records.run_view import Column
from cwndlab.records.window import Rows, RunView, equals

P = ParamSpec("P")
T = TypeVar("T")
Bools: TypeAlias = NDArray[np.bool_]

# ── types of options, against which a study's values are checked ──────────────────────────────────────────

#: Column `kind` of the table `objects`. "object": an object of a page, or a datagram over QUIC.
Kind: TypeAlias = Literal["page", "file", "transaction", "object"]
#: How a median is taken: over `all` clients together, or as the mean of the medians of each `client`.
Pool: TypeAlias = Literal["all", "client"]
#: Which bytes count as transferred: all delivered bytes, or those of completed objects.
Transferred: TypeAlias = Literal["delivered", "completed"]
#: A whole number from 0 on, such as the serial number of a connection.
WholeNumber: TypeAlias = Annotated[int, Field(ge=0)]
#: A position counted from 1.
Position: TypeAlias = Annotated[int, Field(ge=1)]
Seconds: TypeAlias = Annotated[float, Field(ge=0)]
#: The length of intervals in seconds; the run records counters at their edges.
Period: TypeAlias = Annotated[float, Field(gt=0)]
#: A relative deviation: 0.1 is 10 %.
Tolerance: TypeAlias = Annotated[float, Field(gt=0, lt=1)]


def once_per_window(function: Callable[Concatenate[RunView, P], T]) -> Callable[Concatenate[RunView, P], T]:
    """Caches a function of a window: it is computed once for each window and set of arguments."""

    @wraps(function)
    def kept(run: RunView, /, *args: P.args, **named: P.kwargs) -> T:
        return run.once((function, *args, *named.items()), lambda: function(run, *args, **named))

    return kept


# ── connections ───────────────────────────────────────────────────────────────────────────────────────────


@once_per_window
def rows_of_traffic(run: RunView, table: str, *traffic: str) -> Bools:
    """A mask of the rows of a table that belong to these traffic entries of the study."""
    entries = [entry for name in traffic for entry in run.traffic(name)]
    column = run.columns(table)["traffic"]
    if len(entries) == 1:
        return np.asarray(column == entries[0])
    belongs = np.zeros(len(run.traffic()), dtype=np.bool_)
    belongs[entries] = True
    return belongs[column]


@once_per_window
def select_connections(run: RunView, *traffic: str | None) -> Mapping[str, Column]:
    """The connections of these traffic entries of the study; of all entries if a name is None."""
    table = run.columns("connections")
    names = [name for name in traffic if name is not None]
    if len(names) < len(traffic):
        return table
    return Rows(table, rows_of_traffic(run, "connections", *names).nonzero()[0])


@once_per_window
def connections_opened(run: RunView, traffic: str | None) -> Mapping[str, Column]:
    """The connections of a traffic entry (None: of all) that were opened in the window."""
    table = select_connections(run, traffic)
    return Rows(table, np.flatnonzero(table["start_ns"] >= run.start_s * 1e9))


def all_use_quic(run: RunView, traffic: str | None) -> bool:
    """Whether a traffic entry (None: all) has connections, and all of them use QUIC stacks."""
    used = select_connections(run, traffic)["traffic"]
    entries = run.scenario["traffic"]
    return len(used) > 0 and all("stack" in entries[entry] for entry in np.unique(used))


def delivered_bytes(rows: Mapping[str, Column]) -> Column:
    """Payload bytes that each of these connections delivered in order, both directions added."""
    return rows["bytes_up"].astype(np.float64) + rows["bytes_down"]


def per_segment_sent(run: RunView, counter: str, traffic: str | None) -> float:
    """The sum of a counter per segment sent by a traffic entry's connections; NaN if nothing was sent."""
    rows = select_connections(run, traffic)
    sent = float(rows["segments_sent"].sum())
    return float(rows[counter].sum()) / sent if sent else math.nan


def rates_by_interval(
    run: RunView, interval: float, *traffic: str | None
) -> list[tuple[RunView, dict[int, float]]]:
    """The intervals of the window, each with the goodput (bit/s) by the connection's serial number.

    Each interval includes the connections of these traffic entries (None: of all) that were open throughout.
    """
    pairs = []
    for part in run.parts(interval):
        rows = select_connections(part, *traffic)
        start, end = (np.asarray(rows[name], dtype=np.float64) for name in ("start_ns", "end_ns"))
        throughout = (start <= part.start_s * 1e9) & ((end < 0) | np.isnan(end) | (end >= part.end_s * 1e9))
        bits = 8.0 * delivered_bytes(rows)
        chosen = np.flatnonzero(throughout)
        rates = {int(rows["connection"][row]): float(bits[row]) / part.seconds for row in chosen}
        pairs.append((part, rates))
    return pairs


@once_per_window
def rates_by_connection(run: RunView, interval: float, traffic: str) -> list[Floats]:
    """The goodput (bit/s) of each connection of a traffic entry, per interval in which it stayed open."""
    by_connection: dict[int, list[float]] = {}
    for _, rates in rates_by_interval(run, interval, traffic):
        for serial, rate in rates.items():
            by_connection.setdefault(serial, []).append(rate)
    return [np.array(values) for values in by_connection.values()]


# ── packets ───────────────────────────────────────────────────────────────────────────────────────────────


@once_per_window
def delays_by_direction(run: RunView, traffic: str | None) -> list[Floats]:
    """For each direction of each connection, the one-way delays (s) of its packets with payload that arrived
    in the window, in the order of arrival.
    """
    table = run.columns("delays")
    data = np.asarray(table["len"]) > 0
    if traffic is not None:
        own = np.unique(np.asarray(select_connections(run, traffic)["connection"]))
        data &= np.isin(np.asarray(table["connection"]), own)
    flow = 2 * np.asarray(table["connection"], dtype=np.int64)[data] + np.asarray(table["from_client"])[data]
    delay = np.asarray(table["delay_ns"], dtype=np.float64)[data] / 1e9
    order = np.argsort(flow, kind="stable")
    edges = np.flatnonzero(np.diff(flow[order])) + 1
    return [np.asarray(part) for part in np.split(delay[order], edges) if len(part)]


def segment_events(
    run: RunView, *kinds: str, connection: int = 0, history: bool = False
) -> dict[str, Column]:
    """The segments of a connection with one of these events at the observation point, in order of time.

    Columns: time (s), packet number, event, payload bytes, and whether a timer sent the segment. `history`
    includes segments from before the window.
    """
    table = run.history("segments") if history else run.columns("segments")
    event = np.asarray(table["event"])
    keep = np.isin(event, kinds) & (np.asarray(table["connection"]) == connection)
    return {
        "time_s": np.asarray(table["time_ns"])[keep] * 1e-9,
        "segment": np.asarray(table["segment"])[keep],
        "event": event[keep],
        "len": np.asarray(table["len"])[keep],
        "timeout": np.asarray(table["timeout"], dtype=np.bool_)[keep],
    }


def link_counters(run: RunView, name: str | None, *columns: str) -> dict[str, float]:
    """Counters of one direction of a link, by the names of their columns; NaN if a counter is missing."""
    table = run.columns("links")
    row = np.flatnonzero(np.asarray(table["link"]) == run.link(name))[0]
    values = {column: float(table[column][row]) for column in columns}
    return {column: math.nan if value < 0 else value for column, value in values.items()}


# ── objects ───────────────────────────────────────────────────────────────────────────────────────────────


class Objects:
    """Pages, files, transactions or objects of one run that began in the window, one per row.

    Each column is computed when it is first read; most metrics read two or three.
    """

    def __init__(self, table: Columns, rows: NDArray[np.intp]) -> None:
        self._table, self._rows = table, rows

    def _floats(self, name: str) -> Floats:
        return np.asarray(self._table[name][self._rows], dtype=np.float64)

    @cached_property
    def client(self) -> NDArray[Any]:
        """Index of the object's traffic entry in the scenario; an entry is one client."""
        return np.asarray(self._table["traffic"][self._rows])

    @cached_property
    def index(self) -> NDArray[Any]:
        """Number of the object within its application, from 0."""
        return np.asarray(self._table["index"][self._rows])

    @cached_property
    def start_s(self) -> Floats:
        """Start of the object in seconds of the run: its SYN or request, by the application's key `clock`."""
        return self._floats("start_ns") / 1e9

    @cached_property
    def delay_s(self) -> Floats:
        """Seconds from the object's start until its last byte arrives in order; infinite if unfinished."""
        took = self._floats("end_ns") - self._floats("start_ns")
        return np.where(self.finished, took / 1e9, np.inf)

    @cached_property
    def finished(self) -> Bools:
        """Whether the object's last byte arrived before the window ended."""
        return np.asarray(self._table["finished"][self._rows], np.bool_)

    @cached_property
    def bytes(self) -> Floats:
        """Payload bytes of the object."""
        return self._floats("bytes")

    @cached_property
    def retransmits(self) -> Floats:
        """Segments sent again for the object."""
        return self._floats("retransmits")

    @cached_property
    def timeouts(self) -> Floats:
        """Retransmission timeouts of the object's connections while it was in progress."""
        return self._floats("timeouts")


@once_per_window
def objects(run: RunView, kind: Kind, traffic: str | None = None) -> Objects:
    """The objects of one kind that began in the window, of one traffic entry or of all (None)."""
    table = run.columns("objects")
    if not run.traffic(traffic):
        return Objects(table, np.empty(0, np.intp))
    chosen = run.once(("kind", kind), lambda: equals(table, "kind", kind))
    if traffic is not None:
        chosen = chosen & rows_of_traffic(run, "objects", traffic)
    return Objects(table, chosen.nonzero()[0])


def median(delays: Floats) -> float:
    """Median of delays (s), where unfinished objects have infinite delays. NaN if there are no delays, or if
    the median is infinite.
    """
    if len(delays) == 0:
        return math.nan
    value = float(numbers.median(delays))
    return value if math.isfinite(value) else math.nan


@once_per_window
def pooled_median(run: RunView, kind: Kind, traffic: str | None, pool: Pool) -> float:
    """Median delay (s) of all clients together (`pool` "all"), or mean of the clients' medians ("client")."""
    sample = objects(run, kind, traffic)
    if pool == "all" or len(sample.client) == 0:
        return median(sample.delay_s)
    # Sort by client, then by delay: a client's median is the mean of the one or two delays in its middle.
    order = np.argsort(sample.delay_s)
    clients = sample.client[order]
    if len(run.traffic()) <= 1 << 16:
        clients = clients.astype(np.uint16)  # numpy sorts 16-bit integers faster, by radix
    order = order[np.argsort(clients, kind="stable")]
    delays, clients = sample.delay_s[order], sample.client[order]
    first = np.flatnonzero(np.diff(clients, prepend=-1))
    count = np.diff(first, append=len(clients))
    medians = (delays[first + (count - 1) // 2] + delays[first + count // 2]) / 2
    return float(np.mean(np.where(np.isfinite(medians), medians, np.nan)))
