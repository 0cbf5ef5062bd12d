"""Runs simulated again, with further probes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from cwndlab.records.kept import KeptRecords
from cwndlab.records.view import RunView
from cwndlab.tables import read_table

from .work import MeasuredRuns, run_here

if TYPE_CHECKING:
    import pyarrow as pa

    from cwndlab.backends.linux.backend import Kernel
    from cwndlab.laws import LawCode
    from cwndlab.plan.plan import Cell


def with_keys(scenario: str, changes: Mapping[str, object]) -> str:
    """A scenario's JSON with these keys changed."""
    return json.dumps({**json.loads(scenario), **changes}, allow_nan=False) if changes else scenario


def simulated(scenario: str, seed: int, replicate: int, laws: Iterable[LawCode]) -> dict[str, pa.Table]:
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

    def simulate_again(
        self, cell: str, replicate: int, changes: Mapping[str, object]
    ) -> Mapping[str, pa.Table]:
        """The tables of a replicate, simulated again with these keys of the scenario changed."""


@dataclass(frozen=True)
class OneCell:
    """A cell whose runs are simulated when they are asked for (`Repeatable`)."""

    cell: Cell
    seed: int

    @property
    def backend(self) -> str:
        """The simulator."""
        return ""

    def scenario(self, cell: str) -> Mapping[str, Any]:
        """The scenario."""
        found: Mapping[str, Any] = json.loads(self.cell.scenario)
        return found

    def simulate_again(
        self, cell: str, replicate: int, changes: Mapping[str, object]
    ) -> Mapping[str, pa.Table]:
        """The tables of a replicate, with these keys of the scenario changed."""
        scenario = with_keys(self.cell.scenario, changes)
        return simulated(scenario, self.seed, replicate, self.cell.study.laws.values())


@dataclass(frozen=True)
class OneKernelCell(OneCell):
    """A cell that runs on a kernel when it is asked for (`Repeatable`)."""

    kernel: Kernel

    @property
    def backend(self) -> str:
        """Which kernel."""
        return self.kernel.key

    def simulate_again(
        self, cell: str, replicate: int, changes: Mapping[str, object]
    ) -> Mapping[str, pa.Table]:
        """The tables of a replicate, with these keys of the scenario changed; RunError if the run failed."""
        scenario = with_keys(self.cell.scenario, changes)
        records = self.kernel.record(self.cell, self.seed, replicate, MeasuredRuns(()), scenario)
        return {name: records.table(name) for name in records.names}


def view_again(
    source: Repeatable, cell: str, replicate: int, scenario: Mapping[str, Any], probes: Mapping[str, object]
) -> RunView:
    """One run of a cell with this scenario, simulated again with further probes.

    Raises:
        OutputError: the run cannot be simulated again.

    """
    tables = source.simulate_again(cell, replicate, {"probes": {**scenario["probes"], **probes}})
    return RunView(KeptRecords(tables), scenario)
