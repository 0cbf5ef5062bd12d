"""Estimates of a plan's run time from trial runs, and of whether a cell will exceed its budget."""

from __future__ import annotations

import json
import time
from typing import Unpack

from cwndlab._core import BudgetError, default_budget
from cwndlab.base.errors import RunError
from cwndlab.plan.plan import Plan
from cwndlab.plan.scenario import most_bits
from cwndlab.runs.work import OVER_BUDGET, RunLimits, run_here

#: Limits of a trial run, so that the estimate takes seconds for any study.
TRIAL_EVENTS = 2_000_000
TRIAL_S = 1.0
#: Cells whose links send fewer bits in total are assumed to stay within the default budgets.
SMALL_BITS = 2e10


def real_seconds(plan: Plan, at_once: int) -> float:
    """The real time of a plan in seconds, if `at_once` runs run in parallel and in real time."""
    runs = [(plan.count_requested(cell), float(cell.compiled.scenario["duration_ns"])) for cell in plan.cells]
    return sum(n * ns for n, ns in runs) / 1e9 / min(at_once, sum(n for n, _ in runs))


def estimate_seconds(plan: Plan) -> float:
    """The estimated CPU seconds of the whole plan.

    Up to three cells are run for a fiftieth of their duration (at least 1 s), limited to `TRIAL_EVENTS`
    events and `TRIAL_S` seconds, and the cost is scaled up. RunError if a trial run fails.
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


def excess_of_budget(plan: Plan, max_events: int | None = None, max_memory_bytes: int | None = None) -> str:
    """A sentence about what the largest cell probably needs beyond its budget; "" if nothing.

    A trial run takes `TRIAL_EVENTS` events; two more reach a twentieth and a tenth of the memory. Events and
    memory are extrapolated linearly.
    """
    cell = max(plan.cells, key=lambda one: most_bits(one.compiled.scenario))
    events, memory = default_budget()
    events, memory = max_events or events, max_memory_bytes or memory
    if most_bits(cell.compiled.scenario) < SMALL_BITS or plan.study.laws:
        return ""
    whole = int(cell.compiled.scenario["duration_ns"])
    at = _reached(plan, cell.compiled.json, max_events=min(TRIAL_EVENTS, events))
    if at is None:
        return ""
    wanted = TRIAL_EVENTS * whole / at
    if wanted > events >= TRIAL_EVENTS:
        need, option, until = (
            f"{wanted:.1e} events",
            f"--max-events ({events:.1e})",
            at * events / TRIAL_EVENTS,
        )
    else:
        before, tenth = (
            _reached(plan, cell.compiled.json, max_events=TRIAL_EVENTS, max_memory_bytes=memory // part)
            for part in (20, 10)
        )
        if before is None or tenth is None or not before < tenth < at:
            return ""
        per_ns = memory / 20 / (tenth - before)
        if (used := memory / 10 + per_ns * (whole - tenth)) <= memory:
            return ""
        need, option = f"{used / 1e6:.0f} MB of memory", f"--max-memory ({memory / 1e6:.0f} MB)"
        until = tenth + 0.9 * memory / per_ns
    return (
        f"{cell.id} is likely to need {need}, more than {option}, and to fail after some {until / 1e9:.0f} s "
        f"of {whole / 1e9:g} s; {OVER_BUDGET}"
    )


def _reached(plan: Plan, scenario: str, **limits: Unpack[RunLimits]) -> int | None:
    """The simulated time in ns at which a trial run met its limits; None if it ended, or failed."""
    try:
        run_here(scenario, plan.seed, 0, (), **limits)
    except BudgetError as error:
        return error.simulated_ns or None
    except RunError:
        return None
    return None
