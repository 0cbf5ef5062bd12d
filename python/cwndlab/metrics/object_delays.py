"""Delays of single pages, files, transactions or objects, for distributions.

From the clock's start to the last byte; only finished ones, `unfinished_pages` counts those that are
missing.
"""

from __future__ import annotations

from . import RunView, _select
from ._options import Kind
from ._range import NON_NEGATIVE

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("objects",)


def measure(run: RunView, *, kind: Kind = "page", traffic: str | None = None) -> _select.Floats:
    """See the module, in the order of the records."""
    return _select.of_finished(run, "delay_s", kind, traffic)
