"""Event lists of a sender, and the first place where two of them part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal

import pyarrow as pa


@dataclass(frozen=True)
class Event:
    """Something seen at the sender's link (or a drop in front of the bottleneck); packets count from 1."""

    time_s: float
    event: str
    packet: int

    def __str__(self) -> str:
        return f"{self.time_s:.6f} {self.event} {self.packet}"


@dataclass(frozen=True)
class Parting:
    """Where two lists differ: in what happens (`order`), or only in when (`time`)."""

    kind: Literal["order", "time"]
    index: int
    ours: Event | None
    theirs: Event | None


def read_golden(path: Path) -> list[Event]:
    """An event list as our Tcl scripts print it."""
    events = []
    for line in path.read_text().splitlines():
        if line.startswith("#") or line == "time_s event packet":
            continue
        time_s, event, packet = line.split()
        events.append(Event(float(time_s), event, int(packet)))
    return events


def of_segments(segments: pa.Table) -> list[Event]:
    """The same list of the run's segments: what the observed node sends and hears, and data dropped.

    Without a handshake, whose numbers are 0.
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
    """The first event that is another in one list, else the first whose times differ beyond the tolerance.

    Events within the tolerance of the end of the run may be missing in one of the lists.
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
