"""How long a plan will take, from a short piece of some of its cells."""

from __future__ import annotations

import json
import time

from cwndlab._core import BudgetError
from cwndlab.errors import RunError
from cwndlab.plan.plan import Plan

from .work import run_here

#: The limit of a trial run: `check` answers within seconds for any study.
TRIAL_EVENTS = 2_000_000
TRIAL_S = 1.0


def real_seconds(plan: Plan, at_once: int) -> float:
    """How long a plan takes in real time, so many runs side by side."""
    runs = [(plan.requested_of(cell), float(cell.compiled.scenario["duration_ns"])) for cell in plan.cells]
    return sum(n * ns for n, ns in runs) / 1e9 / min(at_once, sum(n for n, _ in runs))


def estimate_seconds(plan: Plan) -> float:
    """CPU seconds of the whole plan; RunError if a sampled run fails.

    Up to three cells are run for a fiftieth of their time (at least 1 s of it), but for at most
    `TRIAL_EVENTS` events and `TRIAL_S` seconds, and the cost scaled up.
    """
    count = len(plan.cells)
    picked = sorted({0, count // 2, count - 1})
    per_run: list[float] = []
    laws = plan.study.laws.values()
    for index in picked:
        scenario = dict(plan.cells[index].compiled.scenario)
        whole = int(scenario["duration_ns"])
        scenario["duration_ns"] = min(whole, max(whole // 50, 1_000_000_000))
        simulated = scenario["duration_ns"]
        began = time.perf_counter()
        try:
            run_here(json.dumps(scenario), plan.seed, 0, laws, max_events=TRIAL_EVENTS, max_seconds=TRIAL_S)
        except BudgetError as error:
            simulated = error.simulated_ns
            if not simulated:
                raise RunError(f"{plan.cells[index].id}: {error}") from None
        except RunError as error:
            raise RunError(f"{plan.cells[index].id}: {error}") from None
        per_run.append((time.perf_counter() - began) * whole / simulated)
    return sum(per_run) / len(per_run) * plan.runs
