"""The records of one whole run as numpy columns, for metrics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cwndlab._core import Table
from cwndlab.base.core import Records
from cwndlab.base.errors import NotFoundError, nearest

if TYPE_CHECKING:
    import pyarrow as pa

Column = NDArray[Any]
#: The largest number of rows of tables that are read by `EngineColumns`; pyarrow reads larger ones.
SMALL = 1 << 16


def to_numpy(column: pa.ChunkedArray) -> Column:
    """A record column as numpy: text and lists as object arrays, null as -1 in integers and NaN in floats.

    Reads Arrow's buffers: Arrow's own conversion would import pandas, or search for it each time.
    """
    import pyarrow as pa  # takes longer to load than a short command runs

    kind = column.type
    plain = _plain().get(kind.id)
    if plain is not None and column.num_chunks == 1 and len(column) and not column.null_count:
        chunk = column.chunk(0)
        return np.frombuffer(chunk.buffers()[1], plain, len(chunk), chunk.offset * plain.itemsize)
    if pa.types.is_dictionary(kind):
        # Looks up each word once. A null has the index -1, which selects the None at the end.
        parts = [
            np.array([*chunk.dictionary.to_pylist(), None], dtype=object)[_numbers(chunk.indices)]
            for chunk in column.chunks
        ]
        return np.concatenate(parts) if parts else np.array([], dtype=object)
    gaps = column.null_count > 0
    if pa.types.is_list(kind) and not gaps:
        lists = [item for chunk in column.chunks for item in _lists(chunk)]
        column_of_lists = np.empty(len(lists), dtype=object)
        for row, item in enumerate(lists):
            column_of_lists[row] = item
        return column_of_lists
    truths = pa.types.is_boolean(kind) and not gaps
    if not (truths or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return np.asarray(column.to_numpy())
    parts = [_numbers(chunk, gaps) for chunk in column.chunks if len(chunk)]
    if not parts:
        return np.array([], dtype=kind.to_pandas_dtype())
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@cache
def _plain() -> Mapping[int, np.dtype[Any]]:
    """The numpy types of numbers, by the id of Arrow's type."""
    import pyarrow as pa

    kinds = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.int64(), pa.float64())
    return {kind.id: np.dtype(kind.to_pandas_dtype()) for kind in kinds}


def _numbers(chunk: pa.Array, gaps: bool | None = None) -> Column:
    """An array of numbers or truth values as numpy, not copied if there are no nulls.

    `gaps` is whether any chunk of the column has nulls: all chunks must get the same type.
    """
    dtype = np.dtype(chunk.type.to_pandas_dtype())
    validity, data = chunk.buffers()
    if not len(chunk):
        return np.array([], dtype=dtype)
    values = (
        _bits(data, chunk)
        if dtype == np.bool_
        else np.frombuffer(data, dtype, len(chunk), chunk.offset * dtype.itemsize)
    )
    if not (chunk.null_count > 0 if gaps is None else gaps):
        return values
    whole = np.issubdtype(dtype, np.integer)
    values = values.astype(np.int64) if whole else values.copy()
    if chunk.null_count:
        values[~_bits(validity, chunk)] = -1 if whole else np.nan
    return values


def _lists(chunk: pa.Array) -> Iterator[Column]:
    values, ends = _numbers(chunk.values), _numbers(chunk.offsets).tolist()
    return (values[start:end] for start, end in pairwise(ends))


def _bits(bits: pa.Buffer, chunk: pa.Array) -> Column:
    """The truth values of an array, from the Arrow bitmap that contains them."""
    first, shift = divmod(chunk.offset, 8)
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8, offset=first), bitorder="little")
    return unpacked[shift : shift + len(chunk)].view(np.bool_)


