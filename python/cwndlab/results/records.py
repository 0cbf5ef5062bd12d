"""The record tables of a study's runs, by table, cell and replicate, with names instead of indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from cwndlab.base.errors import NotFoundError, check_arguments, nearest
from cwndlab.base.writing import count_text
from cwndlab.plan.scenario import indices_of_flow, watched_host
from cwndlab.records.run_view import bottleneck
from cwndlab.runs.single_run import Recorded, with_probes

from .result_folder import with_cell

#: Record table -> a function of the scenario that returns the probes for recording the table.
PROBES: dict[str, Callable[[Mapping[str, Any]], Mapping[str, object]]] = {
    "cwnd": lambda scenario: {"cwnd": True},
    "queues": lambda scenario: {"queues": [bottleneck(scenario["links"])]},
    "segments": lambda scenario: {"segments_at": watched_host(scenario)},
    "limits": lambda scenario: {"limits": True},
    "states": lambda scenario: {"states": True},
    "timeouts": lambda scenario: {"states": True},
    "delays": lambda scenario: {"delays": True},
    "accecn": lambda scenario: {"accecn": True},
}


class RecordTables(Mapping[str, pa.Table]):
    """The record tables of the selected cells, as Arrow tables with the names of flows and links.

    ``records["segments"]`` is the table of each cell's first replicate, ``records("segments", replicate=3)``
    of another replicate. Columns: `cell`, `flow` (with ".0", ".1", … if there are several instances), `link`
    (a direction such as "r1>r2"), and others. Times are in nanoseconds. ``run.sel({"iw": 4}).records`` has
    the tables of fewer cells.

    A run whose records were not kept is simulated again, with identical results. So is a run without the
    probe of a table: `cwnd`, `limits`, `states`, `timeouts`, `delays`, `accecn`, `queues` (of the
    bottleneck), `segments` (at the first flow's sender). "budget" is the table of `RunResult.budget`.

    polars, pandas and DuckDB read a pyarrow Table without a copy, by its ``__arrow_c_stream__``.
    """

    def __init__(self, cells: Sequence[str], source: Recorded) -> None:
        """`source` has the record tables of the cells' replicates."""
        self._cells = cells
        self._made: dict[tuple[str, int], pa.Table] = {}
        self.source = source

    def __getitem__(self, name: str) -> pa.Table:
        return self(name)

    def __iter__(self) -> Iterator[str]:
        """The names of the tables that the first replicates of the cells recorded."""
        recorded = (item for cell in self._cells for item in self.source.tables(cell, 0).items())
        return iter(sorted({name for name, table in recorded if name not in PROBES or table.num_rows}))

    def __contains__(self, name: object) -> bool:
        """Whether the table was recorded; does not simulate a run."""
        return name in set(self)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        first = self._cells[0]
        tables = sorted(self.source.tables(first).items())
        rows = [
            f"    {name:<22}{count_text(table.num_rows, 'row')}" for name, table in tables if table.num_rows
        ]
        return "\n".join([f"<RecordTables of {_cells_text(self._cells)}; recorded in {first}:", *rows]) + ">"

    def _repr_html_(self) -> str:
        from html import escape  # only notebooks need it

        return f"<pre>{escape(repr(self))}</pre>"

    @check_arguments
    def __call__(self, name: str, *, cell: str | None = None, replicate: int = 0) -> pa.Table:
        """The record table of one replicate of each selected cell.

        >>> run.sel(buffer=2).records("connections", replicate=1).column("flow").to_pylist()
        ['cubic', 'bbr1']

        Args:
            name: "connections", "objects", "links", "cwnd", "queues", "segments", "limits", …
            cell: the id of a single cell (`run.cells` lists them); `run.sel` selects by axes.
            replicate: the replicate's number, from 0.

        Returns:
            The table; times are in nanoseconds, other units in the names of columns.

        Raises:
            NotFoundError: there is no such table, cell or replicate.
            OutputError: the run was not kept and cannot be simulated again.

        """
        if cell is not None:
            if cell not in self._cells:
                raise NotFoundError(f'no cell "{cell}"; {nearest(cell, self._cells)}')
            return RecordTables([cell], self.source)(name, replicate=replicate)
        if (name, replicate) not in self._made:
            tables = [with_cell(self.read_cell(name, cell, replicate), cell) for cell in self._cells]
            self._made[name, replicate] = pa.concat_tables(tables)
        return self._made[name, replicate]

    def read_cell(self, name: str, cell: str, replicate: int) -> pa.Table:
        """The record table of one replicate of a cell, without the column `cell`."""
        if name == "budget":
            time_budgets = import_module("cwndlab.apps.diagnosis.time_budgets")
            table: pa.Table = time_budgets.budget_table(self.source, cell, replicate)
            return table
        tables = self.source.tables(cell, replicate)
        scenario = self.source.scenario(cell)
        if name in PROBES and not tables.get(name, ()):
            tables = with_probes(self.source, cell, replicate, PROBES[name](scenario))
        if name not in tables:
            raise NotFoundError(f'there is no table "{name}"; {nearest(name, tables)}')
        return with_names(tables[name], tables.get("connections"), scenario)

    def only_cell(self) -> str:
        """The id of the only selected cell; NotFoundError if several are selected."""
        if len(self._cells) > 1:
            raise NotFoundError(
                f"{len(self._cells)} cells are selected; select one by axes, run.sel({{AXIS: VALUE, …}}), or "
                f'by its name, run.sel(cell="{self._cells[0]}")'
            )
        return self._cells[0]


def _cells_text(cells: Sequence[str]) -> str:
    return cells[0] if len(cells) == 1 else f"{len(cells)} cells"


def with_names(table: pa.Table, connections: pa.Table | None, scenario: Mapping[str, Any]) -> pa.Table:
    """The table with names of flows and links instead of indices. A column `connection` alone adds `flow`."""
    flows = [str(entry["name"]) for entry in scenario["traffic"]]
    links = [str(link["name"]) for link in scenario["links"]]
    columns = table.column_names
    if "traffic" in columns:
        at = columns.index("traffic")
        table = table.set_column(at, "flow", _words(table.column("traffic"), flows))
    elif "connection" in columns and connections is not None:
        serials = connections.column("connection").to_numpy()
        traffic = np.zeros(int(serials.max(initial=0)) + 1, dtype=np.int32)
        traffic[serials] = connections.column("traffic").to_numpy()
        rows = table.column("connection").to_numpy()
        table = table.add_column(columns.index("connection"), "flow", _words(pa.array(traffic[rows]), flows))
    if "link" in table.column_names:
        at = table.column_names.index("link")
        table = table.set_column(at, "link", _words(table.column("link"), links))
    return table


def rows_of_flow(table: pa.Table, flow: str | None) -> pa.Table:
    """The rows of a flow or of one instance, by name (None: all); NotFoundError for an unknown name."""
    if flow is None:
        return table
    column = table.column("flow")
    names = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    wanted = [names[k] for k in indices_of_flow(names, flow)]
    return table.filter(np.isin(np.asarray(column.to_pylist(), dtype=object), wanted))


def _words(indices: pa.Array | pa.ChunkedArray, words: list[str]) -> pa.Array:
    """A dictionary column with the word for each index."""
    if isinstance(indices, pa.ChunkedArray):
        indices = indices.combine_chunks()
    return pa.DictionaryArray.from_arrays(indices.cast(pa.int32()), pa.array(words, pa.string()))
