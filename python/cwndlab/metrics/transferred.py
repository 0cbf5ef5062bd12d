"""Payload bytes that reached the applications in order.

`count = "delivered"`: of every connection, finished or not. `count = "completed"`: of finished pages,
files and transactions. `direction`: `down` (to the client), `up` (to the server) or `both`; completed
objects have none.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView, _select
from ._range import NON_NEGATIVE

UNIT = "B"
RANGE = NON_NEGATIVE
TABLES = ("objects", "connections")

_COLUMNS = {"down": ("bytes_down",), "up": ("bytes_up",), "both": ("bytes_up", "bytes_down")}


def measure(
    run: RunView, *, traffic: str | None = None, count: str = "delivered", direction: str = "both"
) -> float:
    """See the module; NaN if the cell has no such traffic."""
    entries = run.traffic(traffic)
    if len(entries) == 0:
        return math.nan
    if count == "completed":
        kinds = [_select.objects(run, kind, traffic) for kind in ("page", "file", "transaction")]
        return float(sum(o.bytes[o.finished].sum() for o in kinds))
    if count != "delivered":
        raise ValueError(f'count is {count!r}; it must be "delivered" or "completed"')
    if direction not in _COLUMNS:
        raise ValueError(f'direction is {direction!r}; it must be "down", "up" or "both"')
    table = run.columns("connections")
    chosen = np.isin(table["traffic"], entries)
    return float(sum(np.asarray(table[c], dtype=np.float64)[chosen].sum() for c in _COLUMNS[direction]))
