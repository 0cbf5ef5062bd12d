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
from cwndlab.records.budget import Budget, CriticalPaths, Part

from . import RunView
from ._range import NON_NEGATIVE

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = _TABLES


def measure(
    run: RunView,
    *,
    part: Part,
    kind: Literal["page", "file", "transaction", "object", "connection"] = "page",
    traffic: str | None = None,
) -> list[float]:
    """Of one traffic entry of the study, or of all; in the order of the records."""
    wanted = np.isin(np.arange(len(run.traffic())), run.traffic(traffic))
    return [
        budget.parts.get(part, 0) / 1e9
        for budget in run.once(("budgets", kind), lambda: _budgets(run, kind))
        if wanted[budget.traffic]
    ]


def _budgets(run: RunView, kind: str) -> list[Budget]:
    end_ns = round(run.end_s * 1e9)
    paths = run.once("critical paths", lambda: CriticalPaths(run.history, run.scenario, end_ns))
    found = paths.of_connections() if kind == "connection" else paths.of_objects(kind)
    return [budget for budget in found if budget.start_ns >= run.start_s * 1e9]
