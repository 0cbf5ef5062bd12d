"""Median page delay.

From the page's clock (SYN or request, as the application says) to the last byte of its last object. The
median of all pages of all clients together (`pool = "all"`), or the mean over clients of each one's
median (`pool = "client"`). Pages unfinished at the end count as longer than all finished ones (right-
censored), so that leaving them out cannot make a slow network look fast.
"""

from __future__ import annotations

from . import RunView, _select
from ._options import Pool
from ._range import NON_NEGATIVE

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("objects",)


def measure(run: RunView, *, traffic: str | None = None, pool: Pool = "all") -> float:
    """See the module; NaN without pages."""
    return _select.pooled_median(run, "page", traffic, pool)
