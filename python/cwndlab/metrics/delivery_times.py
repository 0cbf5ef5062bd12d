"""When packet N has been delivered in order, N = 1, 2, …, as the acknowledgments at the observation point
tell.

Packet N counts as delivered with the first acknowledgment that covers it, so the times include the way back
of the acknowledgment; differences between cells do not depend on that, as long as the way back is the same.
"""

from __future__ import annotations

import numpy as np

from . import RunView
from ._options import Number
from ._range import NON_NEGATIVE
from ._segments import events

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("segments",)


def measure(run: RunView, *, connection: Number = 0) -> list[float]:
    """Element N - 1 is the time of packet N, up to the last acknowledged.

    In a window that begins later the first element is the first packet delivered in it.
    """
    acks = events(run, "ack", connection=connection, history=True)
    if not len(acks["segment"]):
        return []
    highest = np.maximum.accumulate(acks["segment"])
    wanted = np.arange(1, highest[-1] + 1)
    times = acks["time_s"][np.searchsorted(highest, wanted)]
    return [float(time) for time in times[times >= run.start_s]]
