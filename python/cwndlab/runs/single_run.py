"""Single runs: simulated again with additional probes, or run on request."""

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


Tables: TypeAlias = "Mapping[str, pa.Table]"


def with_keys(scenario: str, changes: Mapping[str, object]) -> str:
    """The JSON of a scenario with these top-level keys changed."""
    return json.dumps({**json.loads(scenario), **changes}, allow_nan=False) if changes else scenario


def simulate_tables(scenario: str, seed: int, replicate: int, laws: Iterable[LawCode]) -> dict[str, pa.Table]:
    """The record tables of one run of the simulator."""
    records = run_here(scenario, seed, replicate, laws)
    return {name: read_table(records.table(name)) for name in records.names}


class Repeatable(Protocol):
    """A source of runs that can be repeated: a campaign, or one cell."""

    @property
    def backend(self) -> str:
        """The part of keys that names the kernel and its set-up; "" for the simulator."""

    def scenario(self, cell: str) -> Mapping[str, Any]:
        """The scenario of a cell."""

    def simulate_again(self, cell: str, replicate: int, changes: Mapping[str, object]) -> Tables:
        """The tables of a replicate, simulated again with these keys of the scenario changed."""


class Recorded(Repeatable, Protocol):
    """A source of runs with stored records: a campaign."""

    def tables(self, cell: str, replicate: int = 0) -> Tables:
        """The record tables of a replicate."""

    def budgets(self, cell: str, replicate: int, kind: str | None) -> pa.Table | None:
        """The time budgets of a replicate (`time_budgets`); None if they were not computed with the run."""


@dataclass(frozen=True)
class OneCell:
    """One cell whose replicates are run on request, in the simulator or on a kernel (`Repeatable`)."""

    cell: Cell
    seed: int
    #: The executor that runs the cell on a kernel; None for the simulator.
    kernel: KernelExecutor | None = None

    @property
    def backend(self) -> str:
        """The part of keys that names the kernel and its set-up; "" for the simulator."""
        return self.kernel.key if self.kernel is not None else ""

    def scenario(self, cell: str) -> Mapping[str, Any]:
        """The cell's scenario."""
        scenario: Mapping[str, Any] = json.loads(self.cell.scenario)
        return scenario

    def simulate_again(self, cell: str, replicate: int, changes: Mapping[str, object]) -> Tables:
        """The tables of a replicate, run with these keys of the scenario changed; RunError if it fails."""
        records = self.records(replicate, changes)
        return {name: read_table(records.table(name)) for name in records.names}

    def records(self, replicate: int, changes: Mapping[str, object]) -> Records:
        """The records of a replicate, run with these keys of the scenario changed; RunError if it fails."""
        scenario = with_keys(self.cell.scenario, changes)
        if self.kernel is None:
            return run_here(scenario, self.seed, replicate, self.cell.study.laws.values())
        return self.kernel.record(self.cell, self.seed, replicate, MeasuredRuns(()), scenario)


def with_probes(
    source: Repeatable,
    cell: str,
    replicate: int,
    probes: Mapping[str, object],
    changes: Mapping[str, object] | None = None,
) -> Tables:
    """The tables of a replicate, run again with these probes on and other keys of its scenario changed.

    OutputError if the run cannot be repeated.
    """
    present = source.scenario(cell)["probes"]
    return source.simulate_again(cell, replicate, {**(changes or {}), "probes": {**present, **probes}})
