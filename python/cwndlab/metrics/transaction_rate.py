"""Transactions per second: those that began and ended in the window, over its length.

RFC 2884, section 5.3, and netperf's TCP_CRR: requests with their complete responses per second.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView, _select
from ._range import NON_NEGATIVE

UNIT = "1/s"
RANGE = NON_NEGATIVE
TABLES = ("objects",)


def measure(run: RunView, *, traffic: str | None = None) -> float:
    """Of one traffic entry of the study, or of all; NaN if the cell has none."""
    if not run.traffic(traffic):
        return math.nan
    transactions = _select.objects(run, "transaction", traffic)
    return float(np.count_nonzero(transactions.finished)) / run.seconds
