"""How long a plan will take, from a short piece of some of its cells."""

from __future__ import annotations

import json
import time

from cwndlab.core import core
from cwndlab.plan.plan import Plan


def real_seconds(plan: Plan, at_once: int) -> float:
    """How long a plan takes in real time, so many runs side by side."""
    runs = [(plan.asked_of(cell), float(cell.compiled.scenario["duration_ns"])) for cell in plan.cells]
    return sum(n * ns for n, ns in runs) / 1e9 / min(at_once, sum(n for n, _ in runs))


def estimate_seconds(plan: Plan, *, samples: int = 3) -> float | None:
    """Processor seconds of the whole plan; None if the sampled runs fail.

    Up to `samples` cells are run for a fiftieth of their time (at least 1 s of it), and the cost scaled up.
    """
    count = len(plan.cells)
    picked = sorted({0, count // 2, count - 1})[:samples]
    per_run: list[float] = []
    for index in picked:
        scenario = dict(plan.cells[index].compiled.scenario)
        whole = int(scenario["duration_ns"])
        scenario["duration_ns"] = min(whole, max(whole // 50, 1_000_000_000))
        began = time.perf_counter()
        try:
            core().run(json.dumps(scenario), plan.seed, 0)
        except (RuntimeError, ValueError):
            return None
        per_run.append((time.perf_counter() - began) * whole / scenario["duration_ns"])
    return sum(per_run) / len(per_run) * plan.runs
