"""Searches a parameter space, such as `buffer=0.1..16,rtt=5ms..300ms`, for the worst value of a quantity."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cwndlab.api import Study
from cwndlab.apps.packets.traces import trace
from cwndlab.base.errors import ExtraError, StudyError, nearest
from cwndlab.base.writing import count_text, csv_text, save
from cwndlab.plan.plan import rebuild
from cwndlab.results.execution import find_kernel_executor, run_study
from cwndlab.results.result import RunResult
from cwndlab.runs.run_options import RunOptions
from cwndlab.stats.results import Estimate
from cwndlab.study.outputs import Scalar
from cwndlab.study.toml import dumps

_NUMBER = r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?"
_RANGE = re.compile(rf"(?P<low>{_NUMBER})(?P<unit>[A-Za-z%/]*)\.\.(?P<high>{_NUMBER})(?P<last>[A-Za-z%/]*)\Z")
#: Ranges whose ends differ by at least this factor are searched on a logarithmic scale.
LOG_FACTOR = 8.0
#: Significant digits of a value; values that are equal after rounding are one cell.
DIGITS = 3
_KEY = "--over"


@dataclass(frozen=True)
class SearchRange:
    """The range of one dimension of the space."""

    #: An axis of the study, or a dotted key.
    key: str
    low: float
    high: float
    unit: str
    whole: bool = False

    @property
    def logarithmic(self) -> bool:
        """Whether the range is wide enough for a logarithmic scale."""
        return self.low > 0 and self.high / self.low >= LOG_FACTOR

    def value_at(self, place: float) -> float:
        """The value at a position from 0 (low) to 1 (high), rounded to `DIGITS`."""
        place = float(place)  # a study file would show numpy's numbers as such
        if self.logarithmic:
            value = self.low * math.exp(place * math.log(self.high / self.low))
        else:
            value = self.low + (self.high - self.low) * place
        if self.whole:
            return float(round(value))
        if value == 0.0:
            return 0.0
        rounded = round(value, DIGITS - 1 - math.floor(math.log10(abs(value))))
        return min(max(rounded, self.low), self.high)

    def to_text(self, value: float) -> float | int | str:
        """The value as written in a study file."""
        number = _number(value)
        return f"{number}{self.unit}" if self.unit else number


def parse_ranges(text: str) -> list[SearchRange]:
    """Parses ranges such as `buffer=0.1..16,rtt=5ms..300ms`; StudyError names an invalid one."""
    found = []
    for piece in text.split(","):
        key, _, given = piece.partition("=")
        match = _RANGE.match(given.strip())
        if not key.strip() or match is None:
            raise StudyError(
                f"{piece!r} is no range", key=_KEY, right="write buffer=0.1..16 or rtt=5ms..300ms"
            )
        low, high = float(match["low"]), float(match["high"])
        unit = match["last"] or match["unit"]
        if match["unit"] not in ("", unit):
            raise StudyError(f"{piece!r} has two units", key=_KEY, right="write both ends in the same unit")
        if not low < high:
            raise StudyError(
                f"{piece!r} ends before it begins", key=_KEY, right=f"{key}={given} the other way"
            )
        found.append(SearchRange(key.strip(), low, high, unit))
    keys = [axis.key for axis in found]
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise StudyError(f"{twice[0]} has two ranges", key=_KEY, right="name each once")
    return found


@dataclass(frozen=True)
class Space:
    """A study in which each range is an axis."""

    study: Study
    #: The ranges by the names of their axes.
    ranges: Mapping[str, SearchRange]

    def point(self, places: Sequence[float]) -> dict[str, float]:
        """The values of the axes at positions from 0 to 1."""
        ranges = zip(self.ranges.items(), places, strict=True)
        return {axis: range_.value_at(place) for (axis, range_), place in ranges}

    def with_points(self, points: Sequence[Mapping[str, float]]) -> Study:
        """The study whose cells are these points, crossed with all values of its other axes."""
        others = [name for name in self.study.outline.axes if name not in self.ranges]
        values = {
            f"axes.{axis}.values": list(dict.fromkeys(_number(point[axis]) for point in points))
            for axis in self.ranges
        }
        grids = [
            {"axes": others, "where": {axis: _number(value) for axis, value in point.items()}}
            for point in points
        ]
        shown: dict[str, object] = {"tables": [], "figures": []}
        return rebuild(self.study, self.study.document.change({**values, "grids": grids, **shown}))

    def study_at(self, point: Mapping[str, float]) -> Study:
        """The study at one point, with its tables and figures."""
        values = {f"axes.{axis}.values": [_number(value)] for axis, value in point.items()}
        return rebuild(self.study, self.study.document.change(values))

    def words(self, point: Mapping[str, float]) -> str:
        """A point as users write it."""
        return ", ".join(f"{r.key}={r.to_text(point[axis])}" for axis, r in self.ranges.items())


def space_of(study: Study, ranges: Sequence[SearchRange]) -> Space:
    """The space spanned by ranges of a study's axes and keys. StudyError for a key that is not numeric."""
    if study.outline.grids:
        raise StudyError(
            "a study with [[grids]] has no space of its axes",
            file=study.file,
            key="grids",
            right="leave the grids out: every combination of the other axes is searched",
        )
    named: dict[str, SearchRange] = {}
    for index, range_ in enumerate(ranges):
        study, axis, range_ = _axis(study, range_, index)
        named[axis] = range_
    return Space(study, named)


