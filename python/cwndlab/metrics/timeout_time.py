"""When the nth retransmission timeout is seen at the observation point; not measurable if there are fewer.

A timeout shows as a retransmission at a time at which no acknowledgment arrived.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._segments import events

UNIT = "s"
TABLES = ("segments",)


def measure(run: RunView, *, nth: int = 1, connection: int = 0) -> float:
    """The nth timeout, from 1."""
    again = events(run, "retransmit", connection=connection)["time_s"]
    answers = events(run, "ack", "dupack", connection=connection)["time_s"]
    timeouts = np.unique(again[~np.isin(again, answers)])
    return float(timeouts[nth - 1]) if 1 <= nth <= len(timeouts) else math.nan
