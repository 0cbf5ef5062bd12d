"""Searches a space for the cell in which a quantity is lowest or highest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cwndlab.errors import ExtraError, StudyError, nearest
from cwndlab.files import csv_text, save
from cwndlab.runs.options import RunOptions
from cwndlab.runs.result import RunResult
from cwndlab.runs.run import run_study
from cwndlab.runs.trace import trace
from cwndlab.spec.toml import dumps
from cwndlab.stats.results import AxisValue, Estimate
from cwndlab.study import Study

from .space import Space

Direction = Literal["lowest", "highest"]
#: What is bad of a metric, for `--worst`.
WORST: Mapping[str, Direction] = {
    **dict.fromkeys(("goodput", "share", "jain_index", "link_utilization", "flow_throughput"), "lowest"),
    **dict.fromkeys(("loss_rate", "drop_rate", "queue_delay", "completion_time", "round_trip"), "highest"),
    **dict.fromkeys(("object_delays", "retransmission_rate", "timeouts", "unfinished_pages"), "highest"),
}
#: Points of a generation, by the budget's points.
_FEWEST, _MOST = 5, 24


@dataclass(frozen=True)
class Goal:
    """What is searched: a quantity, and which end of it."""

    quantity: str
    direction: Direction


@dataclass(frozen=True)
class Tried:
    """A point with the estimate of its worst cell."""

    point: Mapping[str, float]
    #: All axes of that cell.
    axes: Mapping[str, AxisValue]
    estimate: Estimate


@dataclass(frozen=True)
class Found:
    """What a search found."""

    space: Space
    goal: Goal
    #: In the order in which they were tried; each point once.
    tried: tuple[Tried, ...]
    worst: Tried
    #: The worst point run again with other random numbers, which its choice did not see.
    confirmed: RunResult
    runs: int

    @property
    def confirmed_estimate(self) -> Estimate:
        """The estimate from the runs with other random numbers, of the cell that was the worst."""
        return self.confirmed.sel(self.worst.axes).estimate(self.goal.quantity)


def goal_of(space: Space, quantity: str, direction: Direction | None = None) -> Goal:
    """The goal of a search: without a direction, the bad end of the quantity.

    StudyError if there is no such quantity, or if its metric does not say which end is bad.
    """
    known = {one.name: one for one in space.study.outline.quantities}
    key = f"--{direction or 'worst'}"
    if quantity not in known:
        raise StudyError(f'there is no quantity "{quantity}"', key=key, right=nearest(quantity, known))
    direction = direction or WORST.get(known[quantity].metric or "")
    if direction is None:
        right = f"write --lowest {quantity} or --highest {quantity}"
        raise StudyError(f"it is not plain what is bad of {quantity}", key=key, right=right)
    return Goal(quantity, direction)


def search(
    space: Space,
    goal: Goal,
    out: Path,
    *,
    budget: int = 300,
    options: RunOptions | None = None,
    progress: Callable[[int, Tried], None] = lambda runs, worst: None,
) -> Found:
    """The point of a space at which a quantity is worst, by differential evolution (Storn and Price 1997).

    Every point is a cell, or several if the study has other axes: then its worst cell counts. The first
    points are a Latin hypercube; the search is repeatable by the seed. It takes at most `budget` runs, and
    as many runs of the worst point again with the seed after it, so that the number reported is not the
    luckiest of many. Writes `tried.csv`, and of the worst point the study (`worst.toml`), the report
    (`worst/`) and a trace (`worst.pcapng`).
    """
    options = options or RunOptions()
    replicates = options.replicates or space.study.base.run.replicates
    seed = space.study.base.run.seed if options.seed is None else options.seed
    cells = max(1, len(space.with_points([space.point([0.5] * len(space.ranges))]).plan().cells))
    points = budget // (replicates * cells)
    if points < 2 * _FEWEST:
        least = 2 * _FEWEST * replicates * cells
        raise StudyError(f"{budget} runs are too few for a search", key="--budget", right=f"at least {least}")
    tried: dict[tuple[float, ...], Tried] = {}
    runs = 0

    def worse(a: float, b: float) -> bool:
        return a < b if goal.direction == "lowest" else a > b

    def measure(places: NDArray[np.float64]) -> NDArray[np.float64]:
        """How good the points (columns) are: what is minimized."""
        nonlocal runs
        asked = [space.point(column) for column in places.T]
        fresh = {tuple(p.values()): p for p in asked if tuple(p.values()) not in tried}
        if fresh:
            study = space.with_points(list(fresh.values()))
            result = run_study(study, replace(options, out=None, store=out / "store"))
            if result.failures:
                failure = result.failures[0]
                raise StudyError(f"{failure.cell}: {failure.reason}", key="--over", right="narrow the range")
            runs += result.plan.runs
            for values, point in fresh.items():
                tried[values] = _worst_cell(result, point, goal.quantity, worse)
            progress(runs, _worst(tried.values(), worse))
        sign = 1.0 if goal.direction == "lowest" else -1.0
        found = [sign * tried[tuple(p.values())].estimate.value for p in asked]
        return np.array([math.inf if math.isnan(value) else value for value in found])

    _minimize(measure, len(space.ranges), points, seed)
    worst = _worst(tried.values(), worse)
    study = _with_observation_point(space.study_at(worst.point))
    save(out / "worst.toml", dumps(study.raw))
    cell = study.set(dict(worst.axes)).plan().cells[0]
    save(out / "worst.pcapng", trace(cell, "pcapng", seed=seed + 1, replicate=0, kernel=None))
    save(out / "tried.csv", _csv(space, goal.quantity, tried.values()))
    again = replace(options, out=out / "worst", seed=seed + 1, replicates=replicates)
    confirmed = run_study(study, again)
    return Found(space, goal, tuple(tried.values()), worst, confirmed, runs)


def _with_observation_point(study: Study) -> Study:
    """The study with a place from which segments are traced, if it has none: where its first link begins."""
    if study.base.probes.segments_at is not None:
        return study
    end = study.base.topology.links[0].between[0]
    return study.set({"probes.segments_at": end[0] if isinstance(end, list) else end})


def _worst_cell(
    result: RunResult, point: Mapping[str, float], quantity: str, worse: Callable[[float, float], bool]
) -> Tried:
    """A point with its worst cell; a cell without a value only if none has one."""
    found = [
        Tried(point, cell.axes, result.sel(cell=cell.id).estimate(quantity))
        for cell in result.results.select(point)
    ]
    return _worst(found, worse)


def _worst(tried: Iterable[Tried], worse: Callable[[float, float], bool]) -> Tried:
    """The worst of several, the first of equals."""
    every = list(tried)
    known = [one for one in every if not math.isnan(one.estimate.value)]
    worst = (known or every)[0]
    for one in known:
        if worse(one.estimate.value, worst.estimate.value):
            worst = one
    return worst


def _minimize(
    measure: Callable[[NDArray[np.float64]], NDArray[np.float64]], dimensions: int, points: int, seed: int
) -> None:
    """Minimizes over the unit cube, with at most so many points."""
    try:
        from scipy.optimize import Bounds, differential_evolution
        from scipy.stats import qmc
    except ImportError:
        raise ExtraError("cwndlab search", "scipy", "search") from None

    size = min(max(points // 6, _FEWEST), _MOST)
    first = qmc.LatinHypercube(dimensions, rng=np.random.default_rng(seed)).random(size)
    differential_evolution(
        measure,  # type: ignore[arg-type]  # the stubs do not know `vectorized`
        Bounds(np.zeros(dimensions), np.ones(dimensions)),
        init=first,
        maxiter=points // size - 1,
        rng=np.random.default_rng(seed),
        updating="deferred",
        vectorized=True,
        polish=False,
        tol=0.0,
    )


def _csv(space: Space, quantity: str, tried: Iterable[Tried]) -> str:
    keys = [range_.key for range_ in space.ranges.values()]
    rows = []
    for one in tried:
        e = one.estimate
        values = [r.to_text(one.point[axis]) for axis, r in space.ranges.items()]
        rows.append([*values, e.cell, e.value, e.ci_low, e.ci_high, e.unit, e.replicates])
    return csv_text([*keys, "cell", quantity, "ci_low", "ci_high", "unit", "replicates"], rows)
