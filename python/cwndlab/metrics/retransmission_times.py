"""Times of all retransmissions seen at the observation point, in order."""

from __future__ import annotations

from . import RunView
from ._options import Number
from ._range import NON_NEGATIVE
from ._segments import events

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("segments",)


def measure(run: RunView, *, connection: Number = 0) -> list[float]:
    """Element i - 1 is the time of the ith retransmission."""
    return [float(time) for time in events(run, "retransmit", connection=connection)["time_s"]]
