r"""Variation of the rate at several time scales: its coefficient of variation over longer intervals.

$$ c_m = \frac{\sigma(x^{(m)})}{\operatorname{mean}(x^{(m)})}, \quad m = 1, 2, 4, 8, \dots $$

with \(x^{(m)}\) the goodput of a connection in intervals of \(m\) times `interval` (seconds); the mean over
the traffic's connections. Point k of the list, from 0 (a figure with `x = "index"`), has intervals 2 to the
power k times as long, as far as a connection has two of them. \(c_1\) is `rate_variation`. A rate that is
smooth over seconds may vary much over round trips.
"""

from __future__ import annotations

import numpy as np

from . import RunView
from ._options import Interval
from ._range import NON_NEGATIVE
from ._rates import of_each

UNIT = "1"
RANGE = NON_NEGATIVE
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str, interval: Interval) -> list[float]:
    """Of one traffic entry of the study, the shortest scale first."""
    series = [x for x in of_each(run, interval, traffic).values() if len(x) > 1 and np.sum(x) > 0]
    made: list[float] = []
    while series:
        made.append(float(np.mean([np.std(x) / np.mean(x) for x in series])))
        paired = [x[: len(x) // 2 * 2].reshape(-1, 2).mean(axis=1) for x in series if len(x) >= 4]
        series = [x for x in paired if np.sum(x) > 0]
    return made
