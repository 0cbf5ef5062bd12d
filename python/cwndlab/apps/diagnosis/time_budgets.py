"""Time budgets of single runs, as tables and for the figures of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cwndlab.base.core import KeptRecords, time_budgets
from cwndlab.base.errors import NotFoundError, OutputError, nearest
from cwndlab.records.critical_path import KINDS, PARTS, PROBES
from cwndlab.records.run_view import TableColumns, WholeRun
from cwndlab.results.records import RecordTables, rows_of_flow
from cwndlab.runs.single_run import Recorded
from cwndlab.stats.results import unmeasured_results

from . import budget_figure
from .budget_figure import BudgetKey, MeanTimes
from .runs_again import view_again

if TYPE_CHECKING:
    from cwndlab.plan.plan import Plan
    from cwndlab.stats.results import Results
    from cwndlab.study.outputs import Figure


def budget_table(source: Recorded, cell: str, replicate: int) -> pa.Table:
    """`budget_columns` as an Arrow table."""
    columns = budget_columns(source, cell, replicate)
    return pa.table({name: _array(column) for name, column in columns.items()})


def budget_columns(
    source: Recorded, cell: str, replicate: int, kind: str | None = None
) -> dict[str, NDArray[Any]]:
    """The time budgets of a run's finished objects and connections, with a row for each part that took time.

    Budgets that were not recorded are computed from a repeated run if it is simulated, and from its records
    if it is a kernel's. OutputError if neither is possible. `kind` selects one kind of objects.
    """
    scenario = source.scenario(cell)
    known = source.budgets(cell, replicate, kind)
    if known is None:
        view = _recorded_view(source, cell, replicate) or view_again(source, cell, replicate, PROBES)
        try:
            known = time_budgets(view.table, scenario, int(scenario["duration_ns"]), kind)
        except ValueError as error:
            raise OutputError(f"replicate {replicate}: {error}") from None
    budgets = TableColumns(known)
    flows = np.array([str(entry["name"]) for entry in scenario["traffic"]], dtype=object)
    spent = np.column_stack([budgets[f"{part}_ns"] for part in PARTS])
    row, part = np.nonzero(spent)
    return {
        "flow": flows[budgets["traffic"][row]],
        **{name: budgets[name][row] for name in ("kind", "index", "start_ns", "end_ns")},
        "part": np.array(list(PARTS), dtype=object)[part],
        "spent_ns": spent[row, part],
    }


def budget_of_flow(records: RecordTables, kind: str | None, flow: str | None, replicate: int) -> pa.Table:
    """The time budgets of the selected cell, for one kind of object and one flow; None selects all."""
    import pyarrow.compute as pc  # takes longer to load than most of what a short run needs

    if kind not in (None, *KINDS):
        raise NotFoundError(f'there is no kind "{kind}"; {nearest(str(kind), KINDS)}')
    table = rows_of_flow(records.read_cell("budget", records.only_cell(), replicate), flow)
    return table if kind is None else table.filter(pc.equal(table.column("kind"), kind))


def _array(column: NDArray[Any]) -> pa.Array:
    words = pa.dictionary(pa.int32(), pa.string())
    return pa.array(column, words if column.dtype == object else None)


def _recorded_view(source: Recorded, cell: str, replicate: int) -> WholeRun | None:
    """The records of a kernel's run, with the tables that budgets need; None for a simulated run."""
    if not source.backend:
        return None
    tables = source.tables(cell, replicate)
    if not len(tables.get("limits", ())):
        raise OutputError(
            f"replicate {replicate} did not record where its time went, and a kernel's run cannot be "
            "repeated; a cell's first replicate does, others if a quantity needs it (time_spent)"
        )
    return WholeRun(KeptRecords(tables), source.scenario(cell))


def shown_budgets(plan: Plan) -> dict[str, set[str]]:
    """The kinds of objects ("page", "connection", …) in the study's budget figures, by cell."""
    found: dict[str, set[str]] = {}
    cells = {cell.id: cell.axes for cell in plan.cells if cell.sensitivity is None}
    results = unmeasured_results(plan.study, cells)
    for cell, kind in budget_figure.budget_cells(plan.study.outline.figures, results):
        found.setdefault(cell, set()).add(kind)
    return found


def add_replays(source: Recorded, results: Results, figures: Iterable[Figure]) -> Results:
    """The results with the time budgets that these figures show, or the reasons why they are unknown."""
    budgets: dict[tuple[str, str], Mapping[str, NDArray[Any]] | str] = {}
    for cell, kind in budget_figure.budget_cells(figures, results):
        if (cell, kind) not in budgets:
            budgets[cell, kind] = _budgets(source, cell, kind)
    return replace(results, replays={**results.replays, **budgets})


def _budgets(source: Recorded, cell: str, kind: str) -> Mapping[str, NDArray[Any]] | str:
    """The time budgets of a cell's first replicate, or a text on why they are unknown."""
    try:
        return budget_columns(source, cell, 0, kind)
    except (OutputError, NotFoundError) as error:
        return str(error.args[0])


def mean_times(source: Recorded, key: BudgetKey, cell: str | None = None) -> MeanTimes:
    """The mean seconds of a cell's objects in each part, in its first replicate; empty if unknown."""
    found = _budgets(source, cell or key.cell, key.kind)
    return {} if isinstance(found, str) else budget_figure.mean_times(found, (key.traffic,))[key.traffic]
