"""What several layers share: the records that a run gives, and checks of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
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
