"""Median file-transfer delay.

From the file's clock (by default its SYN) to its last byte in order. Files unfinished at the end count
as longer than all finished ones, as in median_page_delay.
"""

from __future__ import annotations

from . import RunView, _select
from ._options import Pool
from ._range import NON_NEGATIVE

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("objects",)


def measure(run: RunView, *, traffic: str | None = None, pool: Pool = "all") -> float:
    """See the module; NaN without files."""
    return _select.pooled_median(run, "file", traffic, pool)
