r"""Time that objects spent in one part of their critical path: the parts of an object add up to its delay.

$$ D_i = \sum_{p} T_{i,p} $$

From the arrival of an object's last byte the path leads back, packet by packet, to what each one waited for,
on whichever connection that was (Barford and Crovella, "Critical path analysis of TCP transactions", SIGCOMM
2000); docs/guide/explain.md describes the parts. Of the finished objects that began in the window; with
`kind = "connection"`, of the connections that were opened in it. Reduce it by `within` (mean, sum).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from cwndlab.records.budget import TABLES as _TABLES
from cwndlab.records.budget import Part

from . import RunView
from ._range import NON_NEGATIVE
from ._select import Floats

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = _TABLES


def measure(
    run: RunView,
    *,
    part: Part,
    kind: Literal["page", "file", "transaction", "object", "connection"] = "page",
    traffic: str | None = None,
) -> Floats:
    """Of one traffic entry of the study, or of all; in the order of the records."""
    budgets = run.once(("budgets", kind), lambda: run.budgets(kind))
    mine = np.isin(budgets["traffic"], run.traffic(traffic))
    return np.asarray(budgets[f"{part}_ns"][mine] / 1e9)
