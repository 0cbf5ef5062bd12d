"""Packets of a traffic's connections that links marked CE or dropped, after the warm-up, both ways."""

from __future__ import annotations

import math

import numpy as np

from . import RunView, _window

UNIT = "packets"
TABLES = ("connections", "warmup_connections")
_COLUMNS = {"marks": ("marks",), "drops": ("drops",), "both": ("marks", "drops")}


def measure(run: RunView, *, traffic: list[str], signal: str = "both") -> float:
    """`signal`: `marks`, `drops` or `both`; NaN if the cell has no such traffic."""
    if signal not in _COLUMNS:
        raise ValueError(f"signal is {signal!r}; it must be one of {', '.join(_COLUMNS)}")
    entries = [index for name in traffic for index in run.traffic(name)]
    if not entries:
        return math.nan
    columns = _COLUMNS[signal]
    rows = _window.connections(run, *columns)
    chosen = np.isin(rows["traffic"], entries)
    return float(sum(rows[column][chosen].sum() for column in columns))
