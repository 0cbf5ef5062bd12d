"""The first event in which two traces differ: of two result folders, or of two files of `cwndlab trace`."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from cwndlab.errors import OutputError

from .trace import EVENTS

#: Of the times.
DEFAULT_TOLERANCE_S = 0.002


@dataclass(frozen=True)
class Event:
    """A line of a trace."""

    time_s: float
    event: str
    segment: int
    connection: int = 0

    def __str__(self) -> str:
        return f"{self.time_s:.6f} s {self.event} {self.segment}" + (
            f" (connection {self.connection})" if self.connection else ""
        )


@dataclass(frozen=True)
class Difference:
    """The first difference: how many events agree before it, and what stands there (None: nothing more)."""

    agree: int
    a: Event | None
    b: Event | None
    #: The largest difference of times before it.
    apart_s: float

    def __str__(self) -> str:
        if self.a is None and self.b is None:
            return f"all {self.agree} events agree, their times within {self.apart_s * 1e3:.3f} ms"
        return (
            f"after {self.agree} events that agree (times within {self.apart_s * 1e3:.3f} ms): "
            f"{self.a or 'the end'} | {self.b or 'the end'}"
        )


def _key(event: Event) -> tuple[str, int, int]:
    # Whether an acknowledgment counts as a duplicate depends on its window too; what it says is the same.
    word = "ack" if event.event == "dupack" else event.event
    return (word, event.segment, event.connection)


def first_difference(a: Sequence[Event], b: Sequence[Event], tolerance_s: float) -> Difference:
    """Compares event by event.

    Within the tolerance the order of events does not matter: two stacks take different times to answer.
    """
    left, right = _sorted(a, tolerance_s), _sorted(b, tolerance_s)
    apart = 0.0
    for index, (x, y) in enumerate(zip(left, right, strict=False)):
        if _key(x) != _key(y) or abs(x.time_s - y.time_s) > tolerance_s:
            return Difference(index, x, y, apart)
        apart = max(apart, abs(x.time_s - y.time_s))
    shared = min(len(left), len(right))
    if len(left) == len(right):
        return Difference(shared, None, None, apart)
    return Difference(
        shared,
        left[shared] if len(left) > shared else None,
        right[shared] if len(right) > shared else None,
        apart,
    )


def _sorted(events: Sequence[Event], tolerance_s: float) -> list[Event]:
    """In order of time; those that follow each other within the tolerance, by what they are."""
    ordered: list[Event] = []
    group: list[Event] = []
    for event in sorted(events, key=lambda e: e.time_s):
        if group and event.time_s - group[-1].time_s > tolerance_s:
            ordered += sorted(group, key=_key)
            group = []
        group.append(event)
    return ordered + sorted(group, key=_key)


def of_columns(columns: Mapping[str, Any]) -> list[Event]:
    """Events of a segments table as columns; those that `cwndlab trace` shows."""
    rows = zip(
        *(list(columns[name]) for name in ("time_ns", "event", "segment", "connection", "flags")), strict=True
    )
    return [
        Event(int(time) / 1e9, str(event), int(segment), int(connection))
        for time, event, segment, connection, _ in rows
        if event in EVENTS
    ]


def read(path: Path) -> dict[str, list[Event]]:
    """Events of each cell of a result folder, or of a trace in CSV (under the name "")."""
    if path.is_dir():
        file = path / "records" / "segments.parquet"
        if not file.is_file():
            raise OutputError(
                f"{path}: holds no segments (records/segments.parquet); probes.segments_at names a node"
            )
        table = pq.read_table(file)
        found = {}
        for cell in pc.unique(table["cell"].cast("string")).to_pylist():
            part = table.filter(pc.equal(table["cell"].cast("string"), cell))
            names = ("time_ns", "event", "segment", "connection", "flags")
            found[cell] = of_columns({name: part[name].to_pylist() for name in names})
        return found
    try:
        with path.open(newline="") as file_:
            rows = list(csv.DictReader(file_))
        return {"": [Event(float(r["time_s"]), r["event"], int(r["segment"])) for r in rows]}
    except (OSError, KeyError, ValueError) as error:
        raise OutputError(f"{path}: is no trace of `cwndlab trace --format csv`: {error}") from None


def compare_traces(a: Path, b: Path, tolerance_s: float) -> dict[str, Difference]:
    """The first difference of every cell that both have."""
    left, right = read(a), read(b)
    shared = [cell for cell in left if cell in right]
    if not shared:
        raise OutputError(f"{a} and {b} have no cell in common")
    return {cell: first_difference(left[cell], right[cell], tolerance_s) for cell in shared}
