r"""Packets of a traffic's connections that links marked CE or dropped, both ways.

With `per_megabyte` per \(10^6\) payload bytes that these connections delivered in order in the same time.
"""

from __future__ import annotations

import math
from typing import Literal

from . import RunView
from ._connections import delivered_bytes, of_traffic
from ._range import COUNT, NON_NEGATIVE

UNIT = "packets"
RANGE = COUNT
RANGES = {"per_megabyte": NON_NEGATIVE}
TABLES = ("connections",)
_COLUMNS = {"marks": ("marks",), "drops": ("drops",), "both": ("marks", "drops")}


def measure(
    run: RunView,
    *,
    traffic: list[str],
    signal: Literal["marks", "drops", "both"] = "both",
    per_megabyte: bool = False,
) -> float:
    """`signal`: `marks`, `drops` or `both`; NaN if the cell has no such traffic."""
    entries = [index for name in traffic for index in run.traffic(name)]
    if not entries:
        return math.nan
    rows = of_traffic(run, *traffic)
    signals = float(sum(rows[column].sum() for column in _COLUMNS[signal]))
    if not per_megabyte:
        return signals
    delivered = float(delivered_bytes(rows).sum())
    return 1e6 * signals / delivered if delivered else math.nan
