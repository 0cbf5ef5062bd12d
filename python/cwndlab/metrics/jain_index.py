r"""Jain's fairness index of the connections' throughputs.

$$ J = \frac{\left(\sum_{i=1}^{n} x_i\right)^2}{n \sum_{i=1}^{n} x_i^2} $$

with \(x_i\) the payload that connection \(i\) delivered in order, both ways, from the end of the warm-up to
the end of the run. 1 is equal shares, 1/n is one connection alone. Source: Jain, Chiu, Hawe 1984,
DEC-TR-301; RFC 2884, section 5.1.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView, _window
from ._range import SHARE

UNIT = "1"
RANGE = SHARE
TABLES = ("connections", "warmup_connections")


def measure(run: RunView, *, traffic: list[str] | None = None) -> float:
    """Of the connections of these traffic entries together, or of all; NaN if nothing was delivered."""
    rows = _window.connections(run, "bytes_up", "bytes_down")
    x = rows["bytes_up"] + rows["bytes_down"]
    if traffic is not None:
        x = x[np.isin(rows["traffic"], [index for name in traffic for index in run.traffic(name)])]
    squares = float(np.sum(x**2))
    return float(np.sum(x)) ** 2 / (len(x) * squares) if squares else math.nan
