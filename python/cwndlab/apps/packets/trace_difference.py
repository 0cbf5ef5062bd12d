"""The first difference between two traces."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import TYPE_CHECKING, Any, Literal

from cwndlab.base.writing import count_text
from cwndlab.records.run_view import TableColumns

from .traces import EVENTS

if TYPE_CHECKING:
    import pyarrow as pa

#: Tolerance for the times of events.
DEFAULT_TOLERANCE_S = 0.002
_COLUMNS = ("time_ns", "event", "segment", "connection")


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

    @property
    def is_bare(self) -> bool:
        """Whether the event is an ACK of no data."""
        return self.segment == 0 and self.event in ("ack", "dupack")


@dataclass(frozen=True)
class Difference:
    """The first difference between two traces; `a` and `b` are None if there is none."""

    agree: int
    """Number of pairs of events that agree before the difference."""
    a: Event | None
    """The first event of trace A that is in no pair; None if A has no more events."""
    b: Event | None
    """The first event of trace B that is in no pair. The earlier of the two has no counterpart."""
    apart_s: float
    """The largest difference in time within the pairs."""
    tolerance_s: float
    """Events whose times differ by more are considered different."""
    start: str = ""
    """A text on the different starts of the traces, which were removed; empty if they are equal."""

    def __str__(self) -> str:
        if self.a is None and self.b is None:
            return ", ".join(filter(None, (f"all {self.agree} events agree", self.times)))
        times = f" ({self.times})" if self.times else ""
        return (
            f"after {count_text(self.agree, 'event')} that agree{times}: {self.side('a')} | {self.side('b')}"
        )

    @property
    def times(self) -> str:
        """A text on how far the times of the paired events are apart."""
        apart = f"{self.apart_s * 1e3:.3f}"
        words = "at the same times" if float(apart) == 0 else f"their times within {apart} ms"
        return ", ".join(filter(None, (words if self.agree else "", self.start)))

    def side(self, which: Literal["a", "b"], text: Callable[[Event], str] = str) -> str:
        """The event of one trace at the difference, formatted by `text`."""
        mine, other = (self.a, self.b) if which == "a" else (self.b, self.a)
        if mine is None:
            return "no more events"
        if other is not None and mine.time_s - other.time_s > self.tolerance_s:
            return f"nothing until {text(mine)}"
        return text(mine)


def _key(event: Event) -> tuple[str, int, int]:
    # Whether an ACK counts as a duplicate also depends on the window, so both kinds count as equal.
    word = "ack" if event.event == "dupack" else event.event
    return (word, event.segment, event.connection)


def first_difference(a: Sequence[Event], b: Sequence[Event], tolerance_s: float) -> Difference:
    """The earliest event of either trace that has no counterpart in the other.

    A counterpart has the same kind, packet and connection, and a time at most `tolerance_s` away. Only the
    nth events of a kind can be counterparts, so that each event has at most one. The order of different
    events is free within the tolerance, because stacks differ in their response times.
    """
    left, right = (sorted(events, key=lambda e: e.time_s) for events in (a, b))
    pairs: list[tuple[int, int]] = []
    parted_s = math.inf
    rows: dict[tuple[str, int, int], tuple[list[int], list[int]]] = {}
    for side, events in enumerate((left, right)):
        for index, event in enumerate(events):
            rows.setdefault(_key(event), ([], []))[side].append(index)
    for of_left, of_right in rows.values():
        paired = 0
        for i, j in zip(of_left, of_right, strict=False):
            if abs(left[i].time_s - right[j].time_s) > tolerance_s:
                break
            pairs.append((i, j))
            paired += 1
        alone = [left[i] for i in of_left[paired:]] + [right[j] for j in of_right[paired:]]
        parted_s = min([parted_s, *(event.time_s for event in alone)])
    agreed = [(i, j) for i, j in pairs if min(left[i].time_s, right[j].time_s) <= parted_s]
    return Difference(
        agree=len(agreed),
        a=_first_left_out(left, {i for i, _ in agreed}),
        b=_first_left_out(right, {j for _, j in agreed}),
        apart_s=max((abs(left[i].time_s - right[j].time_s) for i, j in agreed), default=0.0),
        tolerance_s=tolerance_s,
    )


def first_difference_of_stacks(
    a: Sequence[Event], b: Sequence[Event], tolerance_s: float, kernel: Literal["a", "b"]
) -> Difference:
    """`first_difference` of a simulator's trace and a kernel's, from the first packet with data on.

    Handshakes are removed because not every TCP of the simulator has one. If the kernel's connection starts
    at another time, the times of B are shifted accordingly.
    """
    a, b = (list(dropwhile(lambda event: event.is_bare, events)) for events in (a, b))
    later_s = b[0].time_s - a[0].time_s if a and b and _key(a[0]) == _key(b[0]) else 0.0
    if abs(later_s) <= tolerance_s:
        return first_difference(a, b, tolerance_s)
    b = [replace(event, time_s=event.time_s - later_s) for event in b]
    word = "later" if (later_s > 0) == (kernel == "b") else "earlier"
    start = f"the kernel's start {abs(later_s) * 1e3:.3f} ms {word} left out"
    return replace(first_difference(a, b, tolerance_s), start=start)


def _first_left_out(events: Sequence[Event], paired: Set[int]) -> Event | None:
    return next((event for index, event in enumerate(events) if index not in paired), None)


def events_of_columns(columns: Mapping[str, Any]) -> list[Event]:
    """The events of a segments table given as columns, limited to those that `cwndlab trace` shows."""
    rows = zip(*(list(columns[name]) for name in _COLUMNS), strict=True)
    return [
        Event(int(time) / 1e9, str(event), int(segment), int(connection))
        for time, event, segment, connection in rows
        if event in EVENTS
    ]


def events_of_table(segments: pa.Table) -> list[Event]:
    """The events of a segments table given in Arrow's format, limited to those that `cwndlab trace` shows."""
    return events_of_columns(TableColumns(segments))
