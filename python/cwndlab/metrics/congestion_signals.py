r"""Packets of a traffic's connections that links marked CE or dropped, after the warm-up, both ways.

With `per_megabyte` per \(10^6\) payload bytes that these connections delivered in order in the same time.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView, _window
from ._range import COUNT

UNIT = "packets"
RANGE = COUNT
TABLES = ("connections", "warmup_connections")
_COLUMNS = {"marks": ("marks",), "drops": ("drops",), "both": ("marks", "drops")}


def measure(run: RunView, *, traffic: list[str], signal: str = "both", per_megabyte: bool = False) -> float:
    """`signal`: `marks`, `drops` or `both`; NaN if the cell has no such traffic."""
    if signal not in _COLUMNS:
        raise ValueError(f"signal is {signal!r}; it must be one of {', '.join(_COLUMNS)}")
    entries = [index for name in traffic for index in run.traffic(name)]
    if not entries:
        return math.nan
    columns = _COLUMNS[signal]
    rows = _window.connections(run, "bytes_up", "bytes_down", *columns)
    chosen = np.isin(rows["traffic"], entries)
    signals = float(sum(rows[column][chosen].sum() for column in columns))
    if not per_megabyte:
        return signals
    delivered = float(rows["bytes_up"][chosen].sum() + rows["bytes_down"][chosen].sum())
    return 1e6 * signals / delivered if delivered else math.nan
