"""The time budgets of single runs, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa

from cwndlab.plan.probes import SENDER_PROBES
from cwndlab.records.budget import PARTS, TABLES, Budget, CriticalPaths
from cwndlab.records.kept import KeptRecords
from cwndlab.records.view import RunView

#: The probes that fill the tables that budgets are made of.
PROBES = {"connections": True} | {
    probe: True for probe, tables in SENDER_PROBES.items() if not tables.isdisjoint(TABLES)
}


class Repeatable(Protocol):
    """Whose runs can be simulated again: a campaign."""

    def scenario(self, cell: str) -> Mapping[str, Any]:
        """The scenario of a cell."""

    def again(self, cell: str, replicate: int, changes: Mapping[str, object]) -> Mapping[str, pa.Table]:
        """The tables of a replicate, simulated again with these keys of the scenario changed."""


def budget_table(source: Repeatable, cell: str, replicate: int, kind: str | None = None) -> pa.Table:
    """The budgets of one run's finished objects and of its connections, or of one kind of them.

    A row for each part that took time. The run is simulated again with the probes that this needs;
    OutputError where that is not possible.
    """
    scenario = source.scenario(cell)
    tables = source.again(cell, replicate, {"probes": {**scenario["probes"], **PROBES}})
    view = RunView(KeptRecords(tables), scenario)
    paths = CriticalPaths(view.columns, scenario, int(scenario["duration_ns"]))
    found = [] if kind == "connection" else list(paths.of_objects(kind))
    if kind in (None, "connection"):
        found += paths.of_connections()
    return _table(found, [str(entry["name"]) for entry in scenario["traffic"]])


def _table(found: list[Budget], flows: list[str]) -> pa.Table:
    rows = [(budget, part, budget.parts[part]) for budget in found for part in PARTS if part in budget.parts]
    words = pa.dictionary(pa.int32(), pa.string())
    columns = {
        "flow": pa.array([flows[b.traffic] for b, _, _ in rows], words),
        "kind": pa.array([b.kind for b, _, _ in rows], words),
        "index": pa.array([b.index for b, _, _ in rows], pa.uint32()),
        "start_ns": pa.array([b.start_ns for b, _, _ in rows], pa.uint64()),
        "end_ns": pa.array([b.end_ns for b, _, _ in rows], pa.uint64()),
        "part": pa.array([part for _, part, _ in rows], words),
        "spent_ns": pa.array([spent for _, _, spent in rows], pa.uint64()),
    }
    return pa.table(columns)