def _axis(study: Study, range_: SearchRange, index: int) -> tuple[Study, str, SearchRange]:
    """The study with an axis for one range, the axis's name, and the range in the axis's unit."""
    key = range_.key
    if key in study.outline.axes:
        return study, key, _of_axis(study, range_)
    section = next(iter(study.document.networks), None)
    if section is not None and "." not in key:
        key = f"{section}.{key}"
    elif "." not in key and key not in study.outline.parameters:
        right = nearest(key, [*study.outline.axes, *study.outline.parameters])
        raise StudyError(
            f'"{key}" is neither an axis nor a parameter nor a dotted key', key=_KEY, right=right
        )
    if section is not None and key.split(".")[0] == section:
        made = study.set({key: [range_.to_text(range_.low), range_.to_text(range_.high)]})
        axis = next(
            (name for name in made.outline.axes if name not in study.outline.axes), key.split(".")[-1]
        )
        if axis not in made.outline.axes:
            raise StudyError(f"{key} takes no list of values", key=_KEY, right="an axis, or a dotted key")
        return made, axis, range_
    return _parameter(study, range_, key, f"search_{index}")


def _of_axis(study: Study, range_: SearchRange) -> SearchRange:
    """The range of an existing axis, in the axis's unit."""
    axis = study.outline.axes[range_.key]
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in axis.values):
        right = "a range needs an axis of plain numbers"
        raise StudyError(f"the axis {range_.key} has values of other kinds", key=_KEY, right=right)
    if range_.unit not in ("", axis.unit):
        right = f"leave the unit out: its values are in {axis.unit}" if axis.unit else "leave the unit out"
        raise StudyError(f"the axis {range_.key} has no values in {range_.unit}", key=_KEY, right=right)
    whole = all(isinstance(value, int) for value in axis.values)
    ends = range_.low == int(range_.low) and range_.high == int(range_.high)
    return SearchRange(
        range_.key, range_.low, range_.high, "", whole=whole and ends and not range_.logarithmic
    )


def _parameter(study: Study, range_: SearchRange, key: str, name: str) -> tuple[Study, str, SearchRange]:
    """The study with a parameter that an axis sets and the key refers to, the axis's name, and the range."""
    if "." not in key:
        target, made = f"parameters.{key}", study
    else:
        parameter = f"{name}_value"
        target = f"parameters.{parameter}"
        made = rebuild(study, study.document.change({target: range_.low}))
        made = made.set({key: f"{{{parameter}}}{range_.unit}" if range_.unit else f"${parameter}"})
    axis = {"title": key, "sets": target, "values": [range_.low, range_.high]}
    return rebuild(made, made.document.change({f"axes.{name}": axis})), name, range_


def _number(value: float) -> float | int:
    """The number as an int if it is whole."""
    return int(value) if value == int(value) else value


