"""What golden files of transfers are made from: a run on a kernel or the simulator, event by event."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cwndlab import _core
from cwndlab.api import Study
from cwndlab.apps.packets.traces import trace
from cwndlab.records.run_view import WholeRun
from cwndlab.runs.work import MeasuredRuns
from cwndlab_linux.virtual.backend import VirtualKernel

HERE = Path(__file__).parent
#: Milliseconds since the first, and the segment's number, with `r` if it was sent before.
Event = tuple[float, str]


def sent(
    study: str, change: Mapping[str, Any], seed: int | None = None, kernel: VirtualKernel | None = None
) -> list[Event]:
    """The data segments of a study's only cell that its trace shows; the seed is the study's if left out."""
    plan = Study.load(HERE / f"{study}.toml").set(dict(change)).plan()
    (cell,) = plan.cells
    text = trace(cell, "csv", seed=plan.seed if seed is None else seed, kernel=kernel).decode()
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["event"] in ("send", "retransmit")]
    data = [row for row in rows if row["segment"] != "0"]  # 0 is the SYN
    start = float(data[0]["time_s"])
    return [
        (
            round((float(row["time_s"]) - start) * 1e3, 2),
            row["segment"] + "r" * (row["event"] == "retransmit"),
        )
        for row in data
    ]


def run_of(study: str, change: Mapping[str, Any], kernel: VirtualKernel | None = None) -> WholeRun:
    """The records of a study's only cell."""
    plan = Study.load(HERE / f"{study}.toml").set(dict(change)).plan()
    (cell,) = plan.cells
    records = (
        kernel.record(cell, plan.seed, 0, MeasuredRuns(()))
        if kernel
        else _core.run(cell.scenario, plan.seed, 0)
    )
    return WholeRun(records, cell.compiled.scenario)


def segments_of(view: WholeRun, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """These columns of the records of segments, row by row."""
    columns = view.columns("segments")
    return list(zip(*(columns[name].tolist() for name in names), strict=True))


def digest(words: Iterable[Any]) -> str:
    """Of words in an order."""
    return hashlib.sha256(" ".join(map(str, words)).encode()).hexdigest()[:16]


def lines_of(words: Sequence[str]) -> list[str]:
    """Eight words a line."""
    return ["  ".join(words[k : k + 8]) for k in range(0, len(words), 8)]
