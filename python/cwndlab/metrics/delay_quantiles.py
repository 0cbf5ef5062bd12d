"""Delay at the middle of every per cent of the pages (or files, transactions, objects), for distributions.

One hundred values, the quantiles 0.5 %, 1.5 %, …, 99.5 % of the delays; an unfinished one counts as
longer than every finished one, so the last quantiles are missing (NaN) where more than so many are
unfinished.
"""

from __future__ import annotations

import numpy as np

from . import RunView, _select
from ._options import Kind
from ._range import NON_NEGATIVE

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("objects",)
_SHARES = (np.arange(100) + 0.5) / 100


def measure(run: RunView, *, kind: Kind = "page", traffic: str | None = None) -> list[float]:
    """See the module; no values without any such object."""
    delays = np.sort(_select.objects(run, kind, traffic).delay_s)
    if len(delays) == 0:
        return []
    at = np.minimum((_SHARES * len(delays)).astype(np.int64), len(delays) - 1)
    values: list[float] = np.where(np.isfinite(delays[at]), delays[at], np.nan).tolist()
    return values
