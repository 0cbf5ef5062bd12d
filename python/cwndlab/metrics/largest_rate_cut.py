r"""Smoothness: the largest cut of a connection's rate from one interval to the next.

$$ s = \max_k \frac{x_k - x_{k+1}}{x_k} $$

with \(x_k\) the goodput of a connection in the \(k\)-th interval of the window, each `interval` (seconds)
long; the mean over the traffic's connections. 0 is a rate that never falls, 1 a stop. With the round-trip
time as the interval it is the largest cut in a round trip.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._options import Interval
from ._range import SHARE
from ._rates import of_each

UNIT = "1"
RANGE = SHARE
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str, interval: Interval) -> float:
    """Of one traffic entry of the study; NaN without a connection that was open for two intervals."""
    cuts = []
    for x in of_each(run, interval, traffic).values():
        before = x[:-1] > 0
        if before.any():
            cuts.append(max(0.0, float(np.max(1.0 - x[1:][before] / x[:-1][before]))))
    return float(np.mean(cuts)) if cuts else math.nan
