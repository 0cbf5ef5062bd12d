"""The trace of one replicate, simulated or on a kernel, in the formats that people and tools read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.core import Records
from cwndlab.errors import StudyError, nearest
from cwndlab.plan.plan import Cell
from cwndlab.plan.scenario import sender
from cwndlab.records.trace import TEXTS
from cwndlab.records.view import RunView

from .work import MeasuredRuns, run_here

if TYPE_CHECKING:
    from cwndlab.backends.linux.backend import Kernel

#: Written by the core.
TOOL_FORMATS = ("pcapng", "ns", "xplot")


def trace(cell: Cell, kind: str, *, seed: int, replicate: int = 0, kernel: Kernel | None = None) -> bytes:
    """The trace of one replicate of a cell, simulated or on a kernel."""
    scenario = cell.compiled.scenario
    if scenario["probes"]["segments_at"] is None:
        node = scenario["nodes"][sender(scenario["traffic"][0])] if scenario["traffic"] else "NODE"
        raise StudyError(
            "the study has no observation point",
            key="probes.segments_at",
            right=f'name a node: segments_at = "{node}"',
        )
    formats = [*TEXTS, *(TOOL_FORMATS if kernel is None else ("pcapng",))]
    if kind not in formats:
        where = "" if kernel is None else " of a kernel's run"
        raise StudyError(f'there is no format "{kind}"{where}', key="--format", right=nearest(kind, formats))
    if kernel is None:
        records: Records = run_here(cell.scenario, seed, replicate, cell.study.laws.values())
    else:
        records = kernel.record(cell, seed, replicate, MeasuredRuns(()))
    if kind in TEXTS:
        return TEXTS[kind](RunView(records, cell.compiled.scenario)).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        records.write_trace(str(path), kind)
        return path.read_bytes()
