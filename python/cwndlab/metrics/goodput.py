"""Goodput: payload bytes delivered in order (both directions), times 8, over the run's duration.

Not measurable when the traffic is not in the cell. The warm-up is not left out: the connections table holds
totals.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._connections import of_traffic

UNIT = "bit/s"
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str | None = None) -> float:
    """Of one traffic entry of the study, or of all."""
    table = of_traffic(run, traffic)
    if traffic is not None and not run.traffic(traffic):
        return math.nan
    return float(np.sum(table["bytes_up"]) + np.sum(table["bytes_down"])) * 8.0 / run.duration_s
