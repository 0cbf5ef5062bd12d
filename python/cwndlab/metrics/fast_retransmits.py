"""Fast retransmits: recoveries begun by duplicate ACKs, summed over the connections."""

from __future__ import annotations

import numpy as np

from . import RunView
from ._connections import of_traffic
from ._range import COUNT

UNIT = "segments"
RANGE = COUNT
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str | None = None) -> float:
    """Of one traffic entry of the study, or of all."""
    return float(np.sum(of_traffic(run, traffic)["fast_retransmits"]))
