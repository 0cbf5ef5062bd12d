r"""Aggressiveness: the largest rise of a connection's rate from one interval to the next.

$$ a = \max_k (x_{k+1} - x_k) $$

with \(x_k\) the goodput of a connection in the \(k\)-th interval of the window, each `interval` (seconds)
long; the mean over the traffic's connections. With the round-trip time as the interval it is the largest rise
in a round trip, a measure of aggressiveness. A window or a phase
leaves out the start of the connections.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._options import Interval
from ._range import NON_NEGATIVE
from ._rates import of_each

UNIT = "bit/s"
RANGE = NON_NEGATIVE
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str, interval: Interval) -> float:
    """Of one traffic entry of the study; NaN without a connection that was open for two intervals."""
    series = [x for x in of_each(run, interval, traffic).values() if len(x) > 1]
    return float(np.mean([max(0.0, float(np.max(np.diff(x)))) for x in series])) if series else math.nan
