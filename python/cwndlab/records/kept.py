"""Record tables that were kept, as a run's records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa


class KeptRecords:
    """Tables read from a store (`cwndlab.core.Records`)."""

    packets = 0

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self._tables = dict(tables)

    @property
    def names(self) -> list[str]:
        """Names of the tables."""
        return list(self._tables)

    def table(self, name: str, /) -> Any:
        """A table."""
        return self._tables[name]

    def write_trace(self, path: str, format: str) -> None:
        """Only a run writes traces."""
        raise ValueError(f"kept records are not written as {format}; `cwndlab trace` runs the cell again")
