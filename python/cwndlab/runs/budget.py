"""The time budgets of single runs, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa

from cwndlab.errors import OutputError
from cwndlab.plan.probes import SENDER_PROBES
from cwndlab.records.budget import PARTS, TABLES, time_budgets
from cwndlab.records.kept import KeptRecords
from cwndlab.records.view import RunView, to_numpy, word_column

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
    try:
        found = time_budgets(view.table, scenario, int(scenario["duration_ns"]), kind)
    except ValueError as error:
        raise OutputError(f"replicate {replicate}: {error}") from None
    return _by_part(found, [str(entry["name"]) for entry in scenario["traffic"]])


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


def _by_part(budgets: pa.Table, flows: list[str]) -> pa.Table:
    """A row for each part that took time, with the names of flows."""
    spent = np.column_stack([to_numpy(budgets.column(f"{part}_ns")) for part in PARTS])
    row, part = np.nonzero(spent)
    taken = budgets.take(row)
    columns = {
        "flow": word_column(taken.column("traffic"), flows),
        **{name: taken.column(name) for name in ("kind", "index", "start_ns", "end_ns")},
        "part": word_column(pa.array(part), list(PARTS)),
        "spent_ns": pa.array(spent[row, part]),
    }
    return pa.Table.from_arrays(list(columns.values()), list(columns))
