r"""Time to delta-fair: how long competing connections take until their rates are nearly equal.

$$ t = \min \left\{ e_k - t_0 : \left| \frac{n\,x_{ki}}{\sum_j x_{kj}} - 1 \right| \le \delta
   \text{ for all } i \right\} $$

with \(x_{ki}\) the goodput of connection \(i\) of \(n\) in the \(k\)-th interval, each `interval` (seconds)
long, \(e_k\) its end, and \(t_0\) the start of the last connection (or of the window, if that is later). For
two connections: from the later one's start until both have between (1 - delta)/2 and (1 + delta)/2 of what
they get together. The first such interval counts, whatever follows.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._connections import of_traffic
from ._options import Interval, Tolerance
from ._range import NON_NEGATIVE
from ._rates import in_each

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("connections",)


def measure(
    run: RunView, *, traffic: list[str] | None = None, interval: Interval, delta: Tolerance = 0.1
) -> float:
    """Of the connections of these traffic entries together, or of all; NaN if it never happens while all are
    open, or with fewer than two connections.
    """
    entries = tuple(traffic) if traffic is not None else (None,)
    rows = of_traffic(run, *entries)
    count = len(rows["connection"])
    if count < 2:
        return math.nan
    last = max(run.start_s, float(np.max(rows["start_ns"])) / 1e9)
    for part, rates in in_each(run, interval, *entries):
        x = np.array(list(rates.values()))
        if len(x) == count and np.sum(x) > 0 and np.all(np.abs(count * x / np.sum(x) - 1) <= delta):
            return part.end_s - last
    return math.nan
