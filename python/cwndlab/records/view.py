"""One run as metrics see it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cwndlab.core import Records
from cwndlab.errors import nearest
from cwndlab.plan.scenario import bottleneck

if TYPE_CHECKING:
    import pyarrow as pa

Column = NDArray[Any]


def to_numpy(column: pa.ChunkedArray) -> Column:
    """A record column as numpy; text becomes an object array, null in whole numbers -1, elsewhere NaN."""
    import pyarrow as pa  # takes longer to load than a short command runs

    kind = column.type
    if pa.types.is_dictionary(kind):
        # Words repeat: look each up once, then index.
        parts = []
        for chunk in column.chunks:
            words = np.array(chunk.dictionary.to_pylist(), dtype=object)
            indices = chunk.indices.to_numpy(zero_copy_only=False)
            parts.append(
                words[indices] if chunk.null_count == 0 else np.array(chunk.to_pylist(), dtype=object)
            )
        return np.concatenate(parts) if parts else np.array([], dtype=object)
    if pa.types.is_integer(kind) and column.null_count:
        return np.asarray(column.cast(pa.int64()).fill_null(-1).to_numpy())
    return np.asarray(column.to_numpy())


class RunView:
    """Records of one run with the scenario they came from."""

    def __init__(self, records: Records, scenario: Mapping[str, Any]) -> None:
        self._records = records
        self._columns: dict[str, Mapping[str, Column]] = {}
        self._tables: dict[str, pa.Table] = {}
        self.scenario = scenario

    def table(self, name: str) -> pa.Table:
        """A record table as Arrow, taken over without a copy."""
        if name not in self._tables:
            if name not in self._records.names:
                raise KeyError(f"no table {name!r} was recorded; {nearest(name, self._records.names)}")
            import pyarrow as pa

            self._tables[name] = pa.table(self._records.table(name))
        return self._tables[name]

    def columns(self, table: str) -> Mapping[str, Column]:
        """The columns of a record table as numpy arrays, each converted on first access."""
        if table not in self._columns:
            self._columns[table] = Columns(self.table(table))
        return self._columns[table]

    @cached_property
    def _groups(self) -> dict[str, list[int]]:
        groups: dict[str, list[int]] = {}
        for index, entry in enumerate(self.scenario["traffic"]):
            groups.setdefault(str(entry["name"]).split(".", 1)[0], []).append(index)
        return groups

    def traffic(self, name: str | None = None) -> list[int]:
        """Indices of the traffic entries with this name in the study, or of all."""
        if name is None:
            return list(range(len(self.scenario["traffic"])))
        return list(self._groups.get(name, []))

    def link(self, name: str | None = None) -> int:
        """Index of a direction of a link; without a name that of the slowest, the bottleneck."""
        links = self.scenario["links"]
        if name is None:
            return bottleneck(links)
        names: list[str] = [link["name"] for link in links]
        if name not in names:
            raise ValueError(f'there is no direction "{name}"; {nearest(name, names)}')
        return names.index(name)


class Columns(Mapping[str, Column]):
    """The columns of a table as numpy arrays, each converted on first access."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._names = table.column_names  # Arrow would build this list on each access
        self._done: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if name not in self._done:
            if name not in self._names:
                raise KeyError(f"no column {name!r}; {nearest(name, self._names)}")
            self._done[name] = to_numpy(self._table.column(name))
        return self._done[name]

    def __iter__(self) -> Any:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
