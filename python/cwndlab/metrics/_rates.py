"""Goodput of single connections over intervals of one length."""

from __future__ import annotations

import numpy as np

from . import RunView
from ._connections import delivered_bytes, of_traffic
from ._select import Floats


def of_each(run: RunView, interval: float, traffic: str) -> dict[int, Floats]:
    """Goodput (bit/s) of each connection of a traffic, by its serial number, in the intervals of the window
    through which it was open.
    """
    return run.once(("rates", interval, traffic), lambda: _of_each(run, interval, traffic))


def _of_each(run: RunView, interval: float, traffic: str) -> dict[int, Floats]:
    found: dict[int, list[float]] = {}
    for _, rates in in_each(run, interval, traffic):
        for serial, rate in rates.items():
            found.setdefault(serial, []).append(rate)
    return {serial: np.array(values) for serial, values in found.items()}


def in_each(run: RunView, interval: float, *traffic: str | None) -> list[tuple[RunView, dict[int, float]]]:
    """The intervals of the window, and in each the goodput (bit/s) of those connections of these traffic
    entries (None: of all) that were open through all of it, by their serial numbers.
    """
    made = []
    for part in run.parts(interval):
        rows = of_traffic(part, *traffic)
        start, end = (np.asarray(rows[name], dtype=np.float64) for name in ("start_ns", "end_ns"))
        throughout = (start <= part.start_s * 1e9) & ((end < 0) | np.isnan(end) | (end >= part.end_s * 1e9))
        bits = 8.0 * delivered_bytes(rows)
        chosen = np.flatnonzero(throughout)
        rates = {int(rows["connection"][row]): float(bits[row]) / part.seconds for row in chosen}
        made.append((part, rates))
    return made
