"""What several layers share: the records that a run gives, and checks of this machine."""

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
    """Whether something works on this machine, and what there is to say of it."""

    name: str
    works: bool
    detail: str
    required: bool = False


class KeptRecords:
    """The record tables of a run that is over, as the engine gives them."""

    def __init__(self, tables: Mapping[str, Any], packets: int = 0, capture: bytes | None = None) -> None:
        """`packets` are packet-hops; `capture` is what was captured of a kernel's run, as pcapng."""
        self._tables = dict(tables)
        self._capture = capture
        self.packets = packets

    @property
    def names(self) -> list[str]:
        """Names of the tables."""
        return list(self._tables)

    def table(self, name: str, /) -> Any:
        """A table with ``__arrow_c_stream__``."""
        return self._tables[name]

    def write_trace(self, path: str, format: str) -> None:
        """Writes the capture; only the engine's runs are written in other formats."""
        if format != "pcapng" or self._capture is None:
            raise ValueError(f"kept records are not written as {format}; `cwndlab trace` runs the cell again")
        Path(path).write_bytes(self._capture)


Records: TypeAlias = "_core.Records | KeptRecords"

#: The record tables that time budgets are made of.
BUDGET_TABLES = ("connections", "objects", "limits", "states", "timeouts", "cwnd", "delays")


def time_budgets(
    table: Callable[[str], pa.Table], scenario: Mapping[str, Any], end_ns: int, kind: str | None = None
) -> pa.Table:
    """The budgets of a run's finished objects and of its connections, or of one kind of them.

    In the order of the records, objects first. Flows of datagrams have none.

    Args:
        table: gives the whole run's record table of a name (`BUDGET_TABLES`).
        scenario: the run's scenario.
        end_ns: the end of the run, or of a window: what happens from then on is not looked at, and
            connections that are open end with it.
        kind: "page", "file", "transaction", "object" or "connection".

    Returns:
        `traffic` (its index), `kind`, `index`, `start_ns`, `end_ns`, and nanoseconds for each part, as
        `slow-start_ns`: these add up to `end_ns - start_ns`.

    Raises:
        ValueError: a table does not fit.

    """
    from cwndlab import _core

    from .arrow_tables import read_table  # pyarrow takes longer to load than a short command runs

    tables = {name: table(name) for name in BUDGET_TABLES}
    return read_table(_core.time_budgets(json.dumps(scenario), tables, end_ns, kind))
