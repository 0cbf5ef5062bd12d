"""Numbers of the packets that were dropped, in order of time.

Packet N is the N-th of the transfer, from 1 (offset / MSS + 1). With ``until = "first-retransmission"`` only
those before the first retransmission seen at the observation point, as RFC 2416 reports them.
"""

from __future__ import annotations

from typing import Literal

from . import RunView
from ._options import Number
from ._range import NON_NEGATIVE
from ._segments import events

UNIT = "packet"
RANGE = NON_NEGATIVE
TABLES = ("segments",)


def measure(
    run: RunView, *, until: Literal["end", "first-retransmission"] = "end", connection: Number = 0
) -> list[float]:
    """The packets' numbers; `until` is "end" or "first-retransmission"."""
    drops = events(run, "drop", connection=connection)
    keep = drops["len"] > 0
    if until == "first-retransmission":
        again = events(run, "retransmit", connection=connection)["time_s"]
        if len(again):
            keep &= drops["time_s"] < again[0]
    return [float(number) for number in drops["segment"][keep]]
