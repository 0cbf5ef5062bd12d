"""Traces of one run at the study's observation point, as CSV, as text, and for packet tools."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.base.errors import StudyError, nearest
from cwndlab.plan.plan import Cell
from cwndlab.plan.scenario import watched_host
from cwndlab.records.run_view import WholeRun
from cwndlab.runs.single_run import OneCell

if TYPE_CHECKING:
    from cwndlab.runs.kernel_side import KernelExecutor

#: The events in CSV and text traces; other events of the segments table are only in other formats.
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
    """Nanoseconds as seconds with six decimals, rounded half up exactly."""
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


#: Formats that this module writes.
TEXTS: dict[str, Callable[[WholeRun], str]] = {"csv": _csv, "text": _text}
#: Formats that the engine writes.
TOOL_FORMATS = ("pcapng", "ns")
FORMER_FORMATS = {"xplot": "write pcapng, of which `tcptrace -S` makes xplot files"}


def trace(
    cell: Cell, kind: str, *, seed: int, replicate: int = 0, kernel: KernelExecutor | None = None
) -> bytes:
    """The trace of one replicate of a cell, simulated or on a kernel."""
    formats = [*TEXTS, *(TOOL_FORMATS if kernel is None else ("pcapng",))]
    if kind not in formats:
        where = "" if kernel is None else " of a kernel's run"
        right = FORMER_FORMATS.get(kind) or nearest(kind, formats)
        raise StudyError(f'there is no format "{kind}"{where}', key="--format", right=right)
    scenario = cell.compiled.scenario
    if scenario["probes"]["segments_at"] is None:
        node = scenario["nodes"][watched_host(scenario)] if scenario["traffic"] else "NODE"
        raise StudyError(
            "the study has no observation point",
            key="probes.segments_at",
            right=f'name a node: segments_at = "{node}"',
        )
    records = OneCell(cell, seed, kernel).records(replicate, {})
    if kind in TEXTS:
        return TEXTS[kind](WholeRun(records, cell.compiled.scenario)).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        records.write_trace(str(path), kind)
        return path.read_bytes()
