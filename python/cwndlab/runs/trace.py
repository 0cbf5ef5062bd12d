"""Traces: what the study's observation point saw of one run, in the formats that people and tools read."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.core import Records, core
from cwndlab.errors import StudyError, nearest
from cwndlab.study.plan import Cell

from .view import RunView

if TYPE_CHECKING:
    from cwndlab.live.backend import Kernel

#: The events of a trace; others in the segments table are for other formats.
#: Written by the core.
TOOL_FORMATS = ("pcapng", "ns", "xplot")
EVENTS = ("send", "retransmit", "ack", "dupack", "drop")


def trace(cell: Cell, kind: str, *, seed: int, replicate: int = 0, kernel: Kernel | None = None) -> bytes:
    """The trace of one replicate of a cell, simulated or on a kernel."""
    if cell.compiled.scenario["probes"]["segments_at"] is None:
        raise StudyError(
            "the study has no observation point",
            key="probes.segments_at",
            right='name a node: segments_at = "source"',
        )
    formats = [*_OWN, *(TOOL_FORMATS if kernel is None else ("pcapng",))]
    if kind not in formats:
        where = "" if kernel is None else " of a kernel's run"
        raise StudyError(f'there is no format "{kind}"{where}', key="--format", right=nearest(kind, formats))
    if kernel is None:
        records: Records = core().run(cell.scenario, seed, replicate)
    else:
        records = kernel.record(cell, seed, replicate)
    if kind in _OWN:
        return _OWN[kind](RunView(records, cell.compiled.scenario)).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        records.write_trace(str(path), kind)
        return path.read_bytes()


def _rows(view: RunView) -> list[tuple[int, str, int, Any]]:
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


def _csv(view: RunView) -> str:
    lines = [f"{seconds(time)},{event},{segment}" for time, event, segment, _ in _rows(view)]
    return "\n".join(["time_s,event,segment", *lines]) + "\n"


def _text(view: RunView) -> str:
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


_OWN: dict[str, Callable[[RunView], str]] = {"csv": _csv, "text": _text}
