"""What metrics have in common: rows of the record tables, chosen by traffic, kind and time."""

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

# ── types of options, which are checked with the study ────────────────────────────────────────────────────

#: A kind of object in the records.
Kind: TypeAlias = Literal["page", "file", "transaction", "object"]
#: Over `all` clients together, or each `client` on its own first.
Pool: TypeAlias = Literal["all", "client"]
#: What counts as transferred.
Transferred: TypeAlias = Literal["delivered", "completed"]
#: The serial number of a connection, or another number from 0 on.
WholeNumber: TypeAlias = Annotated[int, Field(ge=0)]
#: A position counted from 1.
Position: TypeAlias = Annotated[int, Field(ge=1)]
Seconds: TypeAlias = Annotated[float, Field(ge=0)]
#: The length of an interval in seconds; counters are kept at its edges.
Period: TypeAlias = Annotated[float, Field(gt=0)]
#: A deviation relative to 1.
Tolerance: TypeAlias = Annotated[float, Field(gt=0, lt=1)]


def once_per_window(function: Callable[Concatenate[RunView, P], T]) -> Callable[Concatenate[RunView, P], T]:
    """Lets a function of a window, which several metrics call, compute once for each window."""

    @wraps(function)
    def kept(run: RunView, /, *args: P.args, **named: P.kwargs) -> T:
        return run.once((function, *args, *named.items()), lambda: function(run, *args, **named))

    return kept


# ── connections ───────────────────────────────────────────────────────────────────────────────────────────


@once_per_window
def rows_of_traffic(run: RunView, table: str, *traffic: str) -> Bools:
    """Which rows of a table belong to these traffic entries of the study."""
    entries = [entry for name in traffic for entry in run.traffic(name)]
    column = run.columns(table)["traffic"]
    if len(entries) == 1:
        return np.asarray(column == entries[0])
    belongs = np.zeros(len(run.traffic()), dtype=np.bool_)
    belongs[entries] = True
    return belongs[column]


@once_per_window
def select_connections(run: RunView, *traffic: str | None) -> Mapping[str, Column]:
    """The connections of these traffic entries of the study, or of all (None)."""
    table = run.columns("connections")
    names = [name for name in traffic if name is not None]
    if len(names) < len(traffic):
        return table
    return Rows(table, rows_of_traffic(run, "connections", *names).nonzero()[0])


@once_per_window
def connections_opened(run: RunView, traffic: str | None) -> Mapping[str, Column]:
    """The rows of those connections that were opened in the window."""
    table = select_connections(run, traffic)
    return Rows(table, np.flatnonzero(table["start_ns"] >= run.start_s * 1e9))


def all_use_quic(run: RunView, traffic: str | None) -> bool:
    """Whether these traffic entries have connections, all of QUIC stacks."""
    used = select_connections(run, traffic)["traffic"]
    entries = run.scenario["traffic"]
    return len(used) > 0 and all("stack" in entries[entry] for entry in np.unique(used))


def delivered_bytes(rows: Mapping[str, Column]) -> Column:
    """Payload bytes that each of these connections delivered in order, both ways."""
    return rows["bytes_up"].astype(np.float64) + rows["bytes_down"]


def per_segment_sent(run: RunView, counter: str, traffic: str | None) -> float:
    """A counter's sum per segment that these connections sent, both ways; NaN if nothing was sent."""
    rows = select_connections(run, traffic)
    sent = float(rows["segments_sent"].sum())
    return float(rows[counter].sum()) / sent if sent else math.nan


