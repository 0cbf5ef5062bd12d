"""Cuts a run's records to one window of time, as if the run began and ended with the window.

An event at the window's start is in the window; one at its end is not, unless the run ends there. So adjacent
windows share no events, and a window from time 0 has the records of a run that ends at the window's end.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from cwndlab.base.core import time_budgets
from cwndlab.base.errors import KeyPath, NotFoundError, problem_at
from cwndlab.base.numbers import Columns

from .run_view import Column, Computed, TableColumns, WholeRun, snapshot_times

Index = NDArray[np.intp]
T = TypeVar("T")

#: For each table of counters, the table with the counters' values at the edges of windows.
SNAPSHOTS = {
    "connections": "connection_snapshots",
    "objects": "object_snapshots",
    "links": "link_snapshots",
}


class _WithTraffic(Mapping[str, Column]):
    """A table with a column `connection`, plus a column `traffic`: the traffic entry of the connection."""

    def __init__(self, rows: Columns, connections: Columns) -> None:
        self._rows, self._connections = rows, connections

    def __getitem__(self, name: str) -> Column:
        return self._traffic if name == "traffic" else self._rows[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._rows
        yield "traffic"

    def __len__(self) -> int:
        return len(self._rows) + 1

    @cached_property
    def _traffic(self) -> Column:
        serials = self._connections["connection"]
        order = np.argsort(serials)
        at = order[np.searchsorted(serials, self._rows["connection"], sorter=order)]
        return np.asarray(self._connections["traffic"][at])


def window_edges(scenario: Mapping[str, Any], name: str | None) -> tuple[int, int]:
    """Start and end in nanoseconds of the scenario's window of this name; of the whole run for None."""
    if name is None:
        return (0, int(scenario["duration_ns"]))
    start, end = scenario["windows"][name]
    return int(start), int(end)


