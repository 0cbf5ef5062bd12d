"""Sizes of single pages, files, transactions or objects; only finished ones."""

from __future__ import annotations

from . import RunView, _select
from ._options import Kind
from ._range import NON_NEGATIVE

UNIT = "B"
RANGE = NON_NEGATIVE
TABLES = ("objects",)


def measure(run: RunView, *, kind: Kind = "object", traffic: str | None = None) -> _select.Floats:
    """See the module, in the order of the records."""
    return _select.of_finished(run, "bytes", kind, traffic)
