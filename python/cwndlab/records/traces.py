"""Traces: what the study's observation point saw of one run, as CSV and as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .run_view import WholeRun

#: The events of a trace; others in the segments table are for other formats.
EVENTS = ("send", "retransmit", "ack", "dupack", "drop")


def _rows(view: WholeRun) -> list[tuple[int, str, int, Any]]:
    columns = view.columns("segments")
    data = zip(
        columns["time_ns"].tolist(),
        columns["event"].tolist(),
        columns["segment"].tolist(),
        columns["connection"].tolist(),
        strict=True,
    )
    return [row for row in data if row[1] in EVENTS]


def seconds(time_ns: int) -> str:
    """Nanoseconds as seconds to the microsecond, rounded half up without going through a float."""
    microseconds = (time_ns + 500) // 1000
    return f"{microseconds // 1_000_000}.{microseconds % 1_000_000:06d}"


def _csv(view: WholeRun) -> str:
    lines = [f"{seconds(time)},{event},{segment}" for time, event, segment, _ in _rows(view)]
    return "\n".join(["time_s,event,segment", *lines]) + "\n"


def _text(view: WholeRun) -> str:
    verbs = {
        "send": "packet {} is sent",
        "retransmit": "packet {} is retransmitted",
        "ack": "an ack arrives covering packet {}",
        "dupack": "a duplicate ack arrives covering packet {}",
        "drop": "packet {} is dropped",
    }
    rows = _rows(view)
    several = len({connection for *_, connection in rows}) > 1
    lines = [
        f"{seconds(time):>14}  {verbs[event].format(segment)}"
        + (f"  (connection {connection})" if several else "")
        for time, event, segment, connection in rows
    ]
    return "\n".join(lines) + "\n"


#: Formats written here; the core writes the others.
TEXTS: dict[str, Callable[[WholeRun], str]] = {"csv": _csv, "text": _text}
