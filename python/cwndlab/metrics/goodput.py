"""Goodput: payload bytes delivered in order (both directions), times 8, over the run's duration.

Not measurable when the traffic is not in the cell. The warm-up is left out only if that is asked for.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView, _window
from ._connections import of_traffic
from ._range import NON_NEGATIVE

UNIT = "bit/s"
RANGE = NON_NEGATIVE
TABLES = ("connections", "warmup_connections")


def measure(run: RunView, *, traffic: str | None = None, after_warmup: bool = False) -> float:
    """Of one traffic entry of the study, or of all; of the whole run, or of what comes after its warm-up."""
    if traffic is not None and not run.traffic(traffic):
        return math.nan
    if after_warmup:
        rows = _window.connections(run, "bytes_up", "bytes_down")
        chosen = np.isin(rows["traffic"], run.traffic(traffic))
        return float(np.sum((rows["bytes_up"] + rows["bytes_down"])[chosen])) * 8.0 / _window.seconds(run)
    table = of_traffic(run, traffic)
    return float(np.sum(table["bytes_up"]) + np.sum(table["bytes_down"])) * 8.0 / run.duration_s
