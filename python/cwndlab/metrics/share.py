r"""Share of the goodput: what one traffic delivers, of what all traffic of the study delivers.

$$ s = \frac{\sum_{i \in \text{traffic}} x_i}{\sum_i x_i} $$

with \(x_i\) the payload bytes that connection \(i\) delivered in order, both ways. With one bottleneck it is
the traffic's share of it, headers aside.
"""

from __future__ import annotations

import math

from . import RunView
from ._connections import delivered_bytes, of_traffic
from ._range import SHARE

UNIT = "1"
RANGE = SHARE
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str) -> float:
    """Of one traffic entry of the study; NaN if the cell has none, or if nothing was delivered."""
    if not run.traffic(traffic):
        return math.nan
    own, every = (of_traffic(run, name) for name in (traffic, None))
    part, total = (float(delivered_bytes(rows).sum()) for rows in (own, every))
    return part / total if total else math.nan
