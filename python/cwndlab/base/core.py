"""Types that several packages share (values, checks, records of runs), and time budgets of finished runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

    from cwndlab import _core

#: One replicate's value of a quantity: a number, or one number for each object.
Value = float | list[float]


class Check(NamedTuple):
    """The result of one check of this machine by `cwndlab doctor`: whether it passed, with details."""

    name: str
    works: bool
    detail: str
    required: bool = False


class KeptRecords:
    """The record tables of a finished run, with the interface of the engine's `Records`."""

    def __init__(self, tables: Mapping[str, Any], packets: int = 0, capture: bytes | None = None) -> None:
        """`packets` counts each packet once per hop; `capture` is the pcapng file of a run on a kernel."""
        self._tables = dict(tables)
        self._capture = capture
        self.packets = packets

    @property
    def names(self) -> list[str]:
        """Names of the tables."""
        return list(self._tables)

    def table(self, name: str, /) -> Any:
        """The record table of this name: an object with ``__arrow_c_stream__``."""
        return self._tables[name]

    def write_trace(self, path: str, format: str) -> None:
        """Writes the capture to a file; ValueError if `format` is not "pcapng" or there is no capture."""
        if format != "pcapng" or self._capture is None:
            raise ValueError(f"kept records are not written as {format}; `cwndlab trace` runs the cell again")
        Path(path).write_bytes(self._capture)


Records: TypeAlias = "_core.Records | KeptRecords"

#: The record tables from which time budgets are computed.
BUDGET_TABLES = ("connections", "objects", "limits", "states", "timeouts", "cwnd", "delays")


def time_budgets(
    table: Callable[[str], pa.Table], scenario: Mapping[str, Any], end_ns: int, kind: str | None = None
) -> pa.Table:
    """The time budgets of a run's finished objects and of its connections, in the order of the records.

    Objects come first. Flows of datagrams have no time budgets.

    Args:
        table: returns the whole run's record table of a name (of `BUDGET_TABLES`).
        scenario: the run's scenario.
        end_ns: the end of the run or of a window: later events are ignored, and connections that are open
            then count as ended.
        kind: "page", "file", "transaction", "object" or "connection"; None for all.

    Returns:
        The columns `traffic` (its index), `kind`, `index`, `start_ns`, `end_ns`, and one with the nanoseconds
        of each part, such as `slow-start_ns`. The parts add up to `end_ns - start_ns`.

    Raises:
        ValueError: a table is missing, lacks a column, or does not match the scenario.

    """
    from cwndlab import _core

    from .arrow_tables import read_table  # pyarrow takes longer to load than a short command runs

    tables = {name: table(name) for name in BUDGET_TABLES}
    return read_table(_core.time_budgets(json.dumps(scenario), tables, end_ns, kind))
