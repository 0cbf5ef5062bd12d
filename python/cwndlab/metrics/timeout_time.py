"""When the nth retransmission timeout is seen at the observation point; not measurable if there are fewer.

A timeout shows as the retransmission that the timer caused, which the records mark (on a real stack
by the two milliseconds before it in which nothing was heard).
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._options import Number, Position
from ._range import NON_NEGATIVE
from ._segments import events

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("segments",)


def measure(run: RunView, *, nth: Position = 1, connection: Number = 0) -> float:
    """The nth timeout, from 1."""
    again = events(run, "retransmit", connection=connection)
    times = np.unique(again["time_s"][again["timeout"]])
    return float(times[nth - 1]) if 1 <= nth <= len(times) else math.nan
