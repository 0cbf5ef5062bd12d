"""Segments sent again, summed over the connections of the traffic."""

from __future__ import annotations

import numpy as np

from . import RunView
from ._connections import of_traffic
from ._range import COUNT

UNIT = "packets"
RANGE = COUNT
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str | None = None, indicator: bool = False) -> float:
    """Of one traffic entry of the study, or of all; with `indicator` 1 if there were any, else 0."""
    total = float(np.sum(of_traffic(run, traffic)["retransmits"]))
    return float(total > 0) if indicator else total
