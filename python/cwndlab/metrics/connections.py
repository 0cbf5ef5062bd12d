"""Number of connections opened in the run.

With `failed = true` the number of them that were given up or reset.
"""

from __future__ import annotations

import numpy as np

from . import RunView
from ._range import NON_NEGATIVE

UNIT = "1"
RANGE = NON_NEGATIVE
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str | None = None, failed: bool = False) -> float:
    """See the module."""
    table = run.columns("connections")
    chosen = np.isin(table["traffic"], run.traffic(traffic))
    if failed:
        chosen &= np.asarray(table["failed"], dtype=np.bool_)
    return float(np.count_nonzero(chosen))
