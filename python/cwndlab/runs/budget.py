"""The time budgets of single runs, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa

from cwndlab.errors import OutputError
from cwndlab.plan.probes import SENDER_PROBES
from cwndlab.records.budget import PARTS, TABLES, Budget, CriticalPaths
from cwndlab.records.kept import KeptRecords
from cwndlab.records.view import RunView

from .again import Repeatable, view_again

#: The probes that fill the tables that budgets are made of.
PROBES = {"connections": True} | {
    probe: True for probe, tables in SENDER_PROBES.items() if not tables.isdisjoint(TABLES)
}


class Recorded(Repeatable, Protocol):
    """Whose runs left records: a campaign."""

    def tables(self, cell: str, replicate: int = 0) -> Mapping[str, pa.Table]:
        """The record tables of a replicate."""


def budget_table(source: Recorded, cell: str, replicate: int, kind: str | None = None) -> pa.Table:
    """The budgets of one run's finished objects and of its connections, or of one kind of them.

    A row for each part that took time. A simulated run is simulated again with the probes that this needs; a
    kernel's has recorded it. OutputError where neither is possible.
    """
    scenario = source.scenario(cell)
    view = _recorded(source, cell, replicate) or view_again(source, cell, replicate, scenario, PROBES)
    paths = CriticalPaths(view.columns, scenario, int(scenario["duration_ns"]))
    found = [] if kind == "connection" else list(paths.of_objects(kind))
    if kind in (None, "connection"):
        found += paths.of_connections()
    return _table(found, [str(entry["name"]) for entry in scenario["traffic"]])


def _recorded(source: Recorded, cell: str, replicate: int) -> RunView | None:
    """A kernel's run that recorded what budgets need."""
    if not source.backend:
        return None
    tables = source.tables(cell, replicate)
    if not len(tables.get("limits", ())):
        raise OutputError(
            f"replicate {replicate} did not record where its time went, and a kernel's run cannot be "
            "repeated; a cell's first replicate does, others if a quantity needs it (time_spent)"
        )
    return RunView(KeptRecords(tables), source.scenario(cell))


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
