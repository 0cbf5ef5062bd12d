r"""Responsiveness: how long after a change of the network a traffic takes to halve its rate.

$$ t = \min \{ e_k - t_0 : x_k \le \tfrac{1}{2} \bar x_0 \} $$

with \(t_0\) the time of the change (`since`, in seconds from the start of the run), \(\bar x_0\) the mean
goodput of the traffic's connections together in the intervals before it, and \(x_k\) the goodput in, \(e_k\)
the end of the \(k\)-th interval that begins at the change or later. Every interval is `interval` seconds
long. A measure of responsiveness.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._connections import delivered_bytes, of_traffic
from ._options import Interval, Seconds
from ._range import NON_NEGATIVE

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str, since: Seconds, interval: Interval) -> float:
    """Of one traffic entry of the study; NaN if it sent nothing before, or never halves its rate."""
    before, after = [], []
    for part in run.parts(interval):
        rows = of_traffic(part, traffic)
        rate = 8.0 * float(delivered_bytes(rows).sum()) / part.seconds
        if part.end_s <= since:
            before.append(rate)
        elif part.start_s >= since:
            after.append((part.end_s, rate))
    half = float(np.mean(before)) / 2 if before else 0.0
    return next((end - since for end, rate in after if rate <= half), math.nan) if half > 0 else math.nan
