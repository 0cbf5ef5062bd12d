"""The time budgets of single runs, as tables."""

from __future__ import annotations

import pyarrow as pa

from cwndlab.plan.probes import SENDER_PROBES
from cwndlab.records.budget import PARTS, TABLES, Budget, CriticalPaths

from .again import Repeatable, view_again

#: The probes that fill the tables that budgets are made of.
PROBES = {"connections": True} | {
    probe: True for probe, tables in SENDER_PROBES.items() if not tables.isdisjoint(TABLES)
}


def budget_table(source: Repeatable, cell: str, replicate: int, kind: str | None = None) -> pa.Table:
    """The budgets of one run's finished objects and of its connections, or of one kind of them.

    A row for each part that took time. The run is simulated again with the probes that this needs;
    OutputError where that is not possible.
    """
    scenario = source.scenario(cell)
    view = view_again(source, cell, replicate, scenario, PROBES)
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
