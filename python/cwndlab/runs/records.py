"""The record tables of a study's runs: by table, cell and replicate, with names in place of indices."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from cwndlab.errors import NotFoundError, nearest
from cwndlab.plan.scenario import bottleneck, sender, watched
from cwndlab.spec.values import same_value
from cwndlab.spec.windows import interval_edges

from .folder import with_cell

if TYPE_CHECKING:
    from cwndlab.spec.schema import Scalar

Tables = Mapping[str, pa.Table]
#: Tables that a probe gives: what has to be in the scenario's probes for each.
PROBES: dict[str, Callable[[Mapping[str, Any]], Mapping[str, object]]] = {
    "cwnd": lambda scenario: {"cwnd": True},
    "queues": lambda scenario: {"queues": [bottleneck(scenario["links"])]},
    "segments": lambda scenario: {"segments_at": watched(scenario)},
    "limits": lambda scenario: {"limits": True},
    "states": lambda scenario: {"states": True},
    "timeouts": lambda scenario: {"states": True},
    "delays": lambda scenario: {"delays": True},
    "accecn": lambda scenario: {"accecn": True},
}


class Source(Protocol):
    """Where the tables come from: a campaign."""

    @property
    def backend(self) -> str:
        """Who ran; "" is the simulator."""

    def tables(self, cell: str, replicate: int = 0) -> Tables:
        """The record tables of a replicate."""

    def scenario(self, cell: str) -> Mapping[str, Any]:
        """The scenario of a cell."""

    def budgets(self, cell: str, replicate: int, kind: str | None) -> pa.Table | None:
        """The time budgets of a replicate, if they were made with it."""

    def again(self, cell: str, replicate: int, changes: Mapping[str, object]) -> Tables:
        """The tables of the same replicate, simulated again with these keys of the scenario changed."""


class RecordTables(Mapping[str, pa.Table]):
    """Record tables as Arrow.

    ``records("segments", cell="iw=4", replicate=3)`` is a table of one run, with names of flows and links.
    ``records["segments"]`` is that table of each cell's first replicate, as recorded: a column `cell` names
    the cell, flows and links are indices. ``records.of(variant="sack")`` narrows the cells.

    A pyarrow Table has ``__arrow_c_stream__``: polars, pandas and DuckDB take it without a copy.
    """

    def __init__(self, cells: Mapping[str, Mapping[str, Scalar]], source: Source) -> None:
        """`cells` has the axes of each cell; `source` gives the tables of its replicates."""
        self._cells = cells
        self._source = source
        self._made: dict[str, pa.Table] = {}

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._made:
            parts = []
            for cell in self._cells:
                tables = self._source.tables(cell, 0)
                if name in tables:
                    parts.append(with_cell(tables[name], cell))
            if not parts:
                raise NotFoundError(f'no table "{name}" was recorded; {nearest(name, list(self))}')
            self._made[name] = pa.concat_tables(parts)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        names: dict[str, None] = {}
        for cell in self._cells:
            names |= dict.fromkeys(self._source.tables(cell, 0))
        return iter(sorted(names))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __call__(
        self, table: str, *, cell: str | None = None, replicate: int = 0, **axes: Scalar
    ) -> pa.Table:
        """A record table of one run, with the names of flows and links in place of their indices.

        A run that is not kept is simulated again, which gives the same to the bit. So is one whose probe was
        off: `cwnd`, `limits`, `states`, `timeouts`, `delays`, `accecn`, `queues` (of the bottleneck),
        `segments` (at the first flow's sender). "budget" is where the time went, as `RunResult.budget` gives
        it.

        Args:
            table: "connections", "objects", "links", "cwnd", "queues", "segments", "limits", …
            cell: the cell's name, such as "variant=sack,iw=4"; not needed where `axes` leave one cell.
            replicate: which one, from 0.
            axes: values of axes, as ``iw=4``.

        Returns:
            The table. `flow` is the traffic's name in the study, with ".0", ".1", … if there are several
            instances; `link` is a direction such as "r1>r2". Times are in nanoseconds.

        Raises:
            NotFoundError: there is no such table or cell, or several cells fit.
            OutputError: the run is not kept and cannot be simulated again.

        """
        chosen = self.cell(cell, **axes)
        if table == "budget":
            from .budget import budget_table

            return budget_table(self._source, chosen, replicate)
        tables = self._source.tables(chosen, replicate)
        scenario = self._source.scenario(chosen)
        if table in PROBES and not tables.get(table, ()):
            tables = probed(self._source, chosen, replicate, PROBES[table](scenario))
        if table not in tables:
            raise NotFoundError(f'there is no table "{table}"; {nearest(table, tables)}')
        return named(tables[table], tables.get("connections"), scenario)

    @property
    def source(self) -> Source:
        """Where the tables come from."""
        return self._source

    def tables(self, cell: str | None = None, replicate: int = 0, **axes: Scalar) -> Tables:
        """All tables of one run as recorded: flows and links are indices. Raises as `records(…)`."""
        return self._source.tables(self.cell(cell, **axes), replicate)

    def cell(self, cell: str | None = None, **axes: Scalar) -> str:
        """The name of the one cell meant; NotFoundError if there is none, or several."""
        if cell is not None and cell not in self._cells:
            raise NotFoundError(f'no cell "{cell}"; {nearest(cell, self._cells)}')
        left = self.of(**axes)._cells
        if cell is not None:
            return cell
        if len(left) > 1:
            raise NotFoundError(f"{len(left)} cells fit; name one by cell= or by axes, as {next(iter(left))}")
        return next(iter(left))

    def of(self, **axes: Scalar) -> RecordTables:
        """Only the cells with these axis values; NotFoundError if there is none."""
        kept = {
            cell: known
            for cell, known in self._cells.items()
            if all(a in known and same_value(known[a], v) for a, v in axes.items())
        }
        if not kept:
            raise NotFoundError(f"no cell has {axes}; there are: {'; '.join(list(self._cells)[:5])}")
        return RecordTables(kept, self._source)


def probed(source: Source, cell: str, replicate: int, probes: Mapping[str, object]) -> Tables:
    """The tables of a replicate, simulated again with these probes on."""
    known = source.scenario(cell)["probes"]
    return source.again(cell, replicate, {"probes": {**known, **probes}})


def segments(source: Source, cell: str, replicate: int, flow: str | None) -> pa.Table:
    """The named segments seen at the study's observation point; without one, at the flow's sender."""
    scenario = source.scenario(cell)
    entries = [e for e in scenario["traffic"] if flow in (None, e["name"], e["name"].split(".", 1)[0])]
    tables = source.tables(cell, replicate)
    if scenario["probes"]["segments_at"] is None and entries:
        tables = probed(source, cell, replicate, {"segments_at": sender(entries[0])})
    return named(tables["segments"], tables.get("connections"), scenario)


def queue(source: Source, cell: str, replicate: int, link: int) -> pa.Table:
    """The samples of the queue of one direction of a link, by its index."""
    table = source.tables(cell, replicate).get("queues")
    if table is None or link not in table.column("link").to_pylist():
        table = probed(source, cell, replicate, {"queues": [link]})["queues"]
    return table


def with_intervals(
    source: Source, cell: str, replicate: int, interval_s: float
) -> tuple[Tables, Mapping[str, Any]]:
    """The tables of a run that has counters at the edges of intervals, and its scenario."""
    scenario = source.scenario(cell)
    edges = interval_edges(0, int(scenario["duration_ns"]), interval_s)
    windows = {f"{a} to {b} ns": [a, b] for a, b in itertools.pairwise(edges)}
    changed = {**scenario, "windows": {**scenario.get("windows", {}), **windows}}
    return source.again(cell, replicate, {"windows": changed["windows"]}), changed


def named(table: pa.Table, connections: pa.Table | None, scenario: Mapping[str, Any]) -> pa.Table:
    """The table with `flow` and `link` as names; one that has `connection` alone gets its flow."""
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


def of_flow(table: pa.Table, flow: str | None) -> pa.Table:
    """The rows of a flow, by its name or that of one instance; NotFoundError names the nearest."""
    if flow is None:
        return table
    column = table.column("flow")
    names = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    wanted = [name for name in names if name == flow or name.split(".", 1)[0] == flow]
    if not wanted:
        groups = [*dict.fromkeys(name.split(".", 1)[0] for name in names), *names]
        raise NotFoundError(f'no flow "{flow}"; {nearest(flow, groups)}')
    return table.filter(np.isin(np.asarray(column.to_pylist(), dtype=object), wanted))


def _words(indices: pa.Array | pa.ChunkedArray, words: list[str]) -> pa.Array:
    """A dictionary column of these words."""
    if isinstance(indices, pa.ChunkedArray):
        indices = indices.combine_chunks()
    return pa.DictionaryArray.from_arrays(indices.cast(pa.int32()), pa.array(words, pa.string()))
