"""Runs simulated again, with further probes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from cwndlab.base.arrow_tables import read_table
from cwndlab.base.core import KeptRecords, Records
from cwndlab.base.errors import StudyError, nearest
from cwndlab.plan.plan import Cell
from cwndlab.plan.scenario import watched_host
from cwndlab.records.run_view import WholeRun

from .work import MeasuredRuns, run_here

if TYPE_CHECKING:
    import pyarrow as pa

    from cwndlab.base.laws import LawCode

    from .kernel_side import KernelExecutor


#: The record tables of a run, by name.
Tables: TypeAlias = "Mapping[str, pa.Table]"


def with_keys(scenario: str, changes: Mapping[str, object]) -> str:
    """A scenario's JSON with these keys changed."""
    return json.dumps({**json.loads(scenario), **changes}, allow_nan=False) if changes else scenario


def simulate_tables(scenario: str, seed: int, replicate: int, laws: Iterable[LawCode]) -> dict[str, pa.Table]:
    """The tables of one run of the simulator."""
    records = run_here(scenario, seed, replicate, laws)
    return {name: read_table(records.table(name)) for name in records.names}


class Repeatable(Protocol):
    """Whose runs can be simulated again: a campaign, or one cell."""

    @property
    def backend(self) -> str:
        """Who runs; "" is the simulator."""

    def scenario(self, cell: str) -> Mapping[str, Any]:
        """The scenario of a cell."""

    def simulate_again(self, cell: str, replicate: int, changes: Mapping[str, object]) -> Tables:
        """The tables of a replicate, simulated again with these keys of the scenario changed."""


class Recorded(Repeatable, Protocol):
    """Whose runs left records: a campaign."""

    def tables(self, cell: str, replicate: int = 0) -> Tables:
        """The record tables of a replicate."""

    def budgets(self, cell: str, replicate: int, kind: str | None) -> pa.Table | None:
        """The time budgets of a replicate, if they were made with it (`time_budgets`)."""


@dataclass(frozen=True)
class OneCell:
    """A cell whose runs are made when they are asked for (`Repeatable`)."""

    cell: Cell
    seed: int
    #: Who runs it; None: the simulator.
    kernel: KernelExecutor | None = None

    @property
    def backend(self) -> str:
        """Which kernel; "" is the simulator."""
        return self.kernel.key if self.kernel is not None else ""

    def scenario(self, cell: str) -> Mapping[str, Any]:
        """The scenario."""
        found: Mapping[str, Any] = json.loads(self.cell.scenario)
        return found

    def simulate_again(self, cell: str, replicate: int, changes: Mapping[str, object]) -> Tables:
        """The tables of a replicate, with these keys of the scenario changed; RunError if the run failed."""
        records = self.records(replicate, changes)
        return {name: read_table(records.table(name)) for name in records.names}

    def records(self, replicate: int, changes: Mapping[str, object]) -> Records:
        """The records of a replicate, likewise."""
        scenario = with_keys(self.cell.scenario, changes)
        if self.kernel is None:
            return run_here(scenario, self.seed, replicate, self.cell.study.laws.values())
        return self.kernel.record(self.cell, self.seed, replicate, MeasuredRuns(()), scenario)


def with_probes(source: Repeatable, cell: str, replicate: int, probes: Mapping[str, object]) -> Tables:
    """The tables of a replicate, simulated again with these probes on; OutputError if it cannot be."""
    known = source.scenario(cell)["probes"]
    return source.simulate_again(cell, replicate, {"probes": {**known, **probes}})


def view_again(source: Repeatable, cell: str, replicate: int, probes: Mapping[str, object]) -> WholeRun:
    """The same as a view."""
    return WholeRun(KeptRecords(with_probes(source, cell, replicate, probes)), source.scenario(cell))


#: Written by the core.
TOOL_FORMATS = ("pcapng", "ns")
FORMER_FORMATS = {"xplot": "write pcapng, of which `tcptrace -S` makes xplot files"}


def trace(
    cell: Cell, kind: str, *, seed: int, replicate: int = 0, kernel: KernelExecutor | None = None
) -> bytes:
    """The trace of one replicate of a cell, simulated or on a kernel."""
    from cwndlab.records.traces import TEXTS

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