def rates_by_interval(
    run: RunView, interval: float, *traffic: str | None
) -> list[tuple[RunView, dict[int, float]]]:
    """The intervals of the window, and in each the goodput (bit/s) of those connections of these traffic
    entries (None: of all) that were open through all of it, by their serial numbers.
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
    """Goodput (bit/s) of each connection of a traffic in the intervals through which it was open."""
    by_connection: dict[int, list[float]] = {}
    for _, rates in rates_by_interval(run, interval, traffic):
        for serial, rate in rates.items():
            by_connection.setdefault(serial, []).append(rate)
    return [np.array(values) for values in by_connection.values()]


# ── packets ───────────────────────────────────────────────────────────────────────────────────────────────


@once_per_window
def delays_by_direction(run: RunView, traffic: str | None) -> list[Floats]:
    """One-way delays (s) of the packets with payload that arrived in the window, in the order of arrival: of
    each direction of each connection.
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
    """Time (s), packet number, payload bytes, event and whether a timer sent it: of the segments of one
    connection with one of these events, seen at the observation point, in order; with `history` also of
    those before the window.
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
    """These counters of a direction of a link; NaN where null."""
    table = run.columns("links")
    row = np.flatnonzero(np.asarray(table["link"]) == run.link(name))[0]
    values = {column: float(table[column][row]) for column in columns}
    return {column: math.nan if value < 0 else value for column, value in values.items()}


# ── objects ───────────────────────────────────────────────────────────────────────────────────────────────


class Objects:
    """Pages, files, transactions or objects of one run: those that began in the window.

    Each column is computed on first access, as most metrics read two or three.
    """

    def __init__(self, table: Columns, rows: NDArray[np.intp]) -> None:
        self._table, self._rows = table, rows

    def _floats(self, name: str) -> Floats:
        return np.asarray(self._table[name][self._rows], dtype=np.float64)

    @cached_property
    def client(self) -> NDArray[Any]:
        """Index of the traffic entry, which is one client."""
        return np.asarray(self._table["traffic"][self._rows])

    @cached_property
    def index(self) -> NDArray[Any]:
        """Number within the application, from 0."""
        return np.asarray(self._table["index"][self._rows])

    @cached_property
    def start_s(self) -> Floats:
        """Start of the clock, from the start of the run."""
        return self._floats("start_ns") / 1e9

    @cached_property
    def delay_s(self) -> Floats:
        """From the start of the clock to the last byte in order; infinite if the window ended first."""
        took = self._floats("end_ns") - self._floats("start_ns")
        return np.where(self.finished, took / 1e9, np.inf)

    @cached_property
    def finished(self) -> Bools:
        """Whether the last byte came before the window ended."""
        return np.asarray(self._table["finished"][self._rows], np.bool_)

    @cached_property
    def bytes(self) -> Floats:
        """Payload."""
        return self._floats("bytes")

    @cached_property
    def retransmits(self) -> Floats:
        """Segments sent again for it."""
        return self._floats("retransmits")

    @cached_property
    def timeouts(self) -> Floats:
        """Retransmission timeouts of its connections."""
        return self._floats("timeouts")


@once_per_window
def objects(run: RunView, kind: Kind, traffic: str | None = None) -> Objects:
    """The objects of one kind whose clock began in the window."""
    table = run.columns("objects")
    if not run.traffic(traffic):
        return Objects(table, np.empty(0, np.intp))
    chosen = run.once(("kind", kind), lambda: equals(table, "kind", kind))
    if traffic is not None:
        chosen = chosen & rows_of_traffic(run, "objects", traffic)
    return Objects(table, chosen.nonzero()[0])


def median(delays: Floats) -> float:
    """Median in which an unfinished object (infinite) counts as longer than every finished one.

    NaN without objects, or if the median lies among the unfinished ones.
    """
    if len(delays) == 0:
        return math.nan
    value = float(numbers.median(delays))
    return value if math.isfinite(value) else math.nan


@once_per_window
def pooled_median(run: RunView, kind: Kind, traffic: str | None, pool: Pool) -> float:
    """Median of the delays: of `all` clients together, or the mean of each `client`'s own median."""
    sample = objects(run, kind, traffic)
    if pool == "all" or len(sample.client) == 0:
        return median(sample.delay_s)
    # The middle one or two of each client's delays, all sorted at once.
    order = np.argsort(sample.delay_s)
    clients = sample.client[order]
    if len(run.traffic()) <= 1 << 16:
        clients = clients.astype(np.uint16)  # sorted by radix
    order = order[np.argsort(clients, kind="stable")]
    delays, clients = sample.delay_s[order], sample.client[order]
    first = np.flatnonzero(np.diff(clients, prepend=-1))
    count = np.diff(first, append=len(clients))
    medians = (delays[first + (count - 1) // 2] + delays[first + count // 2]) / 2
    return float(np.mean(np.where(np.isfinite(medians), medians, np.nan)))
