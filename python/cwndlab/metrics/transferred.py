"""Payload bytes that reached the applications in order.

`count = "delivered"`: of every connection, finished or not. `count = "completed"`: of finished pages,
files and transactions. `direction`: `down` (to the client), `up` (to the server) or `both`; completed
objects have none.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from . import RunView, _select
from ._connections import of_traffic
from ._options import Kind, Transferred
from ._range import NON_NEGATIVE

UNIT = "B"
RANGE = NON_NEGATIVE
TABLES = ("objects", "connections")

_COMPLETED: tuple[Kind, ...] = ("page", "file", "transaction")
_COLUMNS = {"down": ("bytes_down",), "up": ("bytes_up",), "both": ("bytes_up", "bytes_down")}


def measure(
    run: RunView,
    *,
    traffic: str | None = None,
    count: Transferred = "delivered",
    direction: Literal["down", "up", "both"] = "both",
) -> float:
    """See the module; NaN if the cell has no such traffic."""
    if len(run.traffic(traffic)) == 0:
        return math.nan
    if count == "completed":
        kinds = [_select.objects(run, kind, traffic) for kind in _COMPLETED]
        return float(sum(o.bytes[o.finished].sum() for o in kinds))
    table = of_traffic(run, traffic)
    return float(sum(np.asarray(table[c], dtype=np.float64).sum() for c in _COLUMNS[direction]))
