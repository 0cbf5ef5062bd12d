"""Goodput over time: of a traffic's connections together, in each interval of the window.

Payload bytes delivered in order, both ways, times 8, over the interval's length. A figure with `x = "index"`
draws it: point k is the k-th interval of length `interval` (seconds).
"""

from __future__ import annotations

from . import RunView
from ._connections import delivered_bytes, of_traffic
from ._options import Interval
from ._range import NON_NEGATIVE

UNIT = "bit/s"
RANGE = NON_NEGATIVE
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str | None = None, interval: Interval) -> list[float]:
    """Of one traffic entry of the study, or of all, in the order of time."""
    made = []
    for part in run.parts(interval):
        rows = of_traffic(part, traffic)
        made.append(8.0 * float(delivered_bytes(rows).sum()) / part.seconds)
    return made
