r"""Coefficient of variation of the rate at one time scale: how unevenly a connection delivers.

$$ c = \frac{1}{\bar x} \sqrt{\frac{1}{n} \sum_{k=1}^{n} (x_k - \bar x)^2} $$

with \(x_k\) the goodput of a connection in the \(k\)-th interval of the window, each `interval` (seconds)
long, and \(\bar x\) their mean; the mean over the traffic's connections. Intervals through which a connection
was not open are left out. 0 is a constant rate.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._options import Interval
from ._range import NON_NEGATIVE
from ._rates import of_each

UNIT = "1"
RANGE = NON_NEGATIVE
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str, interval: Interval) -> float:
    """Of one traffic entry of the study; NaN without a connection that delivered in two intervals or more."""
    series = [x for x in of_each(run, interval, traffic).values() if len(x) > 1 and np.sum(x) > 0]
    return float(np.mean([np.std(x) / np.mean(x) for x in series])) if series else math.nan
