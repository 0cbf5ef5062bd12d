"""When the nth retransmission is seen at the observation point; not measurable if there are fewer."""

from __future__ import annotations

import math

from . import RunView
from ._options import Number, Position
from ._range import NON_NEGATIVE
from ._segments import events

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("segments",)


def measure(
    run: RunView, *, nth: Position = 1, packet: Position | None = None, connection: Number = 0
) -> float:
    """The nth retransmission (from 1), of any packet or of the given one."""
    again = events(run, "retransmit", connection=connection)
    times = again["time_s"] if packet is None else again["time_s"][again["segment"] == packet]
    return float(times[nth - 1]) if 1 <= nth <= len(times) else math.nan