Extreme = Literal["lowest", "highest"]
#: The bad direction of each metric, for `--worst`.
WORST: Mapping[str, Extreme] = {
    **dict.fromkeys(("goodput", "share", "jain_index", "link_utilization", "flow_throughput"), "lowest"),
    **dict.fromkeys(("loss_rate", "drop_rate", "queue_delay", "completion_time", "round_trip"), "highest"),
    **dict.fromkeys(("retransmission_rate", "timeouts", "unfinished_pages"), "highest"),
}
#: The least and the most points in a generation.
_FEWEST, _MOST = 5, 24


@dataclass(frozen=True)
class Goal:
    """The goal of a search: the lowest or the highest value of a quantity."""

    quantity: str
    direction: Extreme


@dataclass(frozen=True)
class Tried:
    """A point with the estimate of its worst cell."""

    point: Mapping[str, float]
    #: The worst cell's values on all axes.
    axes: Mapping[str, Scalar]
    estimate: Estimate


@dataclass(frozen=True)
class Found:
    """The result of a search."""

    space: Space
    goal: Goal
    #: The points in the order in which they were tried, each once.
    tried: tuple[Tried, ...]
    worst: Tried
    #: The worst point, run again with other random numbers, which did not influence its selection.
    confirmed: RunResult
    runs: int

    @property
    def confirmed_estimate(self) -> Estimate:
        """The estimate of the worst cell from the runs with other random numbers."""
        return self.confirmed.sel(self.worst.axes).estimate(self.goal.quantity)


