"""Event lists of a sender, and their first difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal

import pyarrow as pa


@dataclass(frozen=True)
class Event:
    """An event at the sender's link, or a drop before the bottleneck; packets count from 1."""

    time_s: float
    event: str
    packet: int

    def __str__(self) -> str:
        return f"{self.time_s:.6f} {self.event} {self.packet}"


@dataclass(frozen=True)
class Parting:
    """The first difference between two lists: in the events (`order`), or only in their times (`time`)."""

    kind: Literal["order", "time"]
    index: int
    ours: Event | None
    theirs: Event | None


def read_golden(path: Path) -> list[Event]:
    """The event list that a Tcl script of ns-2 printed."""
    events = []
    for line in path.read_text().splitlines():
        if line.startswith("#") or line == "time_s event packet":
            continue
        time_s, event, packet = line.split()
        events.append(Event(float(time_s), event, int(packet)))
    return events


def of_segments(segments: pa.Table) -> list[Event]:
    """The event list of a run's segments: those that the observed node sends and receives, and dropped data.

    Segments of the handshake, whose numbers are 0, are omitted.
    """
    events = []
    for row in segments.to_pylist():
        kind = row["event"]
        if row["segment"] < 1:
            continue
        if kind in ("send", "retransmit", "ack", "dupack") or (kind == "drop" and row["len"] > 0):
            events.append(Event(row["time_ns"] / 1e9, kind, int(row["segment"])))
    return events


def first_parting(
    ours: Sequence[Event], theirs: Sequence[Event], tolerance_s: float, end_s: float
) -> Parting | None:
    """The first event that differs, or else the first with a time beyond the tolerance; None if none.

    Events within the tolerance of the end of the run may be missing in one list.
    """
    late: Parting | None = None
    for index, (mine, other) in enumerate(zip_longest(ours, theirs)):
        known = mine or other
        if (mine is None or other is None) and known is not None and known.time_s >= end_s - tolerance_s:
            break
        if mine is None or other is None or (mine.event, mine.packet) != (other.event, other.packet):
            return Parting("order", index, mine, other)
        if late is None and abs(mine.time_s - other.time_s) > tolerance_s:
            late = Parting("time", index, mine, other)
    return late


def sent_before_first_timeout(events: Sequence[Event]) -> float:
    """Time of the first retransmission that no acknowledgment caused; infinite if there is none."""
    heard = {event.time_s for event in events if event.event in ("ack", "dupack")}
    for event in events:
        if event.event == "retransmit" and event.time_s not in heard:
            return event.time_s
    return float("inf")
