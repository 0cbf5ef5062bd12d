"""Number of connections opened in the window.

With `failed = true` the number of them that were given up or reset.
"""

from __future__ import annotations

import numpy as np

from . import RunView
from ._connections import opened
from ._range import NON_NEGATIVE

UNIT = "1"
RANGE = NON_NEGATIVE
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str | None = None, failed: bool = False) -> float:
    """See the module."""
    table = opened(run, traffic)
    return float(np.count_nonzero(table["failed"]) if failed else len(table["failed"]))
