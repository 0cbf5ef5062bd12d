"""Share of the transactions that met a retransmission timeout, of either end, that of a SYN included.

Counted are those that began after the warm-up, finished or not.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView, _select

UNIT = "1"
TABLES = ("objects",)


def measure(run: RunView, *, traffic: str | None = None, kind: str = "transaction") -> float:
    """Of one traffic entry of the study, or of all; `kind` of object; NaN if there were none."""
    sample = _select.objects(run, kind, traffic)
    return float(np.mean(sample.timeouts > 0)) if len(sample.timeouts) else math.nan
