"""Goodput of single connections over intervals of one length."""

from __future__ import annotations

import numpy as np

from . import RunView
from ._connections import of_traffic
from ._select import Floats


def of_each(run: RunView, interval: float, traffic: str) -> dict[int, Floats]:
    """Goodput (bit/s) of each connection of a traffic, by its serial number, in the intervals of the window
    through which it was open.
    """
    return run.once(("rates", interval, traffic), lambda: _of_each(run, interval, traffic))


def _of_each(run: RunView, interval: float, traffic: str) -> dict[int, Floats]:
    found: dict[int, list[float]] = {}
    for part in run.parts(interval):
        rows = of_traffic(part, traffic)
        start, end = (np.asarray(rows[name], dtype=np.float64) for name in ("start_ns", "end_ns"))
        throughout = (start <= part.start_s * 1e9) & ((end < 0) | np.isnan(end) | (end >= part.end_s * 1e9))
        bits = 8.0 * (np.asarray(rows["bytes_up"], dtype=np.float64) + rows["bytes_down"])
        for row in np.flatnonzero(throughout):
            found.setdefault(int(rows["connection"][row]), []).append(float(bits[row]) / part.seconds)
    return {serial: np.array(values) for serial, values in found.items()}
