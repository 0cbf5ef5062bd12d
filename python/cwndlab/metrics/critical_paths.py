"""The time that objects and connections spend in each part of their critical paths."""

from __future__ import annotations

from typing import Literal

import numpy as np

from cwndlab.base.core import BUDGET_TABLES
from cwndlab.base.numbers import Floats
from cwndlab.records.critical_path import Part

from . import RunView
from ._declared import metric


@metric(unit="s", low=0, many=True, tables=BUDGET_TABLES)
def time_spent(
    run: RunView,
    *,
    part: Part,
    kind: Literal["page", "file", "transaction", "object", "connection"] = "page",
    traffic: str | None = None,
) -> Floats:
    r"""Time that objects spent in one part of their critical path: the parts of an object add up to its
    delay.

    $$ D_i = \sum_{p} T_{i,p} $$

    The path starts at the arrival of an object's last byte and leads back, packet by packet, to the event
    that each packet waited for, on any connection (Barford and Crovella, "Critical path analysis of TCP
    transactions", SIGCOMM 2000); docs/guide/explain.md describes the parts. There is one value for each
    finished object that began in the window; with `kind = "connection"`, for each connection that was opened
    in the window. Reduce them by `within` (mean, sum).

    `traffic` selects one traffic entry of the study; by default, all count. The values are in the order of
    the records.
    """
    budgets = run.once(("budgets", kind), lambda: run.budgets(kind))
    mine = np.isin(budgets["traffic"], run.traffic(traffic))
    return np.asarray(budgets[f"{part}_ns"][mine] / 1e9)
