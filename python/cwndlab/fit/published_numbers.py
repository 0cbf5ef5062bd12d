"""Published numbers next to those of a run: their scales, and distances between tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from cwndlab.metrics._numbers import Floats
from cwndlab.stats.results import Results
from cwndlab.stats.tables import JudgedTable, per_run
from cwndlab.stats.verdict import Verdict

#: The scale of a difference contains this share of the published number, since no model is exact.
TOLERANCE = 0.05
#: A number counts at most as much as one that lies four scales away.
FARTHEST = 16.0
#: Fewer replicates give no scatter.
FEWEST_REPLICATES = 3


class Number(NamedTuple):
    """A published number, and ours in each replicate."""

    #: Numbers of one block count together as much as those of another.
    block: str
    published: float
    rounding: float
    published_runs: int
    estimate: float
    runs: Floats


#: The numbers of each table.
NumbersOfTables: TypeAlias = Mapping[str, Sequence[Number]]


def numbers_of(numbers: NumbersOfTables, tables: Sequence[str]) -> list[Number]:
    """Those of some tables."""
    return [number for table in tables for number in numbers[table]]


def variances_of(numbers: Mapping[str, NumbersOfTables], tables: Sequence[str]) -> Sequence[float]:
    """The variance between runs of each number, the mean over combinations."""
    rows = [[_variance(number.runs) for number in numbers_of(one, tables)] for one in numbers.values()]
    return [float(value) for value in np.mean(rows, axis=0)]


def published_numbers(table: JudgedTable, results: Results) -> Iterator[Number]:
    """The published numbers of a table but for suspect ones."""
    cells = {cell.id: cell for cell in results.cells}
    for cell in table.numbers:
        suspect = cell.judgement is not None and cell.judgement.verdict is Verdict.SUSPECT
        if cell.published is None or cell.estimate is None or suspect:
            continue
        column = table.column(cell)
        value = cell.published.value if cell.corrected is None else cell.corrected
        yield Number(
            f"{table.id} {cell.quantity}{' change' if column.compare else ''}",
            value,
            cell.published.rounding,
            table.spec.published_runs,
            cell.estimate.value,
            per_run(results, cells[cell.cell], column),
        )


def _variance(runs: Floats) -> float:
    known = runs[~np.isnan(runs)]
    return float(np.var(known, ddof=1)) if len(known) > 1 else 0.0


def squared_scale(number: Number, variance: float) -> float:
    """The square of a number's scale: scatter of the paper's runs and of ours, rounding, and `TOLERANCE`."""
    scatter = variance * (1 / number.published_runs + 1 / max(len(number.runs), 1))
    return scatter + number.rounding**2 + (TOLERANCE * number.published) ** 2


def block_distances(numbers: Sequence[Number], variances: Sequence[float]) -> dict[str, float]:
    """The mean squared difference of each block of numbers in units of its scale, cut at `FARTHEST`."""
    found: dict[str, list[float]] = {}
    for number, variance in zip(numbers, variances, strict=True):
        scale = squared_scale(number, variance)
        squared = (number.estimate - number.published) ** 2 / scale if scale > 0 else math.nan
        found.setdefault(number.block, []).append(FARTHEST if math.isnan(squared) else min(squared, FARTHEST))
    return {block: float(np.mean(values)) for block, values in found.items()}


def mean_distance(blocks: Mapping[str, float]) -> float:
    """The distance of tables: each block counts alike."""
    return float(np.mean(list(blocks.values()))) if blocks else math.nan


def floor_of(numbers: Sequence[Number], variances: Sequence[float]) -> tuple[float, float]:
    """The distance of a model from itself, median and largest; NaN with too few replicates.

    Each replicate in turn, rounded as the paper's numbers are, takes their place, and the others make the
    estimate.
    """
    count = min(len(number.runs) for number in numbers)
    if count < FEWEST_REPLICATES:
        return math.nan, math.nan
    found = []
    for k in range(count):
        made = []
        for number in numbers:
            step = 2 * number.rounding
            one = float(number.runs[k])
            value = round(one / step) * step if step > 0 and not math.isnan(one) else one
            rest = np.delete(number.runs, k)
            estimate = float(np.nanmean(rest)) if not np.isnan(rest).all() else math.nan
            made.append(number._replace(published=value, published_runs=1, estimate=estimate, runs=rest))
        found.append(mean_distance(block_distances(made, variances)))
    return float(np.median(found)), float(max(found))