def goal_of(space: Space, quantity: str, direction: Extreme | None = None) -> Goal:
    """The goal of a search; without a direction, the quantity's bad direction.

    StudyError if there is no such quantity, or if its metric has no bad direction.
    """
    known = {quantity.name: quantity for quantity in space.study.outline.quantities}
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
    """Finds the point of a space where a quantity is worst, by differential evolution (Storn and Price 1997).

    Every point is one cell, or several if the study has other axes; then its worst cell counts. The first
    points are a Latin hypercube; the seed makes the search repeatable. It takes at most `budget` runs, then
    repeats the worst point with the next seed, so that the reported number is not the luckiest of many.
    Writes `tried.csv` and, for the worst point, the study (`worst.toml`), report (`worst/`) and trace
    (`worst.pcapng`).
    """
    options = options or RunOptions()
    replicates = options.replicates or space.study.base.run.replicates
    seed = space.study.base.run.seed if options.seed is None else options.seed
    cells = max(1, len(space.with_points([space.point([0.5] * len(space.ranges))]).plan().cells))
    points = _points(budget, cells, replicates)
    tried: dict[tuple[float, ...], Tried] = {}
    runs = 0

    def worse(a: float, b: float) -> bool:
        return a < b if goal.direction == "lowest" else a > b

    def measure(places: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values to minimize for points given as columns."""
        nonlocal runs
        asked = [space.point(column) for column in places.T]
        fresh = {tuple(p.values()): p for p in asked if tuple(p.values()) not in tried}
        if fresh:
            study = space.with_points(list(fresh.values()))
            # Runs on a kernel are not shared, so they are not stored for a second search.
            store = out / "store" if options.backend == "simulator" else None
            result = run_study(study, replace(options, out=None, store=store))
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
    save(out / "tried.csv", _csv(space, goal.quantity, tried.values()))
    worst = _worst(tried.values(), worse)
    again = replace(options, out=out / "worst", seed=seed + 1, replicates=replicates)
    return Found(space, goal, tuple(tried.values()), worst, _confirm(space, worst, out, again), runs)


def _points(budget: int, cells: int, replicates: int) -> int:
    """The number of points that a budget of runs allows; StudyError if it is too small."""
    per_point = replicates * cells
    if (points := budget // per_point) >= 2 * _FEWEST:
        return points
    fewer = "--replicates" if cells == 1 else "--replicates and --set AXIS=VALUE"
    raise StudyError(
        f"{budget} runs are too few for a search: each point takes {per_point} "
        f"({count_text(cells, 'cell')}, {count_text(replicates, 'replicate')})",
        key="--budget",
        right=f"at least {2 * _FEWEST * per_point}, or fewer runs for each point ({fewer})",
    )


def _confirm(space: Space, worst: Tried, out: Path, options: RunOptions) -> RunResult:
    """Runs a point again with these options; writes its study and a trace of its worst cell."""
    study = _with_observation_point(space.study_at(worst.point))
    save(out / "worst.toml", dumps(study.raw))
    plan = study.set(dict(worst.axes)).plan(seed=options.seed)
    cell, kernel = plan.cells[0], find_kernel_executor(options, plan)
    traced = trace(cell, "pcapng", seed=plan.derive_seed(cell), replicate=0, kernel=kernel)
    save(out / "worst.pcapng", traced)
    return run_study(study, options)


@dataclass(frozen=True)
class Ranked:
    """The result of the search for one value of an axis, or the reason for its failure."""

    value: str
    found: Found | None
    reason: str = ""


def search_each(
    study: Study, axis: str, search_one: Callable[[Study, str], Found], out: Path
) -> tuple[Ranked, ...]:
    """Searches for each value of an axis separately; returns the worst first, failed ones last.

    `search_one` gets the study with only this value, and the value's name. Writes `ranking.csv` and
    `ranking.md`.
    """
    if axis not in study.outline.axes:
        right = nearest(axis, study.outline.axes) if study.outline.axes else "the study has no axes"
        raise StudyError(f'there is no axis "{axis}"', file=study.file, key="--each", right=right)
    ranked: list[Ranked] = []
    names = list(dict.fromkeys(cell.axes[axis] for cell in study.plan().cells if axis in cell.axes))
    for name in names:
        try:
            ranked.append(Ranked(str(name), search_one(study.set({axis: name}), str(name))))
        except StudyError as error:
            ranked.append(Ranked(str(name), None, str(error)))
            if len(ranked) == len(names) and all(entry.found is None for entry in ranked):
                raise
    order = tuple(sorted(ranked, key=_from_worst))
    rows = ranking(axis, order)
    save(out / "ranking.csv", csv_text(rows[0], rows[1:]))
    lines = [f"| {' | '.join(row)} |" for row in rows]
    save(out / "ranking.md", "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]) + "\n")
    return order


def _from_worst(one: Ranked) -> float:
    if one.found is None:
        return math.inf
    value = one.found.confirmed_estimate.value
    return value if one.found.goal.direction == "lowest" else -value


def ranking(axis: str, ranked: Sequence[Ranked]) -> list[list[str]]:
    """A header, then for each value: the estimate with another seed, the search's, and the worst point."""
    first = next(entry.found for entry in ranked if entry.found is not None)
    keys = [one.key for one in first.space.ranges.values()]
    rows = [[axis, f"{first.goal.quantity} ({first.worst.estimate.unit})", "in the search", *keys, "runs"]]
    for one in ranked:
        if one.found is None:
            rows.append([one.value, f"failed: {one.reason}", *[""] * (len(keys) + 2)])
            continue
        values = [one.found.confirmed_estimate.value, one.found.worst.estimate.value]
        place = [r.to_text(one.found.worst.point[name]) for name, r in one.found.space.ranges.items()]
        rows.append([one.value, *(f"{value:.4g}" for value in values), *map(str, place), str(one.found.runs)])
    return rows


def _with_observation_point(study: Study) -> Study:
    """The study with an observation point for traces: its own or, without one, an end of its first link."""
    if study.base.probes.segments_at is not None:
        return study
    end = study.base.topology.links[0].between[0]
    return study.set({"probes.segments_at": end[0] if isinstance(end, list) else end})


def _worst_cell(
    result: RunResult, point: Mapping[str, float], quantity: str, worse: Callable[[float, float], bool]
) -> Tried:
    """A point with its worst cell; cells without a value are ignored unless all lack one."""
    found = [
        Tried(point, cell.axes, result.sel(cell=cell.id).estimate(quantity))
        for cell in result.results.select(point)
    ]
    return _worst(found, worse)


def _worst(tried: Iterable[Tried], worse: Callable[[float, float], bool]) -> Tried:
    """The worst of several points; the first of equals."""
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
    """Minimizes over the unit cube, with at most `points` evaluations."""
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
