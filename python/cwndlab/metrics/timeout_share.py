"""Share of the transactions that met a retransmission timeout, of either end, that of a SYN included.

Counted are those that began in the window, finished or not; with `of = "resent"` only those in which a
segment was sent again: the rest of these recovered by duplicate ACKs alone.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from . import RunView, _select
from ._options import Kind
from ._range import SHARE

UNIT = "1"
RANGE = SHARE
TABLES = ("objects",)


def measure(
    run: RunView,
    *,
    traffic: str | None = None,
    kind: Kind = "transaction",
    of: Literal["all", "resent"] = "all",
) -> float:
    """Of one traffic entry of the study, or of all; `kind` of object; NaN if there were none."""
    sample = _select.objects(run, kind, traffic)
    timeouts = sample.timeouts if of == "all" else sample.timeouts[sample.retransmits > 0]
    return float(np.mean(timeouts > 0)) if len(timeouts) else math.nan
