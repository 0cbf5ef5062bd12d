r"""Jain's fairness index of the connections' throughputs.

$$ J = \frac{\left(\sum_{i=1}^{n} x_i\right)^2}{n \sum_{i=1}^{n} x_i^2} $$

with \(x_i\) the payload that connection \(i\) delivered in order, both ways. 1 is equal
shares, 1/n is one connection alone. Source: Jain, Chiu, Hawe 1984,
DEC-TR-301; RFC 2884, section 5.1.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._connections import delivered_bytes, of_traffic
from ._range import SHARE

UNIT = "1"
RANGE = SHARE
TABLES = ("connections",)


def measure(run: RunView, *, traffic: list[str] | None = None) -> float:
    """Of the connections of these traffic entries together, or of all; NaN if nothing was delivered."""
    rows = of_traffic(run, *(traffic if traffic is not None else [None]))
    x = delivered_bytes(rows)
    squares = float(np.sum(x**2))
    return float(np.sum(x)) ** 2 / (len(x) * squares) if squares else math.nan
