"""Runs simulated again, with further probes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from cwndlab.base.arrow_tables import read_table
from cwndlab.base.core import Records
from cwndlab.plan.plan import Cell

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
    """A source whose runs can be simulated again: a campaign, or one cell."""

    @property
    def backend(self) -> str:
        """The key of the kernel that runs; "" is the simulator."""

    def scenario(self, cell: str) -> Mapping[str, Any]:
        """The scenario of a cell."""

    def simulate_again(self, cell: str, replicate: int, changes: Mapping[str, object]) -> Tables:
        """The tables of a replicate, simulated again with these keys of the scenario changed."""


class Recorded(Repeatable, Protocol):
    """A source whose runs left records: a campaign."""

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
        """The key of the kernel that runs it; "" is the simulator."""
        return self.kernel.key if self.kernel is not None else ""

    def scenario(self, cell: str) -> Mapping[str, Any]:
        """The scenario."""
        scenario: Mapping[str, Any] = json.loads(self.cell.scenario)
        return scenario

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
    present = source.scenario(cell)["probes"]
    return source.simulate_again(cell, replicate, {"probes": {**present, **probes}})
