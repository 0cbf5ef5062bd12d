r"""Delay variation of packets: one-way delays compared with the smallest, or with that of the packet before.

$$ \text{pdv}_i = D_i - \min_j D_j \qquad \text{ipdv}_i = |D_i - D_{i-1}| $$

with \(D_i\) the one-way delays (`one_way_delay`) of one direction of a connection in the window, in the order
of arrival. `form = "pdv"` compares with the smallest of these, `form = "ipdv"` takes the size of the
difference of neighbours: the two choices of packets that RFC 5481 compares for the variation of RFC 3393,
which has a sign. Reduce it by `within` (p95, p99).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from . import RunView
from ._delays import of_each
from ._range import NON_NEGATIVE
from ._select import Floats

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("connections", "delays")


def measure(run: RunView, *, traffic: str | None = None, form: Literal["pdv", "ipdv"] = "pdv") -> Floats:
    """Of one traffic entry of the study, or of all."""
    parts = [
        np.abs(np.diff(delays)) if form == "ipdv" else delays - delays.min()
        for delays in of_each(run, traffic)
    ]
    return np.concatenate([np.zeros(0), *parts])
