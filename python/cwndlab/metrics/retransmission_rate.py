r"""Retransmission rate: segments sent again, per segment sent.

$$ r = \frac{\text{retransmits}}{\text{segments sent}} $$

Both ends of the connections count.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._connections import of_traffic
from ._range import SHARE

UNIT = "1"
RANGE = SHARE
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str | None = None) -> float:
    """Of one traffic entry of the study, or of all; NaN if nothing was sent."""
    rows = of_traffic(run, traffic)
    sent = float(np.sum(rows["segments_sent"]))
    return float(np.sum(rows["retransmits"])) / sent if sent else math.nan
