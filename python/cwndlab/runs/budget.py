"""The time budgets of single runs, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cwndlab.errors import OutputError
from cwndlab.records.budget import PARTS, PROBES, time_budgets
from cwndlab.records.kept import KeptRecords
from cwndlab.records.view import Columns, RunView

from .again import Repeatable, view_again


class Recorded(Repeatable, Protocol):
    """Whose runs left records: a campaign."""

    def tables(self, cell: str, replicate: int = 0) -> Mapping[str, pa.Table]:
        """The record tables of a replicate."""

    def budgets(self, cell: str, replicate: int, kind: str | None) -> pa.Table | None:
        """The time budgets of a replicate, if they were made with it (`time_budgets`)."""


def budget_table(source: Recorded, cell: str, replicate: int, kind: str | None = None) -> pa.Table:
    """`budget_columns` as an Arrow table."""
    columns = budget_columns(source, cell, replicate, kind)
    return pa.table({name: _array(column) for name, column in columns.items()})


def budget_columns(
    source: Recorded, cell: str, replicate: int, kind: str | None = None
) -> dict[str, NDArray[Any]]:
    """The budgets of one run's finished objects and of its connections, or of one kind of them.

    A row for each part that took time. Where it is not known, a simulated run is simulated again with the
    probes that this needs; a kernel's has recorded it. OutputError where neither is possible.
    """
    scenario = source.scenario(cell)
    known = source.budgets(cell, replicate, kind)
    if known is None:
        view = _recorded(source, cell, replicate) or view_again(source, cell, replicate, scenario, PROBES)
        try:
            known = time_budgets(view.table, scenario, int(scenario["duration_ns"]), kind)
        except ValueError as error:
            raise OutputError(f"replicate {replicate}: {error}") from None
    budgets = Columns(known)
    flows = np.array([str(entry["name"]) for entry in scenario["traffic"]], dtype=object)
    spent = np.column_stack([budgets[f"{part}_ns"] for part in PARTS])
    row, part = np.nonzero(spent)
    return {
        "flow": flows[budgets["traffic"][row]],
        **{name: budgets[name][row] for name in ("kind", "index", "start_ns", "end_ns")},
        "part": np.array(list(PARTS), dtype=object)[part],
        "spent_ns": spent[row, part],
    }


def _array(column: NDArray[Any]) -> pa.Array:
    words = pa.dictionary(pa.int32(), pa.string())
    return pa.array(column, words if column.dtype == object else None)


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