class WholeRun:
    """The record tables of one run, each read on first access, and its scenario."""

    def __init__(self, records: Records, scenario: Mapping[str, Any]) -> None:
        self._records = records
        self._columns: dict[str, Mapping[str, Column]] = {}
        self._tables: dict[str, pa.Table] = {}
        self.scenario = scenario

    def table(self, name: str) -> pa.Table:
        """A record table as Arrow, not copied."""
        if name not in self._tables:
            from cwndlab.base.arrow_tables import read_table

            self._tables[name] = read_table(self._recorded(name))
        return self._tables[name]

    def columns(self, table: str) -> Mapping[str, Column]:
        """The columns of a record table as numpy arrays, each converted on first access."""
        if table not in self._columns:
            columns = self._recorded(table)
            if isinstance(columns, Table) and len(columns) <= SMALL:
                self._columns[table] = EngineColumns(columns)
            else:
                self._columns[table] = TableColumns(self.table(table))
        return self._columns[table]

    def _recorded(self, table: str) -> Any:
        if table not in self._records.names:
            raise NotFoundError(f"no table {table!r} was recorded; {nearest(table, self._records.names)}")
        return self._records.table(table)

    @cached_property
    def _groups(self) -> dict[str, list[int]]:
        groups: dict[str, list[int]] = {}
        for index, entry in enumerate(self.scenario["traffic"]):
            groups.setdefault(flow_name(str(entry["name"])), []).append(index)
        return groups

    def traffic(self, name: str | None = None) -> list[int]:
        """Indices of the traffic entries with this name in the study (all instances), or of all entries."""
        if name is None:
            return list(range(len(self.scenario["traffic"])))
        return list(self._groups.get(name, []))

    def link(self, name: str | None = None) -> int:
        """Index of the direction of a link with this name; by default of the slowest one, the bottleneck."""
        links = self.scenario["links"]
        if name is None:
            return bottleneck(links)
        names: list[str] = [link["name"] for link in links]
        if name not in names:
            raise ValueError(f'there is no direction "{name}"; {nearest(name, names)}')
        return names.index(name)


class Computed(Mapping[str, Column]):
    """Columns by name, each computed on first access by a function of the name."""

    def __init__(self, names: Collection[str], make: Callable[[str], Column]) -> None:
        self._names = names
        self._make = make
        self._made: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if name not in self._made:
            if name not in self._names:
                raise NotFoundError(f"no column {name!r}; {nearest(name, self._names)}")
            self._made[name] = self._make(name)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class TableColumns(Computed):
    """The columns of a pyarrow table as numpy arrays."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        # Read once: Arrow builds the list `column_names` on each access.
        super().__init__(table.column_names, lambda name: to_numpy(table.column(name)))

    def equals(self, name: str, word: str) -> NDArray[np.bool_]:
        """A mask of the rows with this word in a column of text; compares dictionary codes if possible."""
        import pyarrow as pa

        column = self._table.column(name)
        if not pa.types.is_dictionary(column.type) or column.null_count or column.num_chunks != 1:
            return np.asarray(self[name] == word)
        return _coded(_numbers(column.chunk(0).indices), column.chunk(0).dictionary.to_pylist(), word)


class EngineColumns(TableColumns):
    """The columns of a small table of the engine, read without pyarrow.

    Importing tables into pyarrow takes as long as all metrics of a short run.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        # The function must not refer to `self`: the cycle would keep the columns alive.
        Computed.__init__(self, table.column_names, lambda name: _engine_column(table, name))

    def equals(self, name: str, word: str) -> NDArray[np.bool_]:
        """A mask of the rows with this word in a column of text; compares dictionary codes."""
        kind, data, words = self._table.column(name) or ("", b"", None)
        if words is None:
            return np.asarray(self[name] == word)
        return _coded(np.frombuffer(data, kind), words, word)


def _engine_column(table: Table, name: str) -> Column:
    chunked = table.column(name)
    if chunked is None:
        from cwndlab.base.arrow_tables import read_table

        return to_numpy(read_table(table).column(name))
    kind, data, words = chunked
    values = np.frombuffer(data, kind)
    return values if words is None else np.array([*words, None], dtype=object)[values]


def _coded(codes: Column, words: Sequence[str], word: str) -> NDArray[np.bool_]:
    """A mask of the codes of this word; the code is the word's index in `words`."""
    return codes == words.index(word) if word in words else np.zeros(len(codes), dtype=np.bool_)


def bottleneck(links: Sequence[Mapping[str, Any]]) -> int:
    """Index of the slowest direction of a link; the first one if several are equally slow."""
    return min(range(len(links)), key=lambda index: int(links[index]["rate_bps"]))


def flow_name(name: str) -> str:
    """The study's name of a flow, from the name of an instance: "web" from "web.1"."""
    return name.split(".", 1)[0]


def snapshot_times(scenario: Mapping[str, Any]) -> list[int]:
    """The times (ns) of snapshots, in order: the edges of the scenario's windows, except the run's ends."""
    edges = {int(edge) for window in scenario.get("windows", {}).values() for edge in window}
    return sorted(edge for edge in edges if 0 < edge < int(scenario["duration_ns"]))