class RunView:
    """The records of a run in one window of time, as a metric reads them."""

    def __init__(self, run: WholeRun, start_ns: int, end_ns: int) -> None:
        self._run = run
        self._start = start_ns
        self._end = end_ns
        self._last = end_ns >= int(run.scenario["duration_ns"])
        self._made: dict[str, Columns] = {}
        self._derived: dict[Hashable, object] = {}

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The cell's scenario, as the engine reads it."""
        return self._run.scenario

    @property
    def start_s(self) -> float:
        """Start of the window, in seconds from the start of the run."""
        return self._start / 1e9

    @property
    def end_s(self) -> float:
        """End of the window, in seconds from the start of the run."""
        return self._end / 1e9

    @property
    def seconds(self) -> float:
        """Length of the window in seconds."""
        return (self._end - self._start) / 1e9

    def traffic(self, name: str | None = None) -> list[int]:
        """Indices of the traffic entries with this name in the study (all instances), or of all entries."""
        return self._run.traffic(name)

    def link(self, name: str | None = None) -> int:
        """Index of a direction of a link ("r2>receiver"); by default of the slowest one, the bottleneck."""
        return self._run.link(name)

    def columns(self, table: str) -> Columns:
        """The columns of a record table as numpy arrays, cut to this window; NotFoundError if not recorded.

        - `segments`, `queues`, `timeouts`, `delays`, `accecn`: the rows within the window.
        - `cwnd`: the rows within the window, and each sender's last row before it, with the start as time.
        - `limits`, `states`: the intervals, cut to the window.
        - `connections`: those that were open in the window. Counters count only within the window; a
          connection that ended later is open.
        - `objects`: those that began in the window; an object that ended later is unfinished.
        - `links`: counters, which count only within the window.
        Tables with a column `connection` also have `traffic`, the index of the connection's traffic entry;
        `traffic(name)` returns the indices of a flow.
        """
        if table not in self._made:
            if table not in _ROWS_OF:
                raise NotFoundError(f"metrics read {', '.join(_ROWS_OF)}; there is no table {table!r}")
            whole = self._start == 0 and self._last
            rows = self._run.columns(table) if whole else _ROWS_OF[table](self, table)
            named = "connection" in rows and "traffic" not in rows
            self._made[table] = _WithTraffic(rows, self._run.columns("connections")) if named else rows
        return self._made[table]

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result of `make`, computed once per window and key, since many metrics select the same rows."""
        if key not in self._derived:
            self._derived[key] = make()
        return cast(T, self._derived[key])

    def parts(self, interval_s: float) -> list[RunView]:
        """One view for each whole interval of `interval_s` seconds in the window, in order of time.

        The run records counters at the edges of these intervals if a quantity has the option `interval` with
        this length.
        """
        edges = interval_edges(self._start, self._end, interval_s)
        return [RunView(self._run, a, b) for a, b in itertools.pairwise(edges)]

    def history(self, table: str) -> Columns:
        """The columns of a table (see `columns`) from the start of the run to the end of the window."""
        return RunView(self._run, 0, self._end).columns(table)

    def budgets(self, kind: str) -> Columns:
        """Time budgets of the finished objects of a kind that began in the window, one per row.

        For "connection": of connections opened in the window, up to the end of the connection or the window.
        Columns: `traffic`, `kind`, `index`, `start_ns`, `end_ns`, and the nanoseconds of each part, such as
        `slow-start_ns`.
        """
        full = TableColumns(time_budgets(self._run.table, self.scenario, self._end, kind))
        return Rows(full, np.flatnonzero(full["start_ns"] >= self._start))

    def _before_end(self, time: Column) -> NDArray[np.bool_]:
        return np.full(len(time), True) if self._last else np.asarray(time < self._end)

    def _samples(self, table: str) -> Columns:
        full = self._run.columns(table)
        time = full["time_ns"]
        return Rows(full, np.flatnonzero((time >= self._start) & self._before_end(time)))

    def _states(self, table: str) -> Columns:
        full = self._run.columns(table)
        time = full["time_ns"]
        before = np.flatnonzero(time < self._start)
        sender = full["connection"][before].astype(np.int64) * 2 + full["from_client"][before]
        _, newest = np.unique(sender[::-1], return_index=True)
        within = np.flatnonzero((time >= self._start) & self._before_end(time))
        index = np.concatenate([np.sort(before[len(before) - 1 - newest]), within])
        return Rows(full, index, {"time_ns": np.maximum(time[index], self._start)})

    def _intervals(self, table: str) -> Columns:
        full = self._run.columns(table)
        begin, end = full["from_ns"], full["to_ns"]
        starts_within = (begin >= self._start) & self._before_end(begin)
        index = np.flatnonzero(starts_within | ((begin < self._start) & (end > self._start)))
        clipped = {
            "from_ns": np.maximum(begin[index], self._start),
            "to_ns": np.minimum(end[index], self._end),
        }
        return Rows(full, index, clipped)

    def _snapshot(self, table: str, at: int) -> Rows:
        full = self._run.columns(SNAPSHOTS[table])
        if at not in snapshot_times(self.scenario):
            raise NotFoundError(f"the run kept no counters at {at / 1e9:g} s")
        return Rows(full, (full["time_ns"] == at).nonzero()[0])

    def _connections(self, table: str) -> Columns:
        full = self._run.columns(table)
        start, end = full["start_ns"], full["end_ns"]
        ended = end >= 0  # null is -1 or NaN
        index = (self._before_end(start) & ~(ended & (end < self._start))).nonzero()[0]
        rows = Rows(full, index)
        serial = rows["connection"]
        changed: dict[str, Column] = {}
        then = before = None
        open_ = older = np.empty(0, np.bool_)
        if not self._last:
            open_ = ~(ended & (end < self._end))[index]
            then = self._snapshot(table, self._end)
            then_at = _find(serial[open_], then["connection"])
            changed["end_ns"] = np.where(open_, -1, rows["end_ns"])
            changed["failed"] = rows["failed"] & ~open_
            established = rows["established_ns"]
            changed["established_ns"] = np.where(established < self._end, established, -1)
        if self._start > 0:
            older = rows["start_ns"] < self._start
            before = self._snapshot(table, self._start)
            before_at = _find(serial[older], before["connection"])

        def compute(name: str) -> Column:
            if name in changed:
                return changed[name]
            value = rows[name]
            if then is not None:
                value = value.copy()
                value[open_] = then[name][then_at]
            if before is not None:
                value = value.astype(np.int64)
                value[older] -= before[name][before_at].astype(np.int64)
            return value

        counters = _counters(self._run.columns(SNAPSHOTS[table]))
        return Rows(full, index, Computed([*changed, *counters], compute))

    def _objects(self, table: str) -> Columns:
        full = self._run.columns(table)
        start = full["start_ns"]
        began = (start >= self._start) & self._before_end(start)
        if self._last:
            return Rows(full, began.nonzero()[0])
        then = self._snapshot(table, self._end)
        unfinished = np.flatnonzero(then["start_ns"] >= self._start)
        names = ("traffic", "kind", "index", "start_ns")
        under_way = set(zip(*(then[name][unfinished].tolist() for name in names), strict=True))
        keys = zip(*(full[name].tolist() for name in names), strict=True)
        over = np.array([key not in under_way for key in keys], dtype=np.bool_)
        index = np.flatnonzero(began & over)
        joined = {
            name: np.concatenate([full[name][index], then[name][unfinished].astype(full[name].dtype)])
            for name in full
        }
        return Rows(joined, np.arange(len(index) + len(unfinished)))

    def _links(self, table: str) -> Columns:
        full = self._run.columns(table)
        total: Columns = full if self._last else self._snapshot(table, self._end)
        start, end = self._start, self._end  # `counted` must not refer to `self`: a cycle keeps it alive
        before = self._snapshot(table, start) if start > 0 else None

        def counted(name: str) -> Column:
            if name == "mean_queue_packets":
                area = total[name] * end - (before[name] * start if before is not None else 0)
                return area / (end - start)
            if name == "link" or before is None:
                return total[name]
            value = total[name].astype(np.int64)
            return np.where(value < 0, value, value - before[name].astype(np.int64))

        # `max_queue_packets` is left out: the longest queue of the run may lie outside the window.
        return Computed([name for name in full if name != "max_queue_packets"], counted)


#: For each table that metrics can read, the function that cuts the table to a window.
_ROWS_OF: Mapping[str, Callable[[RunView, str], Columns]] = {
    "segments": RunView._samples,
    "queues": RunView._samples,
    "cwnd": RunView._states,
    "limits": RunView._intervals,
    "states": RunView._intervals,
    "timeouts": RunView._samples,
    "delays": RunView._samples,
    "accecn": RunView._samples,
    "connections": RunView._connections,
    "objects": RunView._objects,
    "links": RunView._links,
}


def _counters(snapshot: Columns) -> list[str]:
    return [name for name in snapshot if name not in ("time_ns", "connection", "traffic")]


def _find(wanted: Column, present: Column) -> Index:
    """The indices in `present` of the values in `wanted`; RuntimeError if one is missing."""
    order = np.argsort(present, kind="stable")
    at = np.searchsorted(present, wanted, sorter=order)
    if len(wanted) and (at >= len(present)).any():
        raise RuntimeError("a connection that was open is missing in a snapshot")
    index: Index = order[at] if len(wanted) else np.empty(0, dtype=np.intp)
    if not np.array_equal(present[index], wanted):
        raise RuntimeError("a connection that was open is missing in a snapshot")
    return index


def equals(columns: Columns, name: str, word: str) -> NDArray[np.bool_]:
    """A mask of the rows with this word in a column of text."""
    if isinstance(columns, TableColumns | Rows):
        return columns.equals(name, word)
    return np.asarray(columns[name] == word)


class Rows(Computed):
    """The rows of a table at some indices, with some columns replaced; computed on first access."""

    def __init__(self, full: Columns, index: Index, changed: Mapping[str, Column] | None = None) -> None:
        taken = changed or {}
        self._full, self._index, self._changed = full, index, taken
        super().__init__(full, lambda name: taken[name] if name in taken else full[name][index])

    def equals(self, name: str, word: str) -> NDArray[np.bool_]:
        """A mask of the rows with this word in a column of text."""
        if name in self._changed:
            return np.asarray(self._changed[name] == word)
        return equals(self._full, name, word)[self._index]


#: The largest number of intervals of a window, since the run records all counters at each edge.
MAX_INTERVALS = 10_000


def interval_edges(start: int, end: int, interval_s: float, at: KeyPath = ("interval",)) -> list[int]:
    """The edges, in nanoseconds, of the whole intervals of a window; StudyError if there are too many."""
    if end - start > MAX_INTERVALS * interval_s * 1e9:
        right = f"at most {MAX_INTERVALS:,} intervals; make them longer"
        raise problem_at(at, f"the window has too many intervals of {interval_s:g} s", right)
    return list(range(start, end + 1, max(1, round(interval_s * 1e9))))
