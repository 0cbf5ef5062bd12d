"""Goodput: payload bytes delivered in order (both directions), times 8, per second.

Not measurable when the traffic is not in the cell.
"""

from __future__ import annotations

import math

from . import RunView
from ._connections import delivered_bytes, of_traffic
from ._range import NON_NEGATIVE

UNIT = "bit/s"
RANGE = NON_NEGATIVE
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str | None = None) -> float:
    """Of one traffic entry of the study, or of all."""
    if traffic is not None and not run.traffic(traffic):
        return math.nan
    return float(delivered_bytes(of_traffic(run, traffic)).sum()) * 8.0 / run.seconds
